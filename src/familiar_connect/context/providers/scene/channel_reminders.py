"""ChannelReminders: what people of a channel are to be reminded of there, for what is told of them."""

from __future__ import annotations

from collections.abc import Sequence

from familiar_connect.context.providers.scene.protocols import PendingReminder
from familiar_connect.context.types import ContextRequest
from familiar_connect.history.orders.reminders import ReminderBook
from familiar_connect.support.aio import off_loop


class ChannelReminders:
    """Those of the place that is answered; what somebody asked for elsewhere is not told here."""

    def __init__(self, book: ReminderBook) -> None:
        self._book = book

    async def pending(self, request: ContextRequest) -> Sequence[PendingReminder]:
        found = await off_loop(self._book.of_channel, request.channel_id)
        return [
            PendingReminder(id=str(each.id), purpose=each.purpose, due_at=each.due_at, recipient=each.author)
            for each in found
        ]
