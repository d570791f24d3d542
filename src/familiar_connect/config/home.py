"""The data home: where familiars live, which there are and which one is meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from familiar_connect.config.folders import HomeFolder
from familiar_connect.config.secrets import FAMILIAR_VARIABLE, Secrets, expand_folder, home_from_environment
from familiar_connect.config.toml import format_value
from familiar_connect.errors import HomeError

DEFAULT_FAMILIAR_ID = "default"
"""The familiar used when there are several and none is named."""

WHICH_FAMILIAR = f"Which familiar (default: {FAMILIAR_VARIABLE} if set, else the one you last talked with)."
"""What `--familiar` means, for every verb."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
_LISTED = 20


def find_home(flag: Path | None = None, *, environ: Mapping[str, str] | None = None) -> Path:
    """The data home: *flag*, else `FAMILIAR_HOME`, else the user's own; a link that the owner named is resolved here.

    Below it no link is followed.
    """
    home = expand_folder(flag).resolve() if flag else home_from_environment(environ=environ)
    if home.exists() and not home.is_dir():
        raise HomeError(f"{home}: is a file; name a folder with --home or FAMILIAR_HOME")
    return home


def home_nearby(cwd: Path | None = None) -> Path | None:
    """`./data`, where it looks like a home. It is never used unless somebody names it: it may be anybody's."""
    nearby = (cwd or Path.cwd()) / "data"
    return nearby if HomeFolder(nearby).familiars.is_dir() else None


def familiar_root(home: Path, familiar_id: str) -> Path:
    """Folder of one familiar, whether or not it exists."""
    if familiar_id in ("", ".", "..") or any(mark in familiar_id for mark in "/\\\0:"):
        raise HomeError(f"{format_value(familiar_id)} cannot name a familiar; use a-z, A-Z, 0-9, - and _")
    return HomeFolder(Path(home)).familiar(familiar_id).root


def profile_path(home: Path) -> Path | None:
    """The `character.toml` with the defaults of every familiar, if this home has one."""
    path = HomeFolder(Path(home)).profile.settings_file
    return path if path.exists() else None


def list_familiars(home: Path) -> list[str]:
    """The familiars of this home, by name."""
    folder = HomeFolder(Path(home)).familiars
    try:
        return sorted(entry.name for entry in folder.iterdir() if entry.name[0] not in "_." and entry.is_dir())
    except FileNotFoundError:
        return []
    except OSError as exc:
        raise HomeError(f"{folder}: cannot be read ({exc.strerror}); check that it is a folder you may read") from exc


def pick_familiar(
    home: Path,
    wanted: str | None = None,
    *,
    last_talk: Callable[[Path], float],
    environ: Mapping[str, str] | None = None,
) -> str:
    """Which familiar is meant: *wanted*, else `FAMILIAR_ID`, else the only one or the one talked with last.

    *last_talk* says when that was, of the folder of a familiar; 0 for never.
    """
    there = list_familiars(home)
    name = wanted or Secrets(home, environ=environ).get(FAMILIAR_VARIABLE)
    if name:
        if name in there:
            return name
        raise HomeError(_no_such(home, name, there))
    if not there:
        raise HomeError(f"{home}: there is no familiar here yet; make one with `familiar init`")
    if len(there) == 1:
        return there[0]
    when = {each: last_talk(familiar_root(home, each)) for each in there}
    if DEFAULT_FAMILIAR_ID not in there and not any(when.values()):
        raise HomeError(
            f"{home}: several familiars live here ({_listed(there)}) and none was talked with yet; "
            f"say which with --familiar ID or {FAMILIAR_VARIABLE}"
        )
    return max(there, key=lambda each: (when[each], each == DEFAULT_FAMILIAR_ID))


def is_valid_familiar_id(text: str) -> bool:
    """Whether *text* can name a new familiar: letters, digits, - and _, at most 64, a letter or digit first."""
    return _ID.fullmatch(text) is not None and text.lower() not in _DEVICES


def _no_such(home: Path, name: str, there: list[str]) -> str:
    from difflib import get_close_matches  # only for a mistake

    near = get_close_matches(name[:64], there, n=1)
    sentence = f"{home}: there is no familiar called {format_value(name)}"
    if near:
        return f"{sentence}; did you mean {near[0]!r}?"
    if there:
        sentence += f"; there are: {_listed(there)}"
    if not is_valid_familiar_id(name):
        return f"{sentence}; a name is made of a-z, A-Z, 0-9, - and _"
    return f"{sentence}; make it with `familiar init {name}`"


def _listed(names: list[str]) -> str:
    rest = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")
