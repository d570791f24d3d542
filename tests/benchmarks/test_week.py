"""The scripted week that a familiar's quiet is measured by."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from benchmarks.week import count, make_script, read_week


def test_the_week_holds_what_it_says() -> None:
    """Three channels on two servers and a direct chat, five people, and every kind of message in its number."""
    lines = read_week()

    assert Counter(line.kind for line in lines) == {
        "addressed": 30,
        "open question": 18,
        "about it": 12,
        "chatter": 230,
    }
    assert {line.place for line in lines} == {"lounge", "plans", "workshop", "dm-ada"}
    assert len({line.person for line in lines}) == 5
    assert all(earlier.at < later.at for earlier, later in pairwise(lines))


def test_what_was_asked_and_answered_is_counted_by_kind() -> None:
    """A reply counts for the line it follows in its own place."""
    lines = [line for line in read_week() if line.kind in ("addressed", "chatter")][:2]
    asked = {"slot": "interjection_decision", "messages": [{"content": "eight ch"}]}
    steps = [
        {"replies_in": [lines[0].place], "calls": [asked]},
        {"replies_in": ["elsewhere"], "calls": [{"slot": "main_prose", "messages": []}]},
    ]
    found = count(lines, steps)

    assert (found["calls"], found["tokens"], sum(found["answered"].values())) == (1, 2.0, 1)


def test_the_judge_says_yes_to_what_is_for_it_and_to_open_questions() -> None:
    """And to nothing else."""
    judge = make_script(read_week())["models"]["interjection_decision"]

    assert len(judge["say"]) == 48
    assert judge["otherwise"].endswith("NO")
