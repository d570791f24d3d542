"""build_turn: makes the turn to be answered from an exchange.

Window, transcripts, then each message simplified and runs merged, a reminder, whom we speak for, what
the turn is, its last words. The same messages and settings give the same turn. Surroundings that see
nothing leave the earlier turns to whoever shows stored ones.
"""

from __future__ import annotations

import asyncio
import logging
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from familiar_connect.chat.annotate.context import AnnotationContext, MentionResolver, People, nobody
from familiar_connect.chat.annotate.fetch import Transcribe, TranscriptCache, with_references, with_transcripts
from familiar_connect.chat.annotate.media import only_newest_texts
from familiar_connect.chat.annotate.notes import SYSTEM, reminder_entry
from familiar_connect.chat.directives import is_continuation, turn_directives
from familiar_connect.chat.place import Surroundings, fetch_scene
from familiar_connect.chat.scene import Scene, StoredTurns, WindowStart
from familiar_connect.chat.silence import SILENCE_DIRECTIVE
from familiar_connect.chat.simplify import merge, message_key, simplify, verbatim_entry
from familiar_connect.chat.types import (
    Directives,
    Imitated,
    InboundMessage,
    MessageIdMap,
    SaidMessage,
    Showing,
    SimplifiedMessage,
    Turn,
    TurnFlags,
    TurnOptions,
    TurnSettings,
)
from familiar_connect.chat.window import (
    WindowMessage,
    cut_to_window,
    fetch_limit,
    only_mode,
    reset_at,
    since_reset,
    window_start,
    with_exchange,
    without_private_authors,
)
from familiar_connect.conversation.types import BufferedMessage, Exchange
from familiar_connect.identity import EVERYTHING_ALLOWED, Author, Privacy
from familiar_connect.support.system_notes import note, speaker_name

logger = logging.getLogger(__name__)

LOOK_LIMIT_S = 5.0
"""Seconds a platform has to show what is around."""
MEDIA_WINDOW = 10
DEFAULTS = TurnSettings()

_ENGLISH = (
    "remember",
    "don't forget",
    "dont forget",
    "note",
    "commit to memory",
    "commit this to memory",
    "to your memory",
    "to your long-term memory",
    "to your long term memory",
    "to long-term memory",
    "to long term memory",
    "for future conversations",
    "for future reference",
)
_JAPANESE = (
    "覚えておいて",
    "覚えといて",
    "覚えていて",
    "覚えてて",
    "記憶して",
    "忘れないで",
    "忘れないように",
    "メモして",
    "メモしておいて",
)
PHRASES = (*_ENGLISH, *_JAPANESE)
MOST_READ_CHARS = 32_000


async def build_turn(
    exchange: Exchange,
    surroundings: Surroundings,
    *,
    settings: TurnSettings = DEFAULTS,
    privacy: Privacy = EVERYTHING_ALLOWED,
    stored: StoredTurns | None = None,
    scene: Scene | None = None,
    transcribe: Transcribe | None = None,
    transcripts: TranscriptCache | None = None,
    now: datetime | None = None,
    is_owner: Callable[[Author], bool] = nobody,
) -> Turn:
    """What was said, as it was said and as it is shown. *scene* is asked for only where it is not given."""
    asked = exchange.asked
    said = _list_said(exchange, privacy)
    last = said[-1] if said else None
    now = now or (exchange.messages[-1].timestamp if exchange.messages else None)
    flags = turn_flags(
        asked,
        trigger_text=last.text if last is not None else None,
        from_queue=exchange.from_queue,
        tools_available=settings.tools_available and not exchange.is_voice,
    )
    turn = Turn(
        familiar_id=exchange.familiar_id,
        channel_id=exchange.channel_id,
        guild_id=exchange.guild_id,
        is_voice=exchange.is_voice,
        said=said,
        speaker=exchange.speaker if asked.revises is not None else last.author if last is not None else None,
        persona=asked.alter or settings.persona,
        flags=replace(flags, may_stay_silent=exchange.may_stay_silent),
        showing=Showing(
            time_awareness=settings.time_awareness,
            include_timestamps=settings.include_timestamps,
            own_names=bool(settings.alters),
            media_window=min(MEDIA_WINDOW, fetch_limit(settings.message_fetch_limit)),
            now=now,
            verbatim=settings.verbatim,
        ),
    )
    recent, scene = await _fetch_recent_and_scene(surroundings, fetch_limit(settings.message_fetch_limit), scene)
    ids = MessageIdMap()
    said_now = [_inbound(each, exchange) for each in exchange.messages if each.asked.reminder is None]
    if not recent:
        reading = _annotation_context(scene, ids, (), settings, privacy, exchange, now, is_owner)
        return _finish_turn(turn, (), reading, asked, ids)
    start = await _start(exchange, stored, settings)
    seen = only_mode(with_exchange(recent, said_now), settings.mode)
    turn = replace(turn, reset_at=reset_at(seen))
    seen = without_private_authors(
        since_reset(cut_to_window(seen, start, size=settings.window_size, step=settings.window_step)), privacy
    )
    if settings.verbatim:
        typed = [each.message for each in seen]
        reading = _annotation_context(scene, ids, typed, settings, privacy, exchange, now, is_owner)
        lines = tuple(verbatim_entry(each, reading, place=place) for place, each in enumerate(seen))
        return _finish_turn(turn, lines, reading, asked, ids)
    seen = [each for each in seen if not each.message.line.is_hidden]
    messages = await with_references([each.message for each in seen], surroundings, reactions=settings.show_reactions)
    messages = await with_transcripts(
        only_newest_texts(messages), transcribe, transcripts or TranscriptCache(), chat_only=settings.chat_only
    )
    seen = [
        each
        if message is each.message
        else WindowMessage(message=message, in_exchange=each.in_exchange, ordinal=each.ordinal)
        for each, message in zip(seen, messages, strict=True)
    ]
    reading = _annotation_context(scene, ids, messages, settings, privacy, exchange, now, is_owner)
    entries = merge(_entries(seen, reading, now), time_awareness=settings.time_awareness, zone=settings.zone)
    return _finish_turn(turn, entries, reading, asked, ids)


def _list_said(exchange: Exchange, privacy: Privacy) -> tuple[SaidMessage, ...]:
    """What is being answered; of people who are not to be heard at most that they asked, never their words."""
    heard_ones = [each for each in exchange.messages if not privacy.is_full(each.author)]
    return tuple(
        SaidMessage(
            author=each.author,
            text=each.display_text if heard_ones else "",
            timestamp=each.timestamp,
            history_id=each.history_id,
        )
        for each in heard_ones or exchange.messages[-1:]
    )


async def _fetch_recent_and_scene(
    surroundings: Surroundings, limit: int, scene: Scene | None
) -> tuple[list[InboundMessage], Scene]:
    """The recent messages and the scene, looked at together."""
    async with asyncio.TaskGroup() as group:
        recent = group.create_task(_recent(surroundings, limit), name="recent")
        if scene is None:  # without one, names fall back to what messages carry
            around = group.create_task(fetch_scene(surroundings, limit_s=LOOK_LIMIT_S), name="scene")
    return recent.result(), scene or around.result() or Scene()


async def _recent(surroundings: Surroundings, limit: int) -> list[InboundMessage]:
    try:
        async with asyncio.timeout(LOOK_LIMIT_S):
            return list(await surroundings.recent(limit))[-limit:]
    except Exception as error:  # isolation: what was stored is shown instead
        logger.warning("recent messages could not be looked at", extra={"error": type(error).__name__})
        return []


async def _start(exchange: Exchange, stored: StoredTurns | None, settings: TurnSettings) -> WindowStart | None:
    if stored is None:
        return None
    return await stored.window(
        familiar_id=exchange.familiar_id,
        channel_id=exchange.channel_id,
        before_id=next((each.history_id for each in exchange.messages if each.history_id is not None), None),
        mode=settings.mode,
        first=lambda count: window_start(count, settings.window_size, settings.window_step),
    )


def _inbound(said: BufferedMessage, exchange: Exchange) -> InboundMessage:
    """A message of the exchange as it came in, or as much of it as was kept."""
    if said.message is not None:
        return replace(said.message, history_id=said.history_id)
    return InboundMessage(
        platform=said.author.platform,
        channel_id=exchange.channel_id,
        author=said.author,
        text=said.text,
        timestamp=said.timestamp,
        guild_id=exchange.guild_id,
        is_voice=exchange.is_voice,
        history_id=said.history_id,
    )


def _annotation_context(
    scene: Scene,
    ids: MessageIdMap,
    messages: Sequence[InboundMessage],
    settings: TurnSettings,
    privacy: Privacy,
    exchange: Exchange,
    now: datetime | None,
    is_owner: Callable[[Author], bool],
) -> AnnotationContext:
    known: dict[str, Author] = {}
    for message in messages:
        for author in (message.author, *message.mentions):
            known[author.canonical_key] = author
    people = People(
        scene,
        persona=settings.persona,
        alters=settings.alters,
        known=known.values(),
        speakers=[each.author for each in messages if not each.is_self and each.webhook is None],
        privacy=privacy,
    )
    blocked = (
        block.author.canonical_key
        for block in scene.blocks
        if block.kind == "block" and (block.until is None or now is None or block.until > now)
    )
    return AnnotationContext(
        scene=scene,
        people=people,
        marks=MentionResolver(scene, people),
        ids=ids,
        settings=settings,
        blocked=frozenset(blocked),
        is_owner=is_owner,
        is_voice=exchange.is_voice,
    )


def _entries(
    seen: Sequence[WindowMessage], reading: AnnotationContext, now: datetime | None
) -> list[SimplifiedMessage]:
    entries: list[SimplifiedMessage] = []
    for place, each in enumerate(seen):
        message = each.message
        if message.author.canonical_key in reading.blocked and not message.is_self:
            blocked = _block(message, place, reading, now)
            if not entries or entries[-1].author_id != blocked.author_id:
                entries.append(blocked)
            continue
        entry = simplify(each, reading, place=place)
        if entry is not None:
            entries.append(entry)
    return entries


def _block(message: InboundMessage, place: int, reading: AnnotationContext, now: datetime | None) -> SimplifiedMessage:
    """One notice for a run of messages by someone the persona does not want to hear."""
    block = next(each for each in reading.scene.blocks if each.author.canonical_key == message.author.canonical_key)
    name = reading.people.name_of(message.author)
    left = ""
    if block.until is not None and now is not None:
        hours = max(1, int((block.until - now).total_seconds() // 3600))
        left = f" for {hours} more hour{'' if hours == 1 else 's'}"
    return SimplifiedMessage(
        id=message_key(message, place),
        author_id=f"blocked-{message.author.canonical_key}",
        author_name=SYSTEM,
        author_type="user",
        author_kind="system",
        content=note(f"{name} wrote something; you are not listening to them{left}"),
        created_at=message.timestamp,
        history_id=message.history_id,
    )


def _finish_turn(
    turn: Turn,
    entries: tuple[SimplifiedMessage, ...],
    reading: AnnotationContext,
    asked: TurnOptions,
    ids: MessageIdMap,
) -> Turn:
    """*turn* with its messages, whom it speaks for, and its last words."""
    if asked.reminder is not None:
        entries = (*entries, reminder_entry(asked.reminder, reading, turn.showing.now))
    turn = replace(
        turn,
        messages=entries,
        imitated=_find_imitated(asked, reading),
        message_ids=ids,
        persona=speaker_name(turn.persona, "") if turn.persona else "",
    )
    directives = turn_directives(turn, asked, emojis=[e.name for e in reading.scene.emojis])
    if turn.flags.may_stay_silent:
        directives += Directives(tail=(SILENCE_DIRECTIVE,))
    return replace(turn, flags=replace(turn.flags, continuation=is_continuation(turn, asked)), directives=directives)


def _find_imitated(asked: TurnOptions, reading: AnnotationContext) -> Imitated | None:
    """The person the turn speaks for: as the server shows them, else by profile, else by the name they asked for."""
    author = asked.imitate
    if author is None:
        return None
    member = reading.people.member(author)
    names = (
        member and member.server_nickname,
        author.display_name,
        member and member.global_name,
        author.username,
        member.saved_nickname if member is not None and not reading.people.is_private(author) else None,
    )
    return Imitated(
        author=author,
        name=speaker_name(next((name for name in names if name and name.strip()), None), "User"),
        avatar_url=member.avatar_url if member is not None else None,
        style=asked.imitate_style,
    )


def wants_remembering(text: str | None, phrases: Iterable[str] = PHRASES) -> bool:
    """Whether *text* asks to keep something for good."""
    folded = _fold(text or "")
    return bool(folded) and any(_holds(folded, _fold(phrase)) for phrase in phrases)


def _fold(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text[:MOST_READ_CHARS]).lower().replace("\u2019", "'")
    return " ".join(plain.split())


def _holds(text: str, phrase: str) -> bool:
    if phrase not in text:
        return False
    return not phrase.isascii() or re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text) is not None


def turn_flags(
    asked: TurnOptions, *, trigger_text: str | None, from_queue: bool = False, tools_available: bool = True
) -> TurnFlags:
    """What the turn is. Speaking for somebody else goes without tools."""
    imitating = asked.imitate is not None
    reminder = asked.reminder
    recipient = reminder.recipient if reminder is not None and not reminder.is_bridge_user else None
    return TurnFlags(
        impersonation=imitating,
        from_queue=from_queue,
        stop=asked.stop,
        reasoning=asked.reasoning,
        manual=asked.manual,
        manual_prompt=asked.manual_prompt,
        alter=asked.alter,
        kind=asked.kind,
        reminder=reminder,
        forced_mentions=(recipient,) if recipient is not None else (),
        explicit_long_term_memory_intent=wants_remembering(trigger_text),
        disable_all_tools=imitating or not tools_available,
        disable_task_creation=reminder is not None,
        disable_short_term_memory_update=imitating or asked.stop,
        suppress_user_errors=asked.suppress_user_errors,
    )
