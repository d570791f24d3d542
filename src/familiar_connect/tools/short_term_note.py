"""The tool `short_term_note`: a summary of the conversation, kept for some hours."""

from __future__ import annotations

from collections.abc import Mapping

from familiar_connect.context.types import ContextRequest
from familiar_connect.memory.short_term import MAX_SUMMARY_CHARS
from familiar_connect.support.aio import off_loop, run_to_end
from familiar_connect.tools.protocols import SummaryKeeper
from familiar_connect.tools.types import SHORT_TERM_NOTE, Outcome, Refusal, Status, Tool, text_argument, tool_spec


class ShortTermNoteTool:
    """Keeps what the conversation comes to; once in a turn, and nobody is told."""

    def __init__(self, keeper: SummaryKeeper, request: ContextRequest) -> None:
        self._keeper = keeper
        self._request = request
        self._done = False

    def tool(self) -> Tool:
        return Tool(
            tool_spec(
                SHORT_TERM_NOTE,
                "Keep a short summary of this conversation for the next hours. Replaces the earlier one.",
                "summary",
                summary={"type": "string", "maxLength": MAX_SUMMARY_CHARS},
            ),
            self.run,
        )

    async def run(self, given: Mapping[str, object]) -> Outcome:
        summary = text_argument(given, "summary")[:MAX_SUMMARY_CHARS]
        request, turn = self._request, self._request.turn
        if turn is not None and turn.flags.explicit_long_term_memory_intent:
            raise Refusal(Status.disabled, "this is to be kept for good, not for a while")
        if turn is not None and turn.flags.disable_short_term_memory_update:
            raise Refusal(Status.disabled, "nothing is kept of this turn; go on without it")
        if self._done or request.author is None:
            raise Refusal(Status.limit, "the summary was written already in this reply")
        self._done = True
        kept = await run_to_end(
            off_loop(
                self._keeper.write_summary,
                summary,
                familiar_id=request.familiar_id,
                persona=turn.persona if turn is not None else "",
                channel_id=request.channel_id,
                guild_id=request.guild_id,
                author=request.author,
            )
        )
        if not kept:
            raise Refusal(Status.privacy_restricted, "nothing is kept of this conversation")
        return Outcome(Status.saved, "the summary is kept; go on without mentioning it")
