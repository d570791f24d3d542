"""Copies of what was said that lie in a familiar's folder and its home, and who keeps them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.memory.withdrawal.withdraw_turns import CopyKeeper
from familiar_connect.observe.last_context import LastContextCache
from familiar_connect.observe.ledger import SQLiteCollector
from familiar_connect.observe.replay_store import ReplayStore
from familiar_connect.support.files import atomic_write
from familiar_connect.support.no_follow import load_bytes

MAX_BYTES = 256 * 1024 * 1024
"""A larger backup is left alone."""


def copy_keepers(folder: FamiliarFolder, *, with_exports: bool = False) -> tuple[CopyKeeper, ...]:
    """Everything in the folder that keeps copies; what its owner exported belongs to the owner, unless it is erased."""
    exports = (LineFiles(folder.home.exports, ("*.jsonl", "*.txt")),) if with_exports else ()
    return (
        ReplayStore(folder.traces),
        LastContextCache(channels_root=folder.channels),
        SQLiteCollector(folder.metrics_db),
        MemoryBackups(folder.backups),
        *exports,
    )


class LineFiles:
    """Text files in *folder* of which single lines can go."""

    def __init__(self, folder: Path, patterns: Iterable[str]) -> None:
        self._folder = folder
        self._patterns = tuple(patterns)

    def forget_words(self, is_meant: Callable[[object], bool], *, since: datetime) -> int:
        """Take lines that *is_meant* out; how many files changed."""
        return sum(
            _clean_file(path, is_meant)
            for pattern in self._patterns
            for path in sorted(self._folder.glob(pattern))
            if path.is_file() and not path.is_symlink()
        )


class MemoryBackups:
    """Zips of memory, made before many files were changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def forget_words(self, is_meant: Callable[[object], bool], *, since: datetime) -> int:
        """Take lines that *is_meant* out of the files in every backup; how many backups changed."""
        return sum(_clean_zip(path, is_meant) for path in sorted(self._folder.glob("*.zip")) if not path.is_symlink())


def _clean_file(path: Path, is_meant: Callable[[object], bool]) -> bool:
    data = load_bytes(path)
    left = _without_lines(data, is_meant)
    if left != data:
        atomic_write(path, left, mode=0o600)
    return left != data


def _clean_zip(path: Path, is_meant: Callable[[object], bool]) -> bool:
    if path.stat().st_size > MAX_BYTES:
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(load_bytes(path))) as archive:
            files = {info.filename: archive.read(info) for info in archive.infolist() if info.file_size <= MAX_BYTES}
    except (zipfile.BadZipFile, OSError):
        return False
    cleaned = {name: _without_lines(data, is_meant) for name, data in files.items()}
    if cleaned == files:
        return False
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in cleaned.items():
            archive.writestr(name, data)
    atomic_write(path, made.getvalue(), mode=0o600)
    return True


def _without_lines(data: bytes, is_meant: Callable[[object], bool]) -> bytes:
    text = data.decode("utf-8", "surrogateescape")
    if not is_meant(text):
        return data
    kept = [line for line in text.splitlines(keepends=True) if not is_meant(line)]
    return "".join(kept).encode("utf-8", "surrogateescape")
