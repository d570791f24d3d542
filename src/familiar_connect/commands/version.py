"""--version: the version, and the facts that a bug report needs. No name of a person stands in them."""

from __future__ import annotations

import platform
from importlib import metadata
from pathlib import Path

from familiar_connect import __version__
from familiar_connect.commands.common import say, say_below

LIBRARIES = (
    "click",
    "httpx2",
    "numpy",
    "onnxruntime",
    "prompt-toolkit",
    "xllamacpp",
    "splintr-rs",
    "google-re2",
)
ABSENT = "not installed"


def say_version(home: Path | None) -> None:
    """Print the version on the first line, then one fact a line."""
    facts = {
        "python": f"{platform.python_version()} ({platform.python_implementation()}, {platform.machine()})",
        "system": platform.platform(),
        "program": f"{_short(Path(__file__).parent.parent)}{_commit()}",
        "started": " ".join(_short(Path(word)) if "/" in word else word for word in _started_as()),
        "home": _short(_home(home)) if _home(home) else "(cannot be told)",
        "packages": ", ".join(f"{name} {_version_of(name)}" for name in (*LIBRARIES, *_wing_libraries())),
    }
    width = max(map(len, facts))
    say(f"familiar, version {__version__}")
    for key, fact in facts.items():
        say_below(f"{key:<{width}}  ", fact)


def _started_as() -> list[str]:
    from familiar_connect.config.command import command_name

    return command_name().split(" ")


def _home(flag: Path | None) -> Path | None:
    from familiar_connect.config.home import find_home
    from familiar_connect.errors import FamiliarError

    try:
        return find_home(flag)
    except FamiliarError:
        return None


def _wing_libraries() -> list[str]:
    """The packages that the built-in platforms of the program use, by the extras that bring them."""
    from familiar_connect.config.built_in import BUILT_IN_PLATFORMS
    from familiar_connect.config.command import packages_of

    return [name for built_in in BUILT_IN_PLATFORMS for name in packages_of(built_in)]


def _version_of(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ABSENT


def _commit() -> str:
    """The commit of a checkout, read from its files; nothing elsewhere."""
    folder = Path(__file__).parents[3] / ".git"
    try:
        head = (folder / "HEAD").read_text(encoding="ascii").strip()
        name = head.removeprefix("ref: ")
        commit = head if name == head else (folder / name).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return f" at {commit[:12]}"


def _short(path: Path | None) -> str:
    """*path* with the person's own folder as ~, which may hold their name."""
    try:
        return f"~/{Path(path or '').relative_to(Path.home())}".rstrip("/.") or "~"
    except (ValueError, RuntimeError):
        return str(path)
