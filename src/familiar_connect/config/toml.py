"""TOML files: reading and writing them, and checking what they hold against the keys a file may have.

Every error is one `ConfigError` sentence naming file, section and key. A value is repeated in
it only when it cannot be a secret, and never at length.
"""

from __future__ import annotations

import errno
import json
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, time
from enum import Enum
from pathlib import Path

from familiar_connect.config.rules import InvalidValue
from familiar_connect.config.settings import Key, KeyPath
from familiar_connect.errors import ConfigError, HomeError
from familiar_connect.support.files import atomic_write
from familiar_connect.support.no_follow import LinkRefused, load_bytes

MAX_FILE_BYTES = 1024 * 1024
"""Far larger than any settings file written by hand."""

MAX_DEPTH = 16
_SHOWN_CHARS = 60

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


# --- files ---


def read_text(path: Path, *, limit: int = MAX_FILE_BYTES) -> str | None:
    """The text of a file the owner may have edited, None when there is none."""
    try:
        raw = load_bytes(path, limit + 1)
    except FileNotFoundError:
        return None
    except LinkRefused as exc:
        raise ConfigError(str(exc)) from exc
    except OSError as exc:
        if exc.errno == errno.EISDIR:
            raise ConfigError(f"{path}: is a folder; a text file is expected there") from exc
        if exc.errno in (errno.EINVAL, errno.ENXIO):
            raise ConfigError(f"{path}: is not a plain file; a text file is expected there") from exc
        raise ConfigError(f"{path}: cannot be read ({exc.strerror}); check that you may read it") from exc
    if len(raw) > limit:
        raise ConfigError(f"{path}: is larger than {limit} bytes; that cannot be right; move the excess elsewhere")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = raw[: exc.start].count(b"\n") + 1
        raise ConfigError(f"{path}: line {line} is not UTF-8 text; save the file as UTF-8") from exc


def parse_toml(text: str, path: Path) -> dict[str, object]:
    """*text* parsed; a `ConfigError` names the line of a mistake."""
    try:
        document = tomllib.loads(text)
    except RecursionError:
        document = None
    except ValueError as exc:
        told = str(exc).replace("at end of document", f"at line {text.rstrip().count(chr(10)) + 1}, the last")
        raise ConfigError(f"{path}: is not valid TOML: {told}; fix that line") from exc
    if document is None or _is_deep(document):
        raise ConfigError(f"{path}: is nested more than {MAX_DEPTH} levels deep; write it flatter")
    return document


def _is_deep(document: dict[str, object]) -> bool:
    level: list[object] = [document]
    for _ in range(MAX_DEPTH):
        inner = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list)]
        level = [value for values in inner for value in values]
    return bool(level)


def read_toml(path: Path) -> dict[str, object] | None:
    """The tables of the file at *path*, None when there is no such file."""
    text = read_text(path)
    return None if text is None else parse_toml(text, path)


def write_text(path: Path, text: str, *, mode: int | None = None) -> None:
    """Replace the file atomically; make its folder if there is none."""
    try:
        atomic_write(path, text, mode=mode)
    except LinkRefused:
        raise
    except OSError as exc:
        raise HomeError(
            f"{path}: cannot be written ({exc.strerror or exc}); nothing was changed, check rights and free space"
        ) from exc


def toml_literal(value: object) -> str:
    """*value* as TOML writes it; nothing for None."""
    if value is None:
        return ""
    if isinstance(value, Enum):
        return toml_literal(value.value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_literal(item) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_literal(name)} = {toml_literal(item)}" for name, item in value.items()) + "}"
    whole = str(value).encode("utf-8", "replace").decode("utf-8")
    return json.dumps(whole, ensure_ascii=False).replace("\x7f", "\\u007f")


# --- rows ---


def read_rows(path: Path, table: str, *, beside: Collection[str] = ()) -> list[object]:
    """The rows of a file made of `[[table]]`, and of the tables *beside* it, alone; none when there is no file."""
    document = read_toml(path) or {}
    for name in document:
        if name not in (table, *beside):
            raise ConfigError(f"{path}: unknown key {format_value(name)}; only [[{table}]] rows belong there")
    rows = document.get(table, [])
    if not isinstance(rows, list):
        raise ConfigError(f"{path}: {table} must be a list of rows, each starting with [[{table}]]")
    return rows


def format_rows(header: str, table: str, rows: Iterable[Mapping[str, object]]) -> str:
    """A file made of `[[table]]` rows under a comment; keys without a value are left out."""
    blocks = [header]
    for row in rows:
        lines = [f"{_bare_key(name)} = {toml_literal(value)}" for name, value in row.items() if value is not None]
        blocks.append("\n".join([f"[[{table}]]", *lines]))
    return "\n\n".join(blocks) + "\n"


def _bare_key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else toml_literal(name)


# --- documents ---


def check_document(
    document: Mapping[str, object],
    keys: Sequence[Key],
    file: Path,
    *,
    nouns: Mapping[KeyPath, str] | None = None,
    ignored: Iterable[KeyPath] = (),
    strict: bool = True,
) -> dict[KeyPath, object]:
    """Every value in *document*, checked and typed, by its path.

    A key or section that *keys* do not know is an error, unless not *strict*. *nouns* says what the
    members of a section are called when not sections; *ignored* keys are passed over.
    """
    known = {key.path: key for key in keys}
    known |= {key.other_path: key for key in keys if key.other_path is not None}
    sections = {path[:depth] for path in known for depth in range(len(path))}
    passed_over = set(ignored)
    found: dict[KeyPath, object] = {}
    waiting: list[tuple[KeyPath, Mapping[str, object]]] = [((), document)]
    while waiting:
        section, table = waiting.pop(0)
        for name, value in table.items():
            path = (*section, name)
            if path in passed_over:
                continue
            if path in known:
                found[known[path].path] = _fit(known[path], value, file)
            elif path not in sections:
                if strict:
                    noun = (nouns or {}).get(section) or ("section" if isinstance(value, dict) else "key")
                    raise ConfigError(f"{file}: {_unknown(path, noun, {*known, *sections})}")
            elif isinstance(value, dict):
                waiting.append((path, value))
            else:
                raise ConfigError(f"{file}: {'.'.join(path)} must be a table, written [{'.'.join(path)}]")
    return found


def key_label(path: KeyPath) -> str:
    """How a key is named to its owner: `[section] key`."""
    return f"[{'.'.join(path[:-1])}] {path[-1]}" if path[:-1] else path[-1]


def _fit(key: Key, value: object, file: Path) -> object:
    with suppress(InvalidValue):
        return key.rule.read(value)
    sentence = f"{file}: {key_label(key.path)} must be {key.rule.says}"
    if key.rule.may_show:
        sentence += f", not {format_value(value)}"
        near = _nearest(value, key.rule.choices) if isinstance(value, str) else None
        sentence += f"; did you mean {near!r}?" if near else ""
    raise ConfigError(sentence)


def _unknown(path: KeyPath, noun: str, known: set[KeyPath]) -> str:
    *section, name = path
    siblings = sorted({p[len(section)] for p in known if len(p) > len(section) and p[: len(section)] == tuple(section)})
    elsewhere = sorted(key_label(p) for p in known if p and p[-1] == name)
    near = _nearest(name, siblings)
    if noun == "section":
        sentence = f"unknown section [{'.'.join(format_value(part, bare=True) for part in path)}]"
        near = ".".join([*section, near]) if near else None
    else:
        sentence = f"unknown {noun} {format_value(name)}" + (f" in [{'.'.join(section)}]" if section else "")
    if near:
        return f"{sentence}; did you mean {f'[{near}]' if noun == 'section' else repr(near)}?"
    if elsewhere:
        return f"{sentence}; it belongs at {elsewhere[0]}"
    return f"{sentence}; known there: {', '.join(siblings)}"


def _nearest(word: str, known: Sequence[str]) -> str | None:
    from difflib import get_close_matches  # only for a mistake

    found = get_close_matches(word[:_SHOWN_CHARS].lower(), known, n=1)
    return found[0] if found else None


def format_value(value: object, *, bare: bool = False) -> str:
    """*value* for a sentence: short, and on one line."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, int) and abs(value) >= 10**_SHOWN_CHARS:
        return "so large a number"
    text = repr(value)
    if bare and isinstance(value, str) and value.isprintable():
        text = value
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
