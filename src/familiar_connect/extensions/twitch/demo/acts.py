"""What people do on the stream besides writing: a word behind a slash, in the demonstration."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from familiar_connect.extensions.twitch.demo.chat_room import Viewer
from familiar_connect.extensions.twitch.demo.server import TwitchServer

MAX_NUMBER = 1_000_000
MAX_GIFTS = 20
OFF = "off"
BACK_WITHIN_S = 30.0


class Stream:
    """The stream as whoever types acts on it."""

    def __init__(self, server: TwitchServer, say: Callable[[str], None]) -> None:
        self.server = server
        self.say = say

    def find(self, name: str) -> Viewer | None:
        """Somebody who is known here; a word about it where nobody is."""
        meant, viewers = name.lstrip("@").lower(), self.server.room.viewers
        found = viewers.get(meant) or next((each for each in viewers.values() if each.name.lower() == meant), None)
        if found is None:
            self.say(f"Nobody is called {name!r} here." if name else "Say whom: `/timeout ben 60`.")
        return found

    # What viewers do

    async def follow(self, viewer: Viewer, words: str) -> None:
        await self.server.follow_channel(viewer)

    async def subscribe(self, viewer: Viewer, words: str) -> None:
        await self.server.subscribe(viewer)

    async def resubscribe(self, viewer: Viewer, words: str) -> None:
        months, rest = _number(words, 2)
        await self.server.resubscribe(viewer, months, rest)

    async def gift(self, viewer: Viewer, words: str) -> None:
        count = min(_number(words, 1)[0], MAX_GIFTS)
        await self.server.gift(viewer, *(self.server.room.viewer(f"viewer_{each}") for each in range(1, count + 1)))

    async def cheer(self, viewer: Viewer, words: str) -> None:
        bits, rest = _number(words, 100)
        await self.server.cheer(viewer, bits, rest)

    async def redeem(self, viewer: Viewer, words: str) -> None:
        title, _, rest = words.partition(":")
        await self.server.redeem(viewer, title.strip() or "Hydrate", rest.strip())

    async def raid(self, viewer: Viewer, words: str) -> None:
        await self.server.raid(viewer, _number(words, 42)[0])

    async def ads(self, viewer: Viewer, words: str) -> None:
        await self.server.begin_ads(_number(words, 30)[0])

    async def whisper(self, viewer: Viewer, words: str) -> None:
        to, _, rest = words.partition(" ")
        if (person := self.find(to)) is not None:
            await self.server.whisper(viewer, person, rest)
            self.say("(The familiar takes no whispers, so it hears nothing of that.)")

    # What moderators do

    async def delete(self, viewer: Viewer, words: str) -> None:
        """The last line of somebody."""
        if (person := self.find(words)) is None:
            return
        last = next((line for line in reversed(self.server.room.lines) if line.viewer is person), None)
        if last is not None:
            await self.server.delete(last.id)
            self.say(f"(Gone from the chat: {person.name}: {last.text})")

    async def time_out(self, viewer: Viewer, words: str) -> None:
        name, _, rest = words.partition(" ")
        if (person := self.find(name)) is not None:
            seconds = _number(rest, 600)[0]
            await self.server.time_out(person, seconds)
            self.say(f"({person.name} is timed out for {seconds} seconds, and what they wrote is gone.)")

    async def ban(self, viewer: Viewer, words: str) -> None:
        if (person := self.find(words)) is not None:
            await self.server.ban(person)
            self.say(f"({person.name} is banned, and what they wrote is gone.)")

    async def unban(self, viewer: Viewer, words: str) -> None:
        if (person := self.find(words)) is not None:
            self.server.unban(person)
            self.say(f"({person.name} may write again.)")

    async def clear(self, viewer: Viewer, words: str) -> None:
        await self.server.clear()
        self.say("(The chat is cleared.)")

    async def slow(self, viewer: Viewer, words: str) -> None:
        seconds = 0 if words == OFF else _number(words, 30)[0]
        await self._set_modes(f"slow mode: {seconds} s" if seconds else "slow mode off", slow_s=seconds)

    async def followers(self, viewer: Viewer, words: str) -> None:
        minutes = None if words == OFF else _number(words, 0)[0]
        says = "followers-only mode off" if minutes is None else f"followers-only mode: {minutes} min"
        await self._set_modes(says, followers_only_min=minutes)

    async def subscribers(self, viewer: Viewer, words: str) -> None:
        await self._set_modes(_switch("subscribers-only mode", words), is_subscribers_only=words != OFF)

    async def emotes(self, viewer: Viewer, words: str) -> None:
        await self._set_modes(_switch("emote-only mode", words), is_emotes_only=words != OFF)

    async def unique(self, viewer: Viewer, words: str) -> None:
        await self._set_modes(_switch("unique-chat mode", words), is_unique=words != OFF)

    async def _set_modes(self, says: str, **modes: object) -> None:
        await self.server.set_modes(**modes)
        self.say(f"({says})")

    # What befalls the connection

    async def drop(self, viewer: Viewer, words: str) -> None:
        """What is said until the familiar is back, nobody tells it; so that is waited for."""
        await self.server.sessions.drop()
        self.say("(Every connection is cut.)")
        with suppress(TimeoutError):
            await self.server.until_listening(within_s=BACK_WITHIN_S)
            self.say("(The familiar is back.)")

    async def move(self, viewer: Viewer, words: str) -> None:
        await self.server.sessions.ask_to_move()
        self.say("(Twitch asks the familiar to connect elsewhere.)")

    async def silence(self, viewer: Viewer, words: str) -> None:
        self.server.sessions.fall_silent()
        self.say("(The connections are half open: nothing comes any more, until the familiar notices.)")

    async def expire(self, viewer: Viewer, words: str) -> None:
        for text in list(self.server.tokens.known):
            self.server.tokens.expire(text)
        self.say("(The tokens have run out.)")


@dataclass(frozen=True)
class Act:
    """What is done, and who may."""

    do: Callable[[Stream, Viewer, str], Awaitable[None]]
    is_for_moderators: bool = False


ACTS = {
    "follow": Act(Stream.follow),
    "sub": Act(Stream.subscribe),
    "resub": Act(Stream.resubscribe),
    "gift": Act(Stream.gift),
    "cheer": Act(Stream.cheer),
    "redeem": Act(Stream.redeem),
    "raid": Act(Stream.raid),
    "whisper": Act(Stream.whisper),
    "ads": Act(Stream.ads, is_for_moderators=True),
    "delete": Act(Stream.delete, is_for_moderators=True),
    "timeout": Act(Stream.time_out, is_for_moderators=True),
    "ban": Act(Stream.ban, is_for_moderators=True),
    "unban": Act(Stream.unban, is_for_moderators=True),
    "clear": Act(Stream.clear, is_for_moderators=True),
    "slow": Act(Stream.slow, is_for_moderators=True),
    "followers": Act(Stream.followers, is_for_moderators=True),
    "subscribers": Act(Stream.subscribers, is_for_moderators=True),
    "emoteonly": Act(Stream.emotes, is_for_moderators=True),
    "uniquechat": Act(Stream.unique, is_for_moderators=True),
    "drop": Act(Stream.drop),
    "reconnect": Act(Stream.move),
    "silence": Act(Stream.silence),
    "expire": Act(Stream.expire),
}
"""By what is typed behind the slash, most of them as Twitch's own chat has them."""


def _number(words: str, otherwise: int) -> tuple[int, str]:
    """The number that *words* begin with, and what follows."""
    first, _, rest = words.partition(" ")
    return (min(int(first), MAX_NUMBER), rest.strip()) if first.isdecimal() else (otherwise, words)


def _switch(name: str, words: str) -> str:
    return f"{name} {OFF if words == OFF else 'on'}"
