"""Texts by their spelling, for scripts that the embedder never learnt to read.

Its vocabulary is English: of a Russian, Thai or Chinese text it sees single letters, and all such texts lie near each
other. Groups of letters that follow each other tell which of them share words, in whatever form and without any list of
a language. Vectors are as long as the embedder's and tell nothing of its own: the two kinds have nothing in common.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
import zlib
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from familiar_connect.memory.index.letters import WORD, split_clusters
from familiar_connect.support.letters import UNSPACED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GROUP = 3
"""Letters of a group, the edges of a word among them; of a script without spaces two."""
PLACES = 1024
MAX_CHARS = 4_000
SINGLE = 0.3
"""So much tells one Chinese sign, where a pair tells 1; and a pair of Japanese syllables, most of which are grammar."""
SHORT_WORD = 3
SHORT_WORD_TELLS = 0.4
_SYLLABLES = re.compile(r"[\u3040-\u309f]+")
_IDEOGRAPH = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


def is_read_by_spelling(text: str) -> bool:
    """Whether most letters of *text* are not Latin ones."""
    if text.isascii():
        return False
    letters = [char for char in text[:MAX_CHARS] if char.isalpha()]
    latin = sum(char < "\u0250" or "\u1e00" <= char <= "\u1eff" for char in letters)
    return 2 * latin < len(letters)


def embed_spelling(texts: list[str], dim: int) -> NDArray[np.float32]:
    """One row of length one for each text; a text without letters gives the first unit vector."""
    import numpy as np  # heavy: whoever only asks which embedder there is does without it

    found = np.zeros((len(texts), PLACES), dtype=np.float32)
    for row, text in zip(found, texts, strict=True):
        for place, weight in _weigh_groups(text).items():
            row[place] = weight**0.5
    found = found @ _signs(dim)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    found[lengths[:, 0] == 0, 0] = 1.0
    return np.asarray(found / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


@lru_cache(maxsize=2)
def _signs(dim: int) -> NDArray[np.float32]:
    """Spreads each place over all numbers of a vector, so that it can be stored in two bits of each."""
    import numpy as np

    random = np.frombuffer(hashlib.shake_256(b"places of letters").digest(PLACES * dim // 8), dtype=np.uint8)
    return np.asarray(2.0 * np.unpackbits(random).reshape(PLACES, dim) - 1.0, dtype=np.float32)


def _weigh_groups(text: str) -> dict[int, float]:
    """How much each group of letters of *text* counts, by its place."""
    found: defaultdict[int, float] = defaultdict(float)
    for match in WORD.finditer(unicodedata.normalize("NFKC", text[:MAX_CHARS]).casefold()):
        groups = _pairs(match[0]) if UNSPACED.search(match[0]) else _triples(match[0])
        for group, weight in groups:
            found[zlib.crc32(group.encode("utf-8", "replace")) % PLACES] += weight
    return found


def _triples(word: str) -> Iterator[tuple[str, float]]:
    if len(word) <= SHORT_WORD:
        yield f"<{word}>", SHORT_WORD_TELLS
        return
    framed = f"<{word}>"
    yield from ((framed[at : at + GROUP], 1.0) for at in range(len(framed) - GROUP + 1))


def _pairs(run: str) -> Iterator[tuple[str, float]]:
    signs = split_clusters(run)
    yield from ((sign, SINGLE) for sign in signs if _IDEOGRAPH.match(sign))
    for first, second in pairwise(signs):
        pair = first + second
        yield pair, SINGLE if _SYLLABLES.fullmatch(pair) else 1.0
