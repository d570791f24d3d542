"""Forms with files, as a browser sends them."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_PARTS = 50
_BOUNDARY = re.compile(r'multipart/form-data;.*boundary="?([^";]{1,200})"?')


@dataclass(frozen=True)
class FormPart:
    """One field of a form."""

    field: str
    file_name: str
    """Empty for a field that is no file."""
    content: bytes


def is_multipart(content_type: str) -> bool:
    return content_type.startswith("multipart/form-data")


def read_parts(content_type: str, body: bytes) -> list[FormPart]:
    """The fields of a form in their order; none where *body* is no such form."""
    found = _BOUNDARY.search(content_type)
    if found is None:
        return []
    parts = []
    for part in body.split(b"--" + found[1].encode("latin-1", "replace"), MAX_PARTS + 1)[1:-1]:
        head, _, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        said = head.decode("utf-8", "replace")
        field = re.search(r'[; ]name="([^"\r\n]{1,100})"', said)
        file = re.search(r'filename="([^"\r\n]{1,500})"', said)
        if field is not None:
            name = file[1] if file is not None else ""
            parts.append(FormPart(field[1], name, content.removesuffix(b"\r\n")))
    return parts


def parse_multipart(content_type: str, body: bytes) -> dict[str, tuple[str, bytes]]:
    """The fields of a form with files: field → name of the file, or an empty one, and content."""
    return {part.field: (part.file_name, part.content) for part in read_parts(content_type, body)}
