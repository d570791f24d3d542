"""How what was found again is shown."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.index.protocols import ExplainedScore, Neighbour, Recollection, RetrievedChunk
from familiar_connect.memory.index.snippets import format_snippets, without_repeats

WHEN = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)


def said(text: str, place: int = 1, **changes: Any) -> Recollection:
    facts: dict[str, Any] = {"source": "turn", "key": f"{place}", "speaker": "Ada", "when": WHEN, "turn_id": place}
    facts["explained"] = ExplainedScore(1.0, {})
    return Recollection(text=text, place=("turns:1", place), **facts | changes)


def written(text: str, place: int = 1, path: str = "sessions/a.md") -> Recollection:
    return Recollection(
        source="file",
        key=f"{path}#{place}",
        text=text,
        explained=ExplainedScore(1.0, {}),
        rel_path=path,
        heading_path="Log",
        place=(f"file:{path}", place),
    )


def test_things_of_one_conversation_stand_together_in_order() -> None:
    """Under one line that says when; a gap is marked."""
    text = format_snippets([said("third", 9), written("- a note"), said("first", 4), said("second", 5)], 500)

    assert text == ("[sessions/a.md: Log]\n- a note\n\n[2026-05-01 12:30]\nAda: first\nAda: second\n…\nAda: third")


def test_a_correction_follows_what_it_corrects() -> None:
    """Whichever fits the question better."""
    later = said("it is on the ground floor now", place=2, when=datetime(2026, 5, 9, 12, 30, tzinfo=UTC))
    hits = [replace(later, place=("turns:2", 2)), said("the flat is on the third floor", 1)]

    text = format_snippets(hits, 500)

    assert text.index("third floor") < text.index("ground floor")


def scored(text: str, score: float, day: int, speaker: str = "Ada") -> Recollection:
    """Something said on a day of May, found with a score whose signals are known."""
    explained = ExplainedScore(score, {"words": score})
    when = WHEN.replace(day=day)
    hit = said(text, day, key=f"{day}", speaker=speaker, when=when, explained=explained)
    return replace(hit, place=(f"turns:{day}", day))


def test_the_best_stand_next_to_the_message() -> None:
    """A small model answers with what it read last; the others stand before, oldest first."""
    hits = [scored("a canal boat", 9.0, 2), scored("a van", 3.0, 5), scored("a bus", 3.0, 3)]

    assert [line for line in format_snippets(hits, 500).splitlines() if line.startswith("Ada")] == [
        "Ada: a bus",
        "Ada: a van",
        "Ada: a canal boat",
    ]


def test_what_the_asker_said_stands_nearest() -> None:
    """Two people told the same kind of thing, and one of them asks about themselves."""
    hits = [scored("I save for a boat", 9.0, 2), scored("I save for a trip", 8.9, 4, speaker="Bo")]

    assert format_snippets(hits, 500).endswith("Bo: I save for a trip")
    assert format_snippets(hits, 500, asker=frozenset({"ada"})).endswith("Ada: I save for a boat")


def test_a_correction_follows_what_it_corrects_among_the_best_too() -> None:
    """However well the older one fits."""
    hits = [scored("the test is on the 4th", 9.0, 2), scored("they moved the test", 8.0, 4), scored("tea", 3.0, 6)]

    lines = format_snippets(hits, 500, asker=frozenset({"ada"})).splitlines()

    assert [line for line in lines if line.startswith("Ada")][1:] == [
        "Ada: the test is on the 4th",
        "Ada: they moved the test",
    ]


def test_neighbours_are_shown_where_room_is_left() -> None:
    """The hits themselves come first."""
    hit = said("in June", 5, before=(Neighbour(4, "When was it?", "Bo"),), after=(Neighbour(6, "I see."),))

    assert format_snippets([hit], 500).splitlines()[1:] == ["Bo: When was it?", "Ada: in June", "I see."]
    assert "When was it?" not in format_snippets([hit, said("x" * 120, 9)], 42)


def test_short_lines_beside_the_best_come_along_before_what_fits_less() -> None:
    """People type an answer in pieces; a long line beside them waits for what is left of the room."""
    piece = Neighbour(4, "it was pink, and it was mine in 1991 in Lisdoonvarna", "Mam")
    best = scored("who wore the headband?", 9.0, 5)
    best = replace(best, before=(piece,), after=(Neighbour(6, "a long story " * 8, "Mam"),))

    text = format_snippets([best, *(scored("a headband", 2.0, day) for day in range(8, 28))], 120)

    assert f"Mam: {piece.text}\nAda: {best.text}" in text
    assert "a long story" not in text
    assert "Ada: a headband" in text


def test_a_first_hit_that_is_too_long_is_cut_not_dropped() -> None:
    """Something is better than nothing."""
    text = format_snippets([said("A fine sentence. " * 100)], 50)

    assert text.endswith("sentence.")
    assert len(text) <= 200


def test_plain_chunks_are_shown_with_their_path() -> None:
    """Whatever retriever found them."""
    assert format_snippets([RetrievedChunk("topics/x.md", "", "words", 0.5)], 100) == "[topics/x.md]\nwords"


@given(st.lists(st.tuples(st.text(max_size=200), st.integers(1, 9)), max_size=12), st.integers(0, 300))
def test_the_budget_holds(hits: list[tuple[str, int]], tokens: int) -> None:
    """Four characters to a token, never more."""
    found = [said(text, place, before=(Neighbour(place - 1, text[::-1]),)) for text, place in hits]

    assert len(format_snippets(found, tokens)) <= 4 * tokens


def test_what_was_said_and_written_down_word_for_word_is_shown_once() -> None:
    """As said: that knows who and when."""
    words = "I keep bees on the roof of the old mill"

    found = without_repeats([written(f"- **Ada:** {words}"), said(words), written("- something else entirely", 2)])

    assert [hit.source for hit in found] == ["turn", "file"]


def test_what_two_people_said_alike_is_shown_twice() -> None:
    """Saying it again is news."""
    assert len(without_repeats([said("me too", 1), said("me too", 2)])) == 2


def test_a_file_repeats_what_was_said_though_that_opens_like_a_label() -> None:
    """ "Plan: at nine" has no speaker before the colon; and what was said need not be a hit itself."""
    said_as_hit = without_repeats([said("plan: castle at nine"), written("- **Ada:** plan: castle at nine")])
    elsewhere = without_repeats([written("- **Ada:** castle at nine")], also_said=["castle at nine"])

    assert [hit.source for hit in said_as_hit] == ["turn"]
    assert elsewhere == []


def test_a_line_of_a_file_that_holds_no_word_is_not_shown() -> None:
    """A laughing face says nothing once it is written down."""
    assert without_repeats([written("- **Ada:** 😂")]) == []


def test_of_two_nearly_as_good_the_short_one_is_shown_where_there_is_room_for_one() -> None:
    """Many short pieces tell more than one long one."""
    long = said("x" * 150, 1, explained=ExplainedScore(8.0, {"meaning": 8.0}))
    short = said("in Ghent", 2, explained=ExplainedScore(7.5, {"meaning": 7.5}))

    assert "in Ghent" in format_snippets([long, short], 45)
    better = replace(long, explained=ExplainedScore(12.0, {"meaning": 12.0}))
    assert "in Ghent" not in format_snippets([better, short], 45)
