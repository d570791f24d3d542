"""ChatImports: the chat files that were brought in, one record each in `imports/<number>.json`.

A record says which chat a file became and holds its header line, which an export gives back. What of it is stored
already stands in the history itself.

undo_import: takes a chat that was brought in back out, and corrects what memory was made of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from familiar_connect.config.folders import FamiliarFolder, last_context_file
from familiar_connect.errors import HomeError
from familiar_connect.history.chats import ChatRegistry
from familiar_connect.history.imported_turns import ImportedTurns
from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.withdrawal.copies import copy_keepers
from familiar_connect.memory.withdrawal.withdraw_turns import TurnWithdrawal
from familiar_connect.memory.writing.journal import writer_lock
from familiar_connect.presets.story.state_store import StoryStateStore
from familiar_connect.support.files import atomic_write
from familiar_connect.support.no_follow import load_bytes, make_folder, remove_file

MAX_RECORD_BYTES = 32 * 1024 * 1024
MAX_IMPORTS = 10_000


@dataclass(frozen=True, kw_only=True)
class ChatImport:
    """One chat that was brought in."""

    number: int
    chat: str
    """The name of the chat it became."""
    channel_id: int
    file: str
    form: str
    imported_at: str
    messages: int = 0
    """So many the file held."""
    is_complete: bool = False
    """False while it is being taken in, and when that was cut short."""
    header: Mapping[str, Any] = field(default_factory=dict)
    """SillyTavern's first line, as it came."""
    key: str = ""
    """What tells the chat from the others of the program it came from; empty: its name does."""


class ChatImports:
    """The records of one familiar."""

    def __init__(self, folder: FamiliarFolder) -> None:
        self._folder = folder.imports

    def all(self) -> list[ChatImport]:
        """Every record, oldest first."""
        if not self._folder.is_dir():
            return []
        numbers = sorted(int(path.stem) for path in self._folder.glob("*.json") if path.stem.isdigit())
        return [self.get(number) for number in numbers[:MAX_IMPORTS]]

    def get(self, number: int) -> ChatImport:
        path = self._path(number)
        try:
            found = json.loads(load_bytes(path, MAX_RECORD_BYTES))
            names = {each.name for each in fields(ChatImport)}
            return ChatImport(**{name: value for name, value in found.items() if name in names})
        except FileNotFoundError:
            raise HomeError(f"there is no import {number}; `familiar import list` shows them") from None
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            raise HomeError(f"{path} cannot be read as the record of an import; restore a copy of it") from None

    def find(self, channel_id: int) -> ChatImport | None:
        """What was brought into a chat."""
        return next((each for each in self.all() if each.channel_id == channel_id), None)

    def find_key(self, key: str) -> ChatImport | None:
        """What was made of the chat that another program knows by *key*."""
        return next((each for each in self.all() if each.key == key), None) if key else None

    def add(self, record: ChatImport) -> ChatImport:
        """Keep *record* under the next number."""
        numbers = [each.number for each in self.all()]
        if len(numbers) >= MAX_IMPORTS:
            raise HomeError(f"{self._folder} holds {MAX_IMPORTS} imports already; `familiar import undo` removes one")
        numbered = replace(record, number=max(numbers, default=0) + 1)
        self.save(numbered)
        return numbered

    def save(self, record: ChatImport) -> None:
        make_folder(self._folder)
        atomic_write(self._path(record.number), json.dumps(asdict(record), ensure_ascii=True, indent=1) + "\n")

    def remove(self, number: int) -> None:
        remove_file(self._path(number))

    def _path(self, number: int) -> Path:
        return self._folder / f"{int(number)}.json"


SOURCE = "import_undo"


@dataclass(frozen=True, kw_only=True)
class UndoneImport:
    """What was taken back."""

    record: ChatImport
    turns: int
    files: tuple[str, ...]
    """Memory files that were corrected."""
    stays: int
    """Turns said in the chat since, which stay with it; 0: the chat is gone too."""


def undo_import(
    folder: FamiliarFolder,
    number: int,
    *,
    place_id: int,
    history: HistoryStore,
    store: MemoryStore,
    progress: Callable[[int, int], None] | None = None,
) -> UndoneImport:
    """Take import *number* back. Memory first, then the turns, the record last: cut short, it can be run again."""
    imports = ChatImports(folder)
    record = imports.get(number)
    familiar_id, channel_id = folder.familiar_id, record.channel_id
    turns = ImportedTurns(history, familiar_id=familiar_id, channel_id=channel_id, number=number)

    withdrawal = TurnWithdrawal(store, history, familiar_id, keepers=copy_keepers(folder), progress=progress)
    with writer_lock(store.audit.folder if store.audit is not None else None):
        files = withdrawal.clean(withdrawal.rows.describe(turns.ids()), source=SOURCE).files
    gone = turns.remove()
    stays = history.count(familiar_id=familiar_id, channel_id=channel_id)
    chat = next((each for each in ChatRegistry(folder).all(place_id) if each.channel_id == channel_id), None)
    if not stays and chat is not None and not chat.is_first:
        ChatRegistry(folder).remove(chat)
        StoryStateStore(folder.story).forget(channel_id)
        for path in (folder.channel_file(channel_id), last_context_file(folder.channels, channel_id)):
            remove_file(path)
    imports.remove(number)
    return UndoneImport(record=record, turns=gone, files=tuple(files), stays=stays)
