"""Facts from a file that may be damaged."""

from __future__ import annotations

from typing import Any

import pytest

from familiar_connect.observe.facts import count, mappings, number, outcomes_of
from familiar_connect.observe.trace import StageSpan
from tests.fakes.observed import a_trace


@pytest.mark.parametrize("value", [None, "many", [], {}, float("nan"), float("inf"), 10**400])
def test_what_is_no_number_counts_as_missing(value: Any) -> None:
    """Whatever stands there instead."""
    assert (number(value), count(value)) == (None, 0)


def test_a_number_may_be_written_as_text() -> None:
    """As some servers do."""
    assert (number("0.5"), number(3), count("7")) == (0.5, 3.0, 7)


@pytest.mark.parametrize("value", [None, 7, "text", {"a": 1}, [1, None, "x"]])
def test_only_mappings_in_a_list_are_read(value: Any) -> None:
    """Anything else is passed over."""
    assert mappings(value) == []
    assert outcomes_of(a_trace(stages=(StageSpan("assemble", 0, 0, {"provider_outcomes": value}),))) == []
    assert mappings([1, {"id": "x"}]) == [{"id": "x"}]
