"""SettingsPages: every setting with its value, origin and sentence; changed with the same checks as the file.

And the model: servers on this computer, found and chosen in a form, as `familiar connect` does it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.config.consent import OwnerConsent
from familiar_connect.config.edit import find_setting, parse_setting, write_setting
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.load import EffectiveSetting, default_settings, explain_character_config
from familiar_connect.config.settings import Key
from familiar_connect.config.toml import toml_literal
from familiar_connect.errors import ConfigError, FamiliarError
from familiar_connect.familiar import Familiar
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.own_program import OwnProgram
from familiar_connect.platforms.web.render import PageRenderer, make_routes, read_form, redirect
from familiar_connect.support.aio import off_loop

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

MAX_WORD_CHARS = 200
MAX_ANSWER_CHARS = 500
CONNECT_TIMEOUT_S = 360.0
"""A server on this computer may load its model first."""
ORIGINS = {"default": "the default", "familiar": "this familiar's file", "profile": "the file for all familiars"}
TOP = "At the top of the file"
LIVE = frozenset({"user_name", "user_persona"})
"""Settings that are read anew for each reply."""
_KEY_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
_MAIN_MODEL = "llm.main_prose.model"


@dataclass(frozen=True, kw_only=True)
class ShownSetting:
    """One setting as the page shows it."""

    name: str
    section: str
    label: str
    value: str
    """As TOML writes it; empty for none."""
    origin: str
    meaning: str
    must_be: str
    usual: str
    """Its default, as TOML writes it."""
    example: str
    choices: tuple[str, ...]
    is_own: bool
    """Whether it stands in the familiar's own file."""
    is_changed: bool
    in_force: str | None
    """What counts until the next start, as TOML writes it, where the file says otherwise by now."""
    is_live: bool
    """Whether a change counts at once."""


class SettingsPages:
    """The routes under `/settings` and `/connect`."""

    def __init__(
        self,
        familiar: Familiar,
        renderer: PageRenderer,
        program: OwnProgram,
        chats: WebChats,
        at_start: Mapping[str, str],
    ) -> None:
        """*at_start* is what counts until the program is started again, as `read_settings` reads it."""
        self._familiar = familiar
        self._renderer = renderer
        self._program = program
        self._chats = chats
        self._at_start = at_start
        self._file = FamiliarFolder(familiar.root).settings_file

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/settings", self.list_all, "GET"),
            ("/settings/edit", self.edit, "GET"),
            ("/settings/edit", self.save, "POST"),
            ("/connect", self.show_connect, "GET"),
            ("/connect", self.connect, "POST"),
        )
        return make_routes(handlers, self._renderer)

    @property
    def _profile(self) -> Path | None:
        profile = FamiliarFolder(self._familiar.root).profile.settings_file
        return profile if profile.exists() else None

    async def list_all(self, request: Request) -> Response:
        """All settings, or those whose name or sentence holds a word, or only those that were changed."""
        wanted = request.query_params.get("q", "")[:MAX_WORD_CHARS].strip()
        only_changed = request.query_params.get("changed") == "1"
        return await off_loop(self._list, wanted, only_changed, request.query_params.get("done", "")[:MAX_WORD_CHARS])

    def _list(self, wanted: str, only_changed: bool, done: str) -> Response:
        word = wanted.casefold()
        shown = [
            each
            for each in self._shown()
            if (word in f"{each.name} {each.meaning}".casefold()) and (each.is_changed or not only_changed)
        ]
        sections: dict[str, list[ShownSetting]] = {}
        for each in shown:
            sections.setdefault(each.section, []).append(each)
        known = {each.name for each in self._shown()}
        return self._renderer.page(
            "settings.html",
            title="Settings",
            sections=sections,
            wanted=wanted,
            only_changed=only_changed,
            is_narrow=bool(wanted or only_changed),
            done=done if done in known else "",
            file=self._file,
            waiting=[each.name for each in self._shown() if each.in_force is not None],
            model=next((each.value for each in self._shown() if each.name == _MAIN_MODEL), ""),
        )

    def _shown(self) -> list[ShownSetting]:
        usual = {each.key: each.value for each in default_settings()}
        found = explain_character_config(self._file, defaults_path=self._profile)
        return [_shown(each, find_setting(each.key), usual.get(each.key), self._at_start) for each in found]

    async def edit(self, request: Request) -> Response:
        """One setting, to change."""
        return await off_loop(self._edit, request.query_params.get("key", "")[:MAX_WORD_CHARS], None, "")

    def _edit(self, name: str, words: str | None, problem: str) -> Response:
        found = next((each for each in self._shown() if each.name == name), None)
        if found is None:
            raise ConfigError("there is no such setting; Settings lists them all")
        return self._renderer.page(
            "setting.html",
            status=400 if problem else 200,
            title=name,
            setting=found,
            words=found.value if words is None else words,
            problem=problem,
            file=self._file,
        )

    async def save(self, request: Request) -> Response:
        """Write it, or take it out of the file."""
        fields = await read_form(request)
        name, words = fields.get("key", "")[:MAX_WORD_CHARS], fields.get("value", "")
        return await off_loop(self._save, name, None if fields.get("action") == "reset" else words)

    def _save(self, name: str, words: str | None) -> Response:
        key = find_setting(name)
        try:
            value = None if words is None or not words.strip() else parse_setting(key, words, self._file)
            write_setting(self._file, key, value, defaults_path=self._profile)
            self._allow(name, value)
            self._apply(name, value)
        except ConfigError as error:
            shown = words if key.rule.may_show else ""  # somebody may have pasted a key
            return self._edit(name, shown, str(error))
        return redirect(f"/settings?done={name}&q={name}")

    def _allow(self, name: str, value: object) -> None:
        """What the owner sets here counts without another question."""
        folder = FamiliarFolder(self._file.parent)
        consent = OwnerConsent(folder.home.root, folder.root.name)
        for asked in consent.missing_settings({name: value} if value is not None else {}):
            consent.allow_setting(asked.key, asked.value)

    def _apply(self, name: str, value: object) -> None:
        """Let a setting that counts at once do so."""
        if name == "user_persona":
            self._chats.change_person(self._chats.own_name(), str(value or ""))
        elif name == "user_name" and value:
            self._chats.change_person(str(value), self._chats.persona())

    async def show_connect(self, request: Request) -> Response:
        """The model that answers, and a form for another; with *look*, what there is on this computer."""
        servers = None
        if request.query_params.get("look") == "1":
            port = request.query_params.get("port", "")
            more = ["--port", port] if port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65_536 else []
            servers = _read_servers(await self._program.read_json("connect", "--list", "--json", *more))
        chosen = {name: request.query_params.get(name, "")[:MAX_WORD_CHARS] for name in ("url", "model")}
        return await off_loop(self._connect_form, servers, chosen, "", "")

    def _connect_form(
        self, servers: list[tuple[str, str, list[str]]] | None, chosen: dict[str, str], problem: str, done: str
    ) -> Response:
        settings = {each.name: each.value for each in self._shown()}
        return self._renderer.page(
            "connect.html",
            status=400 if problem else 200,
            title="Model",
            model=settings.get(_MAIN_MODEL, ""),
            address=settings.get("llm.main_prose.base_url", ""),
            servers=servers,
            chosen=chosen,
            problem=problem,
            done=done,
        )

    async def connect(self, request: Request) -> Response:
        """Ask the model for a word, keep the key, write the setting: `familiar connect`."""
        fields = await read_form(request)
        chosen = {name: fields.get(name, "").strip()[:MAX_WORD_CHARS] for name in ("url", "model", "key_name")}
        try:
            done = await self._connect(chosen, fields.get("key", "").strip(), for_all=fields.get("for") == "all")
        except FamiliarError as error:
            return await off_loop(self._connect_form, None, chosen, str(error), "")
        return await off_loop(self._connect_form, None, {}, "", done)

    async def _connect(self, chosen: dict[str, str], key: str, *, for_all: bool) -> str:
        name = chosen["key_name"]
        if not chosen["model"] or not chosen["url"]:
            raise ConfigError("an address and the name of a model are needed")
        if key and not _KEY_NAME.fullmatch(name):
            raise ConfigError("a key is kept under a name in capitals, such as MY_KEY: give one")
        if any(value.startswith("-") for value in chosen.values()):
            raise ConfigError("an address, a model or a name does not begin with a dash")
        words = ["connect", "--url", chosen["url"], "--model", chosen["model"], "--json"]
        words += ["--key-env", name] if name else []
        words += [] if for_all else ["--familiar", self._familiar.id]
        variables = {name: key} if key else None
        found = await self._program.read_json(*words, variables=variables, timeout_s=CONNECT_TIMEOUT_S)
        if key:
            await self._program.read_json("keys", "set", name, given=key)
        said = str(found.get("answer", ""))[:MAX_ANSWER_CHARS] if isinstance(found, dict) else ""
        return said or "(nothing, but it works)"


def read_settings(root: Path) -> dict[str, str]:
    """Every setting of the familiar in *root* as its files say it now, as TOML writes it."""
    folder = FamiliarFolder(root)
    profile = folder.profile.settings_file
    found = explain_character_config(folder.settings_file, defaults_path=profile if profile.exists() else None)
    return {each.key: toml_literal(each.value) for each in found}


def _shown(each: EffectiveSetting, key: Key, usual: object, at_start: Mapping[str, str]) -> ShownSetting:
    section = ".".join(key.path[:-1])
    value, is_live = toml_literal(each.value), each.key in LIVE
    counts = value if is_live else at_start.get(each.key, value)
    return ShownSetting(
        name=each.key,
        section=section or TOP,
        label=key.path[-1],
        value=value,
        in_force=counts if counts != value else None,
        is_live=is_live,
        origin=_origin(each.source),
        meaning=key.meaning,
        must_be=key.rule.says,
        usual=toml_literal(usual),
        example=key.example,
        choices=key.rule.choices,
        is_own=each.source == "familiar",
        is_changed=each.source != "default" and each.value != usual,
    )


def _origin(source: str) -> str:
    label, _, section = source.partition(" ")
    where = ORIGINS.get(label, label)
    return f"{where}, {section}" if section else where


def _read_servers(found: object) -> list[tuple[str, str, list[str]]]:
    """Kind, address and models of each server that `connect --list` found."""
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    return [
        (str(row.get("kind", "")), str(row.get("base_url", "")), [str(model) for model in row.get("models") or ()])
        for row in rows
    ]
