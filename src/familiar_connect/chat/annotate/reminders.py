"""A reminder that is due, as the last entry of the dialogue."""

from __future__ import annotations

from datetime import datetime, timedelta

from familiar_connect.chat.annotate.context import AnnotationContext
from familiar_connect.chat.annotate.embeds import SYSTEM
from familiar_connect.chat.types import Reminder, SimplifiedMessage
from familiar_connect.support.system_notes import note, quote_inline

LATE_AFTER = timedelta(minutes=5)
REMINDER_ID = "system-reminder"


def reminder_entry(reminder: Reminder, reading: AnnotationContext, now: datetime | None) -> SimplifiedMessage:
    """Author "System": what is due, for whom, and how late it is."""
    lines = [note(_what(reminder, reading))]
    if reminder.due_at is not None and now is not None and now - reminder.due_at >= LATE_AFTER:
        minutes = int((now - reminder.due_at).total_seconds() // 60)
        lines.append(note(f"this was due {minutes} minutes ago; say that it comes late"))
    return SimplifiedMessage(
        id=REMINDER_ID,
        author_id=REMINDER_ID,
        author_name=SYSTEM,
        author_type="user",
        author_kind="system",
        content="\n".join(lines),
        created_at=now,
        in_exchange=True,
    )


def _what(reminder: Reminder, reading: AnnotationContext) -> str:
    purpose = quote_inline(reminder.purpose)
    if reminder.recipient is None:
        return f"a task of your own is due now: {purpose}"
    name = reading.people.name_of(reminder.recipient)
    if reminder.is_bridge_user:
        return f"remind {name} now, who is on another platform and cannot be mentioned: {purpose}"
    return f"remind {name} now, mentioning them as @{name}: {purpose}"
