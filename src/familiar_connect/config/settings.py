"""Settings are declared once, on the field they fill: default, rule and meaning.

`setting` declares a field, `section` a nested table. `keys_of` walks a dataclass and gives the keys its
file may hold; reading, the error sentences, the reference page and the starter file all follow from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from familiar_connect.config.rules import Rule

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

KeyPath = tuple[str, ...]
SettingsFile = Literal["familiar", "channel"]
"""`character.toml`, or the file of one channel."""

T = TypeVar("T")
C = TypeVar("C", bound="DataclassInstance")

_DECLARED, _SECTION = "setting", "section"


@dataclass(frozen=True, kw_only=True)
class Key:
    """One setting as a file spells it: its dotted name, the field it fills, what it must be and what it does."""

    name: str
    field: str
    """The field, dotted where it lies in a section's dataclass: `tts.provider`."""
    rule: Rule[object]
    meaning: str
    example: str = ""
    """TOML shown where the default is nothing."""
    only: SettingsFile | None = None
    """The one file it may stand in; None: wherever its dataclass is used."""
    also: str = ""
    """Another name for the last part of its own, accepted in its place."""

    @property
    def path(self) -> KeyPath:
        return tuple(self.name.split("."))

    @property
    def other_path(self) -> KeyPath | None:
        return (*self.path[:-1], self.also) if self.also else None


def setting(
    default: T,
    rule: Rule[T],
    meaning: str,
    *,
    key: str = "",
    example: str = "",
    only: SettingsFile | None = None,
    also: str = "",
) -> T:
    """A field that is a setting. *key* is its name in the file, with its section, where not the field's own.

    The return type is the field's, so that a default or rule of another type is a type error.
    """
    metadata = describe(rule, meaning, key=key, example=example, only=only, also=also)
    if isinstance(default, list | dict):
        return cast("T", field(default_factory=default.copy, metadata=metadata))
    return field(default=default, metadata=metadata)


def describe(
    rule: Rule[object],
    meaning: str,
    *,
    key: str = "",
    example: str = "",
    only: SettingsFile | None = None,
    also: str = "",
) -> dict[str, Key]:
    """The metadata of a setting, for a field that needs `dataclasses.field` itself."""
    return {_DECLARED: Key(name=key, field="", rule=rule, meaning=meaning, example=example, only=only, also=also)}


def section(kind: type[C], name: str = "") -> C:
    """A field whose dataclass holds the settings of the table *name*; no name: of the table around it."""
    return field(default_factory=kind, metadata={_SECTION: (kind, name)})


def keys_of(kind: type[DataclassInstance], name: str = "", *, file: SettingsFile | None = None) -> tuple[Key, ...]:
    """Every setting declared in *kind*, in the order of its fields, as the table *name* of *file* spells them."""
    return tuple(key for key in _all_keys(cast("Any", kind), name) if file is None or key.only in (None, file))


@cache
def _all_keys(kind: type[DataclassInstance], table: str) -> tuple[Key, ...]:
    """Worked out once in a process: those of a model are asked for at each of a familiar's models."""
    return tuple(_walk(kind, table, ""))


def _walk(kind: type[DataclassInstance], table: str, outer: str) -> Iterator[Key]:
    for one in fields(kind):
        if _SECTION in one.metadata:
            inner, name = one.metadata[_SECTION]
            yield from _walk(inner, _dot(table, name), _dot(outer, one.name))
        elif _DECLARED in one.metadata:
            declared: Key = one.metadata[_DECLARED]
            name = _dot(table, declared.name or one.name)
            yield replace(declared, name=name, field=_dot(outer, one.name))


def _dot(*parts: str) -> str:
    return ".".join(part for part in parts if part)


def fill_fields(config: C, values: Mapping[str, object]) -> C:
    """*config* with *values*, by the dotted names of their fields, in place of its own."""
    own: dict[str, object] = {}
    inner: dict[str, dict[str, object]] = {}
    for name, value in values.items():
        head, _, rest = name.partition(".")
        if rest:
            inner.setdefault(head, {})[rest] = value
        else:
            own[head] = value
    for head, given in inner.items():
        own[head] = fill_fields(getattr(config, head), given)
    return replace(config, **own)


def field_value(config: DataclassInstance, key: Key) -> object:
    """What *config* has for *key*."""
    value: object = config
    for name in key.field.split("."):
        value = getattr(value, name)
    return value
