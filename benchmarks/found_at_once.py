"""How soon a file is found that its owner edits, adds, renames or deletes while the program runs.

A familiar on disk with its own index and worker; files change by hand, and a search is asked until it tells. The same
while the program writes files itself without a pause. Beside it stands what looking costs when nothing happens. Run
`python -m benchmarks.found_at_once`; `--quick` for a short form, `--json` for a script.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.fixtures import load_familiar, scripted_clients, without_warnings, write_character
from benchmarks.table import Row, run_part, spread
from familiar_connect.familiar import Familiar
from familiar_connect.memory.index.folder_listing import FolderListing, FolderSnapshot
from familiar_connect.memory.index.indexing_store import SCAN_S
from familiar_connect.support.aio import off_loop

FILES, QUICK_FILES = (10, 10_000), (200,)
FOUND_WITHIN_S = 2.0
MOST_LOOKING = 0.10
"""Of one processor, for looking at the folder."""
PATIENCE_S = 900.0
_EMBEDDER = '[providers.content_search]\nembedder = "hashing"\n'


def measure(*, quick: bool = False) -> dict[str, Any]:
    """Seconds until found or gone, quiet and while the program writes, and what looking costs."""
    found: dict[str, Any] = {"sizes": {}}
    with without_warnings("familiar_connect"):
        for files in QUICK_FILES if quick else FILES:
            found["sizes"][files] = asyncio.run(_measure_home(files, rounds=1 if quick else 5))
    return found


async def _measure_home(files: int, *, rounds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="familiar-found-") as folder:
        root = Path(folder) / "wren"
        write_character(root, {"name": "Wren\n"}, _EMBEDDER)
        fill(root / "memory", files)
        familiar = load_familiar(root, scripted_clients(lambda _: "", lambda _: ""))
        await familiar.start()
        try:
            await familiar.index.wait_until_loaded()
            await _until(lambda: _is_found(familiar, "beacon zero"))
            quiet = [seconds for number in range(rounds) for seconds in await _change_by_hand(familiar, root, number)]
            writing = asyncio.create_task(_keep_writing(familiar))
            busy = [seconds for n in range(rounds) for seconds in await _change_by_hand(familiar, root, rounds + n)]
            writing.cancel()
            await asyncio.wait({writing})
        finally:
            await familiar.aclose()
        look = await off_loop(_looking_s, root / "memory")
    return {"quiet_s": spread(quiet), "writing_s": spread(busy), "look_s": look, "share": look / (SCAN_S + look)}


def fill(memory: Path, files: int) -> None:
    """*files* notes in folders of a hundred; the last by path is the one that is asked for."""
    for number in range(files - 1):
        folder = memory / "topics" / f"t{number // 100:03d}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"n{number}.md").write_text(f"# Note {number}\n\nLamp number {number} was lit.\n", encoding="utf-8")
    (memory / "zz.md").write_text("# Zero\n\nThe beacon zero stands on the rock.\n", encoding="utf-8")


async def _change_by_hand(familiar: Familiar, root: Path, number: int) -> list[float]:
    """Seconds until a file that is added, edited, renamed and deleted is found, found anew, found there, and gone."""
    path, renamed = root / "memory" / "lore" / f"a{number}.md", root / "memory" / "lore" / f"b{number}.md"
    path.parent.mkdir(exist_ok=True)
    first, second = f"quillon{number}", f"sabreton{number}"
    took = []
    for change, told in (
        (lambda: path.write_text(f"The {first} is blue.\n", encoding="utf-8"), lambda: _is_found(familiar, first)),
        (lambda: path.write_text(f"The {second} is red.\n", encoding="utf-8"), lambda: _is_found(familiar, second)),
        (lambda: path.rename(renamed), lambda: _is_found(familiar, second, at=renamed.name)),
        (renamed.unlink, lambda: _is_gone(familiar, second)),
    ):
        began = time.perf_counter()
        change()
        await _until(told)
        took.append(time.perf_counter() - began)
    return took


async def _is_found(familiar: Familiar, words: str, at: str = "") -> bool:
    hits = await familiar.index.recall(words, limit=5)
    return any(words in hit.text and (hit.rel_path or "").endswith(at) for hit in hits)


async def _is_gone(familiar: Familiar, words: str) -> bool:
    return not await _is_found(familiar, words)


async def _until(holds: Callable[[], Any]) -> None:
    ends = time.monotonic() + PATIENCE_S
    while not await holds():
        if time.monotonic() > ends:
            raise TimeoutError("a file was never found")
        await asyncio.sleep(0.02)


async def _keep_writing(familiar: Familiar) -> None:
    number = 0
    while True:
        number += 1
        await off_loop(
            familiar.memory_store.write_file, f"sessions/s{number % 500}.md", f"Talk {number}.\n", source="benchmark"
        )


def _looking_s(memory: Path) -> float:
    """Processor seconds of one look where nothing changed."""
    snapshot = FolderSnapshot(FolderListing(memory))
    snapshot.take()
    began = time.thread_time()
    for _ in range(5):
        snapshot.find_changes()
    return (time.thread_time() - began) / 5


def rows(found: dict[str, Any]) -> list[Row]:
    result = []
    for files, told in found["sizes"].items():
        for name, key in (("", "quiet_s"), (", while the program writes without a pause", "writing_s")):
            took = told[key]
            result.append(
                Row(
                    name=f"a file edited, added, renamed or deleted is found or gone, {files:,} files{name}",
                    value=f"{took['worst']:.2f} s at worst (p50 {took['p50']:.2f} of {took['count']} changes)",
                    bar=f"≤ {FOUND_WITHIN_S:g} s",
                    ok=took["worst"] <= FOUND_WITHIN_S,
                )
            )
        result.append(
            Row(
                name=f"looking for them costs, {files:,} files",
                value=f"{told['share']:.1%} of one processor ({told['look_s'] * 1000:.1f} ms a look)",
                bar=f"≤ {MOST_LOOKING:.0%}",
                ok=told["share"] <= MOST_LOOKING,
            )
        )
    return result


def main(arguments: Sequence[str]) -> int:
    return run_part(arguments, title="found at once", description=__doc__, measure=measure, rows=rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
