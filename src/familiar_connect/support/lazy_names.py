"""load_lazily: names of other modules that are loaded when they are first asked for, and not before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

PACKAGE = "familiar_connect"


def load_lazily(module: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], object]:
    """What *module* takes for its `__getattr__`; *homes* says in which module of the package each name lies."""
    found = {name: home for home, names in homes.items() for name in names}

    def get(name: str) -> object:
        if name not in found:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(import_module(f"{PACKAGE}.{found[name]}"), name)

    return get
