"""Transcribes voice messages, each once, before messages are simplified.

A voice message nobody could transcribe stays one, with a line that says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from familiar_connect.chat.annotate.media import mime_of
from familiar_connect.chat.message_parts import Attachment
from familiar_connect.chat.protocols import Transcriber
from familiar_connect.chat.types import InboundMessage
from familiar_connect.support.fetch.client import FetchLimits
from familiar_connect.support.fetch.protocols import Fetch
from familiar_connect.support.lru import LruCache

logger = logging.getLogger(__name__)

Transcribe = Callable[[Attachment], Awaitable[str | None]]
"""Listens to a voice message; None when it cannot."""
AUDIO_LIMITS = FetchLimits(max_bytes=16 * 1024 * 1024, timeout_s=12.0, kinds=("audio/",))
MOST_PER_TURN = 10
AT_ONCE = 3
TIME_LIMIT_S = 20.0
MOST_REMEMBERED = 500
MOST_ATTEMPTS = 2
"""How often a voice message is listened to that cannot be made out; a turn must not wait for it again and again."""


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
    return [_filled(message, cache) for message in messages]


async def _listen(unheard: Sequence[Attachment], transcribe: Transcribe, cache: TranscriptCache) -> None:
    if not unheard:
        return
    door = asyncio.Semaphore(AT_ONCE)

    async def one(attachment: Attachment) -> None:
        try:
            async with door, asyncio.timeout(TIME_LIMIT_S):
                text = await transcribe(attachment)
        except Exception as error:  # isolation: one voice message costs its own words only
            logger.warning("voice message not transcribed", extra={"error": type(error).__name__})
            cache.note_failure(attachment)
            return
        cache.put(attachment, (text or "").strip())

    async with asyncio.TaskGroup() as group:
        for attachment in unheard:
            group.create_task(one(attachment), name="transcribe")


def _filled(message: InboundMessage, cache: TranscriptCache) -> InboundMessage:
    if not any(is_audio(each) and not each.transcript for each in message.attachments):
        return message
    heard = tuple(
        replace(each, transcript=cache.get(each)) if is_audio(each) and not each.transcript else each
        for each in message.attachments
    )
    return replace(message, attachments=heard)
