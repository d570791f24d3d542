"""read_plain_text and read_markdown: a file as its words, in whatever encoding an old program wrote them."""

from __future__ import annotations

from familiar_connect.api.importing import ImportedText, UnreadableFileError, read_headings

MAX_TITLE_CHARS = 200


def read_plain_text(data: bytes) -> ImportedText:
    return ImportedText(title="", pages=(_decode(data),))


def read_markdown(data: bytes) -> ImportedText:
    """Its title is the first title in it that is no longer than a title may be."""
    text = _decode(data)
    titles = (each.text for each in read_headings(text.splitlines()) if each.level == 1)
    return ImportedText(title=next((each for each in titles if 0 < len(each) <= MAX_TITLE_CHARS), ""), pages=(text,))


def _decode(data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    if b"\x00" in data:
        raise UnreadableFileError("is not text, Markdown, a web page or a PDF")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
