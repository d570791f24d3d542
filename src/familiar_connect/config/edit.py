"""write_setting: one key of the owner's `character.toml` set or taken out; comments and everything else stay.

What is written is checked as if the whole file had been edited by hand: a value that a start would refuse is refused
here, with the same sentence, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

from familiar_connect.config.character import CHARACTER_KEYS
from familiar_connect.config.load import check_settings
from familiar_connect.config.rules import InvalidValue
from familiar_connect.config.settings import Key, KeyPath
from familiar_connect.config.toml import format_value, key_label, parse_toml, read_text, write_text
from familiar_connect.errors import ConfigError

MAX_VALUE_CHARS = 100_000


def find_setting(name: str) -> Key:
    """The setting called *name* in `character.toml`; a sentence where there is none."""
    found = next((key for key in CHARACTER_KEYS if key.name == name), None)
    if found is None:
        raise ConfigError(f"there is no setting {format_value(name)}; `familiar config show` lists them all")
    return found


def parse_setting(key: Key, words: str, file: Path) -> object:
    """What *words* say for *key*: TOML, or the bare words where the setting is a text."""
    if len(words) > MAX_VALUE_CHARS:
        raise ConfigError(f"{file}: {key_label(key.path)} may have at most {MAX_VALUE_CHARS:,} characters")
    text = words.strip().replace("\r\n", "\n")
    if (given := _from_toml(text, file)) is not None and _fits(key, given):
        return given
    return text if given is None or _fits(key, text) else given


def write_setting(path: Path, key: Key, value: object, *, defaults_path: Path | None = None) -> None:
    """Set *key* in the file at *path*; None takes it out, so that the profile's or the default holds."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    text = read_text(path) or ""
    expected = parse_toml(text, path)
    cannot = f"{path}: {key_label(key.path)} could not be changed; write it there yourself"
    try:
        document = tomlkit.parse(text)
        for tables in (expected, document):
            if key.other_path is not None:
                _remove(tables, key.other_path)
            if value is None:
                _remove(tables, key.path)
            else:
                _put(tables, key.path, value)
        result = tomlkit.dumps(document)
    except (TOMLKitError, ValueError, TypeError, KeyError) as error:
        raise ConfigError(cannot) from error
    reread = parse_toml(result, path)
    if _without_empty(reread) != _without_empty(expected):
        raise ConfigError(cannot)
    check_settings(reread, path, defaults_path=defaults_path)
    write_text(path, result)


def _from_toml(text: str, file: Path) -> object | None:
    """The one value that *text* is in TOML; None where it is none, or more than one."""
    try:
        found = parse_toml(f"value = {text}\n", file)
    except ConfigError:
        return None
    return found["value"] if found.keys() == {"value"} else None


def _fits(key: Key, value: object) -> bool:
    try:
        key.rule.read(value)
    except InvalidValue:
        return False
    return True


def _put(tables: MutableMapping[str, Any], path: KeyPath, value: object) -> None:
    for name in path[:-1]:
        if name not in tables:
            tables[name] = {}
        tables = tables[name]
    tables[path[-1]] = value


def _remove(tables: MutableMapping[str, Any], path: KeyPath) -> None:
    for name in path[:-1]:
        found = tables.get(name)
        if not isinstance(found, MutableMapping):
            return
        tables = found
    tables.pop(path[-1], None)


def _without_empty(tables: Mapping[str, object]) -> dict[str, object]:
    """*tables* without those that hold nothing: a section without keys says nothing."""
    inner = {name: _without_empty(value) if isinstance(value, Mapping) else value for name, value in tables.items()}
    return {name: value for name, value in inner.items() if value != {}}
