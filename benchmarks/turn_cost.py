"""What keeping a turn costs: bytes of `metrics.db`, flushes to disk of what is only looked at, and processor time.

Whole turns through a familiar on disk, from a message heard to everything kept. Run `python -m benchmarks.turn_cost`;
`--quick` for a short form, `--json` for a script.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.conversation_script import CHARACTER, conversation, summary
from benchmarks.fixtures import QuietPlace, load_familiar, say, scripted_clients, without_warnings, write_character
from benchmarks.table import Row, run_part
from familiar_connect.reply.turn_recorder import TurnRecorder

TURNS, QUICK_TURNS = 200, 40
MOST_BYTES = 2_048
MOST_SHARE = 0.44
"""Of a turn's processor time, for keeping it to be looked at; so much it was when it was first measured."""


def measure(*, quick: bool = False) -> dict[str, Any]:
    """Bytes, flushes and seconds for each turn."""
    with without_warnings("familiar_connect"):
        return asyncio.run(_measure(QUICK_TURNS if quick else TURNS))


async def _measure(turns: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="familiar-turn-cost-") as folder:
        root = Path(folder) / "wren"
        write_character(root, CHARACTER)
        script = list(conversation(turns))
        told = iter(said.reply for said in script)
        familiar = load_familiar(root, scripted_clients(lambda _: next(told), lambda _: summary(1)))
        place = QuietPlace()
        try:
            with _observed() as seen:
                began = time.process_time()
                for said in script:
                    await say(familiar, place, said.author, said.text, datetime.now(UTC))
                await familiar.reply_path.recorder.wait_until_idle()
                spent = time.process_time() - began
        finally:
            await familiar.aclose()
        size = (root / "metrics.db").stat().st_size
    assert not place.notices, place.notices
    return {
        "turns": turns,
        "bytes_per_turn": size / turns,
        "file_flushes_per_turn": seen["flushes"] / turns,
        "turn_ms": spent * 1000 / turns,
        "keeping_ms": seen["seconds"] * 1000 / turns,
        "share": seen["seconds"] / spent,
    }


@contextmanager
def _observed() -> Iterator[dict[str, float]]:
    """Counts files that are flushed, and the processor seconds of whoever keeps turns to be looked at."""
    seen = {"flushes": 0.0, "seconds": 0.0}
    flush, keep = os.fsync, TurnRecorder._keep

    def counted(fd: int) -> None:
        seen["flushes"] += 1
        flush(fd)

    def timed(self: TurnRecorder, *of_turn: Any) -> None:
        began = time.thread_time()
        keep(self, *of_turn)
        seen["seconds"] += time.thread_time() - began

    with patch.object(os, "fsync", counted), patch.object(TurnRecorder, "_keep", timed):
        yield seen


def rows(found: dict[str, Any]) -> list[Row]:
    return [
        Row(
            name=f"metrics.db, bytes a turn, {found['turns']} turns",
            value=f"{found['bytes_per_turn']:,.0f}",
            bar=f"< {MOST_BYTES:,}",
            ok=found["bytes_per_turn"] < MOST_BYTES,
        ),
        Row(
            name="files flushed to disk for each turn, besides the history",
            value=f"{found['file_flushes_per_turn']:.2f}",
            bar="< 0.5",
            ok=found["file_flushes_per_turn"] < 0.5,
        ),
        Row(
            name="keeping a turn to be looked at, share of its processor time",
            value=f"{found['share']:.0%} ({found['keeping_ms']:.1f} of {found['turn_ms']:.1f} ms), behind the reply",
            bar=f"< {MOST_SHARE:.0%}",
            ok=found["share"] < MOST_SHARE,
        ),
    ]


def main(arguments: Sequence[str]) -> int:
    return run_part(arguments, title="turn cost", description=__doc__, measure=measure, rows=rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
