"""Clients of services whose addresses were promised to other software before they were extensions."""

from __future__ import annotations

from familiar_connect.config.built_in import load_built_in_module, name_voice


def find_client(provider: str, module: str, name: str, promised: tuple[str, ...]) -> object:
    """*name* of the built-in extension for *provider*, where it is one of the *promised*."""
    if name not in promised:
        raise AttributeError(f"no {name!r} was promised here")
    return getattr(load_built_in_module(name_voice(provider), module), name)
