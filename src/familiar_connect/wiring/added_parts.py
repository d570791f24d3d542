"""AddedParts: what extensions bring to one familiar, ready to be used like the parts of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from familiar_connect.config.types import ChannelMode
from familiar_connect.context.protocols import ContextProvider, PostProcessor, PreProcessor
from familiar_connect.context.types import ContextRequest
from familiar_connect.tools.types import Tool

P = TypeVar("P")


@dataclass(frozen=True, kw_only=True)
class AddedStep(Generic[P]):
    """A provider or processor of an extension, and where it is on unless a settings file says otherwise."""

    step: P
    modes: frozenset[ChannelMode]
    on_voice: bool

    def is_on(self, mode: ChannelMode, *, is_voice: bool) -> bool:
        return mode in self.modes and (self.on_voice or not is_voice)


@dataclass(frozen=True, kw_only=True)
class AddedTool:
    """A tool of an extension: the name that the `tools` setting has for it, and what makes it for one reply."""

    name: str
    create: Callable[[ContextRequest], Tool | None]


@dataclass(frozen=True, kw_only=True)
class AddedParts:
    """In the order of the owner's list."""

    providers: Sequence[AddedStep[ContextProvider]] = ()
    pre_processors: Sequence[AddedStep[PreProcessor]] = ()
    post_processors: Sequence[AddedStep[PostProcessor]] = ()
    tools: Sequence[AddedTool] = ()
    slash_commands: Sequence[object] = ()
    """Each a `slash.command.SlashCommand`, which this floor does not know."""
    troubles: Sequence[str] = ()
    """What was left out and why, a sentence each."""
    close: Callable[[], None] = lambda: None
    """Ends whatever the extensions run on."""


NOTHING_ADDED = AddedParts()
