"""PersonaPages: the people you may be: each with a name and a text, and which of them speaks in which chat.

They are the `[[personas]]` of `character.toml`, which any editor changes too. A new or changed one counts once the
familiar is loaded again, which happens at once; which one speaks in a chat counts from the next reply on.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from familiar_connect.config.character import PERSONA_POSITIONS, NamedPersona
from familiar_connect.config.edit import find_setting, write_setting
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.load import load_character_config
from familiar_connect.config.types import ROLES
from familiar_connect.errors import ConfigError
from familiar_connect.familiar import Familiar
from familiar_connect.memory.maintenance.field_merge import form_state, merge_fields, read_form_state
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.render import PageRenderer, make_routes, read_form, read_number, redirect
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import one_line

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

MAX_PERSONAS = 100
MOST_CHATS = 300
MAX_NAME_CHARS, MAX_TEXT_CHARS = 80, 10_000
MAX_DEPTH = 10_000
FIELDS = ("name", "text", "position", "depth", "role", "lorebook")
DONE = {
    "saved": "Saved.",
    "merged": "Saved. The persona had changed meanwhile: it has both changes.",
    "gone": "The persona is removed.",
    "chosen": "It takes effect from the next reply on.",
}


class PersonaPages:
    """The routes under `/personas`."""

    def __init__(
        self, familiar: Familiar, chats: WebChats, renderer: PageRenderer, reload: asyncio.Event | None
    ) -> None:
        """*reload* has the familiar loaded again; without it that happens when the program is started again."""
        self._familiar = familiar
        self._chats = chats
        self._renderer = renderer
        self._reload = reload
        self._folder = FamiliarFolder(familiar.root)

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/personas", self.list_personas, "GET"),
            ("/personas/chat", self.choose, "POST"),
            ("/personas/one", self.edit, "GET"),
            ("/personas/one", self.save, "POST"),
        )
        return make_routes(handlers, self._renderer)

    def _read(self) -> list[NamedPersona]:
        """The personas as the files have them now."""
        profile = self._folder.profile.settings_file
        found = load_character_config(self._folder.settings_file, defaults_path=profile if profile.exists() else None)
        return found.personas

    async def list_personas(self, request: Request) -> Response:
        done, chat = DONE.get(request.query_params.get("done", ""), ""), read_number(request, "chat")
        return await off_loop(self._list, done, chat)

    def _list(self, done: str, here: int | None) -> Response:
        """The list; the chat *here* is the one that somebody comes from."""
        channels, personas = self._familiar.channel_configs, self._read()
        chosen = [(chat, channels.get(chat.channel_id).place.persona) for chat in self._chats.all()]
        return self._renderer.page(
            "personas.html",
            title="Personas",
            personas=personas,
            from_chat=here,
            faces={each.name: self._chats.person_pictures.url_of(each.name) for each in personas},
            in_force=personas == self._familiar.config.personas,
            rooms=chosen[:MOST_CHATS],
            locked=[(chat, name) for chat, name in chosen if name][:MOST_CHATS],
            own=self._chats.own_name(),
            own_text=self._chats.persona(),
            done=done,
            loads_again=self._reload is not None,
        )

    async def choose(self, request: Request) -> Response:
        """Have one of them speak in a chat."""
        fields = await read_form(request)
        return await off_loop(self._choose, fields.get("chat", ""), fields.get("name", "")[:MAX_NAME_CHARS])

    def _choose(self, number: str, name: str) -> Response:
        chat = next((each for each in self._chats.all() if str(each.channel_id) == number), None)
        if chat is None or (name and all(each.name != name for each in self._read())):
            raise ConfigError("there is no such chat or persona any more; choose another one")
        self._familiar.channel_configs.set_persona(chat.channel_id, name or None)
        return redirect("/personas?done=chosen")

    async def edit(self, request: Request) -> Response:
        """A form with one persona, or a new one."""
        return await off_loop(self._edit, request.query_params.get("name", "")[:MAX_NAME_CHARS])

    def _edit(self, name: str) -> Response:
        fields = persona_fields(self._find(name) if name else NamedPersona(name=""))
        return self._form(name, fields, fields)

    def _find(self, name: str) -> NamedPersona:
        found = next((each for each in self._read() if each.name == name), None)
        if found is None:
            raise ConfigError("there is no such persona any more; Personas lists those there are")
        return found

    def _form(
        self,
        called: str,
        fields: dict[str, str],
        was: dict[str, str],
        *,
        clashes: dict[str, str] | None = None,
        problem: str = "",
    ) -> Response:
        return self._renderer.page(
            "persona_form.html",
            status=409 if clashes else 400 if problem else 200,
            title=fields["name"] or "New persona",
            called=called,
            own_picture=self._chats.person_pictures.url_of(called) if called else None,
            fields=fields,
            was=form_state(was),
            clashes=clashes or {},
            problem=problem,
            positions=PERSONA_POSITIONS,
            roles=ROLES,
        )

    async def save(self, request: Request) -> Response:
        """Write one persona, or take it out."""
        sent = await read_form(request)
        answer, done = await off_loop(self._save, sent)
        if done and self._reload is not None:
            self._reload.set()
        return answer

    def _save(self, sent: dict[str, str]) -> tuple[Response, bool]:
        """The answer, and whether anything was written."""
        called, every = sent.get("called", "")[:MAX_NAME_CHARS], self._read()
        if sent.get("action") == "delete":
            self._find(called)
            self._write([each for each in every if each.name != called])
            self._chats.person_pictures.remove(called)
            return redirect("/personas?done=gone"), True
        mine = {name: sent.get(name, "").replace("\r\n", "\n").strip() for name in FIELDS}
        there, merged = mine, merge_fields(mine, mine, mine)
        if called:
            there, was = persona_fields(self._find(called)), read_form_state(sent.get("was", ""))
            if was is None:
                raise ConfigError("the form does not say which text it started from: open it again")
            merged = merge_fields(was, mine, there, texts={"text"})
        if merged.conflicts:
            clashes = {name: there[name] for name in merged.conflicts}
            return self._form(called, merged.fields, there, clashes=clashes), False
        try:
            made = _read_persona(merged.fields, [each.name for each in every if each.name != called])
            listed = [made if each.name == called else each for each in every] if called else [*every, made]
            self._write(listed)
        except ConfigError as error:  # what was written stays in the form
            return self._form(called, mine, there, problem=str(error)), False
        if called and called != made.name:
            self._follow(called, made.name)
        return redirect(f"/personas?done={'merged' if merged.is_merged else 'saved'}"), True

    def _write(self, personas: list[NamedPersona]) -> None:
        if len(personas) > MAX_PERSONAS:
            raise ConfigError(f"there are at most {MAX_PERSONAS} personas; remove one first")
        profile = self._folder.profile.settings_file
        rows = [_row(each) for each in personas]
        write_setting(
            self._folder.settings_file,
            find_setting("personas"),
            rows or None,
            defaults_path=profile if profile.exists() else None,
        )

    def _follow(self, before: str, name: str) -> None:
        """Let the chats in which a persona speaks know it by its new name."""
        channels = self._familiar.channel_configs
        for chat in self._chats.all():
            if channels.get(chat.channel_id).place.persona == before:
                channels.set_persona(chat.channel_id, name)
        self._chats.person_pictures.rename(before, name)


def persona_fields(persona: NamedPersona) -> dict[str, str]:
    """A persona as a form shows it."""
    return {name: str(getattr(persona, name)) for name in FIELDS}


def _read_persona(fields: dict[str, str], taken: list[str]) -> NamedPersona:
    name, depth = one_line(fields["name"]).strip(), fields["depth"] or "2"
    if not name or len(name) > MAX_NAME_CHARS or name in taken:
        raise ConfigError("another persona has this name" if name in taken else "a persona needs a name")
    if len(fields["text"]) > MAX_TEXT_CHARS:
        raise ConfigError(f"who you are has at most {MAX_TEXT_CHARS:,} characters")
    if not (depth.isascii() and depth.isdigit() and int(depth[:9]) <= MAX_DEPTH):
        raise ConfigError(f"Depth must be a whole number from 0 to {MAX_DEPTH:,}")
    if fields["position"] not in PERSONA_POSITIONS or fields["role"] not in ROLES:
        raise ConfigError("the position or the role is none of the choices there are")
    return NamedPersona(
        name=name,
        text=fields["text"],
        position=fields["position"],
        depth=int(depth),
        role=fields["role"],
        lorebook=one_line(fields["lorebook"]).strip(),
    )


def _row(persona: NamedPersona) -> dict[str, str | int]:
    """A persona as `character.toml` has it; what is as usual is left out."""
    usual = NamedPersona(name="")
    rest = {name: getattr(persona, name) for name in FIELDS[2:] if getattr(persona, name) != getattr(usual, name)}
    return {"name": persona.name, "text": persona.text, **rest}
