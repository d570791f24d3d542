"""StepParser: one step of a rehearsal file as the action it stands for."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import PurePosixPath
from typing import Literal

from familiar_connect.chat.message_parts import Sticker
from familiar_connect.chat.transcript_file import parse_attachment, parse_forward
from familiar_connect.config.llm import SLOT_TEMPERATURES
from familiar_connect.errors import ConfigError
from familiar_connect.identity import Author
from familiar_connect.rehearsal.parse_rules import check_names
from familiar_connect.rehearsal.platforms import TERMINAL, has_servers, name_with_servers
from familiar_connect.rehearsal.types import (
    OWNER,
    Action,
    ChangeFile,
    ChangeMembers,
    ChangeRoles,
    ChangeRules,
    ChangeVisibility,
    Edit,
    Expect,
    Expectation,
    Kick,
    PlaceSetup,
    Proxy,
    React,
    RehearsalPerson,
    Say,
    SearchExpectation,
    Slash,
    Upkeep,
)
from familiar_connect.slash.registry import COMMANDS, find_command
from familiar_connect.support.json_object import JsonObject

WHEN_KEYS = ("at", "after")
WORD_KEYS = (
    "said_has",
    "said_lacks",
    "prompt_has",
    "prompt_lacks",
    "answer_has",
    "answer_lacks",
    "tool_has",
    "tool_lacks",
)
_EXPECT_KEYS = (
    *("reply_in", "no_reply", "said_matches", "calls", "withheld"),
    *("file_has", "file_lacks", "search_finds", "search_lacks"),
    *WORD_KEYS,
)
_SAY_KEYS = (
    *("say", "in", "by", "id", "mention", "voice", "reply_to", "webhook"),
    *("attachments", "stickers", "forwards"),
)
MAX_PATTERN_CHARS = 1_000


class StepParser:
    """Reads steps; knows who and which places there are."""

    def __init__(
        self,
        people: Mapping[str, RehearsalPerson],
        places: Mapping[str, PlaceSetup],
        roles: Collection[str] = (),
    ) -> None:
        self._people = people
        self._places = places
        self._roles = roles
        self._parsers: dict[str, tuple[tuple[str, ...], Callable[[JsonObject, int], Action]]] = {
            "edit": (("edit", "in", "by", "say"), self._edit),
            "delete": (("delete", "in", "by"), self._delete),
            "react": (("react", "to", "by", "in"), self._react),
            "slash": (("slash", "args", "in", "by"), self._slash),
            "file": (("file", "write", "append", "remove"), self._file),
            "join": (("join", "in", "by"), self._join),
            "leave": (("leave", "in", "by"), self._leave),
            "hide": (("hide", "members"), self._hide),
            "open": (("open",), self._open),
            "kick": (("kick", "from"), self._kick),
            "allow": (("allow", "in"), self._allow),
            "deny": (("deny", "in"), self._deny),
            "roles": (("roles",), self._change_roles),
            "write_up": (("write_up",), self._write_up),
            "tidy": (("tidy",), self._tidy),
            "restart": (("restart",), self._restart),
            "expect": (("expect",), self._expect),
            "proxy": (("proxy", "say", "in", "by", "id", "mention", "reply_to"), self._proxy),
            "say": (_SAY_KEYS, self._say),
        }

    def parse(self, part: JsonObject, number: int) -> Action:
        """The action of the step *part*, the *number*th of its file."""
        others = part.data.keys() & {"edit", "proxy"}
        kinds = [kind for kind in self._parsers if kind in part.data and (kind != "say" or not others)]
        if len(kinds) != 1:
            found = f"has {' and '.join(kinds)}" if kinds else "says not what happens"
            near = next((word for key in part.data for word in _near(key, self._parsers)), None)
            hint = f"did you mean `{near}`?" if near and not kinds else f"it takes one of {', '.join(self._parsers)}"
            raise ConfigError(f"{part.where}: {found}; {hint}")
        keys, parse = self._parsers[kinds[0]]
        part.check_keys((*keys, *WHEN_KEYS))
        return parse(part, number)

    # Who and where

    def _name(self, part: JsonObject, key: str, known: Collection[str], what: str) -> str:
        name = part.require_text(key)
        if name not in known:
            near = _near(name, known)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise ConfigError(f"{part.where}: `{key}` names no {what}: {name[:60]!r}; {hint}")
        return name

    def _place(self, part: JsonObject, key: str = "in") -> str:
        return self._name(part, key, self._places, "place")

    def _person(self, part: JsonObject, key: str = "by") -> str:
        return self._name(part, key, self._people, "person")

    def _speaker(self, part: JsonObject, place: str) -> str:
        """Who writes in *place*; nobody but its members writes in a direct message."""
        person, setup = self._person(part), self._places[place]
        if setup.is_dm and setup.platform != TERMINAL and person not in setup.members:
            raise ConfigError(
                f"{part.where}: {person} is not a member of the direct message {place}; add them to its `members`"
            )
        return person

    # What people do

    def _proxy(self, part: JsonObject, number: int) -> Action:
        place = self._places[self._place(part)]
        if place.is_dm or not has_servers(place.platform):
            raise _only_for(part, "proxy", place)
        return Proxy(say=self._say(part, number), name=part.require_text("proxy"))

    def _say(self, part: JsonObject, number: int) -> Say:
        place = self._place(part)
        hook = part.part("webhook")
        text = part.text("say")
        if hook is not None and not has_servers(self._places[place].platform):
            raise _only_for(part, "webhook", self._places[place])
        if text is None:
            raise ConfigError(f'{part.where}: `say` must be a text; "" where only a picture is sent')
        return Say(
            place=place,
            person=self._speaker(part, place),
            text=text,
            message_id=part.text("id") or f"s{number}",
            is_mention=part.flag("mention"),
            is_voice=part.flag("voice"),
            reply_to=part.text("reply_to"),
            webhook=(hook.require_text("name"), hook.text("application") or "") if hook is not None else None,
            attachments=tuple(parse_attachment(each) for each in part.parts("attachments")),
            stickers=tuple(Sticker(name=name) for name in part.texts("stickers")),
            forwards=tuple(parse_forward(each, self._authors(place)) for each in part.parts("forwards")),
        )

    def _authors(self, place: str) -> dict[str, Author]:
        platform = self._places[place].platform
        return {key: person.on_platform(platform) for key, person in self._people.items()}

    def _edit(self, part: JsonObject, number: int) -> Action:
        text = part.text("say")
        if text is None:
            raise ConfigError(f"{part.where}: has no `say`; add what the message reads now, or use `delete`")
        return self._revision(part, "edit", text)

    def _delete(self, part: JsonObject, number: int) -> Action:
        return self._revision(part, "delete", None)

    def _revision(self, part: JsonObject, key: str, text: str | None) -> Action:
        place = self._place(part)
        person = self._speaker(part, place) if "by" in part.data else None
        return Edit(place=place, target=part.require_text(key), text=text, person=person)

    def _react(self, part: JsonObject, number: int) -> Action:
        place = self._place(part)
        emoji, target = part.require_text("react"), part.require_text("to")
        return React(place=place, person=self._speaker(part, place), emoji=emoji, target=target)

    def _slash(self, part: JsonObject, number: int) -> Action:
        name = part.require_text("slash").lstrip("/")
        name, _, rest = name.partition(" ")
        command = find_command(name)
        if command is None:
            near = _near(name, [each.name for each in COMMANDS])
            hint = f"did you mean /{near[0]}?" if near else "`/help` in a chat lists them"
            raise ConfigError(f"{part.where}: there is no slash command /{name[:60]}; {hint}")
        given = part.data.get("args")
        if isinstance(given, dict):
            options = part.part("args")
            assert options is not None
            options.check_keys([option.name for option in command.options])
            words = " ".join(options.text(o.name) or "" for o in command.options if o.name in options.data)
        else:
            words = " ".join(part.texts("args"))
        person = self._person(part) if "by" in part.data else OWNER
        return Slash(place=self._place(part), person=person, command=name, words=f"{rest} {words}".strip())

    # What the owner and the servers do

    def _file(self, part: JsonObject, number: int) -> Action:
        path = part.require_text("file")
        _check_path(f"{part.where}: `file`", path)
        how = [key for key in ("write", "append", "remove") if key in part.data]
        if len(how) != 1:
            raise ConfigError(f"{part.where}: must have one of `write`, `append` and `remove`")
        if how[0] == "remove":
            _check_true(part, "remove")
            return ChangeFile(path=path, how="remove")
        return ChangeFile(path=path, how="write" if how[0] == "write" else "append", text=part.text(how[0]) or "")

    def _join(self, part: JsonObject, number: int) -> Action:
        return self._membership(part, "join", joins=True)

    def _leave(self, part: JsonObject, number: int) -> Action:
        return self._membership(part, "leave", joins=False)

    def _membership(self, part: JsonObject, key: str, *, joins: bool) -> Action:
        """`{"join": person, "in": place}`, or `{"join": place, "by": person}`."""
        if "by" in part.data:
            return ChangeMembers(place=self._place(part, key), person=self._person(part), joins=joins)
        return ChangeMembers(place=self._place(part), person=self._person(part, key), joins=joins)

    def _hide(self, part: JsonObject, number: int) -> Action:
        members = part.texts("members") if "members" in part.data else None
        for member in members or ():
            if member not in self._people:
                raise ConfigError(f"{part.where}: `members` names nobody: {member[:60]!r}; name them under `people`")
        return ChangeVisibility(place=self._place(part, "hide"), hides=True, members=members)

    def _open(self, part: JsonObject, number: int) -> Action:
        return ChangeVisibility(place=self._place(part, "open"), hides=False)

    def _kick(self, part: JsonObject, number: int) -> Action:
        server = part.text("from")
        ids = {place.server_name: place.server_id for place in self._places.values() if place.server_id is not None}
        if server is not None and server not in ids:
            hint = f"there are {', '.join(str(name) for name in ids)}" if ids else "no place has a `server`"
            raise ConfigError(f"{part.where}: `from` names no server: {server[:60]!r}; {hint}")
        return Kick(person=self._person(part, "kick"), server_id=ids[server] if server is not None else None)

    def _allow(self, part: JsonObject, number: int) -> Action:
        return self._rules(part, "allow", allows=True)

    def _deny(self, part: JsonObject, number: int) -> Action:
        return self._rules(part, "deny", allows=False)

    def _rules(self, part: JsonObject, key: str, *, allows: bool) -> Action:
        place = self._places[self._place(part)]
        if place.is_dm or place.is_thread or not has_servers(place.platform):
            raise ConfigError(
                f"{part.where}: `{key}` is only for a channel of a {name_with_servers()} server; {place.key} is none"
            )
        names = _words(part, key)
        check_names(f"{part.where}: {key}", names, self._people, self._roles)
        return ChangeRules(place=place.key, names=names, allows=allows)

    def _change_roles(self, part: JsonObject, number: int) -> Action:
        """`{"roles": {person: [role]}}`."""
        named = part.part("roles")
        if named is None or not named.data:
            raise ConfigError(f"{part.where}: `roles` names nobody; write a person and a list of their roles")
        changed = {person: named.texts(person) for person in named.data}
        for person, roles in changed.items():
            if person not in self._people:
                raise ConfigError(f"{named.where}: there is no {person[:60]!r}; name them under `people`")
            if unknown := [role for role in roles if role not in self._roles]:
                near = _near(unknown[0], self._roles)
                hint = f"did you mean {near[0]!r}?" if near else "give it to a person or a place first"
                raise ConfigError(f"{named.where}: there is no role {unknown[0][:60]!r}; {hint}")
        return ChangeRoles(roles=changed)

    # What the program does

    def _write_up(self, part: JsonObject, number: int) -> Action:
        _check_true(part, "write_up")
        return Upkeep(what="write_up")

    def _tidy(self, part: JsonObject, number: int) -> Action:
        _check_true(part, "tidy")
        return Upkeep(what="tidy")

    def _restart(self, part: JsonObject, number: int) -> Action:
        if part.data["restart"] == "kill":
            return Upkeep(what="kill")
        if part.data["restart"] is not True:
            raise ConfigError(f'{part.where}: `restart` must be true or "kill"')
        return Upkeep(what="restart")

    # What must be so

    def _expect(self, step: JsonObject, number: int) -> Action:
        part = JsonObject(step.data["expect"], f"{step.where}: expect")
        part.check_keys(_EXPECT_KEYS)
        if not part.data:
            raise ConfigError(f"{part.where}: expects nothing; name at least one of {', '.join(_EXPECT_KEYS)}")
        no_reply = part.flag("no_reply")
        if no_reply and (about := [key for key in ("reply_in", "said_has", "said_matches") if key in part.data]):
            raise ConfigError(f"{part.where}: `no_reply` and `{about[0]}` cannot both be so; keep one")
        return Expect(
            expectation=Expectation(
                reply_in=self._place(part, "reply_in") if "reply_in" in part.data else None,
                no_reply=no_reply,
                words={key: _words(part, key) for key in WORD_KEYS if key in part.data},
                said_matches=_pattern(part),
                calls=_calls(part),
                withheld=part.texts("withheld"),
                files={key: _file_words(part, key) for key in ("file_has", "file_lacks") if key in part.data},
                searches=(*self._searches(part, "finds"), *self._searches(part, "lacks")),
            )
        )

    def _searches(self, part: JsonObject, kind: Literal["finds", "lacks"]) -> tuple[SearchExpectation, ...]:
        """One search, or a list of them."""
        key = f"search_{kind}"
        if key not in part.data:
            return ()
        given = part.data[key] if isinstance(part.data[key], list) else [part.data[key]]
        found = []
        for each in given:
            search = JsonObject(each, f"{part.where}: {key}")
            search.check_keys(("query", "in", "words"))
            found.append(
                SearchExpectation(
                    kind=kind,
                    query=search.require_text("query"),
                    place=self._place(search),
                    words=_words(search, "words"),
                )
            )
        return tuple(found)


def _near(word: str, known: Collection[str]) -> list[str]:
    return difflib.get_close_matches(word, list(known), n=1)


def _check_true(part: JsonObject, key: str) -> None:
    if part.data[key] is not True:
        raise ConfigError(f"{part.where}: `{key}` must be true")


def _words(part: JsonObject, key: str) -> tuple[str, ...]:
    words = part.texts(key)
    if not words or not all(words):
        raise ConfigError(f"{part.where}: `{key}` must name at least one text that is not empty")
    return words


def _check_path(where: str, path: str) -> None:
    inside = PurePosixPath(path)
    if inside.is_absolute() or not inside.parts or ".." in inside.parts or any(mark in path for mark in "\\\0:"):
        raise ConfigError(f"{where} must be a path inside the familiar's folder, not {path[:80]!r}")


def _file_words(part: JsonObject, key: str) -> dict[str, tuple[str, ...]]:
    files = part.part(key)
    if files is None:
        raise ConfigError(f"{part.where}: `{key}` must be an object of paths, each with its words")
    for path in files.data:
        _check_path(f"{files.where}: a name", path)
    return {path: _words(files, path) for path in files.data}


def _calls(part: JsonObject) -> dict[str, int]:
    calls = part.part("calls")
    if calls is None:
        return {}
    calls.check_keys(SLOT_TEMPERATURES)
    return {slot: calls.number(slot) or 0 for slot in calls.data}


def _pattern(part: JsonObject) -> str | None:
    pattern = part.text("said_matches")
    if pattern is None:
        return None
    try:
        if len(pattern) > MAX_PATTERN_CHARS:
            raise ConfigError(f"{part.where}: `said_matches` is longer than {MAX_PATTERN_CHARS} characters; shorten it")
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(f"{part.where}: `said_matches` is not a regular expression ({error})") from None
    return pattern


def _only_for(part: JsonObject, key: str, place: PlaceSetup) -> ConfigError:
    """What to raise where a step means something only where webhooks speak."""
    return ConfigError(f"{part.where}: `{key}` is only for a {name_with_servers()} channel; {place.key} is none")
