"""How long a lorebook of a thousand entries takes into memory, beside a plain loop that writes as many files.

    python -m benchmarks.lorebooks [--json]

Both flush every file to disk, in the same run, in turns. Beyond the loop the importer keeps an audit line and an
earlier version of every file, and names, renders and records the entries. Everything is made in a folder that is
gone afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.table import Row, machine, table
from familiar_connect.bootstrap.import_silly_tavern import import_silly_tavern_lorebook
from familiar_connect.bootstrap.lorebook_files.books import sillytavern_entries
from familiar_connect.memory.store import MemoryStore

ENTRIES = 1000
BAR_S = 2.0
ROUNDS = 3


def make_book(entries: int = ENTRIES) -> str:
    """A native lorebook in which every entry says something else."""
    words = "The lantern on the hill went out twice before anyone thought to ask why it had been lit at all. "
    made = {
        str(uid): {
            "uid": uid,
            "key": [f"lantern {uid}", f"hill {uid}"],
            "comment": f"The lantern of house {uid}",
            "content": f"{uid}. {words * 6}",
            "order": 100 + uid % 7,
            "position": uid % 5,
            "disable": False,
        }
        for uid in range(entries)
    }
    return json.dumps({"name": "Lanterns", "entries": made})


def measure(entries: int = ENTRIES, rounds: int = ROUNDS) -> dict[str, Any]:
    """Middle times of both, in turns, and of reading alone."""
    book = make_book(entries)
    ours, plain, reading = [], [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="familiar-lorebook-") as folder:
            texts = _plain_texts(book)
            plain.append(_timed(lambda home=Path(folder), texts=texts: _write_plainly(home / "plain", texts)))
            store = MemoryStore(Path(folder) / "memory", audit_dir=Path(folder) / "audit")
            ours.append(_timed(lambda store=store: import_silly_tavern_lorebook(store, book)))
            assert len(store.audit_entries) == entries
            if store.audit is not None:
                store.audit.close()
            reading.append(_timed(lambda: sillytavern_entries(book)))
    return {
        "entries": entries,
        "import_s": median(ours),
        "plain_loop_s": median(plain),
        "ratio": median(mine / theirs for mine, theirs in zip(ours, plain, strict=True)),
        "reading_s": median(reading),
        "ok": median(ours) <= BAR_S,
    }


def rows(found: dict[str, Any]) -> list[Row]:
    return [
        Row(
            name=f"import of {found['entries']:,} entries, every file flushed",
            value=f"{found['import_s']:.2f} s",
            bar=f"{BAR_S:.0f} s",
            ok=found["ok"],
        ),
        Row(name="plain loop of as many flushed files", value=f"{found['plain_loop_s']:.2f} s"),
        Row(name="import / plain loop", value=f"{found['ratio']:.1f} ×"),
        Row(name="reading alone", value=f"{found['reading_s'] * 1000:.0f} ms"),
    ]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lorebooks")
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args(arguments)
    found = measure()
    if wanted.json:
        print(json.dumps({**found, "machine": machine()}, indent=2))
    else:
        print(table({"lorebooks": rows(found)}))
    return 0 if found["ok"] else 1


def _plain_texts(book: str) -> list[tuple[str, bytes]]:
    entries = json.loads(book)["entries"].values()
    return [(f"{entry['uid']}.md", f"# {entry['comment']}\n\n{entry['content']}\n".encode()) for entry in entries]


def _write_plainly(folder: Path, texts: list[tuple[str, bytes]]) -> None:
    folder.mkdir()
    for name, data in texts:
        with open(folder / name, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())


def _timed(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
