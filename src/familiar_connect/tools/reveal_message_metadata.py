"""The tool `reveal_message_metadata`: who sent the recent messages, and when."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, tzinfo

from familiar_connect.chat.types import SimplifiedMessage
from familiar_connect.context.types import ContextRequest
from familiar_connect.support.system_notes import speaker_name
from familiar_connect.tools.types import (
    REVEAL_MESSAGE_METADATA,
    Outcome,
    Refusal,
    Status,
    Tool,
    text_argument,
    tool_spec,
)

MOST_MESSAGES = 40


class MessageMetadataTool:
    """Tells when the messages of the conversation were sent, under handles instead of ids; once in a turn."""

    def __init__(self, request: ContextRequest, zone: tzinfo = UTC) -> None:
        self._request = request
        self._zone = zone
        self._done = False

    def tool(self) -> Tool:
        return Tool(
            tool_spec(
                REVEAL_MESSAGE_METADATA,
                "List handle, author and time of the recent messages, also of those shown as one turn.",
                ref={"type": "string", "description": "Only the turn with this handle, such as ref_3."},
            ),
            self.run,
        )

    async def run(self, given: Mapping[str, object]) -> Outcome:
        wanted = text_argument(given, "ref", required=False)
        turn = self._request.turn
        if turn is None or not turn.messages:
            raise Refusal(Status.not_found, "nothing is known of earlier messages")
        if self._done:
            raise Refusal(Status.limit, "this was told already")
        entries = turn.messages[-MOST_MESSAGES:]
        if wanted:
            real = turn.message_ids.resolve(wanted)
            entries = tuple(each for each in turn.messages if real and real in (each.id, *each.combined_message_ids))
            if not entries:
                raise Refusal(Status.not_found, "there is no message of that handle")
        self._done = True
        lines = [line for entry in entries for line in self._lines(entry)]
        return Outcome(Status.found, "messages, oldest first", {"messages": lines[-MOST_MESSAGES:]})

    def _lines(self, entry: SimplifiedMessage) -> list[str]:
        turn = self._request.turn
        if turn is None or entry.author_kind == "system":
            return []
        ids = entry.combined_message_ids or (entry.id,)
        times = entry.combined_created_ats or (entry.created_at,)
        lines: list[str] = []
        for id_, when in zip(ids, times, strict=False):
            told = f"{when.astimezone(self._zone):%Y-%m-%d %H:%M:%S}" if when is not None else "at an unknown time"
            lines.append(f"{turn.message_ids.register(id_)} {speaker_name(entry.author_name)} {told}")
        return lines
