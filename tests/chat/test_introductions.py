"""The name somebody gives themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.introductions import MAX_NAME_CHARS, asks_for_name, read_introduction


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("I'm Sam", "Sam"),
        ("my name is Sam", "Sam"),
        ("My name's sam.", "Sam"),
        ("call me Sam", "Sam"),
        ("hi! I'm Sam, what's your name?", "Sam"),
        ("you can call me Mary Ann from now on", "Mary Ann"),
        ("Hello, I\u2019m Zo\u00eb and I have two cats", "Zo\u00eb"),
        ("everyone calls me O'Neill", "O'Neill"),
        ("im Jean-Luc", "Jean-Luc"),
        ("please call me Dr. Mira Voss", "Dr. Mira Voss"),
    ],
)
def test_a_name_is_heard(said: str, name: str) -> None:
    """However it is given."""
    found = read_introduction(said)

    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    "said",
    [
        "I'm tired",
        "I'm German",
        "I'm a nurse",
        "I'm Sam's brother",
        "what is my name?",
        "call me later",
        "call me maybe",
        "my name is hard to spell",
        "pretend I'm Batman",
        "if my name is Bond, then what?",
        "she said \u201cI'm Sam\u201d",
        "> my name is Sam",
        "*I'm Groot*",
        "his name is Peter",
        "am I Sam?",
        "I'm Sam?",
        "i'm sam",
    ],
)
def test_other_words_are_no_name(said: str) -> None:
    """Neither states nor jokes nor questions."""
    assert read_introduction(said) is None


def test_a_plain_introduction_is_told_from_a_likely_one() -> None:
    """Who is Sam already may still be called otherwise when they say so plainly."""
    assert [found.is_plain for said in ("call me Sam", "I'm Sam") if (found := read_introduction(said))] == [
        True,
        False,
    ]


@given(st.text(max_size=200), st.sampled_from(["", "my name is ", "call me ", "I'm "]))
def test_a_name_is_short_and_was_said(text: str, before: str) -> None:
    """Whatever is typed."""
    found = read_introduction(before + text)

    assert found is None or (0 < len(found.name) <= MAX_NAME_CHARS and "\n" not in found.name)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Sam", "Sam"),
        ("sam!", "Sam"),
        ("it's sam", "Sam"),
        ("Sam Miller", "Sam Miller"),
        ("Sam here", "Sam"),
        ("Sam, and yours?", "Sam"),
        ("Sam. You?", "Sam"),
        ("it's Sam, hi", "Sam"),
        ("call me Sam", "Sam"),
        ("Call me Sam.", "Sam"),
        ("Just call me sam", "Sam"),
        ("my name is sam smith", "Sam"),
    ],
)
def test_who_was_asked_may_say_nothing_but_the_name(said: str, name: str) -> None:
    """In small letters too."""
    found = read_introduction(said, was_asked=True)

    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    "said",
    [
        "hi",
        "why?",
        "tell me a story",
        "not telling",
        "guess",
        "I'm not telling you",
        "1234",
        "Nice kettle",
        "nice kettle!",
        "Lovely place",
        "Cool",
        "wow!",
        "Tell me",
        "sounds fun",
        "you?",
    ],
)
def test_an_answer_that_is_none_names_nobody(said: str) -> None:
    """Though a name was asked for."""
    assert read_introduction(said, was_asked=True) is None


def test_a_question_for_the_name_is_known() -> None:
    """At the end of what was said, as greetings have it."""
    assert asks_for_name("Oh, hello! I'm Ember, the little flame in this kettle. What's your name?")
    assert not asks_for_name("What's your name? Oh well. I like rain.")


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("ich heiße Mika", "Mika"),
        ("du kannst mich Tom nennen", "Tom"),
        ("nenn mich einfach Jo!", "Jo"),
        ("me llamo Lucía y vivo en Murcia", "Lucía"),
        ("je m'appelle Zoé, et toi ?", "Zoé"),
        ("pode me chamar de Bia", "Bia"),
        ("mi chiamo Giulia", "Giulia"),
        ("Всем привет, меня зовут Мика", "Мика"),
        ("мене звати Оксана", "Оксана"),
        ("mam na imię Kasia", "Kasia"),
        ("a nevem Kiss Anna", "Kiss Anna"),
        ("benim adım Elif", "Elif"),
        ("με λένε Νίκο", "Νίκο"),
        ("nimeni on Aino", "Aino"),
        ("私の名前はミカです", "ミカ"),
        ("花子と申します", "花子"),
        ("我叫小明，你呢", "小明"),
        ("제 이름은 미카예요", "미카"),
        ("मेरा नाम मीका है", "मीका"),
        ("ผมชื่อมิกะครับ", "มิกะ"),
        ("اسمي ليلى", "ليلى"),
        ("קוראים לי דנה", "דנה"),
        ("tên tôi là Lan", "Lan"),
        ("jina langu ni Juma", "Juma"),
    ],
)
def test_a_name_is_heard_in_any_language(said: str, name: str) -> None:
    """By what the language says before and behind it."""
    found = read_introduction(said)

    assert found is not None
    assert (found.name, found.is_plain) == (name, True)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Hallo, ich bin Anna und freue mich", "Anna"),
        ("Hola, soy Pedro García", "Pedro García"),
        ("Привет! Я Оля", "Оля"),
        ("はじめまして、ミカです", "ミカ"),
        ("안녕하세요, 저는 미카예요", "미카"),
        ("Szia, Anna vagyok", "Anna"),
    ],
)
def test_what_one_is_may_be_a_name_after_a_greeting(said: str, name: str) -> None:
    """And only then: "Ich bin Lehrer" has a capital, too."""
    found = read_introduction(said)

    assert found is not None
    assert (found.name, found.is_plain) == (name, False)


@pytest.mark.parametrize(
    "said",
    [
        "Ich bin Lehrer.",
        "hallo, ich bin müde",
        "nenn mich später",
        "llámame luego",
        "ich heiße nicht Tom",
        "wie heiße ich?",
        "ich heiße Tom?",
        "stell dir vor, ich heiße Batman",
        "mein Bruder, der heißt Tom",
        "私は学生です",
        "今日は学生です",
        "我叫他来",
        "ผมชื่ออะไร",
        "er sagte „ich heiße Tom“",
    ],
)
def test_other_words_are_no_name_in_any_language(said: str) -> None:
    """Neither states nor calls nor questions nor games."""
    assert read_introduction(said) is None


@pytest.mark.parametrize(
    ("asked", "answer", "name"),
    [
        ("Schön! Wie heißt du?", "ich bin Mika", "Mika"),
        ("Hola, ¿cómo te llamas?", "Ana", "Ana"),
        ("お名前は？", "ミカです", "ミカ"),
        ("你叫什么名字？", "小明", "小明"),
        ("Как тебя зовут? 😊", "Я Оля", "Оля"),
        ("आपका नाम क्या है?", "मीका", "मीका"),
        ("이름이 뭐예요?", "네", None),
        ("Как тебя зовут?", "да", None),
    ],
)
def test_the_question_for_a_name_is_known_in_any_language(asked: str, answer: str, name: str | None) -> None:
    """And so is what answers it."""
    found = read_introduction(answer, was_asked=asks_for_name(asked))

    assert (found and found.name) == name


def test_who_asks_for_no_name_is_told_in_any_language() -> None:
    """Saying one's own, or asking for something else."""
    assert not asks_for_name("Ich heiße Ember. Und was machst du so?")
    assert not asks_for_name("Wie heißt du? Ach, egal.")
