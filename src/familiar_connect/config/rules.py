"""Rules: what the value of a setting must be. A rule reads a TOML value into a typed one, or refuses it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)
E_ = TypeVar("E_", bound=Enum)


class InvalidValue(ValueError):
    """A value that does not meet its rule."""


@dataclass(frozen=True)
class Rule(Generic[T_co]):
    """What a value must be: `says` completes the sentence "… must be", `read` gives the typed value."""

    says: str
    read: Callable[[object], T_co]
    """Raises `InvalidValue` for a value that is not as `says` has it."""
    may_show: bool = True
    """False where someone might paste a key: the value is then left out of the error."""
    choices: tuple[str, ...] = ()


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValue
    return value


def _text_or_none(value: object) -> str | None:
    return _text(value).strip() or None


def _filled_text(value: object) -> str:
    text = _text(value).strip()
    if not text:
        raise InvalidValue
    return text


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidValue
    return value


def _filled_texts(value: object) -> list[str]:
    if not isinstance(value, list):
        raise InvalidValue
    return [_filled_text(item) for item in value]


TEXT = Rule("a string", _text)
"""Words, as they stand in the file."""
TEXT_OR_NONE = Rule("a string", _text_or_none)
"""Words without the space around them; None where none are left."""
FILLED_TEXT = Rule("a non-empty string", _filled_text)
"""Words without the space around them, at least one."""
FLAG = Rule("true or false", _flag)
"""A switch."""
TEXTS = Rule("a list of non-empty strings", _filled_texts)
"""Several of `FILLED_TEXT`, or none."""


def integer_rule(*, least: int) -> Rule[int]:
    """A whole number no smaller than *least*."""

    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**63:
            raise InvalidValue
        return value

    return Rule("a whole number above 0" if least == 1 else f"a whole number, {least} or more", read)


def number_rule(*, least: float | None = None, above: float | None = None, most: float | None = None) -> Rule[float]:
    """A finite number within the bounds given; always read as float."""

    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidValue
        try:
            result = float(value)
        except OverflowError:
            raise InvalidValue from None
        if not math.isfinite(result):
            raise InvalidValue
        if (least is not None and result < least) or (above is not None and result <= above):
            raise InvalidValue
        if most is not None and result > most:
            raise InvalidValue
        return result

    if most is not None:
        return Rule(f"in the range {least:g} to {most:g}", read)
    return Rule(f"a number above {above:g}" if above is not None else f"a number, {least or 0:g} or more", read)


def enum_rule(choices: type[E_]) -> Rule[E_]:
    """A member of an enum, by its value."""
    names = tuple(str(member.value) for member in choices)

    def read(value: object) -> E_:
        if not isinstance(value, str) or value not in names:
            raise InvalidValue
        return choices(value)

    return Rule(f"one of {', '.join(names)}", read, choices=names)


def choice_rule(*names: str) -> Rule[str]:
    """One of the words given."""

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in names:
            raise InvalidValue
        return value

    return Rule(f"one of {', '.join(names)}", read, choices=names)
