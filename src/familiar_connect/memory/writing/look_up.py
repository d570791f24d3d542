"""One look into memory, for a model that asks for it: `ESCALATE: <what is missing>; GREP: <pattern>`.

A model may ask once and must answer then. The pattern is searched in linear time, off the event loop, in nothing but
what may be told where the model's answer goes; a search that fails is told to it as text.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from familiar_connect.llm.types import Message, capabilities_of
from familiar_connect.memory.types import GrepHit
from familiar_connect.memory.visible_memory import VisibleMemory
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import one_line

MAX_GREP_HITS = 10
MAX_PATTERN_CHARS = 200
MAX_LINE_CHARS = 300
ESCALATE_SHAPE = "ESCALATE: <what is missing>; GREP: <one regular expression to look for in all of memory>"

ESCALATION = re.compile(r"^[\s*_#>]*ESCALATE[*_]*\s*:", re.MULTILINE)
_GREP = re.compile(r"GREP[*_]*\s*:[*_]*[^\S\n]*(.*)")
_QUOTES = "`\"'"

Ask = Callable[[list[Message]], Awaitable[str | None]]
Fence = Callable[[str], str]
"""Puts lines of memory into marks that tell them from instructions."""


class BuildPrompt(Protocol):
    """Makes the prompt of a call; with what was *searched* where the model asked for it."""

    def __call__(self, *, searched: str = "", may_look_up: bool = False) -> list[Message]: ...


def read_pattern(text: str, begin: int = 0) -> str:
    """The pattern that an escalation beginning at *begin* of *text* asks for; empty where it names none."""
    asked = _GREP.search(text, begin)
    return _bare(asked[1]) if asked else ""


def _bare(pattern: str) -> str:
    """*pattern* without the quotes or backticks a model likes to put around it."""
    pattern = pattern.strip()
    while len(pattern) > 1 and pattern[0] == pattern[-1] and pattern[0] in _QUOTES:
        pattern = pattern[1:-1].strip()
    return pattern[:MAX_PATTERN_CHARS]


async def look_up(
    memory: VisibleMemory, pattern: str, fence: Fence, *, exclude_folders: tuple[str, ...] = ()
) -> tuple[str, Sequence[GrepHit]]:
    """What a search for *pattern* gives, as lines for the prompt, and what those show."""
    if not pattern:
        return "You gave no pattern to search for.", ()
    asked = f"Lines of memory that match {one_line(pattern)}:"
    try:
        found = await off_loop(memory.grep, pattern)
    except Exception as error:  # isolation: a model wrote the pattern; what is wrong with it is told to the model
        return f"{asked}\n(the search failed: {one_line(str(error)) or type(error).__name__})", ()
    matching = [hit for hit in found if not hit.rel_path.startswith(exclude_folders)]
    hits = matching[:MAX_GREP_HITS]
    if not hits:
        return f"{asked}\n(none)", ()
    lines = [f"{h.rel_path}:{h.line_number}: {_around(h.line_text, h.match_start)}" for h in hits]
    more = f"\n({len(matching) - len(hits)} more lines match)" if len(matching) > len(hits) else ""
    return f"{asked}\n{fence(chr(10).join(lines))}{more}", hits


def _around(line: str, at: int) -> str:
    """*line*, or what stands around the match in a very long one."""
    start = max(0, min(at - MAX_LINE_CHARS // 3, len(line) - MAX_LINE_CHARS))
    return one_line(line[start : start + MAX_LINE_CHARS])


def can_look_up(model: object) -> bool:
    """Whether *model* is one that is given tools: others would take the offer for the task."""
    return capabilities_of(model).tools


async def ask_with_look_up(
    ask: Ask, build: BuildPrompt, memory: VisibleMemory | None, fence: Fence
) -> tuple[str | None, list[Message]]:
    """The answer of a model that may look into *memory* once before it, and the prompt it was made from.

    Without *memory* it is asked once, and not told that it may look.
    """
    prompt = build(may_look_up=memory is not None)
    reply = await ask(prompt)
    escalation = ESCALATION.search(reply or "")
    if memory is None or reply is None or escalation is None:
        return reply, prompt
    searched, _ = await look_up(memory, read_pattern(reply, escalation.end()), fence)
    prompt = build(searched=searched)
    return await ask(prompt), prompt
