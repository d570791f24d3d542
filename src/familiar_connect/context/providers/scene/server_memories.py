"""ServerMemoriesProvider: what the familiar keeps of a server, from `servers/<platform>-<id>.md`, newest first.

A memory is a line: `- [id:7] text (tags: tea, #garden)`; id and tags may be missing. A direct message has a file
of its own, `servers/<platform>-dm-<channel>.md`. A file that cannot be read gives its last good reading.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass

from familiar_connect.context.providers.scene.text import block_safe, inline_safe, is_dm, persona_of, readable
from familiar_connect.context.types import FILES_DEADLINE_S, ContextRequest, Contribution, ItemTag, Layer, Priority
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.store import MemoryStore, MemoryStoreError
from familiar_connect.memory.visibility import read_server_notes, server_path
from familiar_connect.memory.visible_memory import VisibleMemory
from familiar_connect.support.aio import off_loop
from familiar_connect.support.lru import LruCache
from familiar_connect.support.markdown import read_headings
from familiar_connect.support.system_notes import quote_inline, speaker_name

logger = logging.getLogger(__name__)

MOST_SHOWN = 100
MOST_READ_CHARS = 200_000
TEXT_CHARS = 1_000
KEPT_READINGS = 64

_ID = re.compile(r"\[id:\s*([\w-]{1,20})\]\s*", re.IGNORECASE)
_TAGS = re.compile(r"\s*\(tags:\s*([^()]{0,400})\)\s*$", re.IGNORECASE)
_BULLET = re.compile(r"^[-*+]\s+")
_STRAY = " \t\"'`“”‘’"


@dataclass(frozen=True)
class ServerMemory:
    """One thing kept of a server."""

    text: str
    id: str = ""
    tags: tuple[str, ...] = ()

    @property
    def channels(self) -> frozenset[str]:
        """The channels it belongs to; none: all of them."""
        return frozenset(tag[1:] for tag in self._folded if tag.startswith("#"))

    @property
    def topics(self) -> frozenset[str]:
        """What must be talked about for it to matter; none: anything."""
        return frozenset(tag for tag in self._folded if tag and not tag.startswith("#"))

    @property
    def _folded(self) -> tuple[str, ...]:
        return tuple(tag.strip(_STRAY).lower() for tag in self.tags)

    @property
    def line(self) -> str:
        token = f"[id:{self.id}] " if self.id else ""
        return f"{token}{self.text}" + (f" (tags: {', '.join(self.tags)})" if self.tags else "")


def parse_memories(text: str) -> list[ServerMemory]:
    """The memories of a file, in its order; headings and blank lines hold none."""
    found: list[ServerMemory] = []
    lines = text[:MOST_READ_CHARS].splitlines()
    headings = {each.line for each in read_headings(lines)}
    for number, raw in enumerate(lines):
        if number in headings or not raw.strip():
            continue
        line = _BULLET.sub("", raw.strip())
        marked = _ID.match(line)
        body = line[marked.end() :] if marked else line
        tagged = _TAGS.search(body)
        tags = tuple(inline_safe(tag, 64) for tag in tagged[1].split(",") if tag.strip(_STRAY)) if tagged else ()
        if said := block_safe(body[: tagged.start()] if tagged else body, TEXT_CHARS):
            found.append(ServerMemory(said, marked[1] if marked else "", tags))
    return found


class ServerMemoriesProvider:
    """At most one block. It remembers the last good reading of a few files."""

    id = "server_memories"
    deadline_s = FILES_DEADLINE_S

    def __init__(self, store: MemoryStore, audiences: PartAudiences | None = None) -> None:
        self._audiences = audiences or PartAudiences(store)
        self._read_well: LruCache[str, str] = LruCache(KEPT_READINGS)

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        path = server_path(request)
        if path is None or (request.turn is not None and request.turn.imitated is not None):
            return []
        text = await off_loop(self._read, path, request)
        said = _talk(request)
        memories = [each for each in newest_first(parse_memories(text)) if _matters(each, request, said)][:MOST_SHOWN]
        if not memories:
            return []
        lines = [_heading(request), *(f"- {readable(request, each.line)}" for each in memories)]
        return [
            Contribution.of(
                Layer.content,
                "\n".join(lines),
                source=self.id,
                priority=int(Priority.SERVER_MEMORIES),
                tag=ItemTag.SERVER_MEMORIES,
                audiences=request.own_audience,
            )
        ]

    def _read(self, path: str, request: ContextRequest) -> str:
        """The memories of the place that may be told in it; *path* is its open file."""
        here = f"{path} {request.readers.audience if request.readers is not None else ''}"
        try:
            texts = read_server_notes(VisibleMemory.of(self._audiences, request), request)
        except MemoryStoreError as error:
            logger.warning("server memories read as they were before", extra={"reason": type(error).__name__})
            return self._read_well.get(here) or ""
        text = "\n".join(texts.values())
        self._read_well.put(here, text)
        return text


def newest_first(memories: list[ServerMemory]) -> list[ServerMemory]:
    """By number where all have one, else the last written first."""
    if memories and all(each.id.isascii() and each.id.isdigit() for each in memories):
        return sorted(memories, key=lambda each: int(each.id), reverse=True)
    return memories[::-1]


def _matters(memory: ServerMemory, request: ContextRequest, said: str) -> bool:
    """Whether *memory* belongs in this channel and to what is being *said*."""
    settings, scene = request.settings, request.scene
    if settings.channel_memory_enabled and memory.channels:
        name = scene.channel.name if scene is not None and scene.channel is not None else ""
        if name.strip().lstrip("#").lower() not in memory.channels:
            return False
    topics = memory.topics if settings.memory_tagging_enabled else frozenset()
    return not topics or any(topic in said for topic in topics)


def _talk(request: ContextRequest) -> str:
    shown = [message.content or "" for message in request.turn.messages] if request.turn is not None else []
    return "\n".join(shown or [turn.text for turn in request.turns_to_answer]).lower()


def _heading(request: ContextRequest) -> str:
    server = request.scene.server_name if request.scene is not None else None
    where = "this conversation" if is_dm(request) else "this server"
    if server and not is_dm(request):
        where = quote_inline(speaker_name(server, "this server"))
    return f"# What {persona_of(request)} remembers of {where}"
