"""ModelLibrary: the model files of a home, by name: those that were fetched, and the owner's own wherever they lie.

Settings name a model and never a path, so a familiar's folder, which may be anybody's, cannot have a file of its
choosing opened. Only the owner's commands put a name to a file.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

from familiar_connect.config.command import command_name
from familiar_connect.config.folders import HomeFolder
from familiar_connect.config.llm import LOCAL_MODEL_NAME
from familiar_connect.config.toml import format_rows, format_value, read_rows, write_text
from familiar_connect.errors import ConfigError, ModelSetupError
from familiar_connect.llm.local.catalogue import SMALL_MODEL, CatalogueModel, read_catalogue
from familiar_connect.support.no_follow import refuse_linked_path, remove_file

SUFFIX = ".gguf"
PART_SUFFIX = ".part"
_OWNER_ONLY = 0o600
_HEADER = (
    "# Names of model files elsewhere on this computer; settings say `embedded:NAME`.\n"
    "# Written by `familiar model use FILE.gguf`."
)
_ODD = re.compile(r"[^a-z0-9._-]+")


@dataclass(frozen=True, kw_only=True)
class StoredModel:
    """A model file that is here."""

    name: str
    path: Path
    is_fetched: bool
    """Whether it lies in the home; False: it is the owner's own file, which is never deleted."""


class ModelLibrary:
    """The model files of *home*. Nothing is cached: each call looks at the disk. Without a home there are none."""

    def __init__(self, home: Path | None) -> None:
        self._home = home
        self._folder = None if home is None else HomeFolder(home)

    def catalogue(self) -> list[CatalogueModel]:
        """What can be fetched."""
        return read_catalogue(self._home)

    def entry(self, name: str) -> CatalogueModel:
        """The model of that name in the catalogue; a sentence when there is none."""
        known = {each.name: each for each in (*self.catalogue(), SMALL_MODEL)}
        if name in known:
            return known[name]
        raise ModelSetupError(f"There is no model {format_value(name)} to fetch{self._hint(name, list(known))}")

    def path_for(self, name: str) -> Path:
        """Where the model of that name lies, or will lie, once fetched."""
        if self._folder is not None and name == SMALL_MODEL.name:
            return self._folder.small_model
        if self._folder is None or not LOCAL_MODEL_NAME.fullmatch(name):
            raise ModelSetupError(f"{format_value(name)} cannot name a model{self._hint(name, [])}")
        return self._folder.models / f"{name}{SUFFIX}"

    def models_here(self) -> list[StoredModel]:
        """Every model file that is here, by name; a file of the owner's that is gone is left out."""
        if self._folder is None:
            return []
        found = {
            path.stem: StoredModel(name=path.stem, path=path, is_fetched=True)
            for path in sorted(self._folder.models.glob(f"*{SUFFIX}"))
            if LOCAL_MODEL_NAME.fullmatch(path.stem) and path.is_file()
        }
        for name, path in self._own_files().items():
            if path.is_file():
                found[name] = StoredModel(name=name, path=path, is_fetched=False)
        return [found[name] for name in sorted(found)]

    def file_of(self, name: str) -> Path:
        """The file of the model *name*; a sentence says how to get it when it is not here."""
        here = {each.name: each for each in self.models_here()}
        if name in here:
            if here[name].is_fetched:
                refuse_linked_path(here[name].path)
            return here[name].path
        own = self._own_files()
        if name in own:
            raise ModelSetupError(
                f"The model {name} is {own[name]}, which is gone: put it back, or use another "
                f"(`{command_name()} model use`)."
            )
        if name in {each.name for each in self.catalogue()}:
            raise ModelSetupError(f"The model {name} is not here yet: `{command_name()} model get {name}` fetches it.")
        raise ModelSetupError(f"There is no model {format_value(name)} here{self._hint(name, list(here))}")

    def add_file(self, path: Path) -> str:
        """Give the owner's file a name, made of its own; the name."""
        path = path.absolute()
        own = self._own_files()
        for name, there in own.items():
            if there == path:
                return name
        taken = {each.name for each in self.catalogue()} | {each.name for each in self.models_here()} | own.keys()
        base = _ODD.sub("-", path.stem.lower()).strip("-._")[:56] or "model"
        name = next(each for each in (base, *(f"{base}-{n}" for n in range(2, 1000))) if each not in taken)
        self._write({**own, name: path})
        return name

    def remove(self, name: str) -> int:
        """Delete a fetched model, or forget the name of the owner's own file; how many bytes were freed."""
        own = self._own_files()
        if name in own:
            self._write({each: path for each, path in own.items() if each != name})
            return 0
        whole = self.path_for(name)
        files = [path for path in (whole, *part_files(whole)) if path.exists()]
        if not files:
            known = [each.name for each in self.models_here()]
            raise ModelSetupError(f"There is no model {format_value(name)} here{self._hint(name, known)}")
        freed = sum(path.stat().st_size for path in files)
        for path in files:
            remove_file(path)
        return freed

    def _own_files(self) -> dict[str, Path]:
        if self._folder is None:
            return {}
        file = self._folder.models_file
        found: dict[str, Path] = {}
        for row in read_rows(file, "model"):
            name = row.get("name") if isinstance(row, dict) else None
            path = row.get("file") if isinstance(row, dict) else None
            if not isinstance(name, str) or not isinstance(path, str) or not LOCAL_MODEL_NAME.fullmatch(name):
                raise ConfigError(f'{file}: each [[model]] row needs name = "…" and file = "…"; fix that row')
            found[name] = Path(path)
        return found

    def _write(self, own: dict[str, Path]) -> None:
        if self._folder is None:
            raise ModelSetupError("There is no data home to keep model names in; name one with --home.")
        rows = [{"name": name, "file": str(path)} for name, path in sorted(own.items())]
        write_text(self._folder.models_file, format_rows(_HEADER, "model", rows), mode=_OWNER_ONLY)

    def _hint(self, name: str, known: list[str]) -> str:
        near = difflib.get_close_matches(name[:64], known, n=1)
        meant = f"; did you mean {near[0]}?" if near else ":"
        return f"{meant} `{command_name()} model list` shows them."


def part_files(whole: Path) -> tuple[Path, Path]:
    """What an unfinished fetch leaves beside *whole*: the bytes so far, and how many parts they are."""
    return whole.with_name(whole.name + PART_SUFFIX), whole.with_name(whole.name + ".parts.json")
