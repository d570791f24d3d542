"""A talk of several people as a file: who says what when, in words that are spoken for them or as recordings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from familiar_connect.errors import ConfigError
from familiar_connect.support.json_object import JsonObject, read_json

MAX_SCRIPT_BYTES = 1024 * 1024
MAX_LINES = 1_000
MAX_SECONDS = 7_200.0
MAX_TEXT_CHARS = 2_000
MAX_NAME_CHARS = 80

_KEYS = frozenset({"speaker", "at", "from", "text", "wav", "typed", "leaves"})
_KINDS = ("text", "wav", "typed", "leaves")


class ScriptStart(Enum):
    """From when the seconds of a line count."""

    start = "start"
    speech = "speech"
    """From when the familiar begins to speak next, after the lines before."""


@dataclass(frozen=True, kw_only=True)
class ScriptLine:
    """One thing that somebody does; exactly one of the last four is given."""

    speaker: str
    at: float
    counts_from: ScriptStart = ScriptStart.start
    text: str | None = None
    """Words that are spoken for them."""
    wav: Path | None = None
    """A recording of them."""
    typed: str | None = None
    """Something they write."""
    leaves: bool = False
    """They go."""


def read_script(path: Path) -> list[ScriptLine]:
    """The lines of the script at *path*; recordings are looked for beside it."""
    data = read_json(path, limit=MAX_SCRIPT_BYTES, what="a script of a talk is small: recordings go into files")
    lines = JsonObject(data, str(path)).data.get("lines")
    if not isinstance(lines, list) or not lines:
        raise ConfigError(f'{path}: "lines" must be a list of what people say, and not empty')
    if len(lines) > MAX_LINES:
        raise ConfigError(f"{path}: {len(lines)} lines; at most {MAX_LINES} are played, cut it into parts")
    return [_line(each, f"{path}: line {number}", path.parent) for number, each in enumerate(lines, start=1)]


def _line(data: object, where: str, folder: Path) -> ScriptLine:
    fields = JsonObject(data, where).data
    unknown = sorted(set(fields) - _KEYS)
    if unknown:
        raise ConfigError(f"{where}: {unknown[0]!r} is not known; there are {', '.join(sorted(_KEYS))}")
    given = [kind for kind in _KINDS if fields.get(kind)]
    if len(given) != 1:
        raise ConfigError(f'{where}: give one of "text", "wav", "typed" or "leaves"')
    wav = _text(fields, "wav", where)
    return ScriptLine(
        speaker=_name(fields, where),
        at=_seconds(fields, where),
        counts_from=_start(fields, where),
        text=_text(fields, "text", where),
        wav=folder / wav if wav is not None else None,
        typed=_text(fields, "typed", where),
        leaves=bool(fields.get("leaves")),
    )


def _name(fields: Mapping[str, object], where: str) -> str:
    name = fields.get("speaker")
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME_CHARS:
        raise ConfigError(f'{where}: "speaker" must be a name of at most {MAX_NAME_CHARS} characters')
    return name.strip()


def _seconds(fields: Mapping[str, object], where: str) -> float:
    at = fields.get("at")
    if not isinstance(at, int | float) or isinstance(at, bool) or not 0 <= at <= MAX_SECONDS:
        raise ConfigError(f'{where}: "at" must be seconds from 0 to {MAX_SECONDS:g}')
    return float(at)


def _start(fields: Mapping[str, object], where: str) -> ScriptStart:
    try:
        return ScriptStart(fields.get("from", "start"))
    except ValueError as error:
        raise ConfigError(f'{where}: "from" must be "start" or "speech"') from error


def _text(fields: Mapping[str, object], key: str, where: str) -> str | None:
    text = fields.get(key)
    if text is None or text == "":
        return None
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_TEXT_CHARS or "\0" in text:
        raise ConfigError(f'{where}: "{key}" must be a text of at most {MAX_TEXT_CHARS} characters')
    return text.strip()
