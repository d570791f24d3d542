"""What the index of a home costs to keep: bytes on disk, the time to build it, and the processor while nobody speaks.

    python -m benchmarks.index_cost [--quick] [--json]
    python -m benchmarks.index_cost --weigh TURNS FILES [--json]    # the bytes alone, in half a minute

The bytes are set beside the words the index holds, those of the turns and of the files. Building is set beside plainly
embedding the same units (turns, passages and chunks of files) with the same embedder into one SQLite table, by turns,
in processor time. Idle is a real `familiar chat --plain` that waits for a line in a home of many files.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import large_home
from benchmarks.table import Row, parse_arguments, print_part, run_part
from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.config.folders import FamiliarFolder, index_folder
from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.index.chunking import chunk_markdown
from familiar_connect.memory.index.embeddings import INDEX_FILE, EmbeddingIndex
from familiar_connect.memory.index.folder_listing import file_stamps
from familiar_connect.memory.index.hashing import HashingModel
from familiar_connect.memory.index.minilm import MiniLMModel, why_unavailable
from familiar_connect.memory.index.passages import prepare_passages
from familiar_connect.memory.index.protocols import EmbeddingModel
from familiar_connect.memory.index.turns import TURNS_FILE, TurnIndex
from familiar_connect.memory.index.vectors.blobs import to_blob
from familiar_connect.memory.store import MemoryStore

SIZE, QUICK_SIZE = (20_000, 2_000), (400, 40)
"""Turns and files whose index is weighed."""
BUILT, QUICK_BUILT = (600, 60), (40, 4)
"""Turns and files that are embedded by the shipped embedder, several times."""
ROUNDS = 2
IDLE_FILES, QUICK_IDLE_FILES = 10_000, 100
IDLE_TURNS = 200
IDLE_S, QUICK_IDLE_S = 30.0, 2.0
SETTLE_S = 300.0
"""The longest that a started program is given to come to rest."""
AT_REST = 0.05
"""A program that takes less of a core than this has started, whatever it does from then on."""
MOST_TIMES_WORDS, MOST_TIMES_PLAIN, MOST_IDLE = 3.0, 2.0, 0.005
EMBED_BATCH = 32
_NOWHERE = '\n[llm.main_prose]\nmodel = "nobody"\nbase_url = "http://127.0.0.1:9/v1"\n'
"""Nobody is asked anything; nothing listens there."""


def measure(*, quick: bool = False) -> dict[str, Any]:
    turns, files = QUICK_SIZE if quick else SIZE
    with tempfile.TemporaryDirectory(prefix="familiar-index-cost-") as folder:
        home = Path(folder)
        large_home.fill_home_in_child(home / "weighed" / large_home.FAMILIAR, turns=turns, files=files)
        weighed = weigh(home / "weighed" / large_home.FAMILIAR)
        built = time_build(home / "built" / large_home.FAMILIAR, *(QUICK_BUILT if quick else BUILT))
        idle = watch_idle(
            home / "idle",
            files=QUICK_IDLE_FILES if quick else IDLE_FILES,
            seconds=QUICK_IDLE_S if quick else IDLE_S,
        )
    return {"turns": turns, "files": files, "size": weighed, "build": built, "idle": idle}


def weigh(root: Path) -> dict[str, Any]:
    """Bytes of the words that the home in *root* holds, and of its index, by table."""
    with contextlib.closing(sqlite3.connect(root / "history.db")) as history:
        (said,) = history.execute("SELECT SUM(LENGTH(CAST(content AS BLOB))) FROM turns").fetchone()
    memory = root / "memory"
    written = sum((memory / path).stat().st_size for path, _ in file_stamps(memory))
    held = [path for path in index_folder(memory).iterdir() if path.is_file()]
    index = sum(path.stat().st_size for path in held)
    words = int(said or 0) + written
    return {
        "words": words,
        "index": index,
        "ratio": index / words,
        "ok": index / words <= MOST_TIMES_WORDS,
        "parts": dict(sorted(_parts(held), key=lambda part: -part[1])),
    }


def _parts(paths: Sequence[Path]) -> Iterator[tuple[str, int]]:
    """The tables of each database and their bytes; the whole file where this SQLite cannot tell them apart."""
    for path in paths:
        if path.suffix != ".sqlite":
            continue
        with contextlib.closing(sqlite3.connect(path)) as index:
            try:
                tables = index.execute("SELECT name, SUM(pgsize) FROM dbstat GROUP BY name").fetchall()
                yield from ((f"{path.stem}.{name}", size) for name, size in tables)
            except sqlite3.OperationalError:
                yield path.stem, path.stat().st_size


def time_build(root: Path, turns: int, files: int) -> dict[str, Any]:
    """Processor time of building the index of a small home, beside embedding and storing its units and nothing else."""
    large_home.fill_home(root, turns=turns, files=files)
    model: EmbeddingModel = HashingModel() if why_unavailable() else MiniLMModel()
    model.embed(["ready"])
    store = MemoryStore(root / "memory")
    with contextlib.closing(HistoryStore(root / "history.db")) as history:
        units = _units(store, history)
        ours: list[float] = []
        plain: list[float] = []
        for number in range(ROUNDS):
            ours.append(_build(root / f"ours-{number}", store, history, model))
            plain.append(_embed_and_insert(root / f"plain-{number}.sqlite", units, model))
    ratio = min(ours) / min(plain)
    return {
        "embedder": str(getattr(model, "name", "")),
        "units": len(units),
        "ours_s": min(ours),
        "plain_s": min(plain),
        "ratio": ratio,
        "ok": ratio <= MOST_TIMES_PLAIN,
    }


def _units(store: MemoryStore, history: HistoryStore) -> list[str]:
    """The texts of a home that somebody may search for, as the index cuts them up."""
    found = [text for (text,) in history.database.read("SELECT content FROM turns")]
    for path, _ in file_stamps(store.root):
        text = store.read_file(path)
        chunks = chunk_markdown(text, rel_path=path, mtime=0)
        passages = prepare_passages(text, path, chunks)
        found += dict.fromkeys([c.text for c in chunks] + [passage.embedded for passage in passages])
    return found


def _build(folder: Path, store: MemoryStore, history: HistoryStore, model: EmbeddingModel) -> float:
    began = time.process_time()
    facts: dict[str, Any] = {"dim": model.dim, "model_name": str(getattr(model, "name", ""))}
    with EmbeddingIndex(folder / INDEX_FILE, **facts) as index:
        index.build_if_stale(store, model)
    said = TurnIndex(folder / TURNS_FILE, history=history, familiar_id=large_home.FAMILIAR, **facts)
    said.sync(model)
    said.close()
    return time.process_time() - began


def _embed_and_insert(path: Path, units: Sequence[str], model: EmbeddingModel) -> float:
    began = time.process_time()
    with contextlib.closing(sqlite3.connect(path)) as plain, plain:
        plain.execute("CREATE TABLE units (id INTEGER PRIMARY KEY, text TEXT, vector BLOB)")
        for start in range(0, len(units), EMBED_BATCH):
            texts = list(units[start : start + EMBED_BATCH])
            vectors = map(to_blob, model.embed(texts))
            plain.executemany("INSERT INTO units (text, vector) VALUES (?, ?)", zip(texts, vectors, strict=True))
    return time.process_time() - began


def watch_idle(home: Path, *, files: int, seconds: float) -> dict[str, Any]:
    """Which share of a core a chat takes that waits for a line, in a home of *files* files, once it has started."""
    if not Path("/proc/self/stat").exists():
        return {"files": files, "share": None, "ok": None}
    root = make_starter(home, large_home.FAMILIAR)
    with FamiliarFolder(root).settings_file.open("a", encoding="utf-8") as settings:
        settings.write(_NOWHERE)
    large_home.fill_home_in_child(root, turns=IDLE_TURNS, files=files)
    command = [sys.executable, "-P", "-m", "familiar_connect", "--home", str(home), "chat", "--plain"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, **quiet) as chat:
        try:
            _wait_for_rest(chat)
            share = _share_of_core(chat, seconds)
        finally:
            chat.terminate()
    return {"files": files, "seconds": seconds, "share": share, "ok": share <= MOST_IDLE}


def _wait_for_rest(chat: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + SETTLE_S
    while _spent_s(chat) < 0.2 or _share_of_core(chat, 2.0) > AT_REST:
        if time.monotonic() > until:
            raise RuntimeError(f"the chat did not come to rest within {SETTLE_S:g} s")
        time.sleep(0.1)


def _share_of_core(chat: subprocess.Popen[bytes], seconds: float) -> float:
    before, began = _spent_s(chat), time.monotonic()
    time.sleep(seconds)
    return (_spent_s(chat) - before) / (time.monotonic() - began)


def _spent_s(chat: subprocess.Popen[bytes]) -> float:
    """Processor time of the program so far."""
    if chat.poll() is not None:
        raise RuntimeError(f"the chat ended by itself with exit code {chat.returncode}")
    fields = Path(f"/proc/{chat.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def size_rows(found: dict[str, Any]) -> list[Row]:
    size = found["size"]
    return [
        Row(
            name=f"index of {found['turns']:,} turns and {found['files']:,} files, beside the words it holds",
            value=f"{size['index'] / 1e6:.1f} MB, {size['ratio']:.2f} × {size['words'] / 1e6:.2f} MB",
            bar=f"≤ {MOST_TIMES_WORDS:g} ×",
            ok=size["ok"],
        ),
        *(
            Row(name=f"of it {name}", value=f"{part / 1e6:.2f} MB, {part / size['words']:.2f} ×")
            for name, part in size["parts"].items()
            if part / size["index"] >= 0.01
        ),
    ]


def rows(found: dict[str, Any]) -> list[Row]:
    build, idle = found["build"], found["idle"]
    told = [
        *size_rows(found),
        Row(
            name=f"building it for {build['units']:,} units, beside embedding and inserting them ({build['embedder']})",
            value=f"{build['ours_s']:.2f} s, {build['ratio']:.2f} × {build['plain_s']:.2f} s",
            bar=f"≤ {MOST_TIMES_PLAIN:g} ×",
            ok=build["ok"],
        ),
    ]
    if idle["share"] is not None:
        told.append(
            Row(
                name=f"a chat that waits, with {idle['files']:,} files, over {idle['seconds']:g} s",
                value=f"{idle['share']:.2%} of a core",
                bar=f"≤ {MOST_IDLE:.1%}",
                ok=idle["ok"],
            )
        )
    return told


def weigh_only(turns: int, files: int) -> dict[str, Any]:
    """The bytes of a home of *turns* turns and *files* files."""
    with tempfile.TemporaryDirectory(prefix="familiar-index-cost-") as folder:
        root = Path(folder) / large_home.FAMILIAR
        large_home.fill_home_in_child(root, turns=turns, files=files)
        return {"turns": turns, "files": files, "size": weigh(root)}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--weigh", nargs=2, type=int)
    given, others = parser.parse_known_args(arguments)
    if given.weigh:
        found = weigh_only(*given.weigh)
        return print_part("index cost", found, size_rows(found), as_json=parse_arguments(others, __doc__).json)
    return run_part(arguments, title="index cost", description=__doc__, measure=measure, rows=rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
