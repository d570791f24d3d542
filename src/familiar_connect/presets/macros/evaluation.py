"""State of one expansion: its context, its findings and its remaining work limit.

Every result counts against the limit. When it is used up the expansion stops with what it has, so that any text is
expanded in bounded time and size.

Conditions of our own: what the model and its tools can do now, and what the tools are called.

`{{if capability:vision}}`, `{{if tool:search}}` and `{{if !tool_family:web}}` stand beside SillyTavern's conditions.
`{memory_tool}` and kin name the tool as the model knows it, or say in plain words what it would have done.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from familiar_connect.presets.macros.types import MacroContext

MAX_OUTPUT = 256 * 1024
"""Bytes one text may come to, and characters its variables may hold together."""
MAX_WORK = 64 * 1024 * 1024
"""Characters produced on the way, nested results and variables included."""
MAX_NOTES = 100
"""Names a report keeps of each kind."""
MAX_NAME = 64


class WorkLimitExceeded(Exception):
    """The allowance of this expansion is used up; what stands so far is the result."""


@dataclass
class Evaluation:
    """The state of one expansion."""

    ctx: MacroContext
    text: str
    """The text as it was handed in, before any rewriting."""
    original: str | None
    defer_random: bool
    content_macros: dict[str, None] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    unsupported: dict[str, None] = field(default_factory=dict)
    limits: dict[str, None] = field(default_factory=dict)
    work: int = 0
    variable_chars: int | None = None
    """Characters the variables hold; None until first asked."""

    def spend(self, amount: int) -> None:
        self.work += amount
        if self.work > MAX_WORK:
            self.limits["output"] = None
            raise WorkLimitExceeded

    def note_unknown(self, name: str) -> None:
        if len(self.unknown) < MAX_NOTES:
            self.unknown[name[:MAX_NAME]] = None

    def note_unsupported(self, name: str) -> str:
        """The value of a macro that needs a user interface."""
        self.unsupported[name] = None
        return ""


class Invocation(NamedTuple):
    """How a macro was called: its resolved arguments, and where in the text it stands, in UTF-16 units."""

    args: Sequence[str] = ()
    offset: int = 0
    """Counted only for a macro that is `placed`."""
    block: bool = False
    """Whether the last argument stood between `{{name}}` and `{{/name}}`."""


MacroHandler = Callable[[Evaluation, Invocation], str | None]
"""The value of a macro, or None to leave it as it was written."""


@dataclass(frozen=True, slots=True)
class Macro:
    """A known macro: how many arguments it takes and what it comes to."""

    name: str
    run: MacroHandler
    least: int = 0
    most: int | None = 0
    """None: any number."""
    needs_offset: bool = False
    """Whether it matters where in the text it stands."""

    def takes(self, count: int) -> bool:
        return count >= self.least and (self.most is None or count <= self.most)

    def takes_block(self, count: int) -> bool:
        """Whether a block may follow *count* arguments; a list has no last argument to stand for."""
        return self.most is not None and self.takes(count + 1)


log = logging.getLogger(__name__)

PHRASES: Mapping[str, str] = {
    "memory_tool": "your memory",
    "memory_update_tool": "your memory",
    "memory_delete_tool": "your memory",
    "memory_search_tool": "what you remember",
    "short_term_memory_tool": "your short-term notes",
    "sticker_tool": "a sticker",
    "task_tool": "your reminders",
    "task_update_tool": "your reminders",
    "document_tool": "your documents",
    "message_metadata_tool": "the details of the message",
    "image_analysis_tool": "a look at the picture",
    "search_tool": "a search",
    "web_search_tool": "a web search",
    "fetch_tool": "a look at the page",
}
"""What a tool macro says when there is no such tool this turn."""

_TOOL = re.compile(r"(?<!\{)\{\s*([a-z]\w*_tool)\s*\}(?!\})", re.I | re.ASCII)
_FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_PREDICATE = re.compile(r"([A-Za-z_]{1,32}):([A-Za-z0-9_.-]{1,64})")


def fill_tool_names(text: str, ctx: MacroContext) -> str:
    """*text* with single-brace tool macros filled in; other braces stay."""
    if "_tool" not in text.lower():
        return text
    return _TOOL.sub(lambda found: found[0] if (name := tool_name(found[1], ctx)) is None else name, text)


def tool_name(macro: str, ctx: MacroContext) -> str | None:
    """What the tool macro *macro* comes to; None when there is no such macro."""
    macro = macro.lower()
    name = ctx.tools.get(macro)
    if name:
        return f"`{name}`" if _FUNCTION.fullmatch(name) else name
    return PHRASES.get(macro)


def is_predicate(condition: str) -> bool:
    return _PREDICATE.fullmatch(condition) is not None


def is_condition_met(condition: str, ctx: MacroContext, *, inverted: bool) -> bool:
    """Whether a predicate holds. One nobody knows never does, inverted or not."""
    found = _PREDICATE.fullmatch(condition)
    known = {"capability": ctx.capabilities, "tool": ctx.tool_names, "tool_family": ctx.tool_families}
    if found is None or found[1].lower() not in known:
        log.warning("a condition asks for something unknown; it never holds", extra={"predicate": condition[:100]})
        return False
    return (found[2] in known[found[1].lower()]) is not inverted
