"""RegexPages: the scripts that rewrite text: which are on, the owner's own to write, and what one makes of a text.

The owner's own stand in `regex.json`, in SillyTavern's form, which any editor changes too. Whoever switches one on here
or writes it allows it by that; what a card or a preset brings is only switched.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from familiar_connect.config.consent import OwnerConsent
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import PresetError
from familiar_connect.familiar import Familiar
from familiar_connect.memory.card_fields import CardReader
from familiar_connect.memory.maintenance.field_merge import form_state, merge_fields, read_form_state
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.render import PageRenderer, make_routes, read_form, redirect
from familiar_connect.presets.macros.types import MacroContext
from familiar_connect.presets.regex_edits import DEPTHS, PLACES, TEXTS, read_script_form, script_fields, script_with
from familiar_connect.presets.regex_scripts import KEPT_REPLY, PLACEMENT_NAMES, Placement, read_scripts, rewrite_text
from familiar_connect.presets.regex_store import RegexStore, script_fingerprint
from familiar_connect.presets.regex_summary import describe_script, script_state
from familiar_connect.presets.store import PresetStore
from familiar_connect.presets.types import RegexScript
from familiar_connect.support.aio import off_loop

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

MAX_KEY_CHARS = 200
MAX_TRIED_CHARS = 20_000
NUMBERED = "#"
"""Begins the key of a script that has no id of its own: behind it stands its place in the file."""
NEW_SCRIPT = {"placement": [int(Placement.ai_output)], "markdownOnly": False, "promptOnly": False}
ORIGINS = {"own": "your own", "card": "of the card", "preset": "of the preset in force"}
DONE = {
    "saved": "Saved. It takes effect from the next message on.",
    "merged": "Saved. The script had changed meanwhile: it has both changes.",
    "gone": "The script is removed.",
}


class RegexPages:
    """The routes under `/regex`."""

    def __init__(self, familiar: Familiar, chats: WebChats, renderer: PageRenderer) -> None:
        folder = FamiliarFolder(familiar.root)
        self._familiar = familiar
        self._chats = chats
        self._renderer = renderer
        self._card = CardReader(familiar.memory_store, familiar.id)
        self._presets = PresetStore(folder.presets)
        self._consent = OwnerConsent(folder.home.root, familiar.id)
        self._store = RegexStore(folder.regex_file, self._consent)

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/regex", self.list_scripts, "GET"),
            ("/regex/switch", self.switch, "POST"),
            ("/regex/script", self.edit, "GET"),
            ("/regex/script", self.save, "POST"),
        )
        return make_routes(handlers, self._renderer)

    def _all(self) -> tuple[RegexScript, ...]:
        preset = self._presets.lookup(None)
        return self._store.list(self._card.regex_scripts(), preset.scripts if preset is not None else ())

    async def list_scripts(self, request: Request) -> Response:
        """Every script in the order they run, with whether it is on."""
        return await off_loop(self._list, DONE.get(request.query_params.get("done", ""), ""))

    def _list(self, done: str) -> Response:
        keys = {script_name(each): key for key, each in self._own().items()}
        rows = [
            {
                "number": number,
                "name": script.name,
                "key": keys.get(script.name, "") if script.origin == "own" else "",
                "origin": ORIGINS.get(script.origin, script.origin),
                "state": script_state(script),
                "on": not script.is_off,
                "what": describe_script(script),
            }
            for number, script in enumerate(self._all())
        ]
        return self._renderer.page("regex.html", title="Regex", scripts=rows, done=done)

    def _own(self) -> dict[str, dict[str, Any]]:
        """The owner's scripts by what the page calls them."""
        return {_key(number, each): each for number, each in enumerate(self._store.own())}

    async def switch(self, request: Request) -> Response:
        """One script on or off; who switches one on allows it."""
        fields = await read_form(request)
        return await off_loop(self._switch, fields.get("number", ""), fields.get("name", ""), fields.get("on") == "1")

    def _switch(self, number: str, name: str, on: bool) -> Response:
        scripts = self._all()
        at = int(number) if number.isascii() and number.isdigit() and len(number) < 6 else len(scripts)
        if at >= len(scripts) or scripts[at].name != name:
            raise PresetError("the scripts changed meanwhile, so nothing was switched: look at the list again")
        if on:
            self._consent.allow_scripts({script_fingerprint(scripts[at]): scripts[at].name})
        self._store.switch(scripts[at], on=on)
        return redirect("/regex?done=saved")

    async def edit(self, request: Request) -> Response:
        """A form with one of the owner's scripts, or a new one; with a text, what the script makes of it."""
        query = request.query_params
        return await off_loop(self._edit, query.get("id", "")[:MAX_KEY_CHARS], query.get("text", "")[:MAX_TRIED_CHARS])

    def _edit(self, key: str, tried: str) -> Response:
        script = self._find(key) if key else dict(NEW_SCRIPT)
        fields = script_fields(script)
        made = self._try(script, tried) if tried else ""
        return self._form(key, fields, fields, tried=tried, made=made)

    def _find(self, key: str) -> dict[str, Any]:
        found = self._own().get(key)
        if found is None:
            raise PresetError("there is no such script any more; Regex lists those there are")
        return found

    def _try(self, script: dict[str, Any], text: str) -> str:
        """*text* as the script leaves it, whatever it is for and whether it is on."""
        read = read_scripts([script], origin="own")
        anyhow = [
            replace(
                each,
                is_off=False,
                is_display_only=False,
                is_prompt_only=False,
                placements=(int(Placement.ai_output),),
                min_depth=None,
                max_depth=None,
            )
            for each in read
        ]
        context = MacroContext(char=self._familiar.name, user=self._chats.person().label)
        return rewrite_text(text.replace("\r\n", "\n"), anyhow, KEPT_REPLY, context)

    def _form(
        self,
        key: str,
        fields: dict[str, str],
        was: dict[str, str],
        *,
        clashes: dict[str, str] | None = None,
        problem: str = "",
        tried: str = "",
        made: str = "",
    ) -> Response:
        return self._renderer.page(
            "regex_script.html",
            status=409 if clashes else 400 if problem else 200,
            title=fields["scriptName"] or "New script",
            key=key,
            fields=fields,
            was=form_state(was),
            clashes=clashes or {},
            problem=problem,
            tried=tried,
            made=made,
            changes=[(name, PLACEMENT_NAMES[number]) for name, number in PLACES.items()],
            depths=DEPTHS,
        )

    async def save(self, request: Request) -> Response:
        """Write one of the owner's scripts, or take it out."""
        sent = await read_form(request)
        return await off_loop(self._save, sent)

    def _save(self, sent: dict[str, str]) -> Response:
        key, mine = sent.get("id", "")[:MAX_KEY_CHARS], read_script_form(sent)
        before = self._store.own()
        if sent.get("action") == "delete":
            self._find(key)
            self._keep([each for number, each in enumerate(before) if _key(number, each) != key], before)
            return redirect("/regex?done=gone")
        there, merged = mine, merge_fields(mine, mine, mine)
        script: dict[str, Any] = {"id": str(uuid.uuid4()), "placement": []}
        if key:
            script = self._find(key)
            there, was = script_fields(script), read_form_state(sent.get("was", ""))
            if was is None or (key.startswith(NUMBERED) and was.get("scriptName") != there["scriptName"]):
                raise PresetError("the scripts changed meanwhile, so nothing was saved: open the script again")
            merged = merge_fields(was, mine, there, texts=TEXTS)
        if merged.conflicts:
            clashes = {each: there[each] for each in merged.conflicts}
            return self._form(key, merged.fields, there, clashes=clashes)
        try:
            made = script_with(script, merged.fields)
        except PresetError as error:  # what was written stays in the form
            return self._form(key, mine, there, problem=str(error))
        made = self._with_switch(script, made)
        rest = [made if _key(number, each) == key else each for number, each in enumerate(before)]
        self._keep(rest if key else [*rest, made], before)
        self._consent.allow_scripts(
            {script_fingerprint(each): each.name for each in read_scripts([made], origin="own")}
        )
        return redirect(f"/regex?done={'merged' if merged.is_merged else 'saved'}")

    def _keep(self, scripts: list[dict[str, Any]], before: Any) -> None:
        if not self._store.replace_own(scripts, before=before):
            raise PresetError("the scripts changed meanwhile, so nothing was saved: open the script again")

    def _with_switch(self, script: dict[str, Any], made: dict[str, Any]) -> dict[str, Any]:
        """*made* on or off as *script* is, whose switch goes by its name."""
        if script.get("scriptName") in (None, made["scriptName"]):
            return made
        found = next((each for each in self._all() if each.origin == "own" and each.name == script_name(script)), None)
        return made if found is None else {**made, "disabled": found.is_off and not found.is_waiting}


def script_name(script: dict[str, Any]) -> str:
    """What a script is called in the list."""
    found = read_scripts([script], origin="own")
    return found[0].name if found else ""


def _key(number: int, script: dict[str, Any]) -> str:
    given = script.get("id")
    return given if isinstance(given, str) and given and not given.startswith(NUMBERED) else f"{NUMBERED}{number}"
