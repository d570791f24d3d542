"""Values as plain data and back: dataclasses, named tuples, enums, collections and times ↔ what JSON can hold.

`from_plain(type(value), to_plain(value)) == value` for every value made of those. A dataclass becomes
an object tagged with its class name, so a union finds its member again. Fields left out of comparison
are left out here too, and come back as their default. Unknown fields are passed over and missing ones
take their default, so that data written by another version can still be read.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import hashlib
import json
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import Any, Literal, TypeVar, cast

TAG = "_type"
"""The key that names a dataclass."""

T = TypeVar("T")

_SCALARS = (str, int, float, bool, type(None))
_PLAIN = frozenset(_SCALARS)


class PlainDataError(ValueError):
    """Plain data that does not fit the type asked for; the message names the place."""


def to_plain(value: object) -> Any:
    """*value* as dicts, lists and scalars."""
    kind = type(value)
    if kind in _PLAIN:  # nine values in ten
        return value
    if kind is tuple or kind is list:
        return [to_plain(inner) for inner in cast("Iterable[object]", value)]
    if isinstance(value, Enum):
        return to_plain(value.value)
    if isinstance(value, _SCALARS):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        plain: dict[str, Any] = {TAG: kind.__name__}
        for name in _names(type(value)):
            inner = getattr(value, name)
            plain[name] = inner if type(inner) in _PLAIN else to_plain(inner)
        return plain
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {_key_to_plain(key): to_plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(inner) for inner in value]
    if isinstance(value, frozenset | set):
        return sorted((to_plain(inner) for inner in value), key=canonical_json)
    raise TypeError(f"a {type(value).__name__} has no plain form")


def from_plain(kind: type[T], data: object) -> T:
    """The value of type *kind* that *data* stands for."""
    return cast(T, _read(kind, data, kind.__name__))


def canonical_json(plain: object) -> str:
    """One text for equal data: keys sorted, no spaces, ASCII only."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def content_hash(plain: object) -> str:
    """A name for *plain* made of its content alone."""
    return hashlib.sha256(canonical_json(plain).encode("ascii")).hexdigest()


@dataclasses.dataclass(frozen=True)
class _Field:
    hint: object
    required: bool


@lru_cache(maxsize=256)
def _names(kind: type) -> tuple[str, ...]:
    """The fields of a dataclass that travel. Who only writes needs no types, which take longer to find out."""
    return tuple(field.name for field in dataclasses.fields(kind) if field.init and field.compare)


@lru_cache(maxsize=256)
def _shape(kind: type) -> dict[str, _Field]:
    """The same fields with their types."""
    hints = typing.get_type_hints(kind)
    needed = {
        field.name: field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        for field in dataclasses.fields(kind)
    }
    return {name: _Field(hints[name], needed[name]) for name in _names(kind)}


def _key_to_plain(key: object) -> str:
    plain = to_plain(key)
    if isinstance(plain, str):
        return plain
    if isinstance(plain, int) and not isinstance(plain, bool):
        return str(plain)
    raise TypeError(f"a {type(key).__name__} cannot be a key in plain data")


_origin_of = lru_cache(maxsize=1024)(typing.get_origin)
_arguments_of = lru_cache(maxsize=1024)(typing.get_args)
_AS_THEY_ARE = frozenset({str, int, float, bool})


def _read(hint: object, data: object, where: str) -> object:
    if hint is Any or hint is object or (hint is type(data) and hint in _AS_THEY_ARE):
        return data
    origin = _origin_of(hint)
    if origin is not None:
        return _read_generic(hint, origin, data, where)
    if hint is None or hint is type(None):
        return _expect(data is None, data, "nothing", where)
    if isinstance(hint, type):
        return _read_class(hint, data, where)
    raise PlainDataError(f"{where}: {hint!r} cannot be read from plain data")


def _read_generic(hint: object, origin: object, data: Any, where: str) -> object:
    arguments = _arguments_of(hint)
    if origin in (typing.Union, types.UnionType):
        return _read_union(arguments, data, where)
    if origin is Literal:
        return _expect(data in arguments, data, f"one of {arguments}", where)
    if origin is tuple:
        return _read_tuple(arguments, data, where)
    build = _SEQUENCES.get(origin)
    if build is not None:
        _expect(isinstance(data, list), data, "a list", where)
        return build(_read(arguments[0], inner, f"{where}[{place}]") for place, inner in enumerate(data))
    if origin in _MAPPINGS:
        _expect(isinstance(data, dict), data, "an object", where)
        return {
            _read_key(arguments[0], key, where): _read(arguments[1], inner, f"{where}.{key}")
            for key, inner in data.items()
        }
    raise PlainDataError(f"{where}: {hint!r} cannot be read from plain data")


_SEQUENCES: dict[object, Callable[[Iterable[object]], object]] = {
    list: list,
    set: set,
    frozenset: frozenset,
    collections.abc.Sequence: tuple,
}
_MAPPINGS = (dict, collections.abc.Mapping)


def _read_union(members: tuple[object, ...], data: object, where: str) -> object:
    """The first member that takes *data*; a tag leaves only the class it names."""
    if isinstance(data, dict) and TAG in data:
        named = [member for member in members if getattr(member, "__name__", None) == data[TAG]]
        members = tuple(named) or members
    if len(members) == 1:
        return _read(members[0], data, where)
    for member in members:
        try:
            return _read(member, data, where)
        except PlainDataError:
            continue
    raise PlainDataError(f"{where}: {_glimpse(data)} fits none of {', '.join(map(_name_of, members))}")


def _read_tuple(arguments: tuple[object, ...], data: Any, where: str) -> tuple[object, ...]:
    _expect(isinstance(data, list), data, "a list", where)
    hints = arguments[:1] * len(data) if arguments[1:] == (Ellipsis,) else arguments
    _expect(len(hints) == len(data), data, f"{len(hints)} entries", where)
    return tuple(_read(hint, inner, f"{where}[{i}]") for i, (hint, inner) in enumerate(zip(hints, data, strict=True)))


def _read_key(hint: object, key: str, where: str) -> object:
    try:
        return _read(hint, key, where)
    except PlainDataError:
        try:
            return _read(hint, int(key), where)
        except ValueError:
            raise PlainDataError(f"{where}: {key!r} is no {_name_of(hint)}") from None


def _read_class(kind: type, data: object, where: str) -> object:
    if issubclass(kind, Enum):
        try:
            return kind(data)
        except ValueError:
            raise PlainDataError(f"{where}: {_glimpse(data)} is no {kind.__name__}") from None
    if hasattr(kind, "__dataclass_fields__"):
        return _read_dataclass(kind, data, where)
    if kind is datetime:
        return _read_time(data, where)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        fields = _read_tuple(tuple(typing.get_type_hints(kind).values()), data, where)
        return cast("Callable[..., object]", kind)(*fields)
    if kind is bool or kind is str:
        return _expect(isinstance(data, kind), data, kind.__name__, where)
    if kind in (int, float):
        fits = isinstance(data, int if kind is int else int | float) and not isinstance(data, bool)
        return _expect(fits, data, kind.__name__, where)
    if kind in (dict, list):
        return _expect(isinstance(data, kind), data, kind.__name__, where)
    raise PlainDataError(f"{where}: a {kind.__name__} cannot be read from plain data")


def _read_dataclass(kind: type, data: Any, where: str) -> object:
    _expect(isinstance(data, dict), data, f"a {kind.__name__}", where)
    _expect(data.get(TAG, kind.__name__) == kind.__name__, data, f"a {kind.__name__}", where)
    shape = _shape(kind)
    missing = [name for name, field in shape.items() if field.required and name not in data]
    if missing:
        raise PlainDataError(f"{where}: {', '.join(missing)} missing")
    return kind(
        **{name: _read(field.hint, data[name], f"{where}.{name}") for name, field in shape.items() if name in data}
    )


def _read_time(data: Any, where: str) -> datetime:
    _expect(isinstance(data, str), data, "a time", where)
    try:
        return datetime.fromisoformat(data)
    except ValueError:
        raise PlainDataError(f"{where}: {_glimpse(data)} is no time") from None


def _expect(fits: bool, data: object, wanted: str, where: str) -> object:
    if not fits:
        raise PlainDataError(f"{where}: {_glimpse(data)} where {wanted} was expected")
    return data


def _glimpse(data: object) -> str:
    """What kind of thing is there, never what it says."""
    return f"tagged {data[TAG]}" if isinstance(data, dict) and TAG in data else type(data).__name__


def _name_of(hint: object) -> str:
    return getattr(hint, "__name__", None) or str(hint)
