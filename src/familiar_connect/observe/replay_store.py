"""What replay needs of past turns, kept by content.

A turn's record names its parts by the hash of what they say; a part that stays the same from turn to
turn, such as the character, is on disk once. The newest turns are kept. Saving never fails a turn;
loading says in one sentence what is not there. `erase_person` rather forgets too much than too little.
"""

from __future__ import annotations

import logging
import os
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from familiar_connect.chat.types import Directives
from familiar_connect.context.types import ContextRequest, Contribution, DroppedNote
from familiar_connect.errors import FamiliarError
from familiar_connect.identity import Author
from familiar_connect.llm.types import Message
from familiar_connect.observe.person_match import mentions_person
from familiar_connect.observe.replay_files import SUFFIX, UNREADABLE, ReplayFiles, read_packed
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.files import atomic_write
from familiar_connect.support.no_follow import LinkRefused, refuse_linked_path, remove_file
from familiar_connect.support.serialize import PlainDataError, canonical_json, content_hash, from_plain, to_plain

logger = logging.getLogger(__name__)

DEFAULT_KEEP = 2_000
PRUNE_SLACK = 20
"""A twentieth more than is kept may pile up, so that the folder is not listed after every turn."""
SWEEP_AFTER = 1_000
"""Records pruned between two sweeps for parts nobody names any more: a sweep reads every record that is kept."""
GRACE_S = 3_600.0
"""A part this young may belong to a record another process is about to write."""
REQUEST_PARTS = ("preset", "card", "books")
"""Of a request, what is kept by content."""


@dataclass(frozen=True, kw_only=True)
class ReplayRecord:
    """All that a turn's messages were made of."""

    trace_id: str
    request: ContextRequest
    clock_iso: str
    seed: int
    settings: dict[str, object] = field(default_factory=dict)
    """The effective settings, as plain data."""
    kept: tuple[Contribution, ...] = ()
    dropped: tuple[DroppedNote, ...] = ()
    directives: Directives = field(default_factory=Directives)
    messages_hash: str = ""
    """`hash_messages` of what was sent: a replay that matches it is exact."""


def hash_messages(messages: Sequence[Message]) -> str:
    """A name for a prompt made of every byte that is sent."""
    return content_hash([message.to_dict() for message in messages])


class ReplayStore:
    """Records under `turns/`, their parts under `objects/`."""

    def __init__(self, folder: Path, *, keep: int = DEFAULT_KEEP, clock: Clock | None = None) -> None:
        self._files = ReplayFiles(folder)
        self._turns, self._objects = self._files.turns, self._files.objects
        self._keep = keep
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._count: int | None = None
        self._pruned = 0

    def save(self, trace_id: str, record: ReplayRecord) -> None:
        """Keep *record* under *trace_id*. It touches the disk: callers on an event loop run it in a thread."""
        try:
            path = self._files.record_path(trace_id)
            with self._lock:
                plain = {
                    "trace_id": trace_id,
                    "clock_iso": record.clock_iso,
                    "seed": record.seed,
                    "messages_hash": record.messages_hash,
                    "request": self._request(record.request),
                    "dropped": to_plain(record.dropped),
                    "directives": to_plain(record.directives),
                    "settings": self._put(to_plain(record.settings)),
                    "kept": [self._put(to_plain(contribution)) for contribution in record.kept],
                }
                _write(path, plain)
                self._count = None if self._count is None else self._count + 1
                self._prune()
        except (OSError, TypeError, ValueError, FamiliarError) as failure:
            logger.warning("turn not kept for replay", extra={"trace_id": trace_id, "error": _reason(failure)})

    def load(self, trace_id: str) -> ReplayRecord:
        """The record of one turn; a `FamiliarError` says why there is none."""
        path = self._files.record_path(trace_id)
        if not path.exists():
            raise FamiliarError(
                f"no turn {trace_id!r} is kept in {self._turns}: the newest {self._keep} are;"
                " `familiar inspect` shows the last one"
            )
        try:
            plain = read_packed(path)
            return ReplayRecord(
                trace_id=str(plain["trace_id"]),
                clock_iso=str(plain["clock_iso"]),
                seed=int(plain["seed"]),
                messages_hash=str(plain["messages_hash"]),
                request=from_plain(ContextRequest, self._whole_request(plain["request"])),
                dropped=tuple(from_plain(DroppedNote, note) for note in plain["dropped"]),
                directives=from_plain(Directives, plain["directives"]),
                settings=read_packed(self._files.object_path(plain["settings"])),
                kept=tuple(
                    from_plain(Contribution, read_packed(self._files.object_path(name))) for name in plain["kept"]
                ),
            )
        except LinkRefused:
            raise
        except (*UNREADABLE, PlainDataError) as failure:
            raise FamiliarError(
                f"{path}: this turn cannot be rebuilt ({type(failure).__name__}); the file, or a part in"
                f" {self._objects}, is damaged or of another version. Delete the file; other turns are not touched."
            ) from failure

    def find(self, trace_id: str) -> ReplayRecord | None:
        """The record of one turn, or None when it cannot be had."""
        try:
            return self.load(trace_id)
        except FamiliarError:
            return None

    def ids(self) -> list[str]:
        """The turns kept, newest first."""
        return [path.name.removesuffix(SUFFIX) for path in reversed(self._records())]

    def erase_person(self, author: Author) -> int:
        """Forget every turn that speaks of *author*, and the parts only they used; how many turns went.

        Names count as well as ids, anywhere in what was said: a turn forgotten for the mere name costs a
        replay, one kept by mistake would cost a promise.
        """
        with self._lock:
            doomed = self._records_of(author)
            for path in doomed:
                remove_file(path)
            self._count = None
            self._sweep(grace_s=0.0)
        logger.info("turns erased from replay", extra={"turns": len(doomed)})
        return len(doomed)

    def count_person(self, author: Author) -> int:
        """How many kept turns speak of *author*."""
        with self._lock:
            return len(self._records_of(author))

    def _records_of(self, author: Author) -> list[Path]:
        verdicts: dict[str, bool] = {}
        return [path for path in self._records() if self._speaks_of(path, author, verdicts)]

    def forget_words(self, is_meant: Callable[[object], bool], *, since: datetime) -> int:
        """Forget every turn since then whose plain data *is_meant*, and the parts only they used; how many went."""
        with self._lock:
            verdicts: dict[str, bool] = {}
            doomed = []
            for path in reversed(self._records()):
                verdict = self._has_words(path, is_meant, since, verdicts)
                if verdict is None:
                    break
                doomed += [path] if verdict else []
            for path in doomed:
                remove_file(path)
            if doomed:
                self._count = None
                self._sweep(grace_s=0.0)
        return len(doomed)

    def _has_words(
        self, path: Path, is_meant: Callable[[object], bool], since: datetime, verdicts: dict[str, bool]
    ) -> bool | None:
        """Whether the record at *path*, or a part of it, is meant; a torn one counts as yes. None: it is older."""
        try:
            plain = read_packed(path)
            if datetime.fromisoformat(plain["clock_iso"]) < since:
                return None
            if is_meant([plain["request"], plain["dropped"], plain["directives"]]):
                return True
            for name in plain["kept"]:
                if name not in verdicts:
                    verdicts[name] = is_meant(read_packed(self._files.object_path(name)))
                if verdicts[name]:
                    return True
        except (*UNREADABLE, FamiliarError):
            return True
        return False

    def _speaks_of(self, path: Path, author: Author, verdicts: dict[str, bool]) -> bool:
        """Whether the record at *path*, or a part of it, mentions *author*; a torn one counts as yes."""
        try:
            plain = read_packed(path)
            if mentions_person([plain["request"], plain["dropped"], plain["directives"]], author):
                return True
            for name in plain["kept"]:
                if name not in verdicts:
                    verdicts[name] = mentions_person(read_packed(self._files.object_path(name)), author)
                if verdicts[name]:
                    return True
        except (*UNREADABLE, FamiliarError):
            return True
        return False

    def _request(self, request: ContextRequest) -> dict[str, Any]:
        """The request as plain data; preset and card, the same from turn to turn, as parts of their own."""
        plain: dict[str, Any] = to_plain(request)
        for name in REQUEST_PARTS:
            if plain.get(name):
                plain[name] = self._put(plain[name])
        return plain

    def _whole_request(self, plain: dict[str, Any]) -> dict[str, Any]:
        parts = {
            name: read_packed(self._files.object_path(plain[name]))
            for name in REQUEST_PARTS
            if _is_part(plain.get(name))
        }
        return {**plain, **parts}

    def _put(self, plain: object) -> str:
        """Store a part under its content's name, once."""
        name = content_hash(plain)
        path = self._files.object_path(name)
        if path.exists():
            refuse_linked_path(path)
            os.utime(path, follow_symlinks=False)
        else:
            _write(path, plain)
        return name

    def _prune(self) -> None:
        """Let the oldest records go, and now and then the parts nobody names any more."""
        if self._count is None or self._count > self._keep + self._keep // PRUNE_SLACK:
            records = self._records()
            too_old = records[: max(0, len(records) - self._keep)]
            for path in too_old:
                remove_file(path)
            self._count = len(records) - len(too_old)
            self._pruned += len(too_old)
        if self._pruned >= SWEEP_AFTER:
            self._pruned = 0
            self._sweep(grace_s=GRACE_S)

    def _sweep(self, *, grace_s: float) -> None:
        named: set[str] = set()
        for path in self._records():
            try:
                plain = read_packed(path)
                named.update(plain["kept"], [plain["settings"]])
                named.update(part for name in REQUEST_PARTS if _is_part(part := plain["request"].get(name)))
            except UNREADABLE:
                logger.debug("torn record passed over", extra={"file": path.name})
        limit = self._clock.now().timestamp() - grace_s
        for path in self._parts():
            if path.name.removesuffix(SUFFIX) not in named and path.stat().st_mtime <= limit:
                remove_file(path)

    def _records(self) -> list[Path]:
        """Records, oldest first: ids sort by time."""
        return sorted(self._turns.glob(f"*{SUFFIX}"))

    def _parts(self) -> Iterator[Path]:
        return self._objects.glob(f"*/*{SUFFIX}")


def _reason(failure: Exception) -> str:
    return str(failure) if isinstance(failure, FamiliarError) else type(failure).__name__


def _is_part(value: object) -> bool:
    return isinstance(value, str)


def _write(path: Path, plain: object) -> None:
    atomic_write(path, zlib.compress(canonical_json(plain).encode("ascii")), durable=False)
