"""The benchmark of importing a chat in its quick form."""

from __future__ import annotations

from benchmarks import import_chat


def test_a_long_chat_is_taken_in_and_found() -> None:
    """All of it comes in, a second time nothing, and search finds what was said in the middle."""
    found = import_chat.measure(quick=True)

    assert (found["added"], found["again_added"]) == (import_chat.QUICK_MESSAGES, 0)
    assert found["is_found"]
    assert len(import_chat.rows(found)) == 4
