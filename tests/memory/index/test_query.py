"""What a question is understood to ask for."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.index import time_expressions
from familiar_connect.memory.index.query import (
    MAX_QUESTION_CHARS,
    concerns_speaker,
    content_words,
    count_places_told,
    every_word,
    find_first_named,
    line_label,
    match_expression,
    parse_query,
    words_to_index,
)
from familiar_connect.memory.index.ranking import nearness
from familiar_connect.memory.index.time_expressions import TimeSpan, extract_times, share_in, tells_number, tells_time

NOW = datetime(2026, 11, 18, 15, 30, tzinfo=UTC)  # a Wednesday


def days(text: str) -> list[tuple[str, str]]:
    return [(f"{span.start:%Y-%m-%d}", f"{span.end:%Y-%m-%d}") for span in extract_times(text, NOW)[0]]


def test_names_say_who_and_are_no_part_of_what_is_compared() -> None:
    """A known name is taken out; the rest keeps its shape."""
    asked = parse_query("What did Ada's sister tell Bo about bees?", names=["Ada", "bo", "Cy"], now=NOW)

    assert asked.names == {"ada", "bo"}
    assert asked.meaning == "What did sister tell about bees?"
    assert asked.words == ("sister", "tell", "bees")


def test_a_name_is_a_whole_word() -> None:
    """`bo` does not stand in `boat`; a name of two words does when both stand together."""
    assert parse_query("the boat of Ada Lovelace", names=["bo", "ada lovelace"], now=NOW).names == {"ada lovelace"}


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What did Bo give to Ada?", {"bo"}),
        ("What is Ada's gift from Bo?", {"ada"}),
        ("Was schenkte bo der Ada?", {"bo"}),
        ("Did Ada Lovelace's boat belong to Bo?", {"ada lovelace", "ada"}),
        ("Will Will meet Bo?", {"will"}),
        ("What about the boat?", set()),
        ("What do Bo and Ada share?", {"bo", "ada"}),
        ("When did Ada Lovelace, Bo, and Will go sailing?", {"ada lovelace", "ada", "bo", "will"}),
        ("Was haben Bo's & Ada's Boote gemeinsam?", {"bo", "ada"}),
        ("Ada, Bo says hello", {"ada"}),
        ("Did Bo and the boat wait for Ada?", {"bo"}),
    ],
)
def test_who_is_named_first_is_told_apart(question: str, first: set[str]) -> None:
    """By the whole name and by the words of it, wherever else a name's letters stand; all of those named together."""
    known = frozenset({"ada", "ada lovelace", "bo", "will"})

    assert find_first_named(question, known) == first
    assert find_first_named(question, frozenset()) == frozenset()


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("When will Will come home?", {"will"}),
        ("What did May cook?", {"may"}),
        ("Will's kid is how old?", {"will"}),
        ("Will it rain, and may I go?", set()),
        ("What happened in May?", set()),
        ("Who met on 3 May 2026?", set()),
        ("What did Will say about May 2026?", {"will"}),
    ],
)
def test_a_name_that_is_a_common_word_is_told_by_its_capital(question: str, names: set[str]) -> None:
    """Will, May: neither the verb nor the month is somebody."""
    assert parse_query(question, names=["Will", "May"], now=NOW).names == names


def test_a_month_is_a_month_though_somebody_is_called_so() -> None:
    """ "What did May say in May" names a person and a time."""
    asked = parse_query("What did May say in May?", names=["may"], now=NOW)

    assert asked.names == {"may"}
    assert len(asked.spans) == 1


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Wo hat der Hund von meiner Tante den Schuh versteckt?", ("hund", "meiner", "tante", "schuh", "versteckt")),
        ("¿Qué color tiene la casa de los abuelos?", ("color", "casa", "abuelos")),
        ("Quel est le nom de la voiture?", ("nom", "voiture")),
        ("Did the hat of the man die in the war?", ("hat", "man", "die", "war")),
    ],
)
def test_stop_words_are_those_of_the_questions_own_language(question: str, words: tuple[str, ...]) -> None:
    """ "Die" and "war" say much in English and nothing in German."""
    assert parse_query(question, names=[], now=NOW).words == words


@pytest.mark.parametrize(
    ("question", "when", "number"),
    [
        ("When did she move?", True, False),
        ("Seit wann spielt er Cello?", True, False),
        ("how many cats has he", False, True),
        ("Combien de chats?", False, True),
        ("Who plays the cello?", False, False),
    ],
)
def test_a_question_for_a_time_or_a_number_is_known_as_one(question: str, when: bool, number: bool) -> None:
    """In a few languages."""
    asked = parse_query(question, names=[], now=NOW)

    assert (asked.asks_when, asked.asks_number) == (when, number)


@pytest.mark.parametrize(
    ("question", "is_asked"),
    [
        ("Where did she move?", True),
        ("which European countries has he seen", True),
        ("Wohin ist sie gezogen?", True),
        ("¿Dónde vive?", True),
        ("Who plays the cello?", False),
        ("Somewhere nice, what a day", False),
    ],
)
def test_a_question_for_a_place_is_known_as_one(question: str, is_asked: bool) -> None:
    """In a few languages."""
    assert parse_query(question, names=[], now=NOW).asks_where is is_asked


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("We moved to the Hague, then on to Lisbon and Porto", 3),
        ("my flight to Boston is late", 2),
        ("We met Samantha there", 1),
        ("Nice to hear. I am glad. Well done!", 0),
        ("in lisbon since may", 0),
    ],
)
def test_a_place_is_told_by_capitals_in_mid_sentence(text: str, count: int) -> None:
    """Surest after a word such as "in"; who writes without capitals tells none."""
    assert count_places_told(text) == count


@pytest.mark.parametrize("text", ["yesterday", "am Montag", "la semana pasada", "on the 3rd", "at 7:30", "明日ね"])
def test_a_text_tells_a_time(text: str) -> None:
    """Days, months, clocks and what is said for them, in a few languages."""
    assert tells_time(text, every_word(text))


@pytest.mark.parametrize("text", ["she may come", "a red door", "3 cats"])
def test_a_text_tells_no_time(text: str) -> None:
    """ "May" alone is no month, and a number is no time."""
    assert not tells_time(text, every_word(text))


@pytest.mark.parametrize(
    ("text", "is_told"), [("3 cats", True), ("two of them", True), ("deux", True), ("cats", False)]
)
def test_a_text_tells_a_number(text: str, is_told: bool) -> None:
    """In digits or as a small word."""
    assert tells_number(text, every_word(text)) is is_told


def test_a_question_of_a_name_alone_is_searched_by_it() -> None:
    """Better the name than nothing."""
    assert parse_query("Who is Ada?", names=["ada"], now=NOW).words == ("ada",)


def test_a_book_for_a_question_is_read_at_both_ends() -> None:
    """However long the text, the search stays short."""
    asked = parse_query("bees " * 10_000 + "lantern", names=[], now=NOW)

    assert len(asked.text) <= MAX_QUESTION_CHARS + 1
    assert asked.words == ("bees", "lantern")


def test_words_of_scripts_without_spaces_are_looked_for_in_pairs() -> None:
    """And stand in the word index in pairs, and one by one for whoever asks for a single character."""
    assert list(content_words("寿司が好き")) == ["寿司", "司が", "が好", "好き"]
    assert words_to_index("寿司 sushi") == ["寿司", "sushi", "寿", "司"]
    assert match_expression("寿司が") == '"寿司" AND "司が"'


def test_a_common_word_is_indexed_where_it_is_somebodys_name() -> None:
    """Will is found as himself, and not wherever something will be."""
    assert "will" in words_to_index("I asked Will about it")
    assert "will" not in words_to_index("We will ask about it")


@pytest.mark.parametrize(
    ("word", "wanted"),
    [("l'eau", '"l" AND "eau"'), ("Ada's", '"ada"'), ('"', ""), ("NEAR(", '"near"'), ("a b", '"a" AND "b"')],
)
def test_a_word_index_is_asked_for_words_alone(word: str, wanted: str) -> None:
    """Nothing in a word is taken for an order."""
    assert match_expression(word) == wanted


@pytest.mark.parametrize(
    ("line", "label"),
    [("- **Ada:** hi", "ada"), ("Ada: hi", "ada"), ("[12:30] Ada: hi", "ada"), ("no label here", None), ("a:b", None)],
)
def test_a_label_opens_a_line(line: str, label: str | None) -> None:
    """Bold, in a list or bare."""
    assert line_label(line) == label


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what did I say yesterday", [("2026-11-17", "2026-11-18")]),
        ("the day before yesterday", [("2026-11-16", "2026-11-17")]),
        ("last night", [("2026-11-17", "2026-11-18")]),
        ("what happened last week", [("2026-11-09", "2026-11-19")]),
        ("last month", [("2026-10-01", "2026-11-01")]),
        ("last year", [("2025-01-01", "2026-01-01")]),
        ("this year", [("2026-01-01", "2026-11-19")]),
        ("in May", [("2026-05-01", "2026-06-01")]),
        ("in December", [("2025-12-01", "2026-01-01")]),
        ("in May 2023", [("2023-05-01", "2023-06-01")]),
        ("May 2023", [("2023-05-01", "2023-06-01")]),
        ("on 7 May 2023", [("2023-05-07", "2023-05-08")]),
        ("on May 7th, 2023", [("2023-05-07", "2023-05-08")]),
        ("on 24 December", [("2025-12-24", "2025-12-25")]),
        ("2023-05-07", [("2023-05-07", "2023-05-08")]),
        ("in 2023", [("2023-01-01", "2024-01-01")]),
        ("last Monday", [("2026-11-16", "2026-11-17")]),
        ("two weeks ago", [("2026-10-31", "2026-11-07")]),
        ("last summer", [("2026-06-01", "2026-09-01")]),
        ("you may go on a march", []),
        ("on 31 February 2023", [("2023-02-01", "2023-03-01")]),
        ("9999-12-31", []),
        ("", []),
    ],
)
def test_times_are_seen_from_now(text: str, expected: list[tuple[str, str]]) -> None:
    """What people call a time is a stretch of the calendar; what merely sounds like one is not."""
    assert days(text) == expected


def test_words_of_time_are_not_looked_for_as_words() -> None:
    """They say when, not what."""
    asked = parse_query("What did we eat in May 2023?", names=[], now=NOW)

    assert asked.words == ("eat",)
    assert len(asked.spans) == 1


def test_what_was_told_a_little_later_counts_a_little_less() -> None:
    """Inside the time fully, soon after it partly, long after and before not at all."""
    spans, _ = extract_times("in May 2023", NOW)
    moments = [datetime(2023, m, d, tzinfo=UTC).timestamp() for m, d in ((4, 30), (5, 1), (5, 31), (6, 8), (8, 1))]

    before, first, last, later, much_later = nearness(np.array(moments), spans).tolist()

    assert (before, first, last, much_later) == (0.0, 1.0, 1.0, 0.0)
    assert 0.3 < later < 0.7


_SAID = """
in of last this early may May march sept SEP December 7 7th 31st 2023 1999 20234 may2023 2023-05 2023-05-07 9999-12-31
spring fall the two a ago days week weeks weekend night year on monday Sunday today tonight yesterday before day
3pm 7:30 19.30 明日 来週 曜日 laſt weeK tonıght ٣ _may_ may_ don't dogs' 'tis rock''n o’clock Doña ΣΑΣ . , - :
"""
_PIECES = st.sampled_from(_SAID.split())
_TALK = st.lists(_PIECES | st.text(max_size=4), max_size=12).flatmap(
    lambda pieces: st.sampled_from((" ", "", ". ", ", ", "  ")).map(lambda gap: gap.join(pieces))
)


@given(_TALK, st.datetimes(timezones=st.just(UTC)))
def test_the_words_of_a_text_tell_which_times_it_cannot_name(text: str, now: datetime) -> None:
    """What is passed over for its words alone is what the patterns would not have found."""
    quick = extract_times(text, now)
    with patch.object(time_expressions, "_TAKEN_FOR_OTHERS", [""]):  # stands in every text: nothing is passed over
        assert quick == extract_times(text, now)


@given(_TALK)
def test_a_text_without_digits_and_signs_of_the_calendar_has_no_clock(text: str) -> None:
    """Looking for the clock only where it can be finds every one."""
    assert tells_time(text, ()) == (time_expressions._CLOCK.search(text) is not None)


@given(_TALK)
def test_words_are_told_apart_alike_with_and_without_a_pattern(text: str) -> None:
    """The quick way for plain letters gives the words of the pattern."""
    assert every_word(text) == tuple(word.lower() for word in re.findall(r"[^\W_]+(?:['’][^\W_]+)*", text))


@given(st.text(max_size=300), st.datetimes(timezones=st.just(UTC)))
def test_no_text_and_no_moment_can_break_it(text: str, now: datetime) -> None:
    """Whatever is said, whenever, is understood somehow."""
    assert parse_query(text, names=["ada"], now=now).text == text.strip()


@pytest.mark.parametrize(
    ("said", "is_about_speaker"),
    [
        ("what's my cat's name again?", True),
        ("Ember, where do I live", True),
        ("wo wohnt meine Schwester?", True),
        ("où habite ma sœur ?", True),
        ("where does Bo live?", False),
        ("is the mime here", False),
    ],
)
def test_a_message_may_speak_of_its_speaker(said: str, is_about_speaker: bool) -> None:
    """By its small words."""
    assert concerns_speaker(said) is is_about_speaker


SPANS = st.lists(
    st.builds(
        lambda start, days: TimeSpan(NOW + timedelta(days=start), NOW + timedelta(days=start + days)),
        st.integers(-40, 40),
        st.integers(1, 30),
    ),
    max_size=3,
)


@given(SPANS, SPANS)
def test_a_time_lies_in_another_wholly_or_in_part(times: list[TimeSpan], spans: list[TimeSpan]) -> None:
    """All of it where it is one of them, nothing where there is no common day."""
    share = share_in(times, spans)

    assert 0.0 <= share <= 1.0
    assert (share == 0.0) == all(a.end <= b.start or b.end <= a.start for a in times for b in spans)
    assert not times or share_in(times, times) == 1.0
