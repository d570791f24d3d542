"""ChatCommands: what people may ask of the familiar by a line such as `!ember stop`.

Twitch shows every answer to everybody, so only commands whose answers anybody may read are taken. The streamer and
the moderators may use all of them.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from familiar_connect.chat.place import Place
from familiar_connect.chat.types import InboundMessage
from familiar_connect.familiar import Familiar
from familiar_connect.platforms.twitch.account import TwitchUser
from familiar_connect.slash.command import SlashContext
from familiar_connect.slash.registry import find_command, run_command
from familiar_connect.support.lru import LruCache
from familiar_connect.support.names import fold_name
from familiar_connect.support.text import one_line, truncate_chars

HELP = "help"
FOR_EVERYBODY = ("privacy", "stop")
FOR_MODERATORS = ("ignore", "unignore", "reset")
"""Those of them that there are."""
ABOUT_SOMEBODY = frozenset({"ignore", "unignore"})
NOT_A_MODERATOR = "That is for the streamer and the moderators."
PAUSE_S = 10.0
"""Between two commands of one viewer: whoever floods the chat is not helped to."""
MAX_PAUSED = 1_000
MAX_CHARS = 480

FindUser = Callable[[str], Awaitable[TwitchUser | None]]
_USER_NAME = re.compile(r"@?([A-Za-z0-9_]{1,30})")


class ChatCommands:
    """The commands of one familiar in one channel."""

    def __init__(self, familiar: Familiar, find_user: FindUser) -> None:
        self._familiar = familiar
        self._find_user = find_user
        self._calls = {f"!{fold_name(name).replace(' ', '')}" for name in (familiar.id, familiar.name)}
        self._call = f"!{familiar.id}"
        self._used_at: LruCache[str, float] = LruCache(MAX_PAUSED)

    def parse(self, text: str) -> tuple[str, str] | None:
        """The name of a command and the words behind it; None: the line is none of ours."""
        call, _, rest = one_line(text).partition(" ")
        if fold_name(call) not in self._calls:
            return None
        name, _, words = rest.strip().partition(" ")
        return name.lower().removeprefix("/") or HELP, words.strip()

    async def answer(self, message: InboundMessage, place: Place, *, is_moderator: bool) -> str | None:
        """What the command comes to, in one line; None: nothing is to be said about it."""
        found = self.parse(message.text)
        if found is None or not (is_moderator or self._may_use_now(message)):
            return None
        name, words = found
        wanted = find_command(name) if name in (*FOR_EVERYBODY, *FOR_MODERATORS) else None
        if wanted is None:
            return self._help()
        if name in FOR_MODERATORS and not is_moderator:
            return NOT_A_MODERATOR
        if name in ABOUT_SOMEBODY:
            person = await self._person(words)
            if person is None:
                return f"Say whom: {self._call} {name} NAME, as the chat shows it."
            words = person
        context = SlashContext(
            channel_id=message.channel_id,
            author=message.author,
            is_operator=is_moderator,
            may_manage=is_moderator,
            may_control=is_moderator,
            words=words,
            answers_at=place,
        )
        reply = await run_command(wanted, context, self._familiar)
        return truncate_chars(one_line(self._as_typed_here(reply.text)), MAX_CHARS)

    def _may_use_now(self, message: InboundMessage) -> bool:
        """Whether a viewer is answered: not somebody ignored, and nobody twice within moments."""
        if self._familiar.stores.ignored.is_ignored(message.author):
            return False
        now, person = self._familiar.clock.monotonic(), message.author.canonical_key
        last = self._used_at.get(person)
        if last is not None and now - last < PAUSE_S:
            return False
        self._used_at.put(person, now)
        return True

    async def _person(self, words: str) -> str | None:
        """Somebody of Twitch by the name the chat shows, as commands take people; nobody of another platform."""
        found = _USER_NAME.fullmatch(words)
        user = await self._find_user(found[1].lower()) if found is not None else None
        return f"twitch:{user.user_id}" if user is not None else None

    def _help(self) -> str:
        own = ", ".join(f"{self._call} {name}" for name in FOR_EVERYBODY)
        theirs = ", ".join(name for name in FOR_MODERATORS if find_command(name) is not None)
        return f"Say my name to talk with me. {own}; for moderators: {theirs}."

    def _as_typed_here(self, text: str) -> str:
        names = "|".join((*FOR_EVERYBODY, *FOR_MODERATORS))
        return re.sub(rf"(?<!\S)/({names})\b", rf"{self._call} \1", text)
