"""What the memory verbs work on: the stores of one familiar, and the file or person that is meant."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from familiar_connect.commands.common import root_of
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.home import profile_path
from familiar_connect.errors import FamiliarError, HomeError, MemoryStoreError
from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.audit import AuditLog
from familiar_connect.memory.maintenance.links import markdown_files
from familiar_connect.memory.maintenance.person_lookup import find_notes, find_people
from familiar_connect.memory.maintenance.person_page import PersonPage, build_person_page
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.paths import split_path
from familiar_connect.memory.persona import persona_name
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.types import Version
from familiar_connect.memory.versioning.provenance import Provenance
from familiar_connect.memory.versioning.versions import Versions
from familiar_connect.memory.visible_memory import VisibleMemory
from familiar_connect.presets.macros.identity_macros import name_filler
from familiar_connect.privacy import PrivacyRegistry


@dataclass(frozen=True)
class MemorySession:
    """The memory of one familiar, and the history beside it."""

    root: Path
    store: MemoryStore
    audit: AuditLog
    history: HistoryStore

    @property
    def familiar_id(self) -> str:
        return self.root.name

    @property
    def versions(self) -> Versions:
        return Versions(self.audit)

    @property
    def provenance(self) -> Provenance:
        return Provenance(self.audit.folder)

    @property
    def audiences(self) -> PartAudiences:
        """Whom each part was said to, under the wishes that people told."""
        privacy = PrivacyRegistry(FamiliarFolder(self.root).privacy_file)
        return PartAudiences(self.store, self.history, familiar_id=self.familiar_id, privacy=privacy)

    def find_file(self, words: str) -> str:
        """The file that is meant: a path, with or without `.md`, or a person's name."""
        for path in (words, f"{words}.md"):
            with contextlib.suppress(MemoryStoreError):
                known = "/".join(split_path(path))
                if self.store.exists(known) or self.audit.last_hash(known) or self.versions.log(known, last=1):
                    return known
        files = markdown_files(self.store)
        notes = find_notes(words, files, familiar_id=self.familiar_id, history=self.history, store=self.store)
        if len(notes) == 1:
            return notes[0]
        if notes:
            raise MemoryStoreError(f"{words!r} could be {', '.join(notes)}: say which")
        near = difflib.get_close_matches(words, files, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else "`familiar memory list` shows the files"
        raise MemoryStoreError(f"there is no memory file {words!r} and no one by that name: {hint}")

    def find_person_page(self, words: str) -> PersonPage | None:
        """Whoever *words* mean as one page; None where they name a file, nobody, several people, or one file is all."""
        from familiar_connect.reply.inspection.turn_view import describe_audience

        if self._is_file(words):
            return None
        people = find_people(words, familiar_id=self.familiar_id, history=self.history, store=self.store)
        if len(people) != 1:
            return None
        visible = VisibleMemory(self.audiences, lambda _: True)  # the owner's own files: they may open every one
        page = build_person_page(visible, people[0].file, describe_audience)
        return page if page is not None and len(page.parts) > 1 else None

    def _is_file(self, words: str) -> bool:
        for path in (words, f"{words}.md"):
            with contextlib.suppress(MemoryStoreError):
                if self.store.exists("/".join(split_path(path))):
                    return True
        return False

    def name_filler(self) -> Callable[[str], str]:
        """What puts the names of the familiar and of its owner where a card's `{{char}}` and `{{user}}` stand."""
        from familiar_connect.config.load import load_character_config

        folder = FamiliarFolder(self.root)
        try:
            config = load_character_config(folder.settings_file, defaults_path=profile_path(folder.home.root))
            user = config.user_name
        except FamiliarError:  # settings that cannot be read say nobody's name
            user = None
        return name_filler(persona_name(self.store, self.familiar_id), user)

    def notice_hand_edits(self, rel_path: str | None = None) -> None:
        """Make a version of what was edited by hand; where that cannot be written, tell what is there."""
        with contextlib.suppress(OSError, MemoryStoreError):
            self.audit.reconcile(self.store, rel_path)


@contextmanager
def open_session(ctx: click.Context, familiar_id: str | None, *, may_be_new: bool = False) -> Iterator[MemorySession]:
    """The stores of the familiar that is meant, closed at the end; *may_be_new*: also where it has no memory yet."""
    root = root_of(ctx, familiar_id)
    folder = FamiliarFolder(root)
    if not (may_be_new or folder.memory.is_dir()):
        raise HomeError(f"{root.name} has no memory yet: talk first with `familiar chat --familiar {root.name}`")
    store = MemoryStore(folder.memory, audit_dir=folder.audit)
    assert store.audit is not None
    path = folder.history_db
    history = HistoryStore(path if path.exists() else ":memory:")
    try:
        yield MemorySession(root, store, store.audit, history)
    finally:
        history.close()
        store.audit.close()


def minute_stamp(when: datetime) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M}Z"


def version_label(version: Version | None) -> str:
    """Which version, when and by whom, in a few words."""
    if version is None:
        return "not logged"
    run = f" run {version.entry.run_id}" if version.entry.run_id else ""
    return f"v{version.number} {minute_stamp(version.entry.timestamp)} {version.entry.source}{run}"
