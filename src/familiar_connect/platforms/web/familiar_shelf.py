"""FamiliarShelf: the order in which the familiars of a home are listed: favourites first; and the tags they have."""

from __future__ import annotations

from familiar_connect.config.folders import HomeFolder
from familiar_connect.config.toml import read_toml, toml_literal, write_text
from familiar_connect.errors import FamiliarError
from familiar_connect.support.no_follow import load_bytes
from familiar_connect.support.text import one_line

HEADER = "# The familiars that lists of the page begin with. Written by the page; change it as you like."
MAX_TAG_BYTES = 4_000
MOST_TAGS, MAX_TAG_CHARS = 40, 60


class FamiliarShelf:
    """What the owner of *home* says of its familiars; every method reads the disk."""

    def __init__(self, home: HomeFolder) -> None:
        self._home = home

    def read_favourites(self) -> list[str]:
        """Their ids; none where the file cannot be read."""
        try:
            found = (read_toml(self._home.favourites_file) or {}).get("favourites")
        except FamiliarError:
            return []
        return [str(each) for each in found] if isinstance(found, list) else []

    def set_favourite(self, familiar_id: str, *, is_one: bool) -> None:
        """Let the lists begin with a familiar, or not."""
        others = [each for each in self.read_favourites() if each != familiar_id]
        chosen = [*others, familiar_id] if is_one else others
        write_text(self._home.favourites_file, f"{HEADER}\nfavourites = {toml_literal(chosen)}\n")

    def sort(self, ids: list[str]) -> list[str]:
        """*ids* with the favourites first."""
        favourites = set(self.read_favourites())
        return sorted(ids, key=lambda each: each not in favourites)

    def read_tags(self, familiar_id: str) -> list[str]:
        """The tags of its character."""
        file = self._home.familiar(familiar_id).character / "tags.md"
        try:
            text = load_bytes(file, MAX_TAG_BYTES).decode("utf-8", "ignore")
        except OSError:
            return []
        words = (one_line(each).strip(" -*#")[:MAX_TAG_CHARS] for each in text.splitlines())
        return list(dict.fromkeys(each for each in words if each))[:MOST_TAGS]
