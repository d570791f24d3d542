"""How a part declares its settings: one line for each field of a frozen dataclass, with what it must be and does."""

from __future__ import annotations

from familiar_connect.config.rules import (
    FILLED_TEXT,
    FLAG,
    TEXT,
    TEXT_OR_NONE,
    TEXTS,
    InvalidValue,
    Rule,
    choice_rule,
    integer_rule,
    number_rule,
)
from familiar_connect.config.settings import setting

__all__ = [
    "FILLED_TEXT",
    "FLAG",
    "TEXT",
    "TEXTS",
    "TEXT_OR_NONE",
    "InvalidValue",
    "Rule",
    "choice_rule",
    "integer_rule",
    "number_rule",
    "setting",
]
