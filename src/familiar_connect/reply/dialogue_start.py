"""DialogueStarts: a chat begun anew, or begun with a summary of what was; the same through every door.

Nothing is taken out of the history, and memory stays: only the dialogue that the model is shown begins later.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from familiar_connect.conversation.queue import ReplyQueue
from familiar_connect.errors import HistoryError
from familiar_connect.history.dialogue_starts import DialogueStart, StartKind
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.turn_visibility import only_since_opened, readers_last_known, without_private_turns
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Privacy
from familiar_connect.support.aio import off_loop

COMPACTED_TURNS = 200
"""Turns that one summary is made of, the newest; what is older is in the rolling summary."""
LEAST_TURNS = 2
NOTHING_SINCE = "Nothing has been said here since the chat was restarted."
TOO_SHORT = "There is too little here to summarise."

Summarise = Callable[[Sequence[HistoryTurn], str], Awaitable[str]]


class DialogueStarts:
    """Where the chats of one familiar begin."""

    def __init__(
        self, familiar_id: str, history: HistoryStore, *, queue: ReplyQueue, privacy: Privacy, summarise: Summarise
    ) -> None:
        """*summarise* makes the summary of turns and of the summary before them."""
        self._familiar_id = familiar_id
        self._history = history
        self._queue = queue
        self._privacy = privacy
        self._summarise = summarise

    async def reset(self, channel_id: int) -> None:
        """Show nothing of what was said here so far any more."""
        await self._queue.wait_until_channel_idle(channel_id)
        mark, turns = await off_loop(self._covered, channel_id)
        if not turns and (mark is None or mark.kind is StartKind.reset):
            raise HistoryError(NOTHING_SINCE if mark is not None else "Nothing has been said here yet.")
        newest = turns[-1].id if turns else mark.after_id if mark is not None else 0
        await off_loop(self._put, channel_id, StartKind.reset, newest, "")

    async def compact(self, channel_id: int) -> str:
        """Show a summary in place of what was said here so far; the summary."""
        await self._queue.wait_until_channel_idle(channel_id)
        mark, turns = await off_loop(self._covered, channel_id)
        if len(turns) < LEAST_TURNS:
            raise HistoryError(TOO_SHORT)
        told = without_private_turns(turns, self._privacy)
        summary = await self._summarise(told, mark.summary if mark is not None else "")
        await off_loop(self._put, channel_id, StartKind.compact, turns[-1].id, summary)
        return summary

    async def undo(self, channel_id: int, kind: StartKind) -> None:
        """Show again what the last mark hid."""
        is_gone = await off_loop(
            self._history.take_back_start, familiar_id=self._familiar_id, channel_id=channel_id, kind=kind
        )
        if not is_gone:
            raise HistoryError(
                f"The last thing done to this chat was not /{kind.value}, so there is nothing to revert."
            )

    def _covered(self, channel_id: int) -> tuple[DialogueStart | None, list[HistoryTurn]]:
        """The mark in force, and the turns since it."""
        familiar_id = self._familiar_id
        mark = self._history.dialogue_starts.newest(familiar_id, channel_id)
        turns = self._history.recent(familiar_id=familiar_id, channel_id=channel_id, limit=COMPACTED_TURNS)
        turns = only_since_opened(turns, readers_last_known(self._history, familiar_id, channel_id))
        return mark, turns if mark is None else [turn for turn in turns if turn.id > mark.after_id]

    def _put(self, channel_id: int, kind: StartKind, after_id: int, summary: str) -> None:
        self._history.start_dialogue(
            familiar_id=self._familiar_id, channel_id=channel_id, kind=kind, after_id=after_id, summary=summary
        )
