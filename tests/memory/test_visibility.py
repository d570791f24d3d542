"""What may be told where, and which file keeps what is known of a place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.audience import OWNER, STRICT, DisclosurePolicy, Readers, between, hidden_channel, whole_server
from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.context.types import ContextRequest
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.memory.visible_memory import audience_of_turn, server_path
from tests.fakes.chat import TEA_HOUSE
from tests.fakes.context import ADA, BO, a_request

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


SERVER = Readers(whole_server("discord", 5), platform="discord", channel_id=HERE, server_id=5, speaker="discord:1")


def told(history: HistoryStore, readers: Readers, telling: DisclosurePolicy = STRICT) -> list[int]:
    tell = audience_of_turn(a_request(channel_id=readers.channel_id, readers=readers, telling=telling))
    assert tell is not None
    turns = history.turns_after(familiar_id="wren", after_id=0)
    return [turn.channel_id for turn in turns if tell(turn) is not None]


def test_a_server_knows_of_its_own_channels(history: HistoryStore) -> None:
    """But for the hidden ones; nor of what was said between two, nor of another server."""
    assert told(history, SERVER) == [HERE, BESIDE, MODS]
    history.change_audience(familiar_id="wren", channel_id=MODS, audience=hidden_channel("discord", MODS, 5))
    assert told(history, SERVER) == [HERE, BESIDE]


def test_a_hidden_channel_knows_of_all_the_others(history: HistoryStore) -> None:
    """And of itself."""
    mods = hidden_channel("discord", MODS, 5)
    history.change_audience(familiar_id="wren", channel_id=MODS, audience=mods)

    assert told(history, replace(SERVER, audience=mods, channel_id=MODS)) == [HERE, BESIDE, MODS]


def test_what_was_said_between_two_stays_between_them(history: HistoryStore) -> None:
    """In a direct message that of the same person is known, nobody else's; of a server while they are on it."""
    ada = Readers(between([ADA.canonical_key]), platform="discord", channel_id=99, speaker=ADA.canonical_key)
    bo = Readers(between([BO.canonical_key]), platform="discord", channel_id=BOS_DM, speaker=BO.canonical_key)

    assert told(history, ada) == [ADAS_DM]
    assert told(history, bo) == [BOS_DM]
    assert told(history, replace(ada, servers=frozenset({5}))) == [HERE, BESIDE, MODS, ADAS_DM]


def test_who_asked_to_be_known_everywhere_is(history: HistoryStore) -> None:
    """From server to server, by their own words."""
    everywhere = DisclosurePolicy(known_everywhere=frozenset({ADA.canonical_key, BO.canonical_key}))

    assert told(history, replace(SERVER, speaker=ADA.canonical_key), everywhere) == [HERE, BESIDE, MODS, ANOTHER_SERVER]
    assert told(history, replace(SERVER, speaker=BO.canonical_key), everywhere) == [HERE, BESIDE, MODS]


def test_the_owner_hears_all_but_what_was_said_between_others(history: HistoryStore) -> None:
    """Unless told to."""
    home = Readers(OWNER, platform="terminal", channel_id=1)

    assert told(history, home) == [HERE, BESIDE, MODS, ANOTHER_SERVER]
    assert told(history, home, DisclosurePolicy(owner_hears_all=True))[-2:] == [ADAS_DM, BOS_DM]


def test_a_place_hears_its_own_talk_as_its_own(history: HistoryStore) -> None:
    """Whatever is known of whom it was said to, the gate after the search lets it pass."""
    history.database.write("UPDATE turns SET audience = NULL")
    tell = audience_of_turn(a_request(channel_id=HERE, readers=SERVER))
    turn = history.turns_after(familiar_id="wren", after_id=0)[0]

    assert tell is not None
    assert tell(turn) == SERVER.audience


def test_each_place_has_a_file(history: HistoryStore) -> None:
    """A server, a direct message, and a channel that belongs to no server."""
    stream = Scene(channel=ChannelContext("tea", ChannelKind.text))
    viewer = Author("twitch", "4", "cy", "Cy")

    assert server_path(on_server()) == "servers/discord-5.md"
    assert server_path(a_request(scene=Scene(is_dm=True))) == "servers/discord-dm-7.md"
    assert server_path(a_request(scene=stream, author=viewer)) == "servers/twitch-7.md"
    assert server_path(a_request(author=None)) is None
