"""FolderSnapshot: which memory files were edited, added, renamed or deleted since the last look."""

from __future__ import annotations

from familiar_connect.memory.folder_listing import FileStamp, FolderListing, locate_file


class FolderSnapshot:
    """The stamps of every Markdown file in *listing*, as they were at the last look. Reads no file."""

    def __init__(self, listing: FolderListing) -> None:
        self._listing = listing
        self._stamps: dict[str, FileStamp] = {}

    def take(self) -> None:
        """Look, and count nothing of it as changed."""
        self._stamps = dict(self._listing.look())

    def note(self, rel_path: str) -> None:
        """Count the file at *rel_path*, as it is now, as known."""
        found = locate_file(self._listing.root, rel_path)
        if found is None:
            self._stamps.pop(rel_path, None)
        else:
            self._stamps[found[0]] = found[1]

    def find_changes(self) -> list[str]:
        """Paths that changed since the last look; those that are gone come first, as they cost nothing to follow."""
        before, self._stamps = self._stamps, dict(self._listing.look())
        gone = [path for path in before if path not in self._stamps]
        return [*gone, *(path for path, stamp in self._stamps.items() if before.get(path) != stamp)]
