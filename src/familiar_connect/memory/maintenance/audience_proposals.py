"""Whose each memory file is, for homes whose files do not say so yet: a proposal for each, and accepting it.

A file needs one when something in it came from a conversation, or the familiar wrote it, and its front matter says
nothing. Until it is settled each part is told where its sources may be, and what has none is the owner's.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from familiar_connect.audience import OWNER, Audience
from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.file_audience import is_within, read_audience, with_audience
from familiar_connect.memory.maintenance.links import markdown_files
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.support.files import sync_folder, temporary_name
from familiar_connect.support.no_follow import load_bytes, make_folder, open_file

SOURCE = "owner"
_AUTHORED = ("self/", "lore/", "documents/", "servers/")
"""Folders whose files are told as they are, wherever they belong."""


@dataclass(frozen=True, kw_only=True)
class AudienceProposal:
    """Whose a file is to be, and why."""

    rel_path: str
    audience: Audience
    why: str
    is_clear: bool
    """Whether all of it was said to one audience; else accepting it makes the file less known than its parts are."""


def propose_audiences(audiences: PartAudiences) -> list[AudienceProposal]:
    """A proposal for each file that is not settled, in path order."""
    found = (_propose(audiences, path) for path in markdown_files(audiences.store) if not path.startswith(_AUTHORED))
    return [proposal for proposal in found if proposal is not None]


def count_unsettled_files(audiences: PartAudiences) -> int:
    """How many files do not say whose they are, though something in them was told."""
    return len(propose_audiences(audiences))


def accept_audiences(audiences: PartAudiences, proposals: Iterable[AudienceProposal]) -> list[str]:
    """Write each proposed audience into its file; the files that changed."""
    store = audiences.store
    changed = []
    for proposal in proposals:
        text = store.read_file(proposal.rel_path)
        store.write_file(proposal.rel_path, with_audience(text, proposal.audience), source=SOURCE)
        changed.append(proposal.rel_path)
    return changed


def back_up_memory(memory: Path, folder: Path, *, now: datetime) -> Path:
    """A zip of the memory folder in *folder*, readable by its owner alone; hidden folders are left out."""
    make_folder(folder)
    target = folder / f"memory-{now:%Y%m%d-%H%M%S}.zip"
    temporary = folder / temporary_name()
    try:
        with os.fdopen(open_file(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL), "w+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                for path in sorted(memory.rglob("*")):
                    name = path.relative_to(memory)
                    if path.is_file() and not path.is_symlink() and not any(p.startswith(".") for p in name.parts):
                        archive.writestr(name.as_posix(), load_bytes(path))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(folder)
    return target


def _propose(audiences: PartAudiences, path: str) -> AudienceProposal | None:
    try:
        if read_audience(audiences.store.read_file(path)) is not None:
            return None
        known = audiences.source_audiences(path)
    except MemoryStoreError:
        return None
    if not known:
        if not audiences.is_program_written(path):
            return None
        why = "the familiar wrote it and it is not known from whose words"
        return AudienceProposal(rel_path=path, audience=OWNER, why=why, is_clear=True)
    if len(known) == 1:
        why = "all its known sources were said to them"
        return AudienceProposal(rel_path=path, audience=next(iter(known)), why=why, is_clear=True)
    ordered = sorted(known, key=str)
    smallest = next((each for each in ordered if all(is_within(each, other) for other in ordered)), OWNER)
    why = f"it was made from what was said to {len(known)} audiences: {', '.join(map(str, ordered))}"
    return AudienceProposal(rel_path=path, audience=smallest, why=why, is_clear=False)
