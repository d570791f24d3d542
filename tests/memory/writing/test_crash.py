"""Killed at any step, the writer leaves work that the next start finishes, once."""

from __future__ import annotations

import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.writer_crash import expected_memory, steps_of_a_pass, verdict
from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.writing.journal import Entry, Journal
from familiar_connect.memory.writing.plan import Plan
from tests.fakes.program import run_program
from tests.fakes.writer_setup import ALICE, CONVERSATION, WriterSetup, writer_answer

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")


PASS_WITH_FAULT = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from pathlib import Path
from benchmarks.writer_crash import run_pass_with_fault
run_pass_with_fault(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
"""


def run_forked(folder: Path, step: str, fault: str) -> subprocess.CompletedProcess[str]:
    """A real process, but one that need not load the program; by hand each is started for itself."""
    return run_program(folder, str(folder), step, fault, code=PASS_WITH_FAULT)


def test_a_kill_at_every_step_leaves_one_state() -> None:
    """A real process is killed at each; the next start leaves the very files of a pass without faults."""
    expected = expected_memory()
    steps = steps_of_a_pass()
    with ThreadPoolExecutor(2) as pool:
        wrong = [why for why in pool.map(lambda step: verdict(step, "kill", expected, run_forked), steps) if why]

    assert len(steps) >= 20
    assert wrong == []


@pytest.mark.crash
def test_a_full_disk_leaves_one_state() -> None:
    """Before the journal, between two files, and before the watermark."""
    expected = expected_memory()
    steps = ("journal: before", "file 2: before", "aliases rebuilt")

    assert [verdict(step, "full", expected, run_forked) for step in steps] == ["", "", ""]


async def test_a_pass_that_fails_half_way_is_taken_up_again(tmp_path: Path) -> None:
    """By the next pass of the same process, without asking the model again."""
    table = WriterSetup(tmp_path)
    table.say(*CONVERSATION)

    def fail(step: str) -> None:
        if step == "file 2: before":
            raise MemoryStoreError("the disk is full")

    with pytest.raises(MemoryStoreError):
        await table.scripted_writer(writer_answer("s", {"discord-1.md": "x"}), step=fail).run()
    half = (table.watermark, table.files())
    result = await table.scripted_writer().run()

    assert half == (0, ["sessions/2026-04-07-evening.md"])
    assert (result.state, result.turns_summarized, table.watermark) == ("written", 4, 4)
    assert "people/discord-1.md" in table.files()


async def test_the_same_without_an_audit(tmp_path: Path) -> None:
    """The journal then stands in a dot folder of the memory, and goes with it."""
    table = WriterSetup(tmp_path, audited=False)
    table.say(*CONVERSATION)

    def fail(step: str) -> None:
        if step == "file 2: before":
            raise MemoryStoreError("the disk is full")

    with pytest.raises(MemoryStoreError):
        await table.scripted_writer(writer_answer("s", {"discord-1.md": "x"}), step=fail).run()
    await table.scripted_writer().run()

    assert table.watermark == 4
    assert [entry.name for entry in table.memory.list_dir()] == ["people", "sessions"]


async def test_recovery_at_the_start_finishes_and_says_so(tmp_path: Path) -> None:
    """And has nothing to say when nothing was left."""
    table = WriterSetup(tmp_path)
    table.say(*CONVERSATION)

    def fail(step: str) -> None:
        if step == "watermark moved":
            raise MemoryStoreError("struck")

    with pytest.raises(MemoryStoreError):
        await table.scripted_writer(writer_answer("s"), step=fail).run()
    writer = table.scripted_writer()
    recovered = await writer.recover()

    assert recovered is not None
    assert recovered.watermark_id == 4
    assert await writer.recover() is None


async def test_an_edit_by_the_owner_before_recovery_stays(tmp_path: Path) -> None:
    """What is new is added beside it; what was finished is not touched again."""
    table = WriterSetup(tmp_path)
    table.say(*CONVERSATION)
    table.memory.write_file("people/discord-1.md", "# Alice\nOld.\n")

    def fail(step: str) -> None:
        if step == "file 1: written":
            raise MemoryStoreError("struck")

    with pytest.raises(MemoryStoreError):
        await table.scripted_writer(
            writer_answer("s", {"discord-1.md": "# Alice\nOld.\nMoved to Lyon."}), step=fail
        ).run()
    (table.memory.root / "people" / "discord-1.md").write_text("# Alice\nCorrected by hand.\n")
    await table.scripted_writer().run()
    text = table.read("people/discord-1.md")

    assert text.startswith("# Alice\nCorrected by hand.\n")
    assert "Moved to Lyon." in text


def test_a_damaged_journal_is_put_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Reported by name; the writer goes on."""
    journal = Journal(tmp_path)
    journal.path.write_text("{half")

    assert journal.read() is None
    assert (tmp_path / "writer-journal.damaged").exists()
    assert [record.message for record in caplog.records] == ["the writer's journal is damaged; it was put aside"]


def test_a_journal_keeps_a_plan_as_it_is(tmp_path: Path) -> None:
    """Written, read, cleared."""
    entry = Entry(plan=Plan(run_id="r", familiar_id="f", turn_range=(1, 2), created_at="now"), quarantine=True)
    journal = Journal(tmp_path / "deep")
    journal.write(entry)

    assert journal.read() == entry
    journal.clear()
    assert journal.read() is None


async def test_quarantine_is_finished_after_a_crash_too(tmp_path: Path) -> None:
    """The batch is put aside once, and the watermark passes it."""
    table = WriterSetup(tmp_path)
    table.say((ALICE, "hi"))

    def fail(step: str) -> None:
        if step == "file 2: before":
            raise MemoryStoreError("struck")

    for _ in range(2):
        await table.scripted_writer("nonsense").run()
    with pytest.raises(MemoryStoreError):
        await table.scripted_writer("nonsense", step=fail).run()
    result = await table.scripted_writer().run()

    assert (result.state, table.watermark) == ("quarantined", 1)
    assert len([path for path in table.files() if ".pending" in path]) == 2
