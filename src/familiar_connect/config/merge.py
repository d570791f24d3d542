"""merge_settings: one settings text laid over another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from familiar_connect.config.toml import parse_toml
from familiar_connect.errors import ConfigError


def merge_settings(text: str, over: str, *, where: Path) -> str:
    """*text* with every key that *over* sets, table by table; *where* names *over* in an error."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    wanted = parse_toml(over, where)
    try:
        document = tomlkit.parse(text)
        _lay_over(document, wanted)
        return tomlkit.dumps(document)
    except (TOMLKitError, ValueError, TypeError) as error:
        raise ConfigError(f"{where}: does not fit the settings that are there ({error})") from error


def _lay_over(document: Any, wanted: Mapping[str, Any]) -> None:
    for key, value in wanted.items():
        if isinstance(value, Mapping) and isinstance(document.get(key), Mapping):
            _lay_over(document[key], value)
        else:
            document[key] = value
