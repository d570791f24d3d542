"""Who can read a place: from its platform, the owner's settings and who the owner is."""

from __future__ import annotations

from pathlib import Path

import pytest

from familiar_connect.audience import (
    EVERYONE,
    OWNER,
    Audience,
    Confidence,
    DisclosurePolicy,
    Readers,
    between,
    hidden_channel,
    whole_server,
)
from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.config import CharacterConfig
from familiar_connect.config.types import PlaceSettings
from familiar_connect.conversation.place_readers import (
    OwnerContact,
    PlaceReaders,
    note_audience_change,
    note_hidden_channels,
)
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author, Privacy, PrivacyLevel

WREN = "wren"
ADA, BO = Author("discord", "101", "ada", "Ada"), Author("discord", "102", "bo", "Bo")
LOUNGE = Scene(server_id=2001, channel=ChannelContext("lounge", ChannelKind.text))
SERVER, HIDDEN = whole_server("discord", 2001), hidden_channel("discord", 3001, 2001)


class RemembersBoEverywhere(Privacy):
    """Bo has asked to be known wherever he speaks."""

    def get(self, author: Author) -> PrivacyLevel:
        return PrivacyLevel.MINIMAL

    def all(self) -> dict[str, PrivacyLevel]:
        return {}

    def everywhere_keys(self) -> frozenset[str]:
        return frozenset({BO.canonical_key})


def history_with(tmp_path: Path, **said_to: Audience) -> HistoryStore:
    """One turn in each channel, named `c3001`, said to that audience."""
    history = HistoryStore(tmp_path / "history.db")
    for channel, audience in said_to.items():
        history.append_turn(
            familiar_id=WREN,
            channel_id=int(channel[1:]),
            role="user",
            content="words",
            author=ADA,
            guild_id=audience.id,
            audience=audience,
        )
    return history


def audience_of(history: HistoryStore, channel_id: int) -> Audience | None:
    return history.channel_audience(familiar_id=WREN, channel_id=channel_id)


@pytest.mark.parametrize(
    ("author", "is_owner"),
    [
        (Author("terminal", "me", None, "Me"), True),
        (Author("web", "me", None, "Me"), True),
        (Author.from_familiar("wren", "Wren", platform="terminal"), False),
        (ADA, True),
        (BO, False),
    ],
)
def test_the_owner_is_whoever_sits_here_or_whom_a_platform_takes_for_the_owner(author: Author, is_owner: bool) -> None:
    """No other familiar at the same table, and nobody else on Discord."""
    owner = OwnerContact()
    with owner.connect(is_owner=lambda each: each == ADA):
        assert PlaceReaders(owner=owner).is_owner(author) is is_owner


def test_a_direct_message_is_the_owners_where_the_owner_writes_it() -> None:
    """Anybody else's is between them and the familiar."""
    owner = OwnerContact()
    readers = PlaceReaders(owner=owner)
    with owner.connect(is_owner=lambda each: each == ADA):
        found = [readers.at(None, channel_id=7, guild_id=None, author=who, is_dm=True) for who in (ADA, BO)]

    assert [each.audience for each in found] == [OWNER, between([BO.canonical_key])]
    assert [each.speaker for each in found] == [ADA.canonical_key, BO.canonical_key]
    assert [(each.platform, each.channel_id, each.server_id) for each in found] == [("discord", 7, None)] * 2


def test_a_place_where_nobody_speaks_is_of_the_platform_we_are_on() -> None:
    """And is the owner's alone where even that is unknown."""
    readers = PlaceReaders()
    ours = Scene(server_id=2001, channel=LOUNGE.channel, me=Author("discord", "1", "wren", "Wren"))
    known = readers.at(ours, channel_id=3001, guild_id=2001, author=None)
    unknown = [readers.at(scene, channel_id=3001, guild_id=2001, author=None) for scene in (None, LOUNGE)]

    assert (known.audience, known.platform, known.speaker) == (SERVER, "discord", "")
    assert unknown == [Readers(OWNER, channel_id=3001, server_id=2001)] * 2


def test_a_channel_the_owner_calls_private_is_hidden() -> None:
    """Whatever its server says of it."""
    readers = PlaceReaders(private_channel_ids=[3001])
    found = [readers.at(LOUNGE, channel_id=each, guild_id=2001, author=ADA).audience for each in (3001, 3002)]

    assert found == [HIDDEN, SERVER]


def test_what_a_channels_file_shares_goes_along_and_a_broken_file_shares_nothing(tmp_path: Path) -> None:
    """`shares_with` in `channels/ID.toml`; a file that cannot be read makes the circle no wider."""
    (tmp_path / "3001.toml").write_text('mode = "full_rp"\nshares_with = ["twitch"]\n')
    (tmp_path / "3002.toml").write_text("shares_with = [\n")
    readers = PlaceReaders(channels=ChannelConfigStore(root=tmp_path, character=CharacterConfig()))
    shared, broken = (readers.at(LOUNGE, channel_id=each, guild_id=2001, author=ADA) for each in (3001, 3002))

    assert (shared.audience, broken.audience) == (SERVER.with_targets(["platform:twitch"]), SERVER)


@pytest.mark.parametrize(
    ("confidence", "bypass", "expected"),
    [
        (Confidence.strict, False, Confidence.strict),
        (Confidence.strict, True, Confidence.server),
        (Confidence.server, True, Confidence.server),
        (Confidence.open, True, Confidence.open),
    ],
)
def test_a_place_that_may_hear_of_private_channels_widens_the_rule_and_never_narrows_it(
    confidence: Confidence, bypass: bool, expected: Confidence
) -> None:
    """And whoever asked to be known everywhere is added to those the owner named."""
    policy = DisclosurePolicy(confidence, owner_hears_all=True, known_everywhere=frozenset({ADA.canonical_key}))
    found = PlaceReaders(policy=policy, privacy=RemembersBoEverywhere()).policy_for(
        PlaceSettings(private_channels_bypass=bypass)
    )

    assert found == DisclosurePolicy(
        expected, owner_hears_all=True, known_everywhere=frozenset({ADA.canonical_key, BO.canonical_key})
    )


@pytest.mark.parametrize(
    ("before", "now", "changes"),
    [
        (SERVER, HIDDEN, True),
        (HIDDEN, SERVER, True),
        (SERVER, SERVER, False),
        (HIDDEN, hidden_channel("discord", 3001), False),
        (hidden_channel("discord", 3001, 2001, "aa"), hidden_channel("discord", 3001, 2001, "bb"), True),
        (hidden_channel("discord", 3001, 2001, "aa"), hidden_channel("discord", 3001, 2001, "aa"), False),
        (SERVER, EVERYONE, False),
        (OWNER, HIDDEN, False),
        (None, HIDDEN, False),
    ],
)
def test_only_a_channel_that_its_server_hid_or_opened_has_changed(
    tmp_path: Path, before: Audience | None, now: Audience, changes: bool
) -> None:
    """One in which nothing was said has nothing to take along."""
    history = history_with(tmp_path, **({"c3001": before} if before is not None else {}))
    try:
        assert note_audience_change(history, WREN, 3001, now) is changes
    finally:
        history.close()


@pytest.mark.parametrize("server_id", [2001, None])
def test_hidden_channels_take_their_old_turns_along_before_anything_is_told(
    tmp_path: Path, server_id: int | None
) -> None:
    """Also from a direct message, where the server is known from what was said; other channels stay open."""
    history = history_with(tmp_path, c3001=SERVER, c3002=SERVER)
    here = Readers(between([ADA.canonical_key]), platform="discord", channel_id=7, server_id=server_id)
    scene = Scene(private_channel_ids=frozenset({3001, 3003}))
    try:
        note_hidden_channels(history, WREN, None, here)
        untouched = audience_of(history, 3001)
        note_hidden_channels(history, WREN, scene, here)
        found = [audience_of(history, each) for each in (3001, 3002, 3003)]
    finally:
        history.close()

    assert (untouched, found) == (SERVER, [HIDDEN, SERVER, None])
