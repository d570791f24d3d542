"""SillyTavern's own view of a card."""

from __future__ import annotations

from typing import Any

import pytest

from familiar_connect.bootstrap.card_files.sillytavern_import import (
    card_version,
    import_like_sillytavern,
    sillytavern_file_name,
)
from familiar_connect.errors import CharacterCardError
from tests.fakes.cards import V1, V2, V3


@pytest.mark.parametrize(
    ("payload", "version"),
    [
        (V1, 1),
        ({**V2, **V1}, 1),
        (V2, 2),
        ({**V2, "spec_version": "2.1"}, False),
        ({**V2, "data": {**V2["data"], "tags": "a, b"}}, False),
        ({**V2, "data": {**V2["data"], "character_book": {"entries": []}}}, False),
        ({**V2, "data": {**V2["data"], "character_book": None}}, 2),
        (V3, 3),
        ({"spec": "chara_card_v3", "spec_version": 3.9, "data": {}}, 3),
        ({"spec": "chara_card_v3", "spec_version": "4.0", "data": {}}, False),
        ({"spec": "chara_card_v3", "spec_version": "3.0"}, False),
        ({}, False),
    ],
)
def test_a_version_is_the_first_whose_rules_are_met(payload: dict[str, Any], version: int | bool) -> None:
    """A V1 mirror counts first."""
    assert card_version(payload) is version


def test_a_card_with_a_label_keeps_what_it_has() -> None:
    """Its fields are copied up, its private ones reset."""
    made = import_like_sillytavern(
        {**V2, "chat": "x", "create_date": "y", "fav": True, "talkativeness": 1, "other": [1]}
    )

    assert {field: made[field] for field in V1} == V1
    assert (made["spec"], made["fav"], made["talkativeness"], made["other"]) == ("chara_card_v3", False, "0.5", [1])
    assert made["data"] == {**V2["data"], "extensions": {**V2["data"]["extensions"], "fav": False}}
    assert not {"chat", "create_date"} & made.keys()


def test_a_card_without_a_label_is_built_anew() -> None:
    """Of the fields V1 has."""
    made = import_like_sillytavern({**V1, "tags": "a, ,b", "creator_notes": "n", "system_prompt": "lost", "foreign": 1})

    assert (made["tags"], made["creatorcomment"], made["data"]["system_prompt"]) == (["a", "b"], "n", "")
    assert "foreign" not in made
    assert made["data"]["extensions"]["depth_prompt"] == {"prompt": "", "depth": 4, "role": "system"}


def test_other_programs_fields_are_mapped() -> None:
    """Pygmalion and text-generation-webui."""
    assert (
        import_like_sillytavern({"char_name": "M", "char_persona": "p", "char_greeting": "g"})["data"]["description"]
        == "p"
    )
    assert import_like_sillytavern({"name": "M", "context": "c", "greeting": "g"}, kind="yaml")["first_mes"] == "g"


@pytest.mark.parametrize("payload", [{}, {"name": ""}, {"spec": "x", "data": {}}, {"spec": "x", "data": {"name": ":"}}])
def test_a_card_without_a_name_is_refused(payload: dict[str, Any]) -> None:
    """The one thing SillyTavern insists on."""
    with pytest.raises(CharacterCardError, match="no name"):
        import_like_sillytavern(payload)


@pytest.mark.parametrize(
    ("name", "safe"),
    [('A/B: "C"|?', "AB C"), ("Mr. X. ", "Mr. X"), ("con.txt", ""), ("..", ""), ("é" * 200, "é" * 127)],
)
def test_a_name_loses_what_a_file_name_may_not_hold(name: str, safe: str) -> None:
    """As there."""
    assert sillytavern_file_name(name) == safe
