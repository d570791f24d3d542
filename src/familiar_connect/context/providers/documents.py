"""DocumentsProvider: what imported documents say about the newest words, by document, each piece with its place.

Searched with the index of memory files, by meaning; where that is still being loaded and there are documents, it is
waited for. Without an index, an embedder or a document there is nothing; trouble of any kind costs this block alone.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from familiar_connect.context.confidence_gate import AUTHORED
from familiar_connect.context.providers.content_search.unfiltered import content_budget
from familiar_connect.context.providers.scene.text import block_safe, inline_safe
from familiar_connect.context.types import (
    NO_DEADLINE,
    ContextRequest,
    Contribution,
    ItemTag,
    Layer,
    Priority,
    ReportedContributions,
)
from familiar_connect.memory.index.protocols import NumberedChunk, WakingRetriever
from familiar_connect.memory.store import MemoryStore, MemoryStoreError
from familiar_connect.memory.types import DOCUMENTS_FOLDER
from familiar_connect.support.aio import off_loop
from familiar_connect.support.markdown import document_title, read_headings
from familiar_connect.support.system_notes import extract_notes
from familiar_connect.support.tokens import estimate_tokens, truncate

DEADLINE_S = 15.0
SEARCH_S = 2.0
WAKING_S = 12.0
"""How long the first question of a process waits until documents can be searched."""
TOP_K = 6
LEAST_COSINE = 0.3
"""With the embedder we ship, answers lie at 0.25 to 0.65 and what has nothing to do with a question below 0.1."""
LEAST_SHARE = 0.6
"""Beside a piece that fits well, one that fits much worse is only in the way."""
QUERY_CHARS = 1_000
LEAST_QUERY_CHARS = 3
MAX_TOKENS = 1_200
LEAST_TOKENS = 48
"""Less room than this holds nothing worth reading."""
HEAD_CHARS = 4_000
SOURCE = "documents"
LABEL = "from documents you were given"

_PROVENANCE = re.compile(r"> (?:Imported from|Channels:) ")
_CHANNELS = re.compile(r"^>\s*Channels:\s*(.{1,500}?)\s*$", re.MULTILINE | re.IGNORECASE)


class DocumentSearch(Protocol):
    """Whatever finds chunks in one folder of memory."""

    async def query_folder(
        self, utterance: str, top_k: int, *, folder: str, least: float = 0.0
    ) -> list[NumberedChunk]: ...


class DocumentsProvider:
    """At most one block; nothing while the search finds nothing."""

    id = "documents"
    deadline_s = DEADLINE_S

    def __init__(
        self,
        *,
        store: MemoryStore,
        search: DocumentSearch | None = None,
        top_k: int = TOP_K,
        least_cosine: float = LEAST_COSINE,
    ) -> None:
        self._store = store
        self._search = search
        self._top_k = top_k
        self._least = least_cosine

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        room = min(MAX_TOKENS, content_budget(request) // 2)
        query = search_query(request)
        if self._search is None or len(query) < LEAST_QUERY_CHARS or room < LEAST_TOKENS:
            return []
        if isinstance(self._search, WakingRetriever) and not self._search.is_awake:
            if not await off_loop(self._has_documents):
                return []
            ready = await self._search.wait_until_awake(WAKING_S)
            if ready.state in ("asleep", "words"):
                return ReportedContributions(status="asleep", trouble=f"documents were not searched: {ready.why}")
        async with asyncio.timeout(None if request.deadline_s == NO_DEADLINE else SEARCH_S):
            found = await self._search.query_folder(query, self._top_k, folder=DOCUMENTS_FOLDER, least=self._least)
        found = [chunk for chunk in found if chunk.score >= found[0].score * LEAST_SHARE]
        if not found:
            return []
        heads = await off_loop(self._heads, [chunk.rel_path for chunk in found])
        if request.settings.channel_memory_enabled:
            found = [chunk for chunk in found if _is_for_channel(heads.get(chunk.rel_path, ""), request)]
        text = group_by_document(found, heads, room)
        if not text:
            return []
        return [
            Contribution(
                Layer.content,
                int(Priority.DOCUMENTS),
                text,
                estimate_tokens(text),
                SOURCE,
                tag=ItemTag.DOCUMENTS,
                role="user",
                volatile=True,
                label=LABEL,
                audiences=AUTHORED,
            )
        ]

    def _has_documents(self) -> bool:
        try:
            return bool(self._store.list_dir(DOCUMENTS_FOLDER))
        except MemoryStoreError:  # there is no such folder
            return False

    def _heads(self, paths: Iterable[str]) -> dict[str, str]:
        """How each document begins: its title, where it is from, which channels it is for."""
        heads: dict[str, str] = {}
        for path in dict.fromkeys(paths):
            try:
                heads[path] = self._store.read_file(path)[:HEAD_CHARS]
            except MemoryStoreError:
                continue
        return heads


def search_query(request: ContextRequest) -> str:
    """The newest thing a person wrote, without notes of ours."""
    written = [request.utterance]
    if request.turn is not None and request.turn.messages:
        people = [each for each in request.turn.messages if each.author_type == "user" and each.author_kind != "system"]
        written = [each.content or "" for each in reversed(people)]
    words = (extract_notes(text)[1].strip() for text in written)
    return next((text for text in words if text), "")[:QUERY_CHARS]


def group_by_document(chunks: Sequence[NumberedChunk], heads: dict[str, str], room: int) -> str:
    """*chunks*, best first, grouped by document in at most *room* tokens; the best document first."""
    groups: dict[str, list[NumberedChunk]] = {}
    left = room
    for chunk in chunks:
        words = _words(chunk)
        if chunk.rel_path not in heads or not words:
            continue
        cost = estimate_tokens(words) + 40
        if groups and cost > left:
            break
        groups.setdefault(chunk.rel_path, []).append(chunk)
        left -= cost
    return "\n\n".join(_document_text(path, heads[path], found, room) for path, found in groups.items())


def _document_text(path: str, head: str, chunks: Sequence[NumberedChunk], room: int) -> str:
    title = document_title(head)
    pieces = []
    for chunk in sorted(chunks, key=lambda each: each.number):
        under = inline_safe(chunk.heading_path, 200)
        place = f"part {chunk.number} of {chunk.count}, fits {chunk.score:.2f}{f', {under}' if under else ''}"
        pieces.append(f"({place})\n{block_safe(truncate(_words(chunk), room))}")
    name = inline_safe(title, 200) if title is not None else path
    return "\n\n".join([f"Document: {name}", *pieces])


def _words(chunk: NumberedChunk) -> str:
    """The chunk's text without what its place says already: headings it opens with, and where the document is from."""
    lines = [line for line in chunk.text.strip().splitlines() if not _PROVENANCE.match(line)]
    headings = {each.line for each in read_headings(lines)}
    begin = 0
    while begin < len(lines) and (begin in headings or lines[begin].strip() in ("", chunk.heading_path)):
        begin += 1
    return "\n".join(lines[begin:]).strip()


def _is_for_channel(head: str, request: ContextRequest) -> bool:
    """Whether a document is for this channel; one that names no channel is for all."""
    named = _CHANNELS.search(head)
    if named is None:
        return True
    scene = request.scene
    here = scene.channel.name.strip().lstrip("#").lower() if scene is not None and scene.channel is not None else None
    return here in {each.strip().lstrip("#").lower() for each in named[1].split(",")}
