"""Reading facts of a trace that may come from a damaged file: what is not of the kind expected counts as missing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from familiar_connect.observe.trace import TurnTrace


def finite_number(value: Any) -> float | None:
    """*value* as a finite number, written as text or not; None when it is none."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def count_or_zero(value: object) -> int:
    """*value* as a whole number; 0 when it is none."""
    return int(finite_number(value) or 0)


def only_mappings(value: object) -> list[Mapping[str, object]]:
    """Those members of the list *value* that are mappings; nothing when it is no list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list | tuple) else []


def provider_outcomes(trace: TurnTrace) -> list[dict[str, object]]:
    """How each provider fared."""
    return [dict(outcome) for outcome in only_mappings(trace.fact("provider_outcomes"))]


def provider_notes(outcome: Mapping[str, object]) -> list[str]:
    """What a provider had to do without, though it answered."""
    notes = outcome.get("notes")
    return [str(each) for each in notes] if isinstance(notes, list | tuple) else []
