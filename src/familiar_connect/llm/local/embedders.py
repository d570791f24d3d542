"""Embedders that can be fetched by name, as chat models can; each is a folder of files beside them.

The owner's `catalogue.toml` adds to the program's own list. A file is checked by its SHA-256: that in the list, or that
which its publisher announces before sending it, where the list has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from familiar_connect.config.folders import HomeFolder
from familiar_connect.config.llm import LOCAL_MODEL_NAME
from familiar_connect.config.toml import read_rows
from familiar_connect.errors import ConfigError, ModelSetupError
from familiar_connect.llm.local.catalogue import MAX_BYTES, PUBLISHER, CatalogueModel, read_shipped
from familiar_connect.llm.local.fetch import fetch_model
from familiar_connect.llm.local.publisher import PublisherUnreachable, ask_announced
from familiar_connect.support.web_origin import is_this_machine

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class EmbedderFile:
    """One file of an embedder; without bytes and hash its publisher is asked for them."""

    name: str
    url: str
    bytes: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, kw_only=True)
class Embedder:
    """An embedder that can be fetched."""

    name: str
    title: str
    licence: str
    note: str
    files: tuple[EmbedderFile, ...]

    def folder_in(self, home: Path) -> Path:
        """Where it lies in *home*, or will lie."""
        return HomeFolder(home).models / self.name

    def is_in(self, home: Path) -> bool:
        """Whether all of it is there."""
        return all((self.folder_in(home) / file.name).is_file() for file in self.files)


def read_embedders(home: Path) -> dict[str, Embedder]:
    """By name; the owner's own replace those of the same name."""
    own = HomeFolder(home).catalogue_file
    rows = [*read_shipped("embedder"), *read_rows(own, "embedder", beside=("model",))]
    try:
        return {each.name: each for each in map(_read, rows)}
    except (KeyError, TypeError, ValueError):
        raise ConfigError(
            f"{own}: each [[embedder]] row needs name, title, licence, and [[embedder.file]] rows with name and url; "
            "fix that row"
        ) from None


def fetch_embedder(entry: Embedder, home: Path, *, progress: Callable[[str], Callable[[int, int], None]]) -> None:
    """Bring the files of *entry* into *home*; *progress* gives for a file what is told how far it is."""
    folder = entry.folder_in(home)
    for file in entry.files:
        if (folder / file.name).is_file():
            continue
        count, sha256 = file.bytes, file.sha256
        if count is None or sha256 is None:
            try:
                count, sha256 = ask_announced(file.url)
            except PublisherUnreachable as error:
                raise ModelSetupError(f"{error}, so {entry.name} could not be fetched: try again later.") from error
        if count > MAX_BYTES:
            raise ModelSetupError(f"{entry.name} is said to have {count:,} bytes, which no embedder has.")
        wanted = CatalogueModel(
            name=entry.name, title=file.name, url=file.url, bytes=count, sha256=sha256, licence=entry.licence
        )
        fetch_model(wanted, folder / file.name, source="publisher", progress=progress(file.name))


def _read(row: object) -> Embedder:
    if not isinstance(row, dict) or not isinstance(row["file"], list) or not row["file"]:
        raise TypeError
    texts = {key: row.get(key, "") for key in ("name", "title", "licence", "note")}
    if not all(isinstance(text, str) and len(text) <= 500 for text in texts.values()):
        raise TypeError
    if not LOCAL_MODEL_NAME.fullmatch(texts["name"]):
        raise ValueError
    return Embedder(**texts, files=tuple(map(_read_file, row["file"])))


def _read_file(row: object) -> EmbedderFile:
    if not isinstance(row, dict) or not isinstance(row["name"], str) or not _FILE_NAME.fullmatch(row["name"]):
        raise ValueError
    url = row.get("url") or PUBLISHER.format(repository=row["repository"], file=row["file"])
    if not isinstance(url, str) or not (url.startswith("https://") or is_this_machine(url)):
        raise ValueError
    count, sha256 = row.get("bytes"), row.get("sha256")
    if count is None and sha256 is None:
        return EmbedderFile(name=row["name"], url=url)
    if not isinstance(count, int) or not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise ValueError
    return EmbedderFile(name=row["name"], url=url, bytes=count, sha256=sha256)
