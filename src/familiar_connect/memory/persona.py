"""persona_name: what a familiar is called, read from its memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.errors import FamiliarError, MemoryStoreError
from familiar_connect.support.no_follow import load_bytes

if TYPE_CHECKING:  # a verb that only looks reads one file, without the store around it
    from familiar_connect.memory.store import MemoryStore

NAME_FILE = "self/name.md"


def persona_name(store: MemoryStore, familiar_id: str) -> str:
    """What the familiar is called: the text of `self/name.md`, else its folder's name."""
    try:
        return store.read_file(NAME_FILE).strip() or familiar_id
    except MemoryStoreError:
        return familiar_id


def read_persona_name(memory: Path, familiar_id: str) -> str:
    """`persona_name` of the memory folder *memory*, for whoever wants nothing else of it."""
    try:
        return load_bytes(memory / NAME_FILE).decode("utf-8").strip() or familiar_id
    except (OSError, ValueError, FamiliarError):
        return familiar_id
