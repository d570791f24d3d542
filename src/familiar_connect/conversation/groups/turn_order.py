"""Who of several familiars speaks next, and in which order.

Pure: the same speakers, words and random source give the same answer. The four orders are SillyTavern's. Whatever the
order, nobody speaks twice in one round and a round has an end, so that familiars never answer each other for ever.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from familiar_connect.config.groups import DEFAULT_TALKATIVENESS, TurnOrder
from familiar_connect.conversation.name_match import name_position

_NO_NAMES = frozenset(
    {"the", "and", "von", "van", "der", "del", "lady", "lord", "sir", "mrs", "miss", "mister", "doctor", "captain"}
)
"""Words of a name that nobody is called by."""
LEAST_WORD_CHARS = 3


@dataclass(frozen=True, kw_only=True)
class GroupSpeaker:
    """One member of a group, as far as it matters whose turn it is."""

    id: str
    names: tuple[str, ...] = ()
    """What it is called by, in any spelling."""
    talkativeness: float = DEFAULT_TALKATIVENESS
    """How likely it speaks without being named: 0 never, 1 always."""
    is_muted: bool = False


@dataclass(frozen=True, kw_only=True)
class TurnRules:
    """How a group takes turns."""

    order: TurnOrder = TurnOrder.natural
    allow_self_responses: bool = False
    """Whether who spoke last may go on, where nobody else said anything since."""
    max_replies: int = 8
    """The most replies of one round."""


def names_of_speaker(name: str, *others: str) -> tuple[str, ...]:
    """What somebody called *name* answers to: the name, its words but for titles, and *others*."""
    words = name.split()
    parts = [word for word in words if len(word) >= LEAST_WORD_CHARS and word.casefold() not in _NO_NAMES]
    return tuple(dict.fromkeys(filter(None, (name, *(parts if len(words) > 1 else ()), *others))))


def choose_speakers(
    speakers: Sequence[GroupSpeaker],
    rules: TurnRules,
    *,
    text: str = "",
    spoken: Sequence[str] = (),
    is_from_person: bool = True,
    rng: random.Random,
) -> tuple[str, ...]:
    """Whose turn it is after *text*, in order; nobody only where everybody is muted or waits to be asked.

    *spoken* are those who have spoken since a person last did, the latest last. Without *is_from_person* the group is
    asked to go on by itself.
    """
    able = [each for each in speakers if not each.is_muted]
    if not able:
        return ()
    last = spoken[-1] if spoken and not is_from_person else None
    match rules.order:
        case TurnOrder.list:
            chosen = [each.id for each in able]
        case TurnOrder.pooled:
            chosen = [_draw_pooled(able, () if is_from_person else spoken, rng)]
        case TurnOrder.manual:
            chosen = [] if is_from_person else [_draw_pooled(able, spoken, rng)]
        case TurnOrder.natural:
            chosen = _choose_natural(able, text, None if rules.allow_self_responses else last, rng)
    return tuple(dict.fromkeys(chosen))[: max(1, rules.max_replies)]


def choose_follow_up(
    speakers: Sequence[GroupSpeaker], rules: TurnRules, *, text: str, spoken: Collection[str]
) -> str | None:
    """Who answers a member that said *text*: whoever it names first and who is not among *spoken* yet; else nobody.

    Only in natural order; *spoken* are all of this round, those whose turn is still to come included.
    """
    if rules.order is not TurnOrder.natural or len(spoken) >= rules.max_replies:
        return None
    able = [each for each in speakers if not each.is_muted and each.id not in spoken]
    return next(iter(_find_named(able, text)), None)


def _choose_natural(able: list[GroupSpeaker], text: str, banned: str | None, rng: random.Random) -> list[str]:
    """Those who are named, in that order; then those whom chance and their talkativeness let speak; at least one."""
    free = [each for each in able if each.id != banned] or able
    chosen = _find_named(free, text)
    chosen += [each.id for each in _shuffle(free, rng) if rng.random() < each.talkativeness]
    if not chosen:
        chosen = [rng.choice([each for each in free if each.talkativeness > 0] or free).id]
    return chosen


def _draw_pooled(able: list[GroupSpeaker], spoken: Sequence[str], rng: random.Random) -> str:
    """One who has not spoken since a person did; where all have, anyone but the last."""
    silent = [each for each in able if each.id not in spoken]
    others = [each for each in able if each.id != spoken[-1]] if spoken else []
    return rng.choice(silent or others or able).id


def _find_named(able: Sequence[GroupSpeaker], text: str) -> list[str]:
    places = {each.id: name_position(text, each.names) for each in able}
    named = [(place, id_) for id_, place in places.items() if place is not None]
    return [id_ for _, id_ in sorted(named)]


def _shuffle(able: list[GroupSpeaker], rng: random.Random) -> list[GroupSpeaker]:
    return rng.sample(able, len(able))
