"""Several versions of one turn, and turns that are kept out of every prompt."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.audience import OWNER
from familiar_connect.errors import HistoryError
from familiar_connect.history.message_edits import MessageEdits
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn, TurnMark
from familiar_connect.history.versions import TurnVersions, TurnVersionStore
from familiar_connect.support.clock import ManualClock
from tests.fakes.writer_setup import ALICE, EVENING, FAMILIAR

CHANNEL = 7


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HistoryStore]:
    opened = HistoryStore(tmp_path / "history.db", clock=ManualClock(EVENING))
    yield opened
    opened.close()


def say(store: HistoryStore, text: str, *, by_us: bool = False) -> int:
    return store.append_turn(
        familiar_id=FAMILIAR,
        channel_id=CHANNEL,
        role="assistant" if by_us else "user",
        content=text,
        author=None if by_us else ALICE,
    ).id


def shown(store: HistoryStore) -> list[str]:
    return [turn.content for turn in store.recent(familiar_id=FAMILIAR, channel_id=CHANNEL, limit=99)]


def versions(store: HistoryStore) -> TurnVersionStore:
    return TurnVersionStore(store, FAMILIAR, clock=ManualClock(EVENING))


def test_a_turn_reads_as_its_chosen_version(store: HistoryStore) -> None:
    """And each of its versions can be chosen again."""
    turn_id = say(store, "one", by_us=True)
    kept = versions(store)

    assert kept.versions_of(turn_id) == TurnVersions(turn_id=turn_id, texts=("one",))
    assert kept.add_version(turn_id, "two").texts == ("one", "two")
    assert shown(store) == ["two"]
    assert kept.choose(turn_id, 0).text == "one"
    assert shown(store) == ["one"]
    assert kept.versions_of(turn_id) == TurnVersions(turn_id=turn_id, texts=("one", "two"), chosen=0)


def test_an_edit_changes_the_chosen_version_alone(store: HistoryStore) -> None:
    """Whichever way it comes; what it read before is kept."""
    turn_id = say(store, "one", by_us=True)
    kept, edits = versions(store), MessageEdits(store, FAMILIAR, clock=ManualClock(EVENING))
    kept.add_version(turn_id, "two")

    assert edits.record_edit_of_turn(turn_id, "two and a half")
    assert not edits.record_edit_of_turn(turn_id, "two and a half")
    assert not edits.record_edit_of_turn(9_999, "nobody")
    assert kept.versions_of(turn_id) == TurnVersions(turn_id=turn_id, texts=("one", "two and a half"), chosen=1)
    assert [each.said_before for each in edits.edits_of_turn(turn_id)] == ["one", "two"]


def test_many_turns_get_their_versions_at_once(store: HistoryStore) -> None:
    """As a chat with swipes is brought in; a turn that is not there is left out."""
    first, second = say(store, "a", by_us=True), say(store, "b", by_us=True)
    rows = [
        TurnVersions(turn_id=first, texts=("x", "a"), chosen=1),
        TurnVersions(turn_id=second, texts=("b", "y")),
        TurnVersions(turn_id=9_999, texts=("z",)),
    ]

    assert versions(store).add_versions(rows) == 2
    assert versions(store).add_versions(rows) == 2
    assert list(versions(store).versions_of_all([second, first, 9_999])) == rows[:2]
    assert shown(store) == ["a", "b"]
    assert MessageEdits(store, FAMILIAR).edits_of_turn(first) == []


def test_versions_without_a_chosen_one_are_refused(store: HistoryStore) -> None:
    """All of them: nothing of the batch is written."""
    turn_id = say(store, "a")
    good = TurnVersions(turn_id=turn_id, texts=("b",))

    for bad in (TurnVersions(turn_id=turn_id, texts=()), TurnVersions(turn_id=turn_id, texts=("c",), chosen=1)):
        with pytest.raises(HistoryError, match="there must be 1 to"):
            versions(store).add_versions([good, bad])
    with pytest.raises(HistoryError, match="choose one from 1 to 1"):
        versions(store).choose(turn_id, 1)
    with pytest.raises(HistoryError, match="there is no turn 99"):
        versions(store).add_version(99, "x")
    assert shown(store) == ["a"]


@pytest.mark.parametrize("mark", [TurnMark.hidden, TurnMark.undone])
def test_a_marked_turn_is_in_no_prompt_and_comes_back_unmarked(store: HistoryStore, mark: TurnMark) -> None:
    """Nor is it written up; its row stays."""
    first, second = say(store, "a"), say(store, "b")
    kept = versions(store)

    assert kept.mark_turns([second, 9_999], mark) == [second]
    assert kept.mark_turns([second], mark) == []
    assert shown(store) == ["a"]
    assert [turn.id for turn in store.turns_since_watermark(familiar_id=FAMILIAR)] == [first]
    assert [turn.id for turn in store.older_than(familiar_id=FAMILIAR, max_id=second)] == [first]
    assert store.count(familiar_id=FAMILIAR) == 2

    assert kept.mark_turns([first, second], None) == [second]
    assert shown(store) == ["a", "b"]


def test_a_hidden_line_is_walked_over_on_request_and_an_undone_one_never(store: HistoryStore) -> None:
    """The chat shows the one and not the other."""
    first, second, third = (say(store, text) for text in "abc")
    kept = versions(store)
    kept.mark_turns([first], TurnMark.hidden)
    kept.mark_turns([second], TurnMark.undone)

    def walk(*, with_hidden: bool) -> list[tuple[int, TurnMark | None]]:
        turns = store.turns_after(familiar_id=FAMILIAR, after_id=0, with_hidden=with_hidden)
        return [(turn.id, turn.mark) for turn in turns]

    assert walk(with_hidden=True) == [(first, TurnMark.hidden), (third, None)]
    assert walk(with_hidden=False) == [(third, None)]


def test_a_channel_keeps_its_audience_when_its_talk_is_undone(store: HistoryStore) -> None:
    """Otherwise what is said next would be open."""
    turn_id = store.append_turn(
        familiar_id=FAMILIAR, channel_id=CHANNEL, role="user", content="x", author=ALICE, guild_id=1, audience=OWNER
    ).id
    versions(store).mark_turns([turn_id], TurnMark.undone)

    assert store.channel_audience(familiar_id=FAMILIAR, channel_id=CHANNEL) == OWNER
    following = store.append_turn(
        familiar_id=FAMILIAR, channel_id=CHANNEL, role="user", content="y", author=ALICE, guild_id=1
    )
    assert following.audience == OWNER


def test_summaries_made_of_a_changed_turn_are_dropped(store: HistoryStore) -> None:
    """Those that end before it stay."""
    early, late = say(store, "a"), say(store, "b")
    audience = store.channel_audience(familiar_id=FAMILIAR, channel_id=CHANNEL)
    assert audience is not None
    row = store.summaries.row_of(audience)

    def summarise(up_to: int) -> None:
        store.put_summary(familiar_id=FAMILIAR, last_summarised_id=up_to, summary_text="s", channel_id=row)
        store.put_cross_context(
            familiar_id=FAMILIAR,
            viewer_mode="text",
            source_channel_id=CHANNEL,
            source_last_id=up_to,
            summary_text="s",
        )

    summarise(early)
    versions(store).add_version(late, "c")
    assert store.summaries.count(familiar_id=FAMILIAR) == 2
    summarise(late)
    versions(store).mark_turns([late], TurnMark.undone)
    assert store.summaries.count(familiar_id=FAMILIAR) == 0


def test_versions_go_when_their_turn_goes(store: HistoryStore) -> None:
    """Erasing what a person said leaves none of it."""
    turn_id = say(store, "a")
    versions(store).add_version(turn_id, "b")

    store.erase_author(familiar_id=FAMILIAR, author=ALICE)
    assert versions(store).versions_of(turn_id) is None
    assert store.database.read("SELECT * FROM turn_versions") == []


def test_an_older_file_gains_versions(tmp_path: Path) -> None:
    """Its turns have one version each and no mark."""
    path = tmp_path / "history.db"
    store = HistoryStore(path)
    turn_id = say(store, "old")
    store.close()
    with closing(sqlite3.connect(path)) as older:
        older.executescript(
            "DROP TRIGGER turn_with_versions_changed; DROP TRIGGER turn_with_versions_removed;"
            " DROP TRIGGER view_with_versions_changed; DROP TRIGGER turn_with_view_changed;"
            " ALTER TABLE turns DROP COLUMN view;"
            " DROP TABLE turn_versions; ALTER TABLE turns DROP COLUMN mark; ALTER TABLE turns DROP COLUMN copy_of;"
            " DELETE FROM migrations WHERE name IN ('turn_versions', 'turn_views')"
        )

    store = HistoryStore(path)
    assert shown(store) == ["old"]
    assert versions(store).add_version(turn_id, "new").texts == ("old", "new")
    store.close()


@given(texts=st.lists(st.text(), min_size=1, max_size=5), data=st.data())
def test_any_text_can_be_a_version(texts: list[str], data: st.DataObject) -> None:
    """Surrogates too, which SQLite cannot hold as they are; the turn reads as the chosen one."""
    store = HistoryStore(":memory:")
    turn_id = say(store, "first", by_us=True)
    chosen = data.draw(st.integers(0, len(texts) - 1))
    versions(store).add_versions([TurnVersions(turn_id=turn_id, texts=tuple(texts), chosen=chosen)])

    read = versions(store).versions_of(turn_id)
    assert read is not None
    assert (len(read.texts), read.chosen, [read.text]) == (len(texts), chosen, shown(store))
    store.close()


def test_a_belated_turn_is_remembered_and_in_no_window(store: HistoryStore) -> None:
    """Read after newer ones were stored: written up, and shown neither to a model nor to people as part of the chat."""
    said = [("newest", None), ("earlier", TurnMark.belated)]
    for text, mark in said:
        store.append_if_new(familiar_id=FAMILIAR, channel_id=CHANNEL, role="user", content=text, mark=mark)

    def texts(turns: list[HistoryTurn]) -> list[str]:
        return [turn.content for turn in turns]

    assert texts(store.recent(familiar_id=FAMILIAR, channel_id=CHANNEL, limit=9)) == ["newest"]
    assert texts(store.recent(familiar_id=FAMILIAR, channel_id=CHANNEL, limit=9, with_hidden=True)) == ["newest"]
    assert texts(store.turns_since_watermark(familiar_id=FAMILIAR)) == ["newest", "earlier"]
