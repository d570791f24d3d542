"""Whose turn it is in a group: a pure function, bounded, and the same for the same seed."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.config.groups import TurnOrder
from familiar_connect.conversation.groups.turn_order import (
    GroupSpeaker,
    TurnRules,
    choose_follow_up,
    choose_speakers,
    names_of_speaker,
)

WREN = GroupSpeaker(id="wren", names=("Wren",))
EMBER = GroupSpeaker(id="ember", names=("Ember",))
MIRA = GroupSpeaker(id="mira", names=("Mira", "Lady Mira"))
EVERYONE = (WREN, EMBER, MIRA)

NAMES = ("wren", "ember", "mira", "sable", "tarn")
SPEAKERS = st.lists(st.sampled_from(NAMES), unique=True, max_size=5).flatmap(
    lambda ids: st.tuples(
        *(
            st.builds(
                GroupSpeaker,
                id=st.just(id_),
                names=st.just((id_.title(),)),
                talkativeness=st.floats(0, 1),
                is_muted=st.booleans(),
            )
            for id_ in ids
        )
    )
)
RULES = st.builds(
    TurnRules,
    order=st.sampled_from(TurnOrder),
    allow_self_responses=st.booleans(),
    max_replies=st.integers(1, 6),
)
TEXT = st.lists(st.sampled_from((*NAMES, "hello,", "WREN!", "and", "\n", "ember's")), max_size=8).map(" ".join)


def quiet(*ids: str) -> tuple[GroupSpeaker, ...]:
    """Members who never speak by chance."""
    return tuple(GroupSpeaker(id=id_, names=(id_.title(),), talkativeness=0) for id_ in ids)


@given(SPEAKERS, RULES, TEXT, st.lists(st.sampled_from(NAMES)), st.booleans(), st.integers())
def test_a_round_is_bounded_and_repeats_under_a_seed(
    speakers: tuple[GroupSpeaker, ...], rules: TurnRules, text: str, spoken: list[str], is_from_person: bool, seed: int
) -> None:
    """At least one speaks unless all are muted or wait to be asked, nobody twice, never too many, nobody muted."""

    def chosen() -> tuple[str, ...]:
        rng = random.Random(seed)
        return choose_speakers(speakers, rules, text=text, spoken=spoken, is_from_person=is_from_person, rng=rng)

    able = {each.id for each in speakers if not each.is_muted}
    assert chosen() == chosen()
    assert set(chosen()) <= able
    assert len(set(chosen())) == len(chosen()) <= rules.max_replies
    waits = rules.order is TurnOrder.manual and is_from_person
    assert bool(chosen()) == (bool(able) and not waits)


@given(SPEAKERS, RULES, st.lists(TEXT, min_size=30, max_size=30), st.integers())
def test_members_who_name_each_other_come_to_an_end(
    speakers: tuple[GroupSpeaker, ...], rules: TurnRules, replies: list[str], seed: int
) -> None:
    """Whatever they say, a round has no more replies than its limit, and no member has two."""
    waiting = list(choose_speakers(speakers, rules, text="", rng=random.Random(seed)))
    spoken: list[str] = []
    while waiting:
        spoken.append(waiting.pop(0))
        follower = choose_follow_up(speakers, rules, text=replies[len(spoken)], spoken={*spoken, *waiting})
        waiting += [follower] if follower else []

    assert len(spoken) <= rules.max_replies
    assert max(Counter(spoken).values(), default=0) <= 1


@given(st.permutations(NAMES), st.integers())
def test_who_is_named_speaks_first_and_in_that_order(named: list[str], seed: int) -> None:
    """In natural order a name counts more than chance."""
    text = " and ".join(named[:3])

    chosen = choose_speakers(quiet(*NAMES), TurnRules(), text=text, rng=random.Random(seed))

    assert list(chosen) == named[:3]


def test_talkativeness_is_how_often_somebody_speaks_unasked() -> None:
    """0 never but for a last resort, 1 always, and between them that share of the time."""
    speakers = (
        GroupSpeaker(id="always", talkativeness=1),
        GroupSpeaker(id="often", talkativeness=0.75),
        GroupSpeaker(id="never", talkativeness=0),
    )
    rng = random.Random(4)
    counts = Counter(id_ for _ in range(2000) for id_ in choose_speakers(speakers, TurnRules(), text="hi", rng=rng))

    assert counts["always"] == 2000
    assert counts["never"] == 0
    assert 1400 < counts["often"] < 1600


def test_where_nobody_is_talkative_one_speaks_all_the_same() -> None:
    """A message is never met with silence."""
    assert len(choose_speakers(quiet("wren", "ember"), TurnRules(), text="hi", rng=random.Random(1))) == 1


def test_by_hand_nobody_speaks_unasked() -> None:
    """Whoever is named; asked to go on, one does who has not spoken."""
    rules, rng = TurnRules(order=TurnOrder.manual), random.Random(0)
    on = choose_speakers(EVERYONE, rules, spoken=["wren", "mira"], is_from_person=False, rng=rng)

    assert choose_speakers(EVERYONE, rules, text="Mira?", rng=rng) == ()
    assert on == ("ember",)


def test_list_order_is_everybody_in_turn() -> None:
    """As the group's file has them, without the muted."""
    rules = TurnRules(order=TurnOrder.list)
    silent = GroupSpeaker(id="ember", is_muted=True)

    assert choose_speakers(EVERYONE, rules, text="Mira?", rng=random.Random(0)) == ("wren", "ember", "mira")
    assert choose_speakers((WREN, silent, MIRA), rules, rng=random.Random(0)) == ("wren", "mira")


@pytest.mark.parametrize("seed", range(20))
def test_pooled_order_draws_who_has_not_spoken_yet(seed: int) -> None:
    """One at a time; once all have spoken, anyone but the last."""
    rules, rng = TurnRules(order=TurnOrder.pooled), random.Random(seed)

    def go_on(*spoken: str) -> tuple[str, ...]:
        return choose_speakers(EVERYONE, rules, spoken=spoken, is_from_person=False, rng=rng)

    assert len(choose_speakers(EVERYONE, rules, text="hi", rng=rng)) == 1
    assert go_on("wren", "mira") == ("ember",)
    assert go_on("wren", "mira", "ember") in (("wren",), ("mira",))


@pytest.mark.parametrize("seed", range(20))
def test_who_spoke_last_does_not_answer_itself_unless_allowed(seed: int) -> None:
    """Also where its own words name it."""
    rules = TurnRules(allow_self_responses=False)
    loud = tuple(GroupSpeaker(id=id_, names=(id_.title(),), talkativeness=1) for id_ in ("wren", "ember"))

    def go_on(rules: TurnRules) -> tuple[str, ...]:
        rng = random.Random(seed)
        return choose_speakers(loud, rules, text="I, Wren", spoken=["wren"], is_from_person=False, rng=rng)

    assert go_on(rules) == ("ember",)
    assert go_on(TurnRules(allow_self_responses=True)) == ("wren", "ember")


def test_a_member_named_by_another_answers_once() -> None:
    """Not the one who spoke, not who has spoken or is about to, and only in natural order."""
    rules = TurnRules()

    assert choose_follow_up(EVERYONE, rules, text="What do you say, Mira? Ember?", spoken=["wren"]) == "mira"
    assert choose_follow_up(EVERYONE, rules, text="What do you say, Mira?", spoken=["wren", "mira"]) is None
    assert choose_follow_up(EVERYONE, rules, text="I am Wren.", spoken=["wren"]) is None
    assert choose_follow_up(EVERYONE, TurnRules(max_replies=1), text="Mira?", spoken=["wren"]) is None
    assert choose_follow_up(EVERYONE, TurnRules(order=TurnOrder.list), text="Mira?", spoken=["wren"]) is None


def test_a_name_of_several_words_is_called_by_each_but_its_title() -> None:
    """And by whatever else the settings say."""
    assert names_of_speaker("Lady Ember the Bright", "Em") == ("Lady Ember the Bright", "Ember", "Bright", "Em")
    assert names_of_speaker("Wren", "wren") == ("Wren", "wren")
