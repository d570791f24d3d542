"""Whether somebody has said all, by their last words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.voice.end_of_turn import TurnEnd, TurnPauses, judge_turn_end

FINISHED = {
    "en": [
        "What should I cook tonight?",
        "Good evening.",
        "I had soup for lunch.",
        "What are you looking at?",
        "Yes.",
        "Stop!",
        'She said "yes."',
        "If it rains, we stay at home.",
        "Remind me tomorrow at 9.",
    ],
    "de": ["Was soll ich heute kochen?", "Ich habe Hunger.", "Das kommt darauf an, oder?"],
    "fr": ["Qu'est-ce qu'on mange ?", "J'ai faim."],
    "es": ["¿Qué cenamos hoy?", "Tengo hambre."],
    "it": ["Cosa mangiamo stasera?", "Ho fame."],
    "pt": ["O que vamos comer?", "Estou com fome."],
    "nl": ["Wat eten we vanavond?", "Ik heb honger."],
    "pl": ["Co dziś zjemy?", "Jestem głodny."],
    "ja": ["今夜は何を食べますか？", "おなかがすきました。"],
}
UNFINISHED = {
    "en": [
        "So I was thinking and",
        "So I was thinking and.",
        "I would like to have the",
        "Well,",
        "Um.",
        "So.",
        "We had potatoes, so.",
        "I went to the shop but...",
        "I wanted to…",
        "We could go to",
        "My favourite is –",
    ],
    "de": ["Ich dachte, dass wir und", "Ich möchte einen.", "Also, ähm."],
    "fr": ["Je pensais que", "J'aimerais une.", "Euh."],
    "es": ["Quería comprar el", "Pensé que pero."],
    "it": ["Volevo comprare il", "Pensavo che."],
    "pt": ["Eu queria comprar o", "Eu acho que."],
    "nl": ["Ik wilde naar de", "Ik denk dat."],
    "pl": ["Chciałem kupić i", "Myślę, że."],
    "ja": ["きのう学校に", "それで、", "えっと"],
}
UNCLEAR = {
    "en": ["", "  ", "I had soup", "That is what I am looking for.", "When I was in Paris.", "I do not think so."],
    "de": ["Das kommt darauf an.", "Wenn es regnet."],
    "ja": ["行きたいんですけど。", "寒いから。"],
}


def cases(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(code, text) for code, texts in table.items() for text in texts]


@pytest.mark.parametrize(("language", "text"), cases(FINISHED))
def test_a_question_or_a_whole_sentence_is_an_end(language: str, text: str) -> None:
    """In nine languages; a question is one in any."""
    assert judge_turn_end(text, language) is TurnEnd.finished
    assert judge_turn_end(text) is TurnEnd.finished


@pytest.mark.parametrize(("language", "text"), cases(UNFINISHED))
def test_who_breaks_off_goes_on(language: str, text: str) -> None:
    """Even where the recogniser has put a full stop; without a known language that stop leaves it open."""
    assert judge_turn_end(text, language) is TurnEnd.unfinished
    assert judge_turn_end(text, f"{language}-XX") is TurnEnd.unfinished
    assert judge_turn_end(text) is not TurnEnd.finished


@pytest.mark.parametrize(("language", "text"), cases(UNCLEAR))
def test_some_words_do_not_tell(language: str, text: str) -> None:
    """They might be all or half of it."""
    assert judge_turn_end(text, language) is TurnEnd.unclear


def test_the_pause_is_short_after_an_end_and_long_within_a_sentence() -> None:
    """The usual lull is the bound of both: an owner who set it short is answered as soon as before."""
    pauses = TurnPauses(lull_s=5, finished_s=1.5, unfinished_s=7, language="en")
    assert [pauses.after(text) for text in ("Is it cold?", "soup", "I like the")] == [1.5, 5, 7]
    quick = TurnPauses(lull_s=0.5, finished_s=1.5, unfinished_s=7, language="en")
    assert [quick.after(text) for text in ("Is it cold?", "soup", "I like the")] == [0.5, 0.5, 7]
    slow = TurnPauses(lull_s=9, finished_s=1.5, unfinished_s=7, language="en")
    assert [slow.after(text) for text in ("Is it cold?", "soup", "I like the")] == [1.5, 9, 9]


@given(st.text(max_size=600), st.sampled_from([None, *FINISHED, "xx"]))
def test_any_text_is_judged(text: str, language: str | None) -> None:
    """And has a pause between the shortest and the longest."""
    assert judge_turn_end(text, language) in TurnEnd
    assert 1 <= TurnPauses(lull_s=2, finished_s=1, unfinished_s=3, language=language).after(text) <= 3
