"""Facts from a file that may be damaged."""

from __future__ import annotations

from typing import Any

import pytest

from familiar_connect.observe.trace import StageSpan, count_or_zero, finite_number, only_mappings, provider_outcomes
from tests.fakes.traces import a_trace


@pytest.mark.parametrize("value", [None, "many", [], {}, float("nan"), float("inf"), 10**400])
def test_what_is_no_number_counts_as_missing(value: Any) -> None:
    """Whatever stands there instead."""
    assert (finite_number(value), count_or_zero(value)) == (None, 0)


def test_a_number_may_be_written_as_text() -> None:
    """As some servers do."""
    assert (finite_number("0.5"), finite_number(3), count_or_zero("7")) == (0.5, 3.0, 7)


@pytest.mark.parametrize("value", [None, 7, "text", {"a": 1}, [1, None, "x"]])
def test_only_mappings_in_a_list_are_read(value: Any) -> None:
    """Anything else is passed over."""
    assert only_mappings(value) == []
    assert provider_outcomes(a_trace(stages=(StageSpan("assemble", 0, 0, {"provider_outcomes": value}),))) == []
    assert only_mappings([1, {"id": "x"}]) == [{"id": "x"}]
