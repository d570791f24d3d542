"""FastEmbedModel: BAAI/bge-small-en-v1.5 through fastembed, when that extra is installed.

Building one loads nothing and fetches nothing; the first `embed` does, in whichever thread calls it. Weights are
kept in FASTEMBED_CACHE_PATH, or in the user's cache folder; with `offline` nothing is ever fetched.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from familiar_connect.config.command import command_to_install
from familiar_connect.config.secrets import read_secret
from familiar_connect.errors import FamiliarError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_EMBEDDING_MODEL = "BAAI/bge-small-en-v1.5"
DEFAULT_EMBEDDING_DIM = 384
BATCH_TEXTS = 8
FETCH_COMMAND = "familiar memory reindex --fetch"


class FastEmbedUnavailable(FamiliarError):
    """fastembed or its weights are missing; the sentence says how to get them."""


class FastEmbedModel:
    """The embedder that fastembed knows as *model_name*."""

    def __init__(
        self,
        model_name: str = DEFAULT_EMBEDDING_MODEL,
        *,
        dim: int | None = None,
        cache_path: Path | None = None,
        offline: bool = False,
    ) -> None:
        """*dim* is how many numbers it gives; None: what fastembed says of it, or else the model itself."""
        self.name = model_name
        self._dim = DEFAULT_EMBEDDING_DIM if dim is None and model_name == DEFAULT_EMBEDDING_MODEL else dim
        self._cache_path = cache_path
        self._offline = offline
        self._loading = threading.Lock()
        self._model: Any = None

    @property
    def dim(self) -> int:
        """How many numbers a text becomes."""
        if self._dim is None:
            self._dim = find_dim(self.name) or self._measure_dim()
        return self._dim

    def _measure_dim(self) -> int:
        import numpy as np  # heavy: whoever only asks what is there does without it

        return int(np.asarray(list(self._ready().embed(["one"]))).shape[-1])

    def fetch(self) -> None:
        """Get the weights if they are not there yet, and load them."""
        self._ready()

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """One unit row for each text."""
        import numpy as np

        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        found = np.asarray(list(self._ready().embed(texts, batch_size=BATCH_TEXTS)), dtype=np.float32)
        if found.shape != (len(texts), self.dim):
            raise FastEmbedUnavailable(
                f"the embedding model {self.name} gives {found.shape[-1]} numbers per text, not {self.dim}: "
                "its weights are not the ones that belong to it; delete them and fetch them again with "
                f"`{FETCH_COMMAND}`."
            )
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / np.maximum(lengths, 1e-12), dtype=np.float32)

    def _ready(self) -> Any:
        with self._loading:
            if self._model is None:
                self._model = self._load()
            return self._model

    def _load(self) -> Any:
        if importlib.util.find_spec("fastembed") is None:
            raise FastEmbedUnavailable(f"fastembed is not installed: run `{command_to_install('fastembed')}`.")
        from fastembed import TextEmbedding

        folder = self._cache_path or default_cache_path()
        try:
            return TextEmbedding(self.name, cache_dir=str(folder), local_files_only=self._offline)
        except Exception as exc:
            raise FastEmbedUnavailable(
                f"the weights of {self.name} are not in {folder} and could not be fetched ({type(exc).__name__}): "
                "copy them there from a machine that has them, or use the embedder that came with the program."
            ) from exc


def why_unavailable(
    model_name: str = DEFAULT_EMBEDDING_MODEL, *, cache_path: Path | None = None, may_fetch: bool = False
) -> str | None:
    """What is lacking for *model_name*, in a sentence with the way out; None when it can be used."""
    if importlib.util.find_spec("fastembed") is None:
        return f"{model_name} needs fastembed: run `{command_to_install('fastembed')}`."
    if (known := list_fastembed_models()) and model_name.lower() not in known:
        return (
            f"fastembed does not know {model_name}: `embedder` under [providers.content_search] takes `auto`, "
            f"`hashing` or one of its models, such as {DEFAULT_EMBEDDING_MODEL}."
        )
    if not may_fetch and not weights_are_cached(model_name, cache_path):
        folder = cache_path or default_cache_path()
        return (
            f"the weights of {model_name} are not in {folder}: fetch them with `{FETCH_COMMAND}`, or copy them there."
        )
    return None


def list_fastembed_models() -> dict[str, Mapping[str, Any]]:
    """What fastembed says of each of its models, by name in small letters; nothing where it is not installed."""
    try:
        from fastembed import TextEmbedding

        return {str(each["model"]).lower(): each for each in TextEmbedding.list_supported_models()}
    except Exception:  # a library of another version tells it otherwise; then the model itself is asked
        return {}


def find_dim(model_name: str) -> int | None:
    """How many numbers *model_name* gives, as far as fastembed says; None: it does not."""
    dim = list_fastembed_models().get(model_name.lower(), {}).get("dim")
    return dim if isinstance(dim, int) and dim > 0 else None


def download_size_gb(model_name: str) -> float | None:
    """How much there is to fetch, as far as fastembed says; None: it does not."""
    size = list_fastembed_models().get(model_name.lower(), {}).get("size_in_GB")
    return float(size) if isinstance(size, int | float) and size > 0 else None


def default_cache_path() -> Path:
    """Where fastembed's weights are kept between runs."""
    named = read_secret("FASTEMBED_CACHE_PATH")
    return Path(named) if named else Path.home() / ".cache" / "fastembed"


def weights_are_cached(model_name: str = DEFAULT_EMBEDDING_MODEL, cache_path: Path | None = None) -> bool:
    """Whether weights of *model_name* seem to lie in the cache, so that nothing needs to be fetched."""
    folder = cache_path or default_cache_path()
    wanted = model_name.rsplit("/", 1)[-1].lower()
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return any(wanted in name.lower() for name in names)
