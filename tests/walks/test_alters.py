"""A familiar with a second persona: who is called answers, and each is remembered under its own name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.chat.place import Place, PlaceFeatures
from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.llm.types import Message
from tests.fakes.scripted_familiar import CHANNEL, ScriptedFamiliar, scripted_familiar

MOSS = '\n[[alters]]\nname = "Moss"\naliases = ["mossy"]\n'


def with_alter(home: Path) -> None:
    root = make_starter(home, "ember")
    (root / "channels").mkdir()
    settings = root / "character.toml"
    settings.write_text(settings.read_text(encoding="utf-8") + MOSS, encoding="utf-8")


class LookingBack(Place):
    """A channel that shows what is stored of it."""

    def __init__(self, house: ScriptedFamiliar) -> None:
        self.place = house.place
        self.recents = StoredMessages(house.familiar.history_store, "ember", CHANNEL)

    @property
    def features(self) -> PlaceFeatures:
        return self.place.features

    async def send(self, text: str) -> None:
        await self.place.send(text)

    async def notice(self, text: str) -> None:
        await self.place.notice(text)

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return await self.recents.recent(limit)

    async def scene(self) -> Scene:
        return Scene()


def dialogue(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Role and words of the last turns, without the time before them and the notes between them."""
    words = [(each.role, each.content.split("] ", 1)[-1]) for each in messages if "[System:" not in each.content]
    return words[-3:]


async def test_who_is_called_answers_under_its_own_name(tmp_path: Path) -> None:
    """B100, B113: the other persona's words are a user's, its own carry its name, and names before replies go."""
    with_alter(tmp_path)
    async with scripted_familiar(tmp_path, ["Hello, Ana.", "Moss: Damp and well.", "Warm!"]) as house:
        house.place = LookingBack(house)  # type: ignore[assignment]
        await house.talk("hello", message_id="1")
        await house.talk("how are you, Moss?", message_id="2")
        await house.talk("and you, Ember?", message_id="3")
        told, calls = house.roles_and_texts(), house.model.calls

    assert [words for role, words in told if role == "assistant"] == ["Hello, Ana.", "Damp and well.", "Warm!"]
    assert dialogue(calls[1]) == [
        ("user", "Ana: hello"),
        ("user", "Ember: Hello, Ana."),
        ("user", "Ana: how are you, Moss?"),
    ]
    assert dialogue(calls[2]) == [
        ("user", "Ana: how are you, Moss?"),
        ("user", "Moss: Damp and well."),
        ("user", "Ana: and you, Ember?"),
    ]
    assert ("assistant", "Ember: Hello, Ana.") in [(each.role, each.content) for each in calls[2]]


async def test_two_who_are_called_answer_one_after_the_other(tmp_path: Path) -> None:
    """B51: the second sees what the first said, and is told whom it answers."""
    with_alter(tmp_path)
    async with scripted_familiar(tmp_path, ["Glowing.", "Growing."]) as house:
        house.place = LookingBack(house)  # type: ignore[assignment]
        await house.talk("Ember, mossy, how is it?", message_id="1")
        calls = house.model.calls

    assert len(calls) == 2
    shown = "\n".join(message.content for message in calls[1])
    assert "Ember: Glowing." in shown
    assert "You are Moss. Answer Ana" in shown
