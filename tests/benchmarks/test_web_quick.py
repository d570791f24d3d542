"""The benchmark of the page in its quick form: it is small, and a large turn is one."""

from __future__ import annotations

from benchmarks import web
from tests.fakes.page import needs_page

pytestmark = needs_page


def test_the_page_is_small_and_every_number_has_a_bar() -> None:
    """Times are for a quiet machine to judge; sizes are the same everywhere."""
    found = web.measure(quick=True)

    assert found["load_kb"] < web.MOST_LOAD_KB
    assert found["panel_tokens"] > web.LARGE_TOKENS
    assert all(row.bar for row in web.rows(found))
