"""Locks on a file: one that says that something is in use, and one that lets one in at a time."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from familiar_connect.support import files
from familiar_connect.support.files import SharedLock, hold_alone, is_held


def test_it_is_held_while_anybody_holds_it(tmp_path: Path) -> None:
    """Two may hold it at once; it is free again when both let go."""
    path = tmp_path / "new folder" / "in-use.lock"
    one, other = SharedLock(path), SharedLock(path)
    assert not is_held(path)
    one.hold()
    other.hold()
    one.hold()
    assert is_held(path)
    one.release()
    assert is_held(path)
    other.release()
    other.release()

    assert not is_held(path)


def test_a_place_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    """Whoever uses the thing goes on all the same."""
    (tmp_path / "a file").write_text("", encoding="utf-8")
    lock = SharedLock(tmp_path / "a file" / "in-use.lock")
    lock.hold()
    lock.release()

    assert not is_held(tmp_path / "a file" / "in-use.lock")


def test_one_at_a_time_holds_it_alone(tmp_path: Path) -> None:
    """The second is told, and gets it when the first is done; also where somebody only shares in it."""
    path = tmp_path / "new folder" / "alone.lock"
    with hold_alone(path) as first, hold_alone(path) as second:
        assert (first, second, is_held(path)) == (True, False, True)
    shared = SharedLock(path)
    shared.hold()
    with hold_alone(path) as third:
        assert not third
    shared.release()
    with hold_alone(path) as fourth:
        assert fourth


def test_who_looks_at_that_moment_does_not_keep_a_program_from_holding_it(tmp_path: Path) -> None:
    """To look takes the lock for a moment; a program that starts just then waits for that and holds it."""
    path = tmp_path / "in-use.lock"
    shared = SharedLock(path)
    with hold_alone(path):
        holding = threading.Thread(target=shared.hold)
        holding.start()
        holding.join(0.05)
        assert holding.is_alive()
    holding.join()
    assert is_held(path)
    shared.release()


def test_a_lock_that_somebody_else_keeps_is_asked_for_again_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What could not be held is not taken for held: the next call tries again."""
    monkeypatch.setattr(files, "LONGEST_LOOK_S", 0.01)
    path = tmp_path / "in-use.lock"
    shared = SharedLock(path)
    with hold_alone(path):
        shared.hold()
    shared.hold()
    assert is_held(path)
    shared.release()
