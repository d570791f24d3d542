"""What the package offers, and that offering it loads nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from familiar_connect.context.providers import content_search
from familiar_connect.context.providers.content_search import people_lookup, unfiltered

PROMISED = """ContentSearchProvider LookupResult PEOPLE_LOOKUP_PRIORITY PEOPLE_LOOKUP_SOURCE FILTER_PRIORITY
FILTER_SOURCE FILTER_MAX_ITERATIONS DEFAULT_DEADLINE_S DEFAULT_TOP_K DEFAULT_MAX_TOKENS_PER_FILE DEFAULT_EMBEDDING_MODEL
DEFAULT_EMBEDDING_DIM EmbeddingModel EmbeddingRetriever FastEmbedModel PreparedChunk RetrievedChunk Retriever
chunk_markdown"""


@pytest.mark.parametrize("name", PROMISED.split())
def test_every_promised_name_is_there(name: str) -> None:
    """The package hands out what it promises."""
    assert getattr(content_search, name) is not None


def test_nothing_else_is_promised() -> None:
    """`__all__` is the promise, no more and no less."""
    assert sorted(PROMISED.split()) == list(content_search.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A typo is reported the way Python reports it."""
    with pytest.raises(AttributeError, match="Retreiver"):
        content_search.Retreiver  # noqa: B018


def test_the_numbers() -> None:
    """Priorities, sources and limits others rely on."""
    assert (content_search.PEOPLE_LOOKUP_PRIORITY, content_search.PEOPLE_LOOKUP_SOURCE) == (85, "content_search.people")
    assert (content_search.FILTER_PRIORITY, content_search.FILTER_SOURCE) == (70, "content_search.rag")
    assert (content_search.FILTER_MAX_ITERATIONS, unfiltered.MAX_SNIPPET_TOKENS) == (2, 150)
    assert (content_search.DEFAULT_DEADLINE_S, content_search.DEFAULT_TOP_K) == (15.0, 8)
    assert people_lookup.DEFAULT_MAX_TOKENS_PER_FILE == 800


def test_importing_the_package_loads_no_index() -> None:
    """Names are looked up when used, so that the program starts quickly."""
    code = (
        "import sys, familiar_connect.context.providers.content_search;"
        "sys.exit(any(name in sys.modules for name in ('numpy', 'familiar_connect.memory.store')))"
    )

    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}).returncode == 0
