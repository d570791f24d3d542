"""ServerHost: the familiar as a network of servers meets it.

Its channels are numbers of its own, its messages hold more than words and can be looked up again, and rules say who
reads what.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from familiar_connect.audience import AudienceKind, hidden_channel
from familiar_connect.chat.annotate.file_texts import FileTextLimits, with_file_texts
from familiar_connect.chat.annotate.notes import with_results, with_vote
from familiar_connect.chat.message_parts import Embed, Poll
from familiar_connect.chat.place import Place
from familiar_connect.chat.types import InboundMessage
from familiar_connect.conversation.intake import IntakeResult
from familiar_connect.errors import DeliveryError, HistoryError
from familiar_connect.extensions.hosts.reader_records import ReaderRecords
from familiar_connect.familiar import Familiar
from familiar_connect.history.message_edits import MessageEdits
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.history.types import DELETED, TurnMark
from familiar_connect.identity import Author
from familiar_connect.subscriptions import Subscription
from familiar_connect.support.aio import off_loop
from familiar_connect.support.fetch.client import GuardedFetch
from familiar_connect.support.serialize import PlainDataError, from_plain, to_plain

logger = logging.getLogger(__name__)


class ServerHost:
    """What a platform may do with the familiar beyond `PlatformHost` where its network has servers and channels.

    A channel is a number here: see `PlatformHost.number_of`.
    """

    def __init__(self, familiar: Familiar, platform: str) -> None:
        self._familiar = familiar
        self._platform = platform
        self._fetch = GuardedFetch(own=familiar.own_origins)
        self._edits = MessageEdits(familiar.history_store, familiar.id, clock=familiar.clock)
        self.readers = ReaderRecords(familiar.history_store, familiar.id, platform)
        """Who could read which channel."""

    # Hearing

    async def receive(
        self, message: InboundMessage, place: Place, *, is_old_news: bool = False, is_belated: bool = False
    ) -> IntakeResult:
        """Somebody said something, which the platform has put together whole: it is stored, then answered at *place*.

        Given back is what became of it.

        *is_old_news*: it was said while nobody listened, and whoever spoke to the familiar is answered all the same.
        *is_belated*: something newer is stored already, so it is remembered and stands in no window.
        """
        mark = TurnMark.belated if is_belated else None
        heard = await self._familiar.intake.receive(message, place, is_old_news=is_old_news, mark=mark)
        logger.debug("heard", extra={"channel_id": message.channel_id, "outcome": heard.value})
        return heard

    async def read_files(
        self, message: InboundMessage, limits: FileTextLimits, *, is_own: Callable[[str], bool]
    ) -> InboundMessage:
        """*message* with what its text files say, where it is one that is heard; to be received then.

        *is_own* knows the addresses under which the network itself gives files; no other one is asked.
        """
        if not message.attachments or not self._familiar.intake.would_hear(message):
            return message
        return await with_file_texts(message, self._fetch, limits, is_own=is_own)

    async def revise(self, message: InboundMessage, place: Place | None = None, *, me: Author | None = None) -> None:
        """A message reads otherwise now; where its new words speak to the familiar, *me*, it answers at *place*."""
        await self._familiar.reply_path.message_edits.on_edit(message, place, me=me)

    async def keep_previews(self, channel_id: int, message_id: str, previews: Sequence[Embed]) -> None:
        """The network shows previews of the links in a message now; nobody edited it, so nothing is answered anew."""
        plain = [to_plain(each) for each in previews]
        await self._change_facts(channel_id, message_id, lambda facts: facts.update(embeds=plain))

    async def keep_poll(self, channel_id: int, message_id: str, poll: Poll) -> None:
        """The network tells how a poll stands now; who voted is known from `note_vote`."""

        def merge(facts: dict[str, Any]) -> None:
            facts["poll"] = to_plain(with_results(from_plain(Poll, facts["poll"]), poll))

        await self._change_facts(channel_id, message_id, merge)

    async def note_vote(
        self, channel_id: int, message_id: str, answer_id: int, voter: Author, *, is_taken_back: bool
    ) -> None:
        """Somebody voted in a poll, or took that back; of people who want nothing of theirs heard nothing is noted."""
        if self._familiar.stores.privacy.is_full(voter):
            return

        def vote(facts: dict[str, Any]) -> None:
            poll = from_plain(Poll, facts["poll"])
            facts["poll"] = to_plain(with_vote(poll, answer_id, voter, is_taken_back=is_taken_back))

        await self._change_facts(channel_id, message_id, vote)

    async def _change_facts(self, channel_id: int, message_id: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Let what came with a message be another; a message without such a thing stays as it is."""
        try:
            await off_loop(
                partial(self._edits.change_facts, channel_id=channel_id, message_id=message_id, change=change)
            )
        except (HistoryError, KeyError, PlainDataError) as error:
            logger.debug("what came with a message stays as it was", extra={"error": type(error).__name__})

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

    async def is_tellable(self, channel_id: int, server_id: int, message_id: str, rules: str) -> bool:
        """Whether a message of a channel may be told to those who read that channel now, under *rules*.

        Empty rules: everybody on the server does. What was said while it was hidden is not told to others that were let
        in since, nor what was deleted.
        """
        return await off_loop(self._is_tellable, channel_id, server_id, message_id, rules)

    def _is_tellable(self, channel_id: int, server_id: int, message_id: str, rules: str) -> bool:
        familiar = self._familiar
        turn_id = self._edits.find_turn(channel_id, message_id)
        turn = familiar.history_store.turn_by_id(familiar_id=familiar.id, turn_id=turn_id) if turn_id else None
        if turn is None:
            return True
        if turn.audience.kind is not AudienceKind.CHANNEL:
            return turn.content != DELETED
        now = hidden_channel(self._platform, channel_id, server_id, rules) if rules else None
        return turn.content != DELETED and turn.audience == now

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
