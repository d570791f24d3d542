"""Weights fitted without a dialogue."""

from __future__ import annotations

from benchmarks.hold_out import AskedQuestion, fit_weights, rank_anew
from familiar_connect.memory.index.protocols import ExplainedScore, Recollection


def hit(key: str, **signals: float) -> Recollection:
    return Recollection(source="turn", key=key, text=key, explained=ExplainedScore(sum(signals.values()), signals))


def test_what_answers_in_other_dialogues_is_ranked_first() -> None:
    """The signal that told the answers apart there counts, the one that misled does not."""
    hits = [hit("loud", words=3.0), hit("near", meaning=1.0), hit("plain", words=0.5, meaning=0.1)]
    held: dict[str, list[int]] = {"loud": [], "near": [4], "plain": []}

    factors = fit_weights([AskedQuestion(hits, held, {4: "near"})])

    assert rank_anew(hits, factors)[0].key == "near"


def test_nothing_found_gives_no_weights() -> None:
    """Where no question had its answer among the hits there is nothing to learn."""
    assert fit_weights([AskedQuestion([hit("a", words=1.0)], {"a": []}, {1: "b"})]) == {}
