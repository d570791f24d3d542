"""SettingsPages: every setting with its value, origin and sentence; changed with the same checks as the file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.config.consent import OwnerConsent
from familiar_connect.config.edit import find_setting, parse_setting, write_setting
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.load import EffectiveSetting, default_settings, explain_character_config
from familiar_connect.config.secrets import Secrets
from familiar_connect.config.settings import Key
from familiar_connect.config.toml import toml_literal
from familiar_connect.errors import ConfigError
from familiar_connect.familiar import Familiar
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.page_models import PageModels, name_model
from familiar_connect.platforms.web.render import PageRenderer, make_routes, read_form, redirect
from familiar_connect.support.aio import off_loop

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

MAX_WORD_CHARS = 200
ORIGINS = {"default": "the default", "familiar": "this familiar's file", "profile": "the file for all familiars"}
TOP = "At the top of the file"
LIVE = frozenset({"user_name", "user_persona"})
"""Settings that are read anew for each reply."""
MODELS = "llm."
"""Settings of models begin so; they count from the next reply on."""


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


CHANGED = "This setting changed while the form was open: below is what you wrote, and what the file says now"


class SettingsPages:
    """The routes under `/settings`."""

    def __init__(
        self,
        familiar: Familiar,
        renderer: PageRenderer,
        chats: WebChats,
        models: PageModels,
        at_start: Mapping[str, str],
        reload: asyncio.Event | None,
    ) -> None:
        """*at_start* is what counts until the familiar is loaded again, as `read_settings` reads it; *reload* does so.

        Without *reload* that happens when the program is started again.
        """
        self._reload = reload
        self._familiar = familiar
        self._renderer = renderer
        self._chats = chats
        self._models = models
        self._at_start = at_start
        self._file = FamiliarFolder(familiar.root).settings_file

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/settings", self.list_all, "GET"),
            ("/settings/edit", self.edit, "GET"),
            ("/settings/edit", self.save, "POST"),
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
            model=name_model(self._familiar),
            keys=Secrets(FamiliarFolder(self._familiar.root).home.root).names_in_home(),
        )

    def _shown(self) -> list[ShownSetting]:
        usual = {each.key: each.value for each in default_settings()}
        found = explain_character_config(self._file, defaults_path=self._profile)
        is_loaded_again = self._reload is not None
        at_start = {} if is_loaded_again else self._at_start
        return [_shown(each, find_setting(each.key), usual.get(each.key), at_start) for each in found]

    async def edit(self, request: Request) -> Response:
        """One setting, to change."""
        return await off_loop(self._edit, request.query_params.get("key", "")[:MAX_WORD_CHARS], None, "")

    def _edit(self, name: str, words: str | None, problem: str) -> Response:
        found = next((each for each in self._shown() if each.name == name), None)
        if found is None:
            raise ConfigError("there is no such setting; Settings lists them all")
        return self._renderer.page(
            "setting.html",
            status=409 if problem == CHANGED else 400 if problem else 200,
            title=name,
            setting=found,
            words=found.value if words is None else words,
            problem=problem,
            file=self._file,
            loads_again=self._reload is not None,
        )

    async def save(self, request: Request) -> Response:
        """Write it, or take it out of the file."""
        fields = await read_form(request)
        name, words = fields.get("key", "")[:MAX_WORD_CHARS], fields.get("value", "")
        wish = None if fields.get("action") == "reset" else words
        done, answer = await off_loop(self._save, name, wish, fields.get("was"))
        if done and name.startswith(MODELS):
            await self._models.reload()
        elif done and name not in LIVE and self._reload is not None:
            self._reload.set()
        return answer

    def _save(self, name: str, words: str | None, was: str | None) -> tuple[bool, Response]:
        """Whether it was written, and the page that says so. *was* is what the form began with."""
        key = find_setting(name)
        now = next((each.value for each in self._shown() if each.name == name), was)
        if was not in (None, now) and words != now:
            return False, self._edit(name, words, CHANGED)
        try:
            value = None if words is None or not words.strip() else parse_setting(key, words, self._file)
            write_setting(self._file, key, value, defaults_path=self._profile)
            self._allow(name, value)
            self._apply(name, value)
        except ConfigError as error:
            shown = words if key.rule.may_show else ""  # somebody may have pasted a key
            return False, self._edit(name, shown, str(error))
        return True, redirect(f"/settings?done={name}&q={name}")

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


def read_settings(root: Path) -> dict[str, str]:
    """Every setting of the familiar in *root* as its files say it now, as TOML writes it."""
    folder = FamiliarFolder(root)
    profile = folder.profile.settings_file
    found = explain_character_config(folder.settings_file, defaults_path=profile if profile.exists() else None)
    return {each.key: toml_literal(each.value) for each in found}


def _shown(each: EffectiveSetting, key: Key, usual: object, at_start: Mapping[str, str]) -> ShownSetting:
    section = ".".join(key.path[:-1])
    value, is_live = toml_literal(each.value), each.key in LIVE or each.key.startswith(MODELS)
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
