"""KeyBook: who may come in from other programs. Each key is bound to a person and an audience, and can be revoked.

Of a key only its SHA-256 is kept: it is long and random, so that nobody finds it from that.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path

from familiar_connect.api import ConfigError, ReadBy
from familiar_connect.api.support import atomic_write, fold_name, load_bytes

KEY_START = "fam-"
KEY_BYTES = 24
MAX_FILE_BYTES = 1_000_000
MAX_NAME_CHARS = 40
_ONLY_OWNER = 0o600
_NOT_PLAIN = re.compile(r"[^a-z0-9]+")


class KeyAudience(Enum):
    """Who reads what is said with a key."""

    private = "private"
    """Its person and nobody else, as in a direct message."""
    group = "group"
    """Several people who were let in, as in a closed room."""
    everyone = "everyone"
    """Anybody: a page or a stream that all can read."""

    @property
    def read_by(self) -> ReadBy:
        """The same in the words of a place."""
        return {"private": ReadBy.people, "group": ReadBy.members, "everyone": ReadBy.everyone}[self.value]


@dataclass(frozen=True, kw_only=True)
class AccessKey:
    """One key, as it is kept."""

    name: str
    digest: str
    person: str
    """Who speaks with it; empty: each request names somebody by its `user`."""
    audience: KeyAudience
    is_owner: bool = False
    """Whether that person is the owner, who may be told what they said in the terminal."""
    may_watch: bool = False
    """Whether it also lets a program follow what happens."""

    @property
    def person_id(self) -> str:
        """What its person is known by, whatever the key is called; empty: the key is for several."""
        return plain_id(self.person)


def plain_id(name: str) -> str:
    """*name* as one short word of small letters and digits; names that look alike stay apart."""
    folded = fold_name(name)
    plain = _NOT_PLAIN.sub("-", folded).strip("-")
    if plain == folded or not folded:
        return plain
    return f"{plain[:40]}-{hashlib.sha256(folded.encode()).hexdigest()[:8]}".lstrip("-")


class KeyBook:
    """The keys of a home, in one file that only its owner reads. It is read anew each time: a revoked key is out."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "keys.json"

    def all(self) -> list[AccessKey]:
        """Every key, in the order they were made."""
        try:
            listed = json.loads(load_bytes(self._file, MAX_FILE_BYTES))
            return [AccessKey(**{**each, "audience": KeyAudience(each["audience"])}) for each in listed]
        except FileNotFoundError:
            return []
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigError(
                f"{self._file} cannot be read: delete it, and make new keys with `familiar serve key add`"
            ) from error

    def add(
        self, name: str, *, person: str, audience: KeyAudience, is_owner: bool = False, may_watch: bool = False
    ) -> str:
        """Make a key called *name*; what is given back is shown once and kept nowhere."""
        name = name.strip()
        if not name or len(name) > MAX_NAME_CHARS:
            raise ConfigError(f"a key is called by 1 to {MAX_NAME_CHARS} characters, such as `phone`")
        known = self.all()
        if any(fold_name(each.name) == fold_name(name) for each in known):
            raise ConfigError(f"there is a key called {name}: `familiar serve key revoke {name}` removes it")
        if person and not plain_id(person):
            raise ConfigError("--person must have a letter or a digit in it")
        key = KEY_START + secrets.token_urlsafe(KEY_BYTES)
        made = AccessKey(
            name=name,
            digest=_digest(key),
            person=person.strip(),
            audience=audience,
            is_owner=is_owner,
            may_watch=may_watch,
        )
        self._write([*known, made])
        return key

    def revoke(self, name: str) -> None:
        """Let nobody in by the key called *name* any more."""
        known = self.all()
        left = [each for each in known if fold_name(each.name) != fold_name(name)]
        if len(left) == len(known):
            raise ConfigError(f"there is no key called {name}: `familiar serve key list` shows them")
        self._write(left)

    def find(self, given: str) -> AccessKey | None:
        """The key that *given* is; None: it is none, or was revoked."""
        digest = _digest(given)
        found = [each for each in self.all() if hmac.compare_digest(each.digest, digest)]
        return found[0] if found else None

    def _write(self, keys: Sequence[AccessKey]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        plain = [{**asdict(each), "audience": each.audience.value} for each in keys]
        atomic_write(self._file, json.dumps(plain, indent=1, ensure_ascii=False) + "\n", mode=_ONLY_OWNER)


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
