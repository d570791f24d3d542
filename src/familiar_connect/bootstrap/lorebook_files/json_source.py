"""The JSON object in a lorebook source: a dict, JSON text, bytes, or a file of JSON or PNG.

Whatever comes in, what goes out is plain JSON of bounded size and depth, or a `LorebookImportError`
that says in one sentence what is wrong. Numbers JSON does not have become null.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from familiar_connect.errors import LorebookImportError

MAX_SOURCE_BYTES = 16 * 1024 * 1024
"""Some ten times the largest lorebook people share."""
MAX_DEPTH = 100

_PNG = b"\x89PNG\r\n\x1a\n"
_ZIP = b"PK\x03\x04"
_LEADING = "\ufeff \t\r\n"
_NOVELAI_KEYWORD = b"naidata"

LorebookSource = dict[str, Any] | bytes | str | Path


def read_lorebook_json(source: LorebookSource) -> tuple[dict[str, object], str]:
    """The object in *source*, and what to call the source in a sentence.

    Text that begins `{` or `[` is JSON, any other text is a path.
    """
    if isinstance(source, str) and not source.lstrip(_LEADING).startswith(("{", "[")):
        source = Path(source)
    if isinstance(source, Path):
        shown = f"{source.name or source}"
        return parse_lorebook(lorebook_bytes(source), shown), shown
    shown = "the lorebook"
    if isinstance(source, bytes | bytearray):
        return parse_lorebook(bytes(source), shown), shown
    return _checked(_parsed(source if isinstance(source, str) else _as_json(source), shown), shown), shown


def parse_lorebook(data: bytes, shown: str) -> dict[str, object]:
    """The object in the bytes of a lorebook file that sentences call *shown*."""
    return _checked(_from_bytes(data, shown), shown)


def _checked(parsed: object, shown: str) -> dict[str, object]:
    if not isinstance(parsed, dict):
        raise LorebookImportError(
            f"{shown} holds {_kind(parsed)}, not a JSON object; export the lorebook again from SillyTavern"
        )
    _check_depth(parsed, shown)
    return parsed


def lorebook_bytes(path: Path) -> bytes:
    """The bytes of a lorebook file, one more than it may have at most."""
    try:
        if not path.is_file():
            reason = "it is not a file" if path.exists() else "there is no such file"
            raise LorebookImportError(f"cannot read the lorebook {str(path)!r}: {reason}")
        with path.open("rb") as file:
            return file.read(MAX_SOURCE_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or "it failed").lower()
        raise LorebookImportError(f"cannot read the lorebook {str(path)!r}: {reason}") from None
    except ValueError:
        raise LorebookImportError(f"cannot read a lorebook at {str(path)!r}: that is not a path") from None


def _from_bytes(data: bytes, shown: str) -> object:
    if len(data) > MAX_SOURCE_BYTES:
        raise LorebookImportError(
            f"{shown} is larger than the {MAX_SOURCE_BYTES:,} bytes a lorebook may have; split it in SillyTavern first"
        )
    if data.startswith(_PNG):
        data = _inside_png(data, shown)
    elif data.startswith(_ZIP):
        raise LorebookImportError(f"{shown} is a zip, not a JSON lorebook; import a CHARX card as a card")
    try:
        text = data.decode(json.detect_encoding(data), "surrogatepass")
    except UnicodeDecodeError as error:
        raise LorebookImportError(f"{shown} is not JSON: byte {error.start} is not text") from None
    return _parsed(text, shown)


def _parsed(text: str, shown: str) -> object:
    if len(text) > MAX_SOURCE_BYTES:
        raise LorebookImportError(f"{shown} is longer than the {MAX_SOURCE_BYTES:,} characters a lorebook may have")
    try:
        return json.loads(text.lstrip("\ufeff"), parse_constant=lambda _: None, parse_float=_number)
    except RecursionError:
        raise _too_deep(shown) from None
    except ValueError as error:
        raise LorebookImportError(f"{shown} is not valid JSON: {error}") from None


def _as_json(source: object) -> str:
    """*source* as JSON text; what JSON cannot hold becomes null, and its owner is told where that matters."""
    try:
        return json.dumps(source, default=lambda _: None)
    except RecursionError:
        raise _too_deep("the lorebook") from None
    except (ValueError, TypeError) as error:
        raise LorebookImportError(f"the lorebook cannot be written as JSON: {error}") from None


def _number(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _check_depth(value: Any, shown: str) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer) if isinstance(inner, dict | list)]
        if not level:
            return
    raise _too_deep(shown)


def _inside(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value


def _too_deep(shown: str) -> LorebookImportError:
    return LorebookImportError(f"{shown} is JSON nested deeper than {MAX_DEPTH} levels, which no lorebook is")


def _kind(value: object) -> str:
    names = {list: "a list", str: "a text", bool: "a truth value", type(None): "nothing"}
    return names.get(type(value), "a number")


def _inside_png(data: bytes, shown: str) -> bytes:
    """The NovelAI lorebook a picture carries."""
    for kind, body in _png_chunks(data):
        keyword, _, text = body.partition(b"\0")
        if kind == b"tEXt" and keyword.lower() == _NOVELAI_KEYWORD:
            try:
                return base64.b64decode(text + b"=" * (-len(text) % 4))
            except (binascii.Error, ValueError):
                raise LorebookImportError(f"the lorebook inside the picture {shown} is damaged (bad base64)") from None
    raise LorebookImportError(
        f"the picture {shown} carries no NovelAI lorebook (no JSON in `naidata`); import a character card as a card"
    )


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_PNG)
    while at + 8 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        if at + 8 + length > len(data):
            return
        yield kind, data[at + 8 : at + 8 + length]
        at += 12 + length
