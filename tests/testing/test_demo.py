"""The demonstration: several people and a familiar on a Discord of our own, from one terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

pytest.importorskip("discord", reason="the Discord library is an extra")

from familiar_connect.extensions.discord.demo.demo import FORMS
from familiar_connect.extensions.discord.demo.demo_world import (
    CHANNEL_ID,
    COUNCIL_ID,
    GARDEN_ID,
    KEEPER,
    REGULAR,
    THREAD_ID,
    DemoWorld,
    picture_bytes,
)
from familiar_connect.extensions.discord.demo.world import World
from familiar_connect.extensions.load import find_platform
from familiar_connect.platforms.terminal.demonstration import Demonstration, how_text
from familiar_connect.platforms.terminal.line_input import PipeReader
from familiar_connect.subscriptions import SubscriptionKind
from tests.fakes.scripted_familiar import NO_TYPING_DELAY, ScriptedFamiliar, scripted_familiar

NAMES = ("you", "ada", "ben", "cy", "somebody")

CHANNELS = "There are #general, #garden, #council, #birthday, #lounge, #dm."


def typed(*lines: str) -> io.StringIO:
    return io.StringIO("".join(f"{line}\n" for line in lines))


def no_typing_delays(house: ScriptedFamiliar) -> None:
    for channel_id in (CHANNEL_ID, GARDEN_ID, COUNCIL_ID, THREAD_ID, 10_000_002_001):
        house.familiar.root.joinpath("channels", f"{channel_id}.toml").write_text(NO_TYPING_DELAY, encoding="utf-8")


async def demonstrate(house: ScriptedFamiliar, said: list[str], *lines: str, is_scripted: bool) -> None:
    """Type the lines on the demonstration of Discord, which says what it shows to *said*."""
    part, reader = find_platform("discord"), PipeReader(typed(*lines))
    await Demonstration(house.familiar, "discord", part, reader=reader, say=said.append, is_scripted=is_scripted).run()


async def shown(
    tmp_path: Path, *lines: str, replies: tuple[str, ...] = ("Hello there.",), paced: bool = False
) -> list[str]:
    """What the terminal shows after the lines were typed; *paced*: each after the one before was answered."""
    said: list[str] = []
    async with scripted_familiar(tmp_path, replies, subscribed=False) as house:
        no_typing_delays(house)
        await demonstrate(house, said, *lines, is_scripted=paced)
        left = house.familiar.subscriptions.get(channel_id=CHANNEL_ID, kind=SubscriptionKind.text)

    assert left is None
    return said


async def test_a_typed_line_is_said_and_answered(tmp_path: Path) -> None:
    """Until the input ends; nothing is left subscribed."""
    said = await shown(tmp_path, "ada: hello @Ember")

    assert said[-1] == "Ember: Hello there."


async def test_a_command_is_answered_to_its_user(tmp_path: Path) -> None:
    """Under the name of whoever used it."""
    said = await shown(tmp_path, "ada: /privacy partial", "/nonsense")

    assert any(line.startswith("(only Ada sees) You share only your words with me (privacy: partial)") for line in said)
    assert any(line.startswith("There is no /nonsense here.") for line in said)


async def test_a_file_that_comes_with_an_answer_is_shown(tmp_path: Path) -> None:
    """Nobody can open it here."""
    said = await shown(tmp_path, "/help", "hello Ember", "!wait", "/context full")

    helped = "\n".join(said[:4])
    assert "/privacy" in helped
    assert "/regenerate" in helped
    assert "hello Ember" in next(line for line in said if "[answer.md]" in line)


async def test_how_it_works_is_said_first(tmp_path: Path) -> None:
    """No line is longer than people's windows, and the first thing it shows is answered."""
    said = await shown(tmp_path)
    first = said[0].splitlines()[1].split("  ")[1]
    answered = await shown(tmp_path / "second", first)

    assert first == "hello Ember"
    assert answered[-1] == "Ember: Hello there."
    assert max(map(len, said[0].splitlines())) <= 100
    for width in (40, 80):
        assert max(map(len, how_text("Discord", "Ember", FORMS, width).splitlines())) <= width


async def test_someone_may_reply_to_what_it_said(tmp_path: Path) -> None:
    """Once it has said something."""
    said = await shown(tmp_path, "ada: > really?")

    assert said[-1] == "Ember has said nothing yet that could be replied to."


async def test_an_address_is_said_by_you(tmp_path: Path) -> None:
    """There is nobody called http."""
    said = await shown(tmp_path, "https://example.org is nice, @Ember")

    assert said[-1] == "Ember: Hello there."


async def test_the_bot_is_yours(tmp_path: Path) -> None:
    """So you may look into its memory, and Discord shows others no such command."""
    said = await shown(tmp_path, "/memory", "ada: /memory")

    assert any(line.startswith("(only you see) My memory is plain Markdown") for line in said)
    assert "(Discord does not show /memory to Ada.)" in said


async def test_the_same_people_and_places_are_there_at_each_start(tmp_path: Path) -> None:
    """With their roles; a stranger who comes again is the same stranger."""
    first, second = (DemoWorld(World(), "Ember") for _ in range(2))
    found = [
        [(person.id, person.display_name, person.roles) for person in (world.person(name)[0] for name in NAMES)]
        + [(room.id, name, ()) for name, room in world.rooms.items()]
        + [(world.direct_room(world.you).id, "dm", ())]
        for world in (first, second)
    ]

    assert found[0] == found[1]
    assert found[0][1] == (2002, "Ada", (KEEPER, REGULAR))
    assert len({each[0] for each in found[0]}) == len(found[0])


async def test_one_can_talk_in_other_channels_in_a_thread_and_alone(tmp_path: Path) -> None:
    """Each line says where, and the familiar's answer too unless it is where you are."""
    said = await shown(
        tmp_path,
        "#garden ada: hello @Ember",
        "#birthday ben: hello @Ember",
        "#dm hello",
        "#council",
        "hello @Ember",
        replies=("One.", "Two.", "Three.", "Four."),
        paced=True,
    )

    assert [line for line in said if "Ember: " in line] == [
        "[#garden] Ember: One.",
        "[#birthday] Ember: Two.",
        "[#dm] Ember: Three.",
        "Ember: Four.",
    ]
    assert "(You are in #council now.)" in said


async def test_a_hidden_channel_is_hidden_from_those_who_cannot_see_it(tmp_path: Path) -> None:
    """And a channel that is not there is named with those that are."""
    said = await shown(tmp_path, "#council ben: hello", "#attic hello")

    assert "(Ben cannot see #council.)" in said
    assert f"There is no #attic here, so that was not said. {CHANNELS}" in said


async def test_what_is_typed_amiss_is_told_and_not_said(tmp_path: Path) -> None:
    """A channel that is not there, in either place; somebody with nothing to say. Whoever is new is seen to come in."""
    lines = ("nosuch: #nowhere hi Ember", "#no-where hi Ember", "ada:", "nosuch: hello Ember", "nosuch: bye")
    said = await shown(tmp_path, *lines, paced=True)

    assert [line for line in said if line.startswith("There is no")] == [
        f"There is no #{name} here, so that was not said. {CHANNELS}" for name in ("nowhere", "no-where")
    ]
    assert "Say what ada says: `ada: hello`." in said
    assert said.count("(Nosuch comes in.)") == 1
    assert [line for line in said if "Ember: " in line] == ["Ember: Hello there."]


async def test_the_channel_may_stand_behind_the_speaker(tmp_path: Path) -> None:
    """As people write it."""
    said = await shown(tmp_path, "ada: #garden hello Ember")

    assert said[-1] == "[#garden] Ember: Hello there."


async def test_typing_pictures_and_reactions_are_shown(tmp_path: Path) -> None:
    """And reach the familiar as Discord tells them."""
    said: list[str] = []
    async with scripted_familiar(tmp_path, ("Hello there.", "Oh!"), subscribed=False) as house:
        no_typing_delays(house)
        lines = ("ada: hello @Ember", "ben: +👍", "ben: !picture look, @Ember")
        await demonstrate(house, said, *lines, is_scripted=True)
        prompt = "\n".join(str(message.content) for message in house.model.calls[-1])

    assert said.index("(Ember is typing…)") < said.index("Ember: Hello there.")
    assert "(Ben reacts with 👍.)" in said
    assert "👍" in prompt
    assert "picture" in prompt.lower() or "image" in prompt.lower()


def test_the_picture_is_one() -> None:
    """Anybody can open it."""
    assert picture_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert picture_bytes().endswith(b"IEND\xaeB`\x82")
