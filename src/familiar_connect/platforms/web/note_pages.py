"""NotePages: the author's note of a chat: what it says, where it stands, how often.

It is written into the chat's own file of settings, which any editor changes too, and counts from the next reply on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.channel_config import AUTHOR_NOTE_KEYS
from familiar_connect.config.types import NOTE_POSITIONS, ROLES
from familiar_connect.errors import ConfigError
from familiar_connect.familiar import Familiar
from familiar_connect.history.chats import Chat
from familiar_connect.memory.maintenance.field_merge import form_state, merge_fields, read_form_state
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.render import PageRenderer, make_routes, read_form, redirect
from familiar_connect.support.aio import off_loop

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

TEXT, SCANNED = "author_note", "author_note_scanned"
NUMBERS = {"author_note_depth": "Depth", "author_note_interval": "How often"}
MAX_NUMBER = 10_000
MAX_TEXT_CHARS = 20_000
DONE = {
    "saved": "Saved. It takes effect from the next reply on.",
    "merged": "Saved. The note had changed meanwhile: it has both changes.",
}


class NotePages:
    """The routes `/note`."""

    def __init__(self, familiar: Familiar, chats: WebChats, renderer: PageRenderer) -> None:
        self._familiar = familiar
        self._channels = familiar.channel_configs
        self._chats = chats
        self._renderer = renderer

    def routes(self) -> list[BaseRoute]:
        return make_routes((("/note", self.show, "GET"), ("/note", self.save, "POST")), self._renderer)

    async def show(self, request: Request) -> Response:
        """The note of one chat: the newest where none is named."""
        done = DONE.get(request.query_params.get("done", ""), "")
        return await off_loop(self._show, request.query_params.get("chat", ""), done)

    def _show(self, number: str, done: str) -> Response:
        chat = self._chat(number)
        fields = self._fields(chat)
        return self._page(chat, fields, fields, done=done)

    def _chat(self, number: str) -> Chat:
        every = self._chats.all()
        return next((each for each in every if str(each.channel_id) == number), every[0])

    def _fields(self, chat: Chat) -> dict[str, str]:
        """What counts in the chat now, as a form shows it."""
        place = self._channels.get(chat.channel_id).place
        values = (
            place.channel_note or "",
            str(place.channel_note_depth),
            place.note_position,
            place.note_role,
            str(place.note_interval),
            "1" if place.note_scanned else "",
        )
        return dict(zip(AUTHOR_NOTE_KEYS, values, strict=True))

    def _page(
        self,
        chat: Chat,
        fields: dict[str, str],
        was: dict[str, str],
        *,
        clashes: dict[str, str] | None = None,
        problem: str = "",
        done: str = "",
    ) -> Response:
        return self._renderer.page(
            "note.html",
            status=409 if clashes else 400 if problem else 200,
            title="Author's note",
            chosen=chat,
            fields=fields,
            was=form_state(was),
            clashes=clashes or {},
            problem=problem,
            done=done,
            positions=NOTE_POSITIONS,
            roles=ROLES,
            usual=self._familiar.config.place.global_note or "",
        )

    async def save(self, request: Request) -> Response:
        sent = await read_form(request)
        return await off_loop(self._save, sent)

    def _save(self, sent: dict[str, str]) -> Response:
        chat, was = self._chat(sent.get("chat", "")), read_form_state(sent.get("was", ""))
        if was is None or str(chat.channel_id) != sent.get("chat"):
            raise ConfigError("the form does not say which note it started from: open it again")
        mine = {name: sent.get(name, "").replace("\r\n", "\n").strip() for name in AUTHOR_NOTE_KEYS}
        there = self._fields(chat)
        merged = merge_fields(was, mine, there, texts={TEXT})
        if merged.conflicts:
            clashes = {name: there[name] for name in merged.conflicts}
            return self._page(chat, merged.fields, there, clashes=clashes)
        try:
            self._channels.set_author_note(chat.channel_id, _settings(merged.fields))
        except ConfigError as error:  # the words stay in the form
            return self._page(chat, mine, there, problem=str(error))
        return redirect(f"/note?chat={chat.channel_id}&done={'merged' if merged.is_merged else 'saved'}")


def _settings(fields: dict[str, str]) -> dict[str, str | int]:
    """*fields* as the settings of a chat; without a text none of them stands in its file."""
    if not fields[TEXT]:
        return {}
    if len(fields[TEXT]) > MAX_TEXT_CHARS:
        raise ConfigError(f"a note has at most {MAX_TEXT_CHARS:,} characters")
    found: dict[str, str | int] = dict(fields)
    for name, label in NUMBERS.items():
        text = fields[name]
        if not (text.isascii() and text.isdigit() and int(text[:9]) <= MAX_NUMBER):
            raise ConfigError(f"{label} must be a whole number from 0 to {MAX_NUMBER:,}")
        found[name] = int(text)
    return found | {SCANNED: fields[SCANNED] == "1"}
