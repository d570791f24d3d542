"""undo_import: takes a chat that was brought in back out, and corrects what memory was made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from familiar_connect.bootstrap.chat_files.chat_imports import ChatImport, ChatImports
from familiar_connect.config.folders import FamiliarFolder, last_context_file
from familiar_connect.history.chats import ChatRegistry
from familiar_connect.history.imported_turns import ImportedTurns
from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.withdrawal.copies import copy_keepers
from familiar_connect.memory.withdrawal.withdraw_turns import TurnWithdrawal
from familiar_connect.memory.writing.journal import writer_lock
from familiar_connect.presets.story.state_store import StoryStateStore
from familiar_connect.support.no_follow import remove_file

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
