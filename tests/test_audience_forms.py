"""The stored forms of an audience: what stands in the history and in a file's name, letter by letter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from familiar_connect.audience import (
    EVERYONE,
    OWNER,
    Audience,
    AudienceKind,
    Readers,
    between,
    hidden_channel,
    may_tell,
    parse_audience,
    parse_share_target,
    whole_server,
)


@pytest.mark.parametrize(
    ("audience", "stored", "slug"),
    [
        (OWNER, "owner", "owner"),
        (EVERYONE, "everyone", "everyone"),
        (between(["discord:2", "discord:1"]), "people:discord:1,discord:2", "dm-discord-1-and-discord-2"),
        (between(["x:a,b c"]), "people:x:a%2Cb%20c", "dm-x-a-b-c"),
        (hidden_channel("discord", 5, 7), "channel:discord:5:7", "channel-discord-5"),
        (hidden_channel("a:b", 5), "channel:a%3Ab:5:-", "channel-a-b-5"),
        (hidden_channel("a/b", 5), "channel:a%2Fb:5:-", "channel-a-b-5"),
        (whole_server("a/b", 7), "server:a%2Fb:7", "server-a-b-7"),
        (whole_server("Discord", 7), "server:Discord:7", "server-discord-7"),
        (whole_server("東京", 7), "server:%E6%9D%B1%E4%BA%AC:7", "server-unknown-7"),
        (OWNER.with_targets(["platform:twitch", "channel:3"]), "owner +channel:3 +platform:twitch", "owner"),
    ],
)
def test_an_audience_is_written_in_one_form_and_read_back(audience: Audience, stored: str, slug: str) -> None:
    """The history keeps the first, a file is named by the second; neither may change under what is on disk."""
    assert (str(audience), audience.slug) == (stored, slug)
    assert parse_audience(stored) == audience


@pytest.mark.parametrize(
    "stored",
    [
        None,
        "",
        "nobody",
        "people:",
        "people:,",
        "channel:discord:5",
        "channel:discord:five:7",
        "channel:discord:5:7:",
        "channel:discord:5:7:aaaa:bbbb",
        "server:discord",
        "server:discord:-",
    ],
)
def test_a_form_that_cannot_be_read_is_the_owners(stored: str | None) -> None:
    """And shares nothing, whatever else stands there."""
    assert parse_audience(stored) == OWNER
    assert parse_audience(f"{stored or ''} +platform:twitch").kind is AudienceKind.OWNER


def test_only_what_is_marked_with_a_plus_is_a_place_it_is_shared_with() -> None:
    """A bare plus names none, a word without one neither."""
    assert parse_audience("owner + platform:x +channel:3") == OWNER.with_targets(["channel:3"])


def test_numbers_of_two_platforms_are_not_the_same_place() -> None:
    """A direct message on one of them tells nothing of a server or channel of the other."""
    here = Readers(between(["elsewhere:1"]), platform="elsewhere", servers=frozenset({7}), channels=frozenset())
    opened = Readers(whole_server("discord", 5), platform="discord", channel_id=9, server_id=5)

    assert not may_tell(whole_server("discord", 7), here)
    assert may_tell(whole_server("elsewhere", 7), here)
    assert not may_tell(hidden_channel("discord", 5), opened)


def test_the_owner_hears_their_own_direct_message_again() -> None:
    """Wherever the owner alone reads; nobody else's."""
    here = Readers(OWNER, platform="discord", channel_id=4, speaker="discord:1")

    assert may_tell(between(["discord:1"]), here)
    assert not may_tell(between(["discord:1", "discord:2"]), here)


def test_targets_are_added_to_those_there_are() -> None:
    """Sharing once more takes nothing back."""
    shared = OWNER.with_targets(["channel:1"]).with_targets(["channel:2"])

    assert shared == replace(OWNER, also=frozenset({"channel:1", "channel:2"}))


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        (" 0042 ", "channel:42"),
        ("Channel:7", "channel:7"),
        ("server:007", "server:7"),
        ("Twitch", "platform:twitch"),
        ("guild:7", None),
        ("server7", None),
        ("channel:", None),
        (":7", None),
        ("", None),
    ],
)
def test_a_place_to_share_with_is_a_number_a_server_or_a_platform(written: str, stored: str | None) -> None:
    """As people write it, in one stored form."""
    assert parse_share_target(written) == stored
