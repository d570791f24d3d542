"""Talk that was taken back leaves memory part by part."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.provenance import Provenance, part_hash
from familiar_connect.memory.withdrawal.withdraw_turns import TurnWithdrawal
from familiar_connect.memory.writing.plan import PartSource

SAM = Author("discord", "9", "sam", "Sam")
SAID = {1: "I keep bees.", 2: "I sold the boat in Leith.", 3: "The boat was green.", 4: "We met at noon."}


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    """Files whose parts came from turns 1 to 4, and lines the owner wrote."""
    made = MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit")
    files = {
        "people/sam.md": (
            "# Sam\n\n- Keeps bees.\n- Sold a green boat in Leith.\n- Mine, by hand.\n",
            {0: [1], 1: [2, 3]},
        ),
        "people/guest.md": ("# Guest\n\n## About\n- Met at noon.\n\n## Aliases\n- Guest\n", {0: [4]}),
        "sessions/one.md": ("# One\n\n- Talk of bees.\n\n## Links\n- [Guest](../people/guest.md)\n", {0: [1]}),
    }
    for path, (text, sources) in files.items():
        made.write_file(path, text, source="test")
        bullets = [line[2:] for line in text.splitlines() if line.startswith("- ")]
        parts = [PartSource(part=part_hash(bullets[at]), turns=tuple(turns)) for at, turns in sources.items()]
        Provenance(tmp_path / "audit").record(path, parts, "run")
    return made


def clean(store: MemoryStore, *gone: int) -> list[str]:
    """Take back these turns; the files that changed."""
    with closing(HistoryStore(store.root.parent / "history.db")) as history:
        for text in SAID.values():
            history.append_turn(familiar_id="ada", channel_id=1, role="user", content=text, author=SAM)
        withdrawal = TurnWithdrawal(store, history, "ada")
        return withdrawal.clean(withdrawal.rows.describe(gone), source="test").files


def test_parts_go_with_their_turns_and_what_others_said_stays(store: MemoryStore) -> None:
    """A part of several turns goes when it has words that only those that went said; hand-written lines never."""
    changed = clean(store, 2, 4)

    assert sorted(changed) == ["people/guest.md", "people/sam.md", "sessions/one.md"]
    assert store.read_file("people/sam.md") == "# Sam\n\n- Keeps bees.\n- Mine, by hand.\n"
    assert not store.exists("people/guest.md")
    assert "guest.md" not in store.read_file("sessions/one.md")


def test_nothing_changes_where_nothing_came_from_them(store: MemoryStore) -> None:
    """Other turns, and no turns at all."""
    assert clean(store, 99) == []
    assert clean(store) == []
