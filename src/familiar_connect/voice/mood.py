"""How the room feels: a small bias on whether the familiar talks on when talked over."""

from __future__ import annotations

import logging
import re

from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn
from familiar_connect.llm.protocols import SideModel
from familiar_connect.llm.types import Message, capabilities_of
from familiar_connect.support.aio import off_loop

RECENT_TURNS = 6
MAX_BIAS = 0.5
MAX_LINE_CHARS = 500

_NUMBER = re.compile(r"[-+]?\d*\.?\d+")
_QUESTION = (
    "Above are the last lines of a conversation. How heated is it, as a number from -0.5 (tender, hushed: give way) "
    "to 0.5 (lively, quarrelsome: talk on)? Answer with the number alone."
)

logger = logging.getLogger(__name__)


class MoodEvaluator:
    """Asks a side model; without one, or without talk, the mood is even."""

    def __init__(self, llm_client: SideModel | None = None, history_store: HistoryStore | None = None) -> None:
        self._llm_client = llm_client
        self._history_store = history_store

    @classmethod
    def for_model(cls, model: SideModel, history: HistoryStore) -> MoodEvaluator:
        """One that asks *model*, if that can do such a task."""
        return cls(model if capabilities_of(model).side_tasks else None, history)

    async def evaluate(self, channel_id: int = 0, familiar_id: str = "") -> float:
        """-0.5 to 0.5; 0 where it cannot be told."""
        if self._llm_client is None or self._history_store is None:
            return 0.0
        turns = await off_loop(
            self._history_store.recent, familiar_id=familiar_id, channel_id=channel_id, limit=RECENT_TURNS
        )
        if not turns:
            return 0.0
        talk = "\n".join(f"{_speaker(turn)}: {turn.content[:MAX_LINE_CHARS]}" for turn in turns)
        try:
            answer = await self._llm_client.chat([Message(role="user", content=f"{talk}\n\n{_QUESTION}")])
        except Exception as error:  # whatever a client raises, the mood is even
            logger.warning("the mood of the room could not be told", extra={"error": type(error).__name__})
            return 0.0
        found = _NUMBER.search(str(answer.content))
        return max(-MAX_BIAS, min(MAX_BIAS, float(found[0]))) if found else 0.0


def _speaker(turn: HistoryTurn) -> str:
    return turn.author.label if turn.author is not None else turn.role
