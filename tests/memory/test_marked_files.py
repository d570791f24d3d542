"""Files of smaller circles beside an open one, and what finding them costs."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.visible_memory import MarkedFiles


class CountingStore(MemoryStore):
    """Counts how often a folder is looked through."""

    looks = 0

    def list_files(self, rel_path: str = "") -> list[str]:
        self.looks += 1
        return super().list_files(rel_path)


def test_a_folder_is_looked_through_once_for_everybody_who_spoke(tmp_path: Path) -> None:
    """More files than a search hands out are there, and each person's own are found among them."""
    store = CountingStore(tmp_path)
    for number in range(store.limits.max_results_per_op + 5):
        store.write_file(f"people/irc-{number}@dm-irc-{number}.md", "- Likes tea.\n")
    store.write_file("people/irc-7@server-irc-1.md", "- Rows.\n")
    store.write_file("people/irc-7@server-irc-1.archive.md", "- Rowed.\n")
    marked = MarkedFiles(store)

    assert marked.beside("people/irc-7.md") == ["people/irc-7@dm-irc-7.md", "people/irc-7@server-irc-1.md"]
    assert marked.beside("people/irc-70.md") == ["people/irc-70@dm-irc-70.md"]
    assert marked.beside("people/nobody.md") == []
    assert marked.beside("topics/tea.md") == []
    assert store.looks == 2, "once for each folder"
