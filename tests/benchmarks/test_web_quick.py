"""The benchmark of the page in its quick form: it is small, and a large turn is one."""

from __future__ import annotations

import pytest

from benchmarks import web
from tests.fakes.page import needs_page

pytestmark = needs_page


def test_the_page_is_small_and_every_number_has_a_bar() -> None:
    """Times are for a quiet machine to judge; sizes are the same everywhere."""
    found = web.measure(quick=True)
    told = web.rows(found)
    browser = found["browser"]

    assert found["load_kb"] < web.MOST_LOAD_KB
    assert found["panel_tokens"] > web.LARGE_TOKENS
    assert all(row.bar for row in told)
    assert browser is None or browser["scrolled_rows"] >= found["listed"]
    for pages in web.PAGES:
        added = [row for row in told if row.name.startswith(f"added to a turn, {pages} pages open")]
        assert len(added) == 2, "in processor time and by the clock"
        assert found[f"pages_{pages}"]["with"]["count"] == web.QUICK_ROUNDS


def test_a_missed_bar_is_an_exit_code(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The table names it; a script sees it."""
    turn = {"added_ms": 0.5, "added_cpu_ms": 0.5, "without": {"p50": 20.0}, "without_cpu": {"p50": 15.0}}
    found = {
        **{f"pages_{pages}": turn for pages in web.PAGES},
        "load_ms": 100.0,
        "load_kb": 100.0,
        "panel_tokens": 30_000,
        "panel": {"p50": 50.0},
        "panel_cpu": {"p50": 50.0},
        "listed": 200,
        "list": {"p95": 20.0},
        "list_cpu": {"p95": 20.0},
        "browser": None,
        "was_busy": False,
    }
    monkeypatch.setattr(web, "measure", lambda *, quick: found)
    fine = web.main(["--quick"])
    turn["added_ms"] = 50.0
    late = web.main(["--quick"])
    found["was_busy"] = True
    beside_others = web.main(["--quick"])
    turn["added_cpu_ms"] = 2.5
    slow = web.main(["--quick"])

    assert (fine, late, beside_others, slow) == (0, 1, 0, 1)
    assert (
        "| added to a turn, 20 pages open, processor time, p50 | +2.50 ms (15.0 ms) | < 2 ms | ✗ |"
        in capsys.readouterr().out
    )
