"""ImportPages: a card, lorebook, preset, chat or document that is dropped on the page, brought in with its report.

The file is given to the command line's own verb in a process of its own, so that it is read with the same care.
"""

from __future__ import annotations

import json
import re
import secrets
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.errors import HomeError
from familiar_connect.platforms.web.multipart import is_multipart, parse_multipart
from familiar_connect.platforms.web.own_program import OwnProgram
from familiar_connect.platforms.web.render import PageRenderer, read_form, with_problems
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import fold_name

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

IMPORT_PATH = "/import"
LONGEST_S = 600.0
MAX_NAME_CHARS = 120
_COMMAND = r"`(?:[^`\s]*familiar|python3 run\.py) [^`]*`"
_TYPE = re.compile(rf"[^`:.]+: {_COMMAND}(?:\. ?)?")
_OR_TYPE = re.compile(rf",? or (?:now )?(?:with |by )?{_COMMAND}")
VERBS: dict[str, tuple[str, ...]] = {
    "card": ("init", "--from-card"),
    "chat": ("import", "chat"),
    "document": ("import", "document"),
    "lorebook": ("import", "lorebook"),
    "preset": ("import", "preset"),
    "quick replies": ("import", "quick-replies"),
}
"""Kind of a file → the verb that takes it; all but a card are for the familiar of the page."""
CHAT_KEYS = frozenset({"mapping", "chat_messages", "messages", "histories", "turns", "internal", "savedsettings"})
"""One of these is in the chats of other programs."""
_UNSAFE = re.compile(r"[^\w .()-]+")


class ImportPages:
    """The route `/import`."""

    def __init__(
        self,
        familiar_id: str,
        program: OwnProgram,
        renderer: PageRenderer,
        list_ids: Callable[[], list[str]] = list,
    ) -> None:
        """*list_ids* tells which familiars there are."""
        self._list_ids = list_ids
        self._familiar_id = familiar_id
        self._program = program
        self._renderer = renderer
        self._waiting: tuple[str, str, bytes] | None = None
        """A chat that is asked about: what the page calls it, its name and what is in it. The latest alone is kept."""

    def routes(self) -> list[BaseRoute]:
        from starlette.routing import Route

        handlers = ((self.show, "GET"), (self.bring_in, "POST"))
        return [
            Route(IMPORT_PATH, with_problems(handler, self._renderer), methods=[method]) for handler, method in handlers
        ]

    async def show(self, request: Request) -> Response:
        return await off_loop(self._page)

    def _page(
        self,
        report: str | None = None,
        kind: str = "",
        name: str = "",
        made: str = "",
        went_to: str = "",
        asked: dict[str, object] | None = None,
    ) -> Response:
        return self._renderer.page(
            "import.html",
            title="Import",
            kinds=list(VERBS),
            report=report,
            kind=kind,
            file_name=name,
            made=made,
            went_to=went_to,
            asked=asked,
            own_id=self._familiar_id,
            waiting=self._waiting[0] if self._waiting is not None else "",
        )

    async def bring_in(self, request: Request) -> Response:
        """Give the file to the verb of its kind, and show what that says; of a chat first what it will cost."""
        if not is_multipart(request.headers.get("content-type", "")):
            form = await read_form(request)
            return await self._go_on(form.get("waiting", ""), form.get("familiar", self._familiar_id))
        fields = parse_multipart(request.headers.get("content-type", ""), await request.body())
        name, content = fields.get("file", ("", b""))
        if not content:
            raise HomeError("no file was sent: choose one, or drop it on the page")
        kind = fields.get("kind", ("", b""))[1].decode("utf-8", "replace")
        kind = kind if kind in VERBS else guess_kind(name, content)
        if kind == "chat" and (asked := await self._ask_first(name, content)):
            self._waiting = (secrets.token_hex(8), name, content)
            return await off_loop(partial(self._page, None, kind, name, asked=asked))
        return await self._take(kind, name, content, self._familiar_id)

    async def _ask_first(self, name: str, content: bytes) -> dict[str, object]:
        """What the owner is to know before a chat is taken in: whose it is, and its cost; empty: nothing."""
        found = await self._look(name, content, self._familiar_id)
        owner = found.get("with")
        is_others = isinstance(owner, str) and owner != self._familiar_id
        if is_others:
            found = await self._look(name, content, str(owner))
        is_called_so = fold_name(str(found.get("character", ""))) == fold_name(str(found.get("name", "")))
        is_strange = owner is None and bool(found) and not is_called_so
        costs = bool(found.get("calls") or found.get("summary_calls"))
        if not (is_others or is_strange or costs):
            return {}
        return {**found, "owner": owner if is_others else "", "is_strange": is_strange, "costs": costs}

    async def _look(self, name: str, content: bytes, familiar_id: str) -> dict[str, object]:
        """What the command line says of a chat before it is taken in: whose it is, and what writing it up takes."""
        with tempfile.TemporaryDirectory(prefix="familiar-import-") as folder:
            path = Path(folder) / safe_name(name)
            await off_loop(path.write_bytes, content)
            words = ("import", "chat", str(path), "--cost", "--json", "--familiar", familiar_id)
            found = await self._program.read_json(*words, timeout_s=LONGEST_S)
        chats = found.get("chats") if isinstance(found, dict) else None
        return chats[0] if isinstance(chats, list) and chats and isinstance(chats[0], dict) else {}

    async def _go_on(self, waiting: str, familiar_id: str) -> Response:
        """Take in the chat that was asked about, for the familiar that was chosen."""
        if familiar_id not in {self._familiar_id, *await off_loop(self._list_ids)}:
            raise HomeError("there is no such familiar here; choose the file again")
        if self._waiting is None or self._waiting[0] != waiting:
            raise HomeError("that file is no longer kept: choose it again")
        (_, name, content), self._waiting = self._waiting, None
        return await self._take("chat", name, content, familiar_id)

    async def _take(self, kind: str, name: str, content: bytes, familiar_id: str) -> Response:
        before = set(await off_loop(self._list_ids))
        whose = () if kind == "card" else ("--familiar", familiar_id)
        report = await import_file(self._program, kind, name, content, *whose)
        made = next(iter(sorted(set(await off_loop(self._list_ids)) - before)), "")
        went_to = familiar_id if familiar_id != self._familiar_id else ""
        return await off_loop(partial(self._page, report, kind, name, made, went_to))


async def import_file(program: OwnProgram, kind: str, name: str, content: bytes, *words: str) -> str:
    """Give a file to the verb of its kind, with *words* behind it; what that says."""
    with tempfile.TemporaryDirectory(prefix="familiar-import-") as folder:
        path = Path(folder) / safe_name(name)
        await off_loop(path.write_bytes, content)
        report = await program.read_text(*VERBS[kind], str(path), *words, timeout_s=LONGEST_S)
    return without_commands(report.replace(f"{folder}/", ""))


def without_commands(report: str) -> str:
    """*report* without what it says to type: the page has buttons for that."""
    lines = ((line, _TYPE.sub("", _OR_TYPE.sub("", line))) for line in report.splitlines())
    return "\n".join(left for line, left in lines if left.strip() or not line.strip())


async def make_familiar(program: OwnProgram, familiar_id: str, name: str, called: Sequence[str] = ()) -> None:
    """A new familiar called *name*, as the command line makes one; *called* is what `name_words` says."""
    await program.read_text("init", familiar_id, "--name", name, *called)


def name_words(person: str) -> tuple[str, ...]:
    """What tells a new familiar how the person at the page is called; nothing where that is not known."""
    return ("--as", person) if person and not person.startswith("-") else ()


def guess_kind(name: str, content: bytes) -> str:
    """What a file is, by its name and what it holds."""
    ending = Path(name).suffix.lower()
    if ending in (".png", ".charx", ".yaml", ".yml"):
        return "card"
    if ending in (".jsonl", ".zip", ".csv"):
        return "chat"
    if ending == ".lorebook":
        return "lorebook"
    if ending != ".json":
        return "document"
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return "document"
    if isinstance(found, list):
        return "chat"
    if not isinstance(found, dict):
        return "document"
    if "spec" in found or "first_mes" in found or "char_name" in found:
        return "card"
    if "prompts" in found or "prompt_order" in found:
        return "preset"
    if found.keys() & {"qrList", "quickReplySlots"}:
        return "quick replies"
    if found.keys() & CHAT_KEYS:
        return "chat"
    return "lorebook" if "entries" in found else "document"


def safe_name(name: str) -> str:
    """The last part of a file's name, of letters and numbers alone, so that it names a file in any folder."""
    last = _UNSAFE.sub("_", name.replace("\\", "/").rpartition("/")[2]).strip(" .")
    return last[-MAX_NAME_CHARS:].strip(" .") or "file"
