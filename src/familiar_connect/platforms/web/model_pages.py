"""ModelPages: which model answers, and another one: on this computer, to download, of a server, at any address.

Each is chosen with one button, is tried first, counts from the next reply on and stands in the settings afterwards.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from familiar_connect.config.llm import EMBEDDED_MODEL, MAIN_SLOT
from familiar_connect.errors import ConfigError, FamiliarError
from familiar_connect.familiar import Familiar
from familiar_connect.llm.local.discovery import LocalServer, find_local_servers
from familiar_connect.platforms.web.own_program import OwnProgram
from familiar_connect.platforms.web.page_models import ModelWish, PageModels, name_model
from familiar_connect.platforms.web.render import (
    PageRenderer,
    answer_json,
    is_script,
    make_routes,
    read_form,
    redirect,
)
from familiar_connect.support.aio import off_loop

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

MAX_WORD_CHARS = 200
MAX_ANSWER_CHARS = 500
CONNECT_TIMEOUT_S = 360.0
"""A server on this computer may load its model first."""
_KEY_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
_CHAT = re.compile(r"[0-9]{1,18}")


class ModelPages:
    """The routes under `/connect`."""

    def __init__(self, familiar: Familiar, models: PageModels, program: OwnProgram, renderer: PageRenderer) -> None:
        self._familiar = familiar
        self._models = models
        self._program = program
        self._renderer = renderer

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/connect", self.show, "GET"),
            ("/connect", self.connect, "POST"),
            ("/connect/use", self.use, "POST"),
            ("/connect/offer", self.show_offer, "GET"),
            ("/connect/offer", self.answer_offer, "POST"),
        )
        return make_routes(handlers, self._renderer)

    async def show(self, request: Request) -> Response:
        """What answers, what else there is on this computer, and a form for any other address."""
        chosen = {name: request.query_params.get(name, "")[:MAX_WORD_CHARS] for name in ("url", "model")}
        return await off_loop(self._page, _read_ports(request), chosen, "", "")

    def _page(self, ports: tuple[int, ...], chosen: dict[str, str], problem: str, done: str) -> Response:
        slot = self._familiar.config.llm[MAIN_SLOT]
        rows, free = self._models.rows(self._familiar)
        servers = find_local_servers(ports)
        return self._renderer.page(
            "models.html",
            status=400 if problem else 200,
            title="Model",
            model=name_model(self._familiar),
            address="" if slot.is_embedded else slot.address or "",
            rows=rows,
            free=free,
            servers=servers,
            used=_used_at_server(servers, slot.model, slot.base_url),
            ports=ports,
            chosen=chosen,
            problem=problem,
            done=done,
            offer=self._models.read_offer(self._familiar),
            is_asking=self._models.is_asking(self._familiar),
            chat="",
        )

    async def use(self, request: Request) -> Response:
        """Get a model of this computer, or of a server here, and let it answer. The page shows how far it is."""
        fields = await read_form(request)
        model, address = fields.get("model", "")[:MAX_WORD_CHARS], request.query_params.get("server", "")
        if address:
            found = await off_loop(self._models.find_at_server, address, model, _read_ports(request))
        else:
            found = await off_loop(self._models.find_model, model)
        for_all = fields.get("for") == "all"
        self._models.choose(ModelWish(upgrade=found, here=self._familiar.id, for_all=for_all))
        return answer_json({"begun": True}, status=202) if is_script(request) else redirect("/connect#now")

    # The line about it, above a chat and on this page

    async def show_offer(self, request: Request) -> Response:
        """What is offered, under way or over, as a piece of a page."""
        return await off_loop(self._offer, request.query_params.get("chat", ""))

    def _offer(self, chat: str) -> Response:
        known = chat if _CHAT.fullmatch(chat) else ""
        return self._renderer.page(
            "model_offer.html",
            offer=self._models.read_offer(self._familiar),
            model=name_model(self._familiar, int(known) if known else None),
            chat=known,
        )

    async def answer_offer(self, request: Request) -> Response:
        """Yes, not now, never, ask again; or an end to what is under way."""
        fields = await read_form(request)
        answer, models = fields.get("answer", ""), self._models
        if answer == "yes":
            models.accept(fields.get("name", ""), self._familiar.id)
        elif answer == "no":
            models.dismiss()
        elif answer == "never":
            await models.refuse()
        elif answer == "ask":
            await models.ask_again()
        elif answer == "stop":
            await models.stop()
        if is_script(request):
            return answer_json({"done": True})
        chat = fields.get("chat", "")
        return redirect(f"/chats/{chat}" if _CHAT.fullmatch(chat) else "/connect#now")

    # Any other address

    async def connect(self, request: Request) -> Response:
        """Ask the model for a word, keep the key, write the setting: `familiar connect`."""
        fields = await read_form(request)
        chosen = {name: fields.get(name, "").strip()[:MAX_WORD_CHARS] for name in ("url", "model", "key_name")}
        try:
            done = await self._connect(chosen, fields.get("key", "").strip(), for_all=fields.get("for") == "all")
        except FamiliarError as error:
            return await off_loop(self._page, (), chosen, str(error), "")
        return await off_loop(self._page, (), {}, "", done)

    async def _connect(self, chosen: dict[str, str], key: str, *, for_all: bool) -> str:
        name = chosen["key_name"]
        if not chosen["model"] or not chosen["url"]:
            raise ConfigError("an address and the name of a model are needed")
        if key and not _KEY_NAME.fullmatch(name):
            raise ConfigError("a key is kept under a name in capitals, such as MY_KEY: give one")
        if any(value.startswith("-") for value in chosen.values()):
            raise ConfigError("an address, a model or a name does not start with a dash")
        words = ["connect", "--url", chosen["url"], "--model", chosen["model"], "--json"]
        words += ["--key-env", name] if name else []
        words += [] if for_all else ["--familiar", self._familiar.id]
        variables = {name: key} if key else None
        found = await self._program.read_json(*words, variables=variables, timeout_s=CONNECT_TIMEOUT_S)
        if key:
            await self._program.read_json("keys", "set", name, given=key)
        facts = found if isinstance(found, dict) else {}
        base_url, key_name = (facts.get(each) or None for each in ("base_url", "api_key_env"))
        await self._models.use_written(
            self._familiar.id, str(facts.get("model") or chosen["model"]), base_url, key_name
        )
        return str(facts.get("answer", ""))[:MAX_ANSWER_CHARS] or "(nothing, but it works)"


def _read_ports(request: Request) -> tuple[int, ...]:
    """A port to look at besides the usual ones, where the address names one."""
    port = request.query_params.get("port", "")
    return (int(port),) if port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65_536 else ()


def _used_at_server(servers: list[LocalServer], model: str, base_url: str | None) -> tuple[str, str]:
    """Address and model that answer now, where a server on this computer has them."""
    is_there = any(each.base_url == base_url and model in each.models for each in servers)
    return (base_url or "", model) if is_there and model != EMBEDDED_MODEL else ("", "")
