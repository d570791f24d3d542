"""Who may hear what was heard: the rule, its settings, and the stored form of an audience."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.audience import (
    EVERYONE,
    OWNER,
    STRICT,
    Audience,
    AudienceKind,
    Confidence,
    DisclosurePolicy,
    Readers,
    RuledChannel,
    all_audiences,
    between,
    hidden_channel,
    may_tell,
    may_tell_all,
    may_tell_words,
    parse_audience,
    parse_share_target,
    sealed_chat,
    whole_server,
)

ADA, BO = "discord:101", "discord:102"
TEA, OTHER, LOUNGE, STAFF = 2001, 2002, 3001, 3002
SERVER = whole_server("discord", TEA)
HIDDEN = hidden_channel("discord", STAFF, TEA)
DM = between([ADA])

IN_OWNER_PLACE = Readers(OWNER, platform="terminal", channel_id=1)
IN_LOUNGE = Readers(SERVER, platform="discord", channel_id=LOUNGE, server_id=TEA, speaker=BO)
IN_STAFF = Readers(HIDDEN, platform="discord", channel_id=STAFF, server_id=TEA, speaker=ADA)
IN_OTHER = Readers(whole_server("discord", OTHER), platform="discord", channel_id=9, server_id=OTHER, speaker=ADA)
IN_DM_ADA = Readers(
    DM,
    platform="discord",
    channel_id=7,
    speaker=ADA,
    channels=frozenset({RuledChannel("discord", STAFF)}),
    servers=frozenset({TEA}),
)
IN_DM_BO = Readers(between([BO]), platform="discord", channel_id=8, speaker=BO, servers=frozenset({TEA}))
ON_TWITCH = Readers(EVERYONE, platform="twitch", channel_id=44)

RULES = [
    # said to, then every place that may hear it
    (EVERYONE, {"owner", "lounge", "staff", "other", "dm-ada", "dm-bo", "twitch"}),
    (SERVER, {"owner", "lounge", "staff", "dm-ada", "dm-bo"}),
    (HIDDEN, {"owner", "staff", "dm-ada"}),
    (DM, {"dm-ada"}),
    (OWNER, {"owner"}),
]
PLACES = {
    "owner": IN_OWNER_PLACE,
    "lounge": IN_LOUNGE,
    "staff": IN_STAFF,
    "other": IN_OTHER,
    "dm-ada": IN_DM_ADA,
    "dm-bo": IN_DM_BO,
    "twitch": ON_TWITCH,
}


@pytest.mark.parametrize(("said_to", "heard_in"), RULES, ids=[str(said_to) for said_to, _ in RULES])
def test_everybody_who_can_read_here_was_among_those_it_was_said_to(said_to: Audience, heard_in: set[str]) -> None:
    """One row for each kind of audience, one place of each kind."""
    assert {name for name, here in PLACES.items() if may_tell(said_to, here)} == heard_in


def test_a_channel_that_was_opened_does_not_open_what_was_said_while_it_was_hidden() -> None:
    """The same channel, read by the whole server now."""
    opened = Readers(SERVER, platform="discord", channel_id=STAFF, server_id=TEA)

    assert may_tell(HIDDEN, IN_STAFF)
    assert not may_tell(HIDDEN, opened)


def test_hidden_channels_count_as_their_server_where_the_owner_says_so() -> None:
    """`confidence = "server"`; direct messages stay where they are."""
    policy = DisclosurePolicy(Confidence.server)

    assert may_tell(HIDDEN, IN_LOUNGE, policy)
    assert not may_tell(HIDDEN, IN_OTHER, policy)
    assert not may_tell(DM, IN_LOUNGE, policy)


def test_one_mind_everywhere_tells_all() -> None:
    """`confidence = "open"`."""
    policy = DisclosurePolicy(Confidence.open)

    assert all(may_tell(said_to, here, policy) for said_to, _ in RULES for here in PLACES.values())


def test_the_owner_hears_other_peoples_direct_messages_only_by_a_setting() -> None:
    """`owner_hears_all`."""
    assert not may_tell(DM, IN_OWNER_PLACE)
    assert may_tell(DM, IN_OWNER_PLACE, DisclosurePolicy(owner_hears_all=True))


@pytest.mark.parametrize(
    ("target", "places"),
    [("3001", {"lounge"}), ("channel:3001", {"lounge"}), ("server:2001", {"lounge", "staff"}), ("twitch", {"twitch"})],
)
def test_what_the_owner_shares_is_told_there_as_well(target: str, places: set[str]) -> None:
    """`shares_with` names a channel, a server or a platform."""
    stored = parse_share_target(target)
    assert stored is not None
    shared = OWNER.with_targets([stored])

    assert {name for name, here in PLACES.items() if may_tell(shared, here)} == places | {"owner"}


def test_a_target_that_names_no_place_is_none() -> None:
    """So that the settings can refuse it."""
    assert [parse_share_target(word) for word in ("", "server:", "channel:x", "a place")] == [None] * 4


def test_own_words_follow_whoever_asked_for_it() -> None:
    """`/remember-me-everywhere`: words said on a server, told where their speaker speaks."""
    policy = DisclosurePolicy(known_everywhere=frozenset({ADA}))

    assert may_tell_words(ADA, SERVER, IN_OTHER, policy)
    assert not may_tell_words(BO, SERVER, IN_OTHER, policy)
    assert not may_tell_words(ADA, DM, IN_OTHER, policy)
    assert not may_tell_words(ADA, SERVER, IN_OTHER)


def test_something_made_from_several_sources_is_told_only_where_each_may_be() -> None:
    """The narrowest decides."""
    assert may_tell_all([SERVER, EVERYONE], IN_LOUNGE)
    assert not may_tell_all([SERVER, DM], IN_LOUNGE)
    assert may_tell_all([], IN_LOUNGE)


KEYS = st.text(min_size=1, max_size=20)
IDS = st.integers(min_value=0, max_value=2**63)
TARGETS = st.frozensets(st.sampled_from(["channel:3", "server:4", "platform:twitch"]))
AUDIENCES = st.builds(
    lambda audience, also: audience.with_targets(also),
    st.one_of(
        st.just(OWNER),
        st.just(EVERYONE),
        st.builds(between, st.frozensets(KEYS, min_size=1, max_size=4)),
        st.builds(hidden_channel, KEYS, IDS, st.none() | IDS, st.just("") | KEYS),
        st.builds(whole_server, KEYS, IDS),
    ),
    TARGETS,
)


@given(AUDIENCES)
def test_an_audience_reads_back_as_it_was_stored(audience: Audience) -> None:
    """Whatever names and ids a platform gives."""
    assert parse_audience(str(audience)) == audience


@given(st.none() | st.text())
def test_a_stored_text_nobody_wrote_is_the_owners(text: str | None) -> None:
    """Unless it happens to be an audience's own form."""
    audience = parse_audience(text)

    assert audience == OWNER or str(audience).split(" ")[0].startswith((text or "").split(" ")[0][:5])


@given(AUDIENCES, st.sampled_from(sorted(PLACES)))
def test_a_wider_setting_never_withholds_what_the_strict_one_tells(audience: Audience, place: str) -> None:
    """Strict, then server, then open."""
    here = PLACES[place]
    told = [may_tell(audience, here, DisclosurePolicy(each)) for each in Confidence]

    assert told == sorted(told)


def test_a_sealed_chat_is_told_in_itself_alone_whatever_the_settings_say() -> None:
    """Neither one mind everywhere nor a shared place reaches into it or out of it; what everybody may hear does."""
    seal, other = sealed_chat("terminal", 7), sealed_chat("terminal", 8)
    inside, beside = (Readers(each, platform="terminal", channel_id=each.id or 0) for each in (seal, other))
    owner = Readers(OWNER, platform="terminal", channel_id=1, speaker="terminal:you")
    one_mind = DisclosurePolicy(confidence=Confidence.open, owner_hears_all=True)
    shared = seal.with_targets(["channel:1", "platform:terminal"])
    entering = OWNER.with_targets(["channel:7"])

    for policy in (STRICT, one_mind):
        assert may_tell(seal, inside, policy)
        assert may_tell(EVERYONE, inside, policy)
        assert not any(may_tell(each, owner, policy) for each in (seal, shared))
        assert not may_tell(seal, beside, policy)
        assert not any(may_tell(each, inside, policy) for each in (OWNER, entering, between(["terminal:you"])))
    assert parse_audience(str(seal)) == seal


def test_only_a_hidden_channel_with_a_number_has_a_key() -> None:
    """It is looked up among the rules of then; what names no channel is looked up nowhere."""
    hidden = Audience(AudienceKind.CHANNEL, platform="discord", id=3001, rules="r1")
    others = [Audience(AudienceKind.CHANNEL, platform="discord"), Audience(AudienceKind.SERVER, id=2001), EVERYONE]

    assert hidden.channel_key == ("discord", 3001, "r1")
    assert [each.channel_key for each in others] == [None] * 3


def test_several_things_were_said_to_all_that_each_was_said_to() -> None:
    """Where nobody knows it of one of them, nobody knows it of all."""
    dm, room = between(["discord:1"]), whole_server("discord", 2)

    assert all_audiences([frozenset({dm}), frozenset({room, EVERYONE})]) == frozenset({dm, room, EVERYONE})
    assert all_audiences([frozenset({dm}), None, frozenset({room})]) is None
    assert all_audiences([]) == frozenset()
