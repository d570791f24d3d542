"""What people write beside CommonMark: formulas in dollars or LaTeX's own brackets, ||spoilers||, lists of tasks.

Each rule looks no further than a formula may be long, and none looks back, so that no text takes long to read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from familiar_connect.support.formulas import MAX_FORMULA_CHARS

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

MAX_SPOILER_CHARS = 4_000
BRACKETS = {"$$": "$$", "\\[": "\\]", "\\(": "\\)"}
"""How a formula begins → how it ends; the first two stand alone."""
ALONE = ("$$", "\\[")
TASKS = {"[ ] ": False, "[x] ": True, "[X] ": True}


def add_rules(markdown: MarkdownIt) -> None:
    """Let *markdown* read formulas and spoilers too."""
    markdown.inline.ruler.before("escape", "formula", _read_formula)
    markdown.inline.ruler.before("emphasis", "spoiler", _read_spoiler)
    markdown.inline.add_terminator_char("|")
    markdown.block.ruler.before("fence", "formula", _read_formula_block, {"alt": ["paragraph", "reference", "list"]})


def _read_formula(state: StateInline, silent: bool) -> bool:
    """`\\( … \\)`, `\\[ … \\]`, `$$ … $$` or `$…$` within a line."""
    source, at = state.src, state.pos
    if source[at] not in "$\\":
        return False
    begins = source[at : at + 2]
    if begins in BRACKETS:
        end = source.find(BRACKETS[begins], at + 2, at + 2 + MAX_FORMULA_CHARS)
        return _take(state, at + 2, end, 2, is_alone=begins in ALONE, silent=silent)
    return source[at] == "$" and _take(state, at + 1, _end_of_dollars(source, at), 1, is_alone=False, silent=silent)


def _end_of_dollars(source: str, at: int) -> int:
    """Where the formula ends that a dollar begins; -1 where it is one of money or of a program."""
    before, after = source[at - 1 : at] if at else "", source[at + 1 : at + 2]
    if before.isalnum() or before == "$" or not after.strip():
        return -1
    end = source.find("$", at + 1, at + 1 + MAX_FORMULA_CHARS)
    while end > 0 and source[end - 1] == "\\":
        end = source.find("$", end + 1, at + 1 + MAX_FORMULA_CHARS)
    if end < 0 or source[end - 1].isspace() or source[end + 1 : end + 2].isalnum() or source[end + 1 : end + 2] == "$":
        return -1
    return end


def _take(state: StateInline, start: int, end: int, length: int, *, is_alone: bool, silent: bool) -> bool:
    if end < 0 or end + length > state.posMax or not state.src[start:end].strip():
        return False
    if not silent:
        state.push("formula_alone" if is_alone else "formula", "", 0).content = state.src[start:end]
    state.pos = end + length
    return True


def _read_formula_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """A formula that begins a line and ends one: what stands in it is neither a list nor a heading."""
    if state.is_code_block(first):
        return False
    start = state.bMarks[first] + state.tShift[first]
    begins = state.src[start : start + 2]
    if begins not in ALONE:
        return False
    end = state.src.find(BRACKETS[begins], start + 2, start + 2 + MAX_FORMULA_CHARS)
    line = first
    while line < last and state.eMarks[line] < end:
        line += 1
    if end < 0 or line >= last or state.src[end + 2 : state.eMarks[line]].strip():
        return False
    if not silent:
        token = state.push("formula_alone", "", 0)
        lines = state.getLines(first, line + 1, state.blkIndent, keepLastLF=False).strip()
        token.content, token.map = lines[2:-2], [first, line + 1]
        state.line = line + 1
    return True


def _read_spoiler(state: StateInline, silent: bool) -> bool:
    """`||…||`: what stands between is covered until somebody wants to read it."""
    start = state.pos + 2
    if not state.src.startswith("||", state.pos) or state.src.startswith("|", start):
        return False
    end = state.src.find("||", start, min(state.posMax, start + MAX_SPOILER_CHARS))
    if end < 0 or not state.src[start:end].strip():
        return False
    if not silent:
        most = state.posMax
        state.push("spoiler_open", "span", 1)
        state.pos, state.posMax = start, end
        state.md.inline.tokenize(state)
        state.posMax = most
        state.push("spoiler_close", "span", -1)
    state.pos = end + 2
    return True


def take_tasks(tokens: Sequence[Token]) -> None:
    """Note of each item of a list whether it is a task, and take `[ ]` or `[x]` out of its words."""
    for at, token in enumerate(tokens[:-2]):
        words = tokens[at + 2]
        if token.type != "list_item_open" or words.type != "inline" or not words.children:
            continue
        first = words.children[0]
        if first.type == "text" and (mark := first.content[:4]) in TASKS:
            first.content = first.content[4:]
            token.meta["is_done"] = TASKS[mark]
