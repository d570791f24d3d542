"""COMMANDS: the ordered list of slash commands that every platform reads."""

from __future__ import annotations

from familiar_connect.slash.command import SlashCommand
from familiar_connect.slash.context import CONTEXT
from familiar_connect.slash.memory import MEMORY
from familiar_connect.slash.preset import PRESET

COMMANDS: tuple[SlashCommand, ...] = (CONTEXT, MEMORY, PRESET)


def command(name: str) -> SlashCommand | None:
    return next((each for each in COMMANDS if each.name == name), None)
