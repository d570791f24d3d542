"""VisibleMemory: the memory files as one place may hear them.

Reads as a `MemoryStore` does and writes nothing. Lists, searches and texts hold only what may be told in the place
it was made for, so that whoever works with it, a side model too, meets nothing else. Made anew for each turn.

Beside it: which file keeps what is known of the place itself, and what a search may find there (`recall_scope`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Literal, Protocol, TypedDict, Unpack

from familiar_connect.audience import OWNER, Audience, AudienceKind, DisclosurePolicy, Readers, may_tell_all
from familiar_connect.errors import MemoryStoreEncodingError, MemoryStoreError, MemoryStoreSizeLimitError
from familiar_connect.history.turn_visibility import may_tell_turn
from familiar_connect.history.types import HistoryTurn
from familiar_connect.memory.file_audience import MARK, is_marked, read_audience
from familiar_connect.memory.index.protocols import RecallScope, RetrievedChunk
from familiar_connect.memory.note_paths import is_archive
from familiar_connect.memory.part_audiences import MayTell, PartAudiences, VisibleText
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.types import GrepHits, MemoryEntry
from familiar_connect.support.text import to_slug

if TYPE_CHECKING:
    from familiar_connect.context.types import ContextRequest

logger = logging.getLogger(__name__)

OWNER_PLATFORM = "terminal"
"""The owner's own; the page is another door to it."""
SALVAGED_BYTES = 65_536
"""Of a file that is too long, or no text, so much of the beginning is read."""
_NOTHING = VisibleText("", frozenset(), False)


class AskingPlace(Protocol):
    """Where something is about to be told: a `ContextRequest`."""

    def may_tell(self, audiences: Iterable[Audience] | None) -> bool: ...


class VisibleMemory:
    """What of *parts*' memory may be told where *may_tell* says."""

    def __init__(self, parts: PartAudiences, may_tell: MayTell) -> None:
        self._parts = parts
        self._store = parts.store
        self._may_tell: MayTell = cache(may_tell)
        self._decided: dict[str, VisibleText] = {}
        self._marked = MarkedFiles(self._store)

    @classmethod
    def of(cls, memory: PartAudiences | MemoryStore, place: AskingPlace) -> VisibleMemory:
        """What may be told at *place*; of a bare store, by what its files themselves say."""
        parts = memory if isinstance(memory, PartAudiences) else PartAudiences(memory)
        return cls(parts, place.may_tell)

    @property
    def store(self) -> MemoryStore:
        """The whole memory, for the names of its files and for what is public by its making."""
        return self._store

    def look(self, rel_path: str) -> VisibleText:
        """What may be told of a file, whole or in part; nothing for one that is not there or cannot be read."""
        if rel_path not in self._decided:
            try:
                self._decided[rel_path] = self._parts.visible(rel_path, self._may_tell)
            except (MemoryStoreEncodingError, MemoryStoreSizeLimitError) as error:
                facts = {"path": rel_path, "error": type(error).__name__}
                # a search says itself that it read a large file to its cap
                level = logging.DEBUG if isinstance(error, MemoryStoreSizeLimitError) else logging.WARNING
                logger.log(level, "a memory file is not as it should be", extra=facts)
                self._decided[rel_path] = self._salvage(rel_path)
            except MemoryStoreError:
                self._decided[rel_path] = _NOTHING
        return self._decided[rel_path]

    def exists(self, rel_path: str) -> bool:
        """Whether a file stands at *rel_path* of which something may be told."""
        return bool(self.look(rel_path).text.strip())

    def read_file(self, rel_path: str) -> str:
        """The text that may be told; a file of which nothing may is told of as if it were not there."""
        text = self._parts.visible(rel_path, self._may_tell).text
        if not text.strip():
            raise MemoryStoreError(f"there is no memory file {rel_path!r}")
        return text

    def read_if_present(self, rel_path: str) -> str | None:
        return self.look(rel_path).text if self.exists(rel_path) else None

    def list_dir(self, rel_path: str = "") -> list[MemoryEntry]:
        """As the store lists, without files of which nothing may be told, and without hidden folders."""
        folder = f"{rel_path.strip('/')}/".lstrip("/")
        return [
            entry
            for entry in self._store.list_dir(rel_path)
            if (not entry.name.startswith(".") if entry.is_dir else self.exists(f"{folder}{entry.name}"))
        ]

    def glob(self, pattern: str) -> list[str]:
        """As the store finds, without files of which nothing may be told, and none of hidden folders."""
        return [path for path in self._store.glob(pattern) if not _is_hidden(path) and self.exists(path)]

    def list_files(self, rel_path: str = "") -> list[str]:
        """As the store lists them, without files of which nothing may be told."""
        return [path for path in self._store.list_files(rel_path) if self.exists(path)]

    def files_of(self, base: str) -> list[str]:
        """The open file *base* and those of smaller circles beside it, as far as anything may be told; no archives."""
        return [path for path in (base, *self._marked.beside(base)) if self.exists(path)]

    def grep(self, pattern: str, rel_path: str = "", case_insensitive: bool = True) -> GrepHits:
        """As the store searches, in nothing but what may be told."""
        return self._store.grep_shown(pattern, self._shown_lines, rel_path, case_insensitive)

    def audiences_of_passage(self, rel_path: str, text: str) -> frozenset[Audience] | None:
        """Those a passage of a file was said to; None when not all of it may be told, or it reads otherwise by now."""
        shown = self.look(rel_path)
        return shown.audiences if text.strip() and text.strip() in shown.text else None

    def _shown_lines(self, rel_path: str) -> bytes | None:
        if _is_hidden(rel_path):
            return None
        text = self.look(rel_path).text
        return text.encode("utf-8", "replace") if text.strip() else None

    def _salvage(self, rel_path: str) -> VisibleText:
        try:
            data = self._store.read_bytes(rel_path)
        except MemoryStoreError:
            return _NOTHING
        if b"\0" in data[:4096]:
            return _NOTHING
        text = data[:SALVAGED_BYTES].decode("utf-8", "replace")
        return self._parts.visible_text(rel_path, text, self._may_tell)


def only_visible(memory: VisibleMemory, chunks: Sequence[RetrievedChunk]) -> list[RetrievedChunk]:
    """Those of *chunks* that may be told as they stand, for a retriever that cannot be told where it is asked."""
    found = []
    for chunk in chunks:
        body = chunk.text.removeprefix(chunk.heading_path).strip()
        audiences = memory.audiences_of_passage(chunk.rel_path, body)
        headings = (
            memory.audiences_of_passage(chunk.rel_path, name) for name in chunk.heading_path.split(" > ") if name
        )
        if audiences is not None and None not in headings:
            found.append(replace(chunk, audiences=audiences))
    return found


def owner_scope(
    parts: PartAudiences,
    policy: DisclosurePolicy,
    *,
    channel_id: int | None = None,
    only: Literal["files", "turns"] | None = None,
) -> RecallScope:
    """What a search may bring where the owner asks, at the terminal or at the page; private words are out of it."""
    here = Readers(OWNER, platform=OWNER_PLATFORM)
    visible = VisibleMemory(parts, lambda said_to: may_tell_all(said_to, here, policy))
    return RecallScope(
        channel_id=channel_id,
        files=only != "turns",
        turns=only != "files",
        audience_of_turn=lambda turn: turn.audience if may_tell_turn(turn, here, policy) else None,
        audiences_of_passage=visible.audiences_of_passage,
        may_tell_of_file=visible.exists,
    )


def _is_hidden(rel_path: str) -> bool:
    return any(name.startswith(".") for name in rel_path.split("/")[:-1])


class MarkedFiles:
    """What lies in *store* now, for as long as one look at it lasts: a turn, or a batch of the writer's."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._by_stem: dict[str, dict[str, list[str]]] = {}
        """Folder → path without its mark → the marked files."""

    def beside(self, base: str) -> list[str]:
        """The marked files of the open file *base*, in path order; no archives."""
        folder = base.rpartition("/")[0]
        if folder not in self._by_stem:
            self._by_stem[folder] = self._look_through(folder)
        return self._by_stem[folder].get(base.removesuffix(".md"), [])

    def _look_through(self, folder: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        try:
            paths = self._store.list_files(folder)
        except MemoryStoreError:  # a folder that cannot be read, or is not there, holds nothing
            return found
        for path in paths:
            if is_marked(path) and not is_archive(path):
                stem = path[: path.index(MARK, len(folder))]
                found.setdefault(stem, []).append(path)
        return found


SERVERS = "servers"
"""The folder of what is known of servers and direct messages; each file is told in its own place only."""

AudienceOfTurn = Callable[[HistoryTurn], Audience | None]


class ScopeFacts(TypedDict, total=False):
    """Who asks whom, and what need not be searched because it is in the prompt anyway."""

    asker: frozenset[str]
    answerer: frozenset[str]

    before_turn_id: int | None
    exclude_paths: frozenset[str]
    exclude_folders: tuple[str, ...]


def server_path(request: ContextRequest) -> str | None:
    """The file of the server, or of the direct message, that *request* comes from.

    A channel that belongs to no server, as on many platforms, is one by itself.
    """
    scene = request.scene
    someone = (scene.me if scene is not None else None) or request.author
    if someone is None:
        return None
    platform = to_slug(someone.platform) or "unknown"
    if request.is_dm:
        return f"{SERVERS}/{platform}-dm-{request.channel_id}.md"
    server = request.guild_id if request.guild_id is not None else scene.server_id if scene is not None else None
    return f"{SERVERS}/{platform}-{request.channel_id if server is None else server}.md"


def read_server_notes(memory: VisibleMemory, request: ContextRequest) -> dict[str, str]:
    """What is known of the place *request* comes from: by path, the open file first, then those of smaller circles.

    An open file that does not say its audience is told in its own place, wherever its lines came from.
    """
    base = server_path(request)
    if base is None:
        return {}
    own = memory.store.read_if_present(base)
    found = {base: own} if own is not None and read_audience(own) is None else {}
    return found | {path: memory.look(path).text for path in memory.files_of(base) if path not in found}


def server_target(parts: PartAudiences, request: ContextRequest) -> str | None:
    """Where something is written that is to be known of the place *request* comes from."""
    base = server_path(request)
    if base is None or request.readers is None:
        return base
    audience = request.readers.audience
    hidden = audience.kind is AudienceKind.CHANNEL and not request.is_dm
    said = read_audience(parts.store.read_if_present(base) or "")
    if hidden or said not in (None, audience):
        return parts.choose_beside(base, audience)
    return base


def audience_of_turn(request: ContextRequest) -> AudienceOfTurn | None:
    """As whose a turn is told where *request* comes from, None where it may not be; without readers all of them may."""
    readers, telling = request.readers, request.telling
    if readers is None:
        return None
    decided: dict[tuple[Audience, int, str | None], Audience | None] = {}

    def tell_as(turn: HistoryTurn) -> Audience | None:
        author = turn.author.canonical_key if turn.author is not None else None
        key = (turn.audience, turn.channel_id, author)
        if key not in decided:
            may = may_tell_turn(turn, readers, telling)
            # A place hears its own talk, whatever is known of whom it was said to.
            own = turn.audience if request.may_tell((turn.audience,)) else readers.audience
            decided[key] = own if may else None
        return decided[key]

    return tell_as


def recall_scope(request: ContextRequest, memory: VisibleMemory, **facts: Unpack[ScopeFacts]) -> RecallScope:
    """Where *request* comes from, for a search: only what may be told there is found."""
    return RecallScope(
        channel_id=request.channel_id,
        audience_of_turn=audience_of_turn(request),
        audiences_of_passage=memory.audiences_of_passage,
        may_tell_of_file=memory.exists,
        **facts,
    )
