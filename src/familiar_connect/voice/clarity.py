"""Whether speech was made out: a recogniser that is unsure invents words, and they must not count as what was said.

What tells it is what the model says of itself: how probable its words are, how surely there was speech at all, and
whether it repeats itself. A recogniser for English that hears German gives English words, each of them a guess.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from typing import NamedTuple

LEAST_LOG_PROBABILITY = -0.75
"""Of the mean piece of a word, in natural logarithms: less is a guess."""
LEAST_LANGUAGE_PROBABILITY = 0.5
"""Where the recogniser finds the language out: less surely told, its words are guesses, too."""
MOST_NO_SPEECH = 0.6
"""From here on a piece is taken for noise and left out."""
MOST_COMPRESSION = 2.4
"""A text that can be packed to less than one part in so many says the same over and over."""
LEAST_COMPRESSED_CHARS = 60
"""Shorter texts hardly get shorter."""
_LOOP = re.compile(r"(?<!\w)(\w+(?:\W+\w+){0,5}?)(?:\W+\1(?!\w)){3,}", re.IGNORECASE)
_LOOP_UNSPACED = re.compile(r"([\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,12}?)\1{3,}")


class SpeechUnclearError(RuntimeError):
    """There was speech, and nobody can say what."""


class _HeardPiece(NamedTuple):
    text: str
    log_probability: float | None
    no_speech: float | None


def join_clear_pieces(
    pieces: Iterable[tuple[str, float | None, float | None]], *, language_probability: float | None = None
) -> str:
    """The words of *pieces*, without noise; a `SpeechUnclearError` where they are guesses or repeat themselves.

    A piece is its words, how probable they are as the mean logarithm of their parts, and how probable it is that there
    was no speech; None: the recogniser does not say.
    """
    heard = [each for each in map(_HeardPiece._make, pieces) if each.text.strip() and not _is_noise(each)]
    text = " ".join(each.text.strip() for each in heard)
    if not text:
        return ""
    if language_probability is not None and language_probability < LEAST_LANGUAGE_PROBABILITY:
        raise SpeechUnclearError("the language could not be told")
    told = [(each.log_probability, len(each.text)) for each in heard if each.log_probability is not None]
    if told and sum(logarithm * length for logarithm, length in told) < LEAST_LOG_PROBABILITY * sum(n for _, n in told):
        raise SpeechUnclearError("its words are guesses")
    if repeats_itself(text):
        raise SpeechUnclearError("the recogniser repeated itself")
    return text


def _is_noise(piece: _HeardPiece) -> bool:
    return piece.no_speech is not None and piece.no_speech >= MOST_NO_SPEECH


def repeats_itself(text: str) -> bool:
    """Whether *text* says a few words four times in a row, or hardly anything but the same."""
    if _LOOP.search(text) or _LOOP_UNSPACED.search(text):
        return True
    written = text.encode()
    return len(text) >= LEAST_COMPRESSED_CHARS and len(written) > MOST_COMPRESSION * len(zlib.compress(written))
