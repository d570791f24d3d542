"""Following: what happens with the familiars of a home, as server-sent events and as signed posts to an address."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import urllib.request
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from urllib.error import URLError

from familiar_connect.api import Author, Clock
from familiar_connect.api.answering import (
    FollowedEvent,
    FollowHost,
    FollowPosition,
    PageAddress,
    Receive,
    Scope,
    Send,
    read_headers,
)
from familiar_connect.api.support import cancel_and_wait
from familiar_connect.extensions.serve.chat_request import RefusedRequest
from familiar_connect.extensions.serve.key_guard import KeyGuard
from familiar_connect.extensions.serve.keys import AccessKey, KeyAudience, KeyBook
from familiar_connect.extensions.serve.wire import begin_events, send_refusal

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 0.5
SIGN_OF_LIFE_EVERY = 30
"""Looks without news after which a line is sent all the same, so that a lost connection is noticed."""
POST_WITHIN_S = 10.0
TRIES = 3
SIGNATURE = "X-Familiar-Signature"


class Follower:
    """What one key may be told of, as it happens."""

    def __init__(self, hosts: Sequence[FollowHost], key: AccessKey) -> None:
        self._hosts = hosts
        self._person = _person_of(key)
        self._is_owner = key.is_owner and self._person is not None
        self._positions: dict[str, FollowPosition] = {}

    async def begin(self, resume: Mapping[str, int] | None = None) -> None:
        """Follow from now on, or from behind the turns in *resume*, by familiar."""
        self._positions = {each.familiar_id: await each.now() for each in self._hosts}
        for name, turn_id in (resume or {}).items():
            if name in self._positions and turn_id < self._positions[name].turn_id:
                self._positions[name] = replace(self._positions[name], turn_id=turn_id)

    async def events(self) -> AsyncIterator[dict[str, object] | None]:
        """What happens since it began; None now and then: nothing did."""
        positions, looks = self._positions, 0
        while True:
            found: list[dict[str, object]] = []
            for host in self._hosts:
                name = host.familiar_id
                news, positions[name] = await host.events(positions[name], self._person, is_owner=self._is_owner)
                found += [_describe(event, name) for event in news]
            for event in found:
                yield event
            looks = 0 if found else looks + 1
            if looks % SIGN_OF_LIFE_EVERY == SIGN_OF_LIFE_EVERY - 1:
                yield None
            await asyncio.sleep(LOOK_EVERY_S)


class WatchApp:
    """`GET /events` for keys that may watch."""

    def __init__(self, hosts: Sequence[FollowHost], keys: KeyBook, address: PageAddress, clock: Clock) -> None:
        self._hosts = hosts
        self._guard = KeyGuard(keys, address, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = read_headers(scope)
        try:
            key = await self._guard.let_in(scope, headers)
            if not key.may_watch:
                raise RefusedRequest(
                    f"the key {key.name} may not watch: make one with --watch", status=403, code="may_not_watch"
                )
            if (scope["method"], str(scope["path"]).rstrip("/")) != ("GET", "/events"):
                raise RefusedRequest("there is only GET /events here", status=404, code="not_found")
        except RefusedRequest as refused:
            await send_refusal(send, str(refused), status=refused.status, code=refused.code)
            return
        follower = Follower(self._hosts, key)
        await follower.begin(_resume_of(headers))
        await begin_events(send)
        await send({"type": "http.response.body", "body": b": listening\n\n", "more_body": True})
        telling = asyncio.create_task(_tell(send, follower))
        leaving = asyncio.create_task(_wait_until_left(receive))
        try:
            await asyncio.wait({telling, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_and_wait(telling)
            await cancel_and_wait(leaving)


async def _tell(send: Send, follower: Follower) -> None:
    async for event in follower.events():
        if event is None:
            body = b": still here\n\n"
        else:
            mark = f"id: {event['familiar']}:{event['turn']}\n" if event.get("turn") else ""
            body = f"{mark}event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
        await send({"type": "http.response.body", "body": body, "more_body": True})


async def post_events(follower: Follower, url: str, secret: str, tell: Callable[[str], None]) -> None:
    """Post every event to *url*, in order, signed with *secret*; one that cannot be posted is told and left out."""
    await follower.begin()
    async for event in follower.events():
        if event is None:
            continue
        body = json.dumps(event, ensure_ascii=False).encode()
        for attempt in range(TRIES):
            try:
                await asyncio.to_thread(_post, url, body, secret, str(event["at"]))
                break
            except (URLError, OSError, ValueError) as error:
                if attempt == TRIES - 1:
                    tell(f"An event could not be posted ({type(error).__name__}); it is left out.")
                else:
                    await asyncio.sleep(2.0**attempt)


def sign(secret: str, at: str, body: bytes) -> str:
    """The signature of one post: HMAC-SHA256 over its time, a dot and its body."""
    return hmac.new(secret.encode(), at.encode() + b"." + body, hashlib.sha256).hexdigest()


def _post(url: str, body: bytes, secret: str, at: str) -> None:
    headers = {"Content-Type": "application/json", SIGNATURE: f"t={at},v1={sign(secret, at, body)}"}
    request = urllib.request.Request(url, body, headers, method="POST")
    opener = urllib.request.build_opener(_NoRedirects())
    with opener.open(request, timeout=POST_WITHIN_S) as answer:
        answer.read(1)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """What was posted goes to the address that the owner named, and to no other."""

    def redirect_request(self, *_: object) -> None:
        return None


def open_hosts(names: Sequence[str], follow: Callable[[str], FollowHost], stack: ExitStack) -> list[FollowHost]:
    """The familiars called *names*, until *stack* is closed."""
    hosts = [follow(name) for name in names]
    for each in hosts:
        stack.callback(each.close)
    return hosts


def _person_of(key: AccessKey) -> Author | None:
    """Who follows; None: a program that several read, which is told what everyone may hear."""
    if key.audience is not KeyAudience.private or not key.person:
        return None
    return Author("serve", key.person_id, key.person, key.person)


def _describe(event: FollowedEvent, familiar_id: str) -> dict[str, object]:
    head = {"type": event.kind, "familiar": familiar_id, "at": event.at.isoformat(), "turn": event.turn_id}
    return {**head, **event.facts}


def _resume_of(headers: Mapping[str, str]) -> Mapping[str, int] | None:
    """Where a follower was that lost its connection."""
    name, _, turn = headers.get("last-event-id", "").rpartition(":")
    return {name: int(turn)} if name and turn.isascii() and turn.isdigit() and len(turn) < 18 else None


async def _wait_until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
