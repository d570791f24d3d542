"""Files that are no cards, and files that mean harm: one sentence each, in bounded time."""

from __future__ import annotations

import io
import json
import os
import struct
import time
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from familiar_connect.bootstrap.card_files.decode_json import MAX_FILE_BYTES, MAX_TEXT_BYTES
from familiar_connect.bootstrap.cards import CharacterCardError, load_card
from tests.fakes.cards import SIGNATURE, V1, V2, archive, b64, card_picture, charx, chunk, picture, text_chunk, webp
from tests.fakes.properties import at_least

MOST_SECONDS = 2.0
WHOLE = card_picture(V2)


def refused(source: bytes | str | Path) -> str:
    began = time.process_time()
    with pytest.raises(CharacterCardError) as told:
        load_card(source)

    assert time.process_time() - began < MOST_SECONDS
    assert "\n" not in str(told.value)
    return str(told.value)


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"\0\0\0",
        b"just some words",
        b"[]",
        b"[1, 2]",
        b"{}",
        b"null",
        b"42",
        b'"words"',
        b'{"unrelated": "words"}',
        b'{"entries": {}, "name": "A lorebook"}',
        b'{"name": 5}',
        b'{"name": "M",}x',
        b"%PDF-1.7 not a card",
        b"\xff\xd8\xff\xe0 JFIF",
        SIGNATURE,
        picture(),
        picture(text_chunk(b"")),
        picture(text_chunk(b64({"nothing": 1}))),
        WHOLE[: WHOLE.index(b"chara") + 40],
        WHOLE[:20],
        webp(b"nothing"),
        b"RIFF\0\0\0\0WEBP",
        archive({"readme.txt": b"hi"}),
        archive({"card.json": b"[]"}),
        archive({"manifest.json": b"{}"}),
        archive({"manifest.json": b'{"characters": ["../../etc/passwd"]}'}),
        charx(V1)[:100],
    ],
)
def test_what_holds_no_card_is_refused_with_one_sentence(source: bytes) -> None:
    """Whatever it is."""
    refused(source)


def test_the_sentence_says_what_is_wrong(tmp_path: Path) -> None:
    """With the file's name, where there is one."""
    missing, folder, cut = tmp_path / "none.png", tmp_path, tmp_path / "cut.png"
    cut.write_bytes(WHOLE[:60])

    assert "no such file" in refused(missing)
    assert "none.png" in refused(str(missing))
    assert "folder" in refused(folder)
    assert "cut.png" in refused(cut)
    assert "cut short" in refused(cut)
    assert "no such file" in refused("hello")
    assert "import lorebook" in refused(b'{"entries": {}, "name": "A lorebook"}')
    assert "preset import" in refused(b'{"prompts": []}')
    assert "no file" in refused(Path(os.devnull))
    assert "empty" in refused(b"\0\r\n")
    assert refused("a\0b")
    assert refused("x" * 5000)


def test_an_encrypted_card_is_named_as_such() -> None:
    """There is nothing to mend."""
    assert "encrypted" in refused(picture(text_chunk(b"rcc||abc")))


def test_a_bomb_in_a_chunk_is_not_unpacked() -> None:
    """Only as far as a card goes."""
    bomb = zlib.compress(b"A" * (40 * 1024 * 1024))

    assert "16 MB" in refused(picture(chunk(b"zTXt", b"chara\0\0" + bomb)))


def test_a_picture_is_never_drawn() -> None:
    """One that claims to be immense costs nothing."""
    huge = SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", 2**31 - 1, 2**31 - 1, 8, 2, 0, 0, 0))

    assert load_card(huge + text_chunk(b64(V1)) + chunk(b"IEND", b"")).name == "Mira"


def test_zip_bombs_are_refused() -> None:
    """Large members, too many members, and a directory that claims too much."""
    large = archive({"card.json": b" " * (MAX_TEXT_BYTES + 1)})
    many = archive({f"{number}.txt": b"" for number in range(2_100)} | {"card.json": json.dumps(V1).encode()})

    assert "16 MB" in refused(large)
    assert "2000 files" in refused(many)
    assert refused(many + many)


def test_members_that_climb_are_never_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of an archive is written anywhere."""
    monkeypatch.chdir(tmp_path)
    card = load_card(charx(V1, **{"../../evil.png": b"x", "/etc/evil": b"y"}))

    assert card.name == "Mira"
    assert list(tmp_path.iterdir()) == []


def test_a_locked_member_is_refused() -> None:
    """As is packing that cards do not use."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as made:
        made.writestr("card.json", json.dumps(V1))

    assert "encrypted or packed" in refused(out.getvalue())


@pytest.mark.parametrize("depth", [300, 10_000, 200_000])
def test_deep_json_is_refused(depth: int) -> None:
    """In objects and in lists, bare and in a picture."""
    text = '{"name": "M", "x": ' + "[" * depth + "]" * depth + "}"

    assert "nested" in refused(text)
    assert "nested" in refused(picture(text_chunk(text.encode())))
    assert "nested" in refused('{"name":"M","x":' + '{"a":' * depth + "1" + "}" * (depth + 1))


@pytest.mark.parametrize("depth", [1_000, 100_000])
def test_deep_yaml_is_refused(depth: int) -> None:
    """Whatever reads it."""
    refused(b"context: M\nx: " + b"[" * depth)
    refused(b"context: M\nx: " + b"[" * depth + b"]" * depth)
    refused(b"\n".join(b" " * level + b"a:" for level in range(min(depth, 1_000))))


def test_yaml_bombs_stay_small() -> None:
    """Text that repeats itself by alias is no card."""
    laughs = "context: M\na1: &a1 [x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(2, 30)
    )
    merged = "context: M\nm0: &m0 {a: 1}\n" + "".join(
        f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}]}}\n" for n in range(1, 12)
    )

    refused(laughs.encode())
    refused(merged.encode())
    refused(b"context: &a [*a]")


def test_yaml_builds_nothing_but_plain_values() -> None:
    """No objects, no dates that fail."""
    refused(b"!!python/object/apply:os.system ['true']")
    assert load_card(b"name: M\ncontext: 2020-13-45\nx: 2020-02-31\n").description == "2020-13-45"


def test_half_characters_are_mended() -> None:
    """So that every text can be written."""
    card = load_card('{"name": "M\\ud800", "tags": ["\\udfff"], "description": "\\ud83d\\ude00"}')

    assert (card.name, card.tags, card.description) == ("M\ufffd", ["\ufffd"], "😀")


def test_numbers_json_has_no_word_for_are_null() -> None:
    """So that what is exported is JSON."""
    card = load_card('{"name": "M", "extensions": {"a": NaN, "b": 1e999, "c": -Infinity, "d": 1.5}}')

    assert card.extras["extensions"] == {"a": None, "b": None, "c": None, "d": 1.5}
    refused('{"name": "M", "n": ' + "9" * 5_000 + "}")


@pytest.mark.slow
def test_a_file_of_fifty_megabytes_is_read_and_a_larger_one_refused(tmp_path: Path) -> None:
    """In bounded time either way."""
    noise = chunk(b"IDAT", bytes(50 * 1024 * 1024))
    large = tmp_path / "large.png"
    with large.open("wb") as stream:
        stream.truncate(MAX_FILE_BYTES + 1)
    began = time.process_time()

    assert load_card(picture(text_chunk(b64(V1)), before=noise)).name == "Mira"
    assert "64 MB" in refused(large)
    assert "16 MB" in refused('{"name": "' + "x" * MAX_TEXT_BYTES + '"}')
    assert "48 MB" in refused(b'{"name": "' + b"x" * 3 * MAX_TEXT_BYTES + b'"}')
    assert "not a card file" in refused(b"x" * 3 * MAX_TEXT_BYTES)
    assert time.process_time() - began < 3 * MOST_SECONDS


def test_a_picture_of_countless_chunks_is_not_read_to_its_end() -> None:
    """Twelve bytes each."""
    assert "100,000 pieces" in refused(picture(*[chunk(b"xxXx", b"")] * 400_000))


SEEDS = (
    WHOLE,
    card_picture(V1, "ccv3"),
    charx(V2),
    webp(json.dumps(V1).encode()),
    json.dumps(V2).encode(),
    b"name: M\ncontext: |\n  words\n",
    b"Name: M\nPersonality: p\n",
)


@given(st.binary(max_size=300))
@settings(max_examples=at_least(100), deadline=None)
@example(b"PK\x05\x06" + bytes(18) + b"PK\x03\x04")
@example(b"II*\0")
def test_any_bytes_are_a_card_or_refused(data: bytes) -> None:
    """Nothing else is ever raised, whatever container they claim to be."""
    for head in (b"", SIGNATURE, b"RIFF\0\0\0\0WEBP", b"PK\x03\x04", b"{", b"name: "):
        _takes(head + data)


@pytest.mark.slow
@given(st.sampled_from(SEEDS), st.integers(0, 4_000), st.binary(max_size=12), st.integers(0, 12))
@settings(max_examples=at_least(100), deadline=None)
def test_any_damage_leaves_a_card_or_is_refused(seed: bytes, at: int, patch: bytes, removed: int) -> None:
    """Bytes changed, put in and taken out."""
    place = at % len(seed)
    _takes(seed[:place] + patch + seed[place + removed :])


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["name", "data", "spec", "tags", "extensions", "depth_prompt", "prompt", "x"]), inner
            )
        ),
        max_leaves=12,
    )
)
@settings(max_examples=at_least(100), deadline=None)
def test_any_json_is_a_card_or_refused(value: object) -> None:
    """Whatever stands where."""
    _takes(json.dumps({"name": "M", "data": value}).encode())
    _takes(json.dumps(value).encode())


def _takes(data: bytes) -> None:
    began = time.process_time()
    try:
        card = load_card(data)
    except CharacterCardError:
        pass
    else:
        json.dumps(card.extras, allow_nan=False).encode("utf-8")
        assert card.to_card_fields().name == card.name
        assert (card.tags, card.character_book, card.description) is not None
    assert time.process_time() - began < MOST_SECONDS
