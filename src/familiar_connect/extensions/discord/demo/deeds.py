"""Deeds: what people of the demonstration do besides talking: they edit and delete, right-click, press, choose, vote.

Whatever they do goes through our own Discord, so each of them can do there what Discord lets them do.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from familiar_connect.extensions.discord.demo.command_rules import BUTTON, CHANNEL_LIST, PERSON_LIST, ROLE_LIST
from familiar_connect.extensions.discord.demo.demo_world import DemoWorld
from familiar_connect.extensions.discord.demo.occasions import Occasions
from familiar_connect.extensions.discord.demo.pluralkit import say_by_proxy
from familiar_connect.extensions.discord.demo.server import DiscordServer
from familiar_connect.extensions.discord.demo.typed_command import is_shown
from familiar_connect.extensions.discord.demo.world import FakePerson, Payload, Room

FORMS = {
    "ada: !edit hello?": "she edits what she said last; `!delete` deletes it, `!as Luna hello` says it by PluralKit",
    "ada: !click Forget this": "she right-clicks what {name} said last; `!click-mine` what she said herself",
    "ada: !press Again": "she presses a button; `!pick garden` chooses in a list, `!fill words` fills in a form",
    "ada: !suggest /memory ad": "what Discord suggests while she types that",
    "ada: !poll Tea? | yes | no": "she asks a poll; `ben: !vote 2` votes in it, `ada: !end` ends it",
    "!kick": "{name} is thrown out of the server; `!invite` lets it onto one; `!drop` cuts its connection,"
    " `!restart` starts it again",
}
TOLD_WITHIN_S = 0.3
"""Until an edit or a deletion has reached the familiar, which answers neither by itself."""
POSTED_WITHIN_S = 5.0
"""Until the familiar has said hello on a server, or told its owner that it was thrown out of one."""
_ID = re.compile(r"[^\s,]+")
Deed = Callable[[Room, FakePerson, str], Awaitable[None]]


class Deeds:
    """What one demonstration's people do. *say* shows a line, *asked* is told of each interaction and whose it is."""

    def __init__(
        self,
        server: DiscordServer,
        demo: DemoWorld,
        name: str,
        say: Callable[[str], None],
        *,
        asked: Callable[[str, FakePerson], None],
        posted: Callable[[Room, Payload], None],
        said_last: Callable[[Room], Payload | None],
        restart: Callable[[], None],
    ) -> None:
        self._server = server
        self._demo = demo
        self._name = name
        self._say = say
        self._asked = asked
        self._posted = posted
        self._said_last = said_last
        self._restart = restart
        self._occasions = Occasions(server)
        self._polls: dict[int, Payload] = {}
        self._shown: dict[int, Payload] = {}
        """By person, the answer with lists or buttons that they were shown last."""
        self._forms: dict[int, Payload] = {}
        self._deeds: Mapping[str, Deed] = {
            "!edit": self._edit,
            "!delete": self._delete,
            "!as": self._say_as,
            "!click": self._click,
            "!click-mine": self._click_own,
            "!press": self._press,
            "!pick": self._pick,
            "!fill": self._fill,
            "!suggest": self._suggest,
            "!poll": self._poll,
            "!vote": self._vote,
            "!end": self._end,
            "!kick": self._kick,
            "!invite": self._invite,
            "!drop": self._drop,
            "!restart": self._start_again,
        }

    def knows(self, words: str) -> bool:
        return words.partition(" ")[0].lower() in self._deeds

    async def act(self, room: Room, person: FakePerson, words: str) -> None:
        """Do it, or say what Discord says against it."""
        deed, _, rest = words.partition(" ")
        try:
            await self._deeds[deed.lower()](room, person, rest.strip())
        except ValueError as error:
            self._say(f"(Discord would not take that: {error}.)")

    def note_shown(self, person: FakePerson, answer: Payload) -> None:
        """*person* was answered: what they can press, choose or fill in from now on is shown."""
        data = answer["data"]
        if "title" in data:
            self._forms[person.id] = data
            field = data["components"][0]["components"][0]
            value = f" It holds: {field['value']}" if field.get("value") else ""
            self._say(f"(A form opens for {person.display_name}: {data['title']}.{value} `!fill words` fills it in.)")
        elif data.get("components"):
            self._shown[person.id] = answer
            self._say(describe_parts(data["components"]))
        elif "choices" in data:
            found = ", ".join(str(each["name"]) for each in data["choices"])
            self._say(f"(Discord suggests: {found})" if found else "(Discord suggests nothing.)")

    # Messages

    def _own_last(self, room: Room, person: FakePerson) -> Payload:
        own = [each for each in room.messages.values() if each["author"]["id"] == str(person.id)]
        if not own:
            raise ValueError(f"{person.display_name} has said nothing here")
        return own[-1]

    async def _edit(self, room: Room, person: FakePerson, words: str) -> None:
        if not words:
            raise ValueError("an edited message needs words")
        await self._server.edit(room, self._own_last(room, person), words)
        await asyncio.sleep(TOLD_WITHIN_S)

    async def _delete(self, room: Room, person: FakePerson, words: str) -> None:
        await self._server.delete(room, self._own_last(room, person))
        await asyncio.sleep(TOLD_WITHIN_S)

    async def _say_as(self, room: Room, person: FakePerson, words: str) -> None:
        name, _, text = words.partition(" ")
        if not text.strip() or room.guild_id is None:
            raise ValueError("PluralKit wants a name and words, on a server")
        _, twin = await say_by_proxy(self._server, room, person, text.strip(), name)
        self._posted(room, twin)

    # Menus, buttons, lists and forms

    async def _click(self, room: Room, person: FakePerson, title: str) -> None:
        message = self._said_last(room)
        if message is not None:
            await self._use_on(room, person, title, message)

    async def _click_own(self, room: Room, person: FakePerson, title: str) -> None:
        await self._use_on(room, person, title, self._own_last(room, person))

    async def _use_on(self, room: Room, person: FakePerson, title: str, message: Payload) -> None:
        offered = [each for each in self._server.list_message_menu() if is_shown(each, self._rights(room, person))]
        found = next((each["name"] for each in offered if each["name"].casefold() == title.casefold()), None)
        if found is None:
            shown = ", ".join(each["name"] for each in offered)
            self._say(f"(On a right-click Discord shows {person.display_name}: {shown}.)")
            return
        token = await self._server.use_on_message(room, person, found, message, may_manage=False)
        self._asked(token, person)

    def _rights(self, room: Room, person: FakePerson) -> int | None:
        guild = self._server.world.guilds.get(room.guild_id or 0)
        return guild.permissions(room, person) if guild is not None else None

    async def _press(self, room: Room, person: FakePerson, label: str) -> None:
        """A button below the newest message that has it, or below an answer that *person* was shown."""
        posted = [{"data": each} for each in reversed(room.messages.values()) if each.get("components")]
        for shown in (*posted, *filter(None, [self._shown.get(person.id)])):
            for part in _parts(shown):
                if part["type"] == BUTTON and part.get("label", "").casefold() == label.casefold():
                    await self._used(room, person, shown, part, ())
                    return
        raise ValueError(f"there is no button '{label}'")

    async def _pick(self, room: Room, person: FakePerson, words: str) -> None:
        """In the first list that holds all of these names; without names nothing, where that may be."""
        shown = self._shown.get(person.id)
        for part in _parts(shown) if shown is not None else ():
            found = [self._id_in(part["type"], each) for each in _ID.findall(words)]
            if part["type"] != BUTTON and None not in found and (found or part.get("min_values") == 0):
                assert shown is not None
                await self._used(room, person, shown, part, tuple(each for each in found if each is not None))
                return
        raise ValueError(f"no list that {person.display_name} was shown holds '{words}'")

    def _id_in(self, kind: int, name: str) -> int | None:
        wanted = name.strip("@#").casefold()
        if kind == CHANNEL_LIST:
            room = self._demo.rooms.get(wanted)
            return room.id if room is not None and room.guild_id is not None else None
        if kind == ROLE_LIST:
            roles = self._demo.guild.roles.values()
            return next((each.id for each in roles if each.name.casefold() == wanted), None)
        people = self._server.world.people.values() if kind == PERSON_LIST else ()
        return next((each.id for each in people if each.username.casefold() == wanted), None)

    async def _used(
        self, room: Room, person: FakePerson, shown: Payload, part: Payload, chosen: tuple[int, ...]
    ) -> None:
        token = await self._server.pick(room, person, shown, part["custom_id"], chosen, may_manage=False)
        self._asked(token, person)

    async def _fill(self, room: Room, person: FakePerson, words: str) -> None:
        form = self._forms.pop(person.id, None)
        if form is None:
            raise ValueError(f"no form is open for {person.display_name}")
        token = await self._server.submit_form(room, person, form, words, may_manage=False)
        self._asked(token, person)

    async def _suggest(self, room: Room, person: FakePerson, words: str) -> None:
        name, _, begun = words.removeprefix("/").partition(" ")
        command = next((each for each in self._server.api.interactions.commands if each["name"] == name), {})
        offered = [each["name"] for each in command.get("options") or [] if each.get("autocomplete")]
        if not offered:
            raise ValueError(f"nothing is suggested for /{name}")
        token = await self._server.autocomplete(room, person, name, offered[0], begun, may_manage=False)
        self._asked(token, person)

    # Polls

    async def _poll(self, room: Room, person: FakePerson, words: str) -> None:
        question, *answers = [each.strip() for each in words.split("|")]
        if not question or not all(answers) or not 2 <= len(answers) <= 10:
            raise ValueError("a poll has a question and 2 to 10 answers, between |")
        poll = await self._occasions.ask_poll(room, person, question, *answers)
        self._polls[room.id] = poll
        self._posted(room, poll)

    def _open_poll(self, room: Room) -> Payload:
        if room.id not in self._polls:
            raise ValueError("no poll is open here")
        return self._polls[room.id]

    async def _vote(self, room: Room, person: FakePerson, words: str) -> None:
        poll = self._open_poll(room)
        if not words.isdecimal() or not 1 <= int(words) <= len(poll["poll"]["answers"]):
            raise ValueError("a vote is the number of an answer")
        await self._occasions.vote(room, poll, person, int(words))

    async def _end(self, room: Room, person: FakePerson, words: str) -> None:
        poll = self._open_poll(room)
        del self._polls[room.id]
        await self._occasions.end_poll(room, poll)

    # The familiar's comings and goings

    async def _kick(self, room: Room, person: FakePerson, words: str) -> None:
        guild = self._server.world.guilds.get(room.guild_id or 0)
        if guild is None:
            raise ValueError(f"{self._name} is not there")
        self._say(f"({self._name} is thrown out of {guild.name}.)")
        await self._until_posted(self._server.remove_guild(guild))

    async def _invite(self, room: Room, person: FakePerson, words: str) -> None:
        guild = self._demo.guild
        if guild.id in self._server.world.guilds:
            guild = self._demo.make_warren()
        self._server.world.guilds[guild.id] = guild
        rooms = ", ".join(f"#{each.name}" for each in guild.rooms.values() if each.name in self._demo.rooms)
        self._say(f"({self._name} is let onto {guild.name}, with {rooms}.)")
        await self._until_posted(self._server.join_guild(guild))

    async def _until_posted(self, deed: Awaitable[object]) -> None:
        """Do it, and wait a moment for what the familiar says to it by itself."""
        before = len(self._server.facts_of("posted"))
        await deed
        with suppress(TimeoutError):
            await self._server.until(lambda: len(self._server.facts_of("posted")) > before, within_s=POSTED_WITHIN_S)

    async def _drop(self, room: Room, person: FakePerson, words: str) -> None:
        self._say("(The connection is cut.)")
        await self._server.gateway.drop()

    async def _start_again(self, room: Room, person: FakePerson, words: str) -> None:
        self._say(f"({self._name} leaves, and comes again.)")
        self._restart()


def _parts(shown: Payload) -> list[Payload]:
    return [part for row in shown["data"].get("components") or [] for part in row["components"]]


def describe_parts(rows: list[Payload]) -> str:
    """What can be pressed and chosen below a message, in one line."""
    parts = [part for row in rows for part in row["components"]]
    shown = [
        f"[{part.get('label') or ''}]" if part["type"] == BUTTON else f"[{part.get('placeholder') or 'choose'} ▾]"
        for part in parts
    ]
    return f"  {' '.join(shown)}"
