"""PersonLinks: who is the same person on several networks, because they said so on every side.

Two codes make a link. The first is asked for on one network and said on the other; there a second one is given, which
has to be said on the first. Whoever is talked into saying a stranger's code on their side has joined nothing by that.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from familiar_connect.identity import Author
from familiar_connect.support.clock import Clock
from familiar_connect.support.files import atomic_write
from familiar_connect.support.lru import LruCache
from familiar_connect.support.no_follow import load_bytes

CODE_SIGNS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
CODE_CHARS = 8
CODE_FOR = timedelta(minutes=10)
MOST_OFFERS = 100
MOST_WRONG = 5
"""Wrong codes of one person in a row; more are not looked at until a code would be out of date."""
MAX_FILE_BYTES = 1_000_000
MAX_PEOPLE = 1_000
_ONLY_OWNER = 0o600


@dataclass(frozen=True, kw_only=True)
class LinkOffer:
    """One code that was given, as it is kept: without the code."""

    digest: str
    first: str
    """Canonical key of whoever asked for the first code."""
    first_name: str
    until: str
    second: str = ""
    """Canonical key of whoever said the first code; empty: nobody yet."""


@dataclass(frozen=True, kw_only=True)
class LinkStep:
    """What saying a code came to."""

    code: str = ""
    """To be said on the other side; empty: nothing is left to say."""
    other: str = ""
    """Who is on the other side, as they are called there."""
    is_joined: bool = False


class PersonLinks:
    """The links of one familiar's people, in the file at *path*. Several programs may have it open."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._read_as: tuple[int, int] | None = None
        self._people: frozenset[frozenset[str]] = frozenset()
        self._wrong: LruCache[str, tuple[int, datetime]] = LruCache(MAX_PEOPLE)

    def all(self) -> frozenset[frozenset[str]]:
        """The canonical keys of each person who is linked, as the file has it now."""
        try:
            found = self._path.stat()
        except OSError:
            self._people = frozenset()
            return self._people
        mark = (found.st_mtime_ns, found.st_size)
        if mark != self._read_as:
            self._people = frozenset(frozenset(each) for each in self._load()[0])
            self._read_as = mark
        return self._people

    def offer(self, author: Author) -> str:
        """A code for *author* to say on another network."""
        people, offers = self._load()
        code, digest = _new_code()
        mine = [each for each in offers if each.first != author.canonical_key]
        made = LinkOffer(digest=digest, first=author.canonical_key, first_name=_name_of(author), until=self._until())
        self._write(people, [*mine, made])
        return code

    def say(self, author: Author, code: str) -> LinkStep | None:
        """*author* says a code; None: it is none, is out of date, or is not theirs to say."""
        now, key = self._clock.now(), author.canonical_key
        count, since = self._wrong.get(key) or (0, now)
        if count >= MOST_WRONG and now - since < CODE_FOR:
            return None
        people, offers = self._load()
        digest = _digest(code)
        offer = next((each for each in offers if each.digest == digest), None)
        if offer is None or not _may_say(key, offer):
            self._wrong.put(key, (count + 1 if now - since < CODE_FOR else 1, now))
            return None
        left = [each for each in offers if each is not offer]
        if offer.second:
            self._write(_join(people, offer.first, offer.second), left)
            return LinkStep(is_joined=True)
        second, digest = _new_code()
        self._write(people, [*left, replace(offer, digest=digest, second=key, until=self._until())])
        return LinkStep(code=second, other=offer.first_name)

    def unlink(self, author: Author) -> bool:
        """Take *author* out of whatever they are linked with; says whether they were."""
        key = author.canonical_key
        people, offers = self._load()
        kept = [sorted(set(each) - {key}) for each in people]
        was_linked = any(key in each for each in people)
        left = [each for each in offers if key not in (each.first, each.second)]
        if was_linked or len(left) < len(offers):
            self._write([each for each in kept if len(each) > 1], left)
        return was_linked

    def _until(self) -> str:
        return (self._clock.now() + CODE_FOR).isoformat()

    def _load(self) -> tuple[list[list[str]], list[LinkOffer]]:
        """Who is linked, and the codes that still count; a file that cannot be read links nobody."""
        try:
            given = json.loads(load_bytes(self._path, MAX_FILE_BYTES))
            people = [[str(key) for key in each] for each in given["people"]]
            offers = [LinkOffer(**each) for each in given["offers"]]
            now = self._clock.now()
            return people, [each for each in offers if datetime.fromisoformat(each.until) > now]
        except (OSError, ValueError, TypeError, KeyError):
            return [], []

    def _write(self, people: Sequence[Sequence[str]], offers: Sequence[LinkOffer]) -> None:
        plain = {"people": [list(each) for each in people], "offers": [asdict(each) for each in offers[-MOST_OFFERS:]]}
        atomic_write(self._path, json.dumps(plain, indent=1) + "\n", mode=_ONLY_OWNER)


def _may_say(key: str, offer: LinkOffer) -> bool:
    """The first code is said by somebody else, the second by whoever asked for the first."""
    return (key == offer.first) == bool(offer.second)


def _join(people: Sequence[Sequence[str]], one: str, other: str) -> list[list[str]]:
    both = {one, other}
    apart = [list(each) for each in people if both.isdisjoint(each)]
    joined = both.union(*(each for each in people if not both.isdisjoint(each)))
    return [*apart, sorted(joined)]


def _name_of(author: Author) -> str:
    return f"{author.label} on {author.platform}"


def _new_code() -> tuple[str, str]:
    """A code and what is kept of it."""
    code = "".join(secrets.choice(CODE_SIGNS) for _ in range(CODE_CHARS))
    return f"{code[:4]}-{code[4:]}", _digest(code)


def _digest(code: str) -> str:
    return hashlib.sha256("".join(sign for sign in code.upper() if sign.isalnum()).encode()).hexdigest()
