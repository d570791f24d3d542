"""TelegramMarks: mentions as Telegram has them: by user name, which is what pings somebody."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from familiar_connect.api import ListedUser
from familiar_connect.api.support import fold_name

_MENTION = re.compile(r"@\{([^{}\n]{1,100})\}")

FindUserName = Callable[[str], str | None]
"""The user name of somebody by their user id; None: they have none, or never wrote to us."""


class TelegramMarks:
    """`@{Ada}` becomes `@ada_l` for people of the conversation; anybody else is named without a ping.

    A name is never taken for a user name: that one could be a stranger's.
    """

    def __init__(self, users: Sequence[ListedUser], find_username: FindUserName) -> None:
        self._users = {fold_name(alias): each for each in users if each.mentionable for alias in each.aliases}
        self._find_username = find_username

    def encode(self, text: str) -> str:
        return _MENTION.sub(self._mention, text)

    def decode(self, text: str) -> str:
        return text

    def mention(self, user_id: str) -> str:
        username = self._find_username(user_id)
        return f"@{username}" if username is not None else ""

    def _mention(self, found: re.Match[str]) -> str:
        name = found[1].strip()
        user = self._users.get(fold_name(name))
        return (self.mention(user.target_id) if user is not None else "") or name
