"""split_list: the entries of a JSON list one by one, so that an export of any size takes the room of its largest entry.

Depth is bounded before anything is parsed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from familiar_connect.api.importing import UnreadableFileError

MAX_DEPTH = 200
MAX_ENTRY_BYTES = 64 * 1024 * 1024
_SYMBOLS = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{},]', re.DOTALL)
_BOM = b"\xef\xbb\xbf"


def split_list(data: bytes) -> Iterator[Any]:
    """Each entry of the list that *data* is; an `UnreadableFileError` names the first that is broken."""
    start = data.index(b"[") + 1
    depth, number = 1, 1
    for symbol in _SYMBOLS.finditer(data, start):
        kind = data[symbol.start()]
        if kind in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise UnreadableFileError("is nested too deeply to read", where=f"entry {number}")
        elif kind in b"]}":
            depth -= 1
        if (kind == ord(",") and depth == 1) or depth == 0:
            entry = data[start : symbol.start()]
            if entry.strip() or depth:
                yield parse_json_value(entry, f"entry {number}")
            if depth == 0:
                if data[symbol.end() :].strip():
                    raise UnreadableFileError("is followed by something else; fetch the file again", where="its list")
                return
            start, number = symbol.end(), number + 1
    raise UnreadableFileError("is cut off; fetch the file again", where=f"entry {number}")


def parse_json_value(data: bytes, where: str) -> Any:
    """The value that *data* is; an `UnreadableFileError` names *where* it stands."""
    if len(data) > MAX_ENTRY_BYTES:
        raise UnreadableFileError(f"is larger than the {MAX_ENTRY_BYTES:,} bytes one chat may have", where=where)
    try:
        return json.loads(data.removeprefix(_BOM))
    except RecursionError:
        raise UnreadableFileError("is nested too deeply to read", where=where) from None
    except ValueError:
        raise UnreadableFileError("is not JSON; fetch the file again", where=where) from None
