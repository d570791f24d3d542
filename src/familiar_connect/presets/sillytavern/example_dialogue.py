"""Example dialogue as messages: blocks parted by `<START>`, in each the lines of user and character."""

from __future__ import annotations

import re
from collections.abc import Sequence

from familiar_connect.context.types import ItemTag, Layer
from familiar_connect.presets.sillytavern.js_text import js_trim
from familiar_connect.presets.sillytavern.types import Piece

START = "<START>"
_START = re.compile(START, re.IGNORECASE)
SOURCE = "card:mes_example"


def example_blocks(
    text: str, *, user: str, char: str, group: Sequence[str] = (), is_group: bool = False
) -> list[list[Piece]]:
    """The blocks of *text*; one in which nobody speaks is empty, yet a block."""
    if not text or text == START:
        return []
    if not text.startswith(START):
        text = f"{START}\n{js_trim(text)}"
    blocks = _START.split(text)[1:]
    return [_block(js_trim(block).replace("\r", ""), user, (char, *group), is_group) for block in blocks]


def _block(text: str, user: str, chars: Sequence[str], is_group: bool) -> list[Piece]:
    """Who speaks changes only where the other side's name opens a line; the first to speak has what stands before."""
    pieces: list[Piece] = []
    lines: list[str] = []
    speaker = ""
    is_user = False

    def close() -> None:
        if speaker:
            said = js_trim("\n".join(lines).replace(f"{speaker}:", "", 1))
            name = "example_user" if is_user else "example_assistant"
            said = f"{speaker}: {said}" if is_group else said
            pieces.append(Piece("system", said, name, SOURCE, ItemTag.SAMPLE, Layer.examples))

    for line in text.split("\n"):
        opens = next((name for name in (user, *chars) if name and line.startswith(f"{name}:")), None)
        if opens is not None and (not speaker or is_user != (opens == user)):
            close()
            lines, is_user = ([] if speaker else lines), opens == user
        speaker = opens or speaker
        lines.append(line)
    close()
    return pieces
