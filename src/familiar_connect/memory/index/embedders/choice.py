"""choose_embedder: what finds meaning here, by the settings and by what this machine has."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.memory.index.hashing import HASHING_NAME, HashingModel
from familiar_connect.support.sqlite import connect_unlinked

if TYPE_CHECKING:
    from familiar_connect.memory.index.protocols import EmbeddingModel


def choose_embedder(
    wanted: str = "auto", *, index: Path | None = None, cache_path: Path | None = None, may_fetch: bool = False
) -> tuple[EmbeddingModel, str]:
    """The embedder to use here, and a sentence that says which it is and why.

    *wanted* is `auto` (the one that came with the program), `hashing`, `multilingual-e5-small` where it was fetched
    into the home of the *index*, the name of a model fastembed knows, or the address of a server. What an *index* was
    made with stays in use while its server is away: words are found.
    """
    from familiar_connect.memory.index import minilm
    from familiar_connect.memory.index.embedders import e5

    if wanted == HASHING_NAME:
        wanted = "hashing"
    lacking: str | None
    if is_address(wanted):
        known = read_maker(index) if index is not None else None
        model, lacking = _choose_endpoint(wanted, known[1] if known is not None and known[0] == wanted else None)
        if model is not None:
            return model, " ".join(filter(None, (f"{wanted} (a server's).", lacking)))
    elif wanted == e5.E5_NAME:
        folder = _models_beside(index) / e5.E5_NAME
        lacking = e5.why_unavailable(folder)
        if lacking is None:
            return e5.E5Model(folder), f"{wanted}, offline, in about a hundred languages."
    elif wanted not in ("auto", "hashing", minilm.MINILM_NAME):
        from familiar_connect.memory.index import fastembed

        lacking = fastembed.why_unavailable(wanted, cache_path=cache_path, may_fetch=may_fetch)
        if lacking is None:
            return fastembed.FastEmbedModel(
                wanted, cache_path=cache_path, offline=not may_fetch
            ), f"{wanted} (fastembed)."
    else:
        lacking = None
    reason = minilm.why_unavailable()
    if wanted != "hashing" and reason is None:
        return minilm.MiniLMModel(), " ".join(filter(None, (f"{minilm.MINILM_NAME}, offline.", lacking)))
    return HashingModel(), " ".join(filter(None, ("words and spelling only.", lacking, reason)))


def _models_beside(index: Path | None) -> Path:
    """The folder of models in the home whose familiar the *index* is of."""
    return FamiliarFolder(index.parents[2]).home.models if index is not None else Path()


def lacks_embedder(wanted: str, model: EmbeddingModel) -> bool:
    """Whether *model* finds no meaning although the settings want one that does."""
    return isinstance(model, HashingModel) and wanted not in ("hashing", model.name)


def is_our_own(wanted: str) -> bool:
    """Whether the settings name an embedder that needs no fastembed: it came along, or `model get` fetches it."""
    from familiar_connect.memory.index.embedders.e5 import E5_NAME
    from familiar_connect.memory.index.minilm import MINILM_NAME

    return wanted in ("auto", "hashing", MINILM_NAME, E5_NAME)


def is_address(wanted: str) -> bool:
    """Whether the settings name a server, and not a model."""
    return wanted.startswith(("http://", "https://"))


def _choose_endpoint(wanted: str, dim: int | None) -> tuple[EmbeddingModel | None, str | None]:
    """The embedder at an address, and what is wrong with it; None where nobody knows how many numbers it gives."""
    from familiar_connect.memory.index.embedders.endpoint import EmbeddingsUnavailable, EndpointModel

    if not urldefrag(wanted)[1]:
        return None, f"`embedder` names no model: write its name behind the address, as in {wanted}#bge-m3."
    model = EndpointModel(wanted, dim=dim)
    try:
        return model, "" if model.dim else None
    except EmbeddingsUnavailable as error:
        return None, str(error)


def read_maker(index: Path) -> tuple[str, int] | None:
    """Which embedder the *index* was made with, and of how many numbers; None: there is none that tells."""
    if not index.is_file():
        return None
    try:
        with closing(connect_unlinked(index, "mode=ro")) as database:
            meta = dict(database.execute("SELECT key, value FROM meta").fetchall())
        return str(meta["model"]), int(meta["dim"])
    except (sqlite3.Error, KeyError, ValueError):
        return None
