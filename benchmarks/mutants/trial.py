"""One area tried: its faults, drawn by a seed, each planted alone and shown to the tests of the area."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.mutants.areas import Area
from benchmarks.mutants.faults import Fault, find_faults
from benchmarks.mutants.loop import (
    GRACE_S,
    PATIENCE,
    Outcome,
    Reach,
    TestLoop,
    choose_tests,
    fork,
    note_reach,
    outcome_of,
    read_reach,
    tell,
    try_fault,
)
from benchmarks.mutants.planting import loaded_functions, plant_before_import

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src"
LONGEST_AREA_S = 6 * 3600.0
COLD_START_S = 60.0


def faults_of(area: Area) -> list[Fault]:
    """Every fault that can be planted in the modules of *area*."""
    found: list[Fault] = []
    for module in area.modules:
        file = SOURCE / "familiar_connect" / f"{module}.py"
        if file.exists():
            name = f"familiar_connect.{module.replace('/', '.')}"
            found += find_faults(file.read_text(encoding="utf-8"), name, str(file.relative_to(ROOT)))
    return found


def draw(faults: Sequence[Fault], *, count: int, seed: int, part: tuple[int, int] = (1, 1)) -> list[Fault]:
    """*count* of *faults* (0: all) by *seed*, in the order of the source; of these, one part of so many."""
    drawn = range(len(faults))
    chosen = sorted(random.Random(seed).sample(drawn, count)) if 0 < count < len(faults) else list(drawn)
    return [faults[number] for number in chosen[part[0] - 1 :: part[1]]]


def try_area(
    faults: Sequence[Fault], tests: Sequence[str], tell_each: Callable[[Fault, Outcome], None]
) -> list[tuple[Fault, Outcome]]:
    """Plant each of *faults* alone and run *tests*; what became of each, in their order."""
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    try:
        outcomes = _try_loaded(faults, tests, folder, tell_each)
        reaches = read_reach(folder / "reach.json")
        for number, fault in enumerate(faults):
            if number not in outcomes:
                outcomes[number] = _try_cold(fault, reaches, folder)
                tell_each(fault, outcomes[number])
        return [(fault, outcomes[number]) for number, fault in enumerate(faults)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _try_loaded(
    faults: Sequence[Fault], tests: Sequence[str], folder: Path, tell_each: Callable[[Fault, Outcome], None]
) -> dict[int, Outcome]:
    """Try all that can be planted in a program that is loaded, in forks of one process that has the tests collected."""
    files = {fault.file: str(ROOT / fault.file) for fault in faults}
    sources = {file: Path(full).read_text(encoding="utf-8") for file, full in files.items()}
    reader, writer = os.pipe()

    def loop_over(session: pytest.Session, loop: TestLoop) -> None:
        note_reach(session, loop, set(files.values()), folder / "reach.json")
        reaches = read_reach(folder / "reach.json")
        functions = loaded_functions(list(files.values()))
        with os.fdopen(writer, "w", encoding="utf-8") as pipe:
            for number, fault in enumerate(faults):
                outcome = (
                    Outcome("unreached")
                    if fault.at_import and not choose_tests(fault, files[fault.file], reaches)
                    else None
                    if fault.at_import
                    else try_fault(
                        fault,
                        source=sources[fault.file],
                        file=files[fault.file],
                        session=session,
                        loop=loop,
                        functions=functions,
                        reaches=reaches,
                        note=folder / "note.json",
                    )
                )
                if outcome is not None:
                    pipe.write(json.dumps([number, asdict(outcome)]) + "\n")
                    pipe.flush()
        os._exit(0)

    child = os.fork()
    if child == 0:
        os.close(reader)
        _run_pytest(tests, loop_over, folder)
        os._exit(1)
    os.close(writer)
    outcomes: dict[int, Outcome] = {}
    with os.fdopen(reader, encoding="utf-8") as pipe:
        for line in pipe:
            number, found = json.loads(line)
            outcomes[number] = Outcome(**found)
            tell_each(faults[number], outcomes[number])
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise RuntimeError(f"the tests could not be collected or run:\n{(folder / 'log').read_text(errors='replace')}")
    return outcomes


def _try_cold(fault: Fault, reaches: dict[str, Reach], folder: Path) -> Outcome:
    """Try a fault that takes effect when its module is imported: in a process that has not imported it."""
    file = str(ROOT / fault.file)
    names = choose_tests(fault, file, reaches)
    note = folder / "note.json"

    def loop_over(session: pytest.Session, loop: TestLoop) -> None:
        by_name = {item.nodeid: item for item in session.items}
        os._exit(tell(note, *loop.run_items([by_name[name] for name in names if name in by_name])))

    def work() -> int:
        plant_before_import(Path(file).read_text(encoding="utf-8"), file, fault)
        _run_pytest(sorted({name.partition("::")[0] for name in names}), loop_over, folder)
        return tell(note, "(cannot be imported)", 0)

    note.unlink(missing_ok=True)
    started = time.monotonic()
    code = fork(work, COLD_START_S + GRACE_S + PATIENCE * sum(reaches[name].seconds for name in names))
    return outcome_of(code, note, time.monotonic() - started)


def _run_pytest(tests: Sequence[str], run: Callable[[pytest.Session, TestLoop], None], folder: Path) -> None:
    """Collect *tests* and hand them to *run*; what pytest prints goes into a log."""
    sys.stdout.flush()
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(ROOT)
    os.environ["CI"] = "1"
    options = ["-p", "no:cacheprovider", "-n", "0", "-q", "--tb=short", "--assert=plain"]
    pytest.main([*options, f"--basetemp={folder / 'tests'}", *tests], plugins=[TestLoop(run)])
