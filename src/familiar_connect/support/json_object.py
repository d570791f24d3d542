"""JsonObject: the fields of a JSON object that a person wrote, each checked, each complaint naming its place.

Whatever is wrong is a `ConfigError` of one sentence: file, place and what to write there instead.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from familiar_connect.errors import ConfigError
from familiar_connect.support.text import one_line, without_surrogates

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LAST_MOMENT = datetime(9000, 1, 1, tzinfo=UTC)
LARGEST_NUMBER = 2**63 - 1
LONGEST_S = 366 * 24 * 3600


T = TypeVar("T")


def read_json(path: Path, *, limit: int, what: str) -> object:
    """The JSON in the file at *path*; *what* says what such a file is, to whoever named one larger than *limit*."""
    try:
        if path.stat().st_size > limit:
            raise ConfigError(f"{path}: larger than {limit // 1024 // 1024} MB; {what}")
        data: object = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not valid JSON ({error})") from error
    return data


class JsonObject:
    """One object of the file, and where it stands."""

    def __init__(self, data: object, where: str) -> None:
        if not isinstance(data, dict):
            raise ConfigError(f"{where}: must be an object in braces, not {_kind(data)}")
        self.data: dict[str, Any] = data
        self.where = where

    def text(self, key: str) -> str | None:
        value = self.data.get(key)
        if value is None or isinstance(value, str):
            return value and without_surrogates(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        raise self._wrong(key, "a text")

    def number(self, key: str) -> int | None:
        value = self.data.get(key)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_NUMBER):
            return value
        raise self._wrong(key, f"a whole number from 0 to {LARGEST_NUMBER}")

    def seconds(self, key: str) -> float | None:
        """A length of time in seconds, nothing below zero and nothing endless."""
        value = self.data.get(key)
        if value is None:
            return None
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LONGEST_S:
            return float(value)
        raise self._wrong(key, f"a number of seconds from 0 to {LONGEST_S}")

    def flag(self, key: str) -> bool:
        value = self.data.get(key, False)
        if isinstance(value, bool):
            return value
        raise self._wrong(key, "true or false")

    def moment(self, key: str) -> datetime | None:
        text = self.text(key)
        if text is None:
            return None
        try:
            when = datetime.fromisoformat(text)
        except ValueError:
            raise self._wrong(key, "a time such as 2026-03-01T12:00:00+00:00") from None
        when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
        if not EARLIEST <= when <= LAST_MOMENT:
            raise ConfigError(
                f"{self.where}: `{key}` must lie between the years {EARLIEST.year} and {LAST_MOMENT.year}"
            )
        return when

    def entries(self, key: str) -> list[object]:
        value = self.data.get(key, [])
        if isinstance(value, list):
            return value
        raise self._wrong(key, "a list in brackets")

    def parts(self, key: str) -> list[JsonObject]:
        return [JsonObject(each, f"{self.where}: {key}[{at}]") for at, each in enumerate(self.entries(key))]

    def part(self, key: str) -> JsonObject | None:
        return None if self.data.get(key) is None else JsonObject(self.data[key], f"{self.where}: {key}")

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; a single text is a list of one."""
        value = self.data.get(key)
        values = [] if value is None else [value] if isinstance(value, str) else value
        if isinstance(values, list) and all(isinstance(each, str) for each in values):
            return tuple(map(without_surrogates, values))
        raise self._wrong(key, "a text, or a list of texts")

    def objects(self, key: str) -> dict[str, JsonObject]:
        """An object whose values are objects, by their names in the order of the file."""
        named = self.part(key)
        if named is None:
            return {}
        return {name: JsonObject(each, f"{named.where}.{name}") for name, each in named.data.items()}

    def check_keys(self, known: Collection[str]) -> None:
        """Refuse a key that means nothing here, for it is most often one that was misspelt."""
        for key in self.data:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(sorted(known))}"
                raise ConfigError(f"{self.where}: `{one_line(key[:60])}` means nothing here; {hint}")

    def require_text(self, key: str) -> str:
        text = self.text(key)
        if not text:
            raise ConfigError(f"{self.where}: has no `{key}`; add one")
        return text

    def one_of(self, key: str, words: dict[str, T], default: T) -> T:
        word = self.text(key)
        if word is None:
            return default
        if word not in words:
            raise self._wrong(key, f"one of {', '.join(words)}")
        return words[word]

    def _wrong(self, key: str, wanted: str) -> ConfigError:
        return ConfigError(f"{self.where}: `{key}` must be {wanted}, not {_kind(self.data[key])}")


def _kind(value: object) -> str:
    return {dict: "an object", list: "a list", str: "a text", type(None): "null"}.get(type(value), repr(value)[:40])
