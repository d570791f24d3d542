"""Person lookup: who is meant by a slug, a platform id, an alias or a display name, and everything they are called.

Names only point at people. A name that points at several is never guessed: all of them come back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from familiar_connect.audience import between
from familiar_connect.chat.scene import Roster, RosterEntry
from familiar_connect.config.built_in import EXAMPLE_PLATFORM
from familiar_connect.errors import FamiliarError, MemoryStoreError
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.memory.file_audience import MARK
from familiar_connect.memory.note_paths import (
    is_archive,
    original_path,
    people_path,
    people_path_prefixes,
    slug_of_path,
)
from familiar_connect.memory.people import harvest_aliases, read_aliases
from familiar_connect.memory.store import MemoryStore
from familiar_connect.support.markdown import document_title

MAX_PEOPLE_FILES = 10_000


class PersonNotFound(FamiliarError):
    """Nobody is called so, or several are; the message says who could be meant."""


@dataclass(frozen=True, kw_only=True)
class Person:
    """One person as history and memory know them."""

    author: Author
    """Every name they were ever seen under is among its aliases."""
    turns: int = 0

    @property
    def slug(self) -> str:
        return self.author.slug

    @property
    def file(self) -> str:
        return people_path(self.slug)

    @property
    def names(self) -> list[str]:
        return sorted(self.author.all_known_names, key=lambda name: (name.casefold(), name))

    def __str__(self) -> str:
        return f"{self.author.label} ({self.author.canonical_key})"


def files_of_person(person: Person, paths: Iterable[str]) -> list[str]:
    """Those of *paths* that are notes on *person*, open ones and those of smaller circles, or a direct message's.

    What was written from a direct message with somebody is theirs, whomever it is about.
    """
    own = people_path_prefixes(person.slug)
    mark = between([person.author.canonical_key]).slug
    own_talk = f"{MARK}{mark}.md"
    found = [path for path in paths if path.startswith(own) or original_path(path).endswith(own_talk)]
    return sorted(found, key=lambda path: (path != person.file, path))


def find_person(words: str, *, familiar_id: str, history: HistoryStore, store: MemoryStore) -> Person:
    """The one person *words* mean; else an error that lists who could be meant."""
    found = find_people(words, familiar_id=familiar_id, history=history, store=store)
    if len(found) == 1:
        return found[0]
    if not found:
        raise PersonNotFound(
            f"no one called {words!r} is known: give a name, an alias, a slug such as {EXAMPLE_PLATFORM}-123, or "
            "platform:id; `familiar memory list people` shows the files"
        )
    could_be = "; ".join(f"{person.author.canonical_key} ({person.author.label})" for person in found)
    raise PersonNotFound(f"{words!r} could be {len(found)} people: {could_be}. Say which, by platform:id")


def find_people(words: str, *, familiar_id: str, history: HistoryStore, store: MemoryStore) -> list[Person]:
    """Everyone *words* may mean: by id alone if it is one, else by any name."""
    words = words.strip()
    words = slug_of_path(words) if words.startswith("people/") else words.removesuffix(".md")
    everyone = list_people(familiar_id=familiar_id, history=history, store=store)
    by_id = [person for person in everyone if words in (person.author.canonical_key, person.slug)]
    if by_id:
        return by_id
    platform, mark, user_id = words.partition(":")
    if mark and platform and user_id:
        return [Person(author=Author(platform, user_id, None, None))]
    pointing = _names_by_slug(store)
    roster = Roster(
        RosterEntry(person, "", (*person.author.all_known_names, *pointing.get(person.slug, ()))) for person in everyone
    )
    return list(roster.owners(words))


def find_notes(
    words: str, files: Collection[str], *, familiar_id: str, history: HistoryStore, store: MemoryStore
) -> list[str]:
    """Those of *files* that are about whomever *words* may mean."""
    people = find_people(words, familiar_id=familiar_id, history=history, store=store)
    return [
        path
        for person in people
        for path in ([person.file] if person.file in files else files_of_person(person, files))
    ]


def list_people(*, familiar_id: str, history: HistoryStore, store: MemoryStore) -> list[Person]:
    """Everyone who spoke, and everyone with a file, most recently heard first."""
    found = {
        speaker.author.slug: Person(author=speaker.author, turns=speaker.turns)
        for speaker in reversed(history.authors.speakers(familiar_id=familiar_id))
    }
    found = dict(reversed(found.items()))
    pointing = _names_by_slug(store)
    for path in _people_files(store):
        slug = slug_of_path(path)
        known = found.get(slug) or Person(author=_author_of(slug))
        names = known.author.aliases | frozenset(_names_in(store, path, slug)) | pointing.get(slug, set())
        found[slug] = replace(known, author=replace(known.author, aliases=frozenset(names)))
    return list(found.values())


def _names_by_slug(store: MemoryStore) -> dict[str, set[str]]:
    """The alias index, the other way round."""
    pointing: dict[str, set[str]] = {}
    for name, slugs in read_aliases(store).items():
        for slug in slugs:
            pointing.setdefault(slug, set()).add(name)
    return pointing


def _people_files(store: MemoryStore) -> list[str]:
    limits = replace(store.limits, max_results_per_op=MAX_PEOPLE_FILES)
    files = MemoryStore(store.root, limits=limits).glob("people/*.md")
    return [path for path in files if not path.startswith("people/_") and not is_archive(path)]


def _author_of(slug: str) -> Author:
    """As much of a person as their file's name tells."""
    platform, _, user_id = slug.partition("-")
    return Author(platform, user_id or slug, None, None)


def _names_in(store: MemoryStore, path: str, slug: str) -> list[str]:
    try:
        text = store.read_file(path)
    except MemoryStoreError:
        return []
    title = document_title(text)
    return [*harvest_aliases(text), *([title] if title and title != slug and len(title) <= 64 else [])]
