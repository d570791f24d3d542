"""The smallest model is shown what people said before as lines, and none of its own replies."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.context.budget import OWN_REPLIES, Budgeter, cost
from familiar_connect.context.small_model import SOURCE, retell_earlier
from familiar_connect.context.types import ContextItem, Layer
from familiar_connect.identity import UNNAMED
from tests.fakes.context import a_dialogue, a_piece, said

SHARES = {Layer.character: 60, Layer.recent_history: 100, Layer.content: 100}
WHO = a_piece("Ember is a fire spirit.", Layer.character)


def told(text: str, who: str = "Sam", *, fresh: bool = False) -> ContextItem:
    return replace(said("user", f"{who}: {text}"), name=who, words=text, fresh=fresh)


def test_people_keep_their_lines_and_the_model_its_newest_turn_alone() -> None:
    """In the order in which they were said; the owner sees what was left out, and why."""
    talk = a_dialogue(
        told("Hello"),
        said("assistant", "Hi!"),
        told("I like tea."),
        said("assistant", "Me too."),
        told("Why?", fresh=True),
    )

    found, budgets, notes = retell_earlier([WHO, talk], SHARES, 1_000)
    [lines] = [each for each in found if each.source == SOURCE]
    [dialogue] = [each for each in found if each.items]

    assert lines.text == "You are talking with Sam. Earlier in this talk Sam said: Hello. I like tea."
    assert [item.words for item in dialogue.items] == ["Why?"]
    assert [(note.full, note.text) for note in notes] == [(OWN_REPLIES, "Hi!\nMe too.")]
    assert lines in Budgeter().fill(found, budgets).kept


def test_of_several_people_each_line_says_whose_it_is() -> None:
    """The names stand before their words, as in the talk itself."""
    talk = a_dialogue(told("Hello"), told("Hi Sam", "Ada"), said("assistant", "Hm."), told("So?"))

    [lines] = [each for each in retell_earlier([talk], SHARES, 1_000)[0] if each.source == SOURCE]

    assert lines.text == "You are talking with Sam. Earlier in this talk people said: Sam: Hello. Ada: Hi Sam."


def test_a_line_that_ends_in_a_mark_of_its_language_gets_no_second_one() -> None:
    """A wide question mark ends a sentence, too."""
    talk = a_dialogue(told("何ですか？"), said("assistant", "Hm."), told("Tea", fresh=True))

    [lines] = [each for each in retell_earlier([talk], SHARES, 1_000)[0] if each.source == SOURCE]

    assert lines.text == "You are talking with Sam. Earlier in this talk Sam said: 何ですか？"


def test_what_nobody_answered_yet_stays_a_turn() -> None:
    """Two messages in a row are answered together, and a reply that is continued is there to be continued."""
    asked = a_dialogue(said("assistant", "Hi!"), told("One."), told("Two.", fresh=True))
    begun = a_dialogue(told("A story!"), said("assistant", "Once upon a time"))

    assert retell_earlier([asked], SHARES, 1_000)[0][0].items == asked.items[1:]
    assert retell_earlier([begun], SHARES, 1_000)[0][0] == begun


def test_with_whom_it_talks_stands_there_from_the_first_message_on() -> None:
    """By the names of those who are answered; a person without one has none there either."""
    first = a_dialogue(told("Hello", "Ada", fresh=True), told("Hi", "Bo", fresh=True))
    nameless = a_dialogue(told("Hello", UNNAMED, fresh=True))

    introduced = a_dialogue(
        told("Hello", UNNAMED), told("I'm Ada.", "Ada"), said("assistant", "Hm."), told("So?", "Ada")
    )
    lines = retell_earlier([introduced], SHARES, 1_000)[0][1].text

    assert lines == "You are talking with Ada. Earlier in this talk Ada said: Hello. I'm Ada."
    assert retell_earlier([first], SHARES, 1_000)[0][1].text == "You are talking with Ada and Bo."
    assert retell_earlier([nameless], SHARES, 1_000)[0] == [nameless]


def test_before_the_next_message_all_that_was_said_is_earlier() -> None:
    """What a model works ahead is the beginning of the prompt that comes."""
    talk = a_dialogue(told("Hello"), said("assistant", "Hi!"))
    asked = a_dialogue(told("Hello"), said("assistant", "Hi!"), told("Why?", fresh=True))

    ahead = retell_earlier([WHO, talk], SHARES, 1_000, is_preview=True)[0]
    then = retell_earlier([WHO, asked], SHARES, 1_000)[0]

    assert [each for each in ahead if each.source == SOURCE] == [each for each in then if each.source == SOURCE] != []
    assert not any(each.items for each in ahead)


def test_without_a_dialogue_or_a_budget_nothing_changes() -> None:
    """There is nothing to retell, or no limit to keep."""
    talk = a_dialogue(told("Hello"), said("assistant", "Hi!"), told("Why?"))

    assert retell_earlier([WHO], SHARES, 1_000) == ([WHO], SHARES, [])
    assert retell_earlier([WHO, talk], SHARES, 0) == ([WHO, talk], SHARES, [])


@given(st.lists(st.text(min_size=1, max_size=200), max_size=30), st.integers(100, 1_500))
def test_whatever_was_said_the_prompt_keeps_its_budget(lines: list[str], total: int) -> None:
    """The newest lines fit beside everything else, and each line that does not is told of."""
    items = [item for line in lines for item in (told(line), said("assistant", "Yes."))]
    talk = a_dialogue(*items, told("Why?", fresh=True))

    found, budgets, notes = retell_earlier([WHO, talk], SHARES, total)
    kept = Budgeter().fill(found, budgets).kept
    unseen = [note for note in notes if note.full == "total"]

    assert sum(cost(each) for each in kept) <= max(total, cost(WHO) + 10)
    assert bool(unseen) or not lines or any(each.source == SOURCE for each in found)
