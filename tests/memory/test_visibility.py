"""What may be told where, and which file keeps what is known of a place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.chat.scene import ChannelContext, ChannelKind, ChannelRef, Scene
from familiar_connect.config.types import PlaceSettings
from familiar_connect.context.types import ContextRequest
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.memory.visibility import Visibility, server_path
from tests.fakes.chat import TEA_HOUSE
from tests.fakes.context import ADA, BO, a_request

OWNER = Author("terminal", "me", None, "Me")
HERE, BESIDE, MODS, ANOTHER_SERVER, ADAS_DM, BOS_DM = 7, 8, 9, 20, 30, 31


@pytest.fixture
def history(tmp_path: Path) -> Iterator[HistoryStore]:
    """Ada and Bo on one server, Ada on another, and each of them alone with the familiar."""
    store = HistoryStore(tmp_path / "history.db")
    said = [(HERE, 5, ADA), (BESIDE, 5, BO), (MODS, 5, BO), (ANOTHER_SERVER, 6, ADA), (ADAS_DM, None, ADA)]
    for channel, guild, who in [*said, (BOS_DM, None, BO)]:
        store.append_turn(
            familiar_id="wren", channel_id=channel, role="user", content="hello", author=who, guild_id=guild
        )
    yield store
    store.close()


def on_server(**changes: Any) -> ContextRequest:
    return a_request(**{"guild_id": 5, "scene": TEA_HOUSE} | changes)


def told(history: HistoryStore, request: ContextRequest, **facts: Any) -> list[int]:
    may_tell = Visibility(history, **facts).predicate_for(request)
    return [each for each in (HERE, BESIDE, MODS, ANOTHER_SERVER, ADAS_DM, BOS_DM) if may_tell(each)]


def test_a_server_knows_of_its_own_channels(history: HistoryStore) -> None:
    """But for the private ones, whether the owner or the platform calls them so; nor of what was said between two."""
    seen = replace(TEA_HOUSE, private_channel_ids=frozenset({MODS}))
    thread = replace(seen, channels=(ChannelRef(channel_id=BESIDE, name="plans", parent_id=MODS),))

    assert told(history, on_server()) == [HERE, BESIDE, MODS]
    assert told(history, on_server(), private_channel_ids=[MODS]) == [HERE, BESIDE]
    assert told(history, on_server(scene=seen)) == [HERE, BESIDE]
    assert told(history, on_server(scene=thread)) == [HERE]


def test_a_private_channel_knows_of_all_the_others(history: HistoryStore) -> None:
    """And the owner may let its talk out."""
    bypass = PlaceSettings(private_channels_bypass=True)

    assert told(history, on_server(channel_id=MODS), private_channel_ids=[MODS]) == [HERE, BESIDE, MODS]
    assert told(history, on_server(settings=bypass), private_channel_ids=[MODS]) == [HERE, BESIDE, MODS]


def test_what_was_said_between_two_stays_between_them(history: HistoryStore) -> None:
    """In one direct message another of the same person is known, nobody else's and no server's."""
    alone = Scene(is_dm=True)

    assert told(history, a_request(channel_id=99, scene=alone)) == [ADAS_DM]
    assert told(history, a_request(channel_id=BOS_DM, scene=alone, author=BO)) == [BOS_DM]


def test_who_asked_to_be_known_everywhere_is(history: HistoryStore) -> None:
    """From server to server, in the channels they spoke in."""
    everywhere = {"known_everywhere": [ADA.canonical_key, BO.canonical_key]}

    assert told(history, on_server(), **everywhere) == [HERE, BESIDE, MODS, ANOTHER_SERVER]
    assert told(history, on_server(author=BO), **everywhere) == [HERE, BESIDE, MODS]


def test_the_operator_at_home_knows_it_all(history: HistoryStore) -> None:
    """It is theirs to read anyway."""
    assert told(history, a_request(channel_id=1, author=OWNER), private_channel_ids=[MODS]) == [
        *(HERE, BESIDE, MODS, ANOTHER_SERVER, ADAS_DM, BOS_DM)
    ]


def test_each_place_has_a_file(history: HistoryStore) -> None:
    """A server, a direct message, and a channel that belongs to no server."""
    stream = Scene(channel=ChannelContext("tea", ChannelKind.text))
    viewer = Author("twitch", "4", "cy", "Cy")

    assert server_path(on_server()) == "servers/discord-5.md"
    assert server_path(a_request(scene=Scene(is_dm=True))) == "servers/discord-dm-7.md"
    assert server_path(a_request(scene=stream, author=viewer)) == "servers/twitch-7.md"
    assert server_path(a_request(author=None)) is None
