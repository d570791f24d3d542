"""The tool `set_reminder`: the speaker is reminded of something later, in this place."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo

from familiar_connect.context.types import ContextRequest
from familiar_connect.errors import HistoryError
from familiar_connect.history.reminders import MAX_PURPOSE_CHARS, ReminderBook
from familiar_connect.identity import Privacy
from familiar_connect.support.aio import run_to_end
from familiar_connect.support.future_time import parse_future_time
from familiar_connect.support.recurrence import parse_recurrence
from familiar_connect.tools.types import SET_REMINDER, Outcome, Refusal, Status, Tool, text_argument, tool_spec

MAX_PER_REPLY = 3


class SetReminderTool:
    """Keeps reminders for whoever is answered, a few in a reply."""

    def __init__(self, book: ReminderBook, request: ContextRequest, privacy: Privacy, zone: tzinfo) -> None:
        self._book = book
        self._request = request
        self._privacy = privacy
        self._zone = zone
        self._set = 0

    def tool(self) -> Tool:
        return Tool(
            tool_spec(
                SET_REMINDER,
                "Remind the person you answer of something later, here. Only when they ask for it.",
                "when",
                "purpose",
                when={
                    "type": "string",
                    "description": "In their words or as a date and time: tomorrow at nine, in 20 minutes,"
                    " 2030-01-31 14:30; for one that comes again: every weekday at 9, every 2 hours, daily.",
                },
                purpose={"type": "string", "maxLength": MAX_PURPOSE_CHARS},
            ),
            self.run,
        )

    async def run(self, given: Mapping[str, object]) -> Outcome:
        when, purpose = text_argument(given, "when"), text_argument(given, "purpose")
        request, turn = self._request, self._request.turn
        if request.author is None or (turn is not None and turn.flags.disable_task_creation):
            raise Refusal(Status.disabled, "nothing can be set in this turn; go on without it")
        if self._privacy.is_full(request.author):
            raise Refusal(Status.privacy_restricted, "nothing is kept of this person")
        if self._set >= MAX_PER_REPLY:
            raise Refusal(Status.limit, f"{MAX_PER_REPLY} reminders are enough for a reply")
        now = request.now or datetime.now(UTC)
        again = parse_recurrence(when, now, self._zone)
        found = again or parse_future_time(when, now, self._zone)
        if found is None:
            raise Refusal(Status.invalid_arguments, "`when` is no time I know: write it as 2030-01-31 14:30")
        self._set += 1
        try:
            stored = await run_to_end(
                self._book.set(
                    request.author,
                    purpose,
                    found.at,
                    channel_id=request.channel_id,
                    guild_id=request.guild_id,
                    repeats=again.rule if again is not None else None,
                )
            )
        except HistoryError as error:
            raise Refusal(Status.limit, str(error)) from error
        due = stored.due_at.astimezone(self._zone)
        told = {"id": stored.id, "due": f"{due:%A, %Y-%m-%d %H:%M}"}
        if stored.repeats is not None:
            told["comes_again"] = stored.repeats.words
        return Outcome(Status.saved, "the reminder is set", told)
