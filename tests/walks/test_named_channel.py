"""A platform whose channels have names and no numbers: each is a channel like any other, and the same one tomorrow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from familiar_connect.chat.place import Place, PlaceFeatures
from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.familiar import Familiar
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.identity import Author, ChannelKey
from familiar_connect.subscriptions import SubscriptionKind
from tests.fakes.scripted_familiar import NO_TYPING_DELAY, NOON, scripted_familiar

ZED = Author("irc", "zed", "zed", "zed")


class Room(Place):
    """A room of IRC: no more than every place must have."""

    features = PlaceFeatures(limit=400)

    def __init__(self, familiar: Familiar, name: str) -> None:
        self.name = name
        self.number = familiar.history_store.channel_keys.number_of(ChannelKey("irc", name))
        self.sent: list[str] = []
        self._recent = StoredMessages(familiar.history_store, familiar.id, self.number, platform="irc")

    async def send(self, text: str) -> None:
        self.sent.append(text)

    async def notice(self, text: str) -> None:
        raise AssertionError(text)

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return await self._recent.recent(limit)

    async def scene(self) -> Scene:
        return Scene(channel=ChannelContext(self.name, ChannelKind.text))


async def say(home: Path, room_name: str, words: str, answer: str) -> tuple[list[str], str]:
    """One run of the program in which one thing is said; what was sent, and the prompt."""
    async with scripted_familiar(home, [answer], subscribed=False) as house:
        room = Room(house.familiar, room_name)
        (house.familiar.root / "channels" / f"{room.number}.toml").write_text(NO_TYPING_DELAY, encoding="utf-8")
        known = house.familiar.subscriptions
        if known.get(channel_id=room.number, kind=SubscriptionKind.text) is None:
            known.add(channel_id=room.number, kind=SubscriptionKind.text, guild_id=None)
        message = InboundMessage(
            platform="irc", channel_id=room.number, author=ZED, text=words, timestamp=NOON, is_mention=True
        )
        await house.familiar.intake.receive(message, room)
        await house.familiar.intake.wait_until_idle()
        await house.familiar.reply_path.queue.wait_until_channel_idle(room.number)
        (call,) = house.model.calls
        return room.sent, "\n".join(each.content for each in call)


async def test_what_was_said_in_a_named_room_is_known_there_after_a_restart(tmp_path: Path) -> None:
    """In the room of another name it is another dialogue."""
    sent, _ = await say(tmp_path, "#tea", "the kettle is blue", "Is it?")
    _, there = await say(tmp_path, "#tea", "what did I say?", "That.")
    _, elsewhere = await say(tmp_path, "#coffee", "and here?", "Nothing.")

    assert sent == ["Is it?"]
    assert "the kettle is blue" in there
    assert "Is it?" in there
    assert "Is it?" not in elsewhere
