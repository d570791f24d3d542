"""Looking around before a reply."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from familiar_connect.chat.message_parts import Emoji
from familiar_connect.chat.place import fetch_scene
from familiar_connect.chat.scene import ChannelRef, Member, Scene
from familiar_connect.chat.types import SaidMessage
from familiar_connect.config import ChannelMode, channel_config_for_mode
from familiar_connect.config.types import PlaceSettings
from familiar_connect.context.types import ContextRequest
from familiar_connect.identity import FixedPrivacy, PrivacyLevel
from familiar_connect.reply.request import MOST_ASSETS, scene_for_turn, to_request, with_place_settings
from familiar_connect.support.serialize import from_plain, to_plain
from tests.fakes.context import ADA, BO, CY
from tests.fakes.place import RecordingPlace
from tests.fakes.scene import AT, HOUSE, a_turn_of, entry_by


@dataclass
class Blind(RecordingPlace):
    """A place that cannot be looked at, or only after a very long time."""

    error: Exception | None = None

    async def scene(self) -> Scene:
        if self.error is not None:
            raise self.error
        await asyncio.Event().wait()
        return Scene()


async def test_a_scene_that_cannot_be_had_is_none() -> None:
    """Neither for an error nor for one that never comes does a turn wait."""
    seen = await fetch_scene(RecordingPlace())

    assert seen is not None
    assert await fetch_scene(Blind(error=OSError("gone"))) is None
    assert await fetch_scene(Blind(), limit_s=0.01) is None


def test_a_request_carries_what_bears_on_it() -> None:
    """Those who wrote, none at FULL privacy, and no endless lists; the channel itself first."""
    scene = replace(
        HOUSE,
        participants=(ADA, CY),
        channels=tuple(ChannelRef(channel_id=n, name=f"c{n}") for n in range(1000, 0, -1)),
        emojis=tuple(Emoji(name=f"e{n}") for n in range(900)),
    )
    seen = scene_for_turn(
        a_turn_of(entry_by(ADA), entry_by(CY)), scene, privacy=FixedPrivacy({CY.canonical_key: PrivacyLevel.FULL})
    )

    assert seen is not None
    assert seen.members == (Member(author=ADA),)
    assert seen.participants == (ADA,)
    assert (len(seen.channels), seen.channels[0].channel_id) == (MOST_ASSETS, 7)
    assert len(seen.emojis) == MOST_ASSETS
    assert scene_for_turn(a_turn_of(entry_by(ADA)), None) is None


def test_the_one_imitated_stays_in_sight() -> None:
    """Though they wrote nothing of what is shown."""
    seen = scene_for_turn(a_turn_of(entry_by(ADA), imitated=BO), HOUSE)

    assert seen is not None
    assert [member.author for member in seen.members] == [ADA, BO]


def test_people_are_told_of_as_the_owner_wants() -> None:
    """G31: personal memories off, personalisation off."""
    off = with_place_settings(HOUSE, PlaceSettings(personal_memories_enabled=False))

    assert off is not None
    assert not any(member.is_personalised for member in off.members)
    assert with_place_settings(HOUSE, PlaceSettings()) is HOUSE
    assert with_place_settings(None, PlaceSettings()) is None


def test_scene_and_settings_travel_on_the_request_and_can_be_kept() -> None:
    """What a turn was made of is written down and read again as it was."""
    channel = replace(channel_config_for_mode(ChannelMode.full_rp), place=PlaceSettings(channel_prompt="Whisper."))
    turn = a_turn_of(entry_by(ADA))
    said = (SaidMessage(author=ADA, text="hi", timestamp=AT),)
    request = to_request(replace(turn, said=said), channel, scene=HOUSE)

    assert (request.scene, request.settings) == (HOUSE, channel.place)
    assert from_plain(ContextRequest, to_plain(request)) == request
