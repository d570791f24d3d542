"""LineCompletion: what a line that somebody has begun may become: commands, their words, files, people's names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from familiar_connect.familiar import Familiar
from familiar_connect.slash.command import SlashCommand
from familiar_connect.slash.people import suggest_names

MIN_NAME_CHARS = 2
"""A name is offered from here on; before that nearly every name would be."""
_LAST_WORD = re.compile(r"[^\W_][\w'’-]*$")


@dataclass(frozen=True)
class Suggestion:
    """A text, and how many letters before the cursor it takes the place of."""

    text: str
    replaces: int
    meaning: str = ""


class LineCompletion:
    """Suggests for one familiar, in a place that offers *commands* and others of its own with their meanings."""

    def __init__(self, familiar: Familiar, commands: tuple[SlashCommand, ...], own: Mapping[str, str]) -> None:
        self._familiar = familiar
        self._commands = {each.name: each for each in commands}
        self._meanings = {**{each.name: each.description for each in commands}, **own}

    async def suggest(self, before: str) -> list[Suggestion]:
        """What the text before the cursor may become."""
        if "\n" in before or not before.startswith("/"):
            return await self._names(before)
        name, space, words = before[1:].partition(" ")
        if not space:
            found = sorted(each for each in self._meanings if each.startswith(name.lower()))
            return [Suggestion(f"/{each} ", len(before), self._meanings[each]) for each in found]
        command = self._commands.get(name)
        return [] if command is None else await self._words(command, words.lstrip())

    async def _words(self, command: SlashCommand, words: str) -> list[Suggestion]:
        """What the option that is being typed may be; the last one takes all the rest."""
        if not command.options:
            return [Suggestion(each, len(words)) for each in command.words if each.startswith(words.lower())]
        begun = words.split(" ", len(command.options) - 1)
        option = command.options[len(begun) - 1]
        if option.suggest is not None:
            found = await option.suggest(self._familiar, begun[-1])
        else:
            found = [each for each in option.choices if each.startswith(begun[-1].lower())]
        return [Suggestion(each, len(begun[-1])) for each in found]

    async def _names(self, before: str) -> list[Suggestion]:
        """People, and the familiar itself, whose names the last word begins."""
        word = _LAST_WORD.search(before)
        if word is None or len(word[0]) < MIN_NAME_CHARS:
            return []
        found = await suggest_names(self._familiar, word[0])
        return [Suggestion(each, len(word[0])) for each in found]
