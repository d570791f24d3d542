"""GroupFacts: what Telegram says of groups: title, whether everybody can read them, who administers them.

A bot cannot ask who is in a group. So a group is read by its members, whoever they are, and only one with a user name,
which anybody can open, is read by everybody. What is known grows old within a minute and is asked for again then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from familiar_connect.api import DeliveryError
from familiar_connect.api.support import LruCache
from familiar_connect.extensions.telegram.client import BotClient
from familiar_connect.extensions.telegram.inbound import topic_name

if TYPE_CHECKING:  # the library is loaded when a bot is opened
    from telegram import Chat, ChatFullInfo, Message

logger = logging.getLogger(__name__)

MAX_GROUPS = 1_000
FACTS_FOR_S = 60.0
ADMINISTRATORS_FOR_S = 300.0


@dataclass(frozen=True)
class GroupFact:
    """What a group was at some moment."""

    title: str
    is_public: bool
    """It has a user name, by which everybody on Telegram can open and read it."""
    at: float


class GroupFacts:
    """The groups of one bot."""

    def __init__(self, client: BotClient, now: Callable[[], float]) -> None:
        self._client = client
        self._now = now
        self._facts: LruCache[int, GroupFact] = LruCache(MAX_GROUPS)
        self._topics: LruCache[tuple[int, int], str] = LruCache(MAX_GROUPS)
        self._administrators: LruCache[int, tuple[float, frozenset[str]]] = LruCache(MAX_GROUPS)

    def note(self, message: Message) -> GroupFact:
        """What a message says of the group it is in."""
        name = topic_name(message)
        if name is not None and message.message_thread_id is not None:
            self._topics.put((message.chat.id, message.message_thread_id), name)
        return self.note_chat(message.chat)

    def note_chat(self, chat: Chat | ChatFullInfo) -> GroupFact:
        fact = GroupFact(chat.title or str(chat.id), bool(chat.username), self._now())
        self._facts.put(chat.id, fact)
        return fact

    async def look(self, chat_id: int) -> GroupFact:
        """What the group is now; `DeliveryError` where Telegram does not say."""
        known = self._facts.get(chat_id)
        if known is not None and self._now() - known.at < FACTS_FOR_S:
            return known
        return self.note_chat(await self._client.call(lambda bot: bot.get_chat(chat_id)))

    def name_topic(self, chat_id: int, thread_id: int) -> str:
        return self._topics.get((chat_id, thread_id)) or f"topic {thread_id}"

    async def is_administrator(self, chat_id: int, user_id: str) -> bool:
        """Whether somebody administers the group; who writes as the group itself does."""
        if user_id == str(chat_id):
            return True
        known = self._administrators.get(chat_id)
        if known is None or self._now() - known[0] > ADMINISTRATORS_FOR_S:
            try:
                found = await self._client.call(lambda bot: bot.get_chat_administrators(chat_id))
            except DeliveryError as error:
                logger.info("administrators could not be asked for", extra={"reason": str(error)})
                return False
            known = (self._now(), frozenset(str(each.user.id) for each in found))
            self._administrators.put(chat_id, known)
        return user_id in known[1]

    def forget_administrators(self, chat_id: int) -> None:
        """Somebody's rights have changed."""
        self._administrators.pop(chat_id)
