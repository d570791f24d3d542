"""LineCompletion: what a line that somebody has begun may become: commands, their words, files, people's names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from familiar_connect.familiar import Familiar
from familiar_connect.platforms.terminal.place import CHANNEL_ID
from familiar_connect.slash.chats import CHAT, suggest_chats
from familiar_connect.slash.command import SlashCommand, SlashOption
from familiar_connect.slash.people import names_begun, suggest_names
from familiar_connect.slash.registry import HELP
from familiar_connect.support.translate import tr

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
        self._meanings = {
            **{each.name: tr(each.description) for each in commands},
            **{name: tr(own[name]) for name in own},
        }

    async def suggest(self, before: str) -> list[Suggestion]:
        """What the text before the cursor may become."""
        if "\n" in before or not before.startswith("/"):
            return await self._names(before)
        name, space, words = before[1:].partition(" ")
        name = name.lower()
        if not space:
            return [Suggestion(f"/{each} ", len(before), self._meanings[each]) for each in self._commands_begun(name)]
        words = words.lstrip()
        if name == HELP.name:
            return [Suggestion(each, len(words), self._meanings[each]) for each in self._commands_begun(words.lower())]
        command = self._commands.get(name)
        return [] if command is None else await self._words(command, words)

    def _commands_begun(self, name: str) -> list[str]:
        return sorted(each for each in self._meanings if each.startswith(name))

    async def _words(self, command: SlashCommand, words: str) -> list[Suggestion]:
        """What the option that is being typed may be; the last one takes all the rest."""
        begun = words.split(" ", max(len(command.options) - 1, 0))
        found = names_begun(command.words, begun[0]) if len(begun) == 1 else []
        if command.options:
            found += await self._option(command.options[len(begun) - 1], begun[-1])
        if command is CHAT:
            found += await suggest_chats(self._familiar, CHANNEL_ID, begun[-1])
        return [Suggestion(each, len(begun[-1])) for each in dict.fromkeys(found)]

    async def _option(self, option: SlashOption, begun: str) -> list[str]:
        suggest = option.suggest_to_operator or option.suggest
        if suggest is not None:
            return await suggest(self._familiar, begun)
        return names_begun(option.choices, begun)

    async def _names(self, before: str) -> list[Suggestion]:
        """People, and the familiar itself, whose names the last word begins."""
        word = _LAST_WORD.search(before)
        if word is None or len(word[0]) < MIN_NAME_CHARS:
            return []
        found = await suggest_names(self._familiar, word[0])
        return [Suggestion(each, len(word[0])) for each in found]
