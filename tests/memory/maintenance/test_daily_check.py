"""The program looks memory over by itself: once a day, as proposals, and no second time what was rejected."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from familiar_connect.memory.maintenance import daily_check
from familiar_connect.memory.maintenance.daily_check import DailyCheck
from familiar_connect.memory.maintenance.review import Review
from familiar_connect.memory.store import MemoryStore
from familiar_connect.support.clock import ManualClock

MONDAY = datetime(2031, 1, 6, 9, tzinfo=UTC)
ANN = "# Ann\n\n- 2030-12-01, Ann said: I live in Graz.\n- 2030-12-20, Ann said: I live in Vienna.\n"
BEA = "# Bea\n\n- 2030-12-01, Bea said: I work at the mill.\n- 2030-12-20, Bea said: I work at the brewery.\n"


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    store = MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit", clock=ManualClock(MONDAY))
    store.write_file("people/ann.md", ANN)
    return store


def look_over(store: MemoryStore, *, day: int = 0, hour: int = 0) -> list[str]:
    """As a program that was just started would."""
    return DailyCheck(store, familiar_id="wren").carry_out(MONDAY + timedelta(days=day, hours=hour))


def test_what_is_not_in_order_waits_for_the_owner_and_nothing_is_changed(store: MemoryStore) -> None:
    """Each finding as a proposal of its own; on the same day no second look, in another process either."""
    store.write_file("people/bea.md", BEA)
    made = look_over(store)
    again = look_over(store, hour=5)

    assert [Review(store).show(run_id).files for run_id in made] == [("people/ann.md",), ("people/bea.md",)]
    assert again == []
    assert store.read_file("people/ann.md") == ANN


def test_no_second_suggestion_for_a_file_while_one_waits(store: MemoryStore) -> None:
    """The owner is asked once; what they approve is done."""
    (first,) = look_over(store)
    store.write_file("people/ann.md", ANN + "- 2030-12-28, Ann said: I live in Linz.\n")
    second = look_over(store, day=1)
    Review(store).approve(first)
    (third,) = look_over(store, day=2)

    assert second == []
    assert "Graz" not in store.read_file("people/ann.md")
    assert "Vienna" in Review(store).diff(third, "people/ann.md")


def test_what_was_rejected_does_not_come_back_beside_something_new(store: MemoryStore) -> None:
    """Though another finding turned up since."""
    (first,) = look_over(store)
    Review(store).reject(first, "both are true")
    store.write_file("people/bea.md", BEA)
    made = look_over(store, day=1)

    assert [Review(store).show(run_id).files for run_id in made] == [("people/bea.md",)]


def test_only_people_of_whom_something_was_written_since_are_read_again(store: MemoryStore) -> None:
    """Line by line: that takes most of the time, and what was in order yesterday is so today."""
    look_over(store)
    store.write_file("people/bea.md", BEA)
    long_ago = MONDAY.timestamp() - 40 * 365 * 86_400
    os.utime(store.root / "people" / "bea.md", (long_ago, long_ago))
    unchanged = look_over(store, day=1)
    store.write_file("people/bea.md", f"{BEA}- 2031-01-02, Bea said: I like tea.\n")

    assert unchanged == []
    assert len(look_over(store, day=2)) == 1


def test_an_owner_who_decides_nothing_is_not_given_ever_more(store: MemoryStore) -> None:
    """So many suggestions wait at once, whatever turns up."""
    for number in range(30):
        store.write_file(f"people/p{number}.md", ANN.replace("Ann", f"Person {number}"))
    made = [*look_over(store), *look_over(store, day=1)]

    assert len(made) == daily_check.MAX_WAITING


def test_a_memory_of_very_many_files_is_left_to_the_command(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take too long beside a conversation."""
    monkeypatch.setattr(daily_check, "MAX_FILES", 1)
    store.write_file("people/bea.md", BEA)

    assert look_over(store) == []
    assert Review(store).count() == 0
