"""persona_name: what a familiar is called, read from its memory."""

from __future__ import annotations

from familiar_connect.memory.store import MemoryStore, MemoryStoreError


def persona_name(store: MemoryStore, familiar_id: str) -> str:
    """What the familiar is called: the text of `self/name.md`, else its folder's name."""
    try:
        return store.read_file("self/name.md").strip() or familiar_id
    except MemoryStoreError:
        return familiar_id
