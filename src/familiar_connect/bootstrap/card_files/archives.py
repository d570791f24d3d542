"""CHARX and Backyard archives: what of a ZIP makes a card.

Nothing is ever written from an archive: members are looked up by name and read into memory, each up to its cap.
"""

from __future__ import annotations

import base64
import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from familiar_connect.bootstrap.card_files.decode_json import MAX_MEMBERS, MAX_TEXT_BYTES, megabytes, payload_object
from familiar_connect.errors import CharacterCardError

FIRST_MEMBER = b"PK\x03\x04"
CARD_MEMBER, BACKYARD_MEMBER = "card.json", "manifest.json"

_END = b"PK\x05\x06"
_END_SIZE = 22
_FAR_END = b"PK\x06\x07"
_MOST_ENTRY_BYTES = 1024
_ASSET_URI = re.compile(r"(?:embed?ded://|__asset:)(?P<path>.+)", re.IGNORECASE)
_DATA_URI = re.compile(r"data:image/[a-z+.-]{1,20};base64,", re.IGNORECASE)
MOST_ASSETS, MOST_ASSET_BYTES = 300, 200 * 1024**2
_PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def is_zip(data: bytes) -> bool:
    """Whether *data* is an archive, or a picture or program with one behind it."""
    return data.startswith(FIRST_MEMBER) or (_END in data[-65_557:] and FIRST_MEMBER in data)


class CardArchive:
    """The members of one ZIP, by name. Read only; nothing is unpacked to disk."""

    def __init__(self, data: bytes) -> None:
        check_directory(data, most=MAX_MEMBERS)
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, UnicodeError, OSError):
            raise CharacterCardError("this archive is damaged or cut short; fetch it again") from None
        members = self._zip.infolist()
        if len(members) > MAX_MEMBERS:
            raise CharacterCardError(f"this archive holds more than {MAX_MEMBERS} files, more than a card may have")
        self._members = {member.filename: member for member in members if member.filename[-1:] not in ("", "/")}

    def find(self, name: str) -> str | None:
        """The member called *name*, in any case and folder, the outermost first."""
        if name in self._members:
            return name
        same = [each for each in self._members if each.replace("\\", "/").rsplit("/", 1)[-1].lower() == name.lower()]
        return min(same, key=lambda each: (each.count("/"), each), default=None)

    def read(self, name: str) -> bytes:
        """The bytes of the member *name*."""
        member = self._members.get(name)
        if member is None:
            raise CharacterCardError(f"this archive names a file it does not hold: {name[:80]!r}")
        if member.compress_type not in _PLAIN or member.flag_bits & 1:
            raise CharacterCardError(f"{name[:80]!r} in this archive is encrypted or packed in a way cards are not")
        try:
            with self._zip.open(member) as stream:
                data = stream.read(MAX_TEXT_BYTES + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, struct.error):
            raise CharacterCardError(f"{name[:80]!r} in this archive is damaged; fetch the card again") from None
        if len(data) > MAX_TEXT_BYTES:
            raise CharacterCardError(
                f"{name[:80]!r} in this archive unpacks to more than {megabytes(MAX_TEXT_BYTES)}, "
                "more than a card may have"
            )
        return data


def read_zip(data: bytes) -> tuple[Literal["charx", "byaf"], dict[str, object]]:
    """Kind (`charx` or `byaf`) and payload of the card in an archive."""
    archive = CardArchive(data)
    card = archive.find(CARD_MEMBER)
    if card is not None:
        return "charx", payload_object(archive.read(card))
    manifest = archive.find(BACKYARD_MEMBER)
    if manifest is not None:
        return "byaf", _backyard(archive, payload_object(archive.read(manifest)))
    raise CharacterCardError("this archive is not a character: it holds no card.json")


def main_picture(data: bytes, assets: Any) -> bytes | None:
    """The character's picture in a CHARX: the icon called `main`, else the first icon, if it is in the archive."""
    icons = [each for each in assets if isinstance(each, dict) and each.get("type") == "icon"] if assets else []
    icons.sort(key=lambda icon: icon.get("name") != "main")
    try:
        archive = CardArchive(data)
        for icon in icons:
            uri = _ASSET_URI.fullmatch(str(icon.get("uri", "")))
            if uri is not None:
                return archive.read(uri["path"].lstrip("/"))
    except CharacterCardError:
        return None
    return None


@dataclass(frozen=True)
class CardPicture:
    """A file among a card's assets; whether it is a picture is for the reader to find out."""

    kind: str
    """As the card says: `icon`, `emotion`, `background` or a word of its own."""
    name: str
    content: bytes


def read_assets(data: bytes, assets: Any) -> Iterator[CardPicture]:
    """The files that a card brings along: those in its archive, and those written into it."""
    listed = [each for each in assets if isinstance(each, dict)][:MOST_ASSETS] if isinstance(assets, list) else []
    try:
        archive = CardArchive(data) if is_zip(data) else None
    except CharacterCardError:
        archive = None
    left = MOST_ASSET_BYTES
    for each in listed:
        content = _read_asset(archive, str(each.get("uri", "")))
        left -= len(content)
        if left < 0:
            return
        if content:
            yield CardPicture(str(each.get("type", "")), str(each.get("name", "")), content)


def _read_asset(archive: CardArchive | None, uri: str) -> bytes:
    inside, written = _ASSET_URI.fullmatch(uri), _DATA_URI.match(uri)
    try:
        if inside is not None and archive is not None:
            return archive.read(inside["path"].lstrip("/"))
        return base64.b64decode(uri[written.end() :], validate=True) if written is not None else b""
    except (CharacterCardError, ValueError):
        return b""


def check_directory(data: bytes, *, most: int) -> None:
    """Refuse a list of more than about *most* members, before it is read."""
    end = data.rfind(_END, max(0, len(data) - 65_557))
    if end < 0 or end + _END_SIZE > len(data):
        raise CharacterCardError("this archive is cut short; fetch it again")
    (size,) = struct.unpack_from("<I", data, end + 12)
    if size > most * _MOST_ENTRY_BYTES or data[max(0, end - 20) : end].startswith(_FAR_END):
        raise CharacterCardError(f"this archive holds more than {most} files, more than it may have")


def _backyard(archive: CardArchive, manifest: dict[str, object]) -> dict[str, object]:
    """A Backyard character and its first scenario as a card."""
    character = _first(archive, manifest, "characters")
    scenario = _first(archive, manifest, "scenarios")
    if character is None:
        raise CharacterCardError("this archive is not a character: its manifest names none")
    greetings = _spoken(scenario, "firstMessages")
    lore = [each for each in _list(character.get("loreItems")) if isinstance(each, dict)]
    data: dict[str, object] = {
        "name": character.get("displayName") or character.get("name") or "",
        "description": _names(character.get("persona")),
        "personality": "",
        "scenario": _names((scenario or {}).get("narrative")),
        "first_mes": greetings[0] if greetings else "",
        "mes_example": "\n".join(_spoken(scenario, "exampleMessages")),
        "system_prompt": _names((scenario or {}).get("formattingInstructions")),
        "alternate_greetings": greetings[1:],
        "extensions": {},
    }
    if lore:
        data["character_book"] = {"extensions": {}, "entries": [_lore(index, each) for index, each in enumerate(lore)]}
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}


def _first(archive: CardArchive, manifest: dict[str, object], kind: str) -> dict[str, object] | None:
    names = [name for name in _list(manifest.get(kind)) if isinstance(name, str)]
    return payload_object(archive.read(names[0].lstrip("/"))) if names else None


def _spoken(scenario: dict[str, object] | None, key: str) -> list[str]:
    lines = _list((scenario or {}).get(key))
    said = [_names(line.get("text") if isinstance(line, dict) else line) for line in lines]
    return [words for words in said if words]


def _lore(index: int, item: dict[str, object]) -> dict[str, object]:
    keys = [key.strip() for key in _names(item.get("key")).split(",") if key.strip()]
    return {
        "keys": keys,
        "content": _names(item.get("value")),
        "extensions": {},
        "enabled": True,
        "insertion_order": index,
    }


def _names(text: object) -> str:
    """Backyard's `{character}` and `{user}` as the card names."""
    if not isinstance(text, str):
        return ""
    return re.sub(
        r"(?<!\{)\{(character|user)\}(?!\})", lambda m: "{{char}}" if m[1] == "character" else "{{user}}", text
    )


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
