"""Message edits: what happens when a message is changed or deleted after it was heard."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from datetime import datetime
from functools import partial

from familiar_connect.chat.types import InboundMessage
from familiar_connect.errors import HistoryError
from familiar_connect.history.message_edits import MessageEdits
from familiar_connect.identity import Author, Privacy
from familiar_connect.support.aio import off_loop

logger = logging.getLogger(__name__)

EditListener = Callable[[int, int, str | None], None]


class MessageEditHandler:
    """Keeps the history, and what waits for an answer, level with what the platform shows now.

    Nothing is answered anew. *waiting* is told of each change: channel, row of the history, and the words or None.
    """

    def __init__(self, revisions: MessageEdits, privacy: Privacy, waiting: EditListener | None = None) -> None:
        self._revisions = revisions
        self._privacy = privacy
        self._on_change = waiting

    async def on_edit(self, message: InboundMessage) -> bool:
        """*message* reads differently now; whether that changed anything. New words of private people are not kept."""
        if message.message_id is None:
            return False
        if self._privacy.is_full(message.author):
            return await self.on_delete(message.channel_id, [message.message_id])
        try:
            changed = await off_loop(
                self._revisions.record_edit,
                channel_id=message.channel_id,
                message_id=message.message_id,
                text=message.text,
            )
        except HistoryError as error:
            logger.error("an edited message could not be stored", extra={"reason": str(error)})
            return False
        if changed is not None and self._on_change is not None:
            self._on_change(message.channel_id, changed, message.text)
        return changed is not None

    async def on_delete(self, channel_id: int, message_ids: Collection[str]) -> bool:
        """The messages are gone; whether any of them had been heard."""
        try:
            gone = await off_loop(self._revisions.record_deletions, channel_id=channel_id, message_ids=message_ids)
        except HistoryError as error:
            logger.error("a deleted message could not be taken back", extra={"reason": str(error)})
            return False
        self._tell_gone(channel_id, gone)
        return bool(gone)

    async def on_purge(self, channel_id: int, *, since: datetime, of: Author | None = None, ours: bool) -> bool:
        """All that was said since then is gone, or all that *of* said; our own words where *ours*. As `on_delete`."""
        purge = partial(self._revisions.record_purge, channel_id=channel_id, since=since, of=of, ours=ours)
        try:
            gone = await off_loop(purge)
        except HistoryError as error:
            logger.error("deleted messages could not be taken back", extra={"reason": str(error)})
            return False
        self._tell_gone(channel_id, gone)
        return bool(gone)

    def _tell_gone(self, channel_id: int, history_ids: Collection[int]) -> None:
        for history_id in history_ids:
            if self._on_change is not None:
                self._on_change(channel_id, history_id, None)
