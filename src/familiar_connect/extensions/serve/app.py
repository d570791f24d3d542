"""ServeApp: the endpoint as an ASGI application. Every request passes its guard first, then its key, then a route."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping

from familiar_connect.api import Clock, SetupError
from familiar_connect.api.answering import (
    PageAddress,
    Receive,
    Scope,
    Send,
    limit_body,
    read_headers,
)
from familiar_connect.api.support import cancel_and_wait
from familiar_connect.extensions.serve.chat_request import (
    ChatRequest,
    RefusedRequest,
    read_chat_request,
    read_embedding_request,
)
from familiar_connect.extensions.serve.chats import ServedChats
from familiar_connect.extensions.serve.key_guard import MAX_BODY_BYTES, KeyGuard
from familiar_connect.extensions.serve.keys import AccessKey, KeyBook
from familiar_connect.extensions.serve.opened import OpenedFamiliars
from familiar_connect.extensions.serve.place import ServedPlace
from familiar_connect.extensions.serve.program_tools import ToolRequest
from familiar_connect.extensions.serve.wire import (
    CompletionForm,
    begin_events,
    end_events,
    form_embeddings,
    form_model,
    form_models,
    form_refusal,
    send_event,
    send_json,
    send_refusal,
)

logger = logging.getLogger(__name__)

BODY_WITHIN_S = 60.0
MAX_CALLING = 50
"""Replies of one key that wait for a tool at a time."""
NO_REPLY = "no reply came; the log of `familiar serve` says why"


class ServeApp:
    """The routes for those who may ask."""

    def __init__(self, familiars: OpenedFamiliars, keys: KeyBook, address: PageAddress, clock: Clock) -> None:
        self._familiars = familiars
        self._guard = KeyGuard(keys, address, clock)
        self._clock = clock
        self._calling: dict[str, list[tuple[ServedPlace, asyncio.Task[None]]]] = {}
        """Replies that wait for a tool which their program runs, by the key it comes with."""
        self._made = int(clock.now().timestamp())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        headers = read_headers(scope)
        try:
            key = await self._guard.let_in(scope, headers)
            await self._route(scope, receive, send, headers, key)
        except RefusedRequest as refused:
            await send_refusal(send, str(refused), status=refused.status, code=refused.code)
        except SetupError as error:
            await send_refusal(send, str(error), status=503, code="not_set_up")

    async def _route(
        self, scope: Scope, receive: Receive, send: Send, headers: Mapping[str, str], key: AccessKey
    ) -> None:
        asked = (str(scope["method"]), str(scope["path"]).rstrip("/"))
        if asked == ("GET", "/v1/models"):
            await send_json(send, form_models(await self._familiars.names(), self._made))
        elif asked[0] == "GET" and asked[1].startswith("/v1/models/"):
            name = asked[1].removeprefix("/v1/models/")
            if name not in await self._familiars.names():
                raise RefusedRequest(f"there is no familiar called {name[:80]!r}", status=404, code="model_not_found")
            await send_json(send, form_model(name, self._made))
        elif asked == ("POST", "/v1/chat/completions"):
            await self._complete(await _read_body(receive), receive, send, headers, key)
        elif asked == ("POST", "/v1/embeddings"):
            request = read_embedding_request(await _read_body(receive))
            vectors = await (await self._familiars.chats(request.model)).embed(request.texts)
            await send_json(send, form_embeddings(request.model, vectors, as_bytes=request.as_bytes))
        else:
            raise RefusedRequest(f"there is no {asked[0]} {asked[1][:80]} here", status=404, code="not_found")

    async def _complete(
        self, body: bytes, receive: Receive, send: Send, headers: Mapping[str, str], key: AccessKey
    ) -> None:
        request = read_chat_request(body, headers)
        chats = await self._familiars.chats(request.model)
        place, work = self._take_up(request, key) or await chats.answer(request, key)
        form = CompletionForm(f"chatcmpl-{secrets.token_hex(12)}", request.model, int(self._clock.now().timestamp()))
        answering = asyncio.create_task(_write_answer(send, place, work, form, streams=request.streams))
        leaving = asyncio.create_task(_wait_until_left(receive))
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                await _stop(chats, place, work)
                return
            if await answering:  # the program is to run a tool, and comes back
                self._calling[key.name] = [*self._still_calling(key.name), (place, work)][-MAX_CALLING:]
        finally:
            await cancel_and_wait(leaving)
            await cancel_and_wait(answering)

    def _take_up(self, request: ChatRequest, key: AccessKey) -> tuple[ServedPlace, asyncio.Task[None]] | None:
        """The reply that waits for what the program's tools gave; None: there is none of this key's."""
        for place, work in self._still_calling(key.name) if request.results else ():
            if place.program_tools.waiting & set(request.results):
                place.program_tools.give(request.results)
                return place, work
        return None

    def _still_calling(self, key: str) -> list[tuple[ServedPlace, asyncio.Task[None]]]:
        return [each for each in self._calling.get(key, ()) if not each[1].done()]


async def _stop(chats: ServedChats, place: ServedPlace, work: asyncio.Task[None]) -> None:
    """The program hung up: the reply ends where it is, and what was said of it is kept."""
    await chats.stop(place)
    await asyncio.wait({work}, timeout=5.0)
    work.cancel()


async def _write_answer(
    send: Send, place: ServedPlace, work: asyncio.Task[None], form: CompletionForm, *, streams: bool
) -> bool:
    """The reply as it comes, or whole; where none came, why. Whether it ends with a tool that the program is to run."""
    said: list[str] = []
    notices: list[str] = []
    async for piece in place.pieces():
        if piece.is_notice:
            notices.append(piece.text)
            continue
        if streams and not said:
            await begin_events(send)
            await send_event(send, form.begin())
        said.append(piece.text)
        if piece.call is not None:
            await _write_call(send, form, "".join(said), piece.call, streams=streams)
            return True
        if streams:
            await send_event(send, form.piece(piece.text))
    failure = await _failure_of(work)
    if not said:
        raise RefusedRequest(failure or " ".join(notices) or NO_REPLY, status=502, code="no_reply")
    if not streams:
        await send_json(send, form.whole("".join(said)))
        return False
    if failure:
        await send_event(send, form_refusal(failure, "no_reply"))
    await send_event(send, form.end())
    await end_events(send)
    return False


async def _write_call(send: Send, form: CompletionForm, said: str, call: ToolRequest, *, streams: bool) -> None:
    """The end of an answer whose reply goes on once the program gave what the tool did."""
    if not streams:
        await send_json(send, form.whole_call(said, call))
        return
    await send_event(send, form.call(call))
    await send_event(send, form.end_with_call())
    await end_events(send)


async def _failure_of(work: asyncio.Task[None]) -> str | None:
    """The sentence on what went wrong, once *work* is over."""
    await asyncio.wait({work})
    if work.cancelled():
        return "the reply was stopped"
    error = work.exception()
    if error is None:
        return None
    if not isinstance(error, SetupError | ValueError):
        logger.warning("a request failed", extra={"error": type(error).__name__})
    return str(error) or type(error).__name__


async def _read_body(receive: Receive) -> bytes:
    limited, parts = limit_body(receive, MAX_BODY_BYTES, BODY_WITHIN_S), []
    while True:
        message = await limited()
        if message["type"] == "http.disconnect":
            raise RefusedRequest("the request ended early")
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


async def _wait_until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
