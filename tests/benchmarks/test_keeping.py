"""What is worth keeping, measured on weeks of talk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.keeping import BAR_KEPT, BAR_LASTING, build_home, read_by_rules, score_quotes
from benchmarks.keeping_model import RecordedWriter, choose_scenes, count_kept, write_scenes
from benchmarks.remembering.model_server import Call, Recorder
from benchmarks.talk import read_scenes
from familiar_connect.memory.writing.extractive import ABOUT_HEADING


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


class _Babbler(Recorder):
    """A model whose answers nobody can use."""

    def __init__(self) -> None:
        """It asks nobody."""

    def ask(self, kind: str, payload: dict[str, Any]) -> Call:
        return Call(kind, "", "Hm.", 0, 0, 0.0)


async def test_what_is_taken_back_is_gone_wherever_all_hear_of_it(tmp_path: Path) -> None:
    """On the half that the rules were tuned on: only what was told to others than heard it taken back still stands."""
    home = await build_home(tmp_path)
    score = score_quotes(home.quotes_in("people", ABOUT_HEADING), home.scenes, is_open=True)

    assert score.taken_back == 5
    assert len(score.stale) == score.unheard == 1


async def test_a_model_that_writes_is_compared_on_facts_that_were_held_back(tmp_path: Path) -> None:
    """Forty of them; what the rules keep stands in the files though the model is of no use."""
    scenes, told = choose_scenes(40)
    few, asked = choose_scenes(3)
    writer = RecordedWriter(_Babbler())
    plain = count_kept(await write_scenes(tmp_path / "rules", few, None), asked)
    written = count_kept(await write_scenes(tmp_path / "model", few, writer), asked)

    assert len(told) == 40
    assert not any(fact.is_open for _, fact in told)
    assert len(scenes) > len(few)
    assert writer.calls > 0
    assert written.kept >= plain.kept > 0
