"""What is worth keeping, measured on weeks of talk."""

from __future__ import annotations

import pytest

from benchmarks.keeping import BAR_KEPT, BAR_LASTING, read_by_rules, score_quotes
from benchmarks.talk import read_scenes


@pytest.mark.parametrize("is_open", [True, False])
def test_lasting_facts_are_kept_and_chatter_is_not(is_open: bool) -> None:
    """On the half that the rules were tuned on and on the one that was held back."""
    scenes = read_scenes()
    score = score_quotes(read_by_rules(scenes), scenes, is_open=is_open)

    assert score.kept_share >= BAR_KEPT
    assert score.lasting_share >= BAR_LASTING


def test_there_are_weeks_of_talk() -> None:
    """Two hundred facts and six hundred lines of chatter, in both halves, and each fact stands in its line."""
    lines = [line for scene in read_scenes() for line in scene.lines]
    facts = [fact for line in lines for fact in line.facts]
    older = {fact.older for fact in facts if fact.older}

    assert len({fact.name for fact in facts}) == len(facts)
    assert older <= {fact.name for fact in facts}
    assert len(facts) - len(older) >= 200
    assert sum(not line.facts and not line.is_disputed for line in lines) >= 600
    assert all(line.tells(line.words) == list(line.facts) for line in lines)
    assert 0.4 <= sum(fact.is_open for fact in facts) / len(facts) <= 0.6
