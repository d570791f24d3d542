"""TelegramPlace: a direct chat, a group or one of its topics as we meet it: typing, sending, looking around.

Telegram shows nothing again, so a message that may have arrived is not sent twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from familiar_connect.api import (
    Author,
    DeliveryError,
    InboundMessage,
    ListedUser,
    Place,
    PlaceFeatures,
    PlatformHost,
    ReadBy,
    ReplyTarget,
    Scene,
)
from familiar_connect.api.messages import ChannelContext, ChannelKind, MessagePiece, pack_reply
from familiar_connect.api.support import cancel_and_wait
from familiar_connect.extensions.telegram.chats import Spot
from familiar_connect.extensions.telegram.client import BotClient
from familiar_connect.extensions.telegram.errors import ChatMoved, is_unchanged
from familiar_connect.extensions.telegram.formatting import to_entities
from familiar_connect.extensions.telegram.marks import TelegramMarks
from familiar_connect.extensions.telegram.noted import Noted

logger = logging.getLogger(__name__)

LIMIT = 2_000
"""Telegram takes 4,096 units of UTF-16, of which a character has at most two."""
TYPING_EVERY_S = 4.5
"""Telegram shows typing for five seconds."""
MAX_SPEAKERS = 30


class TelegramPlace(Place):
    """What direct chats and groups have in common."""

    features = PlaceFeatures(limit=LIMIT, posts_answers=True, keeps_owed=True, tells_asker=True, rewrites=True)

    def __init__(self, host: PlatformHost, client: BotClient, spot: Spot, noted: Noted) -> None:
        self._host = host
        self._client = client
        self._noted = noted
        self._newest_id: str | None = None
        self._why_closed: str | None = None
        self.spot = spot

    def note_message(self, message_id: str) -> None:
        """Somebody's message is the newest here now."""
        self._newest_id = message_id

    def note_closed(self, why: str | None) -> None:
        """Nothing can be sent here any more, for that reason; None: it can."""
        self._why_closed = why

    async def why_not_writable(self) -> str | None:
        return self._why_closed

    @asynccontextmanager
    async def thinking(self) -> AsyncIterator[None]:
        typing = asyncio.get_running_loop().create_task(self._type(), name=f"typing:{self.spot.channel}")
        try:
            yield
        finally:
            await cancel_and_wait(typing)

    async def _type(self) -> None:
        """Show that we type until cancelled. That it cannot be shown costs nothing."""
        while True:
            try:
                await self._client.call(lambda bot: bot.send_chat_action(action="typing", **self._address()))
            except DeliveryError as error:
                logger.debug("typing could not be shown", extra={"reason": str(error)})
            await asyncio.sleep(TYPING_EVERY_S)

    def text_marks(self, users: Sequence[ListedUser]) -> TelegramMarks:
        return TelegramMarks(users, self._noted.usernames.get)

    async def send(self, text: str) -> None:
        await self.post_answer(text)

    async def post_answer(self, text: str, *, target: ReplyTarget | None = None) -> str | None:
        return await self.post_text(text, self._answered(target)) if text.strip() else None

    async def post_text(self, text: str, answered: int | None = None) -> str:
        """Send one message, shown as the answer to the one with the number *answered*; its id."""
        about: dict[str, Any] = {}
        if answered is not None:
            from telegram import ReplyParameters

            about["reply_parameters"] = ReplyParameters(answered, allow_sending_without_reply=True)
        shown = _shown(text)
        try:
            sent = await self._client.call(lambda bot: bot.send_message(**shown, **about, **self._address()))
        except ChatMoved as moved:
            self.follow(moved.chat_id)
            raise
        return self.spot.name_message(sent.message_id)

    def follow(self, chat_id: int) -> None:
        """The group has another id from now on."""
        self.spot = replace(self.spot, chat_id=chat_id, known_as=int(self.spot.group))

    async def rewrite(self, message_ids: Sequence[str], text: str) -> list[MessagePiece]:
        """Let messages of ours read *text*: each is changed, those too many are deleted, what is too long is posted."""
        pieces = pack_reply(text, limit=LIMIT)
        shown = []
        for place, message_id in enumerate(message_ids):
            if place < len(pieces):
                await self._rewrite_one(message_id, pieces[place])
                shown.append(MessagePiece(message_id=message_id, text=pieces[place]))
            else:
                await self._delete(message_id)
        for piece in pieces[len(message_ids) :]:
            shown.append(MessagePiece(message_id=await self.post_text(piece), text=piece))
        return shown

    async def _rewrite_one(self, message_id: str, text: str) -> None:
        number, chat_id = self.spot.find_number(message_id), self.spot.chat_id
        if number is None:
            raise DeliveryError("the message is in the group that this one was before")
        shown = _shown(text)
        try:
            await self._client.call(lambda bot: bot.edit_message_text(chat_id=chat_id, message_id=number, **shown))
        except DeliveryError as error:
            if not is_unchanged(error):
                raise

    async def _delete(self, message_id: str) -> None:
        """Telegram lets a bot delete what it said within the last two days."""
        number, chat_id = self.spot.find_number(message_id), self.spot.chat_id
        if number is None:
            return
        try:
            await self._client.call(lambda bot: bot.delete_message(chat_id=chat_id, message_id=number))
        except DeliveryError as error:
            logger.warning("a message could not be deleted", extra={"reason": str(error)})

    def _address(self) -> dict[str, Any]:
        return {"chat_id": self.spot.chat_id, "message_thread_id": self.spot.thread_id}

    def _answered(self, target: ReplyTarget | None) -> int | None:
        """The message to show as answered, where readers could not tell which it is."""
        if target is None:
            return None
        is_late = self._newest_id not in (None, target.newest_id)
        return self.spot.find_number(target.message_id) if target.is_aimed or is_late else None

    async def tell_asker(self, asked: InboundMessage, text: str) -> None:
        await self.post_text(text, self.spot.find_number(asked.message_id))

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        found = await self._host.recent(self.spot.channel, limit)
        return [self._noted.reactions.add_to(each) for each in found]

    async def _speakers(self) -> list[Author]:
        return await self._host.servers.recent_speakers(await self._host.number_of(self.spot.channel), MAX_SPEAKERS)


class DirectPlace(TelegramPlace):
    """A chat with one person, which nobody else reads."""

    async def notice(self, text: str) -> None:
        await self.post_text(text)

    async def scene(self) -> Scene:
        user_id = self.spot.group
        known = [each for each in await self._speakers() if each.user_id == user_id]
        person = known[0] if known else self._host.author(user_id, user_id)
        return self._host.scene(person.label, read_by=ReadBy.people, people=[person])


class ChatPlace(TelegramPlace):
    """A group, or one of its topics. Telegram does not say who is in it, so what is said there stays there."""

    async def notice(self, text: str) -> None:
        self._host.tell_owner(text)

    async def scene(self) -> Scene:
        fact = await self._noted.groups.look(self.spot.chat_id)
        read_by = ReadBy.everyone if fact.is_public else ReadBy.members
        scene = self._host.scene(fact.title, read_by=read_by, people=await self._speakers())
        thread = self.spot.thread_id
        if thread is not None:
            name = self._noted.groups.name_topic(self.spot.chat_id, thread)
            scene = replace(scene, channel=ChannelContext(name, ChannelKind.thread, fact.title))
        server = None if fact.is_public else await self._host.number_of(self.spot.group)
        return replace(scene, server_name=fact.title, server_id=server)


def _shown(text: str) -> dict[str, Any]:
    """A text as the library takes it: its marks are entities, and nothing in it is read as a mark by Telegram."""
    from telegram import MessageEntity

    plain, spans = to_entities(text.strip())
    entities = [MessageEntity(each.kind, each.offset, each.length, language=each.language or None) for each in spans]
    return {"text": plain, "entities": entities} if plain.strip() else {"text": text.strip()}
