"""Familiars, channels, modes and audiences are kept apart: what belongs to one is never read, moved or dropped with
another's."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
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
from familiar_connect.config.types import ChannelMode
from familiar_connect.history.chats import copy_turns
from familiar_connect.history.dialogue_starts import StartKind
from familiar_connect.history.rows import EARLIEST, LATEST, UNKNOWN_MOMENT, in_utc, parse_timestamp, turn_from_row
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.turn_visibility import (
    TurnGroups,
    may_tell_turn,
    only_since_opened,
    readers_last_known,
    without_private_turns,
)
from familiar_connect.history.types import HistoryTurn, TurnMark
from familiar_connect.identity import Author, FixedPrivacy, PrivacyLevel
from familiar_connect.support.clock import ManualClock
from familiar_connect.support.sqlite import Row

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
ADA, BOB = Author("discord", "1", "ada", "Ada"), Author("discord", "2", "bob", None)
ME, OTHER, HERE, THERE = "sage", "rook", 7, 8
SERVER, HIDDEN, DM = whole_server("discord", 3), hidden_channel("discord", HERE, 3), between(["discord:1"])
PLACES = list(itertools.product((ME, OTHER), (HERE, THERE)))


@pytest.fixture
def store() -> Iterator[HistoryStore]:
    store = HistoryStore(":memory:", clock=ManualClock(NOON))
    yield store
    store.close()


def say(
    store: HistoryStore,
    content: str = "hello",
    *,
    familiar_id: str = ME,
    channel_id: int = HERE,
    audience: Audience | None = SERVER,
    author: Author | None = ADA,
    mark: TurnMark | None = None,
    guild_id: int | None = 3,
    **more: object,
) -> HistoryTurn:
    return store.append_if_new(
        familiar_id=familiar_id,
        channel_id=channel_id,
        role="user" if author else "assistant",
        content=content,
        author=author,
        guild_id=guild_id,
        audience=audience,
        mark=mark,
        **more,  # type: ignore[arg-type]
    )[0]


def say_everywhere(store: HistoryStore, audience: Audience = SERVER) -> None:
    for familiar_id, channel_id in PLACES:
        say(store, f"{familiar_id} {channel_id}", familiar_id=familiar_id, channel_id=channel_id, audience=audience)


def note(store: HistoryStore) -> None:
    """A short-term note of each familiar in each channel."""
    for familiar_id, channel_id in PLACES:
        store.database.write(
            "INSERT INTO short_term_notes (familiar_id, persona, channel_id, owner, lines, people, updated_at)"
            " VALUES (?, '', ?, '', '', '', 0)",
            (familiar_id, channel_id),
        )


def noted(store: HistoryStore) -> list[tuple[object, ...]]:
    return store.database.read(
        "SELECT familiar_id, channel_id FROM short_term_notes ORDER BY familiar_id DESC, channel_id"
    )


def ids(turns: list[HistoryTurn]) -> list[int]:
    return [turn.id for turn in turns]


# Turns


def test_each_familiar_and_channel_has_its_own_turns(store: HistoryStore) -> None:
    """In every way of reading them."""
    say_everywhere(store)
    for number, (familiar_id, channel_id) in enumerate(PLACES, 1):
        whole = ids(store.turns_after(familiar_id=familiar_id, after_id=0))
        assert ids(store.recent(familiar_id=familiar_id, channel_id=channel_id, limit=9)) == [number]
        assert ids(store.turns_after(familiar_id=familiar_id, after_id=0, channel_id=channel_id)) == [number]
        assert ids(store.older_than(familiar_id=familiar_id, max_id=9, channel_id=channel_id)) == [number]
        assert store.latest_id(familiar_id=familiar_id, channel_id=channel_id) == number
        assert store.latest_id(familiar_id=familiar_id) == max(whole)
        assert whole == ([1, 2] if familiar_id == ME else [3, 4])
        found = [store.turn_by_id(familiar_id=familiar_id, turn_id=each) is not None for each in (1, 2, 3, 4)]
        assert [at + 1 for at, is_found in enumerate(found) if is_found] == whole
        assert sorted(store.turns_without_words(familiar_id=familiar_id, turn_ids=[1, 2, 3, 4])) == whole


def test_a_message_is_stored_once_in_each_place(store: HistoryStore) -> None:
    """Its id is the platform's, so another channel or familiar may have the same; none at all is no id."""
    for _ in range(2):
        for familiar_id, channel_id in PLACES:
            say(store, familiar_id=familiar_id, channel_id=channel_id, platform_message_id="55")
            say(store, familiar_id=familiar_id, channel_id=channel_id, platform_message_id="")

    assert [store.count(familiar_id=ME, channel_id=channel_id) for channel_id in (HERE, THERE)] == [3, 3]


def test_ranges_include_their_ends_and_leave_out_what_a_model_may_not_see(store: HistoryStore) -> None:
    """People see what is hidden, and nobody what was taken back."""
    marks = [None, TurnMark.hidden, TurnMark.undone, TurnMark.belated, None, None]
    for mark in marks:
        say(store, mark=mark)

    assert ids(store.older_than(familiar_id=ME, min_id=1, max_id=5)) == [1, 5]
    assert ids(store.older_than(familiar_id=ME, min_id=2, max_id=6, limit=1)) == [6]
    assert ids(store.turns_after(familiar_id=ME, after_id=1, max_id=5)) == [5]
    assert ids(store.turns_after(familiar_id=ME, after_id=0, with_hidden=True)) == [1, 2, 5, 6]
    assert ids(store.recent(familiar_id=ME, channel_id=HERE, limit=9, with_hidden=True)) == [1, 2, 5, 6]
    assert ids(store.recent(familiar_id=ME, channel_id=HERE, limit=9, before_id=6)) == [1, 5]
    assert ids(store.recent(familiar_id=ME, channel_id=HERE, limit=0)) == []


def test_a_turn_without_an_audience_has_that_of_the_newest_in_its_channel(store: HistoryStore) -> None:
    """Of the same server; else what speaker and server tell."""
    say(store, audience=SERVER)
    say(store, audience=HIDDEN, mark=TurnMark.undone)
    followed = say(store, audience=None)
    moved = say(store, audience=None, guild_id=4)
    alone = say(store, audience=None, channel_id=THERE, guild_id=None)
    ours = say(store, audience=None, channel_id=99, guild_id=None, author=None)

    assert (followed.audience, moved.audience) == (HIDDEN, whole_server("discord", 4))
    assert (alone.audience, ours.audience) == (DM, OWNER)
    assert store.channel_audience(familiar_id=ME, channel_id=HERE) == moved.audience
    assert store.channel_audience(familiar_id=OTHER, channel_id=HERE) is None


def test_words_with_half_a_sign_are_stored_with_everything_else(store: HistoryStore) -> None:
    """Wherever it stands, and where nothing else is known."""
    odd = "\ud800"
    who = Author(f"discord{odd}", f"1{odd}", f"ada{odd}", f"Ada{odd}")
    whole = say(
        store,
        f"hi{odd}",
        author=who,
        mode=f"full{odd}",
        platform_message_id=f"5{odd}",
        facts=f"{{}}{odd}",
        timestamp=NOON,
        mark=TurnMark.hidden,
    )
    bare = say(store, odd, author=None, audience=None, channel_id=THERE, guild_id=None)
    nameless = say(store, odd, author=Author("discord", "2", None, None))
    read = [store.turn_by_id(familiar_id=ME, turn_id=each.id) for each in (whole, bare, nameless)]

    assert read == [whole, bare, nameless]
    assert (whole.content, whole.mode, whole.platform_message_id, whole.facts) == (
        "hi\ufffd",
        "full\ufffd",
        "5\ufffd",
        "{}\ufffd",
    )
    assert (whole.mark, whole.audience, whole.guild_id, whole.timestamp) == (TurnMark.hidden, SERVER, 3, NOON)
    assert whole.author == Author("discord\ufffd", "1\ufffd", "ada\ufffd", "Ada\ufffd")
    assert (bare.author, bare.mode, bare.platform_message_id, bare.facts) == (None, None, None, None)
    assert nameless.author == Author("discord", "2", None, None)


def test_the_nth_newest_of_an_audience_is_counted_among_its_own(store: HistoryStore) -> None:
    """And of nobody else's."""
    for audience in (SERVER, DM, SERVER, DM, SERVER):
        say(store, audience=audience)
    say(store, familiar_id=OTHER, audience=SERVER)

    assert [store.nth_newest_id(familiar_id=ME, back=back, audience=SERVER) for back in (-1, 0, 1, 2, 3)] == [
        5,
        5,
        3,
        1,
        None,
    ]
    assert store.nth_newest_id(familiar_id=ME, back=1) == 4


def test_who_spoke_is_asked_for_a_number(store: HistoryStore) -> None:
    """None asked for, none told."""
    say(store)
    say(store, author=BOB)

    authors = [store.recent_distinct_authors(familiar_id=ME, channel_id=HERE, limit=limit) for limit in (0, 1, 2)]
    assert authors == [[], [BOB], [BOB, ADA]]


# What is made of them


def test_hiding_a_channel_moves_its_own_turns_and_drops_its_own_notes(store: HistoryStore) -> None:
    """Direct messages and other places keep theirs; opening it moves nothing back."""
    say_everywhere(store)
    say(store, audience=DM)
    note(store)
    store.change_audience(familiar_id=ME, channel_id=HERE, audience=HIDDEN)
    hidden = [str(turn.audience) for turn in store.turns_after(familiar_id=ME, after_id=0)]
    left = noted(store)
    store.change_audience(familiar_id=ME, channel_id=HERE, audience=SERVER)

    assert hidden == [str(HIDDEN), str(SERVER), str(DM)]
    assert [turn.audience for turn in store.turns_after(familiar_id=OTHER, after_id=0)] == [SERVER, SERVER]
    assert left == [(ME, THERE), (OTHER, HERE), (OTHER, THERE)]
    assert [str(turn.audience) for turn in store.turns_after(familiar_id=ME, after_id=0)] == hidden


def summaries(store: HistoryStore) -> set[tuple[str, object]]:
    """Which summaries there are: rolling ones by audience, told ones by channel."""
    rolling = {
        (familiar_id, str(audience))
        for familiar_id in (ME, OTHER)
        for audience in (SERVER, DM, OWNER)
        if store.get_summary(familiar_id=familiar_id, channel_id=store.summaries.row_of(audience)) is not None
    }
    told = {
        (familiar_id, channel_id)
        for familiar_id, channel_id in PLACES
        if store.get_cross_context(familiar_id=familiar_id, viewer_mode="", source_channel_id=channel_id) is not None
    }
    whole = {(each, "whole") for each in (ME, OTHER) if store.get_summary(familiar_id=each) is not None}
    return rolling | told | whole


def summarise_everything(store: HistoryStore) -> set[tuple[str, object]]:
    for familiar_id in (ME, OTHER):
        store.put_summary(familiar_id=familiar_id, last_summarised_id=1, summary_text="whole")
        for audience in (SERVER, DM, OWNER):
            row = store.summaries.row_of(audience)
            store.put_summary(familiar_id=familiar_id, last_summarised_id=1, summary_text="told", channel_id=row)
    for familiar_id, channel_id in PLACES:
        store.put_cross_context(
            familiar_id=familiar_id,
            viewer_mode="",
            source_channel_id=channel_id,
            source_last_id=1,
            summary_text="there",
        )
    return summaries(store)


def test_hiding_a_channel_drops_what_was_told_of_it_and_of_its_server(store: HistoryStore) -> None:
    """Nothing else."""
    say_everywhere(store)
    everything = summarise_everything(store)
    store.change_audience(familiar_id=ME, channel_id=HERE, audience=HIDDEN)

    assert len(everything) == 12
    assert everything - summaries(store) == {(ME, HERE), (ME, str(SERVER))}


@pytest.mark.parametrize("undo", [False, True])
def test_a_reset_and_its_undoing_drop_what_may_tell_of_that_talk(store: HistoryStore, undo: bool) -> None:
    """Its own, the whole's, and those of whom it was said to; the notes of that channel too."""
    say_everywhere(store)
    say(store, audience=OWNER, channel_id=THERE)
    if undo:
        store.start_dialogue(familiar_id=ME, channel_id=HERE, kind=StartKind.reset, after_id=1)
    everything = summarise_everything(store)
    note(store)
    if undo:
        assert store.take_back_start(familiar_id=ME, channel_id=HERE, kind=StartKind.reset)
    else:
        store.start_dialogue(familiar_id=ME, channel_id=HERE, kind=StartKind.reset, after_id=1)

    assert everything - summaries(store) == {(ME, HERE), (ME, str(SERVER)), (ME, "whole")}
    assert noted(store) == [(ME, THERE), (OTHER, HERE), (OTHER, THERE)]


def test_a_mark_that_is_none_is_not_taken_back_and_costs_no_summary(store: HistoryStore) -> None:
    """Nor does a mark that only compacts."""
    say_everywhere(store)
    everything = summarise_everything(store)
    store.start_dialogue(familiar_id=ME, channel_id=HERE, kind=StartKind.compact, after_id=1, summary="so far")

    assert not store.take_back_start(familiar_id=ME, channel_id=HERE, kind=StartKind.reset)
    assert store.take_back_start(familiar_id=ME, channel_id=HERE, kind=StartKind.compact)
    assert summaries(store) == everything


def test_leaving_somebody_out_drops_that_familiars_summaries_once(store: HistoryStore) -> None:
    """Leaving out fewer, or the same again, drops none."""
    say_everywhere(store)
    everything = summarise_everything(store)
    store.summaries.leave_out(familiar_id=ME, people=["discord:1", "discord:2"])
    left = summaries(store)
    summarise_everything(store)
    for people in (["discord:2", "discord:1"], ["discord:1"]):
        store.summaries.leave_out(familiar_id=ME, people=people)
        assert summaries(store) == everything
    store.summaries.leave_out(familiar_id=ME, people=["discord:1", "discord:2"])

    assert left == {each for each in everything if each[0] == OTHER}
    assert summaries(store) == left


@pytest.mark.parametrize("stored", ["not a list", b"\xff", 7, "[" * 100_000])
def test_who_was_left_out_is_nobody_where_that_cannot_be_read(store: HistoryStore, stored: object) -> None:
    """Another program wrote there: the summaries go, and what stands there can be read again."""
    say_everywhere(store)
    everything = summarise_everything(store)
    store.database.write("INSERT INTO summaries_without (familiar_id, people) VALUES (?, ?)", (ME, stored))
    store.summaries.leave_out(familiar_id=ME, people=["discord:1"])
    assert summaries(store) == {each for each in everything if each[0] == OTHER}

    summarise_everything(store)
    store.summaries.leave_out(familiar_id=ME, people=["discord:1"])
    assert summaries(store) == everything


def test_a_summary_is_read_with_its_reach_and_its_time(store: HistoryStore) -> None:
    """The newest replaces the one before; an audience has one row of its own below nought."""
    for text in ("first", "second"):
        store.put_summary(familiar_id=ME, last_summarised_id=len(text), summary_text=text)
        store.put_cross_context(
            familiar_id=ME,
            viewer_mode=ChannelMode.full_rp,
            source_channel_id=HERE,
            source_last_id=len(text),
            summary_text=text,
        )
    rolling = store.get_summary(familiar_id=ME)
    told = store.get_cross_context(familiar_id=ME, viewer_mode="full_rp", source_channel_id=HERE)
    rows = [store.summaries.row_of(audience) for audience in (SERVER, DM, SERVER)]

    assert rolling is not None
    assert (rolling.last_summarised_id, rolling.summary_text, rolling.created_at) == (6, "second", NOON)
    assert told is not None
    assert (told.source_last_id, told.summary_text, told.created_at) == (6, "second", NOON)
    assert store.get_cross_context(familiar_id=ME, viewer_mode="", source_channel_id=HERE) is None
    assert (rows[0] == rows[2] != rows[1], max(rows) < 0) == (True, True)


@pytest.mark.parametrize(("column", "value"), [("last_summarised_id", "'x'"), ("summary_text", "x'00ff'")])
def test_a_summary_that_another_program_spoilt_counts_as_none(store: HistoryStore, column: str, value: str) -> None:
    """Either half of it."""
    store.put_summary(familiar_id=ME, last_summarised_id=1, summary_text="told")
    store.database.write(f"UPDATE summaries SET {column} = {value}")

    assert store.get_summary(familiar_id=ME) is None


# How far it is written up


def unwritten(store: HistoryStore, familiar_id: str = ME) -> list[int]:
    return ids(store.turns_since_watermark(familiar_id=familiar_id))


def whole_watermark(store: HistoryStore, familiar_id: str = ME) -> int | None:
    mark = store.get_writer_watermark(familiar_id=familiar_id)
    return mark.last_written_id if mark is not None else None


def test_each_audience_has_a_watermark_and_the_whole_follows_the_slowest(store: HistoryStore) -> None:
    """Never back, and to the end where nothing is left."""
    for audience in (SERVER, DM, SERVER, DM, SERVER):
        say(store, audience=audience)
    steps = [(SERVER, (1, 3)), (DM, (2, 2)), (SERVER, (1, 1)), (DM, (4, 4)), (SERVER, (5, 5))]
    seen = []
    for audience, turn_range in steps:
        store.watermarks.put_for(familiar_id=ME, audience=audience, turn_range=turn_range)
        marks = [store.watermarks.get_for(familiar_id=ME, audience=each) for each in (SERVER, DM)]
        seen.append((marks, whole_watermark(store), unwritten(store)))

    assert seen == [
        ([3, 0], 1, [2, 4, 5]),
        ([3, 2], 3, [4, 5]),
        ([3, 2], 3, [4, 5]),
        ([3, 4], 4, [5]),
        ([5, 4], 5, []),
    ]


def test_a_familiar_that_wrote_nothing_up_has_everything_to_write(store: HistoryStore) -> None:
    """Another's watermarks are another's."""
    say_everywhere(store)
    store.watermarks.put_for(familiar_id=OTHER, audience=SERVER, turn_range=(3, 4))
    store.put_writer_watermark(familiar_id="third", last_written_id=9)

    assert (unwritten(store), unwritten(store, OTHER)) == ([1, 2], [])
    assert (whole_watermark(store), whole_watermark(store, OTHER)) == (None, 4)
    assert store.watermarks.get_for(familiar_id=ME, audience=SERVER) == 0
    assert store.watermarks.count_unwritten(familiar_id=ME) == 2
    assert [store.watermarks.count_unwritten(familiar_id=ME, most=most) for most in (0, 1, 5)] == [0, 1, 2]


def test_the_audience_that_waits_longest_is_next_and_copies_and_marked_turns_never_are(store: HistoryStore) -> None:
    """What was read late is; a turn without an audience is the owner's."""
    say(store, audience=OWNER, mark=TurnMark.hidden)
    say(store, audience=DM)
    say(store, audience=SERVER)
    say(store, audience=DM, mark=TurnMark.belated)
    say(store, audience=OWNER)
    copy_turns(store, familiar_id=ME, channel_id=HERE, up_to_id=2, new_channel_id=THERE)
    store.database.write("UPDATE turns SET audience = NULL WHERE id = 5")
    first = ids(store.watermarks.next_unwritten(familiar_id=ME))
    one = ids(store.watermarks.next_unwritten(familiar_id=ME, limit=1))
    store.watermarks.put_for(familiar_id=ME, audience=DM, turn_range=(2, 4))
    second = ids(store.watermarks.next_unwritten(familiar_id=ME))
    store.watermarks.put_for(familiar_id=ME, audience=SERVER, turn_range=(3, 3))
    third = ids(store.watermarks.next_unwritten(familiar_id=ME))
    store.watermarks.put_for(familiar_id=ME, audience=OWNER, turn_range=(5, 5))

    assert (first, one, second, third) == ([2, 4], [2], [3], [5])
    assert (unwritten(store), store.watermarks.next_unwritten(familiar_id=ME, limit=-1)) == ([], [])


def test_an_audience_nobody_can_read_is_written_up_as_the_owners(store: HistoryStore) -> None:
    """In its own spelling, or it would wait for ever."""
    say(store, audience=OWNER)
    say(store, audience=SERVER)
    store.database.write("UPDATE turns SET audience = 'nonsense' WHERE id = 1")
    store.watermarks.put_for(familiar_id=ME, audience=OWNER, turn_range=(1, 1))

    assert unwritten(store) == [2]


def test_a_watermark_has_its_time(store: HistoryStore) -> None:
    """That of the newest."""
    for last in (3, 2):
        store.put_writer_watermark(familiar_id=ME, last_written_id=last)
    mark = store.get_writer_watermark(familiar_id=ME)

    assert mark is not None
    assert (mark.last_written_id, mark.created_at) == (2, NOON)


# What may be told of them


@pytest.mark.parametrize(
    ("said_to", "now", "confidence", "is_told"),
    [
        (SERVER, SERVER, Confidence.strict, True),
        (DM, SERVER, Confidence.strict, True),
        (HIDDEN, HIDDEN, Confidence.strict, True),
        (HIDDEN, SERVER, Confidence.strict, False),
        (HIDDEN, SERVER, Confidence.server, True),
        (HIDDEN, OWNER, Confidence.strict, True),
        (HIDDEN, EVERYONE, Confidence.strict, False),
    ],
)
def test_a_channels_own_talk_is_told_in_it_but_for_what_was_said_while_it_was_hidden(
    store: HistoryStore, said_to: Audience, now: Audience, confidence: Confidence, is_told: bool
) -> None:
    """Unless it is hidden still, the owner is here, or the owner has widened the rule."""
    turn = say(store, audience=said_to)
    here = Readers(now, platform="discord", channel_id=HERE, server_id=99)

    assert may_tell_turn(turn, here, DisclosurePolicy(confidence)) is is_told


def test_elsewhere_the_rule_decides_and_own_words_follow_their_speaker(store: HistoryStore) -> None:
    """The familiar's own words follow nobody."""
    elsewhere = Readers(whole_server("discord", 4), platform="discord", channel_id=99, server_id=4, speaker="discord:1")
    policy = DisclosurePolicy(known_everywhere=frozenset({"discord:1"}))
    told = [may_tell_turn(say(store, author=who), elsewhere, policy) for who in (ADA, BOB, None)]

    assert told == [True, False, False]


def test_once_a_channel_is_open_what_was_said_while_it_was_hidden_is_left_out(store: HistoryStore) -> None:
    """While it is hidden nothing is."""
    turns = [say(store, audience=each) for each in (SERVER, HIDDEN, DM)]

    opened, hidden = (Readers(now, platform="discord", channel_id=HERE, server_id=3) for now in (SERVER, HIDDEN))
    assert only_since_opened(turns, opened) == only_since_opened(turns, None) == [turns[0], turns[2]]
    assert only_since_opened(turns, hidden) == turns


def test_who_reads_a_channel_is_what_this_run_saw_else_what_was_stored_last(store: HistoryStore) -> None:
    """Of a channel in which nothing was said nobody knows it."""
    assert readers_last_known(store, ME, HERE) is None
    say(store, audience=HIDDEN)
    assert readers_last_known(store, ME, HERE) == Readers(HIDDEN, platform="discord", channel_id=HERE)

    seen = Readers(SERVER, platform="discord", channel_id=HERE, server_id=3)
    store.channel_readers.now.put(HERE, seen)
    assert readers_last_known(store, ME, HERE) == seen


def test_turns_are_told_or_not_by_person_place_and_audience(store: HistoryStore) -> None:
    """One turn of each group is asked about, without its words; of one familiar, and those that are gone are none."""
    for author, audience, channel_id in [
        (ADA, SERVER, HERE),
        (ADA, SERVER, HERE),
        (BOB, SERVER, HERE),
        (ADA, DM, HERE),
        (ADA, SERVER, THERE),
    ]:
        say(store, author=author, audience=audience, channel_id=channel_id)
    say(store, familiar_id=OTHER)
    asked: list[HistoryTurn] = []
    decided: dict[int, bool] = {}
    groups = TurnGroups(store, ME)

    def is_adas_on_the_server(turn: HistoryTurn) -> bool:
        asked.append(turn)
        return turn.author == ADA and turn.audience == SERVER

    assert groups.only_tellable([5, 4, 3, 2, 1, 1, 6, 77], is_adas_on_the_server, decided) == {1, 2, 5}
    assert len(asked) == 4
    assert {turn.content for turn in asked} == {""}
    assert groups.only_tellable([2, 3], is_adas_on_the_server, decided) == {2}
    assert len(asked) == 4  # a question asks about a group once
    assert groups.only_tellable([2, 3], lambda _: True, {}) == {2, 3}  # and the next question anew
    assert TurnGroups(store, OTHER).only_tellable([1, 6], lambda _: True, {}) == {6}


def test_the_group_of_a_turn_is_read_once(store: HistoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn that is said later belongs to a group met before without reading its first turn again."""
    for author in (ADA, BOB, ADA, BOB):
        say(store, author=author, audience=SERVER)
    groups = TurnGroups(store, ME)
    groups.only_tellable([1, 2, 3], lambda _: True, {})
    read: list[int] = []

    def note(_: HistoryStore, *, familiar_id: str, turn_ids: Iterable[int]) -> dict[int, HistoryTurn]:
        read.extend(turn_ids)
        return {}

    monkeypatch.setattr(HistoryStore, "turns_without_words", note)
    assert groups.only_tellable([3, 4], lambda turn: turn.author == BOB, {}) == {4}
    assert read == []


def test_what_group_a_turn_is_of_is_looked_up_in_the_history_once(
    store: HistoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands are asked about at every question; each takes its four bytes, and one that comes later is found."""
    for author in (ADA, BOB, ADA):
        say(store, author=author, audience=SERVER)
    groups = TurnGroups(store, ME)
    assert groups.only_tellable([2], lambda _: True, {}) == {2}
    assert groups.only_tellable([1, 2, 3, 4], lambda _: True, {}) == {1, 2, 3}
    reads: list[str] = []
    read = store.database.read

    def note(sql: str, values: Sequence[object] = ()) -> list[Row]:
        reads.append(sql)
        return read(sql, values)

    monkeypatch.setattr(store.database, "read", note)
    assert groups.only_tellable([1, 2, 3], lambda _: True, {}) == {1, 2, 3}
    assert (reads, len(groups._group_of_turn)) == ([], 5)

    say(store, author=BOB, audience=SERVER)
    assert groups.only_tellable([4], lambda _: True, {}) == {4}


def test_a_channel_that_is_hidden_takes_its_groups_along(store: HistoryStore) -> None:
    """What was told of it a moment ago is not told any more."""
    say(store, audience=SERVER)
    say(store, audience=SERVER, channel_id=THERE)
    groups = TurnGroups(store, ME)

    def is_open(turn: HistoryTurn) -> bool:
        return turn.audience == SERVER

    before = groups.only_tellable([1, 2], is_open, {})
    store.change_audience(familiar_id=ME, channel_id=HERE, audience=HIDDEN)
    assert (before, groups.only_tellable([1, 2], is_open, {})) == ({1, 2}, {2})


def test_groups_are_forgotten_where_they_become_too_many(store: HistoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was decided about one group is never taken for another."""
    monkeypatch.setattr("familiar_connect.history.turn_visibility.MOST_GROUPS", 1)
    monkeypatch.setattr("familiar_connect.history.turn_visibility.MOST_TURNS_HELD", 3)
    for number in range(6):
        say(store, author=(ADA, BOB)[number % 2], audience=(SERVER, DM, HIDDEN)[number % 3])
    groups = TurnGroups(store, ME)
    decided: dict[int, bool] = {}
    for turn_id in (1, 2, 3, 4, 5, 6, 1, 2, 3):
        told = groups.only_tellable([turn_id], lambda turn: turn.author == ADA, decided)
        assert told == ({turn_id} if turn_id % 2 else set())


def test_people_who_are_not_to_be_heard_are_left_out_and_the_familiar_stays(store: HistoryStore) -> None:
    """Also a turn that is nobody's, and one of the familiar's that bears a name."""
    turns = [say(store), say(store, author=BOB), say(store, author=None)]
    ours = HistoryTurn(9, NOON, "assistant", BOB, "words")
    nobody = HistoryTurn(10, NOON, "user", None, "words")
    privacy = FixedPrivacy({BOB.canonical_key: PrivacyLevel.FULL})

    assert without_private_turns([*turns, ours, nobody], privacy) == [turns[0], turns[2], ours, nobody]


# Rows that other programs wrote


def test_a_row_with_odd_values_is_read_as_far_as_it_can_be() -> None:
    """Nothing where something should be is nothing; a mark nobody knows keeps its turn out of prompts."""
    odd = turn_from_row(
        (1, None, None, None, "1", "ada", "Ada", None, 7, None, None, None, None, None, "strange", "x", None)
    )
    whole = turn_from_row(
        (
            2,
            "2026-05-01T12:00:00",
            b"user",
            "discord",
            1,
            None,
            b"Ada",
            5,
            7,
            3,
            "m",
            8,
            "{}",
            "everyone",
            None,
            4,
            "seen",
        )
    )

    assert odd == HistoryTurn(1, UNKNOWN_MOMENT, "", None, "", 7, mark=TurnMark.hidden)
    assert whole == HistoryTurn(
        2,
        NOON,
        "user",
        Author("discord", "1", None, "Ada"),
        "5",
        7,
        guild_id=3,
        mode="m",
        platform_message_id="8",
        facts="{}",
        audience=EVERYONE,
        copy_of=4,
        view="seen",
    )
    assert turn_from_row((3, "", "user", "discord", None, "ada", "Ada", "", 7, *[None] * 8)).author is None


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("2026-05-01T12:00:00", NOON),
        ("2026-05-01T14:00:00+02:00", NOON),
        ("0001-01-01T00:00:00", EARLIEST),
        (EARLIEST.isoformat(), EARLIEST),
        ("9999-12-31T00:00:00", LATEST),
        ("nonsense", UNKNOWN_MOMENT),
    ],
)
def test_a_stored_moment_is_moved_to_one_that_can_be_shown(stored: str, shown: datetime) -> None:
    """Without an offset it is in UTC."""
    assert parse_timestamp(stored) == shown


def test_a_moment_is_stored_in_utc() -> None:
    """The same moment, whatever its zone; without one it is taken to be there already."""
    tokyo = NOON.astimezone(timezone(timedelta(hours=9)))

    assert [(in_utc(each), in_utc(each).tzinfo) for each in (NOON, tokyo, NOON.replace(tzinfo=None))] == [
        (NOON, UTC)
    ] * 3


def test_a_file_that_is_no_history_is_refused_with_the_way_to_mend_it(tmp_path: Path) -> None:
    """It names the command that looks into it."""
    from familiar_connect.errors import HistoryError

    (tmp_path / "history.db").write_bytes(b"this is no database, " * 100)

    with pytest.raises(HistoryError, match="familiar doctor"):
        HistoryStore(tmp_path / "history.db")
