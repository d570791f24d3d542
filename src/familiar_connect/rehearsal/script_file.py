"""read_rehearsal: a rehearsal file as a Rehearsal, checked to its end before anything is played.

A conversation file of `familiar prompt` is one too: its channel is the one place, its messages the steps. Whatever is
wrong is a `ConfigError` that names the place in the file and the fix.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from familiar_connect.chat.scene import ChannelKind
from familiar_connect.chat.transcript_file import FIRST_MOMENT, Transcript, parse_transcript
from familiar_connect.config.built_in import EXAMPLE_PLATFORM
from familiar_connect.config.llm import SLOT_TEMPERATURES
from familiar_connect.errors import ConfigError
from familiar_connect.rehearsal.parse_rules import check_rules, list_roles
from familiar_connect.rehearsal.parse_steps import StepParser
from familiar_connect.rehearsal.platforms import PLATFORMS, TERMINAL, has_servers
from familiar_connect.rehearsal.types import (
    OWNER,
    FamiliarSetup,
    Hear,
    ModelScript,
    PlaceSetup,
    Rehearsal,
    RehearsalPerson,
    ScriptedAnswer,
    Step,
)
from familiar_connect.support.json_object import LAST_MOMENT, LONGEST_S, JsonObject, read_json

MAX_BYTES = 16 * 1024 * 1024
MAX_STEPS = 10_000
FIRST_PERSON, FIRST_SERVER, FIRST_PLACE = 1001, 2001, 3001
"""Where ids that the file does not give begin to be counted."""
BETWEEN_STEPS = timedelta(minutes=1)
CONVERSATION_PLACE = "here"

_TOP_KEYS = ("familiar", "people", "places", "models", "steps")
_FAMILIAR_KEYS = ("name", "card", "base", "settings", "memory")
_PERSON_KEYS = ("name", "username", "id", "roles")
_PLACE_KEYS = (
    *("kind", "platform", "server", "name", "id", "hidden", "members", "parent", "topic"),
    *("except", "roles", "allow", "deny", "age_restricted"),
)
_ANSWER_KEYS = ("say", "when", "times", "delay_s", "fails", "silent", "tool", "arguments")
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


def read_rehearsal(path: Path) -> Rehearsal:
    """The rehearsal in the file at *path*. It reads a file: callers on an event loop run it in a thread."""
    data = read_json(path, limit=MAX_BYTES, what="a rehearsal is a few hundred steps")
    return parse_rehearsal(data, str(path), folder=path.parent)


def parse_rehearsal(data: object, name: str = "rehearsal", *, folder: Path = Path()) -> Rehearsal:
    """The rehearsal in *data*; *name* is what it is called in an error, *folder* where its card lies."""
    top = JsonObject(data, name)
    if "messages" in top.data and "steps" not in top.data:
        return _from_conversation(parse_transcript(data, name), name)
    top.check_keys(_TOP_KEYS)
    people = _people(top)
    places = _places(top, people)
    parser = StepParser(people, places, list_roles(people, places))
    steps = tuple(_steps(top, parser))
    if not steps:
        raise ConfigError(f"{name}: holds no steps; list at least one under `steps`")
    return Rehearsal(
        source=name,
        familiar=_familiar(top.part("familiar"), folder),
        people=people,
        places=places,
        models=_models(top),
        steps=steps,
    )


def _familiar(part: JsonObject | None, folder: Path) -> FamiliarSetup:
    if part is None:
        return FamiliarSetup()
    part.check_keys(_FAMILIAR_KEYS)
    card, base = part.text("card"), part.text("base")
    if card and base:
        raise ConfigError(f"{part.where}: has both `card` and `base`; keep the one that is meant")
    memory = part.part("memory")
    texts = {path: memory.text(path) or "" for path in memory.data} if memory is not None else {}
    return FamiliarSetup(
        name=(part.text("name") or "").strip() or "Ember",
        card=folder / card if card else None,
        base=base,
        settings=part.text("settings") or "",
        memory=texts,
    )


def _people(top: JsonObject) -> dict[str, RehearsalPerson]:
    people = {OWNER: RehearsalPerson(key=OWNER, user_id="1", name="Owner")}
    for number, (key, part) in enumerate(top.objects("people").items()):
        part.check_keys(_PERSON_KEYS)
        given = part.text("id") or ("1" if key == OWNER else str(FIRST_PERSON + number))
        name = part.text("name") or ("Owner" if key == OWNER else key)
        people[key] = RehearsalPerson(
            key=key, user_id=given, name=name, username=part.text("username"), roles=part.texts("roles")
        )
    _check_unique(f"{top.where}: people", {key: person.user_id for key, person in people.items()})
    return people


def _places(top: JsonObject, people: dict[str, RehearsalPerson]) -> dict[str, PlaceSetup]:
    servers: dict[str, int] = {}
    places: dict[str, PlaceSetup] = {}
    for number, (key, part) in enumerate(top.objects("places").items()):
        part.check_keys(_PLACE_KEYS)
        places[key] = _place(key, part, FIRST_PLACE + number, people, servers)
    roles = list_roles(people, places)
    for key, part in top.objects("places").items():
        check_rules(part, places[key], people, roles)
    if not places:
        raise ConfigError(f"{top.where}: names no places; add one under `places`")
    _check_unique(f"{top.where}: places", {key: str(place.channel_id) for key, place in places.items()})
    return places


def _place(
    key: str, part: JsonObject, channel_id: int, people: dict[str, RehearsalPerson], servers: dict[str, int]
) -> PlaceSetup:
    platform = part.one_of("platform", {name: name for name in PLATFORMS}, EXAMPLE_PLATFORM)
    at_home = platform == TERMINAL
    kind = part.one_of(
        "kind", {kind.value: kind for kind in ChannelKind}, ChannelKind.dm if at_home else ChannelKind.text
    )
    is_dm = kind in (ChannelKind.dm, ChannelKind.group_dm)
    is_on_server = not is_dm and (at_home or has_servers(platform))
    server = part.text("server") or "Server" if is_on_server else None
    hidden = part.flag("hidden")
    members = part.texts("members")
    for member in members:
        _check_name(f"{part.where}: members", member, people, "people")
    if is_dm and not members and not at_home:
        raise ConfigError(f"{part.where}: a direct message needs `members`; name who writes there")
    everyone = tuple(people) if not (hidden or is_dm) else (OWNER,) if at_home else ()
    return PlaceSetup(
        key=key,
        channel_id=_number_of(part, "id") or channel_id,
        name=part.text("name") or key,
        kind=kind,
        platform=platform,
        server_id=None if server is None else servers.setdefault(server, FIRST_SERVER + len(servers)),
        server_name=server,
        parent=part.text("parent"),
        topic=part.text("topic"),
        is_hidden=hidden,
        members=members or everyone,
        roles=_roles(part, people),
        allowed=part.texts("allow"),
        denied=(*part.texts("deny"), *part.texts("except")),
        is_age_restricted=part.flag("age_restricted"),
    )


def _roles(part: JsonObject, people: dict[str, RehearsalPerson]) -> dict[str, tuple[str, ...]]:
    """Role → who has it."""
    named = part.part("roles")
    found = {role: named.texts(role) for role in named.data} if named is not None else {}
    for role, holders in found.items():
        for person in holders:
            _check_name(f"{part.where}: roles.{role}", person, people, "people")
    return found


def _number_of(part: JsonObject, key: str) -> int | None:
    text = part.text(key)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) == 0:
        raise ConfigError(f"{part.where}: `{key}` must be a whole number of at most 18 digits, not {text[:40]!r}")
    return int(text)


def _check_unique(where: str, ids: dict[str, str]) -> None:
    owners: dict[str, str] = {}
    for key, given in ids.items():
        if given in owners:
            raise ConfigError(f"{where}: {owners[given]} and {key} have the same id {given}; give one of them another")
        owners[given] = key


def _check_name(where: str, name: str, known: Collection[str], what: str) -> None:
    """Refuse a name that nobody of *known* has."""
    if name not in known:
        near = difflib.get_close_matches(name, list(known), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"name it under `{what}`"
        raise ConfigError(f"{where}: there is no {name[:60]!r}; {hint}")


def _models(top: JsonObject) -> dict[str, ModelScript]:
    part = top.part("models")
    if part is None:
        return {}
    part.check_keys(SLOT_TEMPERATURES)
    return {slot: _model(part, slot) for slot in part.data}


def _model(models: JsonObject, slot: str) -> ModelScript:
    if isinstance(models.data[slot], str):
        if models.data[slot] != "echo":
            raise ConfigError(f'{models.where}: `{slot}` must be "echo" or an object with `say`')
        return ModelScript(is_echo=True)
    part = JsonObject(models.data[slot], f"{models.where}.{slot}")
    part.check_keys(("say", "otherwise"))
    said = [part.data["say"]] if isinstance(part.data.get("say"), str) else part.entries("say")
    otherwise = part.text("otherwise")
    return ModelScript(
        answers=tuple(_answer(each, f"{part.where}: say[{at}]") for at, each in enumerate(said)),
        otherwise="Mm." if otherwise is None else otherwise,
    )


def _answer(data: object, where: str) -> ScriptedAnswer:
    if isinstance(data, str):
        return ScriptedAnswer(say=data, times=1)
    part = JsonObject(data, where)
    part.check_keys(_ANSWER_KEYS)
    fails, when, times = part.number("fails"), part.text("when"), part.number("times")
    if fails is not None and not 300 <= fails <= 599:
        raise ConfigError(f"{where}: `fails` must be an HTTP status from 300 to 599, such as 500")
    says = [key for key in ("say", "silent", "fails", "tool") if key in part.data]
    if len([key for key in says if key != "say" or "tool" not in says]) != 1:
        raise ConfigError(f"{where}: must have one of `say`, `silent`, `fails` and `tool`")
    arguments = part.part("arguments")
    return ScriptedAnswer(
        say="" if part.flag("silent") else part.text("say") or "",
        when=when,
        times=times if times is not None else None if when is not None else 1,
        delay_s=part.seconds("delay_s") or 0.0,
        fails=fails,
        tool=part.text("tool"),
        arguments=arguments.data if arguments is not None else {},
    )


def _steps(top: JsonObject, parser: StepParser) -> Iterator[Step]:
    parts = top.parts("steps")
    if len(parts) > MAX_STEPS:
        raise ConfigError(f"{top.where}: has {len(parts):,} steps; at most {MAX_STEPS:,} can be played")
    now: datetime | None = None
    for number, part in enumerate(parts, start=1):
        at = _moment(part, now)
        if now is not None and at < now:
            raise ConfigError(
                f"{part.where}: `at` lies before the step above it, at {now.isoformat()}; put it in order"
            )
        now = at
        yield Step(number=number, at=at, action=parser.parse(part, number))


def _moment(part: JsonObject, before: datetime | None) -> datetime:
    at, after = part.moment("at"), _duration(part)
    if at is not None and after is not None:
        raise ConfigError(f"{part.where}: has both `at` and `after`; keep the one that is meant")
    if at is not None:
        return at
    if before is None:
        return FIRST_MOMENT if after is None else FIRST_MOMENT + after
    later = before + (BETWEEN_STEPS if after is None else after)
    if later > LAST_MOMENT:
        raise ConfigError(f"{part.where}: lies after the year {LAST_MOMENT.year}; let less time pass")
    return later


def _duration(part: JsonObject) -> timedelta | None:
    """`"2h"`, `"1h30m"`, or a number of seconds."""
    if isinstance(part.data.get("after"), int | float):
        return timedelta(seconds=part.seconds("after") or 0.0)
    text = part.text("after")
    if text is None:
        return None
    found = _DURATION.fullmatch(text.replace(" ", ""))
    if found is None or not any(found.groups()) or any(len(each or "") > 9 for each in found.groups()):
        raise ConfigError(f"{part.where}: `after` must be a time such as 30s, 10m, 2h, 1h30m or 3d, not {text[:40]!r}")
    days, hours, minutes, seconds = (int(each or 0) for each in found.groups())
    wait = timedelta(seconds=((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    if wait.total_seconds() > LONGEST_S:
        raise ConfigError(f"{part.where}: `after` must be at most 366d, not {text[:40]!r}")
    return wait


@dataclass
class _Ordered:
    """Moments that never go back: a message said to be older than the one before it comes with that one."""

    latest: datetime

    def at(self, moment: datetime) -> datetime:
        self.latest = max(self.latest, moment)
        return self.latest


def _from_conversation(transcript: Transcript, name: str) -> Rehearsal:
    """One place, every message heard in order, the last one answered."""
    scene, order = transcript.seen, _Ordered(transcript.messages[0].timestamp)
    authors = dict.fromkeys([*(m.author for m in transcript.messages), *scene.participants])
    people = {OWNER: RehearsalPerson(key=OWNER, user_id="1", name="Owner")} | {
        author.user_id: RehearsalPerson(
            key=author.user_id, user_id=author.user_id, name=author.label, username=author.username
        )
        for author in authors
    }
    channel = scene.channel
    place = PlaceSetup(
        key=CONVERSATION_PLACE,
        channel_id=transcript.channel_id,
        name=channel.name if channel is not None else CONVERSATION_PLACE,
        kind=channel.kind if channel is not None else ChannelKind.text,
        server_id=scene.server_id,
        server_name=scene.server_name,
        members=tuple(author.user_id for author in authors),
        scene=scene,
    )
    last = len(transcript.messages)
    steps = (
        Step(
            number=number,
            at=order.at(message.timestamp),
            action=Hear(place=place.key, message=message, is_answered=number == last),
        )
        for number, message in enumerate(transcript.messages, start=1)
    )
    return Rehearsal(
        source=name,
        familiar=FamiliarSetup(),
        people=people,
        places={place.key: place},
        models={},
        steps=tuple(steps),
        levels=transcript.levels,
    )
