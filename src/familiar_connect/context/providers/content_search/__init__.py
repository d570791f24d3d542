"""Finding the right memory: people's notes always, the rest by meaning and words."""

from __future__ import annotations

from typing import Any

_HERE = "familiar_connect.context.providers.content_search"
_INDEX = "familiar_connect.memory.index"
_NAMES = {
    "ContentSearchProvider": f"{_HERE}.provider",
    "DEFAULT_DEADLINE_S": f"{_HERE}.provider",
    "DEFAULT_TOP_K": f"{_HERE}.provider",
    "LookupResult": f"{_HERE}.people_lookup",
    "PEOPLE_LOOKUP_PRIORITY": f"{_HERE}.people_lookup",
    "PEOPLE_LOOKUP_SOURCE": f"{_HERE}.people_lookup",
    "DEFAULT_MAX_TOKENS_PER_FILE": f"{_HERE}.people_lookup",
    "FILTER_PRIORITY": f"{_HERE}.unfiltered",
    "FILTER_SOURCE": f"{_HERE}.unfiltered",
    "FILTER_MAX_ITERATIONS": f"{_HERE}.filter",
    "EmbeddingModel": f"{_INDEX}.protocols",
    "RetrievedChunk": f"{_INDEX}.protocols",
    "Retriever": f"{_INDEX}.protocols",
    "EmbeddingRetriever": f"{_INDEX}.retriever",
    "FastEmbedModel": f"{_INDEX}.fastembed",
    "DEFAULT_EMBEDDING_MODEL": f"{_INDEX}.fastembed",
    "DEFAULT_EMBEDDING_DIM": f"{_INDEX}.fastembed",
    "PreparedChunk": f"{_INDEX}.chunking",
    "chunk_markdown": f"{_INDEX}.chunking",
}
__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_NAMES[name]), name)
