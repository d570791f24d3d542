"""The rule of disclosure over every combination: kind × place × platform × one to three people × policy.

A small world is played out: servers with members, channels whose readers are known person by person. An oracle that
knows only people, and nothing of how the program stores audiences, says whether everybody who can read here now was
among those it was said to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product

import pytest

from familiar_connect.audience import (
    EVERYONE,
    OWNER,
    Audience,
    Confidence,
    DisclosurePolicy,
    Readers,
    RuledChannel,
    between,
    hidden_channel,
    may_still_tell,
    may_tell,
    may_tell_words,
    parse_audience,
    whole_server,
)

PLATFORMS = ("discord", "guilded")
NAMES = ("1", "2", "3")
MASTER = "discord:9"
SERVERS, CHANNELS, RULES = (10, 20), (11, 12), ("aaaa", "bbbb")
"""The ids are the same on both platforms, so that only the platform tells them apart."""
POLICIES = [
    DisclosurePolicy(confidence, owner_hears_all=hears_all)
    for confidence, hears_all in product(Confidence, (False, True))
]


@dataclass(frozen=True)
class Said:
    """Something that was said, and the people it was said to; None: everybody there is."""

    audience: Audience
    to: frozenset[str] | None
    is_direct: bool = False
    server: tuple[str, int] | None = None


@dataclass(frozen=True)
class Place:
    """A place, and the people who can read it now; None: anybody at all."""

    here: Readers
    can_read: frozenset[str] | None
    is_owners: bool = False
    servers: frozenset[tuple[str, int]] = frozenset()
    """Servers that everybody here is on."""


def people_of(platform: str) -> list[frozenset[str]]:
    """One to three people of a platform, in every combination."""
    keys = [f"{platform}:{name}" for name in NAMES]
    return [frozenset(some) for size in (1, 2, 3) for some in combinations(keys, size)]


def members_of(platform: str, server: int) -> frozenset[str]:
    """The first server has everybody, the second the first two."""
    return frozenset(f"{platform}:{name}" for name in (NAMES if server == SERVERS[0] else NAMES[:2]))


def readers_then(platform: str, channel: int, rules: str) -> frozenset[str]:
    """Whom a channel's rules let in: the first two under the first rules, the last two under the second."""
    chosen = NAMES[:2] if rules == RULES[0] else NAMES[1:]
    return frozenset(f"{platform}:{name}" for name in (chosen if channel == CHANNELS[0] else chosen[:1]))


def everything_said() -> Iterator[Said]:
    yield Said(OWNER, frozenset({MASTER}))
    yield Said(EVERYONE, None)
    yield Said(between({MASTER}), frozenset({MASTER}), is_direct=True)
    yield Said(between({MASTER, "discord:1"}), frozenset({MASTER, "discord:1"}), is_direct=True)
    for platform in PLATFORMS:
        for people in people_of(platform):
            yield Said(between(people), people, is_direct=True)
        for server in SERVERS:
            yield Said(whole_server(platform, server), members_of(platform, server), server=(platform, server))
        for channel, rules in product(CHANNELS, RULES):
            yield Said(
                hidden_channel(platform, channel, SERVERS[0], rules),
                readers_then(platform, channel, rules),
                server=(platform, SERVERS[0]),
            )


def keys_told(people: frozenset[str]) -> frozenset[RuledChannel]:
    """What a platform says of *people*: the channels that let all of them in, under the rules of each time."""
    return frozenset(
        RuledChannel(platform, channel, rules)
        for platform, channel, rules in product(PLATFORMS, CHANNELS, RULES)
        if people <= readers_then(platform, channel, rules)
    )


def every_place() -> Iterator[Place]:
    yield Place(Readers(OWNER, platform="terminal", channel_id=1, speaker=MASTER), frozenset({MASTER}), is_owners=True)
    yield Place(Readers(EVERYONE, platform="twitch", channel_id=2), None)
    for platform in PLATFORMS:
        for people in people_of(platform):
            servers = frozenset(each for each in SERVERS if people <= members_of(platform, each))
            here = Readers(
                between(people),
                platform=platform,
                channel_id=3,
                speaker=min(people),
                channels=keys_told(people),
                servers=servers,
            )
            yield Place(here, people, servers=frozenset((platform, each) for each in servers))
        for server in SERVERS:
            people = members_of(platform, server)
            here = Readers(
                whole_server(platform, server),
                platform=platform,
                channel_id=4,
                server_id=server,
                speaker=min(people),
                channels=keys_told(people),
            )
            yield Place(here, people, servers=frozenset({(platform, server)}))
        for channel, rules in product(CHANNELS, RULES):
            people = readers_then(platform, channel, rules)
            here = Readers(
                hidden_channel(platform, channel, SERVERS[0], rules),
                platform=platform,
                channel_id=channel,
                server_id=SERVERS[0],
                speaker=min(people),
                channels=keys_told(people),
            )
            yield Place(here, people, servers=frozenset({(platform, SERVERS[0])}))


def expected(said: Said, place: Place, policy: DisclosurePolicy) -> bool:
    """Whether everybody who can read here now was among those it was said to; then what the owner's settings add."""
    if policy.confidence is Confidence.open or said.to is None:
        return True
    if place.is_owners:  # the owner hears all but other people's direct messages
        return not said.is_direct or said.to == {MASTER} or policy.owner_hears_all
    if said.audience == OWNER or place.can_read is None:
        return False
    if said.is_direct:  # a channel that happens to have the same readers is no direct message
        return place.here.audience.people != frozenset() and place.can_read <= said.to
    if said.server is not None and (policy.confidence is Confidence.server or said.audience.server_id is None):
        return said.server in place.servers
    return place.can_read <= said.to


SAID, PLACES = list(everything_said()), list(every_place())


@pytest.mark.parametrize(
    "policy", POLICIES, ids=lambda policy: f"{policy.confidence.value}{'+all' * policy.owner_hears_all}"
)
def test_it_is_told_exactly_where_everybody_was_among_those_it_was_said_to(policy: DisclosurePolicy) -> None:
    """Every kind of audience in every kind of place, on two platforms whose ids are the same."""
    wrong = [
        (str(said.audience), str(place.here.audience))
        for said, place in product(SAID, PLACES)
        if may_tell(said.audience, place.here, policy) is not expected(said, place, policy)
    ]

    assert wrong == []
    assert len(SAID) * len(PLACES) == 30 * 28


def test_what_is_stored_reads_back_and_tells_in_the_same_places() -> None:
    """The rule is asked with what the history holds."""
    assert [parse_audience(str(said.audience)) for said in SAID] == [said.audience for said in SAID]
    assert len({said.audience.slug for said in SAID}) == len(SAID)


@pytest.mark.parametrize("target", ["channel:3", "channel:4", "server:10", "server:20", "platform:twitch"])
def test_what_is_shared_is_told_there_and_nowhere_else_besides(target: str) -> None:
    """The owner's `shares_with`, for every kind of audience in every place."""
    kind, _, name = target.partition(":")
    for said, place in product(SAID, PLACES):
        here = place.here
        named = {"channel": str(here.channel_id), "server": str(here.server_id), "platform": here.platform}[kind]
        is_told = may_tell(said.audience.with_targets([target]), here)

        assert is_told is (named == name or expected(said, place, DisclosurePolicy())), (said, place)


def test_own_words_follow_only_from_servers_and_only_their_speaker() -> None:
    """`/remember-me-everywhere`, for every kind of audience in every place."""
    for said, place in product(SAID, PLACES):
        speaker = place.here.speaker
        policy = DisclosurePolicy(known_everywhere=frozenset({speaker} - {""}))
        known = DisclosurePolicy(known_everywhere=frozenset({"discord:8"}))
        follows = bool(speaker) and said.audience.kind is whole_server("", 0).kind
        may = expected(said, place, policy)

        assert may_tell_words(speaker, said.audience, place.here, policy) is (may or follows)
        assert may_tell_words("discord:8", said.audience, place.here, policy) is may
        assert may_tell_words("discord:8", said.audience, place.here, known) is may
        assert may_tell_words(None, said.audience, place.here, policy) is may
        assert may_tell_words(speaker, said.audience, place.here) is may


def test_a_channel_whose_rules_of_then_are_not_known_is_told_in_itself_while_hidden() -> None:
    """What was stored before there were fingerprints; and to people who can all read it now."""
    for platform, channel in product(PLATFORMS, CHANNELS):
        said = hidden_channel(platform, channel, SERVERS[0])
        for place in PLACES:
            own = place.here.audience.channel_key
            is_itself = own is not None and own[:2] == (platform, channel)
            assert may_tell(said, place.here) is (is_itself or place.is_owners)
            among = replace(place.here, channels=frozenset({RuledChannel(platform, channel)}))
            assert may_tell(said, among)


def test_what_was_gathered_for_some_is_still_told_where_nothing_of_it_is_new_to_anybody() -> None:
    """Whatever may have been gathered before may be told after, for every change of readers."""
    for before, after in product(PLACES, PLACES):
        if may_still_tell(before.here, after.here):
            lost = [
                str(said.audience)
                for said in SAID
                if may_tell(said.audience, before.here) and not may_tell(said.audience, after.here)
            ]
            assert lost == [], (before, after)
    assert all(may_still_tell(place.here, place.here) for place in PLACES)
    unnamed = Readers(whole_server("discord", 10), platform="discord")
    assert may_still_tell(unnamed, unnamed)
    assert sum(may_still_tell(before.here, after.here) for before, after in product(PLACES, PLACES)) > len(PLACES)


def test_what_was_gathered_with_the_owner_and_with_others_is_never_carried_over() -> None:
    """Under no policy, in neither direction: the owner's place has its own rules, and so have the others."""
    owners = next(place.here for place in PLACES if place.is_owners)
    for place, policy in product(PLACES, POLICIES):
        if not place.here.is_owner:
            assert not may_still_tell(owners, place.here, policy)
            assert not may_still_tell(place.here, owners, policy)


def test_the_owners_place_stays_the_owners_as_long_as_the_same_person_is_answered() -> None:
    """Whatever else of it changed: another channel, other servers."""
    owners = next(place.here for place in PLACES if place.is_owners)
    for policy in POLICIES:
        assert may_still_tell(owners, replace(owners, channel_id=owners.channel_id + 1), policy)
        assert may_still_tell(owners, replace(owners, servers=frozenset({77})), policy)
        assert not may_still_tell(owners, replace(owners, speaker="discord:1"), policy)
        assert not may_still_tell(replace(owners, speaker="discord:1"), owners, policy)


def test_who_came_into_a_place_may_have_been_told_less_than_those_before() -> None:
    """The same place and rules, with one channel less that lets everybody in; and one that is only shared there."""
    for place in PLACES:
        if place.here.is_owner:
            continue
        for key in place.here.channels:
            fewer = replace(place.here, channels=place.here.channels - {key})
            own = place.here.audience.channel_key
            assert may_still_tell(place.here, fewer) is (key == own)
    few, many = (
        next(each.here for each in PLACES if each.here.audience == who) for who in (SAID[8].audience, EVERYONE)
    )
    shared = replace(few, audience=few.audience.with_targets([f"channel:{many.channel_id}"]))
    assert not may_still_tell(replace(shared, channels=frozenset(), servers=frozenset()), many)


LINKED = frozenset({"discord:1", "guilded:2"})
"""The keys of one person who is on both platforms."""


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: f"{policy.confidence.value}-{policy.owner_hears_all}")
def test_linked_people_hear_their_own_direct_chats_and_nothing_else_changes(policy: DisclosurePolicy) -> None:
    """Over everything that can be said and every place: only between the two direct chats of the one person."""
    linked = replace(policy, linked=frozenset({LINKED}))

    changed = {
        (said.audience.people, place.here.audience.people)
        for said, place in product(everything_said(), every_place())
        if may_tell(said.audience, place.here, linked) != may_tell(said.audience, place.here, policy)
    }

    one, other = (frozenset({key}) for key in LINKED)
    assert changed == (set() if policy.confidence is Confidence.open else {(one, other), (other, one)})
