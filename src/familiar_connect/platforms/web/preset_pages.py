"""PresetPages: which preset is in force, its samplers, its prompts in their order, on or off, and the text of one.

What is saved is the preset's own file, which SillyTavern reads too; switches stand beside it, as `/preset toggle` sets
them. Everything counts from the next reply on.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import FamiliarError, PresetError
from familiar_connect.familiar import Familiar
from familiar_connect.memory.maintenance.field_merge import MergedFields, form_state, merge_fields, read_form_state
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.render import PageRenderer, make_routes, read_form, redirect
from familiar_connect.presets.effect import takes_text, why_no_effect
from familiar_connect.presets.load import is_no_preset, safe_preset_name
from familiar_connect.presets.preset_edits import (
    PROMPT_FIELDS,
    SAMPLERS,
    plain_document,
    prompt_fields,
    sampler_texts,
    with_move,
    with_new_prompt,
    with_prompt,
    with_samplers,
    without_prompt,
)
from familiar_connect.presets.prompt_order import nodes_of, prompts_of
from familiar_connect.presets.store import PresetStore
from familiar_connect.presets.types import PresetFidelity, PresetNode
from familiar_connect.support.aio import off_loop
from familiar_connect.support.tokens import estimate_tokens

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

MAX_NAME_CHARS = 300
MOST_LISTED = 300
LABELS = {name: label for name, label, _ in SAMPLERS}
TEXTS = frozenset({"content"})
STEPS = {"up": -1, "down": 1}
DONE = {
    "saved": "Saved. It takes effect from the next reply on.",
    "merged": "Saved. The file had changed meanwhile: it has both changes.",
    "chosen": "It takes effect from the next reply on.",
    "begun": "The preset is made. It takes effect once you use it.",
    "deleted": "The preset is deleted; its file is kept as a version.",
    "gone": "The prompt is removed; the earlier file is kept as a version.",
}


class PresetPages:
    """The routes under `/presets`."""

    def __init__(self, familiar: Familiar, chats: WebChats, renderer: PageRenderer) -> None:
        self._familiar = familiar
        self._chats = chats
        self._renderer = renderer
        self._store = PresetStore(FamiliarFolder(familiar.root).presets)

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/presets", self.show, "GET"),
            ("/presets/new", self.begin, "POST"),
            ("/presets/delete", self.delete, "POST"),
            ("/presets/use", self.use, "POST"),
            ("/presets/chat", self.use_in_chat, "POST"),
            ("/presets/samplers", self.save_samplers, "POST"),
            ("/presets/order", self.change_order, "POST"),
            ("/presets/prompt", self.edit_prompt, "GET"),
            ("/presets/prompt", self.save_prompt, "POST"),
        )
        return make_routes(handlers, self._renderer)

    @property
    def _fidelity(self) -> PresetFidelity:
        return PresetFidelity(self._familiar.config.preset_fidelity)

    async def show(self, request: Request) -> Response:
        """The presets, and one of them: the one in force where none is named."""
        wanted = request.query_params.get("name", "")[:MAX_NAME_CHARS]
        return await off_loop(self._show, wanted, DONE.get(request.query_params.get("done", ""), ""))

    def _show(
        self, wanted: str, done: str = "", *, samplers: MergedFields | None = None, problem: str = ""
    ) -> Response:
        """*samplers* are those of a form that could not be saved."""
        active = self._store.active()
        name = self._store.find(wanted) if wanted else active
        document = self._store.document(name) if name is not None else {}
        there = sampler_texts(document)
        fields = samplers.fields if samplers is not None else there
        clashes = samplers.conflicts if samplers is not None else ()
        return self._renderer.page(
            "presets.html",
            status=409 if clashes else 400 if problem else 200,
            title="Presets",
            names=self._store.names()[:MOST_LISTED],
            active=active,
            shown=name,
            done=done,
            problem=problem,
            nodes=[self._row(node) for node in self._nodes(name)],
            samplers=[(each, LABELS[each], fields[each], there[each] if each in clashes else None) for each in LABELS],
            was=form_state(there),
            counts=self._familiar.config.preset_samplers,
            fidelity=self._fidelity.value,
            rooms=[
                (chat, self._familiar.channel_configs.get(chat.channel_id).preset) for chat in self._chats.all()[:200]
            ],
        )

    def _own_preset(self, channel_id: int) -> str | None:
        """What the chat has for itself; None where it has the familiar's."""
        return self._familiar.channel_configs.get(channel_id).preset

    def _nodes(self, name: str | None) -> tuple[PresetNode, ...]:
        return nodes_of(self._store.get(name), self._fidelity) if name is not None else ()

    def _row(self, node: PresetNode) -> dict[str, Any]:
        return {
            "id": node.identifier,
            "name": node.name or node.identifier,
            "on": node.is_enabled,
            "is_marker": node.is_marker,
            "where": f"in the chat, at depth {node.depth}" if node.position == 1 else "",
            "tokens": estimate_tokens(node.content) if not node.is_marker else 0,
        }

    async def begin(self, request: Request) -> Response:
        """A new preset: a copy of another one, or the plain one."""
        fields = await read_form(request)
        return await off_loop(self._begin, fields.get("name", "").strip(), fields.get("like", "")[:MAX_NAME_CHARS])

    def _begin(self, name: str, like: str) -> Response:
        if not name:
            raise PresetError("a preset needs a name")
        taken = {each.casefold() for each in self._store.names()}
        if safe_preset_name(name).casefold() in taken:
            raise PresetError("another preset has this name")
        before = self._store.active()
        raw = self._store.raw(self._store.find(like)) if like else json.dumps(plain_document(), indent=4).encode()
        made = self._store.import_bytes(name, raw, fidelity=self._fidelity).name
        self._store.use(before) if before is not None else self._store.use_none()
        return redirect(f"/presets?done=begun&name={quote(made, safe='')}")

    async def delete(self, request: Request) -> Response:
        """Take a preset away; its file is kept as a version."""
        return await off_loop(self._delete, (await read_form(request)).get("name", "")[:MAX_NAME_CHARS])

    def _delete(self, name: str) -> Response:
        name, active = self._store.find(name), self._store.active()
        self._store.delete(name)
        if name == active:
            self._store.use_none()
        return redirect("/presets?done=deleted")

    async def use(self, request: Request) -> Response:
        """Put a preset in force, or none."""
        name = (await read_form(request)).get("name", "")[:MAX_NAME_CHARS]
        return await off_loop(self._use, name)

    def _use(self, name: str) -> Response:
        if name:
            if why := why_no_effect(self._store.get(name), takes_text=takes_text(self._familiar.config)):
                raise PresetError(why)
            self._store.use(name)
        else:
            self._store.use_none()
        return redirect("/presets?done=chosen")

    async def use_in_chat(self, request: Request) -> Response:
        """Give one chat a preset of its own, none, or the familiar's again."""
        fields = await read_form(request)
        return await off_loop(self._use_in_chat, fields.get("chat", ""), fields.get("name", "")[:MAX_NAME_CHARS])

    def _use_in_chat(self, number: str, name: str) -> Response:
        chat = next((each for each in self._chats.all() if str(each.channel_id) == number), None)
        if chat is None:
            raise PresetError("there is no such chat any more; choose another one")
        channels = self._familiar.channel_configs
        if name.startswith("="):
            channels.set_preset(chat.channel_id, self._store.find(name[1:]))
        elif is_no_preset(name):
            channels.set_preset(chat.channel_id, None)
        else:
            channels.clear_preset(chat.channel_id)
        return redirect("/presets?done=chosen")

    async def save_samplers(self, request: Request) -> Response:
        sent = await read_form(request)
        return await off_loop(self._save_samplers, sent)

    def _save_samplers(self, sent: dict[str, str]) -> Response:
        name, mine = sent.get("name", "")[:MAX_NAME_CHARS], {each: sent.get(each, "").strip() for each in LABELS}
        was, merged = _was(sent), None

        def change(document: dict[str, Any]) -> dict[str, Any]:
            nonlocal merged
            merged = merge_fields(was, mine, sampler_texts(document))
            return document if merged.conflicts else with_samplers(document, merged.fields)

        try:
            self._store.edit(name, change)
        except PresetError as error:
            return self._show(name, samplers=MergedFields(fields=mine), problem=str(error))
        if merged is not None and merged.conflicts:
            return self._show(name, samplers=merged)
        return redirect(_address(name, "merged" if merged is not None and merged.is_merged else "saved"))

    async def change_order(self, request: Request) -> Response:
        """A prompt on or off, one place up or down."""
        fields = await read_form(request)
        name, identifier = fields.get("name", "")[:MAX_NAME_CHARS], fields.get("id", "")[:MAX_NAME_CHARS]
        return await off_loop(self._change_order, name, identifier, fields.get("action", ""))

    def _change_order(self, name: str, identifier: str, action: str) -> Response:
        if action in ("on", "off"):
            self._store.toggle(name, identifier, action == "on")
        elif action in STEPS:
            stem, fidelity = self._store.find(name), self._fidelity
            self._store.edit(name, lambda document: with_move(document, stem, fidelity, identifier, STEPS[action]))
        return redirect(f"{_address(name)}#order")

    async def edit_prompt(self, request: Request) -> Response:
        """A form with one prompt, or with a new one."""
        query = request.query_params
        name, identifier = query.get("name", "")[:MAX_NAME_CHARS], query.get("id", "")[:MAX_NAME_CHARS]
        return await off_loop(self._edit_prompt, name, identifier)

    def _edit_prompt(self, name: str, identifier: str) -> Response:
        name = self._store.find(name)
        fields = self._fields_of(name, identifier) if identifier else prompt_fields(PresetNode(identifier=""))
        return self._form(name, identifier, fields, fields)

    def _fields_of(self, name: str, identifier: str) -> dict[str, str]:
        node = prompts_of(self._store.get(name), PresetFidelity.sillytavern).get(identifier)
        if node is None or node.is_marker:
            raise PresetError("there is no such prompt to write any more; Presets lists those there are")
        return prompt_fields(node)

    def _form(
        self,
        name: str,
        identifier: str,
        fields: dict[str, str],
        was: dict[str, str],
        *,
        clashes: dict[str, str] | None = None,
        problem: str = "",
    ) -> Response:
        return self._renderer.page(
            "preset_prompt.html",
            status=409 if clashes else 400 if problem else 200,
            title=fields["name"] or "New prompt",
            name=name,
            identifier=identifier,
            fields=fields,
            was=form_state(was),
            clashes=clashes or {},
            problem=problem,
        )

    async def save_prompt(self, request: Request) -> Response:
        """Write one prompt, or take it out."""
        sent = await read_form(request)
        return await off_loop(self._save_prompt, sent)

    def _save_prompt(self, sent: dict[str, str]) -> Response:
        name = self._store.find(sent.get("name_of", "")[:MAX_NAME_CHARS])
        identifier, fidelity = sent.get("id", "")[:MAX_NAME_CHARS], self._fidelity
        mine = {each: sent.get(each, "").replace("\r\n", "\n") for each in PROMPT_FIELDS}
        if sent.get("action") == "delete":
            self._store.edit(name, lambda document: without_prompt(document, name, fidelity, identifier))
            return redirect(f"{_address(name, 'gone')}#order")
        there, merged = mine, MergedFields(fields=mine)
        if identifier:
            there = self._fields_of(name, identifier)
            merged = merge_fields(_was(sent), mine, there, texts=TEXTS)
        if merged.conflicts:
            clashes = {each: there[each] for each in merged.conflicts}
            return self._form(name, identifier, merged.fields, there, clashes=clashes)

        def change(document: dict[str, Any]) -> dict[str, Any]:
            if identifier:
                return with_prompt(document, identifier, merged.fields)
            return with_new_prompt(document, name, fidelity, merged.fields)

        try:
            self._store.edit(name, change)
        except FamiliarError as error:
            return self._form(name, identifier, mine, there, problem=str(error))
        return redirect(f"{_address(name, 'merged' if merged.is_merged else 'saved')}#order")


def _was(sent: dict[str, str]) -> dict[str, str]:
    found = read_form_state(sent.get("was", ""))
    if found is None:
        raise PresetError("the form does not say which text it started from: open it again")
    return found


def _address(name: str, done: str = "") -> str:
    return f"/presets?name={quote(name, safe='')}{f'&done={done}' if done else ''}"
