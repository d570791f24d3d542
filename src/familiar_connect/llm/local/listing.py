"""list_model_rows: every model that could run on this computer: the small one, those here, those to download."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from familiar_connect.config.llm import EMBEDDED_MODEL, EMBEDDED_PREFIX
from familiar_connect.errors import FamiliarError
from familiar_connect.llm.embedded.gguf import read_gguf
from familiar_connect.llm.embedded.run_plan import LEAST_WINDOW, MOST_OF_FREE, memory_needed
from familiar_connect.llm.embedded.weights import find_weights
from familiar_connect.llm.local.catalogue import WORK_BYTES
from familiar_connect.llm.local.library import ModelLibrary, part_files

HERE, TO_GET = "here", "to get"


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """One line of the list."""

    name: str
    model: str
    """How settings name it."""
    state: str
    bytes: int
    memory_bytes: int
    fits: bool | None
    """Whether it fits the memory that is free now; None: unknown."""
    licence: str
    note: str
    file: str | None = None
    had_bytes: int = 0
    """What an interrupted download left."""


def list_model_rows(home: Path, free: int | None, used: Collection[str]) -> list[ModelRow]:
    """The small model, then those that are here, then those to download. Reads files.

    *free* is the memory that is free, None where that is unknown; *used* are the models that answer now.
    """
    return [_with_state(row, free, used) for row in _rows(home)]


def _rows(home: Path) -> Iterator[ModelRow]:
    library = ModelLibrary(home)
    yield _small_row(home)
    known = {each.name: each for each in library.catalogue()}
    here = {each.name: each for each in library.models_here()}
    for name in [*(name for name in here if name not in known), *known]:
        stored, entry = here.get(name), known.get(name)
        row = ModelRow(
            name=name,
            model=f"{EMBEDDED_PREFIX}{name}",
            state=HERE if stored else TO_GET,
            bytes=entry.bytes if entry else 0,
            memory_bytes=entry.memory_bytes if entry else 0,
            fits=None,
            licence=entry.licence if entry else "your own file",
            note=entry.note if entry else "",
            file=str(stored.path) if stored else None,
            had_bytes=0 if stored else _bytes_of(part_files(library.path_for(name))[0]),
        )
        yield _as_stored(row) if stored else row


def _bytes_of(part: Path) -> int:
    try:
        return part.stat().st_size
    except OSError:
        return 0


def _small_row(home: Path) -> ModelRow:
    size, state, note = 0, HERE, "included; private and quick to start, but not very bright"
    try:
        size = find_weights(home).path.stat().st_size
    except FamiliarError as error:
        state, note = "missing", str(error)
    return ModelRow(
        name=EMBEDDED_MODEL,
        model=EMBEDDED_MODEL,
        state=state,
        bytes=size,
        memory_bytes=size + WORK_BYTES,
        fits=None,
        licence="Apache-2.0",
        note=note,
    )


def _as_stored(row: ModelRow) -> ModelRow:
    """What the file itself says, instead of what is said of it."""
    try:
        file = read_gguf(Path(row.file or ""))
    except FamiliarError as error:
        return replace(row, state="damaged", note=str(error))
    return replace(row, bytes=file.file_bytes, memory_bytes=memory_needed(file, LEAST_WINDOW))


def _with_state(row: ModelRow, free: int | None, used: Collection[str]) -> ModelRow:
    in_use = row.model in used and row.state == HERE
    fits = None if free is None else row.memory_bytes <= free * MOST_OF_FREE
    return replace(row, fits=fits, state="in use" if in_use else row.state)
