"""Words that only show that somebody listens, in nine languages and by an owner's list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.voice.back_channels import BackChannelFilter

SIGNS = {
    "en": ["Mhm.", "mm-hmm", "Uh-huh", "Yeah, yeah.", "Oh, wow!", "I see. Right.", "Okay…", "haha", "That’s right."],
    "de": ["Ja, genau.", "Ach so!", "Stimmt.", "Ich weiß.", "Na klar.", "Okay, verstehe.", "Mhm, mhm."],
    "fr": ["Oui, oui.", "D’accord.", "C'est vrai.", "Ah bon ?", "Bien sûr !", "Voilà.", "Je vois."],
    "es": ["Sí, claro.", "¡Vale!", "Ya veo.", "Ajá.", "Exacto.", "De acuerdo.", "¿En serio?"],
    "it": ["Sì, certo.", "Va bene.", "Ho capito.", "Esatto!", "Davvero?", "Eh già."],
    "pt": ["Sim, claro.", "Pois é.", "Tá bom.", "Entendi.", "Isso mesmo.", "Com certeza!"],
    "nl": ["Ja, precies.", "Dat klopt.", "Inderdaad.", "Oké, snap ik.", "Echt waar?"],
    "pl": ["Tak, tak.", "No właśnie.", "Jasne.", "Rozumiem.", "No.", "Aha, dobrze."],
    "ja": [
        "うん、うん。",
        "うんうん",
        "そうですね。",
        "なるほど！",
        "へえー、そうなんだ。",
        "はい。",
        "あー、なるほどね",
        "確かに。",
    ],
}
CONTENT = {
    "en": ["", "  ", "no", "Stop.", "Yeah, but what about soup?", "right now", "I see you", "?!"],
    "de": ["Nein.", "Ja, aber nicht heute.", "Halt!", "Genau das will ich nicht.", "Warte mal."],
    "fr": ["Non.", "Oui, mais pas ce soir.", "Attends.", "Je vois un chat."],
    "es": ["No.", "Sí, pero no hoy.", "Espera.", "Claro que no."],
    "it": ["No.", "Sì, ma non oggi.", "Aspetta.", "Certo che no."],
    "pt": ["Não.", "Sim, mas hoje não.", "Espera.", "Claro que não."],
    "nl": ["Nee.", "Ja, maar niet vandaag.", "Wacht even."],
    "pl": ["Nie.", "Tak, ale nie dziś.", "Czekaj."],
    "ja": ["いいえ。", "ちょっと待って。", "はい、でも今日はだめです。", "そうじゃない。"],
}


@pytest.mark.parametrize(("language", "text"), [(code, text) for code, texts in SIGNS.items() for text in texts])
def test_a_back_channel_only_shows_that_somebody_listens(language: str, text: str) -> None:
    """In its language, in any writing; English ones in every language."""
    assert BackChannelFilter(language).matches(text)
    assert BackChannelFilter(f"{language}-XX").matches(text)
    assert all(BackChannelFilter(language).matches(english) for english in SIGNS["en"])


@pytest.mark.parametrize(("language", "text"), [(code, text) for code, texts in CONTENT.items() for text in texts])
def test_whatever_has_content_is_none(language: str, text: str) -> None:
    """Nor is silence; whether the language is known or not."""
    assert not BackChannelFilter(language).matches(text)
    assert not BackChannelFilter().matches(text)


@pytest.mark.parametrize("text", [text for texts in SIGNS.values() for text in texts if text != "No."])
def test_where_no_language_is_known_all_of_them_count(text: str) -> None:
    """But a word that refuses in another language does not."""
    assert BackChannelFilter().matches(text)
    assert BackChannelFilter("multi").matches(text)
    assert not BackChannelFilter().matches("No.")


def test_an_owner_has_words_of_their_own() -> None:
    """Alone, repeated and beside the others; as they are written, whatever signs they have."""
    own = BackChannelFilter("en", ["innit", "a geh", "c.o.o.l (so)", "ほいほい", "..."])
    assert all(map(own.matches, ["Innit!", "Yeah, innit.", "a geh a geh", "C.O.O.L. (so)"]))
    assert not own.matches("innit cold")
    assert BackChannelFilter("ja", ["ほいほい"]).matches("ほいほい、うん")
    assert not BackChannelFilter("en", [""]).matches("")


@given(st.text(max_size=200) | st.text("あうんmh ー、' ", max_size=60), st.sampled_from([None, *SIGNS, "xx"]))
def test_any_text_is_judged(text: str, language: str | None) -> None:
    """And soon."""
    assert BackChannelFilter(language, ["あう", "あ"]).matches(text) in (True, False)
