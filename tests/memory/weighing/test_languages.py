"""What is worth keeping in other languages: told from chatter by the words of each, and English read as before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.keeping_languages import languages, read_lines, score
from familiar_connect.memory.weighing.languages.reader import MAX_CHARS, find_rules, weigh_sentence
from familiar_connect.memory.weighing.languages.rules import CODES, load_rules
from familiar_connect.memory.weighing.statements import find_self_statements, weigh_line

LEAST = {"de": (0.80, 0.88), "es": (0.92, 0.90), "fr": (0.92, 0.88), "ja": (0.82, 0.85), "pt": (0.88, 0.92)}
LEAST |= {"ru": (0.84, 0.84), "zh": (0.92, 0.86)}
"""Facts kept, and what is kept that lasts; `python -m benchmarks.keeping_languages` prints each half."""


def test_a_line_of_one_language_makes_no_patterns_of_the_others() -> None:
    """They would cost every process that writes memory a third of a second."""
    load_rules.cache_clear()
    german = find_rules("Meine Schwester heißt Clara und sie wohnt jetzt in Graz.")
    assert german is not None
    weigh_sentence("Meine Schwester heißt Clara.", german)

    assert german.asks.is_compiled
    assert [code for code in CODES if code != "de" and load_rules(code).asks.is_compiled] == []


@pytest.mark.parametrize("language", languages())
def test_facts_are_kept_and_chatter_is_not(language: str) -> None:
    """Of lines that others wrote and labelled in each language."""
    kept, lasting = score(read_lines(language))

    assert kept >= LEAST[language][0]
    assert lasting >= LEAST[language][1]


@pytest.mark.parametrize(
    ("fact", "chatter"),
    [
        ("Meine Schwester ist allergisch gegen Nüsse.", "Boah, ich bin heute so müde."),
        ("Mi abuelo murió en 2019.", "Hoy hace muchísimo calor aquí."),
        ("J'ai décroché le poste à Lyon !", "J'ai trop faim, on mange quoi ce soir ?"),
        ("A minha irmã mora no Porto com o namorado.", "tô morrendo de sono hoje"),
        ("Мы с мужем переехали в Казань в марте.", "сегодня опять дождь, бесит"),
        ("来月、大阪に引っ越すことになりました。", "今日めっちゃ暑い、アイス食べたい"),
        ("我弟弟去年考上了北京大学。", "今天好累，不想上班"),
    ],
)
def test_a_message_keeps_its_facts_as_they_were_typed(fact: str, chatter: str) -> None:
    """The fact in its own language, and nothing of the chatter beside it."""
    assert [kept.strip(" .。!！") for kept in find_self_statements(f"{fact} {chatter}")] == [fact.strip(" .。!！")]
    assert find_self_statements(chatter) == []
    assert weigh_line(fact) > weigh_line(chatter)


@pytest.mark.parametrize(
    "text",
    [
        "See ya, Calvin! Stay awesome.",
        "no comment",
        "die hard was on again, so good",
        "I'm in Salamanca with my sister",
        "my name is José and I live in München",
        "abito a Roma con il mio gatto",
        "",
        "12:30",
    ],
)
def test_english_and_languages_without_rules_are_taken_for_none_that_has_some(text: str) -> None:
    """A name with an accent, or two words that look foreign, make no other language."""
    assert find_rules(text) is None


def test_questions_requests_and_what_only_might_be_are_no_facts() -> None:
    """However much they name what lasts."""
    said = [
        "Wann hat deine Schwester geheiratet?",
        "explícame qué es la diabetes",
        "si j'avais un chien je l'appellerais Rex",
        "если бы я жил в Москве, ходил бы в театр",
        "もし犬を飼っていたら毎朝散歩する",
        "如果我有一只猫就好了",
    ]

    assert [text for text in said if find_self_statements(text)] == []


@given(st.sampled_from(CODES), st.text(max_size=200))
def test_any_text_has_a_weight_in_any_language(code: str, text: str) -> None:
    """Never less than nothing, and nothing for a stretch that is too long for a sentence."""
    rules = load_rules(code)

    assert weigh_sentence(text, rules) >= 0
    assert weigh_sentence("я ich 私 " * MAX_CHARS, rules) == 0
