"""UnigramTokenizer: cuts text as XLM-RoBERTa and the models made of it were trained to: the likeliest pieces of words.

It is read from the `tokenizer.json` that lies beside a model's weights. Text is normalised (NFKC), each blank becomes
the sign that begins a word, and of all ways to cut a stretch that with the highest sum of scores is taken.
"""

from __future__ import annotations

import json
import unicodedata
from functools import lru_cache
from pathlib import Path

from familiar_connect.errors import FamiliarError

WORD_START = "▁"
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_CACHED_WORDS = 50_000
MAX_WORD_CHARS = 200
UNKNOWN_PENALTY = 10.0
"""How much less likely than the unlikeliest piece a letter is that none knows."""


class TokenizerUnusable(FamiliarError):
    """A file is no tokenizer of this kind; the sentence says which."""


class UnigramTokenizer:
    """The tokenizer of one vocabulary. Safe to share between threads."""

    def __init__(self, scores: dict[str, tuple[int, float]], *, start: int, end: int, unknown: int) -> None:
        """*scores* gives for each piece its number and its logarithm."""
        self._scores = scores
        self._ends = (start, end)
        self._unknown = unknown
        self._longest = max(map(len, scores))
        self._least = min(score for _, score in scores.values()) - UNKNOWN_PENALTY
        self.pieces = lru_cache(maxsize=MAX_CACHED_WORDS)(self._pieces)

    @classmethod
    def load(cls, file: Path) -> UnigramTokenizer:
        """The one in *file*."""
        try:
            if file.stat().st_size > MAX_FILE_BYTES:
                raise ValueError
            told = json.loads(file.read_bytes())
            model = told["model"]
            vocabulary = [(str(piece), float(score)) for piece, score in model["vocab"]]
            numbers = {piece: number for number, (piece, _) in enumerate(vocabulary)}
            scores = {piece: (numbers[piece], score) for piece, score in vocabulary if not piece.startswith("<")}
            return cls(scores, start=numbers["<s>"], end=numbers["</s>"], unknown=int(model["unk_id"]))
        except (OSError, ValueError, KeyError, TypeError):
            raise TokenizerUnusable(f"{file} is no tokenizer that can be used: fetch it again.") from None

    def encode(self, text: str, max_tokens: int) -> list[int]:
        """*text* between the marks of start and end, *max_tokens* in all at most."""
        room = max_tokens - 2
        found: list[int] = []
        for word in unicodedata.normalize("NFKC", text[: room * 16]).split():
            found.extend(self.pieces(word))
            if len(found) >= room:
                break
        return [self._ends[0], *found[:room], self._ends[1]]

    def _pieces(self, word: str) -> tuple[int, ...]:
        """The numbers of the likeliest pieces that make up *word*; neighbouring letters that none knows are one."""
        text = WORD_START + word[:MAX_WORD_CHARS]
        best = [0.0, *([float("-inf")] * len(text))]
        came: list[tuple[int, int]] = [(0, self._unknown)] * (len(text) + 1)
        for start in range(len(text)):
            for end in range(start + 1, min(len(text), start + self._longest) + 1):
                number, score = self._scores.get(text[start:end], (-1, 0.0))
                if number < 0:
                    if end > start + 1:
                        continue
                    number, score = self._unknown, self._least
                if best[start] + score > best[end]:
                    best[end], came[end] = best[start] + score, (start, number)
        found: list[int] = []
        at = len(text)
        while at > 0:
            at, number = came[at]
            if not (found and number == found[-1] == self._unknown):
                found.append(number)
        return tuple(reversed(found))
