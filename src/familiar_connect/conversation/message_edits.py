"""Message edits: what happens when messages are changed or taken back after they were heard.

Here everything that takes turns back begins: a message deleted or edited, many purged, somebody banned or gone into
full privacy. The history is changed first; whatever was made of the turns follows in the background, and goes on at
the next start where it was cut.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from datetime import datetime
from functools import partial

from familiar_connect.chat.place import Place
from familiar_connect.chat.types import InboundMessage
from familiar_connect.errors import HistoryError
from familiar_connect.history.message_edits import MessageEdits
from familiar_connect.history.message_metadata import encode_metadata
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.stored_messages import message_of_turn
from familiar_connect.history.types import HistoryTurn, RemovalCause
from familiar_connect.history.withdrawal.withdrawals import Withdrawals
from familiar_connect.identity import Author, Privacy
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import Clock

logger = logging.getLogger(__name__)

EditListener = Callable[[int, int, str | None], None]
HearEdit = Callable[[InboundMessage, InboundMessage, HistoryTurn, Place], Awaitable[object]]
"""Told of a message as it reads now, as it read before, of its turn, and where it stands."""


class MessageEditHandler:
    """Keeps the history, what waits for an answer and what was made of turns level with what the platform shows now.

    *on_change* is told of each change: channel, row of the history, and the words as prompts have them, or None;
    *withdraw* once for all of them: what was made of the earlier words is to go. *hear* is told of each edit: what was
    answered is not answered anew, and who is spoken to only by the new words answers those. *view* is what scripts make
    of new words.
    """

    def __init__(
        self,
        history: HistoryStore,
        familiar_id: str,
        privacy: Privacy,
        *,
        on_change: EditListener | None = None,
        hear: HearEdit | None = None,
        withdraw: Callable[[], None] | None = None,
        view: Callable[[InboundMessage], str | None] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._edits = MessageEdits(history, familiar_id, clock=clock)
        self._withdrawals = Withdrawals(history, familiar_id, clock=clock)
        self._history = history
        self._familiar_id = familiar_id
        self._privacy = privacy
        self._on_change = on_change
        self._hear = hear
        self._withdraw = withdraw
        self._view = view

    async def on_edit(self, message: InboundMessage, place: Place | None = None, *, me: Author | None = None) -> bool:
        """*message* reads differently now; whether that changed anything. New words of private people are not kept.

        Where the new words speak to the familiar, *place* is where it answers; *me* is its account there.
        """
        if message.message_id is None:
            return False
        if self._privacy.is_full(message.author):
            return await self.on_delete(message.channel_id, [message.message_id])
        view = await off_loop(self._view, message) if self._view is not None else None
        edit = partial(
            self._edits.record_edit,
            channel_id=message.channel_id,
            message_id=message.message_id,
            text=message.text,
            view=view,
        )
        try:
            changed = await off_loop(edit)
        except HistoryError as error:
            logger.error("an edited message could not be stored", extra={"reason": str(error)})
            return False
        if changed is None:
            return False
        self._tell([(message.channel_id, changed)], message.text if view is None else view)
        if place is not None and self._hear is not None:
            found = await off_loop(self._read_before, changed, message, me)
            if found is not None:
                before, turn = found
                await self._hear(replace(message, view=view), before, turn, place)
        return True

    def _read_before(
        self, turn_id: int, message: InboundMessage, me: Author | None
    ) -> tuple[InboundMessage, HistoryTurn] | None:
        """The message of a turn as it read until now, and the turn, which from now on names whom *message* mentions."""
        turn = self._history.turn_by_id(familiar_id=self._familiar_id, turn_id=turn_id)
        stored = message_of_turn(turn) if turn is not None else None
        if turn is None or stored is None:
            return None
        if stored.mentions != message.mentions:
            facts = encode_metadata(replace(stored, mentions=message.mentions))
            self._edits.set_posts(turn_id, turn.platform_message_id, facts)
        was_mention = message.is_mention  # who does not say who is *me* cannot add a mention of it
        if me is not None:
            was_mention = any(each.canonical_key == me.canonical_key for each in stored.mentions)
        said_before = self._edits.edits_of_turn(turn_id)[-1].said_before
        before = replace(
            message, text=said_before, view=None, mentions=stored.mentions, is_mention=was_mention, edited_at=None
        )
        return before, turn

    async def on_delete(self, channel_id: int, message_ids: Collection[str]) -> bool:
        """The messages are gone; whether any of them had been heard."""
        cause = RemovalCause.deleted if len(message_ids) == 1 else RemovalCause.purged
        return await self._take_back_in(
            channel_id,
            partial(self._edits.record_deletions, channel_id=channel_id, message_ids=message_ids, cause=cause),
        )

    async def on_purge(self, channel_id: int, *, since: datetime, of: Author | None = None, ours: bool) -> bool:
        """All that was said since then is gone, or all that *of* said; our own words where *ours*. As `on_delete`."""
        purge = partial(self._edits.record_purge, channel_id=channel_id, since=since, of=of, ours=ours)
        return await self._take_back_in(channel_id, purge)

    async def on_ban(self, person: Author, guild_id: int, *, since: datetime) -> bool:
        """Somebody was banned from a server, and what they said there since then is gone. As `on_delete`."""

        def ban() -> list[tuple[int, int]]:
            said = self._withdrawals.turns_on_server(person, guild_id, since)
            gone = set(self._withdrawals.withdraw([turn_id for _, turn_id in said], RemovalCause.banned))
            return [each for each in said if each[1] in gone]

        return await self._take_back(ban)

    async def on_full_privacy(self, person: Author) -> bool:
        """Somebody is not to be heard any more, nor what was said with them before. As `on_delete`."""

        def withdraw() -> list[tuple[int, int]]:
            gone = self._withdrawals.withdraw(self._withdrawals.turns_with(person), RemovalCause.private)
            said = self._history.turns_without_words(familiar_id=self._familiar_id, turn_ids=gone)
            return [(turn.channel_id, turn.id) for turn in said.values()]

        return await self._take_back(withdraw)

    async def _take_back_in(self, channel_id: int, change: Callable[[], list[int]]) -> bool:
        return await self._take_back(lambda: [(channel_id, turn_id) for turn_id in change()])

    async def _take_back(self, change: Callable[[], list[tuple[int, int]]]) -> bool:
        """Change the history, and tell of it; whether anything changed."""
        try:
            gone = await off_loop(change)
        except HistoryError as error:
            logger.error("deleted messages could not be taken back", extra={"reason": str(error)})
            return False
        self._tell(gone, None)
        return bool(gone)

    def _tell(self, changed: Collection[tuple[int, int]], text: str | None) -> None:
        for channel_id, history_id in changed:
            if self._on_change is not None:
                self._on_change(channel_id, history_id, text)
        if changed and self._withdraw is not None:
            self._withdraw()
