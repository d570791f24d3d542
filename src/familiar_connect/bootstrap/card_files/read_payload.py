"""Payload: the object a card file holds, and the kind of file it came in, recognised by its bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from familiar_connect.bootstrap.card_files import archives, png, webp
from familiar_connect.bootstrap.card_files.card_fields import has_text_field
from familiar_connect.bootstrap.card_files.decode_json import (
    MAX_FILE_BYTES,
    MAX_TEXT_BYTES,
    MAX_YAML_BYTES,
    decode_text,
    megabytes,
    payload_object,
    strip_margin,
)
from familiar_connect.bootstrap.card_files.text_cards import read_labelled, read_yaml
from familiar_connect.errors import CharacterCardError
from familiar_connect.support.pictures import SIGNATURE

CardKind = Literal["png", "webp", "charx", "byaf", "json", "yaml", "text"]

SUFFIXES: dict[CardKind, str] = {
    "png": ".png",
    "webp": ".webp",
    "charx": ".charx",
    "byaf": ".byaf",
    "json": ".json",
    "yaml": ".yaml",
    "text": ".txt",
}
NO_CARD_FILE = "this is not a card file: neither PNG, WEBP, CHARX, JSON, YAML nor text"
NO_CARD = "there is no character in it: not one of the fields a card has (name, description, personality, …)"

OTHER_FILES = {
    "entries": "this is a lorebook, not a card; import it with `familiar import lorebook FILE`",
    "prompts": "this is a preset, not a card; bring it in with `familiar preset import FILE`",
}
"""What a file is that has the key and no character."""


@dataclass(frozen=True)
class Payload:
    """A card as its file has it, before anything is made of it."""

    kind: CardKind
    raw: dict[str, object]


def read_payload(data: bytes) -> Payload:
    """The card in *data*; `CharacterCardError` when there is none."""
    if len(data) > MAX_FILE_BYTES:
        raise CharacterCardError(
            f"the file is {megabytes(len(data))}, more than the {megabytes(MAX_FILE_BYTES)} a card may have"
        )
    if not data.strip(b"\0\r\n\t "):
        raise CharacterCardError("the file is empty; fetch it again")
    if data.startswith(SIGNATURE):
        try:
            return Payload("png", _first_card(png.card_texts(data)))
        except CharacterCardError:
            if not archives.is_zip(data):  # an archive may stand behind its picture
                raise
    if webp.is_webp(data):
        return Payload("webp", _first_card(webp.card_texts(data)))
    if archives.is_zip(data):
        kind, raw = archives.read_zip(data)
        return Payload(kind, _checked(raw))
    if len(data) > MAX_TEXT_BYTES * 2:
        is_json = data.lstrip(b"\xef\xbb\xbf\r\n\t ").startswith(b"{")
        too_long = (
            f"the card's text is {megabytes(len(data))}, more than the {megabytes(MAX_TEXT_BYTES)} a card may have"
        )
        raise CharacterCardError(too_long if is_json else NO_CARD_FILE)
    return _from_text(strip_margin(decode_text(data)))


def _from_text(text: str) -> Payload:
    if text.startswith("{"):
        return Payload("json", _checked(payload_object(text)))
    if "\0" in text or text.count("\ufffd") > len(text) // 20:
        raise CharacterCardError(NO_CARD_FILE)
    if len(text) <= MAX_YAML_BYTES:
        mapping = read_yaml(text)
        if mapping is not None and has_text_field(mapping):
            return Payload("yaml", mapping)
        labelled = read_labelled(text)
        if labelled is not None and has_text_field(labelled):
            return Payload("text", labelled)
    try:
        return Payload("json", _checked(payload_object(text)))
    except CharacterCardError as error:
        if text.startswith(('"', "[")):
            raise
        raise CharacterCardError(NO_CARD) from error


def _first_card(texts: Iterable[bytes]) -> dict[str, object]:
    """The first of *texts* that is a card; where none is, the error of the first one."""
    trouble: CharacterCardError | None = None
    for text in texts:
        try:
            return _checked(payload_object(text))
        except CharacterCardError as error:
            trouble = trouble or error
    raise trouble or CharacterCardError(NO_CARD)


def _checked(raw: dict[str, object]) -> dict[str, object]:
    if not has_text_field(raw):
        raise CharacterCardError(next((words for key, words in OTHER_FILES.items() if key in raw), NO_CARD))
    return raw
