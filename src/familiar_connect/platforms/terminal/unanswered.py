"""What the program died over: questions of an earlier run in a chat at home, told to whoever asked them.

A terminal cannot be looked back at and a page may have shown half a reply, so nothing is answered anew unasked: the
words might stand there already. The sentence is shown until the person goes on talking or has the question answered.
"""

from __future__ import annotations

from familiar_connect.familiar import Familiar
from familiar_connect.history.types import DELETED, TurnMark
from familiar_connect.support.text import one_line, shorten
from familiar_connect.support.translate import tr

SHOWN = 3
"""Questions named at most; the latest."""
SHOWN_CHARS = 120


def describe_unanswered(familiar: Familiar, channel_id: int, *, remedy: str) -> str | None:
    """A sentence about what was asked in a chat and not answered, with the *remedy*; None: nothing is open."""
    history = familiar.history_store
    found = [
        history.turn_by_id(familiar_id=familiar.id, turn_id=turn_id)
        for turn_id in history.outbox.open_turns(familiar.id, channel_id)
    ]
    words = [
        f"“{shorten(one_line(turn.content), SHOWN_CHARS)}”"
        for turn in found
        if turn is not None and turn.mark is not TurnMark.undone and turn.content != DELETED
    ]
    if not words:
        return None
    told = (
        tr("The program stopped before it answered your question: {lines}. {remedy}")
        if len(words) == 1
        else tr("The program stopped before it answered your questions: {lines}. {remedy}")
    )
    return told.format(lines=", ".join(words[-SHOWN:]), remedy=remedy)
