"""CardReader: the character as macros and presets read it, from `self/*.md` and what `self/.card.json` keeps beside.

A file that is missing or cannot be read counts as empty; a broken `.card.json` costs only what it alone knows.
Calls block: async code runs them in a thread.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from typing import Any, cast

from familiar_connect.llm.types import Role
from familiar_connect.memory.store import MemoryStore, MemoryStoreError
from familiar_connect.presets.greetings import split_greetings
from familiar_connect.presets.regex_scripts import read_scripts
from familiar_connect.presets.types import CardFields, RegexScript

logger = logging.getLogger(__name__)

SELF, ORIGINAL = "self", ".original."
CARD_FILE = f"{SELF}/.card.json"
TEXT_FIELDS = (
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
    "system_prompt",
    "post_history_instructions",
    "creator_notes",
    "character_version",
    "depth_prompt",
    "nickname",
)
DEFAULT_DEPTH = 4
MAX_DEPTH = 10_000
ROLES = ("system", "user", "assistant")
"""Also by number, as older cards have them."""


class CardReader:
    """Reads one familiar's card, and the file beside it anew only when it changed."""

    def __init__(self, store: MemoryStore, familiar_id: str) -> None:
        self._store = store
        self._familiar_id = familiar_id
        self._known: tuple[tuple[int, int] | None, Mapping[str, object]] = (None, {})

    def read(self) -> CardFields:
        with self._store.hold():
            return self._read()

    def _read(self) -> CardFields:
        rest = self._rest()
        texts = {stem: self._text(f"self/{stem}.md") or _text_of(rest.get(stem)) for stem in TEXT_FIELDS}
        extensions = rest.get("extensions")
        note = extensions.get("depth_prompt") if isinstance(extensions, Mapping) else None
        note = note if isinstance(note, Mapping) else {}
        texts["depth_prompt"] = texts["depth_prompt"] or _text_of(note.get("prompt"))
        greetings = rest.get("alternate_greetings")
        listed = tuple(filter(None, map(_text_of, greetings))) if isinstance(greetings, list) else ()
        name = self._text("self/name.md").strip()
        return CardFields(
            name=name or self._familiar_id,
            is_unnamed=not name and self._is_from_card(),
            alternate_greetings=split_greetings(self._text("self/alternate_greetings.md")) or listed,
            depth_prompt_depth=_depth(note.get("depth")),
            depth_prompt_role=_role(note.get("role")),
            **texts,
        )

    def tags(self) -> tuple[str, ...]:
        """The character's tags."""
        return tuple(line.strip() for line in self._text("self/tags.md").splitlines() if line.strip())

    def group_greetings(self) -> tuple[str, ...]:
        """What the character says first in a group: its card's greetings for groups, else its usual ones."""
        rest = self._rest()
        listed = rest.get("group_only_greetings")
        own = tuple(filter(None, map(_text_of, listed))) if isinstance(listed, list) else ()
        if own:
            return own
        card = self.read()
        return tuple(filter(None, (card.first_mes, *card.alternate_greetings)))

    def talkativeness(self) -> float | None:
        """How talkative the card says the character is, from 0 to 1; None: it does not say."""
        extensions = self._rest().get("extensions")
        told: Any = extensions.get("talkativeness") if isinstance(extensions, Mapping) else None
        try:
            share = float(told)
        except (TypeError, ValueError, OverflowError):
            return None
        return share if 0 <= share <= 1 else None

    def regex_scripts(self) -> tuple[RegexScript, ...]:
        """The scripts that the card brings."""
        extensions = self._rest().get("extensions")
        listed = extensions.get("regex_scripts") if isinstance(extensions, Mapping) else None
        return read_scripts(listed, origin="card")

    def _is_from_card(self) -> bool:
        """Whether a card was imported: it is kept as it came."""
        try:
            return any(each.name.startswith(ORIGINAL) for each in self._store.list_dir(SELF))
        except MemoryStoreError:
            return False

    def _text(self, path: str) -> str:
        try:
            return self._store.read_if_present(path) or ""
        except MemoryStoreError as error:
            logger.debug("character file skipped", extra={"path": path, "reason": type(error).__name__})
            return ""

    def _rest(self) -> Mapping[str, object]:
        stamp = self._store.stamp(CARD_FILE)
        known, parsed = self._known
        if stamp is not None and stamp == known:
            return parsed
        if stamp is None and not os.path.lexists(self._store.root / CARD_FILE):  # asked of every message
            return {}
        try:
            data = self._store.bytes_if_present(CARD_FILE)
        except MemoryStoreError as error:
            logger.warning("card file skipped", extra={"path": CARD_FILE, "reason": type(error).__name__})
            return {}
        if data is None:
            return {}
        parsed = _parse(data)
        self._known = (stamp, parsed)
        return parsed


def _parse(data: bytes) -> Mapping[str, object]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        logger.warning("card file skipped", extra={"path": CARD_FILE, "reason": type(error).__name__})
        return {}
    for inner in ("data", "extras"):
        if isinstance(found, dict) and isinstance(found.get(inner), dict):
            found = {**found, **found[inner]}
    return found if isinstance(found, dict) else {}


def _text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def _depth(value: Any) -> int:
    """A whole number, also as text; anything else is the usual depth."""
    try:
        depth = int(value)
    except (TypeError, ValueError, OverflowError):
        return DEFAULT_DEPTH
    return depth if 0 <= depth <= MAX_DEPTH else DEFAULT_DEPTH


def _role(value: object) -> Role:
    if isinstance(value, int) and 0 <= value < len(ROLES):
        return cast("Role", ROLES[value])
    role = value.lower() if isinstance(value, str) else ""
    return cast("Role", role) if role in ROLES else "system"
