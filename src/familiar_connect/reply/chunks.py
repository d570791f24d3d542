"""Splits a reply into pieces a platform accepts: at paragraphs, sentences, words, else anywhere.

Lengths are counted in characters, as the chat platforms count them. A piece never ends inside what people see
as one letter, nor inside a link, a mention or an emoji that fits a message. A block of code that must be parted is
closed in one piece and opened again in the next, in its language; so is bold, italic, struck and hidden text.
"""

from __future__ import annotations

import re

from familiar_connect.support.letters import UNSPACED
from familiar_connect.support.text import grapheme_boundary

DEFAULT_HARD_CAP = 1900
FENCE = "```"
LEAST_CODE = 8
"""Characters of code that must fit between two fences; with a smaller cap, code is cut like words."""
_PARAGRAPHS = re.compile(r"\n\s*\n")
_AFTER_SENTENCE = re.compile(
    r"(?<=[.!?…؟۔।॥။።])\s+|(?<=[。！？｡」』])(?<=[。！？｡][」』]|.[。！？｡])(?![。！？｡」』”）])\s*"
)
"""Chinese and Japanese leave no space there."""
_PAUSE = re.compile(r"[。！？｡、，；：]")
_UNSPACED_ENDS = "。！？｡」』"
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_OPENING = re.compile(r"```(?:[\w+#.-]{0,20}\n)?")
_ATOMS = re.compile(
    r"!?\[[^\[\]\n]{1,300}\]\(<?[^()\s]{1,1000}>?\)"  # a link with its words
    r"|<[^<>\s]{2,1000}>"  # a mention, an emoji, a link without its preview
    r"|https?://[^\s<>]{1,1000}"
    r"|`[^`\n]{1,300}`"
    r"|@\{[^{}\n]{1,100}\}"
)
_WHOLE = re.compile(f"{_CODE.pattern}|{_ATOMS.pattern}", re.DOTALL)
"""What means something only as a whole, code included."""
_CODE_SPAN = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_EMPHASIS = re.compile(r"\*{1,3}|~~|\|\|")
EMPHASIS_ROOM = 14
"""Characters that closing and opening emphasis again may take in one piece."""
LEAST_EMPHASISED = 60
"""With a smaller cap, emphasis is cut like words."""


def split_reply_into_chunks(text: str, *, sentence_split_threshold: int, hard_cap: int = DEFAULT_HARD_CAP) -> list[str]:
    """Paragraphs; a long one by sentences; no piece longer than *hard_cap*."""
    paragraphs = _part(text, sentence_split_threshold, _cap_for(text, hard_cap))
    return [piece for paragraph in paragraphs for piece in _carry_emphasis(paragraph)]


def pack_reply(text: str, *, limit: int) -> list[str]:
    """The fewest pieces within *limit*: a text that fits stays as it is, else its paragraphs are packed together."""
    if len(text.strip()) <= limit:
        return [text.strip()] if text.strip() else []
    cap = _cap_for(text, limit)
    packed: list[str] = []
    for paragraph in _part(text, cap, cap):
        for part, segment in enumerate(_carry_emphasis(_join(paragraph, cap, len(packed[-1]) + 2 if packed else 0))):
            if packed and not part and len(packed[-1]) + 2 + len(segment) <= cap:
                packed[-1] += f"\n\n{segment}"
            else:
                packed.append(segment)
    return packed


def _join(pieces: list[str], cap: int, taken: int) -> list[str]:
    """*pieces* of one paragraph put together again as far as *cap* allows, of which *taken* is taken for the first."""
    segments: list[str] = []
    taken = taken if len(pieces[0]) <= cap - taken else 0
    for piece in pieces:
        gap = _gap(segments[-1], piece) if segments else ""
        room = cap - (taken if len(segments) == 1 else 0)
        if segments and len(segments[-1]) + len(gap) + len(piece) <= room:
            segments[-1] += gap + piece
        else:
            segments.append(piece)
    return segments


def _cap_for(text: str, cap: int) -> int:
    """*cap*, with room for marks where *text* may have to be closed and opened again."""
    return cap - EMPHASIS_ROOM if cap >= LEAST_EMPHASISED and _EMPHASIS.search(text) else cap


def _carry_emphasis(pieces: list[str]) -> list[str]:
    """*pieces* of one paragraph with what is bold, italic, struck or hidden across a cut so on both sides of it."""
    if len(pieces) < 2:
        return pieces
    carried: list[str] = []
    opened: list[str] = []
    for piece in pieces:
        before = "".join(opened)
        for mark in _marks(piece):
            if mark in opened:
                del opened[opened.index(mark) :]
            else:
                opened.append(mark)
        carried.append(before + piece + "".join(reversed(opened)))
    # A mark that nothing closes is no emphasis: then the words stay as they are.
    fits = all(len(after) <= len(was) + EMPHASIS_ROOM for was, after in zip(pieces, carried, strict=True))
    return carried if fits and not opened else pieces


def _marks(piece: str) -> list[str]:
    """The marks of emphasis in *piece*, in order; those in code, at bullets and between spaces are none."""
    code = [span.span() for span in _CODE_SPAN.finditer(piece)]
    found = []
    for mark in _EMPHASIS.finditer(piece):
        before, after = piece[: mark.start()][-1:], piece[mark.end() :][:1]
        is_loose = (not before or before.isspace()) and (not after or after.isspace())
        if not is_loose and not any(start <= mark.start() < end for start, end in code):
            found.append(mark[0])
    return found


def _gap(before: str, after: str) -> str:
    """What parts two pieces of one paragraph: code stands on lines of its own, and after `。` stands no space."""
    if before.endswith(tuple(_UNSPACED_ENDS)):
        return ""
    return "\n" if before.endswith(FENCE) or after.startswith(FENCE) else " "


def _part(text: str, threshold: int, cap: int) -> list[list[str]]:
    """The pieces of each paragraph."""
    parted = []
    for paragraph in _split(text, _PARAGRAPHS):
        stripped = paragraph.strip()
        parts = _split(stripped, _AFTER_SENTENCE) if len(stripped) > threshold else [stripped]
        pieces = [piece for part in parts for piece in _cap(part.strip(), max(1, cap)) if piece]
        if pieces:
            parted.append(pieces)
    return parted


def _split(text: str, at: re.Pattern[str]) -> list[str]:
    """*text* parted wherever *at* matches outside of code, links and the like."""
    code = [span.span() for span in _WHOLE.finditer(text)]
    parts, start, next_code = [], 0, 0
    for gap in at.finditer(text):
        while next_code < len(code) and code[next_code][1] <= gap.start():
            next_code += 1
        if next_code < len(code) and code[next_code][0] < gap.end():
            continue
        parts.append(text[start : gap.start()])
        start = gap.end()
    return [*parts, text[start:]]


def _cap(piece: str, cap: int) -> list[str]:
    parts: list[str] = []
    while len(piece) > cap:
        head, piece = _cut(piece, cap)
        parts.append(head)
    return [*parts, piece]


def _cut(piece: str, cap: int) -> tuple[str, str]:
    """A beginning of *piece* within *cap*, and the rest."""
    at = piece.rfind(" ", 0, cap + 1)
    if at < cap // 2 and UNSPACED.search(piece, max(0, at), cap):
        at = max((pause.end() for pause in _PAUSE.finditer(piece, cap // 2, cap)), default=0)
    if at <= 0:
        at = _before_ticks(piece, grapheme_boundary(piece, cap))
    code = next((span for span in _WHOLE.finditer(piece) if span.start() < at < span.end()), None)
    if code is not None and not code[0].startswith(FENCE):
        at, code = _outside(piece, at, code, cap), None
    if code is None:
        return piece[:at].rstrip(), piece[at:].lstrip()
    if piece[: code.start()].strip():
        return piece[: code.start()].rstrip(), piece[code.start() :]
    if code.end() <= cap:
        return piece[: code.end()], piece[code.end() :].lstrip()
    return _cut_code(piece.lstrip(), cap) or (piece[:at].rstrip(), piece[at:].lstrip())


def _outside(piece: str, at: int, atom: re.Match[str], cap: int) -> int:
    """*at*, moved before or behind the *atom* it would tear; one too long for a message is torn."""
    if piece[: atom.start()].strip():
        return atom.start()
    return atom.end() if atom.end() <= cap else at


def _cut_code(piece: str, cap: int) -> tuple[str, str] | None:
    """A block of code in two: after a line where it can, with a fence at both sides of the cut."""
    opening = _OPENING.match(piece)
    assert opening is not None
    ending = f"\n{FENCE}"
    room = cap - len(ending)
    if room - opening.end() < LEAST_CODE:
        return None
    at = piece.rfind("\n", opening.end(), room + 1)
    if at <= opening.end():
        at = piece.rfind(" ", opening.end(), room + 1)
    if at <= opening.end():
        at = _before_ticks(piece, grapheme_boundary(piece, room))
    if at <= opening.end():
        return None
    again = opening.group() if opening.group().endswith("\n") else f"{FENCE}\n"
    return piece[:at] + ending, again + piece[at:].removeprefix("\n")


def _before_ticks(piece: str, at: int) -> int:
    """*at*, or the start of the row of backticks it would tear."""
    start = at
    while 0 < start < len(piece) and piece[start] == "`" == piece[start - 1]:
        start -= 1
    return start or at
