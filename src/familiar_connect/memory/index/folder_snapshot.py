"""FolderSnapshot: which memory files were edited, added, renamed or deleted since the last look."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.memory.index.embeddings import FileStamp, file_stamps, locate_file


class FolderSnapshot:
    """The stamps of every Markdown file below *root*, as they were at the last look. Reads no file."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._stamps: dict[str, FileStamp] = {}

    def take(self) -> None:
        """Look, and count nothing of it as changed."""
        self._stamps = dict(file_stamps(self._root))

    def note(self, rel_path: str) -> None:
        """Count the file at *rel_path*, as it is now, as known."""
        found = locate_file(self._root, rel_path)
        if found is None:
            self._stamps.pop(rel_path, None)
        else:
            self._stamps[found[0]] = found[1]

    def find_changes(self) -> list[str]:
        """Paths that changed since the last look; those that are gone come first, as they cost nothing to follow."""
        before, self._stamps = self._stamps, dict(file_stamps(self._root))
        gone = [path for path in before if path not in self._stamps]
        return [*gone, *(path for path, stamp in self._stamps.items() if before.get(path) != stamp)]
