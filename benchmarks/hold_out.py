"""Would the ranking do as well on a dialogue that took no part in choosing its weights?

For each dialogue in turn the weights of all signals are fitted anew on the others, from nothing, and what is found in
it is ranked and shown by those. `python -m benchmarks.recall --data FILE --hold-out` prints this beside the weights as
they are shipped, dialogue by dialogue, and how far the dialogues lie apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from familiar_connect.memory.index.protocols import ExplainedScore, Recollection

Floats = NDArray[np.float64]

STEPS = 200
LEARNING_RATE = 0.1
KEEP_SMALL = 1e-3
"""How strongly weights are held near zero."""


@dataclass(frozen=True)
class AskedQuestion:
    """What was found for one question, and which of the wanted turns each hit is."""

    hits: list[Recollection]
    held: dict[str, list[int]]
    """Places of the wanted turns that a hit, by its key, holds."""
    wanted: dict[int, str]
    """The turns that answer, by their place."""

    @property
    def is_wanted(self) -> NDArray[np.bool_]:
        return np.array([bool(self.held[hit.key]) for hit in self.hits], dtype=bool)


def fit_weights(asked: Sequence[AskedQuestion]) -> dict[str, float]:
    """A factor for each signal as shipped, such that what was wanted stands before what was not."""
    usable = [each for each in asked if each.is_wanted.any() and not each.is_wanted.all()]
    names = sorted({name for each in usable for hit in each.hits for name in hit.explained.signals})
    if not names:
        return {}
    rows = np.concatenate([_matrix(each.hits, names) for each in usable])
    spread = rows.std(axis=0) + 1e-9
    rows = (rows - rows.mean(axis=0)) / spread
    lengths = np.array([len(each.hits) for each in usable])
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    goal = np.concatenate([each.is_wanted / each.is_wanted.sum() for each in usable])
    weights, momentum, scale = (np.zeros(len(names)) for _ in range(3))
    for step in range(1, STEPS + 1):
        scores = rows @ weights
        likely = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), lengths))
        likely /= np.repeat(np.add.reduceat(likely, starts), lengths)
        slope = (likely - goal) @ rows / len(usable) + KEEP_SMALL * weights
        momentum = 0.9 * momentum + 0.1 * slope
        scale = 0.99 * scale + 0.01 * slope**2
        weights -= LEARNING_RATE * (momentum / (1 - 0.9**step)) / (np.sqrt(scale / (1 - 0.99**step)) + 1e-8)
    return dict(zip(names, (weights / spread).tolist(), strict=True))


def rank_anew(hits: Sequence[Recollection], factors: dict[str, float]) -> list[Recollection]:
    """*hits* with every signal times its factor, best first."""
    scored = []
    for hit in hits:
        signals = {name: share * factors.get(name, 0.0) for name, share in hit.explained.signals.items()}
        scored.append(replace(hit, explained=ExplainedScore(sum(signals.values()), signals)))
    return sorted(scored, key=lambda hit: -hit.score)


def _matrix(hits: Sequence[Recollection], names: Sequence[str]) -> Floats:
    return np.array([[hit.explained.signals.get(name, 0.0) for name in names] for hit in hits])
