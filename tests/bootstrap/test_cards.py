"""Reading cards: every version, every container, and the damage that does no harm."""

from __future__ import annotations

import base64
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.bootstrap.cards import CARD_FIELDS, CharacterCard, CharacterCardError, DepthPrompt, load_card
from tests.fakes.cards import (
    V1,
    V2,
    V3,
    archive,
    b64,
    card_picture,
    charx,
    chunk,
    international_chunk,
    packed_chunk,
    picture,
    text_chunk,
    webp,
)


def nine(card: CharacterCard) -> dict[str, str]:
    return {field: getattr(card, field) for field in CARD_FIELDS}


def named(name: str, spec: str = "chara_card_v2") -> dict[str, Any]:
    return {"spec": spec, "data": {"name": name}}


def test_a_card_has_nine_texts_in_card_order_and_can_be_changed() -> None:
    """Eight of them may be left out."""
    card = CharacterCard("Mira")
    card.description = "A keeper."

    assert [field.name for field in fields(card)][:9] == list(CARD_FIELDS)
    assert nine(card) == {**dict.fromkeys(CARD_FIELDS, ""), "name": "Mira", "description": "A keeper."}


@pytest.mark.parametrize(
    ("payload", "notes"), [(V1, ""), (V2, "For rainy evenings."), (V3, "For rainy evenings.")], ids=["v1", "v2", "v3"]
)
@pytest.mark.parametrize(
    "wrap",
    [
        lambda payload: json.dumps(payload).encode(),
        lambda payload: card_picture(payload),
        lambda payload: card_picture(payload, "ccv3"),
        lambda payload: picture(packed_chunk(b64(payload))),
        lambda payload: picture(international_chunk(b64(payload))),
        lambda payload: picture(international_chunk(b64(payload), packed=True)),
        lambda payload: picture(chunk(b"acTL", bytes(8)), text_chunk(b64(payload)), chunk(b"fdAT", bytes(8))),
        lambda payload: charx(payload),
        lambda payload: b"\xff\xd8\xff\xe0 a JPEG" + charx(payload),
        lambda payload: picture() + charx(payload),
        lambda payload: webp(json.dumps(payload).encode()),
    ],
    ids=["json", "png", "ccv3", "ztxt", "itxt", "itxt-z", "apng", "charx", "jpeg+charx", "png+charx", "webp"],
)
def test_every_version_is_read_from_every_container(wrap: Any, payload: dict[str, Any], notes: str) -> None:
    """And says the same in each."""
    card = load_card(wrap(payload))

    assert {field: getattr(card, field) for field in V1} == V1
    assert card.creator_notes == notes


def test_a_source_is_bytes_json_text_or_a_path(tmp_path: Path) -> None:
    """Text is JSON when it begins with a brace, after blanks and a mark."""
    file = tmp_path / "mira.json"
    file.write_text(json.dumps(V2), encoding="utf-8-sig")

    assert (
        load_card("\ufeff \n" + json.dumps(V2))
        == load_card(file)
        == load_card(str(file))
        == load_card(file.read_bytes())
    )


def test_ccv3_is_believed_before_chara_wherever_it_stands() -> None:
    """In any letters."""
    old, new = text_chunk(b64(named("old")), "Chara"), text_chunk(b64(named("new")), "CCV3")

    assert load_card(picture(old, new)).name == load_card(picture(new, old)).name == "new"


@pytest.mark.parametrize("broken", [b"!!!", b64([1]), b64({"nothing": "here"}), base64.b64encode(b'{"data":')])
def test_a_broken_chunk_falls_back_to_the_other(broken: bytes) -> None:
    """Whichever it is."""
    assert load_card(picture(text_chunk(broken, "ccv3"), text_chunk(b64(named("Mira"))))).name == "Mira"
    assert load_card(picture(text_chunk(broken), text_chunk(b64(named("Mira")), "ccv3"))).name == "Mira"


def test_the_first_chunk_of_a_keyword_wins() -> None:
    """As in SillyTavern."""
    assert load_card(picture(text_chunk(b64(named("one"))), text_chunk(b64(named("two"))))).name == "one"


TEXT = json.dumps(V1).encode()


@pytest.mark.parametrize(
    "text",
    [
        base64.b64encode(TEXT).rstrip(b"="),
        base64.urlsafe_b64encode(TEXT),
        base64.encodebytes(TEXT),
        base64.b64encode(b"\xef\xbb\xbf" + TEXT),
        base64.b64encode(TEXT + b"\0\0\0"),
        base64.b64encode(TEXT) + b"\0\0",
        base64.b64encode(TEXT + b"trailing words"),
        base64.b64encode(base64.b64encode(TEXT)),
        base64.b64encode(json.dumps(TEXT.decode()).encode()),
        b"data:application/json;base64," + base64.b64encode(TEXT),
        TEXT,
    ],
    ids=["no padding", "url", "lines", "bom", "nul in", "nul after", "trailing", "twice", "string", "data", "bare"],
)
def test_odd_encodings_do_no_harm(text: bytes) -> None:
    """As found in the wild."""
    assert load_card(picture(text_chunk(text))).description == V1["description"]


def test_a_damaged_picture_still_gives_its_card() -> None:
    """Wrong checksums, bytes behind the end, and a cut after the card."""
    body = b"chara\0" + b64(V1)
    bad = picture(chunk(b"tEXt", body, crc=1))
    whole = card_picture(V1)

    assert load_card(bad).name == "Mira"
    assert load_card(whole + b"behind").name == "Mira"
    assert load_card(whole[: whole.index(b"IEND") - 8]).name == "Mira"


def test_data_wins_over_its_mirror_and_the_mirror_fills_its_gaps() -> None:
    """Both are there in most cards."""
    card = load_card(json.dumps({"spec": "x", "name": "old", "scenario": "A beach.", "data": {"name": "new"}}))

    assert (card.name, card.scenario) == ("new", "A beach.")


@pytest.mark.parametrize(
    "payload",
    [
        {"spec": "chara_card_v2", "spec_version": "9.9", **V1},
        {"spec": "tavern_ai", "spec_version": "1.0", "data": V1},
        {"data": V1},
        {" data ": {" name ": "Mira", **V1}},
        {"spec": "chara_card_v2", "data": json.dumps(V1)},
        {**V1, "data": {"unrelated": 1}},
    ],
)
def test_content_says_what_a_payload_is(payload: dict[str, Any]) -> None:
    """Not the label alone."""
    assert nine(load_card(json.dumps(payload))) == nine(load_card(json.dumps(V1)))


def test_other_programs_words_are_understood() -> None:
    """Pygmalion, text-generation-webui and Agnai."""
    pygmalion = {
        "char_name": "M",
        "char_persona": "p",
        "char_greeting": "g",
        "example_dialogue": "e",
        "world_scenario": "w",
    }
    webui = b"name: Chi\ncontext: |-\n  Chi is kind.\n  She hums.\ngreeting: Hello!\n"
    agnai = {
        "name": "A",
        "persona": {"kind": "text", "attributes": {"text": ["tall"]}},
        "greeting": "Hi",
        "sampleChat": "s",
    }

    card = load_card(json.dumps(pygmalion))
    assert (card.name, card.description, card.first_mes, card.mes_example, card.scenario) == ("M", "p", "g", "e", "w")
    card = load_card(webui)
    assert (card.name, card.description, card.first_mes) == ("Chi", "Chi is kind.\nShe hums.", "Hello!")
    card = load_card(json.dumps(agnai))
    assert (card.description, card.first_mes, card.mes_example) == ("tall", "Hi", "s")


def test_text_cards_are_read_by_their_labels() -> None:
    """And W++ by the name in it."""
    labelled = load_card(b"Name: Mira\nPersonality: calm: always\n\nkind\nFirst message: Hello: you!\n")
    wpp = load_card(b'[Character("Mira") {\nMind("calm" + "kind")\n}]')

    assert (labelled.name, labelled.personality, labelled.first_mes) == ("Mira", "calm: always\n\nkind", "Hello: you!")
    assert wpp.name == "Mira"
    assert 'Mind("calm" + "kind")' in wpp.description


def test_a_backyard_archive_is_read() -> None:
    """Its first scenario, its lore, and its words for the names."""
    members = {
        "manifest.json": {"characters": ["characters/a.json"], "scenarios": ["scenarios/s.json"]},
        "characters/a.json": {
            "displayName": "Bo",
            "persona": "{character} likes {user}.",
            "loreItems": [{"key": "a, b", "value": "v"}],
        },
        "scenarios/s.json": {"narrative": "Rain.", "firstMessages": [{"text": "Hi."}, {"text": "Yo."}]},
    }
    card = load_card(archive({name: json.dumps(value).encode() for name, value in members.items()}))

    assert (card.name, card.description, card.scenario) == ("Bo", "{{char}} likes {{user}}.", "Rain.")
    assert (card.first_mes, card.alternate_greetings) == ("Hi.", ["Yo."])
    assert card.character_book is not None
    assert card.character_book["entries"][0]["keys"] == ["a", "b"]


@pytest.mark.parametrize(
    "comment",
    [b64(V1), b"\0".join(str(byte).encode() for byte in TEXT), b",".join(str(byte).encode() for byte in TEXT)],
    ids=["base64", "codes", "commas"],
)
def test_webp_comments_come_in_three_writings(comment: bytes) -> None:
    """And in UTF-16."""
    assert load_card(webp(comment)).name == "Mira"
    assert load_card(webp(TEXT.decode().encode("utf-16-le"), mark=b"UNICODE\0")).name == "Mira"


def test_everything_else_is_kept_unchanged() -> None:
    """Also what nobody here understands."""
    card = load_card(
        json.dumps({**V3, "alternative": {"x": 1}, "data": {**V3["data"], "unheard_of": [1, {"a": None}]}})
    )

    assert card.extras["unheard_of"] == [1, {"a": None}]
    assert card.extras["extensions"] == V3["data"]["extensions"]
    assert card.extras["outside_data"] == {"alternative": {"x": 1}}
    assert card.alternate_greetings == V3["data"]["alternate_greetings"]
    assert card.depth_prompt == DepthPrompt("The light must burn.", 2, "user")
    assert (card.tags, card.nickname, card.creator, card.character_version) == (
        ["sea", "calm"],
        "Mi",
        "somebody",
        "1.2",
    )
    assert card.character_book == V3["data"]["character_book"]
    assert card.to_card_fields().depth_prompt_depth == 2


@pytest.mark.parametrize(
    ("extras", "greetings", "tags", "note"),
    [
        ({"alternate_greetings": "1687194031049", "tags": "a, b,,c"}, [], ["a", "b", "c"], None),
        ({"alternate_greetings": ["x", None, 3, ""], "tags": None}, ["x"], [], None),
        ({"extensions": {"depth_prompt": {"prompt": "p", "depth": ""}}}, [], [], DepthPrompt("p", 0, "system")),
        ({"extensions": {"depth_prompt": {"prompt": "p", "depth": None}}}, [], [], DepthPrompt("p", 4, "system")),
        ({"extensions": [], "character_book": None}, [], [], None),
    ],
)
def test_what_editors_get_wrong_is_borne(
    extras: dict[str, Any], greetings: list[str], tags: list[str], note: DepthPrompt | None
) -> None:
    """Strings for lists, blanks for numbers, null for objects."""
    card = load_card(json.dumps({"spec": "chara_card_v2", "data": {"name": "M", **extras}}))

    assert (card.alternate_greetings, card.tags, card.depth_prompt, card.character_book) == (
        greetings,
        tags,
        note,
        None,
    )


def test_a_card_without_a_name_is_still_a_card() -> None:
    """Its folder will name it."""
    assert load_card('{"data": {"description": "Nameless."}}').name == ""


def test_line_ends_are_kept() -> None:
    """Byte for byte."""
    assert load_card(json.dumps({**V1, "description": "a\r\nb\n\n"})).description == "a\r\nb\n\n"


def test_the_error_is_importable_where_it_is_raised() -> None:
    """And is an exception of its own."""
    assert issubclass(CharacterCardError, Exception)
    with pytest.raises(CharacterCardError):
        load_card(b"")
