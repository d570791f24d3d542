"""E5Model: multilingual-e5-small, which finds meaning in about a hundred languages, once its weights are fetched.

`familiar model get multilingual-e5-small` brings them into the home; nothing is fetched here. It runs in this process
with onnxruntime, in one thread. Loading takes a second or two and is left to the first call. Safe to share between
threads.
"""

from __future__ import annotations

import importlib.util
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from familiar_connect.config.command import command_name
from familiar_connect.errors import FamiliarError
from familiar_connect.memory.index.minilm import batches_of, mean_vectors, open_weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from familiar_connect.memory.index.embedders.unigram import UnigramTokenizer

E5_NAME = "multilingual-e5-small"
E5_DIM = 384
WEIGHTS_FILE, TOKENIZER_FILE = "model.onnx", "tokenizer.json"
PREFIX = "query: "
"""The model was trained with it before each text that is compared with others of its kind."""
MAX_TOKENS = 256


class E5Unavailable(FamiliarError):
    """This embedder cannot run here; the sentence says why and what to do."""


def why_unavailable(folder: Path) -> str | None:
    """What is lacking for the model in *folder*, in a sentence; None when it can run."""
    if importlib.util.find_spec("onnxruntime") is None:
        return f"{E5_NAME} needs onnxruntime, which is not installed (there is none for Intel Macs)."
    if not all((folder / name).is_file() for name in (WEIGHTS_FILE, TOKENIZER_FILE)):
        return f"{E5_NAME} is not here yet: `{command_name()} model get {E5_NAME}` fetches it."
    return None


class E5Model:
    """Texts of any language as 384 numbers each, near one another where they mean the same."""

    name = E5_NAME
    dim = E5_DIM

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loading = threading.Lock()
        self._loaded: tuple[Any, UnigramTokenizer] | None = None

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """One unit row for each text."""
        import numpy as np  # heavy: whoever only asks which embedder there is does without it

        found = np.zeros((len(texts), self.dim), dtype=np.float32)
        if not texts:
            return found
        session, tokenizer = self._ready()
        tokens = [tokenizer.encode(PREFIX + text, MAX_TOKENS) for text in texts]
        for batch in batches_of(tokens):
            found[batch] = mean_vectors(session, [tokens[at] for at in batch])
        return found

    def _ready(self) -> tuple[Any, UnigramTokenizer]:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> tuple[Any, UnigramTokenizer]:
        from familiar_connect.memory.index.embedders.unigram import UnigramTokenizer

        if (reason := why_unavailable(self._folder)) is not None:
            raise E5Unavailable(reason)
        path = self._folder / WEIGHTS_FILE
        try:
            session = open_weights(path)
        except Exception as error:  # whatever the library makes of a file that is no model
            raise E5Unavailable(f"{path} cannot be loaded ({type(error).__name__}): fetch it again.") from error
        return session, UnigramTokenizer.load(self._folder / TOKENIZER_FILE)
