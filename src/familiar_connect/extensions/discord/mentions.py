"""DiscordMentions: mentions and emojis as the model writes them, as Discord writes them, and back.

The model writes `@{Ada}` and `:tea:`; Discord wants `<@123>` and `<:tea:456>`. Only people the model was told of
are mentioned, and only so many in one reply. Code stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from familiar_connect.api import ListedUser
from familiar_connect.api.support import fold_name

MOST_MENTIONED = 5
"""People one reply may ping; whoever else is named in it is named without a ping."""
UNKNOWN = "@unknown"
"""Stands for a mention the model made up."""

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_WRITTEN = re.compile(r"@\{([^{}\n]{1,100})\}|<@!?(\d{1,20})>|<a?:(\w{1,64}):\d{1,20}>|:(\w{2,64}):")
_MARK = re.compile(r"<@!?(\d{1,20})>|<a?:(\w{1,64}):\d{1,20}>")


class DiscordMentions:
    """The people and emojis that one reply may use."""

    def __init__(self, users: Sequence[ListedUser], emojis: Iterable[Any]) -> None:
        people = [each for each in users if each.mentionable and each.target_id.isdigit() and each.aliases]
        self._ids = {fold_name(alias): each.target_id for each in people for alias in each.aliases}
        self._handles = {each.target_id: each.aliases[0] for each in people}
        self._emojis: dict[str, str] = {}
        for emoji in sorted(emojis, key=lambda each: int(each.id)):  # of two of one name the later made counts
            self._emojis[emoji.name.casefold()] = f"<{'a' if emoji.animated else ''}:{emoji.name}:{emoji.id}>"

    def encode(self, text: str) -> str:
        """What the model wrote, as Discord takes it."""
        mentioned: dict[str, None] = {}

        def mark(found: re.Match[str]) -> str:
            handle, user_id, emoji, name = found.groups()
            if handle is not None:
                return self._mention(self._ids.get(fold_name(handle)), handle.strip(), mentioned)
            if user_id is not None:
                return self._mention(user_id, self._handles.get(user_id), mentioned)
            shown = emoji or name
            return self._emojis.get(shown.casefold(), f":{shown}:" if emoji else found[0])

        return _outside_code(text, lambda words: _WRITTEN.sub(mark, words))

    def _mention(self, user_id: str | None, name: str | None, mentioned: dict[str, None]) -> str:
        if user_id is None or user_id not in self._handles:
            return name if name is not None else UNKNOWN
        if user_id not in mentioned and len(mentioned) >= MOST_MENTIONED:
            return self._handles[user_id]
        mentioned[user_id] = None
        return f"<@{user_id}>"

    def mention(self, user_id: str) -> str:
        """What pings somebody; empty for who has no account here."""
        return f"<@{user_id}>" if user_id.isascii() and user_id.isdigit() else ""

    def decode(self, text: str) -> str:
        """What Discord shows, as the model wrote it."""

        def plain(found: re.Match[str]) -> str:
            user_id, emoji = found.groups()
            if emoji is not None:
                return f":{emoji}:"
            handle = self._handles.get(user_id)
            return found[0] if handle is None else f"@{{{handle}}}"

        return _outside_code(text, lambda words: _MARK.sub(plain, words))


def ids_in_mentions(text: str) -> list[int]:
    """Whom a text that was encoded pings, each once."""
    found: dict[int, None] = {}
    _outside_code(text, lambda words: "".join(_note(found, mark) for mark in _MARK.finditer(words)))
    return list(found)[:MOST_MENTIONED]


def _note(found: dict[int, None], mark: re.Match[str]) -> str:
    if mark[1] is not None:
        found[int(mark[1])] = None
    return ""


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """*text* changed wherever it is no code."""
    parts, at = [], 0
    for code in _CODE.finditer(text):
        parts += [change(text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, change(text[at:])])
