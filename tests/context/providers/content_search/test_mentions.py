"""Who is mentioned in an utterance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.context.providers.content_search.mentions import find_mentions
from familiar_connect.memory.people import ALSO_NAMES, STOP_WORDS, read_aliases
from tests.fakes.retrieval import a_memory

NAMES = {
    "ada": ("d-1",),
    "mary-jane": ("d-2",),
    "old tom": ("d-3",),
    "zoë": ("d-4",),
    "прия": ("d-5",),
    "प्रिया": ("d-6",),
    "アナ": ("d-7",),
    "o'neil": ("d-8",),
    "x_y9": ("d-9",),
}


@pytest.mark.parametrize(
    ("utterance", "slugs"),
    [
        ("did Ada call?", ["d-1"]),
        ("ada called", ["d-1"]),
        ("Ada called.", ["d-1"]),
        ("is this ADA's book", ["d-1"]),
        ("a canada goose", []),
        ("ask mary-jane please", ["d-2"]),
        ("ask Mary-Jane.", ["d-2"]),
        ("summary-jane is no name", []),
        ("mary-janes", []),
        ("what would Old Tom say", ["d-3"]),
        ("what would old\n tom say", ["d-3"]),
        ("the old tomcat", []),
        ("Zoë and ada", ["d-4", "d-1"]),
        ("Zoe\u0308 was here", ["d-4"]),
        ("где Прия сейчас", ["d-5"]),
        ("प्रिया कहाँ है", ["d-6"]),
        ("アナさんは元気?", ["d-7"]),
        ("tell O'Neil", ["d-8"]),
        ("hi @x_y9!", ["d-9"]),
        ("", []),
        ("nobody at all", []),
    ],
)
def test_names_are_found_as_whole_words(utterance: str, slugs: list[str]) -> None:
    """Words of any script, and names with something between their words, at word boundaries."""
    assert sorted(slugs) == sorted(find_mentions(utterance, NAMES))


def test_a_capitalised_word_inside_a_sentence_is_the_surest_name() -> None:
    """Surest first: when room is short, a plain word that is also a name gives way."""
    names = {"rose": ("d-1",), "bo": ("d-2",)}

    assert list(find_mentions("the sun rose before Bo", names)) == ["d-2", "d-1"]
    assert list(find_mentions("Rose left before Bo", names)) == ["d-2", "d-1"]


def test_a_name_of_several_people_brings_the_most_recent_first() -> None:
    """The order in the index is kept."""
    assert list(find_mentions("ask sam", {"sam": ("d-2", "d-1")})) == ["d-2", "d-1"]


def test_stop_words_never_resolve(tmp_path: Path) -> None:
    """A common word that nobody is called is nobody's name, even if the index says so."""
    words = STOP_WORDS - ALSO_NAMES
    names = read_aliases(a_memory(tmp_path, {}, aliases=dict.fromkeys(words, "d-1")))
    said = " ".join(f"and {word}, {word.title()}" for word in sorted(words))

    assert names == {}
    assert list(find_mentions(said, dict.fromkeys(words, ("d-1",)))) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '"ada"', "7", "null", "\ufeff{}", "[" * 5000])
def test_a_malformed_index_knows_nobody(text: str, tmp_path: Path) -> None:
    """Broken, torn or another kind of value: no names, no error."""
    assert read_aliases(a_memory(tmp_path, {}, aliases=text)) == {}


def test_a_missing_index_knows_nobody(tmp_path: Path) -> None:
    """Before the first pass there is no file."""
    assert read_aliases(a_memory(tmp_path, {})) == {}


def test_entries_may_be_a_slug_or_several(tmp_path: Path) -> None:
    """What is neither is passed over, and costs its own entry only."""
    aliases: dict[str, Any] = {
        "Ada": "d-1",
        "bo": ["d-2", 3, ""],
        "cy": 7,
        "di": None,
        "e": "d-5",
        "": "d-6",
        "f g": [],
    }

    assert read_aliases(a_memory(tmp_path, {}, aliases=aliases)) == {"ada": ["d-1"], "bo": ["d-2"]}


@given(st.text(max_size=200), st.dictionaries(st.text(max_size=8), st.text(min_size=1, max_size=6), max_size=6))
def test_any_utterance_and_any_index_give_slugs_of_that_index(utterance: str, aliases: dict[str, str]) -> None:
    """Never an error, never somebody the index does not hold."""
    names = {name.lower(): (slug,) for name, slug in aliases.items()}

    found = find_mentions(utterance, names)

    assert all(slug in names[name] for slug, name in found.items())


@given(st.sampled_from(sorted(NAMES)), st.text(alphabet=" ,.!?\n", max_size=5), st.text(alphabet=" ,.!?\n", max_size=5))
def test_a_name_is_found_whatever_punctuation_surrounds_it(name: str, before: str, after: str) -> None:
    """In any letter case, at the start, in the middle, at the end."""
    for shown in (name, name.title(), name.upper()):
        assert NAMES[name][0] in find_mentions(f"{before}{shown}{after}", NAMES)


def test_a_huge_utterance_is_read_at_both_ends() -> None:
    """Nothing is unbounded; what people want stands at the beginning or the end."""
    filler = "word " * 20_000

    assert list(find_mentions(f"Ada {filler} zoë", NAMES)) == ["d-1", "d-4"]


def test_the_index_is_what_a_person_may_have_written(tmp_path: Path) -> None:
    """Letter case and spaces in the file do not matter."""
    store = a_memory(tmp_path, {}, aliases=json.dumps({"  Old   TOM ": "d-3"}))

    assert read_aliases(store) == {"old tom": ["d-3"]}


@pytest.mark.parametrize("said", ["Что с Микой?", "ミカさんは元気?", "Mika, wo bist du?", "Mikas Katze ist weg"])
def test_a_name_is_met_in_other_forms(said: str) -> None:
    """With the ending a sentence gives it, and in another script."""
    assert list(find_mentions(said, {"mika": ("d-1",), "bo": ("d-2",)})) == ["d-1"]
