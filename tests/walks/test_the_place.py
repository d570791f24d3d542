"""Stories of a familiar that knows where it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from familiar_connect.chat.scene import ChannelContext, ChannelKind, Member, Scene
from familiar_connect.identity import PrivacyLevel
from familiar_connect.reply.prompt_replay import replay_messages
from tests.fakes.place import RecordingPlace
from tests.fakes.scripted_familiar import ANA, BEN, CHANNEL, ScriptedFamiliar, scripted_familiar

TEA_HOUSE = Scene(
    server_name="Tea House",
    server_id=5,
    channel=ChannelContext("lounge", ChannelKind.text),
    participants=(ANA, BEN),
    members=(Member(author=ANA, presence="online"), Member(author=BEN, presence="xyzzy")),
)


@dataclass
class Room(RecordingPlace):
    """A channel of the tea house; or one that cannot be looked at."""

    error: Exception | None = None

    async def scene(self) -> Scene:
        if self.error is not None:
            raise self.error
        return TEA_HOUSE


def the_prompt(house: ScriptedFamiliar) -> str:
    return "\n".join(message.content for message in house.model.calls[-1])


async def test_the_model_is_told_where_it_is_and_who_is_there(tmp_path: Path) -> None:
    """Shown and kept, so that the turn can be made anew; nothing of somebody at FULL privacy is."""
    async with scripted_familiar(tmp_path, ["Hm."]) as house:
        house.place = Room()
        house.familiar.stores.privacy.set(BEN, PrivacyLevel.FULL)
        await house.talk("hello", guild_id=5)
        prompt = the_prompt(house)
        trace = house.familiar.reply_path.collector.recent_traces(familiar_id=house.familiar.id, limit=1)[0]
        record = house.familiar.reply_path.replays.load(trace.trace_id)
        replayed = replay_messages(record)

    assert 'Ember is in the server "Tea House".' in prompt
    assert "- Ana; mention: @{Ana}\nChannel: #lounge]" in prompt
    assert "Ana is online." in prompt
    assert "xyzzy" not in f"{prompt}{record}"
    assert replayed == house.model.calls[-1]


async def test_a_place_that_cannot_be_looked_at_is_answered_all_the_same(tmp_path: Path) -> None:
    """Without knowing where it is."""
    async with scripted_familiar(tmp_path, ["Hm."]) as house:
        house.place = Room(error=OSError("gone"))
        await house.talk("hello", guild_id=5)

    assert house.place.sent == ["Hm."]
    assert "Ember is on a server." in the_prompt(house)


async def test_a_channels_own_words_reach_its_prompt(tmp_path: Path) -> None:
    """From its sidecar file: instructions instead of the character's, and a note near the end."""
    async with scripted_familiar(tmp_path, ["Hm."]):
        pass
    sidecar = tmp_path / "familiars" / "ember" / "channels" / f"{CHANNEL}.toml"
    words = 'channel_prompt = "Whisper to {user}."\nchannel_prompt_mode = "replace"\nauthor_note = "Rain."\n'
    sidecar.write_text(words + sidecar.read_text(encoding="utf-8"), encoding="utf-8")
    async with scripted_familiar(tmp_path, ["Hm."]) as house:
        await house.talk("hello")

    assert "Whisper to User." in the_prompt(house)
    assert "[System: Rain.]" in the_prompt(house)


async def test_notes_about_those_who_want_none_shown_stay_in_their_file(tmp_path: Path) -> None:
    """G30, G33: though they spoke here before, and others speak of them."""
    async with scripted_familiar(tmp_path, ["Hm.", "Hm.", "Hm."]) as house:
        house.familiar.memory_store.write_file("people/discord-222.md", "# Ben\nBen fears the quagga.", source="test")
        await house.talk("I am Ben", author=BEN)
        before = the_prompt(house)
        house.familiar.stores.privacy.set(BEN, PrivacyLevel.PARTIAL)
        await house.talk("what of Ben?")
        partly = the_prompt(house)
        house.familiar.stores.privacy.set(BEN, PrivacyLevel.FULL)
        await house.talk("and now, of Ben?")

        assert ["quagga" in prompt for prompt in (before, partly, the_prompt(house))] == [True, False, False]
