"""The values of a script: its commands, what it asks of the person, and what it may do to a chat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from familiar_connect.presets.macros.types import Variables

MAX_SCRIPT_CHARS = 20_000
MAX_COMMANDS = 500
MAX_NESTING = 8
MAX_STEPS = 300
"""Commands that one run may carry out."""
MAX_SHOWN_CHARS = 20_000
"""Of all that one run shows."""
MAX_TEXT_CHARS = 100_000
"""Of one value that is handed from command to command."""
MAX_GENERATED = 5
"""Times that one run may ask the model."""
MAX_ASKED = 20


@dataclass(frozen=True)
class Script:
    """Commands in their order, of a whole script or of a closure in it."""

    commands: tuple[Command, ...]


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command: its name without the slash, and what it is given."""

    name: str
    line: int
    named: Mapping[str, str | Script] = field(default_factory=dict)
    words: str | Script = ""
    """What stands behind the named ones."""


@dataclass(frozen=True, kw_only=True)
class ScriptQuestion:
    """What a run waits for."""

    text: str
    choices: tuple[str, ...] = ()
    """Empty: anything may be answered."""


class ScriptDoor(Protocol):
    """The chat that a script acts on."""

    @property
    def variables(self) -> Variables: ...
    def fill(self, text: str, pipe: str) -> str:
        """*text* with its macros worked out; `{{pipe}}` is *pipe*."""

    async def say(self, text: str, name: str) -> None:
        """The person says *text*, under *name* where one is given; nobody answers yet."""

    async def say_as(self, name: str, text: str) -> None:
        """A character says *text*."""

    async def narrate(self, text: str) -> None: ...
    async def answer(self) -> None:
        """The familiar answers, or goes on."""

    async def generate(self, prompt: str) -> str:
        """What the model writes for *prompt* behind the chat; it is not said."""
