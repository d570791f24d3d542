"""ChatCommands: what people may ask of the familiar by a line such as `!ember stop`.

Twitch shows every answer to everybody, so only commands whose answers anybody may read are taken. The streamer and
the moderators may use all of them.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from familiar_connect.api import Place, PlatformHost
from familiar_connect.api.support import LruCache
from familiar_connect.extensions.twitch.account import TwitchUser
from familiar_connect.extensions.twitch.inbound import HeardLine, without_mention
from familiar_connect.extensions.twitch.small_tools import cut_line, fold_case, in_one_line

HELP = "help"
FOR_EVERYBODY = ("privacy", "remind", "stop")
FOR_MODERATORS = ("ignore", "unignore", "reset")
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

    def __init__(self, host: PlatformHost, channel: str, find_user: FindUser) -> None:
        self._host = host
        self._channel = channel
        self._find_user = find_user
        self._calls = {f"!{fold_case(name).replace(' ', '')}" for name in (host.familiar_id, host.name)}
        self._call = f"!{host.familiar_id}"
        self._used_at: LruCache[str, float] = LruCache(MAX_PAUSED)

    def parse(self, text: str) -> tuple[str, str] | None:
        """The name of a command and the words behind it; None: the line is none of ours."""
        call, _, rest = without_mention(in_one_line(text)).partition(" ")
        if fold_case(call) not in self._calls:
            return None
        name, _, words = rest.strip().partition(" ")
        return name.lower().removeprefix("/") or HELP, words.strip()

    async def answer(self, message: HeardLine, place: Place, *, is_moderator: bool) -> str | None:
        """What the command comes to, in one line; None: nothing is to be said about it."""
        found = self.parse(message.text)
        if found is None or not (is_moderator or self._may_use_now(message)):
            return None
        name, words = found
        if name not in (*FOR_EVERYBODY, *FOR_MODERATORS):
            return self._help()
        if name in FOR_MODERATORS and not is_moderator:
            return NOT_A_MODERATOR
        if name in ABOUT_SOMEBODY:
            person = await self._person(words)
            if person is None:
                return f"Say who: {self._call} {name} NAME, as the chat shows it."
            words = person
        reply = await self._host.use_command(
            self._channel,
            message.author,
            f"{name} {words}",
            place,
            may_manage=is_moderator,
            is_operator=is_moderator,
            others_read=True,
        )
        return self._help() if reply is None else cut_line(in_one_line(self._as_typed_here(reply)), MAX_CHARS)

    def _may_use_now(self, message: HeardLine) -> bool:
        """Whether a viewer is answered: not somebody ignored, and nobody twice within moments."""
        if self._host.is_ignored(message.author):
            return False
        now, person = self._host.clock.monotonic(), message.author.canonical_key
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
        return f"Say my name to talk with me. {own}; for moderators: {', '.join(FOR_MODERATORS)}."

    def _as_typed_here(self, text: str) -> str:
        names = "|".join((*FOR_EVERYBODY, *FOR_MODERATORS))
        return re.sub(rf"(?<!\S)/({names})\b", rf"{self._call} \1", text)
