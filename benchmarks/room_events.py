"""Random rooms and what happens in them: talk, changes of who can read what, edits, deletions, twins, restarts."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from benchmarks.room_world import ADMIN, CONNECT, EVERYONE, OWNER, VIEW, Place, RoomWorld, Server, Word

MESSAGES, ASKED_EARLY, ASKED_LATE = 18, 4, 12
ROLES = ("keepers", "guests")
THINGS = ("kettle", "lantern", "ladder", "cellar", "piano", "garden", "harbour", "attic", "bakery", "violin", "tunnel")
KINDS = ("password", "colour", "number", "nickname", "address", "recipe", "birthday", "hiding place", "motto", "price")

Event = dict[str, Any]


@dataclass
class Story:
    """What happens in order, and what must hold after each of it."""

    events: list[Event] = field(default_factory=list)
    forbidden: dict[int, list[Word]] = field(default_factory=dict)
    """Event → words that may not stand in anything made for it."""
    withdrawn: dict[int, list[Word]] = field(default_factory=dict)
    """Event → words that were taken back before it."""
    asked: dict[int, tuple[Word, bool]] = field(default_factory=dict)
    """Event → the word asked for, and whether it is to be found."""


def random_world(rng: random.Random, *, is_discord: bool, has_group: bool = False) -> RoomWorld:
    """Two servers with channels of every kind, direct messages, and the owner's terminal in a rehearsal.

    *is_discord*: with what only Discord itself has: the server's owner, administrators, rights of roles, CONNECT.
    *has_group*: with a group of Telegram, too.
    """
    people = ["ada", "bo", "cy", "di", OWNER]
    roles: dict[str, set[str]] = {each: {role for role in ROLES if rng.random() < 0.4} for each in people[:-1]}
    roles[OWNER] = set()
    servers, places = {}, {}
    for name in ("Tea House", "Harbour"):
        server = servers[name] = Server(name, set(people), owner=OWNER if is_discord else None)
        if is_discord and rng.random() < 0.25:  # who has not agreed to the rules sees nothing
            server.everyone, server.role_rights = CONNECT, {"keepers": VIEW, "guests": VIEW}
        if is_discord and rng.random() < 0.2:
            server.role_rights["keepers"] = server.role_rights.get("keepers", 0) | ADMIN
        for place in _channels(rng, name, people[:-1], is_discord=is_discord):
            places[place.key] = place
    world = RoomWorld(people, servers, places, roles, minors={each for each in people[:-1] if rng.random() < 0.3})
    for name in servers:
        _add_threads(rng, world, name)
    for person in rng.sample(people[:-1], 2):
        places[f"dm-{person}"] = Place(f"dm-{person}", "dm", inside={person})
    if has_group:
        places["group"] = Place("group", "telegram", inside=set(rng.sample(people, 3)))
    owners = Place("dm-owner", "dm", inside={OWNER}) if is_discord else Place("terminal", "terminal", inside={OWNER})
    places[owners.key] = owners
    return world


def _channels(rng: random.Random, server: str, people: list[str], *, is_discord: bool) -> list[Place]:
    letter = server[0].lower()
    places = [Place(f"{letter}{number}", server=server) for number in range(rng.choice((2, 3)))]
    for place in places[1:]:
        place.overwrites = _random_rules(rng, people, is_voice=False)
        place.is_for_adults = rng.random() < 0.2
    if rng.random() < (0.6 if is_discord else 0.35):
        voice = Place(f"{letter}v", "voice", server)
        is_limited = rng.random() < (0.85 if is_discord else 0.6)
        voice.overwrites = _random_rules(rng, people, is_voice=is_discord) if is_limited else {}
        places.append(voice)
    if is_discord and rng.random() < 0.4:  # the last two channels are those of a category
        rules = _random_rules(rng, people, is_voice=False)
        for place in places[-2:]:
            place.category, place.overwrites = f"{letter}c", dict(rules)
    return places


def _random_rules(rng: random.Random, people: list[str], *, is_voice: bool) -> dict[str, tuple[int, int]]:
    """An open channel, one closed to somebody or to a role, or one only for some."""
    bit = CONNECT if is_voice and rng.random() < 0.5 else VIEW
    choice = rng.choice(("open", "but person", "but role", "role", "people", "role but person"))
    person, other = rng.sample(people, 2)
    role = rng.choice(ROLES)
    rules: dict[str, dict[str, tuple[int, int]]] = {
        "open": {},
        "but person": {person: (0, bit)},
        "but role": {role: (0, bit), person: (bit, 0)},
        "role": {EVERYONE: (0, bit), role: (bit, 0)},
        "people": {EVERYONE: (0, bit), person: (bit, 0), other: (bit, 0)},
        "role but person": {EVERYONE: (0, bit), role: (bit, 0), person: (0, bit)},
    }
    return rules[choice]


def _add_threads(rng: random.Random, world: RoomWorld, server: str) -> None:
    letter = server[0].lower()
    channels = world.of_server(server, ("text",))
    if rng.random() < 0.4:
        parent = rng.choice(channels)
        world.places[f"{letter}t"] = Place(f"{letter}t", "thread", server, parent)
    if rng.random() < 0.4:
        parent = rng.choice(channels)
        can = sorted(world.readers(parent))
        inside = set(rng.sample(can, min(2, len(can))))
        world.places[f"{letter}p"] = Place(f"{letter}p", "private_thread", server, parent, inside=inside)
    if rng.random() < 0.3:
        people = [each for each in world.people if each != OWNER]
        world.places[f"{letter}f"] = Place(
            f"{letter}f", "forum_root", server, overwrites=_random_rules(rng, people, is_voice=False)
        )
        world.places[f"{letter}fp"] = Place(f"{letter}fp", "forum_post", server, f"{letter}f")


class StoryTeller:
    """Makes a story in a world, and changes the world with it."""

    def __init__(self, rng: random.Random, world: RoomWorld, *, is_discord: bool) -> None:
        self._rng = rng
        self._world = world
        self._is_discord = is_discord
        self._topics = [f"{kind} of the {thing}" for kind in KINDS for thing in THINGS]
        rng.shuffle(self._topics)
        self.story = Story()

    def tell(self) -> Story:
        for _ in range(MESSAGES):
            self._say_word()
            if self._rng.random() < 0.25:
                self._change()
            if self._rng.random() < 0.12:
                self._revise()
        self._ask(ASKED_EARLY)
        self._add({"do": "write_up"})
        self._add({"do": "write_up"})
        self._add({"do": "restart"})
        for _ in range(2):
            self._change()
        self._ask(ASKED_LATE // 2)
        self._change()
        self._ask(ASKED_LATE - ASKED_LATE // 2)
        return self.story

    def _add(self, event: Event) -> int:
        self.story.events.append(event)
        return len(self.story.events)

    def _speakers(self, key: str) -> list[str]:
        return sorted(self._world.readers(key))

    def _rooms(self) -> list[str]:
        """Places in which somebody can speak."""
        return [k for k, place in self._world.places.items() if place.kind != "forum_root" and self._speakers(k)]

    def _speak(self, key: str, text: str, **more: Any) -> int:
        world = self._world
        speaker = self._rng.choice(self._speakers(key))
        number = self._add({"do": "say", "in": key, "by": speaker, "text": f"Ember, {text}", **more})
        self.story.forbidden[number] = [word for word in world.words if not world.may_tell(word, key)]
        self.story.withdrawn[number] = [word for word in world.words if word.is_withdrawn]
        return number

    def _say_word(self) -> None:
        rng, world = self._rng, self._world
        key = rng.choice(self._rooms())
        text, topic = f"zq{rng.getrandbits(40):010x}", self._topics.pop()
        is_on_server = bool(world.places[key].server)
        more = {"proxy": rng.choice(("Luna", "Sol"))} if is_on_server and rng.random() < 0.1 else {}
        number = self._speak(key, f"the {topic} is {text}.", **more)
        world.words.append(
            Word(text, topic, key, world.readers(key), world.signature(key), world.is_open(key), message=number)
        )

    def _revise(self) -> None:
        """A message is deleted, or reads differently."""
        rng = self._rng
        standing = [word for word in self._world.words if not word.is_withdrawn]
        word = rng.choice(standing)
        event = self.story.events[word.message - 1]
        if "proxy" in event or word.place == "terminal":
            return
        word.is_withdrawn = True
        about = {"in": word.place, "of": word.message, "by": event["by"]}
        is_told = self._world.places[word.place].kind != "telegram"  # which tells no bot of a deletion
        if rng.random() < 0.5 and is_told:
            self._add({"do": "delete", **about})
        else:
            self._add({"do": "edit", **about, "text": f"Ember, never mind the {word.topic}."})

    def _ask(self, times: int) -> None:
        rng, world = self._rng, self._world
        for _ in range(times):
            key = rng.choice(self._rooms())
            must = [word for word in world.words if word.place != key and world.must_tell(word, key)]
            pool = must if must and rng.random() < 0.7 else self._words_nearly_told(key)
            word = rng.choice(pool)
            number = self._speak(key, f"what is the {word.topic}?")
            is_near = word.place == key or world.is_searched_from(key)
            self.story.asked[number] = (word, is_near and world.must_tell(word, key))
        if (rooms := [key for key in self._rooms() if OWNER in self._speakers(key)]) and rng.random() < 0.5:
            key = rng.choice(rooms)
            number = self._add({"do": "slash", "in": key, "command": "context"})
            self.story.forbidden[number] = [word for word in world.words if not world.may_tell(word, key)]

    def _words_nearly_told(self, key: str) -> list[Word]:
        """On Discord, where only it knows some rules, mostly what was said on the same server and may not be told."""
        world, server = self._world, self._world.places[key].server
        if not self._is_discord or not server or self._rng.random() < 0.3:
            return world.words
        near = [each for each in world.words if world.places[each.place].server == server]
        return [each for each in near if not world.may_tell(each, key)] or world.words

    # Changes of who can read what

    def _change(self) -> None:
        changes = (
            *(self._shut_out, self._shut_out, self._let_in, self._hide, self._open),
            *(self._change_role, self._change_role, self._kick, self._join, self._change_thread),
        )
        self._rng.choice(changes)()
        self._world.note_changes()

    def _channel(self) -> Place:
        kinds = ("text", "voice", "forum_root")
        return self._rng.choice([each for each in self._world.places.values() if each.kind in kinds])

    def _name(self) -> str:
        return self._rng.choice([*self._world.people[:-1], *ROLES])

    def _bit(self, place: Place) -> int:
        return CONNECT if place.kind == "voice" and self._is_discord and self._rng.random() < 0.5 else VIEW

    def _overwrite(self, place: Place, name: str, allow: int, deny: int) -> None:
        """In a channel; where it is like its category, now and then in the whole category."""
        world = self._world
        synced = [
            each
            for each in world.places.values()
            if place.category and each.category == place.category and each.overwrites == place.overwrites
        ]
        of_all = [each for each in world.places.values() if place.category and each.category == place.category]
        in_category = len(synced) > 1 and synced == of_all and self._rng.random() < 0.5
        for each in synced if in_category else [place]:
            each.overwrites = each.overwrites | {name: (allow, deny)}
        where = place.category if in_category else place.key
        self._add({"do": "overwrite", "in": where, "name": name, "allow": allow, "deny": deny, "all": in_category})

    def _shut_out(self) -> None:
        place = self._channel()
        self._overwrite(place, self._name(), 0, self._bit(place))

    def _let_in(self) -> None:
        place = self._channel()
        self._overwrite(place, self._name(), VIEW | (CONNECT if self._is_discord and place.kind == "voice" else 0), 0)

    def _hide(self) -> None:
        place = self._channel()
        readers = self._rng.sample(self._world.people[:-1], 2)
        place.overwrites = {EVERYONE: (0, VIEW), **dict.fromkeys(readers, (VIEW, 0))}
        self._add({"do": "hide", "in": place.key, "members": readers})

    def _open(self) -> None:
        place = self._channel()
        place.overwrites = {}
        self._add({"do": "open", "in": place.key})

    def _change_role(self) -> None:
        person, role = self._rng.choice(self._world.people[:-1]), self._rng.choice(ROLES)
        self._world.roles[person] = self._world.roles[person] ^ {role}
        self._add({"do": "roles", "of": person, "roles": sorted(self._world.roles[person])})

    def _kick(self) -> None:
        server = self._rng.choice(list(self._world.servers.values()))
        person = self._rng.choice(self._world.people[:-1])
        if person in server.members and len(server.members) > 2:
            server.members.discard(person)
            for key in self._world.of_server(server.name, ("private_thread",)):
                self._world.places[key].inside.discard(person)
            self._add({"do": "kick", "person": person, "server": server.name})

    def _join(self) -> None:
        server = self._rng.choice(list(self._world.servers.values()))
        gone = sorted(set(self._world.people) - server.members)
        doors = [k for k in self._world.of_server(server.name, ("text",)) if self._world.is_open(k)]
        if gone and doors:
            person = self._rng.choice(gone)
            server.members.add(person)
            self._add({"do": "join", "person": person, "server": server.name, "in": doors[0]})

    def _change_thread(self) -> None:
        threads = [each for each in self._world.places.values() if each.kind == "private_thread"]
        if not threads:
            return
        thread = self._rng.choice(threads)
        person = self._rng.choice(self._world.people[:-1])
        if person in thread.inside:
            thread.inside.discard(person)
            self._add({"do": "thread", "in": thread.key, "person": person, "joins": False})
        elif person in self._world.servers[thread.server].members:
            thread.inside.add(person)
            self._add({"do": "thread", "in": thread.key, "person": person, "joins": True})
