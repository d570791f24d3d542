"""Which stored turns may be told in a place."""

from __future__ import annotations

from collections.abc import Iterable

from familiar_connect.audience import Audience, AudienceKind, Readers
from familiar_connect.disclosure import STRICT, Confidence, DisclosurePolicy, may_tell_words
from familiar_connect.history.types import HistoryTurn


def may_tell_turn(turn: HistoryTurn, here: Readers, policy: DisclosurePolicy = STRICT) -> bool:
    """Whether *turn* may be told *here*.

    A channel's own talk is told in it, unless it was hidden when something was said and is open now.
    """
    if turn.channel_id == here.channel_id:
        was_hidden = turn.audience.kind is AudienceKind.CHANNEL
        is_hidden = here.audience.kind is AudienceKind.CHANNEL
        if not was_hidden or is_hidden or here.is_owner or policy.confidence is not Confidence.strict:
            return True
    author = turn.author.canonical_key if turn.author is not None else None
    return may_tell_words(author, turn.audience, here, policy)


def only_tellable(turns: Iterable[HistoryTurn], here: Readers, policy: DisclosurePolicy = STRICT) -> list[HistoryTurn]:
    """Those of *turns* that may be told *here*, in their order."""
    return [turn for turn in turns if may_tell_turn(turn, here, policy)]


def only_since_opened(turns: Iterable[HistoryTurn], now: Audience | None) -> list[HistoryTurn]:
    """Those of a channel's own *turns* that its readers of now may be told; *now* is its audience at present.

    What was said while the channel was hidden is left out once it is open.
    """
    is_hidden = now is not None and now.kind is AudienceKind.CHANNEL
    return [turn for turn in turns if is_hidden or turn.audience.kind is not AudienceKind.CHANNEL]
