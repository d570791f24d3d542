"""Long replies of words that differ: the same word over and over would be taken for a model that collapsed."""

from __future__ import annotations


def make_words(count: int, word: str = "word") -> str:
    """*count* words, each followed by a space."""
    return "".join(f"{word}{number} " for number in range(count))
