"""Make a familiar from a card: folder, settings, character and lore, all or nothing.

The card is read to its end before anything is made. A familiar that is there already is changed only where the card
says something else, and only when asked to; its earlier texts stay in the memory's versions.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from familiar_connect.bootstrap.card_files.archives import main_picture, read_assets
from familiar_connect.bootstrap.card_files.read_payload import SUFFIXES, CardKind, Payload
from familiar_connect.bootstrap.cards import CARD_FIELDS, CharacterCard, read_card, read_card_bytes
from familiar_connect.bootstrap.child_reader import read_in_child
from familiar_connect.bootstrap.import_silly_tavern import BookCounts, count_entries, import_book
from familiar_connect.bootstrap.lorebook_files.books import read_book
from familiar_connect.bootstrap.starter import new_familiar_root
from familiar_connect.bootstrap.unpack_character import unpack_character
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.home import is_valid_familiar_id
from familiar_connect.config.reference import starter_toml
from familiar_connect.errors import CharacterCardError, LorebookImportError
from familiar_connect.memory.store import MAX_BINARY_BYTES, MemoryStore
from familiar_connect.support.files import atomic_write, is_stale, is_temporary, temporary_name
from familiar_connect.support.name_forms import romanize
from familiar_connect.support.pictures import ENDINGS, check_picture, plain_stem
from familiar_connect.support.text import printable, to_slug

FALLBACK_ID = "familiar"
_MOST_ID = 40
_PICTURE_ENDING = re.compile(r"\.(?:png|jpe?g|webp)$", re.IGNORECASE)


@dataclass(frozen=True)
class CardFile:
    """A card file, read to its end."""

    path: Path
    kind: CardKind
    data: bytes
    card: CharacterCard


@dataclass
class CardImportResult:
    """Result of importing a card."""

    root: Path
    is_new: bool
    written: list[str] = field(default_factory=list)
    """Files of `self/` that were written."""
    lore: int = 0
    """Lore files written."""
    lore_there: int = 0
    """Lore files that stood there already and were left alone."""
    counts: BookCounts | None = None
    """The entries of the lorebook inside, in numbers."""
    left_out: list[str] = field(default_factory=list)
    """A sentence for everything of the card that was not taken."""


def read_card_file(path: Path) -> CardFile:
    """The card at *path*, read by a child process, or a sentence that says why there is none."""
    data = read_card_bytes(path)
    shown = printable(str(path))
    answer = read_in_child("card", data, shown=shown, error=CharacterCardError)
    if "raw" not in answer:
        raise CharacterCardError(f"{shown}: {answer.get('problem', 'the card cannot be read')}")
    payload = Payload(answer["kind"], answer["raw"])
    card = read_card(payload)
    if not any(getattr(card, each).strip() for each in CARD_FIELDS):
        raise CharacterCardError(f"{shown}: every text of this card is empty, so there is no character in it")
    return CardFile(path, payload.kind, data, card)


def familiar_id_for(card: CharacterCard, path: Path) -> str:
    """A folder name from the character's name, else from the file's."""
    return id_from_words(card.name, path.stem)


def id_from_words(*candidates: str) -> str:
    """A folder name from the first of *candidates* that gives one."""
    for words in candidates:
        slug = to_slug(romanize(words), _MOST_ID)
        if slug and is_valid_familiar_id(slug):
            return slug
    return FALLBACK_ID


def make_from_card(
    home: Path, familiar_id: str, source: CardFile, *, overwrite: bool = False, user_name: str | None = None
) -> CardImportResult:
    """The familiar *familiar_id* with the character of *source*."""
    root = new_familiar_root(home, familiar_id)
    if root.exists():
        return _unpack(root, source, CardImportResult(root, is_new=False), overwrite=overwrite)
    _remove_leftovers(root.parent)
    made = root.with_name(f".{temporary_name()}")
    try:
        atomic_write(FamiliarFolder(made).settings_file, starter_toml(user_name=user_name))
        outcome = _unpack(made, source, CardImportResult(root, is_new=True), overwrite=False)
        if rename_into_place(made, root):
            return outcome
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    shutil.rmtree(made, ignore_errors=True)
    return _unpack(root, source, CardImportResult(root, is_new=False), overwrite=overwrite)


def rename_into_place(made: Path, root: Path) -> bool:
    """Give *made* its name; False when somebody else made a familiar of that name meanwhile."""
    try:
        made.rename(root)
    except OSError:
        if not root.exists():
            raise
        return False
    return True


def _remove_leftovers(familiars: Path) -> None:
    """Remove what a killed `make_from_card` left half-made."""
    with contextlib.suppress(OSError):
        for each in familiars.iterdir():
            if is_temporary(each.name.removeprefix(".")) and is_stale(each.lstat().st_mtime):
                shutil.rmtree(each, ignore_errors=True)


def _unpack(place: Path, source: CardFile, outcome: CardImportResult, *, overwrite: bool) -> CardImportResult:
    """Character and lore of *source* into the familiar folder at *place*."""
    store = MemoryStore(FamiliarFolder(place).memory, audit_dir=FamiliarFolder(place).audit)
    try:
        original = source.data if len(source.data) <= MAX_BINARY_BYTES else None
        if original is None:
            outcome.left_out.append(f"the file itself is too large to keep ({len(source.data):,} bytes)")
        outcome.written += unpack_character(
            store, source.card, overwrite=overwrite, original=original, original_suffix=SUFFIXES[source.kind]
        )
        if source.card.character_book is not None:
            _import_lore(store, source.card.character_book, outcome, overwrite=overwrite)
        _keep_picture(place, source)
        _keep_assets(FamiliarFolder(place), source)
    finally:
        if store.audit is not None:
            store.audit.close()
    return outcome


def _keep_picture(place: Path, source: CardFile) -> None:
    """The picture in an archive as the familiar's own, unless it has one; a PNG is kept whole and shown as it is."""
    folder = FamiliarFolder(place)
    if source.kind != "charx" or any(folder.picture_file(ending).exists() for ending in ENDINGS.values()):
        return
    picture = check_picture(main_picture(source.data, source.card.extras.get("assets")) or b"")
    if picture is not None:
        atomic_write(folder.picture_file(ENDINGS[picture.kind]), picture.content)


def _keep_assets(folder: FamiliarFolder, source: CardFile) -> None:
    """The other pictures that a card brings along; what is there under the same name stays."""
    for asset in read_assets(source.data, source.card.extras.get("assets")):
        picture = check_picture(asset.content)
        is_face = asset.kind == "icon" and asset.name == "main"
        if picture is None or is_face:
            continue
        ending, stem = ENDINGS[picture.kind], plain_stem(_PICTURE_ENDING.sub("", asset.name))
        file = folder.background_file(ending)
        if asset.kind == "emotion":
            file = folder.expressions / f"{stem}{ending}"
        elif asset.kind != "background" or any(folder.background_file(each).exists() for each in ENDINGS.values()):
            file = folder.gallery / f"{stem}{ending}"
        if not file.exists():
            atomic_write(file, picture.content)


def _import_lore(store: MemoryStore, book: dict[str, object], outcome: CardImportResult, *, overwrite: bool) -> None:
    try:
        read = read_book(book)
        result = import_book(store, read, force=overwrite)
    except LorebookImportError as error:
        outcome.left_out.append(f"the lorebook inside: {error}")
        return
    outcome.counts = count_entries(read)
    outcome.lore, outcome.lore_there = len(result.written), len(result.skipped)
    outcome.left_out += result.errors
