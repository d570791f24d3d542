"""How much of a sentence must have been said, and by whom: each bound from both sides."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest

from familiar_connect.memory.writing import grounding
from familiar_connect.memory.writing.batch import Batch, Bounds, cut_batch
from familiar_connect.memory.writing.extractive import SelfStatement, SourceFinder, stem_of, telling_words
from familiar_connect.memory.writing.grounding import GroundingCheck, keep_supported, only_unwritten
from tests.fakes.writer_setup import ALICE, BOB, FAMILIAR, SpokenLine, WriterSetup


def batch_of(folder: Path, *said: SpokenLine) -> Batch:
    table = WriterSetup(folder)
    table.say(*said)
    batch = cut_batch(table.history.turns_since_watermark(familiar_id=FAMILIAR), zone=UTC, bounds=Bounds())
    assert batch is not None
    return batch


def supports(folder: Path, sentence: str, *said: SpokenLine, of_alice: bool = True, card: str = "") -> bool:
    """Whether what was said supports *sentence*: in Alice's file, or else in one of no person's."""
    batch = batch_of(folder, *said)
    alice = next((each for each in batch.roster if each.label == "Alice"), None) if of_alice else None
    return GroundingCheck(batch, name="Wren", card=card).supports(sentence, alice)


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("walking", "walk"),
        ("making", "mak"),
        ("saying", "say"),
        ("going", "going"),
        ("parties", "part"),
        ("flies", "fli"),
        ("loved", "lov"),
        ("shed", "shed"),
        ("cats", "cat"),
        ("gas", "gas"),
        ("dog's", "dog'"),
        ("free", "fr"),
        ("bee", "bee"),
        ("table", "tabl"),
        ("lyon", "lyon"),
    ],
)
def test_a_word_is_known_by_its_stem(word: str, stem: str) -> None:
    """At least three letters are left of it, and short words stay as they are."""
    assert stem_of(word) == stem


def test_words_that_tell_are_long_enough_numbers_or_pairs_of_signs() -> None:
    """And none that the reader leaves out."""
    assert telling_words("An ox, cat 7 snowy", without={"snowy"}) == ["cat", "7"]
    assert telling_words("東京都 東 한글", without=()) == ["東京", "京都", "東", "한글"]


@pytest.mark.parametrize(
    ("sentence", "is_supported"),
    [
        ("Lanterns glow.", True),
        ("Lanterns glow brightly.", False),
        ("Boats carry lanterns.", False),
        ("Boats sail near lanterns.", True),
        ("...", True),
    ],
)
def test_a_session_file_may_sum_up(tmp_path: Path, sentence: str, is_supported: bool) -> None:
    """Two words say too little to be wrong; of more, above a third must have been said."""
    assert supports(tmp_path, sentence, (ALICE, "boats sail"), of_alice=False) is is_supported


@pytest.mark.parametrize(
    ("sentence", "is_supported"),
    [
        ("boats trains lanterns violins rockets candles mirrors pianos", True),
        ("boats trains lanterns violins rockets candles mirrors pianos saddles", False),
    ],
)
def test_three_pieces_may_stand_together_and_no_more(tmp_path: Path, sentence: str, is_supported: bool) -> None:
    """Each piece that was said brings a word of its own."""
    said = [(ALICE, each) for each in ("boats", "trains", "lanterns", "violins")]

    assert supports(tmp_path, sentence, *said, of_alice=False) is is_supported


def test_words_that_weigh_little_are_not_counted_against_a_summary(tmp_path: Path) -> None:
    """ "Recently talked" and the like need not have been said."""
    sentence = "The group recently talked, planned and discussed boats, trains, lanterns."

    assert supports(tmp_path, sentence, (ALICE, "boats trains"), of_alice=False)


@pytest.mark.parametrize(
    ("sentence", "said", "is_supported"),
    [
        ("Alice likes to talk about boats and trains.", "I like to talk about boats", True),
        ("Alice keeps bees, rivers, roses, lanterns.", "I keep bees near a river", True),
        ("Alice keeps bees, rivers, roses, lanterns, violins.", "I keep bees near a river", False),
        ("Alice Bob works.", "I work", True),
        ("Alice works.", "I cook", False),
        ("...", "I cook", True),
        ("Alice moved house on Monday.", "I moved house", True),
        ("Alice moved to Mirabel.", "I moved", False),
        ("Alice scored 0 of 3.", "I scored 0 of 3", True),
        ("Alice scored 003 points in chess.", "I scored 3 points in chess", True),
    ],
)
def test_a_persons_file_needs_half_of_what_weighs_and_most_of_one_turn(
    tmp_path: Path, sentence: str, said: str, is_supported: bool
) -> None:
    """Days need not be said, names and numbers must."""
    assert supports(tmp_path, sentence, (ALICE, said), (BOB, "ok")) is is_supported


def test_a_line_of_names_alone_needs_the_names_to_be_said(tmp_path: Path) -> None:
    """By anybody."""
    said: list[SpokenLine] = [(ALICE, "I cook"), (BOB, "the soup")]

    assert not supports(tmp_path / "unsaid", "Alice and Bob.", *said)
    assert supports(tmp_path / "said", "Alice and Bob.", *said, (BOB, "look, Alice and Bob"))


@pytest.mark.parametrize(
    ("sentence", "said", "is_supported"),
    [
        ("The bakery on the corner burned.", (BOB, "The bakery on the corner burned"), True),
        ("Learned juggling in Prague.", (BOB, "I taught Alice juggling in Prague"), True),
        ("Learned juggling in Prague.", (BOB, "I learned juggling in Prague"), False),
        ("Learned juggling in Prague.", (None, "You learned juggling in Prague"), False),
        ("Bob learned juggling in Prague.", (BOB, "I learned juggling in Prague"), True),
    ],
)
def test_what_others_say_of_the_world_or_of_a_person_counts_and_of_themselves_does_not(
    tmp_path: Path, sentence: str, said: SpokenLine, is_supported: bool
) -> None:
    """Unless the line itself names them."""
    assert supports(tmp_path, sentence, (ALICE, "hm"), said) is is_supported


@pytest.mark.parametrize(
    ("said", "is_supported"),
    [
        ("I love olives.", True),
        ("I never eat olives.", False),
        ("I love olives. I never eat fish.", True),
        ("I never ate olives before. I love olives", True),
        ("I don't have a car and I love olives", True),
        ("I don't have a car, b, c, d, e, f, g, h, i, j, k, l, I love olives", False),
    ],
)
def test_what_was_denied_is_not_turned_round(tmp_path: Path, said: str, is_supported: bool) -> None:
    """Each sentence and each of its first twelve clauses speaks for itself."""
    assert supports(tmp_path, "Alice loves olives.", (ALICE, said)) is is_supported


def test_only_the_first_forty_sentences_of_a_turn_are_looked_at(tmp_path: Path) -> None:
    """One turn is no book."""
    for count, is_supported in ((39, True), (40, False)):
        said = "Hm hm. " * count + "I love olives."
        assert supports(tmp_path / str(count), "Alice loves olives.", (ALICE, said)) is is_supported


@pytest.mark.parametrize(("most", "is_supported"), [(1, False), (2, True)])
def test_so_many_pieces_of_a_batch_are_looked_at_and_none_without_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, is_supported: bool
) -> None:
    """Then the rest counts as not said."""
    monkeypatch.setattr(grounding, "MAX_EVIDENCE", most)

    assert (
        supports(tmp_path, "Alice loves olives.", (ALICE, "hm"), (ALICE, "soup"), (ALICE, "love olives"))
        is is_supported
    )


@pytest.mark.parametrize(
    ("sentence", "is_supported"),
    [("Alice guards towers of lost books.", False), ("Alice guards towers, books.", True)],
)
def test_what_fits_the_character_better_than_what_was_said_is_not_a_persons(
    tmp_path: Path, sentence: str, is_supported: bool
) -> None:
    """What fits both alike is."""
    card = "Tea is nice. Wren guards a tower of lost books."

    assert supports(tmp_path, sentence, (ALICE, "I guard towers and books"), card=card) is is_supported


def test_a_line_is_copied_talk_where_it_opens_with_a_speaker(tmp_path: Path) -> None:
    """With another, or with the person and words they said just so; a label that is nobody's is none."""
    batch = batch_of(tmp_path, (ALICE, "I love  OLIVES"), (BOB, "soup"))
    check, alice = GroundingCheck(batch, name="Wren"), batch.roster[0]
    lines = ["Bob: soup", "- wren: hello there", "Alice: i love olives", "Alice: rows", "Alice: ", "Work: soup", "soup"]

    assert [check.is_transcript_line(line, alice) for line in lines] == [True, True, True, False, False, False, False]


def test_front_matter_titles_and_what_code_keeps_stay(tmp_path: Path) -> None:
    """Aliases only as far as they stand there or were said; a heading without a line goes."""
    batch = batch_of(tmp_path, (ALICE, "I love olives, call me Ali"))
    text = (
        "---\nkey: Paints seascapes\n---\n# Alice\n## Notes\n- Anything goes here today.\n"
        "## Aliases\n- Ali\n- Standing\n- Invented Name Nobody\n## Empty\n### Deeper\n- Paints big seascapes.\n"
        "## Food\n### Likes\nAlice loves olives.\n"
    )
    found = keep_supported(
        text, GroundingCheck(batch), person=batch.roster[0], standing="STANDING", managed=["notes", "Aliases"]
    )

    assert found.text == (
        "---\nkey: Paints seascapes\n---\n\n# Alice\n\n## Notes\n- Anything goes here today.\n\n## Aliases\n- Ali\n"
        "- Standing\n\n## Food\n\n### Likes\n\nAlice loves olives.\n"
    )
    assert (found.refused, found.is_empty) == (("Paints big seascapes.",), False)


def test_a_text_of_which_nothing_was_said_is_empty(tmp_path: Path) -> None:
    """Whatever stands there already."""
    batch = batch_of(tmp_path, (ALICE, "I love olives"))
    found = keep_supported(
        "# Alice\n- rows every day\n- Paints big seascapes.\n",
        GroundingCheck(batch),
        person=batch.roster[0],
        standing="- Rows every day",
    )

    assert (found.text, found.is_empty) == ("# Alice\n\n- rows every day\n", True)


def test_a_sentence_that_stands_there_stays_beside_one_that_nobody_said(tmp_path: Path) -> None:
    """Within one line."""
    batch = batch_of(tmp_path, (ALICE, "I love olives"))
    found = keep_supported(
        "- Rows every single day. Paints big seascapes.\n",
        GroundingCheck(batch),
        person=batch.roster[0],
        standing="- Rows every single day. Sings.\n",
    )

    assert found.text == "- Rows every single day.\n"


def test_a_session_file_may_quote_a_speaker(tmp_path: Path) -> None:
    """Only a person's file is no transcript."""
    batch = batch_of(tmp_path, (ALICE, "I love olives"), (BOB, "soup"))
    text = "Bob: soup\n\nViolins and rockets collided.\n"

    assert keep_supported(text, GroundingCheck(batch), person=None).text == "Bob: soup\n"


@pytest.mark.parametrize(
    ("line", "told", "is_written"),
    [
        ("- Loves olives and bread.", "I love olives and bread", True),
        ("- Loves olives.", "I love olives and bread", False),
        ("- Loves olives, bread and soup.", "I love olives, bread, soup", True),
        ("- Loves olives and bread.", "I love olives, bread, soup", True),
        ("- Loves olives.", "I love olives, bread, soup", False),
        ("- Does not love olives and bread.", "I love olives and bread", False),
        ("- Hates olives.", "I don’t love olives", False),
        ("- Never loved olives.", "I don’t love olives", True),
        ("- Loves boats.", "I love boats anyway tbh lol", True),
        ("- A nurse named Alice.", "I am Alice", True),
        ("- A nurse.", "I am Alice", False),
        ("- A nurse.", "I'm Alice, a nurse", True),
        ("", "I love olives", False),
    ],
)
def test_what_a_person_told_is_written_where_a_line_says_most_of_it(
    tmp_path: Path, line: str, told: str, is_written: bool
) -> None:
    """All of up to three words, three quarters of more, and not its opposite."""
    alice = batch_of(tmp_path, (ALICE, "hi")).roster[0]
    statement = SelfStatement(turn_id=1, sentence=told)

    assert only_unwritten(f"# File\n\n{line}\n", [statement], alice) == ([] if is_written else [statement])


def test_a_turn_stands_behind_a_sentence_with_two_shared_words_or_with_most_of_few(tmp_path: Path) -> None:
    """Rare words weigh more; best first, then oldest first, eight at most."""
    batch = batch_of(
        tmp_path,
        (ALICE, "boats sail slowly"),
        (BOB, "boats sink"),
        (None, "boats sail"),
        (BOB, "violins"),
    )
    finder = SourceFinder(batch)

    assert finder.sources("boats sail slowly") == [(1, "discord-1"), (3, None)]
    assert finder.sources("violins today") == [(4, "discord-2")]
    assert finder.sources("violins played rockets") == []
    assert finder.sources("boats") == [(1, "discord-1"), (2, "discord-2"), (3, None)]
    assert finder.sources("boats sink", ignoring={"sink"}) == finder.sources("boats")
    assert finder.sources("the and of") == finder.sources("boats", ignoring={"boat"}) == []
    assert finder.sources("x" * 2_000 + " violins") == []


def test_at_most_eight_turns_stand_behind_a_text_and_three_behind_a_sentence(tmp_path: Path) -> None:
    """The oldest of those that say the same."""
    batch = batch_of(tmp_path, *[(ALICE if at % 2 else BOB, "boats sail") for at in range(10)])
    finder = SourceFinder(batch)

    assert [turn_id for turn_id, _ in finder.sources("boats sail")] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert finder.turns_behind("Boats sail.") == (1, 2, 3)
    assert finder.turns_behind("Hm. " * 600 + "Boats sail.") == ()


def test_each_sentence_of_a_text_finds_its_own_turns(tmp_path: Path) -> None:
    """Together they would share too little with any."""
    batch = batch_of(tmp_path, (ALICE, "boats sail slowly"), (BOB, "violins sound sweetly"), (ALICE, "candles burn"))
    text = "Boats sail slowly. Violins sound sweetly. Candles burn down. Mirrors crack. Saddles squeak. Rockets rise."

    assert SourceFinder(batch).turns_behind(text) == (1, 2, 3)


@pytest.mark.parametrize(
    ("said", "line", "marked"),
    [
        ([(BOB, "Alice hates ska music")], "Hates ska music!", "Hates ska music (according to Bob)!"),
        ([(BOB, "Alice hates ska music")], "Hates ska music", "Hates ska music (according to Bob)"),
        ([(BOB, "hates ska music"), (None, "hates ska music")], "Hates ska music.", "Hates ska music."),
        ([(BOB, "Alice cooks")], "Alice paints.", "Alice paints."),
        ([(None, "hates ska music")], "Hates ska music.", "Hates ska music."),
    ],
)
def test_what_only_another_said_is_marked_before_its_full_stop(
    tmp_path: Path, said: list[SpokenLine], line: str, marked: str
) -> None:
    """What the familiar said too is nobody else's word, and a name alone is no source."""
    batch = batch_of(tmp_path, (ALICE, "hm"), *said)

    assert SourceFinder(batch).with_attributions(f"- {line}\n", set(), batch.roster[0]) == f"- {marked}\n"


def test_a_sentence_that_stands_in_the_file_is_not_marked(tmp_path: Path) -> None:
    """Though its line is new."""
    batch = batch_of(tmp_path, (ALICE, "hm"), (BOB, "Alice hates ska music"))
    text = "- Hates ska music. Rows.\n"

    assert SourceFinder(batch).with_attributions(text, set(), batch.roster[0], standing="Hates ska music.") == text
