"""Where we are, and what the familiar keeps of that server.

`ServerInfoProvider` gives always exactly one block, the same whoever speaks. `ServerMemoriesProvider` reads
`servers/<platform>-<id>.md`, newest first. A memory is a line: `- [id:7] text (tags: tea, #garden)`; id and tags may be
missing. A direct message has a file of its own.

AssetsProvider: the custom emojis and stickers a server offers.

Nothing in direct messages, in voice, and in role-play channels, where neither belongs. What an asset is for
stands in its note: `joy; a dancing cat` names a feeling and a picture, `joy;` the feeling alone and `a dancing
cat` the picture alone.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC

from familiar_connect.chat.message_parts import Emoji, Sticker
from familiar_connect.chat.scene import Scene, ServerEvent
from familiar_connect.config.types import ChannelMode
from familiar_connect.context.providers.scene.text import (
    block_safe,
    channel_name,
    inline_safe,
    is_voice_channel,
    partner_of,
    persona_of,
    readable,
    with_names,
)
from familiar_connect.context.types import (
    FILES_DEADLINE_S,
    ContextRequest,
    Contribution,
    ItemTag,
    Layer,
    Modality,
    Priority,
)
from familiar_connect.identity import EVERYTHING_ALLOWED, Privacy
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.store import MemoryStore, MemoryStoreError
from familiar_connect.memory.visible_memory import VisibleMemory, read_server_notes, server_path
from familiar_connect.support.aio import off_loop
from familiar_connect.support.lru import LruCache
from familiar_connect.support.markdown import read_headings
from familiar_connect.support.system_notes import quote_inline, speaker_name

DESCRIPTION_CHARS = 800
TOPIC_CHARS = 300
NOTE_CHARS = 800
PROGRAM_NOTE_LABEL = "what the program they write with says of the setting; take from it what fits who you are"
STARTER_CHARS = 1_000
EVENT_CHARS = 200


class ServerInfoProvider:
    """One contribution, from the scene alone."""

    id = "server_info"
    deadline_s = FILES_DEADLINE_S

    def __init__(self, *, privacy: Privacy = EVERYTHING_ALLOWED) -> None:
        self._privacy = privacy

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        scene = request.scene or Scene()
        lines = ["# Setting", _where(request, scene), *_writing_note(request, scene), *self._topic(request, scene)]
        lines += self._starter(request, scene)
        if not request.is_dm and scene.server_description and scene.server_name:
            about = readable(request, scene.server_description, privacy=self._privacy)
            if about := block_safe(about, DESCRIPTION_CHARS):
                lines += [f"## About {_server(scene.server_name)}", about]
        if not request.is_dm and scene.events:
            lines += ["## Events of the server", *(self._event(request, each) for each in scene.events)]
        text = "\n".join(lines)
        return [
            *_program_note(request, scene),
            Contribution.of(
                Layer.scene,
                text,
                source=self.id,
                priority=int(Priority.SERVER_INFO),
                tag=ItemTag.SERVER_INFO,
                audiences=request.own_audience,
            ),
        ]

    def _topic(self, request: ContextRequest, scene: Scene) -> list[str]:
        """What the channel is for, as its people wrote above it; in a thread, above the channel it belongs to."""
        if request.is_dm or scene.channel is None:
            return []
        topic = inline_safe(readable(request, scene.channel_topic or "", privacy=self._privacy), TOPIC_CHARS)
        return [f"The topic of {channel_name(request)}: {quote_inline(topic)}."] if topic.strip() else []

    def _starter(self, request: ContextRequest, scene: Scene) -> list[str]:
        """What somebody said that this thread is about."""
        starter = scene.thread_starter
        if starter is None or starter.author is None:
            return []
        said = inline_safe(readable(request, starter.text, privacy=self._privacy), STARTER_CHARS)
        who = persona_of(request) if starter.is_self else speaker_name(starter.author.label)
        return [f"This thread began with a message of {who}: {quote_inline(said) if said.strip() else '(no text)'}."]

    def _event(self, request: ContextRequest, event: ServerEvent) -> str:
        """One line: what, when, where and how it stands."""
        name = quote_inline(inline_safe(event.name, EVENT_CHARS))
        begins = f"{event.begins_at.astimezone(UTC):%A, %Y-%m-%d at %H:%M} UTC"
        stands = {"planned": f"begins on {begins}", "active": "is going on now"}
        stands |= {"ended": "has ended", "canceled": "was called off"}
        where = f", in {inline_safe(event.where, EVENT_CHARS)}" if event.where else ""
        about = inline_safe(readable(request, event.description, privacy=self._privacy), EVENT_CHARS)
        return f"- {name} {stands[event.state]}{where}." + (
            f" About it: {quote_inline(about)}." if about.strip() else ""
        )


def _program_note(request: ContextRequest, scene: Scene) -> list[Contribution]:
    """What the program of the people here tells a model, as material; the layer of what is added pays for it."""
    note = (scene.program_note or "").strip()
    if not note:
        return []
    shown = Contribution.of(
        Layer.extensions,
        note,
        source="program_note",
        priority=int(Priority.EXTENSION),
        tag=ItemTag.EXTENSION,
        audiences=request.own_audience,
    )
    return [replace(shown, label=PROGRAM_NOTE_LABEL)]


def _writing_note(request: ContextRequest, scene: Scene) -> list[str]:
    """How people write here, where the platform has ways of its own."""
    note = (scene.writing_note or "")[:NOTE_CHARS]
    return [with_names(note, char=persona_of(request))] if note else []


def _where(request: ContextRequest, scene: Scene) -> str:
    imitated = request.turn.imitated if request.turn is not None else None
    who = f"You are {imitated.name}," if imitated is not None else f"{persona_of(request)} is"
    if request.story.group and imitated is None:
        return f"{who} in a group chat with {_company(request)}."
    if request.is_dm:
        partner = partner_of(request) if imitated is None else ""
        return f"{who} in a direct message" + (f" with {quote_inline(partner)}." if partner else ".")
    if not scene.server_name:
        return f"{who} in the channel {channel_name(request)}." if scene.channel is not None else f"{who} on a server."
    return f"{who} in the server {quote_inline(_server(scene.server_name))}."


def _company(request: ContextRequest) -> str:
    """Everybody of a group but the one who answers, the person first."""
    own = persona_of(request)
    names = [request.story.user, *(name for name in request.story.group if name != own)]
    *others, last = [quote_inline(speaker_name(name)) for name in names if name]
    return f"{', '.join(others)} and {last}" if others else last


def _server(name: str) -> str:
    return speaker_name(name, "this server")


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
        return frozenset(tag[1:] for tag in self._fold if tag.startswith("#"))

    @property
    def topics(self) -> frozenset[str]:
        """What must be talked about for it to matter; none: anything."""
        return frozenset(tag for tag in self._fold if tag and not tag.startswith("#"))

    @property
    def _fold(self) -> tuple[str, ...]:
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
    where = "this conversation" if request.is_dm else "this server"
    if server and not request.is_dm:
        where = quote_inline(speaker_name(server, "this server"))
    return f"# What {persona_of(request)} remembers of {where}"


MOST_ASSETS_SHOWN = 60
ASSET_NOTE_CHARS = 120
UNSET = "unset"

ModeOf = Callable[[int], ChannelMode]
"""The mode of a channel by its id; may read a file."""


class AssetsProvider:
    """At most one block of emojis and one of stickers."""

    id = "assets"
    deadline_s = FILES_DEADLINE_S

    def __init__(
        self,
        *,
        mode_of: ModeOf | None = None,
        sticker_tool: str | None = None,
        is_offered: Callable[[ContextRequest], bool] = lambda request: True,
    ) -> None:
        """*sticker_tool*: the function that sends a sticker, offered where *is_offered* says so; None: never."""
        self._mode_of = mode_of
        self._sticker_tool = sticker_tool
        self._is_offered = is_offered

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        scene = request.scene
        spoken = request.modality is Modality.voice or is_voice_channel(request)
        if scene is None or spoken or request.is_dm or await self._is_role_play(request, scene):
            return []
        return [*self._emojis(request, scene), *self._stickers(request, scene)]

    async def _is_role_play(self, request: ContextRequest, scene: Scene) -> bool:
        """Whether the channel, or the one its thread hangs under, is for role play."""
        if request.mode is ChannelMode.full_rp:
            return True
        parent = next((each.parent_id for each in scene.channels if each.channel_id == request.channel_id), None)
        if parent is None or self._mode_of is None:
            return False
        return await off_loop(self._mode_of, parent) is ChannelMode.full_rp

    def _emojis(self, request: ContextRequest, scene: Scene) -> list[Contribution]:
        shown = distinct_assets(scene.emojis) if request.settings.emoji_usage_enabled else []
        if not shown:
            return []
        imitating = request.turn is not None and request.turn.imitated is not None
        how = "Write one as :name: in lower or upper case, never with a number or an id."
        if not imitating:
            how += " Use them now and then, where they fit."
        lines = ["# Emojis of this server", how, *(f":{asset.name}:{asset.label}" for asset in shown)]
        text = with_names("\n".join(lines), char=persona_of(request))
        return [_block(request, text, ItemTag.EMOJIS, Priority.EMOJIS, "assets:emojis")]

    def _stickers(self, request: ContextRequest, scene: Scene) -> list[Contribution]:
        turn = request.turn
        withheld = turn is not None and (turn.flags.disable_all_tools or turn.imitated is not None)
        toolless = self._sticker_tool is None or withheld or not self._is_offered(request)
        shown = distinct_assets(scene.stickers) if request.settings.sticker_usage_enabled and not toolless else []
        if not shown:
            return []
        lines = [
            "# Stickers of this server",
            *(f'"{asset.name}"{asset.label}' for asset in shown),
            f"To send one, call `{self._sticker_tool}` with its name.",
        ]
        text = with_names("\n".join(lines), char=persona_of(request))
        return [_block(request, text, ItemTag.STICKERS, Priority.STICKERS, "assets:stickers")]


@dataclass(frozen=True)
class Asset:
    """An emoji or sticker as it is offered."""

    name: str
    label: str


def distinct_assets(assets: Iterable[Emoji | Sticker]) -> list[Asset]:
    """One per name, oldest first: of several the latest made stands, with the richest note any of them has."""
    latest: dict[str, tuple[tuple[int, int], Emoji | Sticker]] = {}
    notes: dict[str, tuple[tuple[int, tuple[int, int]], str]] = {}
    for place, asset in enumerate(assets):
        name = inline_safe(asset.name, 64).replace('"', "'")
        if not name:
            continue
        made, key = (_tell_made(asset), place), name.casefold()
        if key not in latest or made > latest[key][0]:
            latest[key] = (made, asset)
        rank, label = _label(asset)
        if key not in notes or (rank, made) > notes[key][0]:
            notes[key] = ((rank, made), label)
    ordered = sorted(latest.items(), key=lambda entry: entry[1][0])[-MOST_ASSETS_SHOWN:]
    return [Asset(inline_safe(asset.name, 64).replace('"', "'"), notes[key][1]) for key, (_, asset) in ordered]


def _tell_made(asset: Emoji | Sticker) -> int:
    """When it was made, as far as its id tells: platforms count them upwards."""
    id_ = asset.emoji_id if isinstance(asset, Emoji) else asset.sticker_id
    return int(id_) if id_ and id_.isascii() and id_.isdigit() and len(id_) <= 20 else 0


def _label(asset: Emoji | Sticker) -> tuple[int, str]:
    """How rich its note is, and the note as it is shown."""
    feeling, semicolon, rest = (asset.note or "").partition(";")
    emotion = inline_safe(feeling, ASSET_NOTE_CHARS) if semicolon else ""
    described = inline_safe(rest if semicolon else feeling, ASSET_NOTE_CHARS)
    emotion = "" if emotion.casefold() == UNSET else emotion
    said: Sequence[str] = [part for part in (emotion and f"Expresses {emotion}", described) if part]
    if not said and isinstance(asset, Sticker) and asset.description:
        own = inline_safe(asset.description, ASSET_NOTE_CHARS)
        return 0, f" ({own})" if own else ""
    return (1 if said else 0), f" ({'; '.join(said)})" if said else ""


def _block(request: ContextRequest, text: str, tag: ItemTag, priority: Priority, source: str) -> Contribution:
    here = request.own_audience
    return Contribution.of(Layer.scene, text, source=source, priority=int(priority), tag=tag, audiences=here)
