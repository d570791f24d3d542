"""The memory writer's crash matrix: every step of a pass × (kill -9, full disk), and what the next start makes of it.

For each step a real child process runs a pass and meets its fault right there: it is killed, or from then
on the system lets no file grow any more. Then the pass is taken up again, as the next start would, and must
leave exactly what a pass without faults leaves: the same files, byte for byte, the watermark behind the last
turn, no turn written twice, nothing half, nothing left to do. With `--deep` the fault also strikes at every
single file operation of the pass, between the steps.

Run `python -m benchmarks.writer_crash [--deep] [--json]`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import familiar_connect
from familiar_connect.audience import EVERYONE
from familiar_connect.errors import FamiliarError
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.types import OWNER
from familiar_connect.memory.writer import MemoryWriter, WriterOptions
from familiar_connect.support.clock import ManualClock

FAULTS = ("kill", "full")
FAMILIAR = "wren"
NOON = datetime(2026, 4, 7, 12, 30, tzinfo=UTC)
ALICE = Author(platform="discord", user_id="1", username="alice_w", display_name="Alice")
BOB = Author(platform="discord", user_id="2", username=None, display_name="Bob")
HAND_WRITTEN = "# Alice\n\nMy oldest friend; written by hand.\n\n## Aliases\n- Lys\n"
SAID = ((ALICE, "I moved to Lyon last week."), (BOB, "I bought an old piano."), (ALICE, "We play ska on Fridays."))
ANSWER = """\
===SESSION_SUMMARY===
Alice told me about Lyon, Bob about his piano.
===END_SESSION_SUMMARY===
===PEOPLE===
---FILE: discord-1.md---
# Alice

My oldest friend; written by hand. She moved to Lyon last week.
---END_FILE---
---FILE: discord-2.md---
# Bob
- Bought an old piano.
---END_FILE---
===END_PEOPLE===
===TOPICS===
---FILE: ska.md---
They play ska on Fridays.
---END_FILE---
===END_TOPICS===
"""
RunChild = Callable[[Path, str, str], "subprocess.CompletedProcess[str]"]
_OPERATIONS = ("open", "write", "fsync", "replace", "unlink", "mkdir")


def prepare(folder: Path) -> None:
    """A familiar with a note by hand and three turns nobody has written up."""
    memory, history = _stores(folder)
    path = memory.root / "people" / "discord-1.md"
    path.parent.mkdir(parents=True)
    path.write_text(HAND_WRITTEN, encoding="utf-8")
    for minute, (who, words) in enumerate(SAID):
        history.append_turn(
            familiar_id=FAMILIAR,
            channel_id=7,
            role="user",
            content=words,
            author=who,
            timestamp=NOON + timedelta(minutes=minute),
            audience=EVERYONE,
        )
    history.close()


def run_pass(folder: Path, step: Callable[[str], None] = lambda _: None) -> int:
    """One pass; how often it asked the model."""
    memory, history = _stores(folder)
    model = ScriptedModel([ANSWER])
    writer = MemoryWriter(
        memory_store=memory,
        history_store=history,
        llm_client=model,
        familiar_id=FAMILIAR,
        clock=ManualClock(NOON + timedelta(hours=1)),
        options=WriterOptions(step=step),
    )
    try:
        asyncio.run(writer.run())
    finally:
        history.close()
    return len(model.calls)


def _stores(folder: Path) -> tuple[MemoryStore, HistoryStore]:
    clock = ManualClock(NOON)
    memory = MemoryStore(folder / "memory", audit_dir=folder / "audit", clock=clock)
    return memory, HistoryStore(folder / "history.db", clock=clock)


def steps_of_a_pass() -> list[str]:
    """The names of the steps, in order."""
    steps: list[str] = []
    with tempfile.TemporaryDirectory(prefix="familiar-crash-") as folder:
        prepare(Path(folder))
        run_pass(Path(folder), steps.append)
    return steps


def expected_memory() -> dict[str, str]:
    """The memory after a pass without faults."""
    with tempfile.TemporaryDirectory(prefix="familiar-crash-") as folder:
        prepare(Path(folder))
        run_pass(Path(folder))
        return texts(Path(folder))


def texts(folder: Path) -> dict[str, str]:
    """Every memory file and what it says; what interrupted writes left beside them is nobody's file."""
    root = folder / "memory"
    found = (path for path in sorted(root.rglob("*")) if path.is_file() and not path.name.startswith(".tmp-"))
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in found}


def verdict(step: str, fault: str, expected: dict[str, str], run_child: RunChild | None = None) -> str:
    """ "" when the next start brings everything in order, else what was wrong.

    *run_child* runs `run_pass_with_fault` in a process of its own; by default in one that is started for it.
    """
    with tempfile.TemporaryDirectory(prefix="familiar-crash-") as name:
        folder = Path(name)
        prepare(folder)
        child = (run_child or _child)(folder, step, fault)
        if fault == "kill" and child.returncode != -signal.SIGKILL:
            return f"the child was not killed but ended with {child.returncode}: {child.stderr[-300:]}"
        if fault == "full" and child.returncode != 0:
            return f"the child failed without a clear error: {child.stderr[-300:]}"
        return _wrong_before(folder, expected) or _wrong_after(folder, expected)


def _wrong_before(folder: Path, expected: dict[str, str]) -> str:
    """Each file is whole, old or new, and the watermark is not ahead of them."""
    found = texts(folder)
    half = [path for path, text in found.items() if text not in (expected.get(path), HAND_WRITTEN)]
    if half:
        return f"half or foreign files: {half}"
    if _watermark(folder) and found != expected:
        return "the watermark moved before the files were there"
    return ""


def _wrong_after(folder: Path, expected: dict[str, str]) -> str:
    run_pass(folder)
    if texts(folder) != expected:
        return "the files are not those of a pass without faults"
    if _watermark(folder) != len(SAID):
        return f"the watermark is at {_watermark(folder)}"
    if run_pass(folder) != 0:
        return "a turn was read twice"
    memory, history = _stores(folder)
    history.close()
    assert memory.audit is not None
    by_hand = [entry for entry in memory.audit.entries() if entry.source == OWNER]
    if [entry.rel_path for entry in by_hand] != ["people/discord-1.md"]:
        return "the audit takes a write of ours for the owner's"
    if (folder / "audit" / "writer-journal.json").exists():
        return "the journal was not cleared"
    return ""


def _watermark(folder: Path) -> int:
    _, history = _stores(folder)
    mark = history.get_writer_watermark(familiar_id=FAMILIAR)
    history.close()
    return mark.last_written_id if mark else 0


def _child(folder: Path, step: str, fault: str) -> subprocess.CompletedProcess[str]:
    roots = (Path(familiar_connect.__file__).parent.parent, Path(__file__).parent.parent)
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.writer_crash", "--child", str(folder), "--at", step, "--fault", fault],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, roots))},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def run_pass_with_fault(folder: Path, at: str, fault: str) -> None:
    """Run a pass that is struck at the step *at*, or at the file operation whose number it is."""
    strike = _kill if fault == "kill" else _fill_the_disk
    if at.isdigit():
        _strike_at_operation(int(at), strike)
    with suppress(FamiliarError):  # what a full disk leads to; anything else would be a traceback
        run_pass(folder, lambda step: strike() if step == at else None)


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _fill_the_disk() -> None:
    """From here on no file may grow: the system itself refuses, to SQLite as well."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def _strike_at_operation(number: int, strike: Callable[[], None]) -> None:
    count = 0

    def counted(operation: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count == number:
                strike()
            return operation(*args, **kwargs)

        return call

    for name in _OPERATIONS:
        setattr(os, name, counted(getattr(os, name)))


def operations_of_a_pass() -> int:
    """How many file operations a pass makes."""
    code = (
        "import os, sys, pathlib\nfrom benchmarks import writer_crash as w\ncount = 0\n"
        "folder = pathlib.Path(sys.argv[1])\nw.prepare(folder)\nw._strike_at_operation(-1, print)\n"
        "def counted(f):\n    def call(*a, **k):\n        global count\n        count += 1\n        return f(*a, **k)\n"
        "    return call\n"
        "for n in w._OPERATIONS: setattr(os, n, counted(getattr(os, n)))\nw.run_pass(folder)\nprint(count)\n"
    )
    roots = (Path(familiar_connect.__file__).parent.parent, Path(__file__).parent.parent)
    with tempfile.TemporaryDirectory(prefix="familiar-crash-") as folder:
        done = subprocess.run(
            [sys.executable, "-c", code, folder],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, roots))},
            capture_output=True,
            text=True,
            check=True,
        )
    return int(done.stdout)


def measure(*, deep: bool = False, workers: int = 2) -> dict[str, Any]:
    """For every step and fault: "" or what was wrong."""
    expected = expected_memory()
    places = steps_of_a_pass()
    if deep:
        places += [str(number) for number in range(1, operations_of_a_pass() + 1)]
    jobs = [(place, fault) for place in places for fault in FAULTS]
    with ThreadPoolExecutor(workers) as pool:
        verdicts = list(pool.map(lambda job: verdict(job[0], job[1], expected), jobs))
    return {
        "steps": places,
        "verdicts": {f"{place}|{fault}": v for (place, fault), v in zip(jobs, verdicts, strict=True)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="The memory writer's crash matrix.")
    parser.add_argument("--deep", action="store_true", help="strike at every file operation too")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--at", help=argparse.SUPPRESS)
    parser.add_argument("--fault", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        run_pass_with_fault(options.child, options.at, options.fault)
        return
    found = measure(deep=options.deep)
    wrong = {place: why for place, why in found["verdicts"].items() if why}
    total = len(found["verdicts"])
    share = (total - len(wrong)) / total
    if options.json:
        print(json.dumps({"faults": total, "consistent": share, "wrong": wrong}))
        return
    print(f"{'step':<28}{'kill -9':>12}{'disk full':>12}")
    for place in found["steps"]:
        cells = ("consistent" if not found["verdicts"][f"{place}|{fault}"] else "WRONG" for fault in FAULTS)
        shown = f"file operation {place}" if place.isdigit() else place
        print(f"{shown:<28}" + "".join(f"{cell:>12}" for cell in cells))
    print(f"\n{total - len(wrong)} of {total} consistent ({share:.0%})")
    for place, why in wrong.items():
        print(f"{place}: {why}")


if __name__ == "__main__":
    main()
