"""Reading events whatever way the bytes fall."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.errors import ModelError
from familiar_connect.llm.sse import (
    MAX_GARBAGE_LINES,
    EventReader,
    SurrogateJoiner,
    copy_metadata,
    parse_json_object,
    read_delta,
    text_of,
)
from familiar_connect.llm.types import Completion, Usage
from familiar_connect.support.text import without_surrogates

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def read(*chunks: bytes) -> list[dict[str, Any]]:
    reader = EventReader("the server")
    found = [event for chunk in chunks for event in reader.feed(chunk)]
    return [*found, *reader.finish()]


@given(texts=st.lists(st.text(), max_size=5), cuts=st.lists(st.integers(0, 400), max_size=8), crlf=st.booleans())
def test_events_are_the_same_however_the_bytes_are_cut(texts: list[str], cuts: list[int], crlf: bool) -> None:
    """Line ends of either kind, chunks of any size, characters of any width."""
    events = [{"text": text} for text in texts]
    end = b"\r\n" if crlf else b"\n"
    body = b"".join(b"data: " + json.dumps(e, ensure_ascii=False).encode() + end * 2 for e in events)
    marks = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]

    assert read(*(body[a:b] for a, b in pairwise(marks))) == events


@given(body=st.binary(max_size=2000))
def test_no_bytes_break_the_reader(body: bytes) -> None:
    """Anything at all gives events or a ModelError."""
    with suppress(ModelError):
        assert all(isinstance(event, dict) for event in read(body))


@given(event=st.dictionaries(st.sampled_from(["choices", "usage", "provider", "timings", "error"]), JSON))
def test_no_event_breaks_the_reading_of_it(event: dict[str, Any]) -> None:
    """A server may send any shape; what does not fit is nothing."""
    completion = Completion(model="m")
    copy_metadata(completion, event)

    assert isinstance(read_delta(event).text, str)
    assert completion.usage.prompt_tokens >= 0


def test_the_end_mark_ends_it() -> None:
    """What stands after [DONE] is not read."""
    reader = EventReader("s")

    assert list(reader.feed(b'data: {"a": 1}\n\ndata: [DONE]\n\ndata: {"b": 2}\n\n')) == [{"a": 1}]
    assert reader.done


def test_an_event_without_a_last_line_end_is_read() -> None:
    """A server may hang up right after it."""
    assert read(b'data: {"a": 1}') == [{"a": 1}]


def test_fields_we_do_not_use_are_no_garbage() -> None:
    """Event names, ids, retry times and comments may come in any number."""
    assert read(b"event: x\nid: 1\nretry: 5\n: hm\n\n" * 50) == []


def test_garbage_is_tolerated_up_to_a_limit() -> None:
    """So many lines and no more."""
    assert read(b"?\n" * MAX_GARBAGE_LINES) == []
    with pytest.raises(ModelError, match="the server sent lines"):
        read(b"?\n" * (MAX_GARBAGE_LINES + 1))


@pytest.mark.parametrize(
    ("part", "text"),
    [({"content": "a"}, "a"), ({"content": None}, ""), ({}, ""), (None, ""), ({"content": [{"text": "a"}, {}]}, "a")],
)
def test_text_is_found_in_every_form(part: Any, text: str) -> None:
    """A string, a list of parts, null, nothing."""
    assert text_of(part) == text


def test_usage_without_details_has_nothing_cached() -> None:
    """What is not told is zero."""
    completion = Completion(model="m")
    copy_metadata(completion, {"usage": {"prompt_tokens": 5, "completion_tokens": None}})

    assert completion.usage == Usage(prompt_tokens=5)


@given(text=st.text(), cuts=st.lists(st.integers(0, 60), max_size=8))
def test_characters_are_whole_however_their_halves_are_cut(text: str, cuts: list[int]) -> None:
    """Pieces cut between two surrogates give the text they were cut from."""
    units = text.encode("utf-16-le")
    marks = [0, *sorted(min(2 * cut, len(units)) for cut in cuts), len(units)]
    halves = SurrogateJoiner()
    pieces = [halves.feed(units[a:b].decode("utf-16-le", "surrogatepass")) for a, b in pairwise(marks)]

    assert "".join([*pieces, halves.close()]) == text


@given(pieces=st.lists(st.text(st.characters(min_codepoint=0xD700, max_codepoint=0xE010)), max_size=5))
def test_every_piece_can_be_written(pieces: list[str]) -> None:
    """Whatever halves come: nothing with half a character is handed on."""
    halves = SurrogateJoiner()
    shown = [*(halves.feed(piece) for piece in pieces), halves.close()]

    "".join(shown).encode()
    assert "".join(shown) == without_surrogates("".join(pieces))


def test_half_a_character_alone_is_marked() -> None:
    """It costs no other character."""
    assert without_surrogates("a\ud83d b\ude00") == "a\ufffd b\ufffd"


def test_brackets_without_end_are_no_answer() -> None:
    """Neither as a body nor as an event."""
    deep = b'{"a":' * 200_000

    assert parse_json_object(deep) is None
    assert read(b"data: " + deep[:900_000] + b"\n") == []


def test_only_numbers_one_can_count_with_are_kept() -> None:
    """A server that divides by nothing sends NaN."""
    completion = Completion(model="m")
    copy_metadata(completion, json.loads('{"timings": {"a": NaN, "b": Infinity, "c": -Infinity, "d": 1.5, "e": "x"}}'))

    assert completion.timings == {"d": 1.5}
