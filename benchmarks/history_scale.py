"""How the history behaves as it grows, and what keeping it costs.

Reads: the same call on a short and on a long history, median against median. Appends: one durable turn
against a bare SQLite insert with the same table, indexes and durability, taken in turns in the same run, so
that a busy disk slows both alike. Run `python -m benchmarks.history_scale [--quick] [--json]`.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.table import Row, run_part
from familiar_connect.history.channel_stats import FOLD_EVERY
from familiar_connect.history.schema import TURNS_COLUMNS, TURNS_INDEXES
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author

FAMILIAR = "sage"
CHANNELS = 8
PEOPLE = 200
MODES = ("full_rp", "text_conversation_rp", "imitate_voice", None)
SIZES = (10_000, 1_000_000)
QUICK_SIZES = (2_000, 20_000)
MOST_GROWTH = 2.0
MOST_APPEND_COST = 1.5
READ_ROUNDS = 1_000
APPEND_ROUNDS = 1_000
_WORDS = "the lantern on the hill went out twice before anyone thought to ask why it had been lit at all "
_INSERT = (
    "INSERT INTO turns (familiar_id, channel_id, guild_id, role, author_platform, author_user_id, author_username,"
    " author_display_name, content, timestamp, mode) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_START = datetime(2026, 1, 1, tzinfo=UTC)


def measure(*, quick: bool = False) -> dict[str, Any]:
    """Reads and appends of a short history and of a long one."""
    return measure_sizes(QUICK_SIZES, read_rounds=200, append_rounds=100) if quick else measure_sizes(SIZES)


def measure_sizes(
    sizes: Sequence[int] = SIZES, *, read_rounds: int = READ_ROUNDS, append_rounds: int = APPEND_ROUNDS
) -> dict[str, Any]:
    """Medians in microseconds and their ratios; everything is made in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="familiar-history-") as folder:
        paths = {size: build(Path(folder) / f"{size}.db", size) for size in sizes}
        reads = _reads(paths, read_rounds)
        append = {size: _appends(path, Path(folder) / f"{size}-bare.db", append_rounds) for size, path in paths.items()}
    return {"sizes": list(sizes), "reads": reads, "append": append}


def build(path: Path, size: int) -> Path:
    """A history of *size* turns, written in bulk; the last are not folded into the side tables yet, as usual."""
    unfolded = FOLD_EVERY // 2
    store = HistoryStore(path)
    with store.database.transaction() as connection:
        connection.executemany(_INSERT, (_row(number) for number in range(size - unfolded)))
        store.channel_stats.rebuild()
        connection.executemany(_INSERT, (_row(number) for number in range(size - unfolded, size)))
    store.close()
    return path


def _row(number: int) -> tuple[Any, ...]:
    """Turn *number*: people and the familiar by turns, spread over channels, modes and names."""
    user = number % 3 != 2
    who = f"{(number * 7919) % PEOPLE}"
    names = ("discord", who, f"user{who}", f"User {who}") if user else (None, None, None, None)
    return (
        FAMILIAR,
        number % CHANNELS + 1,
        None,
        "user" if user else "assistant",
        *names,
        _WORDS[: 40 + number % 57],
        (_START + timedelta(seconds=number)).isoformat(),
        MODES[number // 1000 % len(MODES)],
    )


def _reads(paths: dict[int, Path], rounds: int) -> dict[str, dict[str, Any]]:
    stores = {size: HistoryStore(path) for size, path in paths.items()}
    timings: dict[str, dict[int, list[float]]] = {}
    for _ in range(rounds):  # both sizes in every round: what slows the machine slows both
        for size, store in stores.items():
            for name, call in _calls(store):
                timings.setdefault(name, {}).setdefault(size, []).append(_seconds(call))
    for store in stores.values():
        store.close()
    found: dict[str, dict[str, Any]] = {}
    for name, by_size in timings.items():
        medians = {size: median(values) * 1e6 for size, values in by_size.items()}
        growth = medians[max(medians)] / medians[min(medians)]
        found[name] = {"median_us": medians, "ratio": growth, "ok": growth <= MOST_GROWTH}
    return found


def _calls(store: HistoryStore) -> Iterator[tuple[str, Callable[[], object]]]:
    yield "recent", lambda: store.recent(familiar_id=FAMILIAR, channel_id=1, limit=20)
    yield (
        "recent in a mode",
        lambda: store.recent(familiar_id=FAMILIAR, channel_id=1, limit=20, mode="full_rp"),
    )
    yield "recent_distinct_authors", lambda: store.recent_distinct_authors(familiar_id=FAMILIAR, channel_id=1, limit=5)
    yield "latest_id", lambda: store.latest_id(familiar_id=FAMILIAR, channel_id=1)
    yield "latest_id of all", lambda: store.latest_id(familiar_id=FAMILIAR)
    yield "count", lambda: store.count(familiar_id=FAMILIAR, channel_id=1)
    yield "count of all", lambda: store.count(familiar_id=FAMILIAR)
    yield (
        "distinct_other_channels",
        lambda: store.distinct_other_channels(familiar_id=FAMILIAR, exclude_channel_id=1),
    )


def _appends(path: Path, bare_path: Path, rounds: int) -> dict[str, Any]:
    """One durable append against one bare durable insert into a table of the same length."""
    bare = _bare_copy(path, bare_path)
    store = HistoryStore(path)
    authors = [Author("discord", f"{who}", f"user{who}", f"User {who}") for who in range(PEOPLE)]
    ours: list[float] = []
    plain: list[float] = []
    for number in range(rounds):
        row = _row(3 * number)  # always a person's turn: the dearer kind
        who = authors[number % PEOPLE]
        insert = partial(bare.execute, _INSERT, row)
        append = partial(
            store.append_turn,
            familiar_id=row[0],
            channel_id=row[1],
            role=row[3],
            content=row[8],
            author=who,
            mode=row[10],
        )
        first_ours = bool(number % 2)  # neither always follows the other
        if first_ours:
            ours.append(_seconds(append))
        plain.append(_seconds(insert))
        if not first_ours:
            ours.append(_seconds(append))
    bare.close()
    store.close()
    ratio = median(ours) / median(plain)
    return {
        "median_us": median(ours) * 1e6,
        "bare_median_us": median(plain) * 1e6,
        "ratio": ratio,
        "ok": ratio <= MOST_APPEND_COST,
    }


def _bare_copy(path: Path, bare_path: Path) -> sqlite3.Connection:
    """The same turns in a database that has `turns`, its three indexes, and nothing else."""
    bare = sqlite3.connect(bare_path, isolation_level=None)
    bare.execute("PRAGMA journal_mode=WAL")
    bare.execute("PRAGMA synchronous=FULL")
    bare.execute(f"CREATE TABLE turns ({TURNS_COLUMNS})")
    for statement in TURNS_INDEXES:
        bare.execute(statement)
    names = "familiar_id, channel_id, guild_id, role, author_platform, author_user_id, author_username,"
    names += " author_display_name, content, timestamp, mode"
    bare.execute("ATTACH ? AS theirs", (str(path),))
    bare.execute(f"INSERT INTO main.turns ({names}) SELECT {names} FROM theirs.turns ORDER BY id")
    bare.execute("DETACH theirs")
    return bare


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def rows(found: dict[str, Any]) -> list[Row]:
    short, long = found["sizes"]
    result = [
        Row(
            name=f"{name}: {long:,} against {short:,} turns",
            value=f"{row['ratio']:.2f} × ({row['median_us'][long]:.0f} µs against {row['median_us'][short]:.0f} µs)",
            bar=f"≤ {MOST_GROWTH:g} ×",
            ok=row["ok"],
        )
        for name, row in found["reads"].items()
    ]
    result += [
        Row(
            name=f"durable append at {size:,} turns against a bare insert",
            value=f"{row['ratio']:.2f} × ({row['median_us']:.0f} µs against {row['bare_median_us']:.0f} µs)",
            bar=f"≤ {MOST_APPEND_COST:g} ×",
            ok=row["ok"],
        )
        for size, row in found["append"].items()
    ]
    return result


def main(arguments: Sequence[str]) -> int:
    return run_part(arguments, title="history", description=__doc__, measure=measure, rows=rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
