"""People called Will or May can be meant: by the capital letter in the middle of a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from familiar_connect.context.providers.content_search.mentions import find_mentions
from tests.fakes.rehearsal import TEA_HOUSE, rehearse

NAMES = {"will": ["discord-1"], "may": ["discord-2"], "ada": ["discord-3"], "hope": ["discord-4"]}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("What does Will like to eat?", {"discord-1": "will"}),
        ("Has anybody seen May today?", {"discord-2": "may"}),
        ("Will's boat is gone.", {"discord-1": "will"}),
        ("When will Will be back?", {"discord-1": "will"}),
        ("When will you be back?", {}),
        ("Will you be back?", {}),
        ("May I come in?", {}),
        ("We leave in May.", {}),
        ("We leave on 3 May.", {}),
        ("It is on May 3.", {}),
        ("you may ask Ada", {"discord-3": "ada"}),
    ],
)
def test_a_word_that_is_a_name_too_is_meant_where_it_is_written_as_one(said: str, meant: dict[str, str]) -> None:
    """And the verb and the month are nobody."""
    assert find_mentions(said, NAMES) == meant


@pytest.mark.slow
def test_what_will_told_is_shown_to_who_asks_about_will(tmp_path: Path) -> None:
    """From what he said of himself to the notes in the prompt; who asks when something will happen is shown none."""
    notes = "notes about Will"
    played = rehearse(
        tmp_path,
        {"in": "tea", "by": "will", "say": "Ember, I am allergic to walnuts and I live in Graz.", "mention": True},
        {"write_up": True},
        {"in": "tea", "by": "ada", "say": "Ember, what may Will not eat?", "mention": True},
        {"expect": {"prompt_has": [notes, "walnuts"]}},
        {"after": "2h", "in": "tea", "by": "ada", "say": "Ember, when will it rain?", "mention": True},
        people={**TEA_HOUSE["people"], "will": {"name": "Will", "id": "103"}},
        models={"main_prose": {"otherwise": "Mm."}, "memory_writer": "echo"},
        settings="[providers.history]\nwindow_size = 2\n",
    )

    assert played.failed == []
    assert '"will"' in (played.root / "memory" / "people" / "_aliases.json").read_text(encoding="utf-8")
    assert notes in played.prompt(3)
