"""Nearness that means the same whatever the embedder: where all texts lie near each other, only more than that counts.

A multilingual embedder puts all texts close to each other, 0.75 and more apart for some. The weights and the floor were
learnt where things that have nothing in common are about 0.1 apart, give or take 0.09, and so others are brought to
that. What ours says of languages it never learnt is left as it is, though any two German lines lie 0.3 and two Spanish
ones 0.5 apart: brought down, too, three of 240 questions lost what they ask for, and small talk found hardly less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from familiar_connect.memory.index.ranking import (
    CosineLookup,
    Floats,
    LexicalScores,
    SentenceLookup,
    cosines_by_words,
    no_sentences,
)
from familiar_connect.memory.index.storage import Numbers, Similarities, Vector, Vectors

USUAL, USUAL_SPREAD = 0.1, 0.09
"""How near two English texts are to each other by chance."""
MOST_USUAL = 0.6
"""Up to here nothing is brought down; English gives up to 0.16 with the embedder we ship, Spanish 0.6."""
FEWEST_ROWS = 30
"""Of fewer nobody can tell what is usual."""
LEAST_SPREAD = 0.01


@dataclass(frozen=True)
class Level:
    """How near the rows of an index are to one question, by and large."""

    mean: float
    spread: float

    def bring(self, cosines: NDArray[np.floating]) -> NDArray[np.float64]:
        """*cosines* as they would be where what has nothing in common is as far apart as in English."""
        return np.minimum(1.0, USUAL + (cosines.astype(np.float64) - self.mean) * (USUAL_SPREAD / self.spread))

    def take_back(self, brought: NDArray[np.floating]) -> NDArray[np.float64]:
        """The cosines that were *brought* there."""
        return self.mean + (brought.astype(np.float64) - USUAL) * (self.spread / USUAL_SPREAD)


def find_level(cosines: NDArray[np.floating]) -> Level | None:
    """What is to be brought back to the usual; None: it lies there already, or there is too little to tell."""
    if len(cosines) < FEWEST_ROWS or (mean := float(cosines.mean())) <= MOST_USUAL:
        return None
    return Level(mean, max(LEAST_SPREAD, float(cosines.std())))


def compare_on_level(
    rows: Vectors, best_sentences: Callable[[Vector, Numbers, Floats], Floats], vector: Vector | None
) -> tuple[Similarities | None, SentenceLookup]:
    """How near every one of *rows* is to *vector*, and how to look up the best sentence of each, on the usual level."""
    if vector is None:
        return None, no_sentences
    near = rows.compare(vector)
    level = find_level(near.cosines)
    if level is None:
        return near, lambda units, whole: best_sentences(vector, units, whole)
    levelled = replace(near, cosines=level.bring(near.cosines).astype(np.float32))
    return levelled, lambda units, whole: level.bring(best_sentences(vector, units, level.take_back(whole)))


def cosines_or_words(near: Similarities, lexical: LexicalScores) -> CosineLookup:
    """How near units are; those that have no vector yet, or no longer, as near as their words let expect."""

    def look_up(units: Numbers) -> Floats:
        cosines = near.of(units, missing=np.nan)
        missing = np.isnan(cosines)
        if missing.any():
            cosines[missing] = cosines_by_words(lexical, units[missing])
        return cosines

    return look_up
