"""Text in about six tenths of its bytes, in a form that a plain SQL view can read.

The text of a file stands in the index a second time, because other programs may read it there. A byte that plain
English has no use for stands for a few letters that often follow each other. The table of those bytes is stored beside
the text, so that SQLite alone can put it together again. Text that would not get shorter stays as it is.
"""

from __future__ import annotations

import re
import sqlite3

_FREQUENT = [
    " said: ",
    "with ",
    "that ",
    "what ",
    "the ",
    "and ",
    "ing ",
    "for ",
    "hat ",
    "one ",
    "its ",
    "was ",
    "ere ",
    "she ",
    "not ",
    "from",
    "you ",
    "are ",
    "er ",
    "is ",
    "it ",
    "in ",
    "es ",
    "ed ",
    "at ",
    "on ",
    "of ",
    "or ",
    "en ",
    "an ",
    "to ",
    "as ",
    "th ",
    "ow ",
    "ve ",
    "ch ",
    "so ",
    "'s ",
    "st ",
    "e. ",
    "ver",
    "you",
    "he ",
    "my ",
    "se ",
    "rom",
    "ts ",
    "the",
    "ke ",
    "ys ",
    "ing",
    "no ",
    "me ",
    "s. ",
    "s, ",
    "all",
    "de ",
    "e, ",
    "\n- ",
    "202",
    "## ",
    "e ",
    "s ",
    "t ",
    "th",
    "d ",
    "n ",
    "er",
    ". ",
    "a ",
    "an",
    "y ",
    "in",
    "o ",
    ", ",
    "or",
    "on",
    "ar",
    "l ",
    "ou",
    "ha",
    "st",
    "it",
    "ch",
    "re",
    "g ",
    "i ",
    "f ",
    "en",
    "al",
    "om",
    "ow",
    "el",
    "k ",
    "am",
    "sh",
    "il",
    "at",
    "es",
    "sa",
    "wh",
    "wi",
    "no",
    ": ",
    "ne",
    "le",
    "li",
    "oo",
    "ri",
    "se",
    "ac",
    "as",
    "m ",
    "ol",
    "di",
    "r ",
    "un",
    "ro",
    "pl",
    "ma",
    "ic",
    "be",
    "p ",
    "de",
    "ra",
    "bo",
    "da",
    "mo",
    "ti",
    "gh",
    "pe",
    "!!",
    "ad",
    "u ",
    "w ",
    "ab",
    "lo",
    "ed",
    "ir",
    "ur",
    "? ",
    "si",
    "he",
    "do",
    "ag",
    "\n\n",
    "**",
    "’",
    "“",
    "”",
    "–",
    "—",
    "…",
    "é",
    "ä",
    "ö",
    "ü",
    "ß",
]
"""What plain English and notes are full of, the longest first; then the commonest letters beyond ASCII."""
_PLAIN = (9, 10, *range(32, 127))
_ESCAPE, *_FREE = (byte for byte in range(256) if byte not in _PLAIN)
"""After the escape stand three bytes of seven bits each: the number of any other character."""
_PIECES = {byte: chr(byte) for byte in _PLAIN} | dict(zip(_FREE, _FREQUENT, strict=True))
_BYTE_OF = {piece: byte for byte, piece in _PIECES.items()}
_OTHER = re.compile(f"[^{re.escape(''.join(map(chr, _PLAIN)))}]")
_REPLACED = [(piece.encode(), bytes([_BYTE_OF[piece]])) for piece in _FREQUENT if piece.isascii()]

TABLE = "CREATE TABLE text_pieces (byte BLOB PRIMARY KEY, piece TEXT) WITHOUT ROWID"


def fill_table(connection: sqlite3.Connection) -> None:
    """Say in the file itself what each byte stands for."""
    connection.execute(TABLE)
    rows = ((bytes([byte]), piece) for byte, piece in _PIECES.items())
    connection.executemany("INSERT INTO text_pieces VALUES (?, ?)", rows)


def sql_to_read(column: str, every_byte: str) -> str:
    """The SQL expression that reads *column*; *every_byte* is a blob of all bytes in order."""

    def seven_bits(at: int) -> str:
        return f"((instr({every_byte}, substr({column}, place + {at}, 1)) - 129) << {7 * (3 - at)})"

    escape = f"x'{_ESCAPE:02x}'"
    size = f"CASE substr({column}, %s, 1) WHEN {escape} THEN 4 ELSE 1 END"
    return f"""CASE typeof({column}) WHEN 'blob' THEN (
        WITH RECURSIVE stored (place, size) AS (
            SELECT 1, {size % 1} UNION ALL
            SELECT place + size, {size % "place + size"} FROM stored WHERE place + size <= length({column}))
        SELECT group_concat(CASE size WHEN 4 THEN char({" + ".join(map(seven_bits, (1, 2, 3)))})
            ELSE (SELECT piece FROM text_pieces t WHERE t.byte = substr({column}, place, 1)) END, '') FROM stored)
        ELSE {column} END"""


def shorten_text(text: str) -> bytes | str:
    """*text* as it is stored: short, or itself where that takes no more."""
    stored = _OTHER.sub(_replace_other, text).encode("latin-1")
    for piece, byte in _REPLACED:
        stored = stored.replace(piece, byte)
    return stored if len(stored) < len(text.encode("utf-8")) else text


def restore_text(stored: bytes | str) -> str:
    """The text that `shorten_text` was given."""
    if isinstance(stored, str):
        return stored
    first, *others = stored.split(bytes([_ESCAPE]))
    return "".join((_join(first), *(_unescape(each[:3]) + _join(each[3:]) for each in others)))


def _join(stored: bytes) -> str:
    return "".join(map(_PIECES.__getitem__, stored))


def _replace_other(match: re.Match[str]) -> str:
    """A letter beyond plain ones as the byte that stands for it, or escaped."""
    number = ord(match[0])
    if match[0] in _BYTE_OF:
        return chr(_BYTE_OF[match[0]])
    return "".join(map(chr, (_ESCAPE, *(number >> shift & 127 | 128 for shift in (14, 7, 0)))))


def _unescape(stored: bytes) -> str:
    high, middle, low = (byte & 127 for byte in stored)
    return chr(high << 14 | middle << 7 | low)
