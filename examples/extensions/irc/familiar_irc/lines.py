"""Lines of IRC: taking them apart, writing them safely, and cutting text so that each piece fits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_LINE = 512
"""Bytes of a line as other people get it, with its prefix and its end."""
MAX_PARAMS = 15
PREFIX_ROOM = 1 + 1 + 11 + 1 + 63 + 1
"""What a server puts before our nick and behind it when it passes a line on: `:`, `!user`, `@host` and a space."""

_BREAKS_LINE = re.compile(r"[\x00\x01\r\n]+")
"""Ends a line, or makes it a question between programs."""
_FORMAT = re.compile(r"\x03(?:\d{1,2}(?:,\d{1,2})?)?|\x04(?:[0-9A-Fa-f]{6})?|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_ACTION = re.compile(r"\x01ACTION(?: (.*?))?\x01?", re.DOTALL)
_ASCII = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_RFC1459 = _ASCII | str.maketrans("[]\\^", "{}|~")
_STRICT_RFC1459 = _ASCII | str.maketrans("[]\\", "{}|")
_FOLDINGS = {"ascii": _ASCII, "rfc1459": _RFC1459, "rfc1459-strict": _STRICT_RFC1459, "strict-rfc1459": _STRICT_RFC1459}


@dataclass(frozen=True)
class IrcLine:
    """One line of the server."""

    command: str
    params: tuple[str, ...] = ()
    prefix: str = ""

    @property
    def nick(self) -> str:
        """Whose line it is; a server's is its name."""
        return self.prefix.partition("!")[0].partition("@")[0]

    @property
    def address(self) -> str:
        """The host they write from, as the server tells it; empty where it does not."""
        return self.prefix.rpartition("@")[2] if "@" in self.prefix else ""

    def param(self, index: int) -> str:
        """The parameter at *index*; empty where there is none."""
        return self.params[index] if -len(self.params) <= index < len(self.params) else ""


def parse_line(raw: bytes) -> IrcLine | None:
    """What a server sent, without its end; None: there is nothing in it."""
    text = _decode(raw).strip("\r\n").replace("\x00", "")
    if text.startswith("@"):
        text = text.partition(" ")[2].lstrip(" ")
    prefix = ""
    if text.startswith(":"):
        prefix, _, text = text[1:].partition(" ")
    head, colon, last = text.lstrip(" ").partition(" :")
    words = head.split(" ")
    words = [word for word in words if word]
    if not words:
        return None
    return IrcLine(words[0].upper(), (*words[1:MAX_PARAMS], *([last] if colon else [])), prefix)


def write_line(*words: str, text: str | None = None) -> bytes:
    """A line to send. Whatever the words hold, it is one line, and *text* is its last parameter.

    A word that is no single parameter raises `ValueError`: a name from outside could else become a command.
    """
    if any(not word or word.startswith(":") or re.search(r"[\s\x00]", word) for word in words):
        raise ValueError("a parameter of a line must be one word")
    parts = list(words) if text is None else [*words, ":" + _BREAKS_LINE.sub(" ", text)]
    return _cut_bytes(" ".join(parts), LONGEST_LINE - 2).encode() + b"\r\n"


def text_room(nick: str, command: str, target: str) -> int:
    """How many bytes of text a line has room for, as the people who read it get it."""
    return LONGEST_LINE - 2 - PREFIX_ROOM - len(f"{nick}{command} {target} :".encode())


def split_text(text: str, room: int) -> Iterator[str]:
    """*text* in lines of at most *room* bytes: cut where a line ends, then between words, then between characters."""
    for line in _BREAKS_LINE.split(text):
        rest = line.strip()
        while rest:
            piece = _cut_bytes(rest, room)
            if len(piece) < len(rest) and not rest[len(piece)].isspace():
                words = piece.rfind(" ")
                piece = piece[:words] if words > 0 else piece
            piece = piece or rest[0]  # a room of less than one character: better too long than for ever
            rest = rest[len(piece) :].lstrip()
            yield piece.rstrip()


def plain_text(text: str) -> str | None:
    """What somebody wrote, without colours; an action as `* …`. None: it is a question between programs."""
    if text.startswith("\x01"):
        action = _ACTION.fullmatch(text)
        return f"* {_FORMAT.sub('', action[1] or '')}".strip() if action is not None else None
    return _FORMAT.sub("", text).strip()


def fold_nick(name: str, casemapping: str = "rfc1459") -> str:
    """*name* as the server compares it. A mapping that we do not know is taken for the oldest."""
    return name.translate(_FOLDINGS.get(casemapping, _RFC1459))


def matches_mask(mask: str, prefix: str, casemapping: str = "rfc1459") -> bool:
    """Whether nick!user@host in *prefix* is as *mask* has it, with * and ? for what may differ."""
    if not mask or "!" not in prefix or "@" not in prefix:
        return False
    parts = (".*" if each == "*" else "." if each == "?" else re.escape(each) for each in fold_nick(mask, casemapping))
    pattern = re.sub(r"(?:\.\*)+", ".*", "".join(parts))
    return re.fullmatch(pattern, fold_nick(prefix, casemapping), re.DOTALL) is not None


def says_nick(text: str, nick: str, casemapping: str = "rfc1459") -> bool:
    """Whether *nick* stands in *text* as a whole."""
    name = re.escape(fold_nick(nick, casemapping))
    letters = r"[\w\[\]\\`^{|}~-]"
    return re.search(rf"(?<!{letters}){name}(?!{letters})", fold_nick(text, casemapping)) is not None


def _decode(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _cut_bytes(text: str, room: int) -> str:
    """The longest beginning of *text* that takes no more than *room* bytes, whole characters only."""
    return text.encode("utf-8", "replace")[: max(room, 0)].decode("utf-8", "ignore")
