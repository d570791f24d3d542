"""How much memory the index of a home takes above the bare embedder.

    python -m benchmarks.index_memory [--quick] [--json]

In a process of its own, which has loaded the embedder and used it: what it holds by then, and what more it holds once
the index is loaded and questions were asked. Only memory that is this process's alone counts, where the system tells it
apart.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import large_home
from benchmarks.fixtures import CHANNEL_ID
from benchmarks.table import Row, run_part
from familiar_connect.config.folders import index_folder
from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.index.embeddings import INDEX_FILE, EmbeddingIndex
from familiar_connect.memory.index.hashing import HashingModel
from familiar_connect.memory.index.minilm import MiniLMModel, why_unavailable
from familiar_connect.memory.index.protocols import EmbeddingModel, RecallScope
from familiar_connect.memory.index.retriever import MemoryRetriever
from familiar_connect.memory.index.turns import TURNS_FILE, TurnIndex
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.visible_memory import VisibleMemory
from familiar_connect.support.clock import ManualClock

SIZE, QUICK_SIZE = (100_000, 10_000), (2_000, 500)
"""Turns and files."""
MOST_MB = 150.0
ASKED_FOR = 120
"""Recollections of one question, as `content_search` asks for them."""
WARM_UP = 8
"""Texts the embedder has worked, and questions that were asked, before anything is measured."""
_ROLLUP = Path("/proc/self/smaps_rollup")


def measure(*, quick: bool = False) -> dict[str, Any]:
    """Megabytes of the index of a home that is made for this."""
    turns, files = QUICK_SIZE if quick else SIZE
    with tempfile.TemporaryDirectory(prefix="familiar-index-memory-") as folder:
        root = Path(folder) / large_home.FAMILIAR
        large_home.fill_home_in_child(root, turns=turns, files=files)
        return measure_in_child(root) | {"turns": turns, "files": files}


def measure_in_child(root: Path) -> dict[str, Any]:
    """Megabytes of the index of the home in *root*, as a fresh process has them that does nothing else."""
    places = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.index_memory", "--home", str(root)],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": places},
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found | {"ok": found["index_mb"] <= MOST_MB}


def measure_here(root: Path) -> dict[str, float]:
    """What this process holds with the embedder alone, and what more with the index of *root*."""
    model: EmbeddingModel = HashingModel() if why_unavailable() else MiniLMModel()
    model.embed(["ready"] * WARM_UP)
    bare = held_mb()
    with open_retriever(root, model) as retriever:
        retriever.warm()
        loaded = held_mb()
        parts = PartAudiences(MemoryStore(root / "memory", audit_dir=root / "audit"))
        for question in large_home.questions(WARM_UP):
            retriever.recall_now(question, limit=ASKED_FOR, scope=scope_of(parts))
        asked = held_mb()
    return {"bare_mb": round(bare, 1), "loaded_mb": round(loaded - bare, 1), "index_mb": round(asked - bare, 1)}


@contextlib.contextmanager
def open_retriever(root: Path, model: EmbeddingModel) -> Iterator[MemoryRetriever]:
    """The product's own retriever over a home that `large_home` filled."""
    with contextlib.ExitStack() as closing:
        store = MemoryStore(root / "memory", audit_dir=root / "audit")
        history = closing.enter_context(contextlib.closing(HistoryStore(root / "history.db")))
        known: dict[str, Any] = {"dim": model.dim, "model_name": large_home.WordTableModel.name}
        folder = index_folder(store.root)
        index = closing.enter_context(EmbeddingIndex(folder / INDEX_FILE, **known))
        said = closing.enter_context(
            contextlib.closing(
                TurnIndex(folder / TURNS_FILE, history=history, familiar_id=large_home.FAMILIAR, **known)
            )
        )
        said.sync(None)
        yield MemoryRetriever(model=model, files=index, turns=said, clock=ManualClock(large_home.END))


def scope_of(parts: PartAudiences) -> RecallScope:
    """All may be told here."""
    memory = VisibleMemory(parts, lambda _: True)
    return RecallScope(
        channel_id=CHANNEL_ID,
        audience_of_turn=lambda turn: turn.audience,
        audiences_of_passage=memory.audiences_of_passage,
    )


def held_mb() -> float:
    """Memory that is this process's alone, in megabytes; all it holds where the system cannot tell; else 0."""
    gc.collect()
    with contextlib.suppress(OSError, ValueError, IndexError):
        lines = (line.split() for line in _ROLLUP.read_text(encoding="utf-8").splitlines()[1:])
        return sum(int(words[1]) for words in lines if words[0].startswith("Private_")) * 1024 / 1e6
    with contextlib.suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return 0.0


def rows(found: dict[str, Any]) -> list[Row]:
    return [
        Row(
            name=f"memory of the index of {found['turns']:,} turns and {found['files']:,} files above the bare "
            "embedder's, after questions",
            value=f"{found['index_mb']:.0f} MB (loaded {found['loaded_mb']:.0f}; the embedder {found['bare_mb']:.0f})",
            bar=f"≤ {MOST_MB:g} MB",
            ok=found["ok"],
        )
    ]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--home", type=Path)
    known, others = parser.parse_known_args(arguments)
    if known.home is not None:
        print(json.dumps(measure_here(known.home)))
        return 0
    return run_part(others, title="index memory", description=__doc__, measure=measure, rows=rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
