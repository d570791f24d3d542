"""ServerHost: the familiar as a network of servers meets it.

Its channels are numbers of its own, its messages hold more than words and can be looked up again, and rules say who
reads what.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from datetime import datetime

from familiar_connect.chat.place import Place
from familiar_connect.chat.types import InboundMessage
from familiar_connect.errors import DeliveryError
from familiar_connect.extensions.hosts.reader_records import ReaderRecords
from familiar_connect.familiar import Familiar
from familiar_connect.history.message_edits import MessageEdits
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.history.types import TurnMark
from familiar_connect.identity import Author
from familiar_connect.subscriptions import Subscription
from familiar_connect.support.aio import off_loop

logger = logging.getLogger(__name__)


class ServerHost:
    """What a platform may do with the familiar beyond `PlatformHost` where its network has servers and channels.

    A channel is a number here, as the network has it: for parts that say `keeps_numbers`.
    """

    def __init__(self, familiar: Familiar, platform: str) -> None:
        self._familiar = familiar
        self._platform = platform
        self._edits = MessageEdits(familiar.history_store, familiar.id, clock=familiar.clock)
        self.readers = ReaderRecords(familiar.history_store, familiar.id, platform)
        """Who could read which channel."""

    # Hearing

    async def receive(
        self, message: InboundMessage, place: Place, *, is_old_news: bool = False, is_belated: bool = False
    ) -> None:
        """Somebody said something, which the platform has put together whole: it is stored, then answered at *place*.

        *is_old_news*: it was said while nobody listened, and whoever spoke to the familiar is answered all the same.
        *is_belated*: something newer is stored already, so it is remembered and stands in no window.
        """
        mark = TurnMark.belated if is_belated else None
        heard = await self._familiar.intake.receive(message, place, is_old_news=is_old_news, mark=mark)
        logger.debug("heard", extra={"channel_id": message.channel_id, "outcome": heard.value})

    async def revise(self, message: InboundMessage) -> None:
        """A message reads otherwise now."""
        await self._familiar.reply_path.message_edits.on_edit(message)

    async def withdraw(self, channel_id: int, message_ids: Collection[str]) -> None:
        """The messages were deleted: nothing of them is told again."""
        await self._familiar.reply_path.message_edits.on_delete(channel_id, message_ids)

    async def withdraw_of(self, author: Author, server_id: int, since: datetime) -> None:
        """All that somebody said on a server since then was deleted, as with a ban."""
        await self._familiar.reply_path.message_edits.on_ban(author, server_id, since=since)

    async def hide_channel(self, channel_id: int, server_id: int, rules: str) -> None:
        """A channel is hidden from now on, under *rules*: what was said in it goes along."""
        await self._familiar.intake.on_channel_hidden(
            channel_id, platform=self._platform, guild_id=server_id, rules=rules
        )

    def list_subscriptions(self) -> list[Subscription]:
        """Every channel that people had the familiar listen to, those of other platforms among them."""
        return self._familiar.subscriptions.all()

    # Looking back

    async def find_newest(self, channel_id: int) -> str | None:
        """The id of the message that was heard last in a channel; None: nothing was."""
        return await off_loop(self._edits.newest_message_id, channel_id)

    async def list_direct(self, limit: int) -> list[int]:
        """The conversations outside any server, the latest first."""
        return await off_loop(self._edits.direct_channels, self._platform, limit=limit)

    async def find_changed(self, channel_id: int, message_ids: Collection[str]) -> set[str]:
        """Those of the messages that read otherwise now than when they were heard."""
        return await off_loop(self._edits.find_changed_messages, channel_id, message_ids)

    async def recent(self, channel_id: int, limit: int, *, me: Author | None = None) -> Sequence[InboundMessage]:
        """What was last said in a channel; the familiar's own words are by *me*, its account."""
        store, familiar_id = self._familiar.history_store, self._familiar.id
        return await StoredMessages(store, familiar_id, channel_id, platform=self._platform, me=me).recent(limit)

    async def recent_speakers(self, channel_id: int, limit: int) -> list[Author]:
        """Who spoke last in a channel, each once."""
        return await off_loop(
            self._familiar.history_store.recent_distinct_authors,
            familiar_id=self._familiar.id,
            channel_id=channel_id,
            limit=limit,
        )

    # What an earlier run left

    async def list_waiting(self) -> set[int]:
        """The channels in which an earlier run left a reply unfinished or somebody waiting, other platforms' too."""
        return set(await off_loop(self._familiar.history_store.outbox.channels_with_leftovers, self._familiar.id))

    async def finish_replies(
        self, channel_id: int, place: Place, *, within_s: float | None = None, is_dm: bool = False
    ) -> None:
        """Say what a crash kept from being said, and answer who is still waiting, if they asked *within_s*."""
        familiar = self._familiar
        outbox = familiar.reply_path.outbox
        try:
            await outbox.recover(channel_id, place)
        except DeliveryError as error:  # left for the next time; who waits for it is not answered twice
            logger.warning("a reply could not be finished", extra={"channel_id": channel_id, "reason": str(error)})
            return
        within_s = outbox.fresh_s if within_s is None else within_s
        await familiar.intake.answer_owed(channel_id, place, within_s=within_s, now=familiar.clock.now(), is_dm=is_dm)
