"""WordPiece: the tokenizer MiniLM was trained with.

Lower-cases, strips accents, splits at white space and punctuation, then takes the longest piece of the vocabulary
each time. The vocabulary is package data; reading it takes a few milliseconds and happens on first use.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from importlib.resources import files

UNKNOWN = "[UNK]"
START = "[CLS]"
END = "[SEP]"
MAX_WORD_CHARS = 100
MAX_CACHED_WORDS = 50_000
"""Words of a home repeat; this many of them are cut up once."""


class WordPiece:
    """The tokenizer of one vocabulary. Safe to share between threads."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self._ids = vocabulary
        self._unknown = vocabulary[UNKNOWN]
        self._ends = (vocabulary[START], vocabulary[END])
        self.pieces = lru_cache(maxsize=MAX_CACHED_WORDS)(self._pieces)

    @classmethod
    @lru_cache(maxsize=1)
    def load_bundled(cls) -> WordPiece:
        """The vocabulary that came with the program."""
        data = files("familiar_connect.memory.index").joinpath("minilm-vocab.txt").read_text(encoding="utf-8")
        return cls({piece: number for number, piece in enumerate(data.rstrip("\n").split("\n"))})

    def encode(self, text: str, max_tokens: int) -> list[int]:
        """*text* between start and end mark, *max_tokens* in all at most."""
        room = max_tokens - 2
        found: list[int] = []
        for word in split_words(text[: room * MAX_WORD_CHARS]):
            found.extend(self.pieces(word))
            if len(found) >= room:
                break
        return [self._ends[0], *found[:room], self._ends[1]]

    def _pieces(self, word: str) -> tuple[int, ...]:
        """The longest pieces that make up *word*, or the unknown piece when they cannot."""
        if len(word) > MAX_WORD_CHARS:
            return (self._unknown,)
        found: list[int] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = word[start:end] if start == 0 else f"##{word[start:end]}"
                number = self._ids.get(piece)
                if number is not None:
                    found.append(number)
                    start = end
                    break
            else:
                return (self._unknown,)
        return tuple(found)


def split_words(text: str) -> list[str]:
    """*text* lower-cased, without accents, every word and every mark by itself."""
    text = text.lower()
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
    return "".join(map(_spaced, text)).split()


@lru_cache(maxsize=4096)
def _spaced(char: str) -> str:
    """*char* as it stands in a text split at white space: marks stand alone, control characters vanish."""
    if char.isspace():
        return " "
    code = ord(char)
    category = unicodedata.category(char)
    if code in (0, 0xFFFD) or category.startswith("C"):
        return ""
    if _is_mark(code, category) or _is_ideograph(code):
        return f" {char} "
    return char


def _is_mark(code: int, category: str) -> bool:
    return 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126 or category.startswith("P")


def _is_ideograph(code: int) -> bool:
    return (
        0x4E00 <= code <= 0x9FFF or 0x3400 <= code <= 0x4DBF or 0xF900 <= code <= 0xFAFF or 0x20000 <= code <= 0x2FA1F
    )
