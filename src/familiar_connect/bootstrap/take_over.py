"""take_over_character: a character of a SillyTavern installation, with its lorebook, moods, presets and quick replies.

Which file a familiar came from is kept in its folder, so that the same command later finds it again. Everything that
could not be taken is a sentence; the rest goes on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from familiar_connect.bootstrap.from_card import CardFile, familiar_id_for, make_from_card, read_card_file
from familiar_connect.bootstrap.import_preset import import_preset
from familiar_connect.bootstrap.import_silly_tavern import DEFAULT_TARGET, import_book
from familiar_connect.bootstrap.lorebook_files.books import read_book_file
from familiar_connect.bootstrap.silly_tavern_home import SillyTavernHome, read_picture_file
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.home import list_familiars
from familiar_connect.errors import CharacterUnpackError, FamiliarError
from familiar_connect.memory.store import MemoryStore
from familiar_connect.presets.scripts.quick_replies import QuickReplyStore, read_set_file
from familiar_connect.presets.store import PresetStore
from familiar_connect.support.files import atomic_write
from familiar_connect.support.no_follow import load_bytes
from familiar_connect.support.pictures import ENDINGS, check_picture, plain_stem

MAX_RECORD_BYTES = 10_000


@dataclass
class TakenCharacter:
    """What came of one card."""

    file: str
    familiar: str = ""
    """Empty: it could not be taken."""
    is_new: bool = False
    name: str = ""
    lore: int = 0
    moods: int = 0
    presets: int = 0
    quick_replies: int = 0
    world: str = ""
    """The lorebook it is linked to."""
    problems: list[str] = field(default_factory=list)


def take_over_character(home: Path, source: SillyTavernHome, card_path: Path) -> TakenCharacter:
    """The character of *card_path* as a familiar of *home*; chats are somebody else's to take."""
    taken = TakenCharacter(file=card_path.name)
    try:
        card = read_card_file(card_path)
    except FamiliarError as error:
        taken.problems.append(str(error))
        return taken
    _make(home, card, taken)
    if not taken.familiar:
        return taken
    folder = HomeFolder(home).familiar(taken.familiar)
    taken.name = card.card.name or card_path.stem
    taken.moods = _take_moods(folder, source, card_path.stem)
    _take_world(folder, source, card, taken)
    _take_presets(folder, source, taken)
    _take_quick_replies(folder, source, taken)
    _take_background(folder, source)
    return taken


def read_origin(folder: FamiliarFolder) -> dict[str, Any]:
    """Which file of SillyTavern's a familiar came from; empty: none."""
    try:
        found = json.loads(load_bytes(folder.sillytavern_file, MAX_RECORD_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _make(home: Path, card: CardFile, taken: TakenCharacter) -> None:
    """Make the familiar, or find the one that was made of the same file."""
    known = next(
        (each for each in list_familiars(home) if read_origin(_folder(home, each)).get("file") == card.path.name), None
    )
    first = known or familiar_id_for(card.card, card.path)
    for number in count(1):
        wanted = first if number == 1 else f"{first}-{number}"
        origin = read_origin(_folder(home, wanted)).get("file")
        if origin is not None and origin != card.path.name:
            continue
        try:
            made = make_from_card(home, wanted, card)
        except CharacterUnpackError:
            if known is None:
                continue
            taken.familiar = wanted
            taken.problems.append(
                f"{card.path}: differs from what {wanted} is here; "
                f"`familiar init {wanted} --from-card FILE --overwrite` takes it over"
            )
            return
        except FamiliarError as error:
            taken.problems.append(str(error))
            return
        taken.familiar, taken.is_new, taken.lore = wanted, made.is_new, made.lore
        taken.problems += [f"{card.path}: {each}" for each in made.left_out]
        atomic_write(_folder(home, wanted).sillytavern_file, json.dumps({"file": card.path.name}) + "\n")
        return


def _folder(home: Path, familiar_id: str) -> FamiliarFolder:
    return HomeFolder(home).familiar(familiar_id)


def _take_moods(folder: FamiliarFolder, source: SillyTavernHome, stem: str) -> int:
    """Pictures of moods that are not there yet; how many."""
    taken = 0
    for path in source.sprites_of(stem):
        picture = check_picture(read_picture_file(path))
        if picture is None:
            continue
        target = folder.expressions / f"{plain_stem(path.stem)}{ENDINGS[picture.kind]}"
        if not target.exists():
            atomic_write(target, picture.content)
            taken += 1
    return taken


def _take_world(folder: FamiliarFolder, source: SillyTavernHome, card: CardFile, taken: TakenCharacter) -> None:
    """The lorebook that the card is linked to, unless the card brought it along."""
    extensions = card.card.extras.get("extensions")
    linked = extensions.get("world") if isinstance(extensions, dict) else None
    path = source.worlds().get(linked) if isinstance(linked, str) else None
    if path is None:
        return
    taken.world = path.stem
    if card.card.character_book is not None:
        return
    store = MemoryStore(folder.memory, audit_dir=folder.audit)
    try:
        result = import_book(store, read_book_file(path), target_dir=DEFAULT_TARGET)
        taken.lore += len(result.written)
        taken.problems += result.errors
    except FamiliarError as error:
        taken.problems.append(str(error))
    finally:
        if store.audit is not None:
            store.audit.close()


def _take_presets(folder: FamiliarFolder, source: SillyTavernHome, taken: TakenCharacter) -> None:
    """Every preset that is not there yet; none is put in force."""
    store = PresetStore(folder.presets)
    there = {each.casefold() for each in store.names()}
    active = store.active()
    for path in source.presets():
        if path.stem.casefold() in there:
            continue
        try:
            import_preset(path, folder.root)
            taken.presets += 1
        except FamiliarError as error:
            taken.problems.append(str(error))
    if taken.presets:
        if active is None:
            store.use_none()
        else:
            store.use(active)


def _take_quick_replies(folder: FamiliarFolder, source: SillyTavernHome, taken: TakenCharacter) -> None:
    store = QuickReplyStore(folder.quick_replies)
    there = set(store.names())
    for path in source.quick_replies():
        if path.stem in there:
            continue
        try:
            store.add(read_set_file(path), path.stem)
            taken.quick_replies += 1
        except FamiliarError as error:
            taken.problems.append(str(error))


def _take_background(folder: FamiliarFolder, source: SillyTavernHome) -> None:
    """What stands behind every chat, unless the familiar has a picture for that."""
    path = source.background()
    if path is None or any(folder.background_file(ending).exists() for ending in ENDINGS.values()):
        return
    picture = check_picture(read_picture_file(path))
    if picture is not None:
        atomic_write(folder.background_file(ENDINGS[picture.kind]), picture.content)
