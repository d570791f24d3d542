"""Whether memory holds anything that a model could still look for."""

from __future__ import annotations

from collections.abc import Collection

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.visible_memory import VisibleMemory


def holds_more(memory: VisibleMemory, known: set[str], *, but: Collection[str] = ()) -> bool:
    """Whether *memory* holds a text besides *known*, the alias index, the character's own and the folders of *but*."""
    for entry in memory.list_dir():
        if entry.name == "self" or entry.name in but:
            continue
        if not entry.is_dir:
            return True
        try:
            paths = memory.store.glob(f"{entry.name}/**/*")
        except MemoryStoreError:
            return True
        others = (path for path in paths if path not in known and not path.endswith("/_aliases.json"))
        if any(memory.exists(path) for path in others):
            return True
    return False
