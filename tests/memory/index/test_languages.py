"""Memory in any language: words in their forms, names with endings, scripts that the embedder never learnt."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from benchmarks.languages import HALVES, as_dialogue, read_sets
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.memory.index.hashing import HashingModel
from familiar_connect.memory.index.letters import is_english
from familiar_connect.memory.index.minilm import MiniLMModel
from familiar_connect.memory.index.query import content_words, match_expression, parse_query
from familiar_connect.memory.index.retriever import MemoryRetriever
from familiar_connect.memory.index.turns import TurnIndex
from familiar_connect.memory.index.vectors.blobs import to_small_blobs
from familiar_connect.memory.index.vectors.spelling import embed_spelling, is_read_by_spelling
from familiar_connect.support.clock import ManualClock
from familiar_connect.support.name_forms import romanize

NOW = datetime(2026, 11, 18, 15, 30, tzinfo=UTC)
CHATTER = ("der Bus war voll", "wer kocht am Samstag", "jó reggelt", "köszi szépen", "опять дождь", "спокойной ночи")


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Где живёт сестра Мики?", {"мика"}),
        ("Что говорили о Мике вчера?", {"мика"}),
        ("Wie heißt Mikas Katze?", {"mika"}),
        ("Elif'in kedisinin adı ne?", {"elif"}),
        ("ミカさんの猫の名前は?", {"ミカ"}),
        ("米卡的姐姐搬到哪里去了?", {"米卡"}),
        ("มิกะแพ้ถั่วอะไร", {"มิกะ"}),
        ("Was steht im Mikroskop?", set()),
        ("What is under the Mikado?", set()),
        ("Is Elifa here too, with the others?", set()),
    ],
)
def test_a_name_is_known_in_the_form_it_has(question: str, named: set[str]) -> None:
    """With the endings of its language or inside a line without spaces; in English only as it is."""
    names = ["Мика", "Mika", "Elif", "ミカ", "米卡", "มิกะ"]

    asked = parse_query(question, names=names, now=NOW)

    assert asked.names == named
    assert not any(name in asked.meaning.lower() for name in named)


@pytest.mark.parametrize(
    ("question", "known"),
    [
        ("Что говорили о Мике вчера?", "Mika"),
        ("ミカさんの猫の名前は?", "Mika"),
        ("미카의 고양이", "Mika"),
        ("मीका कहाँ है", "Mika"),
        ("Πού είναι η Μίκα;", "Mika"),
        ("what did Mika say", "ミカ"),
        ("where is Natasha", "Наташа"),
        ("ナタシャはどこ", "Наташа"),
        ("اين ميكا", "Mika"),
    ],
)
def test_a_name_is_known_in_another_script(question: str, known: str) -> None:
    """By what it sounds like."""
    assert parse_query(question, names=[known], now=NOW).names == {known.lower()}


@pytest.mark.parametrize(
    ("name", "spelled"), [("Мика", "mika"), ("ミカ Voss", "mika Voss"), ("Zoë Müller", "Zoe Mueller"), ("小明", "")]
)
def test_a_folder_is_called_by_what_its_name_sounds_like(name: str, spelled: str) -> None:
    """Where only Latin letters may stand."""
    assert romanize(name) == spelled


@pytest.mark.parametrize("question", ["Где наша мама?", "ミルクはどこ", "米卡在哪里", "what did Mika say"])
def test_other_words_are_no_name_of_another_script(question: str) -> None:
    """However alike they look."""
    assert not parse_query(question, names=["Maxim", "Михаил", "ミキオ"], now=NOW).names


@pytest.mark.parametrize(
    "text", ["what did I say about the boiler", "omg did they rly buy the old boat??", "wifi password"]
)
def test_english_is_told(text: str) -> None:
    """Whatever has most of its letters in English words."""
    assert is_english(text)
    assert not parse_query(text, names=(), now=NOW).in_any_form


@pytest.mark.parametrize("text", ["was war am Montag beim Zahnarzt", "где ключи", "鍵はどこ", "mikor jön a vízszerelő"])
def test_other_languages_are_told_without_a_list_of_them(text: str) -> None:
    """Whatever has not."""
    assert not is_english(text)


def test_vowels_written_as_signs_belong_to_their_word() -> None:
    """In Thai and Hindi no word is cut at its vowels."""
    assert list(content_words("हिन्दी किताब")) == ["हिन्दी", "किताब"]
    assert list(content_words("ดูนก")) == ["ดูน", "นก"]
    assert match_expression("हिन्दी") == '"हिन्दी"'


def test_forms_of_a_word_are_near_in_spelling() -> None:
    """A text that holds the same words in other forms is nearer than any other."""
    asked, same, other = embed_spelling(["где сестра живёт", "моя сестра переехала и жила там", "суп опять остыл"], 384)

    assert asked @ same > 0.25
    assert asked @ other < 0.15
    assert np.allclose(np.linalg.norm(embed_spelling(["", "!?", "x"], 384), axis=1), 1.0, atol=1e-5)


def test_a_spelling_is_stored_as_small_as_a_meaning() -> None:
    """In two bits for each number."""
    blobs = to_small_blobs(embed_spelling(["запасной ключ висит за синей ставней", "备用钥匙"], 384), 2)

    assert [len(blob) for blob in blobs] == [98, 98]


def test_the_embedder_reads_only_latin_letters_by_meaning() -> None:
    """A line of another script needs no weights at all; English with a word of another does."""
    assert is_read_by_spelling("備用钥匙挂在那里 wifi")
    assert not is_read_by_spelling("the sign says 鍵 I think")
    assert np.allclose(MiniLMModel().embed(["опять дождь"]), embed_spelling(["опять дождь"], 384))


@pytest.fixture
def chat(tmp_path: Path) -> MemoryRetriever:
    """Facts among chatter, found by words alone."""
    history = HistoryStore(tmp_path / "history.db")
    facts = (
        "der Ersatzschlüssel hängt hinterm Fensterladen",
        "a macskánkat Keksznek hívják",
        "мотоцикл я продал, теперь есть крыша",
        "เรากินถั่วลิสงไม่ได้",
    )
    who = Author("discord", "1", "mika", "Mika")
    for text in (*CHATTER, *facts, *CHATTER):
        history.append_turn(familiar_id="wren", channel_id=1, role="user", content=text, author=who, timestamp=NOW)
    model = HashingModel()
    turns = TurnIndex(tmp_path / "turns.sqlite", history=history, familiar_id="wren", dim=384, model_name="hashing")
    turns.sync(None)
    retriever = MemoryRetriever(model=model, turns=turns, clock=ManualClock(NOW))
    retriever.warm_words()
    return retriever


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("wo sind Mikas Schlüssel", "Ersatzschlüssel"),
        ("hogy hívják a macskámat", "macskánkat"),
        ("что стало с мотоциклом", "мотоцикл"),
        ("แพ้ถั่วลิสงหรือเปล่า", "ถั่วลิสง"),
    ],
)
async def test_a_word_is_found_in_another_form(chat: MemoryRetriever, question: str, told: str) -> None:
    """With another ending, as a part of a longer word, and without spaces; by words alone."""
    found = await chat.recall(question, limit=1)

    assert [told in hit.text for hit in found] == [True]
    assert found[0].explained.signals["words"] > 0


def test_the_sets_of_languages_are_whole() -> None:
    """Each fact of each of twelve languages is asked twice, every second one held back."""
    sets = read_sets()

    assert len(sets) == 12
    for each in sets:
        open_half, held_half = (as_dialogue([each], half) for half in HALVES)
        assert len(open_half.questions) == len(held_half.questions) == 20
        assert {q.evidence for q in open_half.questions}.isdisjoint(q.evidence for q in held_half.questions)
