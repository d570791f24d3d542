"""What a word is in any script: letters with the signs written onto them, and runs of scripts without spaces."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

from familiar_connect.support.letters import MARKS

_RUN = rf"[^\W_]+(?:[{MARKS}]+[^\W_]*)*"
WORD = re.compile(rf"{_RUN}(?:['’]{_RUN})*")
PIECE = re.compile(_RUN)
"""A word as an index tells them apart: what stands above a letter belongs to it, an apostrophe does not."""
_CLUSTER = re.compile(rf".[{MARKS}]*", re.DOTALL)
LEAST_KNOWN = 0.45
"""Of the letters of a text, those in words of an English vocabulary, from which on it counts as English."""


def split_clusters(run: str) -> list[str]:
    """The letters of *run*, each with the signs written onto it."""
    return list(run) if run.isascii() else _CLUSTER.findall(run)


@lru_cache(maxsize=256)
def is_english(text: str) -> bool:
    """Whether most letters of *text* stand in words that an English vocabulary has whole; so too where it has none."""
    known = total = 0
    vocabulary = _english_words()
    for match in WORD.finditer(text.lower()):
        word = match[0]
        if len(word) > 1 and word.isalpha():
            total += len(word)
            known += len(word) * (word.isascii() and word in vocabulary)
    return known >= LEAST_KNOWN * total


@lru_cache(maxsize=1)
def _english_words() -> frozenset[str]:
    return frozenset(word for word in read_vocabulary() if word.isascii() and word.isalpha())


def read_vocabulary() -> list[str]:
    """The 30,000 pieces of English words that the embedder knows, in the order of their numbers."""
    data = files("familiar_connect.memory.index").joinpath("minilm-vocab.txt").read_text(encoding="utf-8")
    return data.rstrip("\n").split("\n")
