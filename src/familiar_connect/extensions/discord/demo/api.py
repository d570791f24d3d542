"""The HTTP API: logging in, messages, typing, commands and answers to interactions."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any
from urllib.parse import unquote

from aiohttp import BodyPartReader, web

from familiar_connect.extensions.discord.demo.faults import Faults
from familiar_connect.extensions.discord.demo.gateway import MEMBERS_FLAG, Gateway
from familiar_connect.extensions.discord.demo.interactions import Interactions
from familiar_connect.extensions.discord.demo.message_rules import (
    REPLIED_TO,
    ApiRefusal,
    invalid,
    why_content_refused,
    why_message_refused,
)
from familiar_connect.extensions.discord.demo.rate_limits import RateLimits
from familiar_connect.extensions.discord.demo.rights import (
    EMBED_LINKS,
    MANAGE_MESSAGES,
    READ_MESSAGE_HISTORY,
    SEND_IN_THREADS,
    SEND_MESSAGES,
)
from familiar_connect.extensions.discord.demo.webhooks import Webhooks
from familiar_connect.extensions.discord.demo.world import REPLY, Payload, Room, World

UNKNOWN_CHANNEL, UNKNOWN_MESSAGE, MISSING_ACCESS, MISSING_PERMISSION = 10003, 10008, 50001, 50013
THREAD_ARCHIVED, CANNOT_REPLY = 50083, 160002
MOST_LOOKED_UP = 100
NONCES_LAST_S = 300.0
"""Discord knows a nonce again "for a few minutes"."""

OnNote = Callable[[str, Payload], None]


def answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """*content* as JSON. The client's library wants the content type to be exactly this."""
    body = content if isinstance(content, str) else json.dumps(content)
    return web.Response(
        body=body.encode(), status=status, headers={"Content-Type": "application/json", **(headers or {})}
    )


def refuse(status: int, code: int, message: str) -> web.Response:
    return answer({"code": code, "message": message}, status)


def respond(outcome: ApiRefusal | Any) -> web.Response:
    """*outcome* as an answer: a refusal with its status, nothing as 204, anything else as JSON."""
    if isinstance(outcome, ApiRefusal):
        return refuse(outcome.status, outcome.code, outcome.message)
    return web.Response(status=204) if outcome is None else answer(outcome)


class Api:
    """Routes of the HTTP half. Every request that had an effect is noted."""

    def __init__(
        self,
        world: World,
        gateway: Gateway,
        faults: Faults,
        *,
        token: str,
        url: Callable[[], str],
        noted: OnNote,
        limits: RateLimits,
        answer_within_s: float,
    ) -> None:
        self._world = world
        self._gateway = gateway
        self._faults = faults
        self._token = token
        self._url = url
        self._noted = noted
        self._nonces: dict[str, tuple[float, Payload]] = {}
        """When each was used, and for which message."""
        self.interactions = Interactions(world, noted, answer_within_s)
        self.webhooks = Webhooks(world)
        self.shards = 1
        self.limits = limits

    def routes(self) -> list[web.RouteDef]:
        routes: list[tuple[str, str, Callable[[web.Request], Awaitable[web.Response]]]] = [
            ("GET", "/users/@me", self._me),
            ("GET", "/oauth2/applications/@me", self._application),
            ("GET", "/applications/@me", self._application),
            ("GET", "/gateway", self._where),
            ("GET", "/gateway/bot", self._where),
            ("POST", "/users/@me/channels", self._open_direct),
            ("GET", "/users/{user}", self._user),
            ("GET", "/guilds/{guild}", self._guild),
            ("GET", "/channels/{room}", self._room),
            ("POST", "/channels/{room}/messages", self._post),
            ("GET", "/channels/{room}/messages", self._recent),
            ("GET", "/channels/{room}/messages/{message}", self._one),
            ("PATCH", "/channels/{room}/messages/{message}", self._edit),
            ("DELETE", "/channels/{room}/messages/{message}", self._delete),
            ("POST", "/channels/{room}/typing", self._typing),
            ("PUT", "/channels/{room}/thread-members/@me", self._join),
            ("GET", "/channels/{room}/thread-members", self._thread_members),
            ("GET", "/channels/{room}/messages/{message}/reactions/{emoji}", self._reactors),
            ("GET", "/applications/{app}/commands", self._list_commands),
            ("PUT", "/applications/{app}/commands", self._put_commands),
            ("POST", "/interactions/{id}/{token}/callback", self._callback),
            ("GET", "/channels/{room}/webhooks", self._list_webhooks),
            ("POST", "/channels/{room}/webhooks", self._make_webhook),
            ("POST", "/webhooks/{app}/{token}", self._execute),
            ("GET", "/webhooks/{app}/{token}/messages/@original", self._first_answer),
            ("PATCH", "/webhooks/{app}/{token}/messages/@original", self._edit_answer),
            ("PATCH", "/webhooks/{app}/{token}/messages/{message}", self._edit_of_webhook),
            ("DELETE", "/webhooks/{app}/{token}/messages/{message}", self._delete_of_webhook),
        ]
        return [web.route(method, f"/api{path}", self._guarded(handle)) for method, path, handle in routes]

    def _guarded(
        self, handle: Callable[[web.Request], Awaitable[web.Response]]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        """*handle*, behind the token and whatever is meant to go wrong."""

        async def handle_guarded(request: web.Request) -> web.Response:
            path = unquote(request.path)
            verdict = self.limits.take(request.method, path)
            if verdict.refusal is not None:
                return answer(verdict.refusal, 429, verdict.headers)
            fault = await self._faults.take(request.method, path)
            if fault is not None and fault.status is not None and not fault.after_effect:
                return answer(fault.body, fault.status, fault.headers)
            open_to_all = path.startswith(("/api/interactions/", "/api/webhooks/"))
            if not open_to_all and request.headers.get("Authorization") != f"Bot {self._token}":
                return refuse(401, 0, "401: Unauthorized")
            done = await handle(request)
            done.headers.update(verdict.headers)
            if fault is not None and fault.until is not None:
                await fault.until.wait()
            if fault is not None and fault.status is not None:
                return answer(fault.body, fault.status, fault.headers)
            return done

        return handle_guarded

    # Who we are and where to go

    async def _me(self, request: web.Request) -> web.Response:
        more = {"mfa_enabled": False, "locale": "en-US", "verified": True, "email": None, "flags": 0}
        return answer(self._world.bot.payload() | more)

    async def _application(self, request: web.Request) -> web.Response:
        return answer(
            {
                "id": str(self._world.bot.id),
                "name": self._world.bot.username,
                "description": "",
                "icon": None,
                "bot_public": True,
                "bot_require_code_grant": False,
                "verify_key": "",
                "flags": self._gateway.flags,
                "owner": self._world.owner.payload(),
                "team": self._world.team,
                "summary": "",
            }
        )

    async def _where(self, request: web.Request) -> web.Response:
        limit = {"total": 1000, "remaining": 999, "reset_after": 1, "max_concurrency": 1}
        return answer({"url": self._url(), "shards": self.shards, "session_start_limit": limit})

    async def _user(self, request: web.Request) -> web.Response:
        person = self._world.people.get(int(request.match_info["user"]))
        return answer(person.payload()) if person else refuse(404, 10013, "Unknown User")

    async def _guild(self, request: web.Request) -> web.Response:
        guild = self._world.guilds.get(int(request.match_info["guild"]))
        return answer(guild.payload()) if guild else refuse(404, 10004, "Unknown Guild")

    # Rooms and messages

    def _found(self, request: web.Request, right: int = 0) -> Room | web.Response:
        """The room that is asked for; a refusal where the bot cannot see it or lacks *right* there."""
        room = self._world.find(int(request.match_info["room"]))
        if room is None:
            return refuse(404, UNKNOWN_CHANNEL, "Unknown Channel")
        if not self._world.bot_may(room, 0):
            return refuse(403, MISSING_ACCESS, "Missing Access")
        return room if self._world.bot_may(room, right) else refuse(403, MISSING_PERMISSION, "Missing Permissions")

    def _found_to_send(self, request: web.Request) -> Room | web.Response:
        """The room that something is to be posted in; a thread wants a right of its own."""
        room = self._found(request)
        if isinstance(room, web.Response):
            return room
        if room.is_archived and room.is_locked:
            return refuse(400, THREAD_ARCHIVED, "Thread is archived")
        if room.with_person is not None and (refused := self._world.why_not_written_to(room.with_person)) is not None:
            return refuse(403, *refused)
        return self._found(request, SEND_IN_THREADS if room.is_thread else SEND_MESSAGES)

    async def _room(self, request: web.Request) -> web.Response:
        room = self._found(request)
        return room if isinstance(room, web.Response) else answer(room.payload())

    async def _open_direct(self, request: web.Request) -> web.Response:
        wanted = await request.json()
        person = self._world.people.get(int(wanted.get("recipient_id") or wanted["recipients"][0]))
        if person is None:
            return refuse(404, 10013, "Unknown User")
        return answer(self._world.direct_room(person).payload())

    async def _post(self, request: web.Request) -> web.Response:
        room = self._found_to_send(request)
        if isinstance(room, web.Response):
            return room
        said = await _body(request)
        nonce = said.get("nonce")
        if said.get("enforce_nonce") and (known := self._known_nonce(nonce)) is not None:
            return answer(known)
        if not self._world.bot_may(room, EMBED_LINKS):
            said["embeds"] = []
        refused = why_message_refused(said) or self._why_no_reply(room, said)
        if refused is not None:
            return respond(refused)
        more: Payload = {"components": said.get("components") or [], "embeds": said.get("embeds") or []}
        if room.is_archived:  # whoever writes in a thread that nobody locked opens it again
            room.unarchive()
            await self._gateway.dispatch("THREAD_UPDATE", room.payload())
        if wanted := said.get("sticker_ids"):
            more["sticker_items"] = self._world.stickers(room, wanted)
        reference = said.get("message_reference")
        if reference and int(reference["message_id"]) in room.messages:
            more |= {"type": REPLY, "message_reference": reference}
        message = self._world.message(room, self._world.bot, said.get("content") or "", **more)
        if nonce is not None:
            message["nonce"] = nonce
            self._nonces[nonce] = (monotonic(), message)
        await self._gateway.dispatch("MESSAGE_CREATE", self._world.event(room, message))
        self._noted("posted", {"room": room.id, "message": message, "asked": said})
        return answer(message)

    def _known_nonce(self, nonce: str | None) -> Payload | None:
        """The message that was posted under *nonce*, as long as Discord knows it."""
        began, message = self._nonces.get(str(nonce), (0.0, {}))
        return message if message and monotonic() - began <= NONCES_LAST_S else None

    def _why_no_reply(self, room: Room, said: Payload) -> ApiRefusal | None:
        """Why what is said cannot be a reply to what it names; None: it can, or is none."""
        reference = said.get("message_reference")
        if not reference:
            return None
        if not self._world.bot_may(room, READ_MESSAGE_HISTORY):
            return ApiRefusal(403, CANNOT_REPLY, "Cannot reply without permission to read message history")
        answered = room.messages.get(int(reference["message_id"]))
        if answered is None and reference.get("fail_if_not_exists", True):
            return invalid("message_reference: Unknown message")
        if answered is not None and answered["type"] not in REPLIED_TO:
            return invalid("message_reference: Cannot reply to a system message")
        return None

    async def _recent(self, request: web.Request) -> web.Response:
        room = self._found(request)
        if isinstance(room, web.Response):
            return room
        limit = int(request.query.get("limit", 50))
        if not 1 <= limit <= MOST_LOOKED_UP:
            return respond(invalid(f"limit: between 1 and {MOST_LOOKED_UP}"))
        after, before = int(request.query.get("after", 0)), int(request.query.get("before", 1 << 63))
        can_look_back = self._world.bot_may(room, READ_MESSAGE_HISTORY)
        found = [message for key, message in room.messages.items() if can_look_back and after < key < before]
        chosen = found[:limit] if "after" in request.query else found[-limit:]
        self._noted("read", {"room": room.id, "after": after, "found": len(chosen)})
        return answer(list(reversed(chosen)))

    def _found_message(self, request: web.Request, right: int = 0) -> tuple[Room, Payload] | web.Response:
        """The message that is asked for and its room, or a refusal."""
        room = self._found(request, right)
        if isinstance(room, web.Response):
            return room
        message = room.messages.get(int(request.match_info["message"]))
        return (room, message) if message else refuse(404, UNKNOWN_MESSAGE, "Unknown Message")

    async def _one(self, request: web.Request) -> web.Response:
        found = self._found_message(request, READ_MESSAGE_HISTORY)
        return found if isinstance(found, web.Response) else answer(found[1])

    async def _edit(self, request: web.Request) -> web.Response:
        found = self._found_message(request)
        if isinstance(found, web.Response):
            return found
        room, message = found
        if message.get("webhook_id") or message["author"]["id"] != str(self._world.bot.id):
            return refuse(403, 50005, "Cannot edit a message authored by another user")
        if room.is_archived:
            return refuse(400, THREAD_ARCHIVED, "Thread is archived")
        said = await _body(request)
        refused = why_content_refused(said)
        if refused is not None:
            return respond(refused)
        message["content"] = said.get("content", message["content"])
        message["components"] = said.get("components", message["components"])
        message["edited_timestamp"] = message["timestamp"]
        await self._gateway.dispatch("MESSAGE_UPDATE", self._world.event(room, message))
        self._noted("edited", {"room": room.id, "message": message})
        return answer(message)

    async def _delete(self, request: web.Request) -> web.Response:
        found = self._found_message(request)
        if isinstance(found, web.Response):
            return found
        room, message = found
        is_own = message["author"]["id"] == str(self._world.bot.id)
        if not is_own and not self._world.bot_may(room, MANAGE_MESSAGES):
            return refuse(403, MISSING_PERMISSION, "Missing Permissions")
        room.messages.pop(int(message["id"]))
        await self._gateway.dispatch("MESSAGE_DELETE", self._world.deletion(room, message))
        self._noted("deleted", {"room": room.id, "message": message})
        return web.Response(status=204)

    async def _typing(self, request: web.Request) -> web.Response:
        room = self._found_to_send(request)
        if isinstance(room, web.Response):
            return room
        self._noted("typing", {"room": room.id})
        return web.Response(status=204)

    async def _join(self, request: web.Request) -> web.Response:
        room = self._found(request)
        if isinstance(room, web.Response):
            return room
        room.thread_members.add(self._world.bot.id)
        self._noted("joined", {"room": room.id})
        return web.Response(status=204)

    async def _thread_members(self, request: web.Request) -> web.Response:
        room = self._found(request)
        if isinstance(room, web.Response):
            return room
        if not self._gateway.flags & MEMBERS_FLAG:
            return refuse(403, MISSING_ACCESS, "Missing Access")
        self._noted("listed", {"room": room.id})
        return answer([room.thread_member(each) for each in sorted(room.thread_members)])

    async def _reactors(self, request: web.Request) -> web.Response:
        room = self._found(request, READ_MESSAGE_HISTORY)
        if isinstance(room, web.Response):
            return room
        message = room.messages.get(int(request.match_info["message"]), {})
        emoji = request.match_info["emoji"].split(":")[0]
        ids = message.get("reactors", {}).get(emoji, [])
        return answer([self._world.people[key].payload() for key in ids])

    # Webhooks

    async def _list_webhooks(self, request: web.Request) -> web.Response:
        room = self._found(request)
        return room if isinstance(room, web.Response) else respond(self.webhooks.list_in(room))

    async def _make_webhook(self, request: web.Request) -> web.Response:
        room = self._found(request)
        if isinstance(room, web.Response):
            return room
        made = self.webhooks.make(room, str((await _body(request)).get("name") or ""))
        if not isinstance(made, ApiRefusal):
            self._noted("webhook", {"room": room.id})
        return respond(made)

    def _hook(self, request: web.Request) -> ApiRefusal | Payload:
        return self.webhooks.find(request.match_info["app"], request.match_info["token"])

    async def _execute(self, request: web.Request) -> web.Response:
        if request.match_info["app"] == str(self._world.bot.id):
            return respond(self.interactions.follow_up(request.match_info["token"], await _body(request)))
        hook = self._hook(request)
        if isinstance(hook, ApiRefusal):
            return respond(hook)
        room = self.webhooks.room_of(hook, request.query.get("thread_id"))
        if isinstance(room, ApiRefusal):
            return respond(room)
        said = await _body(request)
        message = self.webhooks.say(hook, room, said)
        if isinstance(message, ApiRefusal):
            return respond(message)
        await self._gateway.dispatch("MESSAGE_CREATE", self._world.event(room, message))
        self._noted("posted", {"room": room.id, "message": message, "asked": said})
        return answer(message) if request.query.get("wait", "").lower() in ("true", "1") else respond(None)

    def _webhook_message(self, request: web.Request) -> ApiRefusal | tuple[Room, Payload]:
        hook = self._hook(request)
        if isinstance(hook, ApiRefusal):
            return hook
        return self.webhooks.find_message(hook, request.query.get("thread_id"), request.match_info["message"])

    async def _edit_of_webhook(self, request: web.Request) -> web.Response:
        found = self._webhook_message(request)
        if isinstance(found, ApiRefusal):
            return respond(found)
        room, message = found
        refused = self.webhooks.edit(message, await _body(request))
        if refused is not None:
            return respond(refused)
        await self._gateway.dispatch("MESSAGE_UPDATE", self._world.event(room, message))
        return answer(message)

    async def _delete_of_webhook(self, request: web.Request) -> web.Response:
        found = self._webhook_message(request)
        if isinstance(found, ApiRefusal):
            return respond(found)
        room, message = found
        room.messages.pop(int(message["id"]))
        await self._gateway.dispatch("MESSAGE_DELETE", self._world.deletion(room, message))
        return respond(None)

    # Commands and interactions

    async def _list_commands(self, request: web.Request) -> web.Response:
        return answer(self.interactions.commands)

    async def _put_commands(self, request: web.Request) -> web.Response:
        return respond(self.interactions.register(request.match_info["app"], await request.json()))

    async def _callback(self, request: web.Request) -> web.Response:
        said = await _body(request)
        refused = self.interactions.answer_first(request.match_info["token"], said)
        if refused is not None:
            return respond(refused)
        about: Payload = {"id": request.match_info["id"], "type": 2}
        return answer({"interaction": about, "resource": {"type": said["type"]}})

    async def _first_answer(self, request: web.Request) -> web.Response:
        return respond(self.interactions.show_first(request.match_info["token"]))

    async def _edit_answer(self, request: web.Request) -> web.Response:
        return respond(self.interactions.follow_up(request.match_info["token"], await _body(request)))


async def _body(request: web.Request) -> Payload:
    """What was sent: JSON, a form that holds JSON, or such a form with files."""
    if request.content_type == "application/x-www-form-urlencoded":
        return dict(json.loads(str((await request.post())["payload_json"])))
    if not request.content_type.startswith("multipart/"):
        text = await request.text()
        return dict(json.loads(text)) if text else {}
    said: Payload = {}
    files: dict[str, str] = {}
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader):
            continue
        raw = bytes(await part.read())
        if part.name == "payload_json":
            said = json.loads(raw)
        else:
            files[str(part.filename)] = raw.decode()
    return said | {"files": files}
