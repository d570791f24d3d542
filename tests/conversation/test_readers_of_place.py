"""Who can read a place, as its platform shows it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from familiar_connect.audience import EVERYONE, OWNER, Audience, RuledChannel, between, hidden_channel, whole_server
from familiar_connect.chat.scene import ChannelContext, ChannelKind, ChannelRef, Scene
from familiar_connect.conversation.place_readers import PlaceFacts, readers_of_place
from familiar_connect.identity import Author

ADA = Author("discord", "101", "ada_l", "Ada")
WATCHER = Author("twitch", "5", "watcher", "Watcher")
ON_SERVER = PlaceFacts(platform="discord", channel_id=3001, guild_id=2001, speaker=ADA)
IN_DM = PlaceFacts(platform="discord", channel_id=7, speaker=ADA, is_dm=True)
LOUNGE = Scene(server_id=2001, channel=ChannelContext("lounge", ChannelKind.text))
THREAD = replace(LOUNGE, channels=(ChannelRef(channel_id=3001, name="plans", parent_id=3000),))
DM = Scene(channel=ChannelContext("Ada", ChannelKind.dm), is_dm=True)
GROUP = Scene(channel=ChannelContext("us", ChannelKind.group_dm), is_dm=True)


@pytest.mark.parametrize(
    ("scene", "facts", "audience"),
    [
        (LOUNGE, ON_SERVER, whole_server("discord", 2001)),
        (replace(LOUNGE, private_channel_ids=frozenset({3001})), ON_SERVER, hidden_channel("discord", 3001, 2001)),
        (replace(THREAD, private_channel_ids=frozenset({3000})), ON_SERVER, hidden_channel("discord", 3001, 2001)),
        (
            replace(
                THREAD,
                channels=(ChannelRef(channel_id=9, name="other", parent_id=3000),),
                private_channel_ids=frozenset({3000}),
            ),
            ON_SERVER,
            whole_server("discord", 2001),
        ),
        (replace(LOUNGE, is_hidden=True), ON_SERVER, hidden_channel("discord", 3001, 2001)),
        (LOUNGE, replace(ON_SERVER, private_channel_ids={3001}), hidden_channel("discord", 3001, 2001)),
        (
            replace(LOUNGE, rules="open"),
            replace(ON_SERVER, private_channel_ids={3001}),
            hidden_channel("discord", 3001, 2001),
        ),
        (
            replace(LOUNGE, rules="aaaa", is_hidden=True),
            ON_SERVER,
            hidden_channel("discord", 3001, 2001, "aaaa"),
        ),
        (replace(LOUNGE, rules="open"), ON_SERVER, whole_server("discord", 2001)),
        (None, ON_SERVER, hidden_channel("discord", 3001, 2001)),
        (DM, IN_DM, between([ADA.canonical_key])),
        (None, IN_DM, between([ADA.canonical_key])),
        (replace(DM, is_dm=False), replace(IN_DM, is_dm=False), between([ADA.canonical_key])),
        (replace(DM, channel=None), replace(IN_DM, is_dm=False), between([ADA.canonical_key])),
        (replace(DM, reader_keys=frozenset({"discord:9"})), IN_DM, between(["discord:9"])),
        (DM, replace(IN_DM, is_owner=True), OWNER),
        (DM, replace(IN_DM, speaker=None), OWNER),
        (GROUP, IN_DM, hidden_channel("discord", 7)),
        (Scene(is_public=True), PlaceFacts(platform="twitch", channel_id=44), EVERYONE),
        (DM, PlaceFacts(platform="twitch", channel_id=45, speaker=WATCHER, is_dm=True), between(["twitch:5"])),
        (Scene(is_public=True), PlaceFacts(platform="elsewhere", channel_id=5), EVERYONE),
        (Scene(), PlaceFacts(platform="terminal", channel_id=1), OWNER),
        (None, PlaceFacts(platform="elsewhere", channel_id=5), hidden_channel("elsewhere", 5)),
    ],
)
def test_a_place_has_the_audience_its_platform_shows(
    scene: Scene | None, facts: PlaceFacts, audience: Audience
) -> None:
    """What is not known makes the circle smaller."""
    assert readers_of_place(scene, facts).audience == audience


def test_a_direct_message_knows_where_else_its_person_is() -> None:
    """So that what was said there may be told to them."""
    scene = replace(DM, reader_channel_ids=frozenset({3002}), reader_server_ids=frozenset({2001}))
    here = readers_of_place(scene, IN_DM)

    assert (here.channels, here.servers) == (frozenset({RuledChannel("discord", 3002)}), frozenset({2001}))
    assert here.speaker == ADA.canonical_key


def test_what_the_owner_shares_goes_along() -> None:
    """`shares_with` of the place."""
    assert readers_of_place(LOUNGE, replace(ON_SERVER, share_targets=["channel:5"])).audience.also == {"channel:5"}
