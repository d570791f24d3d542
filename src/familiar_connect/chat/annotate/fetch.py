"""Fetches what messages only refer to, before they are simplified: the message answered, who reacted, spoken words.

References come first from the messages at hand, then from the surroundings, a bounded number of times and never for
long. What cannot be had is left as it is. A voice message is transcribed once; one that nobody could transcribe stays
one, with a line that says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from familiar_connect.chat.annotate.media import mime_of
from familiar_connect.chat.message_parts import Attachment, Reaction, ReferencedMessage
from familiar_connect.chat.place import Surroundings
from familiar_connect.chat.protocols import Transcriber
from familiar_connect.chat.types import InboundMessage
from familiar_connect.identity import Author
from familiar_connect.support.fetch.client import FetchLimits
from familiar_connect.support.fetch.protocols import Fetch
from familiar_connect.support.lru import LruCache

logger = logging.getLogger(__name__)

MOST_REACTION_FETCHES = 20
MOST_REPLY_FETCHES = 20
REACTORS_ASKED = 5
REFERENCE_LIMIT_S = 2.0
MOST_REACTION_TYPES = 4

Reactors = dict[tuple[str, str], tuple[Author, ...]]
"""Who reacted, by message and emoji."""

Transcribe = Callable[[Attachment], Awaitable[str | None]]
"""Listens to a voice message; None when it cannot."""
AUDIO_LIMITS = FetchLimits(max_bytes=16 * 1024 * 1024, timeout_s=12.0, kinds=("audio/",))
MOST_PER_TURN = 10
AT_ONCE = 3
LISTEN_LIMIT_S = 20.0
MOST_REMEMBERED = 500
MOST_ATTEMPTS = 2
"""How often a voice message is listened to that cannot be made out; a turn must not wait for it again and again."""


async def with_references(
    messages: Sequence[InboundMessage], surroundings: Surroundings, *, reactions: bool = True
) -> list[InboundMessage]:
    """*messages* with their references filled in as far as possible."""
    found = _from_hand(messages)
    async with asyncio.TaskGroup() as group:
        replies = group.create_task(_replies(found, surroundings), name="replies")
        reactors = group.create_task(_reactors(found if reactions else (), surroundings), name="reactors")
    targets, users = replies.result(), reactors.result()
    return [_with_targets(message, targets, users) for message in found]


def _from_hand(messages: Sequence[InboundMessage]) -> list[InboundMessage]:
    by_id = {message.message_id: message for message in messages if message.message_id}
    result = []
    for message in messages:
        target = message.reply_to
        if target is not None and target.author is None and (known := by_id.get(target.message_id)) is not None:
            message = replace(message, reply_to=reference_to(known))
        result.append(message)
    return result


def reference_to(message: InboundMessage) -> ReferencedMessage:
    """*message* as something another one answers."""
    return ReferencedMessage(
        message_id=message.message_id or "",
        author=message.author,
        text=message.text,
        is_self=message.is_self,
        webhook=message.webhook,
        attachments=message.attachments,
        embeds=message.embeds,
        stickers=message.stickers,
    )


async def _replies(messages: Sequence[InboundMessage], surroundings: Surroundings) -> dict[str, ReferencedMessage]:
    wanted: dict[str, None] = {}
    for message in reversed(messages):
        if message.reply_to is not None and message.reply_to.author is None:
            wanted.setdefault(message.reply_to.message_id)
    found: dict[str, ReferencedMessage] = {}

    async def fetch(message_id: str) -> None:
        try:
            async with asyncio.timeout(REFERENCE_LIMIT_S):
                known = await surroundings.message(message_id)
        except Exception as error:  # isolation: a quote is never worth an answer
            logger.warning("answered message not found", extra={"error": type(error).__name__})
            return
        if known is not None:
            found[message_id] = replace(reference_to(known), message_id=message_id)

    async with asyncio.TaskGroup() as group:
        for message_id in list(wanted)[:MOST_REPLY_FETCHES]:
            group.create_task(fetch(message_id), name="reply")
    return found


async def _reactors(messages: Sequence[InboundMessage], surroundings: Surroundings) -> Reactors:
    wanted = [
        (message.message_id, reaction.label)
        for message in reversed(messages)
        if message.message_id
        for reaction in sorted(message.reactions, key=lambda each: -each.count)[:MOST_REACTION_TYPES]
        if reaction.users is None
    ]
    found: Reactors = {}

    async def fetch(message_id: str, label: str) -> None:
        try:
            async with asyncio.timeout(REFERENCE_LIMIT_S):
                people = await surroundings.reactors(message_id, label, REACTORS_ASKED)
        except Exception as error:  # isolation: then only the count is shown
            logger.warning("reactions not looked up", extra={"error": type(error).__name__})
            return
        if people is not None:
            found[message_id, label] = tuple(people)

    async with asyncio.TaskGroup() as group:
        for message_id, label in wanted[:MOST_REACTION_FETCHES]:
            group.create_task(fetch(message_id, label), name="reactors")
    return found


def _with_targets(message: InboundMessage, targets: dict[str, ReferencedMessage], users: Reactors) -> InboundMessage:
    target = message.reply_to
    if target is not None and target.author is None and target.message_id in targets:
        message = replace(message, reply_to=targets[target.message_id])
    if any(reaction.users is None for reaction in message.reactions):
        message = replace(
            message,
            reactions=tuple(_with_reactors(each, message.message_id or "", users) for each in message.reactions),
        )
    return message


def _with_reactors(reaction: Reaction, message_id: str, users: Reactors) -> Reaction:
    known = users.get((message_id, reaction.label))
    return reaction if reaction.users is not None or known is None else replace(reaction, users=known)


class TranscriptCache:
    """What was heard in voice messages, the latest few hundred, and who listens to them."""

    def __init__(self, most: int = MOST_REMEMBERED, *, transcribe: Transcribe | None = None) -> None:
        """Without *transcribe* nobody listens: voice messages are told of, not quoted."""
        self.transcribe = transcribe
        self._heard: LruCache[str, str] = LruCache(most)
        self._failures: LruCache[str, int] = LruCache(most)

    def get(self, attachment: Attachment) -> str | None:
        """Its words; empty where there are none."""
        return self._heard.get(_key(attachment))

    def is_worth_listening(self, attachment: Attachment) -> bool:
        """Whether nobody knows what is said in it, and it was not given up."""
        key = _key(attachment)
        return self._heard.get(key) is None and (self._failures.get(key) or 0) < MOST_ATTEMPTS

    def note_failure(self, attachment: Attachment) -> None:
        self._failures.put(_key(attachment), (self._failures.get(_key(attachment)) or 0) + 1)

    def put(self, attachment: Attachment, text: str) -> None:
        self._heard.put(_key(attachment), text)


def _key(attachment: Attachment) -> str:
    return attachment.attachment_id or attachment.url.partition("?")[0]


def transcribe_fetched(transcriber: Transcriber, fetch: Fetch) -> Transcribe:
    """Listening by *transcriber* to what *fetch* gets from an attachment's address."""

    async def transcribe(attachment: Attachment) -> str | None:
        fetched = await fetch.get(attachment.url, AUDIO_LIMITS)
        return await transcriber.transcribe(fetched.data, mime_of(attachment))

    return transcribe


def is_audio(attachment: Attachment) -> bool:
    return attachment.is_voice or mime_of(attachment).startswith("audio/")


async def with_transcripts(
    messages: Sequence[InboundMessage],
    transcribe: Transcribe | None,
    cache: TranscriptCache,
    *,
    chat_only: bool = False,
) -> list[InboundMessage]:
    """*messages* with what people said in voice messages; the newest are listened to first."""
    if chat_only:
        return list(messages)
    if transcribe is not None:
        unheard = [
            attachment
            for message in reversed(messages)
            if not message.is_bot and message.webhook is None
            for attachment in message.attachments
            if is_audio(attachment) and not attachment.transcript and cache.is_worth_listening(attachment)
        ]
        await _listen(unheard[:MOST_PER_TURN], transcribe, cache)
    return [_with_transcript(message, cache) for message in messages]


async def _listen(unheard: Sequence[Attachment], transcribe: Transcribe, cache: TranscriptCache) -> None:
    if not unheard:
        return
    door = asyncio.Semaphore(AT_ONCE)

    async def one(attachment: Attachment) -> None:
        try:
            async with door, asyncio.timeout(LISTEN_LIMIT_S):
                text = await transcribe(attachment)
        except Exception as error:  # isolation: one voice message costs its own words only
            logger.warning("voice message not transcribed", extra={"error": type(error).__name__})
            cache.note_failure(attachment)
            return
        cache.put(attachment, (text or "").strip())

    async with asyncio.TaskGroup() as group:
        for attachment in unheard:
            group.create_task(one(attachment), name="transcribe")


def _with_transcript(message: InboundMessage, cache: TranscriptCache) -> InboundMessage:
    if not any(is_audio(each) and not each.transcript for each in message.attachments):
        return message
    heard = tuple(
        replace(each, transcript=cache.get(each)) if is_audio(each) and not each.transcript else each
        for each in message.attachments
    )
    return replace(message, attachments=heard)
