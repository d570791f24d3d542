"""State of one expansion: its context, its findings and its remaining work limit.

Every result counts against the limit. When it is used up the expansion stops with what it has, so that any text is
expanded in bounded time and size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    original: str | None = None
    defer_random: bool = False
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
