"""Who hears what through the endpoint: random keys, chats and linked people, with a planted word in each message.

Each world is a started `familiar serve` with keys of every kind: private ones, some of them two of one person, one for
a group and one that everyone reads. Words are said in their chats, people are linked by codes said on both sides and
unlinked again, and somebody asks for each word somewhere. The prompt of the answer may hold a word only where the
person of a private chat said it, or is linked with who did; a group's words stay with its key; what everyone reads may
be told anywhere, and must be there when it is asked for, as must what one said oneself in another chat.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
import time
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.table import Row
from familiar_connect.extensions.serve.keys import KeyAudience
from tests.fakes.endpoint import Endpoint, served_endpoint

ROOMS, QUICK_ROOMS = 1_000, 20
LEAST_TOLD = 0.99
WORDS_A_WORLD, ASKED_A_WORLD = 24, 60
FOUND_WITHIN_S = 60.0
PEOPLE = ("Ada", "Bo", "Cy", "Dee", "Eli")
SETTINGS = "[limits]\nreplies_per_person_per_minute = 0\ntokens_per_person_per_day = 0\n"
SUBJECTS = ("locker", "garden gate", "bicycle", "attic", "boat", "piano", "cellar", "tool shed", "safe", "caravan")
OWNERS = ("Miriam", "Tomas", "Yuki", "Priya", "Olaf", "Zoe", "Hamid", "Lena", "Otto", "Ines")
TOO_MANY = 429


@dataclass(frozen=True)
class Chat:
    """One chat: by which key, who speaks in it, and what its program calls it."""

    key: str
    kind: KeyAudience
    person: str
    name: str


@dataclass(frozen=True)
class Word:
    """Something that was said once, and how to ask for it."""

    text: str
    subject: str
    chat: Chat


@dataclass
class Findings:
    """What was counted over all worlds."""

    rooms: int = 0
    worlds: int = 0
    checked: int = 0
    leaks: list[str] = field(default_factory=list)
    may: int = 0
    told: int = 0
    missing: list[str] = field(default_factory=list)


class World:
    """Keys and chats of one home, and what was said in them."""

    def __init__(self, endpoint: Endpoint, rng: random.Random, name: str, findings: Findings) -> None:
        self._endpoint = endpoint
        self._rng = rng
        self._name = name
        self._found = findings
        self._linked: set[frozenset[str]] = set()
        self._words: list[Word] = []
        self._keys: dict[str, str] = {}
        self.chats = self._make_chats()

    def play(self, words: int, asked: int) -> None:
        """Say so many words, then ask for so many while people are linked and unlinked."""
        named = [(subject, owner) for subject in SUBJECTS for owner in OWNERS]
        for number, (subject, owner) in enumerate(self._rng.sample(named, words)):
            chat = self._rng.choice(self.chats)
            word = Word(f"heron-{number:02}{self._rng.randrange(10**4):04}", f"the {subject} of {owner}", chat)
            self._say(chat, f"The code of {word.subject} is {word.text}, remember it.")
            self._words.append(word)
        self._wait_until_found()
        for number in count():
            if number == asked:
                return
            if number % 6 == 5:
                self._change_links()
            self._ask(self._rng.choice(self._words))

    # What is done

    def _make_chats(self) -> list[Chat]:
        chats = []
        for person in PEOPLE:
            for device in ("phone", "desk")[: self._rng.randrange(1, 3)]:
                key = f"{device} of {person}"
                self._keys[key] = self._endpoint.add_key(key, person)
                chats += [Chat(key, KeyAudience.private, person, f"chat {n}") for n in range(self._rng.randrange(1, 4))]
        for key, kind in (("team", KeyAudience.group), ("page", KeyAudience.everyone)):
            self._keys[key] = self._endpoint.add_key(key, audience=kind)
            for person in self._rng.sample(PEOPLE, 3):
                chats += [Chat(key, kind, person, f"chat {n}") for n in range(self._rng.randrange(1, 3))]
        return chats

    def _say(self, chat: Chat, text: str) -> str:
        """What is answered."""
        body = {"model": "ember", "messages": [{"role": "user", "content": text}], "chat_id": chat.name}
        if chat.kind is not KeyAudience.private:
            body["user"] = chat.person
        while (found := self._endpoint.ask("/chat/completions", body, key=self._keys[chat.key]))[0] == TOO_MANY:
            time.sleep(0.2)
        status, answer = found
        if status != 200:
            raise RuntimeError(f"{self._name}: {chat}: {answer}")
        return str(answer["choices"][0]["message"]["content"])

    def _wait_until_found(self) -> None:
        """Memory finds a word a moment after it was said: until the last of those that must be told is."""
        until = time.monotonic() + FOUND_WITHIN_S
        word = next((each for each in reversed(self._words) if self._others(each)), None)
        while word is not None and time.monotonic() < until:
            self._say(self._others(word)[0], f"What is the code of {word.subject}?")
            if word.text in self._last_prompt():
                return
            time.sleep(0.5)

    def _others(self, word: Word) -> list[Chat]:
        return [chat for chat in self.chats if chat != word.chat and self._must_tell(word, chat)]

    def _change_links(self) -> None:
        """Link two people by codes said on both sides, or unlink one."""
        own = [chat for chat in self.chats if chat.kind is KeyAudience.private]
        if self._linked and self._rng.random() < 0.5:
            person = self._rng.choice(sorted(set().union(*self._linked)))
            self._say(next(chat for chat in own if chat.person == person), "/unlink")
            left = {each - {person} for each in self._linked}
            self._linked = {each for each in left if len(each) > 1}
            return
        one, other = self._rng.sample(own, 2)
        if one.person == other.person:
            return
        first = _code_in(self._say(one, "/link"))
        second = _code_in(self._say(other, f"/link {first}"))
        self._say(one, f"/link {second}")
        both = frozenset({one.person, other.person})
        touched = {each for each in self._linked if each & both}
        self._linked = (self._linked - touched) | {both.union(*touched)}

    def _ask(self, word: Word) -> None:
        chat = self._rng.choice(self._others(word) or self.chats) if self._rng.random() < 0.5 else None
        chat = chat or self._rng.choice(self.chats)
        self._say(chat, f"What is the code of {word.subject}?")
        prompt = self._last_prompt()
        for each in self._words:
            self._found.checked += 1
            if each.text in prompt and not self._may_tell(each, chat):
                self._found.leaks.append(f"{self._name}: said in {each.chat} -> {chat}, linked {self._linked}")
        if chat != word.chat and self._must_tell(word, chat):
            self._found.may += 1
            self._found.told += word.text in prompt
            if word.text not in prompt:
                self._found.missing.append(f"{self._name}: said in {word.chat} -> {chat}")

    def _last_prompt(self) -> str:
        return json.dumps([request.payload["messages"] for request in self._endpoint.model.requests[-1:]])

    # The rule

    def _may_tell(self, word: Word, chat: Chat) -> bool:
        if word.chat == chat or word.chat.kind is KeyAudience.everyone:
            return True
        if word.chat.kind is KeyAudience.group:
            return chat.key == word.chat.key
        return chat.kind is KeyAudience.private and self._is_one(word.chat.person, chat.person)

    def _must_tell(self, word: Word, chat: Chat) -> bool:
        return word.chat.kind is not KeyAudience.group and self._may_tell(word, chat)

    def _is_one(self, one: str, other: str) -> bool:
        return one == other or any({one, other} <= each for each in self._linked)


def _code_in(answer: str) -> str:
    found = re.search(r"/link (\w{4}-\w{4})", answer)
    if found is None:
        raise RuntimeError(answer)
    return found[1]


def measure(
    *, rooms: int = ROOMS, seed: int = 39, words: int = WORDS_A_WORLD, asked: int = ASKED_A_WORLD
) -> dict[str, Any]:
    """Play worlds until so many chats were looked at."""
    findings = Findings()
    while findings.rooms < rooms:
        name = f"{seed}:{findings.worlds}"
        with (
            tempfile.TemporaryDirectory(prefix="familiar-rooms-") as folder,
            served_endpoint(Path(folder) / "home", settings=SETTINGS) as endpoint,
        ):
            world = World(endpoint, random.Random(name), name, findings)
            world.play(words, asked)
        findings.rooms += len(world.chats)
        findings.worlds += 1
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{findings.rooms} of {rooms} rooms, {len(findings.leaks)} leaks\x1b[K")
    return {**vars(findings), "seed": seed}


def rows(found: dict[str, Any]) -> list[Row]:
    share = found["told"] / found["may"] if found["may"] else 0.0
    return [
        Row(
            name=f"words told where they may not be, {found['rooms']:,} chats in {found['worlds']} homes",
            value=str(len(found["leaks"])),
            bar="0",
            ok=not found["leaks"],
        ),
        Row(
            name=f"words told where they may be and were asked for ({found['may']:,})",
            value=f"{share:.1%}",
            bar=f"≥ {LEAST_TOLD:.0%}",
            ok=share >= LEAST_TOLD,
        ),
    ]
