"""PinnedProvider: files that their owner wants in every prompt, within a budget of their own.

Lore is authored: its macros are read and it is told everywhere. Any other file is told where its front matter says;
one that does not say is the owner's alone.

ChannelNotesProvider: the channel's own instructions, and notes that stand a few turns before the end.

Where neither character nor channel nor preset has rules, a line of our own stands in. While the familiar speaks
for somebody, that person's own style is all the instruction there is.

ConditioningProvider: what the persona was rewarded and punished for on this server.

What people gave as reasons is told as data, in a fence. Nothing on direct messages, and nothing while the familiar
speaks for somebody else.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from familiar_connect.chat.annotate.context import People
from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import Turn
from familiar_connect.context.confidence_gate import AUTHORED
from familiar_connect.context.providers.scene.text import inline_safe, is_for_small_model, persona_of, readable
from familiar_connect.context.types import FILES_DEADLINE_S, ContextRequest, Contribution, ItemTag, Layer, Priority
from familiar_connect.identity import Author
from familiar_connect.memory.conditioning import ACTIONS, MAX_REASON, Conditioning, ConditioningGroup, FeedbackKind
from familiar_connect.memory.file_audience import read_audience, without_front_matter
from familiar_connect.memory.lorebooks.entry_markdown import parse_entry
from familiar_connect.memory.pins import PinnedFile, PinnedFiles
from familiar_connect.memory.store import MemoryStore, MemoryStoreError
from familiar_connect.support.aio import off_loop
from familiar_connect.support.system_notes import speaker_name, unwrap_note, wrap_note
from familiar_connect.support.tokens import estimate_tokens

logger = logging.getLogger(__name__)

NOTE_ORDER = 40
PERSONA_SOURCE = "channel_notes:persona"
REUNION_DEPTH = 3
REUNION_AFTER = timedelta(days=1)
PERSONA_NOTE = "self/depth_prompt.md"
PERSONA_RULES = "self/system_prompt.md"
DEFAULT_RULES = "You are {char}. Stay in character: answer as {char} would, from what {char} knows."


class ChannelNotesProvider:
    """The channel's prompt, its note or else the familiar's, and a word on how long nobody spoke."""

    id = "channel_notes"
    deadline_s = FILES_DEADLINE_S

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        turn, settings = request.turn, request.settings
        found: list[Contribution] = []
        if turn is not None and turn.imitated is not None:
            if style := turn.imitated.style.strip():
                words = readable(request, style, user=turn.imitated.name)
                found.append(_instructions(words, replaces=True, source="channel_notes:style", authored=False))
        elif prompt := (settings.channel_prompt or "").strip():
            found.append(_instructions(readable(request, prompt), replaces=settings.replaces_rules))
        if await self._lacks_rules(request):
            found.append(_instructions(readable(request, DEFAULT_RULES), replaces=True, source="channel_notes:default"))
        if note := (settings.channel_note or "").strip():
            found.append(_note(request, note, settings.channel_note_depth, "channel_notes:note"))
        elif (note := (settings.global_note or "").strip()) and not await off_loop(self._has, PERSONA_NOTE):
            found.append(_note(request, note, settings.global_note_depth, "channel_notes:global"))
        if (persona := _persona(request)) is not None:
            found.append(persona)
        if turn is not None and settings.time_awareness and (words := long_silence_note(turn)):
            found.append(_note(request, words, REUNION_DEPTH, "channel_notes:reunion", volatile=True))
        return found

    async def _lacks_rules(self, request: ContextRequest) -> bool:
        """Whether nobody says how to answer. A small model is not told twice."""
        imitating = request.turn is not None and request.turn.imitated is not None
        if imitating or request.preset is not None or request.settings.replaces_rules or is_for_small_model(request):
            return False
        return not await off_loop(self._has, PERSONA_RULES)

    def _has(self, path: str) -> bool:
        try:
            return bool((self._store.read_if_present(path) or "").strip())
        except MemoryStoreError as error:
            logger.warning("a character file could not be read", extra={"reason": type(error).__name__})
            return False


def _instructions(
    text: str, *, replaces: bool, source: str = "channel_notes:prompt", authored: bool = True
) -> Contribution:
    return Contribution(
        Layer.core,
        int(Priority.CHANNEL_PROMPT),
        text,
        estimate_tokens(text),
        source,
        tag=ItemTag.RULES if replaces else ItemTag.CHANNEL_PROMPT,
        authored=authored,
        audiences=AUTHORED,
    )


def _note(request: ContextRequest, text: str, depth: int, source: str, *, volatile: bool = False) -> Contribution:
    shown = wrap_note(unwrap_note(readable(request, text)))
    return Contribution(
        Layer.author_note,
        int(Priority.NOTE_AT_DEPTH),
        shown,
        estimate_tokens(shown),
        source,
        tag=ItemTag.AUTHOR_NOTE,
        role="user",
        depth=depth,
        order=NOTE_ORDER,
        volatile=volatile,
        authored=not volatile,
        audiences=request.own_audience,
    )


def _persona(request: ContextRequest) -> Contribution | None:
    """Who the speaker is, in the owner's words, where a position is chosen for them or, between two, no preset has one.

    Beside the author's note they stand at its depth.
    """
    place, words = request.story.place, request.persona.strip()
    if not words or place.position == "none" or (request.turn is not None and request.turn.imitated is not None):
        return None
    if place.position == "prompt":
        if request.preset is not None or request.guild_id is not None:
            return None  # the preset's marker has them; in company they would be said of everyone
        text = readable(request, words)
        return Contribution(
            Layer.character,
            int(Priority.CHANNEL_PROMPT),
            text,
            estimate_tokens(text),
            PERSONA_SOURCE,
            authored=True,
            audiences=request.own_audience,
        )
    settings = request.settings
    note_depth = settings.channel_note_depth if settings.channel_note else settings.global_note_depth
    depth = place.depth if place.position == "chat" else note_depth
    return replace(
        _note(request, words, depth, PERSONA_SOURCE),
        role=place.role if place.position == "chat" else "user",
        order=NOTE_ORDER + (1 if place.position == "note_bottom" else -1),
    )


def long_silence_note(turn: Turn) -> str:
    """How long nobody had spoken when this exchange began; nothing if less than a day."""
    before = [each.created_at for each in turn.messages if not each.in_exchange and each.created_at is not None]
    first = next((each.created_at for each in turn.messages if each.in_exchange and each.created_at is not None), None)
    if not before or first is None or first - before[-1] < REUNION_AFTER:
        return ""
    days = (first - before[-1]).days
    return f"Before this, nobody had spoken here for {days} day{'' if days == 1 else 's'}."


MOST_NAMED = 5
SOURCE = "conditioning"
LABEL = "what people here liked and did not like"
HEADINGS: dict[FeedbackKind, str] = {"reward": "Rewarded", "punish": "Punished"}


class ConditioningProvider:
    """At most one block, rewards before punishments."""

    id = "conditioning"
    deadline_s = FILES_DEADLINE_S

    def __init__(self, conditioning: Conditioning) -> None:
        self._conditioning = conditioning

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        kinds: list[FeedbackKind] = []
        if request.settings.rewards_enabled:
            kinds.append("reward")
        if request.settings.punishments_enabled:
            kinds.append("punish")
        imitating = request.turn is not None and request.turn.imitated is not None
        if request.guild_id is None or request.is_dm or imitating or not kinds:
            return []
        text = await off_loop(self._text, request, kinds, request.guild_id)
        if not text:
            return []
        return [
            Contribution(
                Layer.author_note,
                int(Priority.CONDITIONING),
                text,
                estimate_tokens(text),
                SOURCE,
                tag=ItemTag.CONDITIONING,
                label=LABEL,
                audiences=request.own_audience,
            )
        ]

    def _text(self, request: ContextRequest, kinds: Sequence[FeedbackKind], guild_id: int) -> str:
        persona = request.turn.persona if request.turn is not None else ""
        sections = []
        for kind in kinds:
            groups = self._conditioning.groups(kind, server_id=guild_id, persona=persona)
            if groups:
                name = persona_of(request)
                sections.append("\n".join([f"{HEADINGS[kind]}:", *(_line(group, name, request) for group in groups)]))
        return "\n\n".join(sections)


def _line(group: ConditioningGroup, persona: str, request: ContextRequest) -> str:
    """What was done, by whom, what for, and how often."""
    done = ACTIONS[group.kind][group.action]
    names = [_name(request, who) for who in group.people[:MOST_NAMED]]
    if len(group.people) > MOST_NAMED:
        names.append(f"{len(group.people) - MOST_NAMED} more")
    often = f" ×{group.times}" if group.times > 1 else ""
    reason = inline_safe(readable(request, group.reason), MAX_REASON)
    return f"- {persona} was {done} by {', '.join(names)} for: {reason}{often}"


def _name(request: ContextRequest, who: Author) -> str:
    """How the person is called here now, or else then."""
    scene = request.scene or Scene()
    return People(scene, persona=persona_of(request)).name_for_id(who.user_id) or speaker_name(who.label, who.user_id)


AUTHORED_FOLDERS = ("lore/", "documents/")
CHARACTER_FOLDER = "self/"
"""Its files are in the prompt anyway."""


class PinnedProvider:
    """One contribution for each pinned file."""

    id = "pinned"
    deadline_s = FILES_DEADLINE_S

    def __init__(self, files: PinnedFiles) -> None:
        self._files = files

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        files = await off_loop(self._files.read)
        return [_contribution(file) for file in files if not file.path.startswith(CHARACTER_FOLDER)]


def _contribution(file: PinnedFile) -> Contribution:
    is_lore = file.path.startswith(AUTHORED_FOLDERS)
    said_to = read_audience(file.text)
    text = text_to_show(file)
    return Contribution(
        Layer.pinned,
        int(Priority.PINNED),
        text,
        estimate_tokens(text),
        f"pinned:{file.path}",
        tag=ItemTag.PINNED,
        authored=is_lore,
        audiences=frozenset({said_to}) if said_to is not None else AUTHORED if is_lore else None,
    )


def text_to_show(file: PinnedFile) -> str:
    """A file as it is shown: lore by its text alone, without the list of keywords; any other whole."""
    if file.path.startswith("lore/"):
        return parse_entry(file.text).content.strip()
    return without_front_matter(file.text).strip()
