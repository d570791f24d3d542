"""Which stored turns may be told in a place."""

from __future__ import annotations

import json
from collections.abc import Iterable

from familiar_connect.audience import AudienceKind, Readers
from familiar_connect.disclosure import STRICT, Confidence, DisclosurePolicy, may_tell, may_tell_words
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn
from familiar_connect.support.sqlite import Row


def may_tell_turn(turn: HistoryTurn, here: Readers, policy: DisclosurePolicy = STRICT) -> bool:
    """Whether *turn* may be told *here*.

    A channel's own talk is told in it, unless it was hidden when something was said and lets others in now.
    """
    if turn.channel_id == here.channel_id:
        was_hidden = turn.audience.kind is AudienceKind.CHANNEL
        if not was_hidden or here.is_owner or policy.confidence is not Confidence.strict:
            return True
    author = turn.author.canonical_key if turn.author is not None else None
    return may_tell_words(author, turn.audience, here, policy)


def turns_alike(
    history: HistoryStore,
    *,
    familiar_id: str,
    turn_ids: Iterable[int],
    known: dict[Row, HistoryTurn] | None = None,
) -> list[tuple[HistoryTurn, list[int]]]:
    """The turns of these ids that one person said in one place to the same people: one of them without its words, and
    the ids of all. Where one may be told each may; far quicker than looking at every one.

    *known* holds such turns by what they are alike in, and gets the new ones: whoever asks about many ids, some at a
    time, reads each of them once.
    """
    rows = history.database.read(
        "SELECT id, author_platform, author_user_id, author_username, author_display_name, channel_id, guild_id,"
        " audience FROM turns WHERE +familiar_id = ? AND id IN (SELECT value FROM json_each(?))",
        (familiar_id, json.dumps(sorted(set(turn_ids)))),
    )
    alike: dict[Row, list[int]] = {}
    for id_, *facts in rows:
        alike.setdefault(tuple(facts), []).append(id_)
    known = known if known is not None else {}
    new = {ids[0]: facts for facts, ids in alike.items() if facts not in known}
    firsts = history.turns_without_words(familiar_id=familiar_id, turn_ids=new) if new else {}
    known.update((new[turn_id], turn) for turn_id, turn in firsts.items())
    return [(known[facts], ids) for facts, ids in alike.items() if facts in known]


def only_tellable(turns: Iterable[HistoryTurn], here: Readers, policy: DisclosurePolicy = STRICT) -> list[HistoryTurn]:
    """Those of *turns* that may be told *here*, in their order."""
    return [turn for turn in turns if may_tell_turn(turn, here, policy)]


def readers_last_known(history: HistoryStore, familiar_id: str, channel_id: int) -> Readers | None:
    """Who could read a channel when it was last looked at; None where nothing was said there.

    Where this run has not looked yet, those its newest turn was said to.
    """
    known = history.channel_readers.now.get(channel_id)
    if known is not None:
        return known
    last = history.channel_audience(familiar_id=familiar_id, channel_id=channel_id)
    return Readers(last, platform=last.platform, channel_id=channel_id) if last is not None else None


def only_since_opened(turns: Iterable[HistoryTurn], here: Readers | None) -> list[HistoryTurn]:
    """Those of a channel's own *turns* that its readers of now may be told.

    What was said while the channel was hidden is left out once it lets others in; where nobody knows who reads it
    now, it is left out too.
    """
    return [
        turn
        for turn in turns
        if turn.audience.kind is not AudienceKind.CHANNEL or (here is not None and may_tell(turn.audience, here))
    ]
