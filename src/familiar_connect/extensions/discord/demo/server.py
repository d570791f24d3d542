"""DiscordServer: our own Discord on loopback, with people in it who can be made to speak.

Everything the client does is noted, in order; `until` waits for what is still to come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from familiar_connect.api.stand_in import ChangeSignal
from familiar_connect.extensions.discord.demo.api import Api
from familiar_connect.extensions.discord.demo.command_rules import BUTTON, MESSAGE, option_values
from familiar_connect.extensions.discord.demo.faults import Faults
from familiar_connect.extensions.discord.demo.gateway import VOICE_STATE, Gateway
from familiar_connect.extensions.discord.demo.interactions import (
    AUTOCOMPLETE,
    COMMAND,
    COMPONENT,
    MODAL_SUBMIT,
    ROOMY_S,
)
from familiar_connect.extensions.discord.demo.rate_limits import RateLimits
from familiar_connect.extensions.discord.demo.rights import MANAGE_CHANNELS, FakeRole, Overwrite
from familiar_connect.extensions.discord.demo.world import CATEGORY, REPLY, FakePerson, Guild, Payload, Room, World

TOKEN = "MTIz.demo.token"
MAX_NOTES = 100_000
IN_SERVERS, IN_DIRECT = 0, 1
"""Where a command may be used."""
VOICE_WISH = f"gateway:{VOICE_STATE}"


@dataclass(frozen=True)
class Note:
    """One thing the client did."""

    what: str
    facts: Payload


class DiscordServer:
    """Use as an async context manager; `api_url` is where a client finds it."""

    def __init__(
        self,
        *,
        token: str = TOKEN,
        port: int = 0,
        limits: RateLimits | None = None,
        answer_within_s: float = ROOMY_S,
    ) -> None:
        """*limits* are how often each route may be asked; None: as often as any test does.

        *answer_within_s* is how long an interaction waits for its first answer.
        """
        self.token = token
        self._port = port
        self.world = World()
        self.faults = Faults()
        self.notes: list[Note] = []
        self.attachments: dict[str, bytes] = {}
        """Files behind the addresses of attachments, by name."""
        self.moved: dict[str, str] = {}
        """Where the address of an attachment leads on to, by name."""
        self._media_types: dict[str, str] = {}
        self._on_note: Callable[[Note], None] | None = None
        self._on_voice_wish: Callable[[Payload], None] | None = None
        self._changes = ChangeSignal()
        self.gateway = Gateway(self.world, token=token, url=lambda: self.gateway_url, noted=self._note)
        self.api = Api(
            self.world,
            self.gateway,
            self.faults,
            token=token,
            url=lambda: self.gateway_url,
            noted=self._note,
            limits=limits or RateLimits(),
            answer_within_s=answer_within_s,
        )
        self._runner: web.AppRunner | None = None

    def follow(self, on_note: Callable[[Note], None] | None) -> None:
        """Tell *on_note* of everything the client does from now on, as it happens; None: nobody."""
        self._on_note = on_note

    def follow_voice(self, on_wish: Callable[[Payload], None] | None) -> None:
        """Tell *on_wish* when the client wants to come to a voice channel or to leave it; None: nobody."""
        self._on_voice_wish = on_wish

    @property
    def api_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/api"

    @property
    def gateway_url(self) -> str:
        return f"ws://127.0.0.1:{self._port}/gateway"

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.add_routes([*self.api.routes(), web.get("/gateway", self.gateway.handle_connection)])
        app.add_routes([web.get("/api/attachments/{name}", self._attachment)])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.gateway.drop(1000)
        if self._runner is not None:
            await self._runner.cleanup()

    async def _attachment(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if (onward := self.moved.get(name)) is not None:
            raise web.HTTPFound(onward)
        data, media_type = self.attachments.get(name), self._media_types.get(name, "image/png")
        self._note("fetched", {"name": name, "found": data is not None})
        return (
            web.Response(status=404) if data is None else web.Response(body=data, headers={"Content-Type": media_type})
        )

    # What happened

    def _note(self, what: str, facts: Payload) -> None:
        self.notes.append(Note(what, facts))
        if self._on_note is not None:
            self._on_note(self.notes[-1])
        if what == VOICE_WISH and self._on_voice_wish is not None:
            self._on_voice_wish(facts["d"])
        if len(self.notes) > MAX_NOTES:
            del self.notes[: MAX_NOTES // 2]
        self._changes.notify()

    async def until(self, condition: Callable[[], object], *, within_s: float | None = 200.0) -> None:
        """Wait until *condition* holds; looked at whenever the client has done something."""
        await self._changes.wait_until(condition, within_s=within_s)

    def facts_of(self, what: str) -> list[Payload]:
        return [note.facts for note in self.notes if note.what == what]

    def replies_in(self, room: Room) -> list[str]:
        """What the familiar has said in *room*, oldest first."""
        return [facts["message"]["content"] for facts in self.facts_of("posted") if facts["room"] == room.id]

    async def until_replied(self, room: Room, pieces: int = 1) -> list[str]:
        await self.until(lambda: len(self.replies_in(room)) >= pieces)
        return self.replies_in(room)

    def answers(self, token: str) -> list[Payload]:
        """What an interaction was answered, oldest first."""
        return [facts for facts in self.facts_of("answered") if facts["token"] == token]

    async def until_answered(self, token: str, answers: int = 1) -> list[Payload]:
        await self.until(lambda: len(self.answers(token)) >= answers)
        return self.answers(token)

    async def until_ready(self) -> None:
        """Wait until a client is there and has made its commands known."""
        await self.until(lambda: self.gateway.sessions and self.api.interactions.commands, within_s=None)

    # People doing things

    def attachment(self, filename: str, data: bytes, content_type: str, **more: Any) -> Payload:
        """A file of *data* as a message carries it; it is given to whoever asks for its address."""
        file_id = str(self.world.new_id())
        name = f"{file_id}-{filename}"
        self.attachments[name], self._media_types[name] = data, content_type
        url = f"{self.api_url}/attachments/{name}"
        about = {"id": file_id, "filename": filename, "size": len(data), "content_type": content_type}
        return about | {"url": url, "proxy_url": url} | more

    async def post(self, room: Room, author: FakePerson, text: str, **more: Any) -> Payload:
        """*author* says *text*; *more* goes into the message as it stands on the wire."""
        message = self.world.message(room, author, text, **more)
        await self.gateway.dispatch("MESSAGE_CREATE", self.world.event(room, message))
        return message

    async def reply(self, room: Room, author: FakePerson, text: str, to: Payload, **more: Any) -> Payload:
        reference = {"message_id": to["id"], "channel_id": to["channel_id"]}
        return await self.post(
            room, author, text, type=REPLY, message_reference=reference, referenced_message=to, **more
        )

    async def edit(self, room: Room, message: Payload, text: str) -> None:
        message["content"], message["mentions"] = text, self.world.list_mentions(text)
        message["edited_timestamp"] = message["timestamp"]
        await self.gateway.dispatch("MESSAGE_UPDATE", self.world.event(room, message))

    async def delete(self, room: Room, *messages: Payload) -> None:
        for message in messages:
            room.messages.pop(int(message["id"]), None)
        event = "MESSAGE_DELETE" if len(messages) == 1 else "MESSAGE_DELETE_BULK"
        await self.gateway.dispatch(event, self.world.deletion(room, *messages))

    async def react(self, room: Room, message: Payload, person: FakePerson, emoji: str) -> None:
        message.setdefault("reactors", {}).setdefault(emoji, []).append(person.id)
        event: Payload = {
            "user_id": str(person.id),
            "channel_id": str(room.id),
            "message_id": message["id"],
            "emoji": {"id": None, "name": emoji},
            "type": 0,
            "burst": False,
        }
        if room.guild_id is not None:
            event |= {"guild_id": str(room.guild_id), "member": person.member()}
        await self.gateway.dispatch("MESSAGE_REACTION_ADD", event)

    async def command(
        self,
        room: Room,
        person: FakePerson,
        name: str,
        options: Mapping[str, object] | None = None,
        *,
        may_manage: bool = True,
    ) -> str:
        """*person* uses a slash command; the token its answers are found by."""
        data: Payload = {"id": "9", "name": name, "type": 1}
        known = next((each for each in self.api.interactions.commands if each["name"] == name), None)
        if known is not None:
            if (IN_SERVERS if room.guild_id is not None else IN_DIRECT) not in known["contexts"]:
                raise ValueError(f"there is no /{name} here")
            data["options"] = option_values(known, options or {})
            data["resolved"] = self._resolve(room, [each["value"] for each in data["options"]])
        return await self._interact(room, person, COMMAND, data, may_manage=may_manage)

    def list_message_menu(self) -> list[Payload]:
        """What a right-click on a message offers."""
        return [each for each in self.api.interactions.commands if each["type"] == MESSAGE]

    async def use_on_message(
        self, room: Room, person: FakePerson, title: str, message: Payload, *, may_manage: bool = True
    ) -> str:
        """*person* chooses something in the menu of a message."""
        if not any(each["name"] == title for each in self.list_message_menu()):
            raise ValueError(f"there is no {title!r} on messages")
        data: Payload = {"id": "9", "name": title, "type": MESSAGE, "target_id": message["id"]}
        data["resolved"] = {"messages": {message["id"]: message}}
        return await self._interact(room, person, COMMAND, data, may_manage=may_manage)

    async def pick(
        self, room: Room, person: FakePerson, shown: Payload, custom_id: str, chosen: Sequence[int] = (), **how: bool
    ) -> str:
        """*person* uses what stands below an answer that they were *shown*: a button, or a list and what they chose."""
        parts = [part for row in shown["data"]["components"] for part in row["components"]]
        part = next(each for each in parts if each["custom_id"] == custom_id)
        data: Payload = {"custom_id": custom_id, "component_type": part["type"]}
        if part["type"] != BUTTON:
            if not part.get("min_values", 1) <= len(chosen) <= part.get("max_values", 1):
                raise ValueError("so many cannot be chosen")
            values = [str(each) for each in chosen]
            data |= {"values": values, "resolved": self._resolve(room, values)}
        said = shown["data"]
        if "id" in said:  # it stands in the channel
            message = said
        else:
            message = self.world.message(Room(room.id, "interaction"), self.world.bot, said.get("content") or "")
            message["flags"] = said.get("flags", 0)
        return await self._interact(
            room, person, COMPONENT, data, may_manage=how.get("may_manage", True), message=message
        )

    def _resolve(self, room: Room, values: Sequence[object]) -> Payload:
        """What Discord says of those who were chosen, by their ids."""
        guild = self.world.guilds.get(room.guild_id or 0)
        ids = [int(str(each)) for each in values if str(each).isdigit()]
        people = [self.world.people[each] for each in ids if each in self.world.people]
        found: Payload = {"users": {str(each.id): each.payload() for each in people}}
        if guild is not None:
            rooms = [guild.rooms[each] for each in ids if each in guild.rooms]
            found["roles"] = {str(each): guild.role_payload(each) for each in ids if each in guild.roles}
            found["channels"] = {str(each.id): each.payload() for each in rooms}
        return found

    async def autocomplete(
        self, room: Room, person: FakePerson, name: str, option: str, begun: str, *, may_manage: bool = True
    ) -> str:
        """*person* has begun to type an option's value."""
        command = next(each for each in self.api.interactions.commands if each["name"] == name)
        wanted = next(each for each in command["options"] if each["name"] == option)
        if not wanted.get("autocomplete"):
            raise ValueError(f"nothing is suggested for {option}")
        options = [{"name": option, "type": wanted["type"], "value": begun, "focused": True}]
        data: Payload = {"id": "9", "name": name, "type": 1, "options": options}
        return await self._interact(room, person, AUTOCOMPLETE, data, may_manage=may_manage, option_type=wanted["type"])

    async def submit_form(
        self, room: Room, person: FakePerson, form: Payload, value: str, *, may_manage: bool = True
    ) -> str:
        """*person* fills in and sends the form that a command was answered with."""
        field = form["components"][0]["components"][0]
        filled = {"type": 1, "components": [{"type": 4, "custom_id": field["custom_id"], "value": value}]}
        data: Payload = {"custom_id": form["custom_id"], "components": [filled]}
        return await self._interact(room, person, MODAL_SUBMIT, data, may_manage=may_manage)

    async def _interact(
        self,
        room: Room,
        person: FakePerson,
        kind: int,
        data: Payload,
        *,
        may_manage: bool,
        message: Payload | None = None,
        option_type: int = 3,
    ) -> str:
        interaction_id = self.world.new_id()
        token = f"token-{interaction_id}"
        self.api.interactions.begin(token, kind, room, option_type=option_type, was_below=message is not None)
        event: Payload = {
            "id": str(interaction_id),
            "application_id": str(self.world.bot.id),
            "type": kind,
            "token": token,
            "version": 1,
            "channel_id": str(room.id),
            "channel": room.payload(),
            "data": data,
            "locale": "en-US",
            "app_permissions": str(self.world.rights_of_bot(room)),
            "entitlements": [],
            "attachment_size_limit": 10_000_000,
        }
        if message is not None:
            event["message"] = message
        if room.guild_id is None:
            event["user"] = person.payload()
        else:
            rights = self.world.guilds[room.guild_id].permissions(room, person)
            rights |= MANAGE_CHANNELS if may_manage else 0
            event |= {"guild_id": str(room.guild_id), "member": person.member() | {"permissions": str(rights)}}
        await self.gateway.dispatch("INTERACTION_CREATE", event)
        return token

    async def move_voice(self, guild: Guild, person: FakePerson, room: Room | None) -> None:
        """*person* comes to a voice channel, or with None leaves the one they are in."""
        if room is None:
            guild.in_voice.pop(person.id, None)
        else:
            guild.in_voice[person.id] = room.id
        await self.gateway.dispatch("VOICE_STATE_UPDATE", guild.voice_state(person))

    async def join_guild(self, guild: Guild) -> None:
        """The familiar is let onto *guild*, which it did not know."""
        guild.joined[self.world.bot.id] = datetime.now(UTC).isoformat()
        await self.gateway.dispatch("GUILD_CREATE", guild.payload())

    async def remove_guild(self, guild: Guild) -> None:
        """The familiar is thrown out of *guild*."""
        self.world.guilds.pop(guild.id, None)
        await self.gateway.dispatch("GUILD_DELETE", {"id": str(guild.id)})

    # What people may do

    async def set_readers(self, room: Room, readers: Iterable[FakePerson] | None) -> None:
        """Hide a channel from all but *readers* and the familiar, or open it to the server with None."""
        room.readers = None if readers is None else frozenset(each.id for each in (*readers, self.world.bot))
        await self.gateway.dispatch("CHANNEL_UPDATE", room.payload())

    async def set_overwrite(
        self, room: Room, whom: FakePerson | FakeRole | Guild, *, allow: int = 0, deny: int = 0
    ) -> None:
        """Allow or deny somebody something in a channel; nothing of both takes the overwrite away.

        Channels that were the same as their category stay the same as it.
        """
        guild = self.world.guilds[room.guild_id or 0]
        synced = [
            each
            for each in guild.rooms.values()
            if each.parent_id == room.id and not each.is_thread and each.overwrites == room.overwrites
        ]
        for each in (room, *(synced if room.kind == CATEGORY else ())):
            if allow or deny:
                each.overwrites[whom.id] = Overwrite(allow, deny, is_member=isinstance(whom, FakePerson))
            else:
                each.overwrites.pop(whom.id, None)
            await self.gateway.dispatch("CHANNEL_UPDATE", each.payload())

    async def update_room(self, room: Room) -> None:
        """Tell of a channel or thread as it stands now."""
        await self.gateway.dispatch("THREAD_UPDATE" if room.is_thread else "CHANNEL_UPDATE", room.payload())

    async def add_room(self, room: Room) -> None:
        """Tell of a channel or thread that is new."""
        await self.gateway.dispatch("THREAD_CREATE" if room.is_thread else "CHANNEL_CREATE", room.payload())

    async def remove_room(self, guild: Guild, room: Room) -> None:
        guild.rooms.pop(room.id, None)
        await self.gateway.dispatch("THREAD_DELETE" if room.is_thread else "CHANNEL_DELETE", room.payload())

    async def set_role(self, guild: Guild, role: FakeRole | None, permissions: int) -> None:
        """Let a role, or everybody with None, have these permissions."""
        if role is None:
            guild.everyone_may = permissions
        else:
            role.permissions = permissions
        about = {"guild_id": str(guild.id), "role": guild.role_payload(guild.id if role is None else role.id)}
        await self.gateway.dispatch("GUILD_ROLE_UPDATE", about)

    async def set_member_roles(self, guild: Guild, person: FakePerson, *roles: FakeRole) -> None:
        """Let *person* have *roles* of *guild* and no others of it."""
        elsewhere = [each for each in person.roles if each not in guild.roles]
        person.roles = (*elsewhere, *(each.id for each in roles))
        await self.gateway.dispatch("GUILD_MEMBER_UPDATE", guild.member(person) | {"guild_id": str(guild.id)})

    async def add_member(self, guild: Guild, person: FakePerson) -> None:
        """*person* comes to *guild*."""
        guild.people[person.id] = person
        guild.joined[person.id] = datetime.now(UTC).isoformat()
        await self.gateway.dispatch("GUILD_MEMBER_ADD", guild.member(person) | {"guild_id": str(guild.id)})

    async def remove_member(self, guild: Guild, person: FakePerson) -> None:
        """*person* leaves *guild*."""
        guild.people.pop(person.id, None)
        for room in guild.rooms.values():
            room.thread_members.discard(person.id)
        await self.gateway.dispatch("GUILD_MEMBER_REMOVE", {"guild_id": str(guild.id), "user": person.payload()})

    async def change_thread_members(
        self, room: Room, *, added: Iterable[FakePerson] = (), removed: Iterable[FakePerson] = ()
    ) -> None:
        """People come to a thread or leave it."""
        come, gone = [each.id for each in added], [each.id for each in removed]
        room.thread_members = (room.thread_members | set(come)) - set(gone)
        about = {"id": str(room.id), "guild_id": str(room.guild_id), "member_count": len(room.thread_members)}
        about |= {
            "added_members": [room.thread_member(each) for each in come],
            "removed_member_ids": [str(each) for each in gone],
        }
        await self.gateway.dispatch("THREAD_MEMBERS_UPDATE", about)
