"""HashingModel: an embedder without weights, for tests and for machines where no model runs.

Words and their letter triples are hashed into a fixed number of places, so texts that share words or spellings
lie near each other. The same text gives the same vector on every machine and in every run.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HASHING_DIM = 384
HASHING_NAME = f"hashing-{HASHING_DIM}"
MAX_CHARS = 4_000
TRIPLE_WEIGHT = 0.3
_WORD = re.compile(r"\w+")


class HashingModel:
    """Texts as hashed words; `name` tells sizes apart, so that an index of another size is rebuilt."""

    def __init__(self, dim: int = HASHING_DIM) -> None:
        self.dim = dim
        self.name = f"hashing-{dim}"

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """One unit row for each text; a text without words gives the first unit vector."""
        import numpy as np  # heavy: whoever only asks which embedder there is does without it

        found = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(found, texts, strict=True):
            for word in _WORD.findall(text[:MAX_CHARS].casefold()):
                self._add(row, word, 1.0)
                framed = f"<{word}>"
                for start in range(len(framed) - 2):
                    self._add(row, framed[start : start + 3], TRIPLE_WEIGHT)
            length = float(np.linalg.norm(row))
            if length > 0:
                row /= length
            else:
                row[0] = 1.0
        return found

    def _add(self, row: NDArray[np.float32], piece: str, weight: float) -> None:
        number = zlib.crc32(piece.encode("utf-8", "replace"))
        sign = 1.0 if number & 1 else -1.0
        row[(number >> 1) % self.dim] += sign * weight
