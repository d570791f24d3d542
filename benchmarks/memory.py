"""What keeping memory costs and survives: versions on disk, reading them, the writer's prompt, faults, forgeries.

Run `python -m benchmarks.memory [--quick] [--json]`. The crash matrix and the adversarial answers are those of
`benchmarks.writer_crash` and `benchmarks.writer_adversary`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks import writer_adversary, writer_crash
from benchmarks.table import parse_arguments
from familiar_connect.history.store import HistoryStore
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.writer import MemoryWriter

VERSIONS, FILES, FILE_BYTES = 10_000, 50, 2_048
MOST_SPACE = 2.0
MOST_MS = 50.0
MOST_PROMPT_GROWTH = 1.1
READ_ROUNDS = 9
"""Fresh processes per reading; the best counts, so that a busy machine does not."""
ADVERSARIES = 200
SOURCE = Path(__file__).resolve().parent.parent / "src"

_START = datetime(2026, 1, 1, 18, tzinfo=UTC)
_INSERT = (
    "INSERT INTO turns (familiar_id, channel_id, role, author_platform, author_user_id, author_username,"
    " author_display_name, content, timestamp) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_READ = """
import sys, time
from pathlib import Path
from familiar_connect.memory.audit import AuditLog
from familiar_connect.memory.versioning.versions import Versions
began = time.perf_counter()
versions = Versions(AuditLog(Path(sys.argv[1])))
if sys.argv[2] == "show":
    assert versions.show("people/discord-0.md", int(sys.argv[3]))
else:
    wanted = "people/discord-0.md" if sys.argv[2] == "log of a file" else None
    assert [versions.change_of(version) for version in versions.log(wanted, last=50)]
print((time.perf_counter() - began) * 1000)
"""


def measure(*, quick: bool = False) -> dict[str, Any]:
    """Every number, with its bar and whether it is met."""
    logging.getLogger("familiar_connect").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="familiar-memory-") as folder:
        versions = _versions(Path(folder), VERSIONS // 10 if quick else VERSIONS)
    with tempfile.TemporaryDirectory(prefix="familiar-prompt-") as folder:
        prompt = _prompt(Path(folder), (500, 10_000 if quick else 100_000))
    found = {"versions": versions, "prompt": prompt, "adversaries": _adversaries(30 if quick else ADVERSARIES)}
    return {**found, "crashes": _crashes()}


def _versions(folder: Path, count: int) -> dict[str, Any]:
    """*count* versions of files of two kilobytes, each with one line changed, through the store."""
    store = MemoryStore(folder / "memory", audit_dir=folder / "audit")
    assert store.audit is not None
    compressed = 0
    began = time.perf_counter()
    for number, (path, text) in enumerate(_texts(count)):
        compressed += len(zlib.compress(text.encode(), 9))
        store.write_file(path, text, source="memory_writer", run_id=f"r{number}", turn_range=(number, number + 50))
    seconds = time.perf_counter() - began
    open_bytes = _on_disk(folder / "audit")
    store.audit.close()
    share = _on_disk(folder / "audit") / compressed
    reads = {
        what: min(_read(folder / "audit", what, count // FILES) for _ in range(READ_ROUNDS))
        for what in ("log", "log of a file", "show")
    }
    return {
        "versions": count,
        "compressed_bytes": compressed,
        "space": share,
        "space_while_open": open_bytes / compressed,
        "write_ms": seconds / count * 1000,
        "reads_ms": reads,
        "ok": share < MOST_SPACE and open_bytes / compressed < MOST_SPACE and max(reads.values()) < MOST_MS,
    }


def _texts(count: int) -> list[tuple[str, str]]:
    rng = random.Random(1)
    words = ["".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(2, 9))) for _ in range(3_000)]

    def line() -> str:
        return "- " + " ".join(rng.choice(words) for _ in range(12)) + "\n"

    files = [[line() for _ in range(FILE_BYTES // 78)] for _ in range(FILES)]
    found = []
    for number in range(count):
        lines = files[number % FILES]
        lines[rng.randrange(len(lines))] = line()
        found.append((f"people/discord-{number % FILES}.md", "".join(lines)))
    return found


def _on_disk(folder: Path) -> int:
    """Bytes of whole blocks, as the disk counts them."""
    facts = [path.stat() for path in folder.rglob("*") if path.is_file()]
    return sum(each.st_blocks * 512 if hasattr(each, "st_blocks") else each.st_size for each in facts)


def _read(audit: Path, what: str, version: int) -> float:
    """Milliseconds of one reading in a fresh process, without the start of the interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(audit), what, str(version)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def _prompt(folder: Path, sizes: Sequence[int]) -> dict[str, Any]:
    """How long the writer's prompt is on a short and on a long history, all of it still to be written up."""
    chars = {size: _prompt_chars(folder / str(size), size) for size in sizes}
    growth = chars[max(sizes)] / chars[min(sizes)]
    return {"chars": chars, "growth": growth, "ok": growth <= MOST_PROMPT_GROWTH}


def _prompt_chars(folder: Path, turns: int) -> int:
    store = MemoryStore(folder / "memory", audit_dir=folder / "audit")
    for number in range(40):
        store.write_file(f"people/discord-{number}.md", f"# Person {number}\n\n" + "- They like lamps.\n" * 200)
        store.write_file(f"topics/topic-{number}.md", f"# Topic {number}\n\n" + "- A lamp was lit.\n" * 200)
    history = HistoryStore(folder / "history.db")
    with history.database.transaction() as connection:
        connection.executemany(_INSERT, (_turn(number) for number in range(turns)))
    model = ScriptedModel(["Nothing to say."])
    writer = MemoryWriter(memory_store=store, history_store=history, llm_client=model, familiar_id="wren")
    asyncio.run(writer.run())
    history.close()
    return sum(len(message.content) for message in model.calls[0])


def _turn(number: int) -> tuple[Any, ...]:
    who = f"{number % 40}"
    said = "I told you about topic " + " ".join(f"lamp{(number * 7 + word) % 50}" for word in range(20))
    when = (_START + timedelta(seconds=number)).isoformat()
    return ("wren", 1, "user", "discord", who, f"user{who}", f"Person {who}", said, when)


def _adversaries(count: int) -> dict[str, Any]:
    tally = writer_adversary.measure(count)
    return {**tally, "ok": tally["answers"] >= count and not (tally["outside"] or tally["lost"] or tally["lines"])}


def _crashes() -> dict[str, Any]:
    verdicts = writer_crash.measure()["verdicts"]
    wrong = {place: why for place, why in verdicts.items() if why}
    return {"table": verdicts, "consistent": 1 - len(wrong) / len(verdicts), "ok": not wrong}


def table(found: dict[str, Any]) -> str:
    """The measurements as Markdown."""
    versions, prompt = found["versions"], found["prompt"]
    short, long = prompt["chars"]
    count, size = versions["versions"], f"{versions['compressed_bytes'] / 1e6:.1f} MB"
    foes = found["adversaries"]
    rows: list[tuple[str, str, str]] = [
        (f"{count:,} versions on disk ÷ compressed ({size})", f"{versions['space']:.2f}", f"< {MOST_SPACE}"),
        ("the same while they are being written", f"{versions['space_while_open']:.2f}", f"< {MOST_SPACE}"),
        ("one write, ms", f"{versions['write_ms']:.1f}", ""),
        *((f"{what}, ms", f"{ms:.1f}", f"< {MOST_MS:g}") for what, ms in versions["reads_ms"].items()),
        (f"writer's prompt at {long:,} turns ÷ at {short:,}", f"{prompt['growth']:.3f}", f"≤ {MOST_PROMPT_GROWTH}"),
        (f"writes outside the allow-list in {foes['answers']} adversarial answers", str(foes["outside"]), "0"),
        ("texts lost without a version in those", str(foes["lost"]), "0"),
        ("consistent after a fault", f"{found['crashes']['consistent']:.0%}", "100 %"),
    ]
    lines = ["| memory | measured | bar |", "|---|---:|---|", *(f"| {' | '.join(row)} |" for row in rows), ""]
    verdicts = found["crashes"]["table"]
    faults = list(dict.fromkeys(place.rpartition("|")[2] for place in verdicts))
    lines += [f"| step | {' | '.join(faults)} |", "|---|" + "---|" * len(faults)]
    for step in dict.fromkeys(place.rpartition("|")[0] for place in verdicts):
        cells = [verdicts[f"{step}|{fault}"] or "consistent" for fault in faults]
        lines.append(f"| {step} | {' | '.join(cells)} |")
    met = all(part["ok"] for part in found.values())
    return "\n".join([*lines, "", "Every bar is met." if met else "A bar is NOT met."])


def main(arguments: Sequence[str]) -> int:
    options = parse_arguments(arguments, __doc__)
    found = measure(quick=options.quick)
    print(json.dumps(found, indent=2) if options.json else table(found))
    return 0 if all(part["ok"] for part in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
