"""Which stored turns may be told in a place."""

from __future__ import annotations

import json
from collections.abc import Iterable

from familiar_connect.audience import Audience, AudienceKind, Readers
from familiar_connect.disclosure import STRICT, Confidence, DisclosurePolicy, may_tell_words
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn
from familiar_connect.support.sqlite import Row


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


def turns_alike(
    history: HistoryStore, *, familiar_id: str, turn_ids: Iterable[int]
) -> list[tuple[HistoryTurn, list[int]]]:
    """The turns of these ids that one person said in one place to the same people: one of them without its words, and
    the ids of all. Where one may be told each may; far quicker than looking at every one.
    """
    rows = history.database.read(
        "SELECT id, author_platform, author_user_id, author_username, author_display_name, channel_id, guild_id,"
        " audience FROM turns WHERE +familiar_id = ? AND id IN (SELECT value FROM json_each(?))",
        (familiar_id, json.dumps(sorted(set(turn_ids)))),
    )
    alike: dict[Row, list[int]] = {}
    for id_, *facts in rows:
        alike.setdefault(tuple(facts), []).append(id_)
    firsts = history.turns_without_words(familiar_id=familiar_id, turn_ids=[ids[0] for ids in alike.values()])
    return [(firsts[ids[0]], ids) for ids in alike.values() if ids[0] in firsts]


def only_tellable(turns: Iterable[HistoryTurn], here: Readers, policy: DisclosurePolicy = STRICT) -> list[HistoryTurn]:
    """Those of *turns* that may be told *here*, in their order."""
    return [turn for turn in turns if may_tell_turn(turn, here, policy)]


def only_since_opened(turns: Iterable[HistoryTurn], now: Audience | None) -> list[HistoryTurn]:
    """Those of a channel's own *turns* that its readers of now may be told; *now* is its audience at present.

    What was said while the channel was hidden is left out once it is open.
    """
    is_hidden = now is not None and now.kind is AudienceKind.CHANNEL
    return [turn for turn in turns if is_hidden or turn.audience.kind is not AudienceKind.CHANNEL]
