"""Export a familiar's `self/` as a card that SillyTavern reads.

The owner's files win over what the card once said; everything the card held besides comes back as it was.
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any, Literal

from familiar_connect.bootstrap.card_files.archives import main_picture
from familiar_connect.bootstrap.card_files.card_fields import v3_payload
from familiar_connect.bootstrap.card_files.png import plain_picture, png_card
from familiar_connect.bootstrap.cards import CARD_FIELDS, CharacterCard
from familiar_connect.bootstrap.lorebook_files.books import Book, read_book
from familiar_connect.bootstrap.lorebook_files.formats import NATIVE, to_world_info, with_world_info
from familiar_connect.bootstrap.unpack_character import EXTRAS_PATH, ORIGINAL_STEM
from familiar_connect.errors import CharacterCardError, LorebookImportError, MemoryStoreError
from familiar_connect.memory.lorebooks.book_shelf import with_edits
from familiar_connect.memory.lorebooks.entry_markdown import FileNames, entry_title
from familiar_connect.memory.lorebooks.import_record import PREFIX, ImportRecord, records_in
from familiar_connect.memory.store import MemoryStore
from familiar_connect.presets.greetings import join_greetings, split_greetings
from familiar_connect.support.pictures import is_whole

CardFormat = Literal["png", "json", "charx"]

LORE = "lore/imported"
ICON_PATH = "assets/icon/image/main.png"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Fixed timestamp of archive members, so that the same character gives the same bytes."""


def export_card(store: MemoryStore, familiar_id: str, form: CardFormat = "png") -> bytes:
    """The card of the familiar whose memory is *store*."""
    card = current_card(store, familiar_id)
    payload = v3_payload({field: getattr(card, field) for field in CARD_FIELDS}, card.extras)
    if form == "json":
        return (json.dumps(payload, ensure_ascii=False, indent=4) + "\n").encode("utf-8")
    picture = _picture(store, card)
    return png_card(picture, payload) if form == "png" else _charx(picture or plain_picture(), payload)


def current_card(store: MemoryStore, familiar_id: str) -> CharacterCard:
    """The character as its files have it now."""
    texts = {field: store.read_if_present(f"self/{field}.md") or "" for field in CARD_FIELDS}
    texts["name"] = texts["name"].strip() or familiar_id
    before = CharacterCard(**texts, extras=_stored_extras(store))
    return CharacterCard(**texts, extras=_with_edits(store, before))


def _stored_extras(store: MemoryStore) -> dict[str, object]:
    data = store.bytes_if_present(EXTRAS_PATH)
    try:
        extras = json.loads(data) if data is not None else {}
    except (ValueError, RecursionError):
        extras = None
    if not isinstance(extras, dict):
        raise CharacterCardError(
            f"{EXTRAS_PATH}, which keeps the rest of the card, is damaged; put an earlier version back with "
            "`familiar memory restore`, or delete it to export without it"
        )
    return extras


def _with_edits(store: MemoryStore, card: CharacterCard) -> dict[str, object]:
    """The extras, with what the owner changed in the files that show them."""
    extras = dict(card.extras)
    greetings = store.read_if_present("self/alternate_greetings.md") or ""
    if greetings != join_greetings(card.alternate_greetings):
        extras["alternate_greetings"] = list(split_greetings(greetings))
    tags = store.read_if_present("self/tags.md") or ""
    if tags != "\n".join(card.tags):
        extras["tags"] = [line.strip() for line in tags.splitlines() if line.strip()]
    nickname = store.read_if_present("self/nickname.md") or ""
    if nickname != card.nickname:
        extras["nickname"] = nickname.strip()
    note = store.read_if_present("self/depth_prompt.md") or ""
    if note != (card.depth_prompt.prompt if card.depth_prompt else ""):
        extensions = _object(extras.get("extensions"))
        placed = {"depth": 4, "role": "system", **_object(extensions.get("depth_prompt")), "prompt": note}
        extras["extensions"] = {**extensions, "depth_prompt": placed}
    if card.character_book is not None:
        extras["character_book"] = _book_with_edits(store, card.character_book)
    return extras


def _book_with_edits(store: MemoryStore, raw_book: dict[str, Any]) -> dict[str, Any]:
    """The card's lorebook with what the owner changed; entries whose file was deleted are gone."""
    try:
        book = read_book(raw_book)
        record = next((each for each in _records(store) if each.name == book.name), None)
        files = _files(book) if record is None else {}
    except (LorebookImportError, MemoryStoreError):
        return raw_book
    named = files.values() if record is None else [kept.file for kept in record.entries if kept.file is not None]
    texts = {name: store.read_if_present(f"{LORE}/{name}") for name in set(named)}
    if named and not any(text is not None for text in texts.values()):
        return raw_book  # it was never taken in
    kept = _entries_of_record(book, record, texts) if record is not None else _entries_of_files(book, files, texts)
    entries = kept if isinstance(raw_book["entries"], dict) else list(kept.values())
    return {**raw_book, "entries": entries}


def _entries_of_files(book: Book, files: dict[str, str], texts: dict[str, str | None]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for index, (key, raw) in enumerate(book.entries):
        text = texts[files[key]] if key in files else ""
        if text is not None:
            kept[key] = _entry_with_edits(book, raw, index, text) if text else raw
    return kept


def _entries_of_record(book: Book, record: ImportRecord, texts: dict[str, str | None]) -> dict[str, Any]:
    """The entries as the record and the files have them now; those that a form added come last."""
    now: dict[str, dict[str, Any]] = {}
    for each in record.entries:
        text = texts[each.file] if each.file is not None else ""
        if text is not None:
            now[each.key] = with_edits(each.entry, text) if text else each.entry
    made: dict[str, Any] = {}
    for index, (key, raw) in enumerate(book.entries):
        if not isinstance(raw, dict) or not isinstance(raw.get(book.format_of(raw).content), str):
            made[key] = raw  # it never could be taken in
        elif key in now:
            before = to_world_info(book.format_of(raw), raw, index)
            changes = {name: value for name, value in now[key].items() if before.get(name) != value}
            made[key] = _changed(book, raw, changes)
    added = {key: entry for key, entry in now.items() if key not in dict(book.entries)}
    return made | {key: with_world_info({"enabled": True}, entry) for key, entry in added.items()}


def _changed(book: Book, raw: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    if not changes:
        return raw
    return {**raw, **changes} if book.format_of(raw) is NATIVE else with_world_info(raw, changes)


def _files(book: Book) -> dict[str, str]:
    """Key of an entry → the file it was given."""
    names, files = FileNames(), {}
    for index, (key, raw) in enumerate(book.entries):
        if isinstance(raw, dict) and isinstance(raw.get("content"), str):
            entry = to_world_info(book.format_of(raw), raw, index)
            if not entry.get("disable"):
                files[key] = names.take(entry_title(entry))
    return files


def _records(store: MemoryStore) -> list[ImportRecord]:
    return records_in(store, LORE) if store.glob(f"{LORE}/*.md") or store.glob(f"{LORE}/{PREFIX}*") else []


def _entry_with_edits(book: Book, raw: dict[str, Any], index: int, text: str) -> dict[str, Any]:
    before = to_world_info(book.format_of(raw), raw, index)
    after = with_edits(before, text)
    keys = "keys" if "keys" in raw else "key"
    words = {"comment": "comment", "key": keys, "content": "content"}
    return {**raw, **{words[name]: after[name] for name in words if after.get(name) != before.get(name)}}


def _picture(store: MemoryStore, card: CharacterCard) -> bytes | None:
    """The character's own picture, where it is a whole PNG."""
    picture = store.bytes_if_present(f"{ORIGINAL_STEM}.png")
    if picture is None:
        archive = store.bytes_if_present(f"{ORIGINAL_STEM}.charx")
        picture = main_picture(archive, card.extras.get("assets")) if archive is not None else None
    return picture if picture is not None and is_whole(picture) else None


def _charx(picture: bytes, payload: dict[str, Any]) -> bytes:
    """An archive of the card and its picture."""
    assets = payload["data"].get("assets")
    others = [each for each in assets if not _is_in_archive(each)] if isinstance(assets, list) else []
    icon = {"type": "icon", "uri": f"embeded://{ICON_PATH}", "name": "main", "ext": "png"}
    card = {**payload, "data": {**payload["data"], "assets": [icon, *others]}}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("card.json", _EPOCH), json.dumps(card, ensure_ascii=False, indent=2))
        archive.writestr(zipfile.ZipInfo(ICON_PATH, _EPOCH), picture)
    return out.getvalue()


def _is_in_archive(asset: object) -> bool:
    uri = asset.get("uri") if isinstance(asset, dict) else None
    return isinstance(uri, str) and uri.lower().startswith(("embeded://", "embedded://", "__asset:", "ccdefault:"))


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
