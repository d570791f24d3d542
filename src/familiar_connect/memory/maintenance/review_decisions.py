"""Review decisions: what the owner decided about each proposal, in `reviews.jsonl` beside the audit.

Only ever added to, but for the oldest half when it grows large and the lines of a person who is forgotten.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from familiar_connect.support.clock import Clock
from familiar_connect.support.files import atomic_write, write_all
from familiar_connect.support.no_follow import LinkRefused, load_bytes, make_folder, open_file

FILE_NAME = "reviews.jsonl"
MAX_BYTES = 1024 * 1024
MAX_REASON_CHARS = 1000


class Decisions:
    """The record in *folder*; without a folder nothing is kept."""

    def __init__(self, folder: Path | None, clock: Clock) -> None:
        self._path = folder / FILE_NAME if folder is not None else None
        self._clock = clock

    def note(self, run_id: str, decision: str, files: Iterable[str], reason: str) -> None:
        """Add one; on disk when this returns."""
        if self._path is None:
            return
        facts = {
            "time": self._clock.now().isoformat(),
            "run": run_id,
            "decision": decision,
            "files": list(files),
            "reason": reason[:MAX_REASON_CHARS],
        }
        make_folder(self._path.parent)
        if self._path.exists() and self._path.stat().st_size > MAX_BYTES:
            atomic_write(self._path, load_bytes(self._path)[-MAX_BYTES // 2 :].partition(b"\n")[2])
        fd = open_file(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            write_all(fd, json.dumps(facts, ensure_ascii=False).encode() + b"\n")
            os.fsync(fd)
        finally:
            os.close(fd)

    def all(self) -> list[dict[str, Any]]:
        """Every decision on record, oldest first; damaged lines are passed over."""
        return list(self._lines())

    def run_ids(self) -> set[str]:
        """Runs something was decided about."""
        return {str(line.get("run")) for line in self._lines()}

    def erase(self, speaks_of: Callable[[dict[str, Any]], bool]) -> int:
        """Drop the lines *speaks_of* holds for; how many there were."""
        lines = self.all()
        left = [line for line in lines if not speaks_of(line)]
        if self._path is not None and len(left) < len(lines):
            atomic_write(self._path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in left))
        return len(lines) - len(left)

    def _lines(self) -> Iterator[dict[str, Any]]:
        try:
            text = load_bytes(self._path).decode("utf-8", "replace") if self._path is not None else ""
        except LinkRefused:
            raise
        except OSError:
            return
        for raw in text.splitlines():
            try:
                line = json.loads(raw)
            except ValueError:
                continue
            if isinstance(line, dict):
                yield line
