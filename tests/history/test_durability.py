"""What was stored survives, and what cannot be stored is said in one sentence."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import familiar_connect
from familiar_connect.errors import HistoryError
from familiar_connect.history.store import HistoryStore

APPENDS_FOR_EVER = """
import sys
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author

store = HistoryStore(sys.argv[1])
while True:
    turn = store.append_turn(
        familiar_id="sage", channel_id=1, role="user", content="x" * 300, author=Author("t", "1", "ada", "Ada")
    )
    print(turn.id, flush=True)
"""


def say(store: HistoryStore, content: str = "hello") -> int:
    return store.append_turn(familiar_id="sage", channel_id=1, role="user", content=content).id


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")
def test_every_reported_turn_survives_a_kill(tmp_path: Path) -> None:
    """A process is killed in the midst of writing; each id it had reported is there, and counted."""
    path = tmp_path / "history.db"
    source = str(Path(familiar_connect.__file__).parent.parent)
    child = subprocess.Popen(
        [sys.executable, "-c", APPENDS_FOR_EVER, str(path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": source},
        text=True,
    )
    assert child.stdout is not None
    reported = [int(child.stdout.readline()) for _ in range(150)]
    child.send_signal(signal.SIGKILL)
    rest, _ = child.communicate(timeout=400)
    reported += [int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]

    store = HistoryStore(path)
    stored = [turn.id for turn in store.older_than(familiar_id="sage", max_id=10**9, limit=10**6)]
    assert set(reported) <= set(stored)
    assert stored == list(range(1, len(stored) + 1))
    assert store.count(familiar_id="sage") == len(stored)
    assert store.check() == []
    store.close()


def test_history_is_flushed_at_every_turn(tmp_path: Path) -> None:
    """A write-ahead log with full synchronisation, on the connection that writes."""
    store = HistoryStore(tmp_path / "history.db")
    with store.database.transaction() as connection:
        found = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    store.close()

    assert found == ["wal", 2]


def test_a_corrupt_history_is_left_as_it_is(tmp_path: Path) -> None:
    """The sentence names the file, how to move it aside, and who can look at it."""
    path = tmp_path / "history.db"
    path.write_bytes(b"\x00\xffnot a database" * 1000)

    with pytest.raises(HistoryError) as caught:
        HistoryStore(path)
    sentence = str(caught.value)
    assert sentence.startswith(f"{path} is damaged (file is not a database); it was left as it is: move it aside")
    assert sentence.endswith(f"(mv {path}* SOME-OTHER-FOLDER/) to start a new one, or run `familiar doctor`.")
    assert path.read_bytes() == b"\x00\xffnot a database" * 1000


def test_a_torn_history_says_so_when_it_is_read(tmp_path: Path) -> None:
    """Garbage in the midst of the file is a HistoryError, never a bare SQLite one."""
    path = tmp_path / "history.db"
    store = HistoryStore(path)
    with store.database.transaction():
        for number in range(300):
            say(store, f"turn {number} " + "x" * 400)
    page_size = store.database.read("PRAGMA page_size")[0][0]
    store.close()
    torn = bytearray(path.read_bytes())
    page = torn.index(b"turn 150 ") // page_size * page_size
    torn[page : page + page_size] = b"\x5a" * page_size
    path.write_bytes(torn)
    store = HistoryStore(path)

    with pytest.raises(HistoryError, match="is damaged"):
        store.older_than(familiar_id="sage", max_id=300)
    assert store.check()
    assert say(store) == 301
    store.close()


def test_a_history_torn_at_its_end_does_not_open(tmp_path: Path) -> None:
    """The newest turns are looked at first, and the file is let go of again."""
    path = tmp_path / "history.db"
    store = HistoryStore(path)
    with store.database.transaction():
        for _ in range(300):
            say(store, "x" * 400)
    store.close()
    torn = path.read_bytes()[: path.stat().st_size // 2] + b"\x5a" * (path.stat().st_size // 2)
    path.write_bytes(torn)

    with pytest.raises(HistoryError, match="is damaged"):
        HistoryStore(path)
    assert path.read_bytes() == torn


def test_a_full_disk_refuses_the_turn_and_keeps_the_rest(tmp_path: Path) -> None:
    """The one that does not fit is refused; once there is room, ids go on."""
    store = HistoryStore(tmp_path / "history.db")
    first = say(store)
    store.database.write(f"PRAGMA max_page_count={store.database.read('PRAGMA page_count')[0][0]}")

    with pytest.raises(HistoryError, match="the disk is full"):
        say(store, "x" * 100_000)
    store.database.write("PRAGMA max_page_count=100000")
    second = say(store)
    kept = [turn.id for turn in store.recent(familiar_id="sage", channel_id=1, limit=9)]
    assert kept == [first, second]
    store.close()


def test_a_history_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    """Read-only, in a place that cannot be, or held by another program: each has its sentence."""
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    store = HistoryStore(tmp_path / "history.db")
    store.database.write("PRAGMA query_only=ON")

    with pytest.raises(HistoryError, match=r"history\.db is read-only"):
        say(store)
    with pytest.raises(HistoryError, match=r"history\.db cannot be opened or created"):
        HistoryStore(tmp_path / "file" / "history.db")
    store.close()
    with pytest.raises(HistoryError, match=r"history\.db was closed"):
        say(store)


def test_another_program_may_read_and_write_beside_us(tmp_path: Path) -> None:
    """Two stores on one file see each other's turns."""
    ours, theirs = (HistoryStore(tmp_path / "history.db") for _ in range(2))
    ids = [say(ours), say(theirs), say(ours)]

    assert ids == [1, 2, 3]
    assert ours.count(familiar_id="sage") == theirs.count(familiar_id="sage") == 3
    ours.close()
    with sqlite3.connect(tmp_path / "history.db") as plain:
        assert plain.execute("SELECT COUNT(*) FROM turns").fetchone() == (3,)
    plain.close()
    theirs.close()
