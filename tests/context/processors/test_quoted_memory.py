"""A question about something told is answered by quoting it, where the model is too small to find it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.types import SaidMessage, SimplifiedMessage, Turn, TurnFlags
from familiar_connect.context.generate import Generation
from familiar_connect.context.small_model import MAX_QUOTED_CHARS, NOTHING_TOLD, quote_memory
from familiar_connect.context.types import ContextItem, ItemTag, Prompt
from familiar_connect.identity import Author
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities
from familiar_connect.observe.trace import QUOTED

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
NOTES = """# Sam

## What they said about themselves
- Sam: My dog is called Biscuit.
- Sam: I am allergic to peanuts.
- Sam: I work as a nurse.
- Likes the smell of rain."""
FOUND = """[2026-03-02 18:00]
Ada: My brother lives in Oslo.
Ember: Oslo! I know a song about Oslo.
Sam: My sister Lena moved to Graz in May.
Sam: Does my sister live there?"""
ITEMS = (
    ContextItem.of("system", "You are Ember.", tag=ItemTag.PERSONA),
    ContextItem.of("system", NOTES, tag=ItemTag.PEOPLE),
    ContextItem.of("user", FOUND, tag=ItemTag.FOUND),
)


@pytest.mark.parametrize(
    ("description", "said"),
    [
        ("You are Ember, a spirit who lives in a kettle. You love tea.", "I'm Ember, a spirit who lives in a kettle."),
        ("Ember is a tiny fire spirit!", "I'm Ember. I'm a tiny fire spirit!"),
        ("You are Ember, and your kettle is old.", "I'm Ember."),
        ("A kettle with a fire in it.", "I'm Ember."),
    ],
)
def test_who_are_you_is_answered_by_the_description(description: str, said: str) -> None:
    """In its first sentence, where that says so and speaks to nobody."""
    items = [ContextItem.of("system", description, tag=ItemTag.PERSONA)]

    assert quote_memory(items, [], turn_of("Hello, who are you?")) == said
    assert quote_memory(items, [], turn_of("Who are you to judge me?")) is None


def turn_of(question: str, *before: tuple[str, str], flags: TurnFlags | None = None) -> Turn:
    """A talk that ends with Sam's *question*."""
    entries = [
        SimplifiedMessage(id=str(at), author_id=who, author_name=who, author_type="user", content=text)
        for at, (who, text) in enumerate(before)
    ]
    asked = SimplifiedMessage(
        id="q",
        author_id="Sam",
        author_name="Sam",
        author_type="user",
        content=question,
        created_at=NOW,
        in_exchange=True,
    )
    author = Author(platform="terminal", user_id="1", username="sam", display_name="Sam")
    return Turn(
        familiar_id="ember",
        channel_id=1,
        said=(SaidMessage(author=author, text=question, timestamp=NOW),),
        messages=(*entries, asked),
        persona="Ember",
        flags=flags or TurnFlags(),
    )


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is my dog called?", "You told me: “My dog is called Biscuit.”"),
        ("Ember, what's my dog's name again?", "You told me: “My dog is called Biscuit.”"),
        ("do you remember what I am allergic to?", "You told me: “I am allergic to peanuts.”"),
        ("What do I do for a living?", "You told me: “I work as a nurse.”"),
        ("which city does my sister live in?", "You told me: “My sister Lena moved to Graz in May.”"),
        ("Where does Ada's brother live?", "Ada told me: “My brother lives in Oslo.”"),
        ("What's my name?", "You are Sam."),
    ],
)
def test_what_was_told_is_quoted_with_who_told_it(question: str, answer: str) -> None:
    """From notes, from what was found, and never from the familiar's own words or from a question."""
    assert quote_memory(ITEMS, (), turn_of(question)) == answer


def test_what_the_prompt_has_no_room_for_and_what_was_just_said_are_quoted_too() -> None:
    """What was said last wins."""
    assert quote_memory(ITEMS, ["Sam: My locker is number 318."], turn_of("what number is my locker?")) == (
        "You told me: “My locker is number 318.”"
    )
    told = turn_of("What is my dog called?", ("Sam", "We named the dog Muffin after all, my new dog."))
    assert quote_memory((), (), told) == "You told me: “We named the dog Muffin after all, my new dog.”"


@pytest.mark.parametrize(
    ("question", "told", "answer"),
    [
        ("Which instrument do I play?", "I play the cello and I live in Graz.", True),
        ("What pets do I have?", "We have a cat and a tortoise.", True),
        ("What is my favourite color?", "My favourite jumper is turquoise.", True),
        ("What is my cat called?", "My dog is called Biscuit.", False),
        ("Which instrument do I play?", "I play chess on Fridays.", False),
    ],
)
def test_what_is_asked_for_by_its_kind_is_found(question: str, told: str, answer: bool) -> None:
    """A cello is an instrument; a dog is no cat, though both are pets."""
    expected = f"You told me: “{told}”" if answer else NOTHING_TOLD
    assert quote_memory((), [f"Sam: {told}"], turn_of(question)) == expected


def test_a_request_is_nothing_told() -> None:
    """Unless it is to remember something."""
    assert quote_memory((), (), turn_of("What is the sea like?", ("Sam", "Tell me about the sea."))) is None
    told = turn_of("What is my locker's number?", ("Sam", "Please remember that my locker has the number 318."))
    assert quote_memory((), (), told) == "You told me: “Please remember that my locker has the number 318.”"


@pytest.mark.parametrize("question", ["What is my blood type?", "where did I go to school?", "What's my middle name?"])
def test_nothing_is_made_up_where_nothing_was_told(question: str) -> None:
    """The familiar owns up to it."""
    assert quote_memory(ITEMS, (), turn_of(question)) == NOTHING_TOLD


@pytest.mark.parametrize(
    "said",
    [
        "Hello!",
        "How are you?",
        "What do you like?",
        "What do you think of my dog?",
        "What should I cook tonight?",
        "My dog is ill.",
        "Tell me a story about a dog.",
        "Wie heißt mein Hund?",
        "",
    ],
)
def test_everything_else_is_the_models(said: str) -> None:
    """Talk, advice, questions to the familiar, and languages that the rules do not know."""
    assert quote_memory(ITEMS, (), turn_of(said)) is None


def test_a_person_is_not_told_what_another_said_of_themselves_as_their_own() -> None:
    """ "My" is whoever asks."""
    assert quote_memory(ITEMS, (), turn_of("where does my brother live?")) == NOTHING_TOLD
    lives = ["Sam: My sister lives in Graz."]
    assert quote_memory((), lives, turn_of("where does my brother live?")) == NOTHING_TOLD


def test_what_stands_before_the_first_telling_sentence_is_left_out() -> None:
    """A greeting; what follows may be the answer."""
    told = ["Sam: Hi there! We got a cat yesterday. Pepper is her name. She bites."]
    answer = "You told me: “We got a cat yesterday. Pepper is her name. She bites.”"
    assert quote_memory((), told, turn_of("what is my cat called?")) == answer


def test_doubt_is_told_and_long_words_are_cut_to_their_sentence() -> None:
    """Where a line holds little of what is asked for."""
    unsure = quote_memory((), ["Sam: The ferry was late on 3 May."], turn_of("when did my uncle Bob sell the ferry?"))
    assert unsure is not None
    assert unsure.startswith("I am not sure, but you told me: “")
    long = "It rained. " * 40 + "My bike is called Thunder. " + "Then it snowed. " * 40
    assert quote_memory((), [f"Sam: {long}"], turn_of("what is my bike called?")) == (
        "You told me: “My bike is called Thunder.”"
    )


def test_what_was_said_otherwise_later_is_not_quoted() -> None:
    """Of what was found the later day counts, before it a note, and before both what was said in this talk."""
    asked = "Where do I live?"
    found = ["[2026-03-02 18:00]\nSam: I moved to Vienna last week.", "[2026-02-01 18:00]\nSam: I live in Graz."]
    for order in (found, found[::-1]):
        assert quote_memory((), order, turn_of(asked)) == "You told me: “I moved to Vienna last week.”"
    noted = (ContextItem.of("system", "# Sam\n\n- Sam: I moved to Vienna last week.", tag=ItemTag.PEOPLE),)
    assert quote_memory(noted, found[1:], turn_of(asked)) == "You told me: “I moved to Vienna last week.”"
    told = turn_of(asked, ("Sam", "I live in Linz now."))
    assert quote_memory(noted, found, told) == "You told me: “I live in Linz now.”"
    renamed = ["[2026-02-01]\nSam: My cat is called Pixel.", "[2026-02-02]\nSam: My cat is called Pebble, not Pixel."]
    assert quote_memory((), renamed[::-1], turn_of("What is my cat called?")) == (
        "You told me: “My cat is called Pebble, not Pixel.”"
    )


def test_a_question_is_no_answer_and_nobody_elses_fact_is_ones_own() -> None:
    """Nor is a line without a place one to "where"."""
    bell = ["Sam: Barely. What is that bell I keep hearing under the water?"]
    assert quote_memory((), bell, turn_of("Who rings the bell?")) is None
    sister = ["Sam: My sister Änne has her birthday on 3 March."]
    assert quote_memory((), sister, turn_of("When is my birthday?")) == NOTHING_TOLD
    assert quote_memory((), sister, turn_of("Where does my sister live?")) == NOTHING_TOLD
    assert quote_memory((), sister, turn_of("When is my sister's birthday?")) == f"You told me: “{sister[0][5:]}”"


@given(st.text(max_size=400), st.text(max_size=400))
def test_any_words_are_looked_through(question: str, line: str) -> None:
    """Whatever people and files hold."""
    answer = quote_memory((), [f"Sam: {line}"], turn_of(f"What is my {question}?"))

    assert answer is None or len(answer) <= MAX_QUOTED_CHARS + 80


async def test_only_a_model_that_needs_it_is_quoted_for() -> None:
    """It is not asked then, and whoever looks sees why; asked for another version, it is."""
    small, large = (ScriptedModel(["Rex!"], capabilities=Capabilities(quotes_memory=each)) for each in (True, False))
    asked = turn_of("What is my dog called?")
    generations = [Generation(Prompt(items=ITEMS), [model], turn=asked) for model in (small, large)]
    said = ["".join([piece async for piece in each.pieces()]) for each in generations]

    assert said == ["You told me: “My dog is called Biscuit.”", "Rex!"]
    assert (small.calls, generations[0].completion and generations[0].completion.provider) == ([], QUOTED)
    again = turn_of("What is my dog called?", flags=TurnFlags(manual=True))
    assert [piece async for piece in Generation(Prompt(items=ITEMS), [small], turn=again).pieces()] == ["Rex!"]
