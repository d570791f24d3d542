"""Export: everything kept of one person, as a zip they can be given.

Their turns as JSON lines, their file, its earlier versions, and where other files speak of them. Rows are
read a thousand at a time, so the size of the history does not matter; the zip appears whole or not at all.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from familiar_connect.errors import FamiliarError, MemoryStoreError
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn
from familiar_connect.memory.maintenance.links import markdown_files
from familiar_connect.memory.maintenance.mentions import mentions_of
from familiar_connect.memory.maintenance.person_lookup import Person, files_of_person
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.provenance import Provenance
from familiar_connect.memory.versioning.versions import Versions
from familiar_connect.support.files import sync_folder, temporary_name

TURNS_AT_ONCE = 1_000


@dataclass(frozen=True, kw_only=True)
class PersonExport:
    """What the zip holds."""

    path: Path
    turns: int
    versions: int
    mentions: int


def export_person(
    person: Person,
    target: Path,
    *,
    familiar_id: str,
    history: HistoryStore,
    store: MemoryStore,
    provenance: Provenance | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> PersonExport:
    """Write everything kept of *person* to *target*, which must not exist; readable by its owner alone."""
    if target.exists():
        raise FamiliarError(f"{target} exists already: choose another name, or remove it first")
    if not target.parent.is_dir():
        raise FamiliarError(f"{target.parent} is not a folder: make it first, or choose another place with --to")
    temporary = target.parent / temporary_name()
    try:
        fd = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "w+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                progress("turns")
                ids = _put_turns(archive, person, familiar_id, history)
                progress("file and its versions")
                versions = _put_file(archive, person, store)
                progress("mentions in other files")
                mentions = _put_mentions(archive, person, store, provenance, ids)
                _put_json(archive, "person.json", _facts(person, familiar_id, len(ids), versions, mentions))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(target.parent)
    return PersonExport(path=target, turns=len(ids), versions=versions, mentions=mentions)


def _put_turns(archive: zipfile.ZipFile, person: Person, familiar_id: str, history: HistoryStore) -> set[int]:
    ids: set[int] = set()
    last = 0
    with archive.open("turns.jsonl", "w", force_zip64=True) as file:
        while turns := history.authors.turns_of(
            familiar_id=familiar_id, author=person.author, after_id=last, limit=TURNS_AT_ONCE
        ):
            for turn in turns:
                file.write(json.dumps(_turn(turn), ensure_ascii=False).encode("utf-8", "replace") + b"\n")
                ids.add(turn.id)
            last = turns[-1].id
    return ids


def _put_file(archive: zipfile.ZipFile, person: Person, store: MemoryStore) -> int:
    for path in files_of_person(person, markdown_files(store)):
        archive.writestr(path, store.read_bytes(path))
    if store.audit is None:
        return 0
    versions = Versions(store.audit)
    log = []
    for version in versions.log(person.file):
        entry = version.entry
        facts: dict[str, Any] = {
            "version": version.number,
            "time": entry.timestamp.isoformat(),
            "source": entry.source,
            "run": entry.run_id,
            "turns": entry.turn_range,
            "operation": entry.operation,
        }
        if version.content_hash is not None:
            facts["file"] = f"versions/{version.number:04d}.md"
            try:
                archive.writestr(facts["file"], store.audit.read(version.content_hash))
            except MemoryStoreError as error:
                facts["file"], facts["problem"] = None, str(error)
        log.append(facts)
    _put_json(archive, "versions/log.json", log)
    return len(log)


def _put_mentions(
    archive: zipfile.ZipFile, person: Person, store: MemoryStore, provenance: Provenance | None, turns: set[int]
) -> int:
    own = files_of_person(person, markdown_files(store))
    found = mentions_of(person.author, store=store, provenance=provenance, turns=turns, but=set(own))
    count = 0
    with archive.open("mentions.jsonl", "w") as file:
        for mention in found:
            facts = {"file": mention.rel_path, "heading": mention.part.heading, "text": mention.part.text}
            file.write(json.dumps(facts, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            count += 1
    return count


def _put_json(archive: zipfile.ZipFile, name: str, plain: object) -> None:
    archive.writestr(name, json.dumps(plain, ensure_ascii=False, indent=2) + "\n")


def _facts(person: Person, familiar_id: str, turns: int, versions: int, mentions: int) -> dict[str, object]:
    return {
        "familiar": familiar_id,
        "platform": person.author.platform,
        "user_id": person.author.user_id,
        "names": person.names,
        "people_file": person.file,
        "turns": turns,
        "versions": versions,
        "mentions": mentions,
    }


def _turn(turn: HistoryTurn) -> dict[str, object]:
    who = turn.author
    return {
        "id": turn.id,
        "time": turn.timestamp.isoformat(),
        "channel_id": turn.channel_id,
        "guild_id": turn.guild_id,
        "mode": turn.mode,
        "role": turn.role,
        "username": who.username if who is not None else None,
        "display_name": who.display_name if who is not None else None,
        "content": turn.content,
        **({"view": turn.view} if turn.view is not None else {}),
    }
