"""GroupPages: making a group, its settings, and who of it speaks now or only listens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from familiar_connect.config.folders import HomeFolder
from familiar_connect.config.groups import (
    DEFAULT_TALKATIVENESS,
    LEAST_MEMBERS,
    MOST_MEMBERS,
    GroupConfig,
    TurnOrder,
    change_group,
    group_file,
    list_groups,
    load_group,
    write_group,
)
from familiar_connect.errors import ConfigError, HomeError
from familiar_connect.history.chats import Chat
from familiar_connect.memory.maintenance.field_merge import form_state, merge_fields, read_form_state
from familiar_connect.platforms.group_talk import name_group_chat, open_group_chat
from familiar_connect.platforms.web.addresses import pages_at
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.group_rooms import GroupRooms
from familiar_connect.platforms.web.render import (
    PageRenderer,
    answer_json,
    is_script,
    make_routes,
    read_form,
    redirect,
)
from familiar_connect.support.aio import off_loop
from familiar_connect.support.no_follow import remove_file
from familiar_connect.support.text import to_slug

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

MEMBER, MUTED, SHARE = "member.", "muted.", "share."
"""How fields of a form begin that are about one member."""
MAX_NAME_CHARS = 40
ORDERS = {
    TurnOrder.natural: "Natural: whoever is named, then by chance and talkativeness",
    TurnOrder.list: "List: everybody, one after the other",
    TurnOrder.pooled: "Pooled: one at a time, whoever has not spoken yet",
    TurnOrder.manual: "By hand: no one, until you click a face above the chat",
}
DONE = {
    "saved": "Saved. It counts from the next message on.",
    "merged": "Saved. The file had changed meanwhile: both changes stand in it.",
    "deleted": "Deleted. What was said stays with each of its members, as a chat.",
}


@dataclass(frozen=True, kw_only=True)
class ListedGroup:
    """A group in the list."""

    name: str
    members: Sequence[str]
    problem: str = ""


class GroupPages:
    """The routes `/groups` and `/chats/ID/group`, on the pages of the familiar *here*."""

    def __init__(self, here: str, chats: WebChats, groups: GroupRooms, renderer: PageRenderer) -> None:
        self._here = here
        self._chats = chats
        self._groups = groups
        self._renderer = renderer

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/groups", self.list_all, "GET"),
            ("/groups", self.make, "POST"),
            ("/groups/{name}", self.show, "GET"),
            ("/groups/{name}", self.save, "POST"),
            ("/groups/{name}/talk", self.talk, "POST"),
            ("/groups/{name}/delete", self.delete, "POST"),
            ("/chats/{id:number}/group", self.show_bar, "GET"),
            ("/chats/{id:number}/group/speak", self.speak, "POST"),
            ("/chats/{id:number}/group/mute", self.mute, "POST"),
            ("/chats/{id:number}/group/new", self.start_another, "POST"),
        )
        return make_routes(handlers, self._renderer)

    # The groups of the home

    async def list_all(self, request: Request) -> Response:
        done = DONE.get(request.query_params.get("done", ""), "")
        return await off_loop(self._list, {}, "", done)

    def _list(self, typed: Mapping[str, str], problem: str, done: str = "") -> Response:
        return self._renderer.page(
            "groups.html",
            status=400 if problem else 200,
            title="Groups",
            typed=typed,
            problem=problem,
            done=done,
            groups=[self._listed(name) for name in list_groups(self._groups.home)],
            own_id=self._here,
            most=MOST_MEMBERS,
        )

    def _listed(self, name: str) -> ListedGroup:
        try:
            return ListedGroup(name=name, members=load_group(self._groups.home, name).members)
        except (ConfigError, HomeError) as error:
            return ListedGroup(name=name, members=(), problem=str(error))

    async def make(self, request: Request) -> Response:
        """A new group, and to its chat."""
        return await off_loop(self._make, await read_form(request))

    def _make(self, typed: dict[str, str]) -> Response:
        members = [name.removeprefix(MEMBER) for name in typed if name.startswith(MEMBER)]
        name = to_slug(typed.get("name", "").strip() or "-".join(members), MAX_NAME_CHARS)
        try:
            if len(members) < LEAST_MEMBERS:
                raise HomeError("a group has two familiars or more: choose them")
            self._require(members)
            if group_file(self._groups.home, name).exists():
                raise HomeError(f"there is a group called {name} already: open it below, or choose another name")
            GroupConfig(members=members).check(name)
            write_group(self._groups.home, name, members)
        except (ConfigError, HomeError) as error:
            return self._list(typed, str(error))
        return self._to_chat(name, members)

    def _require(self, members: Sequence[str]) -> None:
        strangers = set(members) - set(self._groups.familiars.ids())
        if strangers:
            raise HomeError(f"there is no familiar {min(strangers)} here")

    async def talk(self, request: Request) -> Response:
        """To the latest chat of a group."""
        return await off_loop(self._talk, request.path_params["name"], False)

    def _talk(self, name: str, is_new: bool) -> Response:
        config = load_group(self._groups.home, name)
        self._require(config.members)
        return self._to_chat(name, config.members, is_new=is_new)

    def _to_chat(self, label: str, members: Sequence[str], *, is_new: bool = False) -> Response:
        """To the group's chat: on this familiar's page where it is a member, else on the first member's."""
        home = HomeFolder(self._groups.home)
        channels = open_group_chat([home.familiars / each for each in members], label, is_new=is_new)
        at = self._here if self._here in members else members[0]
        return redirect(f"{pages_at(at)}/chats/{channels[list(members).index(at)]}")

    async def delete(self, request: Request) -> Response:
        """Take the file of a group away; its chats stay with each member."""
        return await off_loop(self._delete, request.path_params["name"])

    def _delete(self, name: str) -> Response:
        load_group(self._groups.home, name)
        remove_file(group_file(self._groups.home, name))
        return redirect("/groups?done=deleted")

    # The settings of one

    async def show(self, request: Request) -> Response:
        done = DONE.get(request.query_params.get("done", ""), "")
        return await off_loop(self._show, request.path_params["name"], done)

    def _show(self, name: str, done: str) -> Response:
        fields = self._fields(load_group(self._groups.home, name))
        return self._form(name, fields, fields, done=done)

    def _fields(self, config: GroupConfig) -> dict[str, str]:
        """What the file says, as a form shows it."""
        fields = {
            "order": config.order.value,
            "max_replies": str(config.max_replies),
            "allow_self_responses": "1" if config.allow_self_responses else "",
        }
        for each in dict.fromkeys((*config.members, *self._groups.familiars.ids())):
            share = config.talkativeness.get(each)
            fields[f"{MEMBER}{each}"] = "1" if each in config.members else ""
            fields[f"{MUTED}{each}"] = "1" if each in config.muted else ""
            fields[f"{SHARE}{each}"] = "" if share is None else f"{share:g}"
        return fields

    def _form(
        self,
        name: str,
        fields: dict[str, str],
        was: dict[str, str],
        *,
        clashes: Sequence[str] = (),
        problem: str = "",
        done: str = "",
    ) -> Response:
        return self._renderer.page(
            "group.html",
            status=409 if clashes else 400 if problem else 200,
            title=f"Group {name}",
            name=name,
            chat_name=name_group_chat(name),
            fields=fields,
            was=form_state(was),
            clashes={each: was[each] for each in clashes},
            problem=problem,
            done=done,
            orders=[(order.value, label) for order, label in ORDERS.items()],
            ids=[each.removeprefix(MEMBER) for each in fields if each.startswith(MEMBER)],
            usual=DEFAULT_TALKATIVENESS,
            file=str(group_file(self._groups.home, name).relative_to(self._groups.home)),
        )

    async def save(self, request: Request) -> Response:
        return await off_loop(self._save, request.path_params["name"], await read_form(request))

    def _save(self, name: str, sent: dict[str, str]) -> Response:
        config, was = load_group(self._groups.home, name), read_form_state(sent.get("was", ""))
        if was is None:
            raise ConfigError("the form does not say what it began with: open it again")
        there = self._fields(config)
        mine = {each: sent.get(each, "").strip() for each in there}
        merged = merge_fields({each: was.get(each, "") for each in there}, mine, there)
        if merged.conflicts:
            return self._form(name, merged.fields, there, clashes=merged.conflicts)
        try:
            change_group(self._groups.home, name, self._values(config, merged.fields, sent.get("up", "")))
        except ConfigError as error:  # what was chosen stays in the form
            return self._form(name, mine, there, problem=str(error))
        return redirect(f"/groups/{name}?done={'merged' if merged.is_merged else 'saved'}")

    def _values(self, config: GroupConfig, fields: Mapping[str, str], up: str) -> dict[str, object]:
        """*fields* as the keys of the file; the member *up* changes places with the one before it."""
        ids = [each.removeprefix(MEMBER) for each in fields if each.startswith(MEMBER)]
        members = [each for each in ids if fields[f"{MEMBER}{each}"]]
        at = members.index(up) if up in members else 0
        if at:
            members[at - 1 : at + 1] = [members[at], members[at - 1]]
        replies = fields["max_replies"]
        if not (replies.isascii() and replies.isdigit() and 1 <= int(replies[:4]) <= MOST_MEMBERS):
            raise ConfigError(f"the most replies must be a whole number from 1 to {MOST_MEMBERS}")
        self._require([each for each in members if each not in config.members])
        return {
            "members": members,
            "order": fields["order"],
            "max_replies": int(replies),
            "allow_self_responses": fields["allow_self_responses"] == "1",
            "muted": [each for each in members if fields[f"{MUTED}{each}"]],
            "talkativeness": {each: _read_share(each, text) for each in members if (text := fields[f"{SHARE}{each}"])},
        }

    # One chat of it

    async def show_bar(self, request: Request) -> Response:
        """Who is here, as a piece of the page."""
        chat = await self._chat(request)
        async with self._groups.use(self._here, chat) as room:
            group = room.describe(self._here) if room is not None else None
            return await off_loop(lambda: self._renderer.page("group_bar.html", here=chat, group=group))

    async def speak(self, request: Request) -> Response:
        """Let one member speak now, or where none is named the group go on by itself."""
        chat, member = await self._chat(request), (await read_form(request)).get("member", "")
        async with self._groups.use(self._here, chat) as room:
            if room is None or (member and member not in room.seats):
                raise HomeError("that familiar is not of this group")
            doing = room.let_speak(member) if member else room.go_on()
            if is_script(request):
                room.start(doing, "speak")
                return answer_json({"begun": True}, status=202)
            await doing
        return redirect(f"/chats/{chat.channel_id}#end")

    async def mute(self, request: Request) -> Response:
        """Have one member listen only, or speak again."""
        chat, fields = await self._chat(request), await read_form(request)
        async with self._groups.use(self._here, chat) as room:
            member = fields.get("member", "")
            if room is None or member not in room.seats:
                raise HomeError("that familiar is not of this group")
            await room.set_muted(member, is_muted=fields.get("muted") == "1")
        return answer_json({"done": True}) if is_script(request) else redirect(f"/chats/{chat.channel_id}")

    async def start_another(self, request: Request) -> Response:
        """Another chat of the same group."""
        chat = await self._chat(request)
        async with self._groups.use(self._here, chat) as room:
            if room is None:
                raise HomeError("this is no chat of a group")
            label, members = room.chat.label, room.chat.config.members
        return await off_loop(lambda: self._to_chat(label, members, is_new=True))

    async def _chat(self, request: Request) -> Chat:
        return await off_loop(self._chats.require, request.path_params["id"])


def _read_share(member: str, text: str) -> float:
    try:
        return float(text.replace(",", "."))
    except ValueError as error:
        raise ConfigError(f"how talkative {member} is must be a number from 0 to 1") from error
