"""A familiar with a week of talk behind it, lived once and copied for every test that asks."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path

from examples.a_week.play import FAMILIAR, play_week
from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.store import MemoryStore

ALICE_FILE = "people/discord-1001.md"
BOB_FILE = "people/discord-1002.md"


@lru_cache(maxsize=2)
def _lived(review: bool) -> Path:
    folder = tempfile.TemporaryDirectory(prefix="familiar-week-")
    _kept.append(folder)
    asyncio.run(play_week(Path(folder.name), review=review))
    return Path(folder.name)


_kept: list[tempfile.TemporaryDirectory[str]] = []


def copy_week(home: Path, *, review: bool = False) -> Path:
    """The familiar's folder in *home*, which is made."""
    shutil.copytree(_lived(review), home, dirs_exist_ok=True)
    return home / "familiars" / FAMILIAR


def memory_of(root: Path) -> MemoryStore:
    return MemoryStore(root / "memory", audit_dir=root / "audit")


def history_of(root: Path) -> HistoryStore:
    return HistoryStore(root / "history.db")
