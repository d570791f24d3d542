"""A card's texts as the files of `self/`, one per field, and the rest kept for export.

All of it is checked before anything is written: a card that is refused leaves nothing behind. The same card again
changes nothing. What an earlier card or an owner had written stays recoverable through the store's audit.
"""

from __future__ import annotations

import json

from familiar_connect.bootstrap.cards import CARD_FIELDS, CharacterCard
from familiar_connect.errors import CharacterUnpackError, MemoryStoreError
from familiar_connect.memory.store import MAX_BINARY_BYTES, MemoryStore
from familiar_connect.presets.greetings import join_greetings

__all__ = ["EXTRAS_PATH", "ORIGINAL_STEM", "SOURCE", "CharacterUnpackError", "unpack_character"]

SOURCE = "character_card_unpacker"
EXTRAS_PATH = "self/.card.json"
ORIGINAL_STEM = "self/.original"
ORIGINAL_SUFFIXES = (".png", ".webp", ".charx", ".byaf", ".json", ".yaml", ".txt")
SHOWN_FIELDS = ("alternate_greetings", "depth_prompt", "tags", "nickname")
"""Extras that get a file too, for their owner to read and change."""


def unpack_character(
    store: MemoryStore,
    card: CharacterCard,
    *,
    overwrite: bool = False,
    original: bytes | None = None,
    original_suffix: str = ".png",
) -> list[str]:
    """Write *card* to `self/`; the paths of the nine fields that were written, in card order.

    With *original*, the bytes of the card file are kept as `self/.original` and its suffix. Different content that is
    there already is a `CharacterUnpackError` unless *overwrite* is set; then only what differs is written, and the
    file of a field the card leaves empty is removed.
    """
    wanted = _files_to_write(card, original, original_suffix)
    standing = {path: _existing_bytes(store, path) for path in wanted}
    _check(store, wanted, standing, overwrite=overwrite)
    for path, data in wanted.items():
        if data == standing[path]:
            continue
        if data is not None:
            _write(store, path, data)
        elif overwrite:
            store.delete_file(path, source=SOURCE)
    paths = [f"self/{field}.md" for field in CARD_FIELDS]
    return [path for path in paths if wanted[path] is not None and wanted[path] != standing[path]]


def _files_to_write(card: CharacterCard, original: bytes | None, suffix: str) -> dict[str, bytes | None]:
    """Every file of `self/` that this card writes, with its content; None: the file is removed."""
    texts: dict[str, str] = {f"self/{field}.md": getattr(card, field) for field in CARD_FIELDS}
    note = card.depth_prompt
    shown = (join_greetings(card.alternate_greetings), note.prompt if note else "", "\n".join(card.tags), card.nickname)
    texts |= {f"self/{field}.md": text for field, text in zip(SHOWN_FIELDS, shown, strict=True)}
    texts[EXTRAS_PATH] = json.dumps(card.extras, ensure_ascii=False, indent=2) + "\n" if card.extras else ""
    wanted = {path: _encoded(path, text) if text else None for path, text in texts.items()}
    if original is not None:
        wanted |= {f"{ORIGINAL_STEM}{each}": None for each in ORIGINAL_SUFFIXES}
        wanted[f"{ORIGINAL_STEM}{suffix}"] = original
    return wanted


def _encoded(path: str, text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise CharacterUnpackError(
            f"the text for {path} holds half a character (a lone surrogate); fix the card"
        ) from None


def _existing_bytes(store: MemoryStore, path: str) -> bytes | None:
    try:
        return store.bytes_if_present(path)
    except MemoryStoreError as error:
        raise CharacterUnpackError(f"{path} cannot be compared with the card: {error}") from None


def _check(
    store: MemoryStore, wanted: dict[str, bytes | None], standing: dict[str, bytes | None], *, overwrite: bool
) -> None:
    """Check everything before the first write."""
    for path, data in wanted.items():
        cap = MAX_BINARY_BYTES if _is_kept_aside(path) else store.limits.max_file_bytes
        if data is not None and len(data) > cap:
            raise CharacterUnpackError(
                f"{path} would be {len(data):,} bytes, more than the {cap:,} a memory file may have;"
                " shorten it in the card"
            )
    fields = {f"self/{field}.md" for field in CARD_FIELDS}
    differing = [
        path
        for path, old in standing.items()
        if old is not None
        and old != wanted[path]
        and (wanted[path] is not None or path in fields or path.startswith(ORIGINAL_STEM))
    ]
    if differing and not overwrite:
        raise CharacterUnpackError(
            f"another character is here already ({', '.join(differing)} differ{'s' if len(differing) == 1 else ''});"
            " nothing was changed. Overwrite it with --overwrite, and what is there now stays in the memory's versions;"
            " or give the new one an ID of its own: `familiar init ID --from-card FILE`"
        )


def _is_kept_aside(path: str) -> bool:
    return path == EXTRAS_PATH or path.startswith(ORIGINAL_STEM)


def _write(store: MemoryStore, path: str, data: bytes) -> None:
    if _is_kept_aside(path):
        store.write_bytes(path, data, source=SOURCE)
    else:
        store.write_file(path, data.decode("utf-8"), source=SOURCE)
