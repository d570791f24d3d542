"""import_chat: a chat file becomes a chat of the familiar, which can be gone on with.

The file is read once to see that all of it can be taken, and who speaks in it; then its messages are stored in steps,
each whole or not at all. Brought in again, also after it grew or was cut short, it adds what is new and changes what
reads differently. Everything is stored for the owner, like talk in the terminal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import chain, count, islice
from typing import Any

from familiar_connect.bootstrap.chat_files.align import Alignment, align_messages
from familiar_connect.bootstrap.chat_files.cast import Cast
from familiar_connect.bootstrap.chat_files.chat_file import ChatFile
from familiar_connect.bootstrap.chat_files.chat_imports import ChatImport, ChatImports
from familiar_connect.bootstrap.chat_files.file_message import FileMessage
from familiar_connect.bootstrap.chat_files.sillytavern_lines import OUR_KEY
from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.chat.files.file_lines import parse_send_date
from familiar_connect.chat.types import LineFacts
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import ChatImportError
from familiar_connect.history.chats import MAX_NAME_CHARS, Chat, ChatRegistry
from familiar_connect.history.imported_turns import ImportedTurns, NewTurn
from familiar_connect.history.message_metadata import encode_file_line
from familiar_connect.history.store import HistoryStore
from familiar_connect.support.clock import Clock, SystemClock

STEP = 1_000
"""Messages stored at once: as much as is lost, at most, when the process is ended."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class ChatScan:
    """What a file holds, after it was read once."""

    fingerprints: tuple[str, ...]
    names: Counter[tuple[str, str]]
    """Speaker and name of what is said in the open, with how often."""
    turn_ids: tuple[int, ...]
    """Of a file that our own export wrote: the turn each message is; 0 for one that came since."""
    first: datetime | None = None
    last: datetime | None = None
    hidden: int = 0
    with_versions: int = 0
    chars: int = 0
    """Of all that is said."""

    def __len__(self) -> int:
        return len(self.fingerprints)


@dataclass(frozen=True, kw_only=True)
class ChatImportResult:
    """What an import did."""

    record: ChatImport
    cast: Cast
    scan: ChatScan
    added: int = 0
    changed: int = 0
    taken_back: int = 0
    fields_dropped: int = 0
    """Fields for the way back that were too large to be kept."""
    notes: tuple[str, ...] = field(default=())
    """Sentences about what has no effect here."""


def scan_chat(file: ChatFile) -> ChatScan:
    """Read all of *file*; a `ChatImportError` names the first line that cannot be taken."""
    fingerprints: list[str] = []
    turn_ids: list[int] = []
    names: Counter[tuple[str, str]] = Counter()
    dates: list[datetime] = []
    hidden = with_versions = chars = 0
    for message in file.messages():
        fingerprints.append(message.fingerprint)
        turn_ids.append(message.turn_id)
        hidden += message.is_hidden
        chars += len(message.text)
        with_versions += bool(message.versions)
        if not message.is_hidden and not message.is_narrator:
            names[message.speaker, message.name] += 1
        if message.sent is not None:
            dates = [min(message.sent, *dates), max(message.sent, *dates)] if dates else [message.sent] * 2
    if not fingerprints:
        raise ChatImportError(f"{file.path}: holds no messages; choose a chat with messages in it")
    return ChatScan(
        fingerprints=tuple(fingerprints),
        names=names,
        turn_ids=tuple(turn_ids),
        first=dates[0] if dates else None,
        last=dates[-1] if dates else None,
        hidden=hidden,
        with_versions=with_versions,
        chars=chars,
    )


class ChatImporter:
    """Takes chat files into the history of one familiar, as chats of the place *place_id*."""

    def __init__(
        self,
        folder: FamiliarFolder,
        history: HistoryStore,
        *,
        place_id: int,
        channels: ChannelConfigStore,
        step: int = STEP,
        clock: Clock | None = None,
    ) -> None:
        self._folder = folder
        self._history = history
        self._place_id = place_id
        self._channels = channels
        self._step = step
        self._clock = clock or SystemClock()
        self._registry = ChatRegistry(folder, clock=clock)
        self.imports = ChatImports(folder)

    def take_in(
        self,
        file: ChatFile,
        scan: ChatScan,
        cast: Cast,
        *,
        chat_name: str | None = None,
        progress: Progress | None = None,
    ) -> ChatImportResult:
        """Store what is new in *file*; called again after it was cut short, it goes on where it was."""
        name = chat_name or self.name_for(file)
        known = self._registry.find(self._place_id, name)
        record = self.imports.find(known.channel_id) if known is not None else None
        is_ours = known is not None and self._is_exported_from(file, known)
        if known is not None and record is None and not is_ours and self._count(known):
            raise ChatImportError(
                f"there is a chat called {known.name!r} already; choose another name with --chat NAME"
            )
        number = record.number if record is not None else 0
        there = self._turns(known, number).all() if known is not None and record is not None else []
        if is_ours and known is not None:
            plan = self._missing(scan, known, there)
        else:
            plan = align_messages(there, scan.fingerprints, file=str(file.path), chat=name, number=number)
        chat = known or self._registry.start(self._place_id, name, make_current=False)
        now = self._clock.now().astimezone(UTC).isoformat(timespec="seconds")
        facts: dict[str, Any] = {"file": file.path.name, "form": file.form, "messages": len(scan), "imported_at": now}
        facts |= {"key": file.key} if file.key else {}
        if record is None:
            record = self.imports.add(
                ChatImport(number=0, chat=chat.name, channel_id=chat.channel_id, header=dict(file.header), **facts)
            )
        else:
            record = replace(record, is_complete=False, header=dict(file.header) or record.header, **facts)
            self.imports.save(record)
        dropped = self._store(file, scan, cast, plan, self._turns(chat, record.number), progress)
        record = replace(record, is_complete=True)
        self.imports.save(record)
        return ChatImportResult(
            record=record,
            cast=cast,
            scan=scan,
            added=len(plan.added),
            changed=len(plan.changed),
            taken_back=len(plan.gone),
            fields_dropped=dropped,
            notes=file.remarks,
        )

    def name_for(self, file: ChatFile) -> str:
        """What the chat of *file* is called here: as last time, or by a name that is free."""
        if not file.key:
            return chat_name_of(file)
        there = self._registry.all(self._place_id)
        record = self.imports.find_key(file.key)
        same = next((each for each in there if record is not None and each.channel_id == record.channel_id), None)
        if same is not None:
            return same.name
        taken = {each.name.casefold() for each in there}
        wanted = chat_name_of(file)
        numbered = (f"{wanted[: MAX_NAME_CHARS - 6].strip()} {number}" for number in count(2))
        return next(name for name in chain((wanted,), numbered) if name.casefold() not in taken)

    def header_before(self, file: ChatFile, chat_name: str | None = None) -> dict[str, Any]:
        """The header line that came with the same chat last time; empty the first time."""
        known = self._registry.find(self._place_id, chat_name or self.name_for(file))
        record = self.imports.find(known.channel_id) if known is not None else None
        return dict(record.header) if record is not None else {}

    def _store(
        self,
        file: ChatFile,
        scan: ChatScan,
        cast: Cast,
        plan: Alignment,
        turns: ImportedTurns,
        progress: Progress | None,
    ) -> int:
        """Carry out *plan*, a step at a time; how many fields were too large."""
        turns.take_back(plan.gone)
        place, done, dropped = turns.next_place(), 0, 0
        total = len(plan.added) + len(plan.changed)
        wanted = _wanted(file, scan, plan)
        while batch := list(islice(wanted, self._step)):
            new: list[NewTurn] = []
            for message, sent, turn_id in batch:
                turn, lost = new_turn(message, sent, cast, place)
                dropped += lost
                if turn_id is not None:
                    turns.change(turn_id, turn)
                else:
                    new.append(turn)
                    place += 1
            turns.append(new)
            done += len(batch)
            if progress is not None:
                progress(done, total)
        return dropped

    def _missing(self, scan: ChatScan, chat: Chat, there: Sequence[Any]) -> Alignment:
        """Of a file that was exported from *chat*: the messages that came since."""
        ids = set(self._history.turns_without_words(familiar_id=self._folder.familiar_id, turn_ids=scan.turn_ids))
        known = {each.fingerprint for each in there}
        return Alignment(
            added=tuple(
                at
                for at, turn_id in enumerate(scan.turn_ids)
                if turn_id not in ids and scan.fingerprints[at] not in known
            )
        )

    def _is_exported_from(self, file: ChatFile, chat: Chat) -> bool:
        ours = file.metadata.get(OUR_KEY)
        told = ours if isinstance(ours, dict) else {}
        return told.get("familiar") == self._folder.familiar_id and told.get("channel_id") == chat.channel_id

    def _turns(self, chat: Chat, number: int) -> ImportedTurns:
        return ImportedTurns(
            self._history,
            familiar_id=self._folder.familiar_id,
            channel_id=chat.channel_id,
            number=number,
            mode=self._channels.get(chat.channel_id).mode,
            clock=self._clock,
        )

    def _count(self, chat: Chat) -> int:
        return self._history.count(familiar_id=self._folder.familiar_id, channel_id=chat.channel_id)


def chat_name_of(file: ChatFile) -> str:
    """What the chat of a file is called: as the file says, or as the file is."""
    name = "".join(character if character.isprintable() else " " for character in file.title or file.path.stem)
    return " ".join(name.split())[:MAX_NAME_CHARS].strip() or "imported"


def _wanted(file: ChatFile, scan: ChatScan, plan: Alignment) -> Iterator[tuple[FileMessage, datetime, int | None]]:
    """The messages that are stored or changed, each with its time and the turn it is already."""
    added = set(plan.added)
    for at, (message, sent) in enumerate(_dated(file, scan)):
        if at >= len(scan) or message.fingerprint != scan.fingerprints[at]:
            raise ChatImportError(
                f"{file.path}, line {message.line}: changed while it was read; run the same command again"
            )
        if at in added:
            yield message, sent, None
        elif at in plan.changed:
            yield message, sent, plan.changed[at]


def _dated(file: ChatFile, scan: ChatScan) -> Iterator[tuple[FileMessage, datetime]]:
    """Each message with its time; one that has none is said a second after the one before it."""
    created = parse_send_date(file.header.get("create_date"), file.zone)
    before = created or scan.first or datetime.fromtimestamp(file.path.stat().st_mtime, UTC)
    for message in file.messages():
        before = message.sent or before + timedelta(seconds=1)
        yield message, before


def new_turn(message: FileMessage, sent: datetime, cast: Cast, place: int) -> tuple[NewTurn, int]:
    """The turn a message becomes, and how many of its fields were too large to be kept."""
    role, author = cast.role_of(message)
    is_ours = role == "assistant"
    line = LineFacts(
        name=message.name if is_ours and message.name != cast.own_name else "",
        is_narrator=message.is_narrator,
        is_hidden=message.is_hidden,
        is_other=bool(message.kept.get("force_avatar")) and is_ours,
        is_character=cast.is_other_character(message),
        is_undated=message.sent is None,
    )
    facts, dropped = encode_file_line(line, message.kept)
    written = message.versions or (message.text,)
    words = message.words or written
    shown = tuple(cast.fill_names(text, message) for text in written)
    views = tuple(None if raw == text else text for raw, text in zip(words, shown, strict=True))
    turn = NewTurn(
        place=place,
        fingerprint=message.fingerprint,
        role=role,
        author=author,
        content=words[message.chosen],
        view=views[message.chosen],
        timestamp=sent,
        facts=facts,
        is_hidden=message.is_hidden,
        versions=words if message.versions else (),
        views=views if message.versions else (),
        chosen=message.chosen,
    )
    return turn, dropped
