"""SillyTavernHome: the folder in which SillyTavern keeps one user's characters, chats and all else, looked at only.

Whatever stands there is somebody's own: nothing in it is written, links in it are not followed, and every list is
bounded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from familiar_connect.errors import HomeError
from familiar_connect.support.pictures import ENDINGS, MAX_PICTURE_BYTES

CARD_ENDINGS = (".png", ".json", ".charx", ".yaml", ".yml", ".webp")
MAX_CARDS = 2_000
MAX_FILES = 10_000
"""Of one kind, or in one folder."""
MAX_SETTINGS_BYTES = 64 * 1024 * 1024
PLACES = ("", "data/default-user", "default-user", "public")
PICTURES = (*ENDINGS.values(), ".jpeg")


@dataclass(frozen=True, kw_only=True)
class GroupChats:
    """A group: who is in it, by the files of their cards, and its chats."""

    name: str
    members: tuple[str, ...]
    chats: tuple[Path, ...]


class SillyTavernHome:
    """The user's folder at or below *folder*."""

    def __init__(self, folder: Path) -> None:
        found = next((folder / place for place in PLACES if (folder / place / "characters").is_dir()), None)
        if found is None:
            raise HomeError(
                f"{folder}: no folder `characters` is in it or in its data/default-user; "
                "name SillyTavern's folder, or that of a user in its `data`"
            )
        self.root = found

    def cards(self) -> list[Path]:
        """The cards, by name."""
        return self._files("characters", CARD_ENDINGS)[:MAX_CARDS]

    def chats_of(self, stem: str) -> list[Path]:
        """The chats with the character of the card called *stem*."""
        return self._files(f"chats/{stem}", (".jsonl",))

    def sprites_of(self, stem: str) -> list[Path]:
        """Pictures of the moods of the character whose card is called *stem*."""
        return self._files(f"characters/{stem}", PICTURES)

    def worlds(self) -> dict[str, Path]:
        return {path.stem: path for path in self._files("worlds", (".json",))}

    def presets(self) -> list[Path]:
        return self._files("OpenAI Settings", (".json",))

    def quick_replies(self) -> list[Path]:
        return self._files("QuickReplies", (".json",))

    def background(self) -> Path | None:
        """The picture that stands behind every chat."""
        about = self._settings().get("background")
        name = about.get("name") if isinstance(about, dict) else None
        found = {path.name: path for path in self._files("backgrounds", PICTURES)}
        return found.get(name) if isinstance(name, str) else None

    def groups(self) -> Iterator[GroupChats]:
        for path in self._files("groups", (".json",)):
            group = self._object(path)
            members, ids = group.get("members"), group.get("chats")
            chats = [self.root / "group chats" / f"{each}.jsonl" for each in _texts(ids)]
            yield GroupChats(
                name=str(group.get("name") or path.stem),
                members=tuple(Path(each).stem for each in _texts(members)),
                chats=tuple(each for each in chats if each.parent == self.root / "group chats" and _is_plain(each)),
            )

    def _files(self, folder: str, endings: tuple[str, ...]) -> list[Path]:
        place = self.root / folder
        if not place.is_dir() or place.is_symlink() or ".." in Path(folder).parts:
            return []
        found = (path for path in place.iterdir() if path.suffix.lower() in endings and _is_plain(path))
        return sorted(found, key=lambda path: path.name.casefold())[:MAX_FILES]

    def _settings(self) -> dict[str, Any]:
        return self._object(self.root / "settings.json")

    @staticmethod
    def _object(path: Path) -> dict[str, Any]:
        """The object in a file; empty where there is none."""
        try:
            found = json.loads(_read(path, MAX_SETTINGS_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


def read_picture_file(path: Path) -> bytes:
    """A picture's bytes; empty where it is too large or cannot be read."""
    try:
        return _read(path, MAX_PICTURE_BYTES)
    except OSError:
        return b""


def _read(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        return file.read(most)


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _texts(found: object) -> list[str]:
    return [each for each in found if isinstance(each, str)][:MAX_FILES] if isinstance(found, list) else []
