"""Intake: the one way in. What is heard is on disk before anything else happens to it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any

from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.chat.types import InboundMessage
from familiar_connect.chat.window import without_private
from familiar_connect.config.types import ChannelMode
from familiar_connect.conversation.channels import ChannelLabels
from familiar_connect.conversation.queue import ReplyQueue
from familiar_connect.conversation.types import BufferedMessage, ResponseTrigger
from familiar_connect.errors import ConfigError, HistoryError
from familiar_connect.history.facts import facts_of
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import PrivacyLevel
from familiar_connect.privacy import PrivacyRegistry
from familiar_connect.reply.protocols import Place
from familiar_connect.subscriptions import SubscriptionKind, SubscriptionRegistry
from familiar_connect.support.aio import off_loop

logger = logging.getLogger(__name__)

LOCAL_PLATFORMS = frozenset({"terminal", "web"})
"""The operator's own doors: whoever is there was let in by the operator."""
LONG_MESSAGE_CHARS = 32_000
"""A longer message is stored whole and shown to the model shortened; its writer is told."""


class Heard(Enum):
    """What became of a message."""

    answering = "answering"
    seen_before = "seen_before"
    not_subscribed = "not_subscribed"
    not_a_person = "not_a_person"
    private = "private"
    not_stored = "not_stored"


class Intake:
    """Subscribed? Allowed? Then written down, and handed on to be answered."""

    def __init__(
        self,
        *,
        familiar_id: str,
        history: HistoryStore,
        channels: ChannelConfigStore,
        subscriptions: SubscriptionRegistry,
        privacy: PrivacyRegistry,
        queue: ReplyQueue,
        interrupt: Callable[[int], Awaitable[Any]],
        labels: ChannelLabels | None = None,
        notify_turn: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._familiar_id = familiar_id
        self._history = history
        self._channels = channels
        self._subscriptions = subscriptions
        self._privacy = privacy
        self.queue = queue
        self._interrupt = interrupt
        self._labels = labels or ChannelLabels()
        self.notify_turn = notify_turn
        """Told of every turn that was stored; never waited for longer than it takes to start work."""

    async def receive(self, message: InboundMessage, place: Place) -> Heard:
        """Take in one message. Returns once it is stored; the reply is made in the background."""
        if message.is_bot:
            return Heard.not_a_person
        if self._privacy.get(message.author) is PrivacyLevel.FULL:
            logger.info("message skipped", extra={"reason": "privacy", "channel_id": message.channel_id})
            return Heard.private
        if not self._listens_to(message):
            return Heard.not_subscribed
        message = without_private(message, self._privacy.is_full)
        try:
            turn, is_new = await off_loop(
                self._history.append_new,
                familiar_id=self._familiar_id,
                channel_id=message.channel_id,
                role="user",
                content=message.text,
                author=message.author,
                guild_id=message.guild_id,
                mode=await off_loop(self._mode, message.channel_id),
                platform_message_id=message.message_id,
                timestamp=message.timestamp,
                facts=facts_of(message),
            )
        except HistoryError as error:
            logger.error("message could not be stored", extra={"reason": str(error)})
            await place.notice(f"I could not write that down, so I did not answer: {error}")
            return Heard.not_stored
        if not is_new:
            return Heard.seen_before
        if len(message.text) > LONG_MESSAGE_CHARS:
            await place.notice(
                f"That message has {len(message.text):,} characters. All of it is in the history; the model is "
                f"shown its beginning and end, {LONG_MESSAGE_CHARS:,} characters or what fits its window."
            )
        await self._label(message, place)
        if self.notify_turn is not None:
            await self.notify_turn()
        await self._interrupt(message.channel_id)
        heard = BufferedMessage(message.author, message.text, message.timestamp, turn.id, message)
        self.queue.put(
            message.channel_id,
            heard,
            place,
            trigger=ResponseTrigger.direct_address,
            guild_id=message.guild_id,
            is_voice=message.is_voice,
        )
        return Heard.answering

    async def _label(self, message: InboundMessage, place: Place) -> None:
        """Learn what the channel is called now; a place that cannot say leaves the label as it was."""
        try:
            channel = (await place.scene()).channel
        except Exception as error:  # isolation: a name is never worth an answer
            logger.warning("channel could not be looked at", extra={"error": type(error).__name__})
            return
        if channel is not None:
            self._labels.register_channel_context(
                message.channel_id, name=channel.name, kind=channel.kind, parent_name=channel.parent_name
            )

    def _mode(self, channel_id: int) -> ChannelMode | None:
        """The channel's mode; a channel whose settings cannot be read is heard all the same."""
        try:
            return self._channels.get(channel_id=channel_id).mode
        except ConfigError:
            return None

    def _listens_to(self, message: InboundMessage) -> bool:
        if message.platform in LOCAL_PLATFORMS:
            return True
        kind = SubscriptionKind.voice if message.is_voice else SubscriptionKind.text
        return self._subscriptions.get(channel_id=message.channel_id, kind=kind) is not None
