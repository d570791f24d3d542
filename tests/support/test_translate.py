"""Sentences of the interface in other languages: none is missing, and each can be filled in."""

from __future__ import annotations

from pathlib import Path

import pytest
from babel.messages.catalog import Catalog

from familiar_connect.support.translate import LANGUAGES, system_language, tr_in, translations_of
from tests.fakes.program import make_home, run_program
from tools import translations


def test_no_sentence_is_missing_and_no_placeholder_is_lost() -> None:
    """Every sentence of the code stands in every catalogue, and what the program reads is made of them."""
    sentences = translations.read_sentences()

    assert len(sentences) > 400
    for language in translations.LANGUAGES:
        known = translations.read_catalogue(language)
        level = translations.bring_level(known, sentences)
        assert translations.find_faults(level) == []
        assert {message.id for message in known} == {message.id for message in level}
        is_level = translations.po_file(language).with_suffix(".mo").read_bytes() == translations.mo_bytes(level)
        assert is_level, "run `python -m tools.translations`"


def test_a_lost_placeholder_is_found() -> None:
    """One that the sentence does not fill in, too."""
    catalogue = Catalog(locale="de")
    catalogue.add("I call you {user}.", "Ich nenne dich {name}.")
    catalogue.add("Done.", "")

    assert [fault.split(": ")[1] for fault in translations.find_faults(catalogue)] == ["other placeholders", "missing"]


def test_every_language_has_a_catalogue() -> None:
    """What the setting offers can be read."""
    assert ("en", *translations.LANGUAGES) == LANGUAGES
    assert tr_in("de", "Done.") == "Fertig."
    assert set(translations_of("Done.")) == {"de", "ja"}
    assert translations_of("no sentence of ours") == {}


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({"LANG": "de_AT.UTF-8"}, "de"),
        ({"LC_ALL": "C.UTF-8", "LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "fr_FR.UTF-8", "LANGUAGE": "fr:ja:en"}, "ja"),
        ({"LC_MESSAGES": "ja_JP.UTF-8", "LANG": "en_GB.UTF-8"}, "ja"),
        ({"LANG": "sw_KE.UTF-8"}, "en"),
    ],
)
def test_the_system_says_which_language(environment: dict[str, str], language: str) -> None:
    """As gettext reads it; a language without a catalogue is English."""
    assert system_language(environment) == language


def test_a_chat_speaks_the_language_of_the_system_or_of_the_setting(tmp_path: Path) -> None:
    """Its notices and commands do; the setting comes before the system."""
    make_home(tmp_path)
    german = run_program(tmp_path, "chat", said="/help quit\n/lines x\n", env={"LC_ALL": "de_DE.UTF-8", "LANGUAGE": ""})
    settings = tmp_path / "familiars" / "ember" / "character.toml"
    settings.write_text('interface_language = "ja"\n' + settings.read_text(encoding="utf-8"), encoding="utf-8")
    japanese = run_program(tmp_path, "chat", said="/help quit\n", env={"LC_ALL": "de_DE.UTF-8", "LANGUAGE": ""})

    assert "Strg-D tut das auch" in german.stdout
    assert "Gib eine Zahl an: /lines 20." in german.stdout
    assert "Ctrl-D でも同じです" in japanese.stdout
