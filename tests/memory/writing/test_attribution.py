"""Whose word a sentence is, and which turns stand behind it."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest

from familiar_connect.memory.writing.batch import Batch, Bounds, cut_batch
from familiar_connect.memory.writing.extractive import SourceFinder
from tests.fakes.writer_setup import ALICE, BOB, CONVERSATION, FAMILIAR, WriterSetup


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    table = WriterSetup(tmp_path)
    table.say(
        *CONVERSATION,
        (BOB, "Alice works at the harbour, she fixes cranes."),
        (ALICE, "Yes, I fix cranes at the harbour."),
    )
    found = cut_batch(table.history.turns_since_watermark(familiar_id=FAMILIAR), zone=UTC, bounds=Bounds())
    assert found is not None
    return found


def attributed(batch: Batch, text: str) -> str:
    return SourceFinder(batch).with_attributions(text, set(), batch.roster[0])


def test_what_only_others_said_is_marked_as_theirs(batch: Batch) -> None:
    """The claim stays, with whose word it is."""
    text = "# Alice\n- Secretly hates ska music.\n"

    assert attributed(batch, text) == "# Alice\n- Secretly hates ska music (according to Bob).\n"


@pytest.mark.parametrize(
    "line",
    [
        "Moved to Lyon last week.",
        "Bob says she secretly hates ska music.",
        "According to Bob, hates ska music.",
        "Fixes cranes at the harbour.",
        "I find her delightful company.",
        "[Ska music](../topics/ska-music.md) hates",
    ],
)
def test_the_rest_stays_as_it_is(batch: Batch, line: str) -> None:
    """Her own words, claims told as such, what she confirmed, impressions and links."""
    assert attributed(batch, f"- {line}\n") == f"- {line}\n"


def test_one_shared_word_is_enough_for_two_words_and_not_for_three(batch: Batch) -> None:
    """Of a longer sentence it says too little."""
    finder = SourceFinder(batch)

    assert finder.sources("Cranes zebra")
    assert finder.sources("Cranes zebra violin") == []


def test_of_three_words_two_are_enough_and_one_is_not_however_rare(tmp_path: Path) -> None:
    """One rare word outweighs two that everybody says, and still tells too little of the sentence."""
    table = WriterSetup(tmp_path)
    table.say((BOB, "Violin."), *[(ALICE, "Cranes, harbour.") for _ in range(5)])
    found = cut_batch(table.history.turns_since_watermark(familiar_id=FAMILIAR), zone=UTC, bounds=Bounds())
    assert found is not None
    finder, (rare, *common) = SourceFinder(found), [turn.id for turn in found.turns]

    behind = {turn_id for turn_id, _ in finder.sources("Violin cranes harbour")}

    assert rare not in behind
    assert behind == set(common)


def test_a_word_that_everybody_says_weighs_less_than_a_rare_one(tmp_path: Path) -> None:
    """Of two, the rare one alone is enough to stand behind both."""
    table = WriterSetup(tmp_path)
    table.say((BOB, "Violin."), *[(ALICE, "Harbour.") for _ in range(5)])
    found = cut_batch(table.history.turns_since_watermark(familiar_id=FAMILIAR), zone=UTC, bounds=Bounds())
    assert found is not None

    assert SourceFinder(found).turns_behind("Violin harbour") == (found.turns[0].id,)


def test_sentences_of_a_paragraph_are_told_apart(batch: Batch) -> None:
    """Only the sentence in question is marked."""
    text = "She moved to Lyon last week. She secretly hates ska music. I like her.\n"

    assert attributed(batch, text) == (
        "She moved to Lyon last week. She secretly hates ska music (according to Bob). I like her.\n"
    )


def test_what_stood_there_before_is_not_marked(batch: Batch) -> None:
    """Only new parts are looked at, and aliases never."""
    from familiar_connect.memory.versioning.provenance import part_hash

    text = "- Secretly hates ska music.\n\n## Aliases\n- ska music\n"

    assert (
        SourceFinder(batch).with_attributions(text, {part_hash("Secretly hates ska music.")}, batch.roster[0]) == text
    )


def test_turns_behind_a_text_are_found_sentence_by_sentence(batch: Batch) -> None:
    """Each sentence brings its own; what nobody said has none."""
    support = SourceFinder(batch)

    assert support.turns_behind("Alice moved to Lyon. Her birthday is May 5.") == (1, 4)
    assert support.turns_behind("The weather was splendid throughout.") == ()


def test_scripts_without_spaces_find_their_turns(tmp_path: Path) -> None:
    """Pairs of characters stand in for words."""
    table = WriterSetup(tmp_path)
    table.say((ALICE, "私は来月東京に引っ越します"), (BOB, "寿司が好きです"))
    batch = cut_batch(table.history.turns_since_watermark(familiar_id=FAMILIAR), zone=UTC, bounds=Bounds())

    assert batch is not None
    assert SourceFinder(batch).turns_behind("東京に引っ越す予定") == (1,)
