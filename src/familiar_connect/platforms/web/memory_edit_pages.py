"""MemoryEditPages: a memory file to edit with a preview, its versions to compare and restore, the words behind it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from familiar_connect.errors import MemoryStoreError
from familiar_connect.familiar import Familiar
from familiar_connect.memory.audit import AuditLog
from familiar_connect.memory.file_audience import without_front_matter
from familiar_connect.memory.maintenance.owner_edits import (
    NO_FILE,
    delete_edited,
    edit_base,
    editable_path,
    save_edit,
)
from familiar_connect.memory.types import Version
from familiar_connect.memory.versioning.blame import PartOrigin, explain_parts
from familiar_connect.memory.versioning.provenance import Provenance
from familiar_connect.memory.versioning.versions import Versions
from familiar_connect.platforms.web.diff_lines import diff_lines
from familiar_connect.platforms.web.memory_links import file_address
from familiar_connect.platforms.web.memory_pages import MAX_PATH_CHARS
from familiar_connect.platforms.web.render import PageRenderer, make_routes, read_form, redirect
from familiar_connect.support.aio import off_loop
from familiar_connect.support.markdown_html import markdown_to_html
from familiar_connect.support.text import one_line, truncate_chars

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

VERSIONS_SHOWN = 100
QUOTE_CHARS = 400
MAX_PARTS = 300
STARTS = "# {title}\n\n"


@dataclass(frozen=True, kw_only=True)
class VersionRow:
    """A line of the list of versions."""

    number: int
    path: str
    time: str
    change: str
    source: str


@dataclass(frozen=True, kw_only=True)
class EditForm:
    """What a form for one file begins with."""

    path: str
    text: str
    base: str
    """Of which text it was made."""

    @property
    def is_new(self) -> bool:
        return self.base == NO_FILE


class MemoryEditPages:
    """The routes that change a memory file, and those that show how it came to be."""

    def __init__(self, familiar: Familiar, renderer: PageRenderer) -> None:
        self._familiar = familiar
        self._store = familiar.memory_store
        self._renderer = renderer
        self._zone = ZoneInfo(familiar.config.display_tz)

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/memory/edit", self.edit, "GET"),
            ("/memory/edit", self.save, "POST"),
            ("/memory/delete", self.delete, "POST"),
            ("/memory/versions", self.show_versions, "GET"),
            ("/memory/restore", self.restore, "POST"),
            ("/memory/sources", self.show_sources, "GET"),
        )
        return make_routes(handlers, self._renderer)

    async def edit(self, request: Request) -> Response:
        """A form with the file's text; a name that is not taken begins a new one."""
        return await off_loop(self._edit, read_path(request))

    def _edit(self, path: str) -> Response:
        path = editable_path(path if path.endswith(".md") else f"{path}.md")
        text = self._store.read_if_present(path)
        name = path.rpartition("/")[2].removesuffix(".md").replace("-", " ")
        form = EditForm(path=path, text=STARTS.format(title=name) if text is None else text, base=edit_base(text))
        return self._form(form)

    def _form(
        self,
        form: EditForm,
        *,
        preview: str | None = None,
        theirs: list[tuple[str, str]] | None = None,
        problem: str = "",
    ) -> Response:
        """*theirs*: how what is there now differs from the text in the form, which could not be saved for that."""
        return self._renderer.page(
            "memory_edit.html",
            status=409 if theirs is not None else 400 if problem else 200,
            problem=problem,
            title=f"Edit {form.path}",
            form=form,
            preview=preview,
            theirs=theirs,
        )

    async def save(self, request: Request) -> Response:
        """Save, or only show how it would look."""
        fields = await read_form(request)
        form = EditForm(
            path=fields.get("path", "")[:MAX_PATH_CHARS], text=fields.get("text", ""), base=fields.get("base", "")[:100]
        )
        return await off_loop(self._preview if fields.get("action") == "preview" else self._save, form)

    def _preview(self, form: EditForm) -> Response:
        editable_path(form.path)
        return self._form(form, preview=markdown_to_html(without_front_matter(form.text.replace("\r\n", "\n"))))

    def _save(self, form: EditForm) -> Response:
        path = editable_path(form.path)
        try:
            done = save_edit(self._store, path, form.text, base=form.base)
        except MemoryStoreError as error:  # the text stays in the form
            return self._form(form, problem=str(error))
        if done.result != "conflict":
            return redirect(f"{file_address(path)}&done={done.result}")
        mine = form.text.replace("\r\n", "\n").splitlines()
        theirs = difflib.unified_diff(mine, done.current.splitlines(), "yours", "what is there now", lineterm="")
        again = EditForm(path=path, text=form.text, base=done.base)
        return self._form(again, theirs=diff_lines("\n".join(theirs)))

    async def delete(self, request: Request) -> Response:
        fields = await read_form(request)
        return await off_loop(self._delete, fields.get("path", "")[:MAX_PATH_CHARS], fields.get("base", "")[:100])

    def _delete(self, path: str, base: str) -> Response:
        path = editable_path(path)
        if not delete_edited(self._store, path, base=base):
            raise MemoryStoreError(f"{path} changed meanwhile and was not deleted: open it again and look first")
        return redirect(f"{versions_address(path)}&done=deleted")

    async def show_versions(self, request: Request) -> Response:
        """The versions of one file with what one of them changed; without a file, the latest changes of all."""
        number = request.query_params.get("version", "")
        chosen = int(number) if number.isascii() and number.isdigit() and len(number) < 8 else None
        return await off_loop(self._show_versions, read_path(request), chosen, request.query_params.get("done", ""))

    def _show_versions(self, path: str, chosen: int | None, done: str) -> Response:
        known = editable_path(path) if path else None
        self._audit.reconcile(self._store, known)
        versions = Versions(self._audit)
        found = list(reversed(versions.log(known, last=VERSIONS_SHOWN)))
        shown = self._chosen(versions, known, chosen, found) if known else None
        return self._renderer.page(
            "memory_versions.html",
            title=f"Versions of {known}" if known else "Latest changes",
            path=known,
            is_there=known is not None and self._store.exists(known),
            rows=[self._row(versions, version) for version in found],
            shown=self._row(versions, shown) if shown is not None else None,
            is_newest=bool(found) and shown == found[0],
            changes=self._changes(versions, shown) if shown is not None else [],
            done=done,
            versions_address=versions_address,
        )

    def _chosen(self, versions: Versions, path: str, number: int | None, found: list[Version]) -> Version | None:
        if number is not None:
            return versions.find(path, number)
        return found[0] if found else None

    def _changes(self, versions: Versions, version: Version) -> list[tuple[str, str]]:
        before = versions.text(versions.find(version.rel_path, version.number - 1)) if version.number > 1 else ""
        now = versions.text(version)
        return diff_lines("\n".join(difflib.unified_diff(before.splitlines(), now.splitlines(), lineterm="")))

    def _row(self, versions: Versions, version: Version) -> VersionRow:
        try:
            change = "deleted" if version.content_hash is None else f"{versions.change_of(version)} lines"
        except MemoryStoreError:
            change = "its text is lost"
        return VersionRow(
            number=version.number,
            path=version.rel_path,
            time=version.entry.timestamp.astimezone(self._zone).strftime("%Y-%m-%d %H:%M"),
            change=change,
            source=version.entry.source.replace("_", " "),
        )

    async def restore(self, request: Request) -> Response:
        """Put a version back; what is there now becomes a version too."""
        fields = await read_form(request)
        number = fields.get("version", "")
        if not (number.isascii() and number.isdigit() and len(number) < 8):
            raise MemoryStoreError("a version is a number: choose one from the list of versions")
        return await off_loop(self._restore, fields.get("path", "")[:MAX_PATH_CHARS], int(number))

    def _restore(self, path: str, number: int) -> Response:
        path = editable_path(path)
        self._audit.reconcile(self._store, path)
        Versions(self._audit).restore(self._store, path, number)
        return redirect(f"{versions_address(path)}&done=restored-{number}")

    async def show_sources(self, request: Request) -> Response:
        """Each part of a file with the words it came from."""
        return await off_loop(self._show_sources, read_path(request), request.query_params.get("all") == "1")

    def _show_sources(self, path: str, is_whole: bool) -> Response:
        path = editable_path(path)
        self._audit.reconcile(self._store, path)
        parts = explain_parts(
            self._store.read_file(path),
            path,
            familiar_id=self._familiar.id,
            history=self._familiar.history_store,
            provenance=Provenance(self._audit.folder),
            versions=Versions(self._audit),
        )
        return self._renderer.page(
            "memory_sources.html",
            title=f"Where {path} comes from",
            path=path,
            href=file_address(path),
            parts=[self._part(each) for each in (parts if is_whole else parts[:MAX_PARTS])],
            more=0 if is_whole else max(0, len(parts) - MAX_PARTS),
        )

    def _part(self, origin: PartOrigin) -> dict[str, object]:
        version = origin.version
        return {
            "heading": origin.part.heading,
            "text": one_line(origin.part.text),
            "quotes": [
                (each.who, each.when.astimezone(self._zone).strftime("%Y-%m-%d %H:%M"), _shortened(each.text))
                for each in origin.quotes
            ],
            "more": len(origin.turns) - len(origin.quotes),
            "written_by": version.entry.source.replace("_", " ") if version is not None else None,
            "version": version.number if version is not None else None,
        }

    @property
    def _audit(self) -> AuditLog:
        if self._store.audit is None:
            raise MemoryStoreError("this memory keeps no versions")
        return self._store.audit


def read_path(request: Request) -> str:
    """The memory file that an address names; nothing is looked up yet."""
    return request.query_params.get("path", "")[:MAX_PATH_CHARS].strip()


def versions_address(path: str) -> str:
    return file_address(path).replace("/memory/file?", "/memory/versions?", 1)


def _shortened(text: str) -> str:
    return truncate_chars(one_line(text), QUOTE_CHARS)
