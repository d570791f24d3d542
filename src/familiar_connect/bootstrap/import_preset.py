"""import_preset: a preset file from SillyTavern becomes one of the familiar's presets, byte for byte."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from familiar_connect.bootstrap.child_reader import read_in_child
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import PresetError
from familiar_connect.presets.effect import join_text_parts, why_no_effect
from familiar_connect.presets.import_report import ImportReport
from familiar_connect.presets.load import MAX_BYTES
from familiar_connect.presets.store import SUFFIX, PresetStore
from familiar_connect.presets.types import PresetFidelity


def import_preset(
    path: Path,
    familiar_root: Path,
    *,
    name: str | None = None,
    overwrite: bool = False,
    fidelity: PresetFidelity = PresetFidelity.with_memory,
    parts: Sequence[Path] = (),
    takes_text: bool = True,
) -> ImportReport:
    """Keep the file at *path* in the familiar's folder, called *name* or as the file is, and put it in force.

    With *parts*, further files of the same text-completion preset, they become one. One that would change nothing,
    as far as *takes_text* decides it, is not put in force.
    """
    for each in (path, *parts):
        if each.suffix.casefold() != SUFFIX:
            raise PresetError(f"{each}: a preset is a .json file; export it from SillyTavern as one")
    raw = _content(path)
    if parts:
        raw = join_text_parts([(each.stem, _content(each)) for each in (path, *parts)])
    called = name or path.stem
    answer = read_in_child("preset", raw, (called, fidelity.value), shown=str(path), error=PresetError)
    if "problem" in answer:
        raise PresetError(answer["problem"])
    store = PresetStore(FamiliarFolder(familiar_root).presets)
    before = store.active()
    report = store.import_bytes(called, raw, overwrite=overwrite, fidelity=fidelity)
    why = why_no_effect(store.get(report.name), takes_text=takes_text)
    if why and before != report.name:
        store.use(before) if before is not None else store.use_none()
    return replace(report, no_effect=why)


def _content(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise PresetError(f"{path}: is not a file; name the preset's .json file")
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise PresetError(f"{path}: there is no such file; check the name") from None
    except OSError as error:
        raise PresetError(f"{path}: cannot be read ({error.strerror or error}); check that you may read it") from None
    except ValueError:
        raise PresetError(f"{str(path)!r} cannot name a file; check the name") from None
    if len(raw) > MAX_BYTES:
        raise PresetError(f"{path}: is larger than {MAX_BYTES:,} bytes, which no preset is; choose another file")
    return raw
