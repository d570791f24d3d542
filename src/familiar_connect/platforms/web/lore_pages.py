"""LorePages: World Info as forms: the books, an entry with all its fields, and what would fire in a chat, and why.

What is saved are the same files that any editor changes; where both changed one field, the page shows both.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from familiar_connect.config.edit import find_setting, write_setting
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.load import load_character_config
from familiar_connect.errors import MemoryStoreError
from familiar_connect.familiar import Familiar
from familiar_connect.memory.card_fields import CardReader
from familiar_connect.memory.lorebooks.book_shelf import LORE, BookShelf, with_entry_defaults
from familiar_connect.memory.lorebooks.entry_edits import (
    NEW_ENTRY,
    EntryPlace,
    ShelvedBook,
    ShelvedEntry,
    add_book,
    add_entry,
    delete_entry,
    find_entry,
    list_books,
    save_entry,
)
from familiar_connect.memory.lorebooks.entry_fields import GROUPS, ON, SWITCHES, WHAT, fields_of, read_entry_form
from familiar_connect.memory.lorebooks.entry_markdown import entry_keys
from familiar_connect.memory.maintenance.field_merge import form_state, read_form_state
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.render import PageRenderer, make_routes, read_form, redirect
from familiar_connect.presets.story.state_store import StoryStateStore
from familiar_connect.presets.types import PresetFidelity
from familiar_connect.reply.inspection.lore_check import LoreCheck, LoreFindings
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import one_line, truncate_chars

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

MOST_SHOWN = 200
"""Entries of a book in the list."""
MAX_PATH_CHARS = 1_000
MAX_NAME_CHARS = 100
MAX_TYPED_CHARS = 4_000
KEYS_CHARS = 160
DONE = {
    "saved": "Saved. It takes effect from the next reply on.",
    "merged": "Saved. The entry had changed meanwhile: it has both changes.",
    "deleted": "The entry is deleted.",
    "switched": "The lorebook is switched.",
    "begun": "The lorebook is there. Write its first entry.",
}


@dataclass(frozen=True, kw_only=True)
class EntryRow:
    """A line of the list of entries."""

    href: str
    title: str
    keys: str
    on: bool
    constant: bool


@dataclass(frozen=True, kw_only=True)
class BookRows:
    """A book in the list."""

    name: str
    record: str
    total: int
    shown: tuple[EntryRow, ...]


class LorePages:
    """The routes under `/lore`."""

    def __init__(
        self, familiar: Familiar, chats: WebChats, renderer: PageRenderer, reload: asyncio.Event | None
    ) -> None:
        """*reload* has the familiar loaded again; without it that happens when the program is started again."""
        self._reload = reload
        self._settings_file = FamiliarFolder(familiar.root).settings_file
        self._familiar = familiar
        self._store = familiar.memory_store
        self._chats = chats
        self._renderer = renderer
        self._check = LoreCheck(
            familiar_id=familiar.id,
            history=familiar.history_store,
            config=familiar.config,
            card=CardReader(familiar.memory_store, familiar.id),
            shelf=BookShelf(familiar.memory_store),
            states=StoryStateStore(FamiliarFolder(familiar.root).story),
            clock=familiar.clock,
        )

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/lore", self.list_entries, "GET"),
            ("/lore/books", self.begin_book, "POST"),
            ("/lore/books/switch", self.switch_book, "POST"),
            ("/lore/entry", self.edit, "GET"),
            ("/lore/entry", self.save, "POST"),
            ("/lore/delete", self.delete, "POST"),
            ("/lore/test", self.test, "GET"),
        )
        return make_routes(handlers, self._renderer)

    async def list_entries(self, request: Request) -> Response:
        """Every book with its entries, or those that hold a word."""
        wanted = request.query_params.get("q", "")[:MAX_NAME_CHARS].strip()
        return await off_loop(self._list, wanted, DONE.get(request.query_params.get("done", ""), ""))

    def _list(self, wanted: str, done: str) -> Response:
        books = list_books(self._store)
        taken = {each.path for book in books for each in book.entries}
        plain = [path for path in self._store.list_files(LORE) if path not in taken][:MOST_SHOWN]
        rows = [_rows(book, wanted.casefold()) for book in books]
        config = self._familiar.config
        return self._renderer.page(
            "lore.html",
            title="World Info",
            wanted=wanted,
            done=done,
            books=[row for row in rows if row.total or not wanted],
            off=self._books_off(),
            loads_again=self._reload is not None,
            counts=config.preset_fidelity == PresetFidelity.sillytavern.value,
            plain=[(path, entry_address(EntryPlace(path=path))) for path in plain] if not wanted else [],
        )

    async def begin_book(self, request: Request) -> Response:
        name = one_line((await read_form(request)).get("name", ""))[:MAX_NAME_CHARS].strip()
        await off_loop(add_book, self._store, name)
        return redirect("/lore?done=begun")

    def _profile(self) -> Path | None:
        found = FamiliarFolder(self._familiar.root).profile.settings_file
        return found if found.exists() else None

    def _books_off(self) -> list[str]:
        """The books that are not in force, as the settings say it now."""
        return load_character_config(self._settings_file, defaults_path=self._profile()).books.books_off

    async def switch_book(self, request: Request) -> Response:
        """A book in force, or not."""
        fields = await read_form(request)
        await off_loop(self._switch_book, fields.get("name", ""), fields.get("on") == "1")
        if self._reload is not None:
            self._reload.set()
        return redirect("/lore?done=switched")

    def _switch_book(self, name: str, on: bool) -> None:
        if all(book.name != name for book in list_books(self._store)):
            raise MemoryStoreError("there is no such lorebook any more; World Info lists those there are")
        others = [each for each in self._books_off() if each != name]
        names = others if on else [*others, name]
        key = find_setting("world_info.books_off")
        write_setting(self._settings_file, key, names or None, defaults_path=self._profile())

    async def edit(self, request: Request) -> Response:
        """A form with every field of one entry, or of a new one."""
        query = request.query_params
        place = _place(query.get("record", ""), query.get("key", ""), query.get("path", ""))
        done = DONE.get(query.get("done", ""), "")
        if query.get("new") == "1":
            fields = {**fields_of(with_entry_defaults(dict(NEW_ENTRY))), "on": ON}
            return await off_loop(self._form, place, fields, fields, is_new=True)
        return await off_loop(self._edit, place, query.get("file", "")[:MAX_PATH_CHARS], done)

    def _edit(self, place: EntryPlace, file: str, done: str) -> Response:
        if file:
            place = next(
                (each.place for book in list_books(self._store) for each in book.entries if each.path == file),
                EntryPlace(path=file),
            )
        there = find_entry(self._store, place)
        return self._form(place, there.fields, there.fields, there=there, done=done)

    def _form(
        self,
        place: EntryPlace,
        fields: dict[str, str],
        was: dict[str, str],
        *,
        there: ShelvedEntry | None = None,
        is_new: bool = False,
        problem: str = "",
        clashes: dict[str, str] | None = None,
        done: str = "",
    ) -> Response:
        """*was* is what the files say; *clashes* those fields that both sides changed, as they stand there."""
        return self._renderer.page(
            "lore_entry.html",
            status=409 if clashes else 400 if problem else 200,
            title=there.title if there is not None else "New entry",
            place_of=place,
            file=there.path if there is not None else "",
            fields=fields,
            was=form_state(was),
            is_new=is_new,
            problem=problem,
            clashes=clashes or {},
            done=done,
            switches=SWITCHES,
            what=WHAT,
            groups=GROUPS,
        )

    async def save(self, request: Request) -> Response:
        """Write the entry; a conflict is shown and nothing is lost."""
        sent = await read_form(request)
        return await off_loop(self._save, sent)

    def _save(self, sent: dict[str, str]) -> Response:
        place, mine = _sent_place(sent), read_entry_form(sent)
        is_new = sent.get("new") == "1"
        was = read_form_state(sent.get("was", ""))
        if was is None and not is_new:
            raise MemoryStoreError("the form does not say which text it started from: open the entry again")
        try:
            if is_new:
                return redirect(f"{entry_address(add_entry(self._store, place.record, mine))}&done=saved")
            done = save_entry(self._store, place, was or {}, mine)
        except MemoryStoreError as error:  # what was written stays in the form
            there = None if is_new else find_entry(self._store, place)
            return self._form(place, mine, was or mine, there=there, is_new=is_new, problem=str(error))
        if done.conflicts:
            there = find_entry(self._store, place)
            clashes = {name: done.theirs[name] for name in done.conflicts}
            return self._form(place, done.fields, done.theirs, there=there, clashes=clashes)
        return redirect(f"{entry_address(done.place)}&done={'merged' if done.is_merged else 'saved'}")

    async def delete(self, request: Request) -> Response:
        sent = await read_form(request)
        return await off_loop(self._delete, sent)

    def _delete(self, sent: dict[str, str]) -> Response:
        if not delete_entry(self._store, _sent_place(sent), read_form_state(sent.get("was", "")) or {}):
            raise MemoryStoreError("the entry changed meanwhile and was not deleted: open it again and look first")
        return redirect("/lore?done=deleted")

    async def test(self, request: Request) -> Response:
        """What would fire in a chat as it stands, with a line more."""
        number, typed = request.query_params.get("chat", ""), request.query_params.get("text", "")[:MAX_TYPED_CHARS]
        every = await off_loop(self._chats.all)
        chosen = next((each for each in every if str(each.channel_id) == number), every[0])
        setup = await self._familiar.reply_path.turns.channel_setup(chosen.channel_id)
        user = (await off_loop(self._chats.person)).label
        found = await off_loop(self._check.check, chosen.channel_id, setup, typed=typed, user=user)
        return await off_loop(self._show_test, chosen, typed, found)

    def _show_test(self, chosen: object, typed: str, found: LoreFindings) -> Response:
        return self._renderer.page(
            "lore_test.html",
            title="Test World Info",
            chosen=chosen,
            typed=typed,
            found=found,
            fires=[each for each in found.entries if each.fires],
            silent=sorted((each for each in found.entries if not each.fires), key=lambda each: each.is_far),
        )


def entry_address(place: EntryPlace) -> str:
    """Where an entry is edited."""
    if not place.record:
        return f"/lore/entry?path={quote(place.path, safe='')}"
    return f"/lore/entry?{urlencode({'record': place.record, 'key': place.key})}"


def _place(record: str, key: str, path: str) -> EntryPlace:
    return EntryPlace(record=record[:MAX_PATH_CHARS], key=key[:MAX_PATH_CHARS], path=path[:MAX_PATH_CHARS])


def _sent_place(sent: dict[str, str]) -> EntryPlace:
    return _place(sent.get("record", ""), sent.get("key_in_book", ""), sent.get("path", ""))


def _rows(book: ShelvedBook, wanted: str) -> BookRows:
    found = [each for each in book.entries if not wanted or wanted in _words(each)]
    return BookRows(name=book.name, record=book.record, total=len(found), shown=tuple(map(_row, found[:MOST_SHOWN])))


def _words(each: ShelvedEntry) -> str:
    return "\n".join((each.title, *entry_keys(each.entry), str(each.entry["content"]))).casefold()


def _row(each: ShelvedEntry) -> EntryRow:
    fields = each.fields
    return EntryRow(
        href=entry_address(each.place),
        title=each.title,
        keys=truncate_chars(", ".join(fields["key"].split("\n")), KEYS_CHARS),
        on=bool(fields["on"]),
        constant=bool(fields["constant"]),
    )
