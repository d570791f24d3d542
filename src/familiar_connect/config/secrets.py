"""Secrets and the few names the program takes from outside: the one reader of the environment.

A name is looked up in the environment first, then in `<home>/secrets.env` (`NAME=value` lines). Values
are read by name and never shown: not in a repr, a log line or an error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from familiar_connect.config.built_in import read_built_in_secrets
from familiar_connect.config.folders import HomeFolder
from familiar_connect.errors import ConfigError, HomeError

HOME_VARIABLE = "FAMILIAR_HOME"
FAMILIAR_VARIABLE = "FAMILIAR_ID"
APP_NAME = "familiar-connect"

_NOT_OF_A_NAME = re.compile(r"[^A-Z0-9]")
_OWNER_ONLY = 0o600
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_LINE = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=(?P<value>.*)", re.DOTALL)

_warned_about: set[Path] = set()


@cache
def list_variables() -> Mapping[str, str]:
    """Every name the program knows, with what it is for; `api_key_env` may name more.

    Those of the built-in extensions are in a module of each, which a command that only asks for the home does without.
    """
    return {
        HOME_VARIABLE: "Folder of all data; `--home` comes before it. Read from the environment only.",
        FAMILIAR_VARIABLE: "Which familiar to start when `--familiar` does not say.",
        "OPENROUTER_API_KEY": "Key for models at OpenRouter.",
        **read_built_in_secrets(),
        "WEB_PASSWORD": "Password of the page, for `familiar web --host`.",
        "EMBEDDINGS_API_KEY": "Key for the server that `embedder` names.",
        "FASTEMBED_CACHE_PATH": "Where fastembed keeps its models.",
    }


def read_secret(name: str, *, home: Path | None = None) -> str | None:
    """The value of *name*, from the environment or the home's `secrets.env`; None when neither has one."""
    return Secrets(home or home_from_environment()).get(name)


def home_from_environment(*, environ: Mapping[str, str] | None = None) -> Path:
    """The data home when nobody names one: `FAMILIAR_HOME`, else the user's own."""
    named = _variable(HOME_VARIABLE, environ)
    if named:
        return expand_folder(named).resolve()
    from platformdirs import user_data_path

    return user_data_path(APP_NAME, appauthor=False).resolve()


def expand_folder(name: Path | str) -> Path:
    """The folder a person names, `~` and `~someone` understood."""
    try:
        return Path(name).expanduser().absolute()
    except RuntimeError as exc:
        raise HomeError(f"{name}: there is no such user on this computer; write the folder's full path") from exc


class Secrets:
    """The secrets of one home. Nothing is cached: each call reads the file."""

    def __init__(self, home: Path | None, *, environ: Mapping[str, str] | None = None) -> None:
        self._file = None if home is None else HomeFolder(Path(home)).secrets_file
        self._environ = environ

    def __repr__(self) -> str:
        return f"Secrets({str(self._file)!r})"

    def get(self, name: str) -> str | None:
        """The value of *name*; an empty one counts as none."""
        return _variable(name, self._environ) or self._kept().get(name) or None

    def get_from_home(self, name: str) -> str | None:
        """The value that the home's own file gives *name*, whatever the environment says."""
        return self._kept().get(name) or None

    def name_for(self, familiar_id: str, name: str) -> str:
        """Under which name a familiar's *name* is kept: one of its own where there is one, else that of all."""
        own = f"{name}_{_NOT_OF_A_NAME.sub('_', familiar_id.upper())}"
        return name if self.get(own) is None else own

    def names(self) -> list[str]:
        """The names that have a value: those of the file and the known ones of the environment."""
        known = {name for name in list_variables() if _variable(name, self._environ)}
        return sorted(known | {name for name, value in self._kept().items() if value})

    def put(self, name: str, value: str) -> None:
        """Write *name* into `secrets.env`, readable by its owner alone, keeping every other line."""
        if self._file is None:
            raise ConfigError("there is no data home to keep secrets in; name one with --home")
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{self._file}: a secret's name is made of letters, digits and _ only")
        value = value.strip()
        if not value or not value.isprintable():
            raise ConfigError(f"{self._file}: the value of {name} must be one line of plain text; paste it again")
        quoted = f'"{value}"' if value[0] in "\"'" else value
        lines = [line for line in self._lines() if _parsed(line, name) is None]
        self._write(self._file, [*lines, f"{name}={quoted}"])

    def remove(self, name: str) -> bool:
        """Take *name* out of `secrets.env`, keeping every other line; False when it was not there."""
        lines = self._lines()
        left = [line for line in lines if _parsed(line, name) is None]
        if self._file is None or len(left) == len(lines):
            return False
        self._write(self._file, left)
        return True

    def names_in_home(self) -> list[str]:
        """The names that the home's own file gives a value."""
        return sorted(name for name, value in self._kept().items() if value)

    def _kept(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for count, line in enumerate(self._lines(), start=1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            pair = _parsed(line)
            if pair is None:
                _warn("a line of the secrets file is not NAME=value", file=str(self._file), line=count)
            else:
                found[pair[0]] = pair[1]
        return found

    def _write(self, file: Path, lines: list[str]) -> None:
        from familiar_connect.config.toml import write_text  # whoever only asks where the home is loads less

        write_text(file, "\n".join([*lines, ""]) if lines else "", mode=_OWNER_ONLY)

    def _lines(self) -> list[str]:
        if self._file is None:
            return []
        from familiar_connect.config.toml import read_text  # as above

        text = read_text(self._file)
        if text is None:
            return []
        self._warn_if_open()
        return text.removesuffix("\n").split("\n") if text else []

    def _warn_if_open(self) -> None:
        if self._file is None or os.name == "nt" or self._file in _warned_about:
            return
        with suppress(OSError):
            if self._file.lstat().st_mode & 0o077:
                _warned_about.add(self._file)
                _warn("the secrets file is open to others; run chmod 600 on it", file=str(self._file))


def _warn(says: str, **about: object) -> None:
    import logging  # `familiar --help` asks where the home is, and warns of nothing

    logging.getLogger(__name__).warning(says, extra=about)


def _variable(name: str, environ: Mapping[str, str] | None) -> str | None:
    source = os.environ if environ is None else environ
    return source.get(name, "").strip() or None


def _parsed(line: str, name: str | None = None) -> tuple[str, str] | None:
    """Name and value of one line; None when it is no such line, or not the one of *name*."""
    match = _LINE.fullmatch(line)
    if match is None or (name is not None and match["name"] != name):
        return None
    value = match["value"].strip()
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return match["name"], value
