"""HistoryStore: what is stored is kept, found again in order, and never mixed up."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.audience import whole_server
from familiar_connect.config.types import ChannelMode
from familiar_connect.errors import HistoryError
from familiar_connect.history import store as history_store
from familiar_connect.history.channel_stats import FOLD_EVERY
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn, TurnMark
from familiar_connect.history.versions import TurnVersionStore
from familiar_connect.identity import Author
from familiar_connect.support.clock import ManualClock
from familiar_connect.support.sqlite import Database

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
ADA = Author("discord", "1", "ada", "Ada")
BOB = Author("discord", "2", "bob", None)
ME = "sage"
HERE = 7


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
def store(clock: ManualClock) -> Iterator[HistoryStore]:
    store = HistoryStore(":memory:", clock=clock)
    yield store
    store.close()


def say(
    store: HistoryStore,
    content: str = "hello",
    *,
    familiar_id: str = ME,
    channel_id: int = HERE,
    author: Author | None = ADA,
    mode: ChannelMode | str | None = None,
    message_id: str | None = None,
) -> HistoryTurn:
    return store.append_turn(
        familiar_id=familiar_id,
        channel_id=channel_id,
        role="user" if author else "assistant",
        content=content,
        author=author,
        mode=mode,
        platform_message_id=message_id,
    )


def words(turns: list[HistoryTurn]) -> list[str]:
    return [turn.content for turn in turns]


def test_a_turn_is_read_back_as_it_was_returned(store: HistoryStore) -> None:
    """Who, what, where, when and in which mode are all kept."""
    said = store.append_turn(
        familiar_id=ME, channel_id=HERE, role="user", content="hi", author=ADA, guild_id=3, mode=ChannelMode.full_rp
    )

    assert said == HistoryTurn(
        1, NOON, "user", ADA, "hi", HERE, guild_id=3, mode="full_rp", audience=whole_server("discord", 3)
    )
    assert store.recent(familiar_id=ME, channel_id=HERE, limit=5) == [said]
    assert store.turn_by_id(familiar_id=ME, turn_id=1) == said
    assert store.turn_by_id(familiar_id="other", turn_id=1) is None


def test_the_file_and_its_folders_are_made(tmp_path: Path) -> None:
    """A turn is there after closing and opening again."""
    path = tmp_path / "familiars" / "sage" / "history.db"
    for content in ("one", "two"):
        store = HistoryStore(str(path))
        say(store, content)
        found = words(store.recent(familiar_id=ME, channel_id=HERE, limit=5))
        store.close()

    assert found == ["one", "two"]


def test_time_is_kept_in_utc(store: HistoryStore) -> None:
    """A given moment is stored as the same moment in UTC; one without an offset is in UTC already."""
    moments = (NOON.astimezone(timezone(timedelta(hours=5))), NOON.replace(tzinfo=None))
    stored = [
        store.append_turn(familiar_id=ME, channel_id=HERE, role="user", content="x", timestamp=when) for when in moments
    ]

    assert [turn.timestamp for turn in stored] == [NOON, NOON]
    assert store.database.read("SELECT DISTINCT timestamp FROM turns") == [("2026-05-01T12:00:00+00:00",)]


def test_recent_gives_the_newest_oldest_first(store: HistoryStore) -> None:
    """The limit cuts the old end; nothing is asked for, nothing comes."""
    for number in range(6):
        say(store, f"{number}")

    recent = [words(store.recent(familiar_id=ME, channel_id=HERE, limit=limit)) for limit in (3, 0, -1)]
    assert recent == [["3", "4", "5"], [], []]


def test_recent_heeds_mode_and_before_id(store: HistoryStore) -> None:
    """Only turns of that mode, only smaller ids; a mode may be named or given as it is."""
    for number in range(6):
        say(store, f"{number}", mode="full_rp" if number % 2 else ChannelMode.imitate_voice)

    by_name = store.recent(familiar_id=ME, channel_id=HERE, limit=9, mode="full_rp", before_id=6)
    by_value = store.recent(familiar_id=ME, channel_id=HERE, limit=1, mode=ChannelMode.full_rp, before_id=6)
    assert (words(by_name), words(by_value)) == (["1", "3"], ["3"])


def test_the_same_platform_message_is_stored_once(store: HistoryStore) -> None:
    """The second delivery gets the first row; elsewhere the same id is another message."""
    first = say(store, "first", message_id="m1")
    again = say(store, "again", message_id="m1")
    elsewhere = say(store, "elsewhere", channel_id=8, message_id="m1")

    assert (again, elsewhere.content) == (first, "elsewhere")
    assert store.count(familiar_id=ME) == 2


def test_append_new_tells_whether_the_turn_is_new(store: HistoryStore) -> None:
    """A second delivery is not; a turn without a platform's id always is."""
    told = [
        store.append_if_new(familiar_id=ME, channel_id=HERE, role="user", content="x", platform_message_id=message_id)
        for message_id in ("m1", "m1", None, None)
    ]

    assert [is_new for _, is_new in told] == [True, False, True, True]
    assert told[1][0] == told[0][0]


def test_deliveries_at_the_same_moment_are_stored_once(tmp_path: Path) -> None:
    """Many threads with one message end up with one row."""
    store = HistoryStore(tmp_path / "history.db")
    start = threading.Barrier(6)

    def deliver(number: int) -> HistoryTurn:
        start.wait(timeout=100)
        return say(store, f"by {number}", message_id="m1")

    with ThreadPoolExecutor(6) as pool:
        stored = set(pool.map(deliver, range(6)))

    assert len(stored) == 1
    assert store.count(familiar_id=ME) == 1
    store.close()


def test_authors_come_newest_first_once_each(store: HistoryStore) -> None:
    """Under the names they last used, without those who have none, by platform and id."""
    renamed = Author("discord", "1", "ada", "Ada Lovelace")
    twin = Author("twitch", "1", "ada", "ada")
    for author in (ADA, BOB, twin, None, renamed):
        say(store, author=author)

    found = [store.recent_distinct_authors(familiar_id=ME, channel_id=HERE, limit=limit) for limit in (9, 2, 0)]
    assert found == [[renamed, twin, BOB], [renamed, twin], []]


def test_older_than_keeps_the_newest_of_the_range(store: HistoryStore) -> None:
    """Ascending, both ends included; a limit leaves out the old end."""
    for number in range(1, 9):
        say(store, f"{number}", channel_id=number % 2)

    assert words(store.older_than(familiar_id=ME, max_id=4)) == ["1", "2", "3", "4"]
    assert words(store.older_than(familiar_id=ME, max_id=7, channel_id=1)) == ["1", "3", "5", "7"]
    assert words(store.older_than(familiar_id=ME, max_id=7, min_id=3, limit=3)) == ["5", "6", "7"]
    assert words(store.older_than(familiar_id=ME, max_id=7, limit=0)) == []


def test_turns_after_walks_in_steps(store: HistoryStore) -> None:
    """Each step begins where the last one ended, up to the end that was named."""
    for number in range(1, 9):
        say(store, f"{number}", channel_id=number % 2)

    first = store.turns_after(familiar_id=ME, after_id=2, max_id=7, limit=3)
    second = store.turns_after(familiar_id=ME, after_id=first[-1].id, max_id=7, limit=3)
    assert (words(first), words(second)) == (["3", "4", "5"], ["6", "7"])
    assert words(store.turns_after(familiar_id=ME, after_id=0, channel_id=0)) == ["2", "4", "6", "8"]


def test_counts_and_latest_ids_are_per_familiar_and_channel(store: HistoryStore) -> None:
    """Familiars never see each other's turns."""
    say(store)
    say(store, channel_id=8)
    say(store, familiar_id="other")

    scopes = (None, HERE, 8, 9)
    assert [store.count(familiar_id=ME, channel_id=scope) for scope in scopes] == [2, 1, 1, 0]
    assert [store.latest_id(familiar_id=ME, channel_id=scope) for scope in scopes] == [2, 1, 2, None]
    assert (store.count(familiar_id="nobody"), store.latest_id(familiar_id="nobody")) == (0, None)


def test_the_nth_newest_turn_is_found_across_channels(store: HistoryStore) -> None:
    """Counted back from the familiar's newest turn; past the beginning there is none."""
    for number in range(1, 5):
        say(store, channel_id=number)
    say(store, familiar_id="other")

    assert [store.nth_newest_id(familiar_id=ME, back=back) for back in (0, 1, 3, 4)] == [4, 3, 1, None]


@pytest.mark.parametrize("turns", [10, FOLD_EVERY * 2 + 10])
def test_count_before_counts_what_lies_before(store: HistoryStore, turns: int) -> None:
    """With and without a mode, and all of it when no id is given."""
    for number in range(turns):
        say(store, mode="full_rp" if number % 2 else None)

    def before(turn_id: int | None, mode: str | None = None) -> int:
        return store.count_before(familiar_id=ME, channel_id=HERE, before_id=turn_id, mode=mode)

    assert [before(None), before(1), before(8)] == [turns, 0, 7]
    assert [before(None, "full_rp"), before(8, "full_rp")] == [turns // 2, 3]


def test_other_channels_show_their_newest_turn(store: HistoryStore, clock: ManualClock) -> None:
    """Most recently active first, with the mode of the newest turn, even if that is none."""
    say(store, channel_id=1, mode="full_rp")
    say(store, channel_id=2)
    say(store, channel_id=2, mode="full_rp")
    clock.advance(60)
    say(store, channel_id=1, mode=None)
    say(store, channel_id=HERE)

    found = store.distinct_other_channels(familiar_id=ME, exclude_channel_id=HERE)
    assert [(info.channel_id, info.mode, info.latest_id) for info in found] == [(1, None, 4), (2, "full_rp", 3)]
    assert found[0].latest_timestamp == NOON + timedelta(seconds=60)


def test_summaries_are_replaced(store: HistoryStore) -> None:
    """One for the familiar as a whole, one per channel where asked for."""
    store.put_summary(familiar_id=ME, last_summarised_id=3, summary_text="old")
    store.put_summary(familiar_id=ME, last_summarised_id=5, summary_text="new")
    store.put_summary(familiar_id=ME, last_summarised_id=4, summary_text="here", channel_id=HERE)

    whole, here = (store.get_summary(familiar_id=ME, channel_id=channel) for channel in (0, HERE))
    assert whole is not None
    assert here is not None
    assert (whole.last_summarised_id, whole.summary_text, whole.created_at) == (5, "new", NOON)
    assert here.summary_text == "here"
    assert store.get_summary(familiar_id="other") is None


def test_cross_context_is_kept_per_viewing_mode(store: HistoryStore) -> None:
    """A mode given by name or value is the same mode."""
    for text in ("old", "new"):
        store.put_cross_context(
            familiar_id=ME,
            viewer_mode=ChannelMode.full_rp,
            source_channel_id=8,
            source_last_id=4,
            summary_text=text,
        )

    found = store.get_cross_context(familiar_id=ME, viewer_mode="full_rp", source_channel_id=8)
    assert found is not None
    assert (found.source_last_id, found.summary_text, found.created_at) == (4, "new", NOON)
    assert store.get_cross_context(familiar_id=ME, viewer_mode="imitate_voice", source_channel_id=8) is None


def test_the_watermark_parts_old_from_new(store: HistoryStore) -> None:
    """Everything is new until it is set; then what lies past it, oldest first."""
    for number in range(1, 6):
        say(store, f"{number}", channel_id=number)
    say(store, familiar_id="other")

    assert store.get_writer_watermark(familiar_id=ME) is None
    assert words(store.turns_since_watermark(familiar_id=ME)) == ["1", "2", "3", "4", "5"]
    store.put_writer_watermark(familiar_id=ME, last_written_id=2)
    store.put_writer_watermark(familiar_id=ME, last_written_id=3)
    watermark = store.get_writer_watermark(familiar_id=ME)
    assert watermark is not None
    assert (watermark.last_written_id, watermark.created_at) == (3, NOON)
    assert words(store.turns_since_watermark(familiar_id=ME, limit=1)) == ["4"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "zero\x00inside\x00",
        "🦊👩‍👩‍👧‍👦",
        "שלום עולם \u202e abc",
        "a\r\nb\tc",
        "\ufeffmark",
        "x'; DROP TABLE turns; --",
    ],
)
def test_any_text_comes_back_as_it_was(store: HistoryStore, text: str) -> None:
    """Whatever people type."""
    author = Author("discord", "9", text, text)

    assert say(store, text, author=author) == store.recent(familiar_id=ME, channel_id=HERE, limit=1)[0]
    assert store.recent_distinct_authors(familiar_id=ME, channel_id=HERE, limit=1) == [author]


def test_a_very_long_message_is_kept_whole(tmp_path: Path) -> None:
    """Ten megabytes of it."""
    store = HistoryStore(tmp_path / "history.db")
    text = "ab🦊d" * 2_500_000
    say(store, text)

    assert store.recent(familiar_id=ME, channel_id=HERE, limit=1)[0].content == text
    store.close()


def test_lone_surrogates_do_not_lose_a_message(store: HistoryStore) -> None:
    """They become U+FFFD wherever they stand, and what is returned is what was stored."""
    bad = "half \ud83d of it"
    said = say(store, bad, author=Author("discord", "9", bad, bad), message_id=bad, mode=bad)
    store.put_summary(familiar_id=ME, last_summarised_id=1, summary_text=bad)

    assert said.content == "half \ufffd of it"
    assert store.recent(familiar_id=ME, channel_id=HERE, limit=1, mode=bad) == [said]
    assert say(store, "again", message_id=bad) == said
    summary = store.get_summary(familiar_id=ME)
    assert summary is not None
    assert summary.summary_text == "half \ufffd of it"


def test_an_unreadable_timestamp_does_not_hide_a_turn(store: HistoryStore) -> None:
    """The row is shown, at the beginning of time."""
    say(store)
    store.database.write("UPDATE turns SET timestamp = 'yesterday'")

    assert store.recent(familiar_id=ME, channel_id=HERE, limit=1)[0].timestamp == datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("0001-01-01T00:00:00+14:00", datetime(2, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59-14:00", datetime(9998, 12, 31, tzinfo=UTC)),
    ],
)
def test_a_moment_no_zone_can_show_is_moved_to_one_that_can(store: HistoryStore, stored: str, shown: datetime) -> None:
    """The nearest, and it can be told in every zone."""
    say(store)
    store.database.write("UPDATE turns SET timestamp = ?", (stored,))
    (turn,) = store.recent(familiar_id=ME, channel_id=HERE, limit=1)

    assert turn.timestamp == shown
    assert {turn.timestamp.astimezone(timezone(timedelta(hours=hours))) for hours in (-12, 14)} == {shown}


def test_bytes_in_place_of_text_are_read_as_text(store: HistoryStore) -> None:
    """What cannot be decoded shows as a mark; the row is told to whoever asks what is wrong."""
    say(store, mode="full_rp", message_id="1")
    assert store.check() == []
    store.database.write(
        "UPDATE turns SET content = x'ff41', author_display_name = x'ff', author_user_id = x'31', mode = x'41',"
        " platform_message_id = x'42'"
    )
    (turn,) = store.recent(familiar_id=ME, channel_id=HERE, limit=1)

    assert (turn.content, turn.author, turn.mode, turn.platform_message_id) == (
        "\ufffdA",
        Author("discord", "1", "ada", "\ufffd"),
        "A",
        "B",
    )
    assert store.check() == ["1 of the turns hold bytes for text or an impossible time, first the one with id 1"]


@pytest.mark.parametrize("stored", ["yesterday", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_an_impossible_time_is_found_by_a_check(store: HistoryStore, stored: str) -> None:
    """Ours are not, with and without an offset or parts of a second."""
    for when in (NOON, NOON.replace(microsecond=7), NOON.astimezone(timezone(timedelta(hours=5.5)))):
        store.append_turn(familiar_id=ME, channel_id=HERE, role="user", content="x", timestamp=when)
    assert store.check() == []
    store.database.write("UPDATE turns SET timestamp = ? WHERE id = 2", (stored,))

    assert ["id 2" in told for told in store.check()] == [True]


def test_a_summary_that_is_none_counts_as_absent(store: HistoryStore) -> None:
    """A check finds it, the next summary takes its place."""
    store.database.write("INSERT INTO summaries VALUES (?, 0, 'x', x'00ff', 'zz')", (ME,))
    store.database.write("INSERT INTO cross_context_summaries VALUES (?, 'full_rp', 1, 1, x'00ff', 'zz')", (ME,))

    assert store.get_summary(familiar_id=ME) is None
    assert store.get_cross_context(familiar_id=ME, viewer_mode="full_rp", source_channel_id=1) is None
    assert [told.split(" of ")[1].split()[0] for told in store.check()] == ["summaries", "cross_context_summaries"]
    store.put_summary(familiar_id=ME, last_summarised_id=1, summary_text="fine")
    assert store.get_summary(familiar_id=ME) is not None


def test_a_message_is_found_by_its_number_in_its_own_channel_whatever_became_of_it(store: HistoryStore) -> None:
    """Another channel, and another familiar, may have one of the same number."""
    say(store, "another", message_id="m2")
    say(store, "elsewhere", channel_id=HERE + 1, message_id="m1")
    say(store, "of another", familiar_id="other", message_id="m1")
    wanted = say(store, "this one", message_id="m1")
    TurnVersionStore(store, ME).mark_turns([wanted.id], TurnMark.undone)

    found = store.find_message(familiar_id=ME, channel_id=HERE, message_id="m1")
    assert found is not None
    assert (found.id, found.content) == (wanted.id, "this one")
    assert store.find_message(familiar_id=ME, channel_id=HERE, message_id="m3") is None


def test_each_history_has_a_name_of_its_own_that_stays(tmp_path: Path) -> None:
    """A page that shows one can tell it from another; one that was taken away is given anew."""
    names = []
    for file in ("one.db", "two.db", "one.db"):
        store = HistoryStore(tmp_path / file)
        names.append(store.name())
        store.close()
    store = HistoryStore(tmp_path / "one.db")
    store.database.write("DELETE FROM history_name")
    again = store.name()
    store.close()

    assert names[0] == names[2]
    assert len({*names, again, ""}) == 4


def test_summaries_go_when_somebody_new_is_left_out(tmp_path: Path) -> None:
    """Only then: not when the same people are, not when one comes back; and it is remembered."""
    kept = []
    for people in (set(), {"a:1"}, {"a:1"}, set(), {"a:1"}, {"a:1", "b:2"}, {"b:2"}):
        store = HistoryStore(tmp_path / "history.db")
        store.put_summary(familiar_id=ME, last_summarised_id=1, summary_text="so far")
        store.put_summary(familiar_id="other", last_summarised_id=1, summary_text="so far")
        store.summaries.leave_out(familiar_id=ME, people=people)
        kept.append(store.summaries.count(familiar_id=ME))
        assert store.summaries.count(familiar_id="other") == 1
        store.close()

    assert kept == [1, 0, 1, 1, 0, 0, 1]


def test_a_history_that_cannot_be_opened_leaves_no_file_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever mends it may move the file away at once, and the next try begins afresh."""

    def refuse(*_: object) -> None:
        raise HistoryError("the outbox cannot be read")

    opened: list[Database] = []

    def remember(*args: Any, **options: Any) -> Database:
        opened.append(Database(*args, **options))
        return opened[-1]

    monkeypatch.setattr(history_store, "Database", remember)
    monkeypatch.setattr(history_store, "OutboxRows", refuse)

    with pytest.raises(HistoryError, match="outbox"):
        HistoryStore(tmp_path / "history.db")

    with pytest.raises(HistoryError, match="was closed"):
        opened[0].read("SELECT 1")
