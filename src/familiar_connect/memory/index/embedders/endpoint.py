"""EndpointModel: an embedder that a server offers as OpenAI does, at `/embeddings`: Ollama, llama.cpp, vLLM and more.

Written in the settings as its address and the model: `http://127.0.0.1:11434/v1#bge-m3`. A server that fails is left
alone for a while: memory is searched by words meanwhile, and nobody waits for it.
"""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag

from familiar_connect.config.secrets import read_secret
from familiar_connect.errors import FamiliarError
from familiar_connect.memory.index.storage import IndexUnavailable
from familiar_connect.support.web_origin import is_this_machine, may_carry_key

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

KEY = "EMBEDDINGS_API_KEY"
SHORT_CALL_S = 4.0
"""How long a question may take; whoever asked waits for it."""
LONG_CALL_S = 60.0
FEW_TEXTS = 4
MAX_TEXT_CHARS = 6_000
MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_DIM = 8_192
LEFT_ALONE_S = 30.0
"""How long a server that failed is not asked again."""


class EmbeddingsUnavailable(IndexUnavailable, FamiliarError):
    """A server gives no vectors now; the sentence says which one and why."""


class EndpointModel:
    """The embedder at an address; `name` is what the settings say, so that another one makes the index anew."""

    def __init__(self, wanted: str, *, dim: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """*dim* is how many numbers it is known to give; None: the server is asked."""
        self.name = wanted
        address, self._model = urldefrag(wanted)
        self._url = f"{address.rstrip('/')}/embeddings"
        self._dim = dim
        self._clock = clock
        self._asking = threading.Lock()
        self._client: Any = None
        self._again_at = 0.0
        self._failure = ""

    @property
    def dim(self) -> int:
        """How many numbers a text becomes."""
        if self._dim is None:
            self._dim = len(self._ask(["one"])[0])
        return self._dim

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """One unit row for each text."""
        import numpy as np  # heavy: whoever only asks which embedder there is does without it

        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        found = np.asarray(self._ask(texts), dtype=np.float32)
        if found.shape != (len(texts), self.dim) or not np.isfinite(found).all():
            raise self._fail(f"gives {found.shape[-1]} numbers for a text, not {self.dim}")
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / np.maximum(lengths, 1e-12), dtype=np.float32)

    def _ask(self, texts: list[str]) -> list[list[float]]:
        with self._asking:
            if self._clock() < self._again_at:
                raise EmbeddingsUnavailable(self._failure)
            data = self._call([self._to_input(text) for text in texts])
        rows = data.get("data") if isinstance(data, dict) else None
        if not isinstance(rows, list) or len(rows) != len(texts):
            raise self._fail("answered with something else than vectors")
        try:
            ordered = sorted(rows, key=lambda row: int(row.get("index", 0)))
            vectors = [[float(number) for number in row["embedding"]] for row in ordered]
        except (AttributeError, KeyError, TypeError, ValueError):
            raise self._fail("answered with something else than vectors") from None
        if not vectors or not 0 < len(vectors[0]) <= MAX_DIM or len({len(each) for each in vectors}) != 1:
            raise self._fail("answered with vectors of no use")
        return vectors

    def _to_input(self, text: str) -> str:
        """*text* as the model wants it: models of the E5 family were trained with a word before each."""
        cut = text[:MAX_TEXT_CHARS] or " "
        return f"query: {cut}" if "e5" in self._model.lower() else cut

    def _call(self, inputs: list[str]) -> Any:
        import httpx2  # heavy: loaded with the first call

        if self._client is None:
            local = is_this_machine(self._url)
            self._client = httpx2.Client(trust_env=not local, headers={"User-Agent": "familiar-connect"})
        key = read_secret(KEY)
        headers = {"Authorization": f"Bearer {key}"} if key and may_carry_key(self._url) else {}
        within = SHORT_CALL_S if len(inputs) <= FEW_TEXTS else LONG_CALL_S
        try:
            answer = self._client.post(
                self._url, json={"model": self._model, "input": inputs}, headers=headers, timeout=within
            )
            if answer.status_code != 200:
                raise self._fail(f"answers with {answer.status_code}")
            if len(answer.content) > MAX_ANSWER_BYTES:
                raise self._fail("answered with far too much")
            return json.loads(answer.content)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            raise self._fail(f"gave no vectors ({type(error).__name__})") from None

    def _fail(self, what: str) -> EmbeddingsUnavailable:
        address = self._url.removesuffix("/embeddings")
        self._failure = f"the embedder {self._model} at {address} {what}."
        self._again_at = self._clock() + LEFT_ALONE_S
        return EmbeddingsUnavailable(self._failure)
