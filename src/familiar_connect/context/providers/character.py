"""CharacterProvider: the familiar's own character, from `self/*.md`.

No model, a plain read. One unreadable file costs that file only; an unreadable folder is told. Notes meant
for people (creator's notes, tags, greetings, version) never reach a prompt by this road.

SampleDialoguesProvider: the character's sample dialogues as pairs of turns, from `self/mes_example.md`.

The text is the cards' own form: `<START>` between dialogues, each line opened by `{{user}}:` or `{{char}}:`, or by the
character's own name. What stands before the first label is left out; a text without labels gives no items.

A user's side that holds nothing but `-` only lets the familiar begin. They are marked as samples, and no living
person's name stands in them: nobody here said it, and they stay the same whoever speaks.

to_casual_text: English words as people type them in a hurry; the same words always come out the same.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from familiar_connect.config.types import HEAVY_HUMANIZER
from familiar_connect.context.providers.scene.text import ANYONE, persona_of, readable
from familiar_connect.context.types import (
    FILES_DEADLINE_S,
    ContextItem,
    ContextRequest,
    Contribution,
    ItemTag,
    Layer,
    Priority,
)
from familiar_connect.llm.types import Role, TextPart
from familiar_connect.memory.store import MemoryStore, MemoryStoreError
from familiar_connect.presets.types import CardFields
from familiar_connect.support.aio import off_loop
from familiar_connect.support.system_notes import wrap_note
from familiar_connect.support.text import fold_name
from familiar_connect.support.tokens import estimate_tokens

_KEPT = re.compile(r"(`[^`\n]*`|https?://\S+|\{\{?[^{}\n]*\}?\}|<[^<>\n]*>)")
"""Code, addresses, macros and tags stay as they are."""
_SHORT_FORMS = (
    (r"\b(do|does|did|is|are|was|were|has|have|had|would|could|should) not\b", r"\1n't"),
    (r"\bcan ?not\b", "can't"),
    (r"\bwill not\b", "won't"),
    (r"\bI am\b", "I'm"),
    (r"\b(you|we|they) are\b", r"\1're"),
    (r"\b(it|that|there|he|she|what) is\b", r"\1's"),
    (r"\b(I|you|we|they) will\b", r"\1'll"),
    (r"\b(I|you|we|they) have\b", r"\1've"),
    (r"\blet us\b", "let's"),
    (r"\bgoing to\b", "gonna"),
    (r"\bwant to\b", "wanna"),
)
_PATTERNS = tuple((re.compile(pattern, re.IGNORECASE), short) for pattern, short in _SHORT_FORMS)
_OWN = re.compile(r"\bI\b")
_FIRST = re.compile(r"^[A-ZÀ-ÖØ-Þ](?![A-ZÀ-ÖØ-Þ])")
_BEGINNING = re.compile(r"(?:(?<=[.!?…] )|(?<=\n))[A-ZÀ-ÖØ-Þ](?![A-ZÀ-ÖØ-Þ])")
_FULL_STOP = re.compile(r"(?<![.])[.](?=[ \t]*(?:\n|$))")


def to_casual_text(text: str) -> str:
    """*text* with short forms, small letters at the beginning of sentences and no full stop at the end of a line."""
    parts = _KEPT.split(text)  # every second one is kept
    return "".join(part if number % 2 else _shorten(part, number == 0) for number, part in enumerate(parts))


def _shorten(part: str, is_first: bool) -> str:
    for pattern, short in _PATTERNS:
        part = pattern.sub(short, part)
    head, rest = ("", part) if is_first else (part[:1], part[1:])  # a part in the middle begins no sentence
    if head in ("", "\n"):
        rest = _FIRST.sub(lambda found: found[0].lower(), rest)
    rest = _BEGINNING.sub(lambda found: found[0].lower(), rest)
    return _FULL_STOP.sub("", _OWN.sub("i", head + rest))


logger = logging.getLogger(__name__)

FILE = "self/mes_example.md"
SAMPLES = "Samples of how you talk follow; nobody here said them."
NEW_SCENE = "These were samples of how you talk. A new scene starts here."
_SENTINELS = ("-", "—", "(none)", "<none>")

_LABEL = re.compile(r"^\s*(?:\{\{?\s*(user|char|bot)\s*\}?\}|<(user|bot|char)>)\s*[:：]\s*", re.IGNORECASE)
_START = re.compile(r"^\s*<start>\s*$", re.IGNORECASE)
USER_LABEL = "User"
"""Who speaks with the character, until it is known who does."""
MAX_ITEMS = 60


class SampleDialoguesProvider:
    """At most one contribution, of user and assistant items."""

    id = "sample_dialogues"
    deadline_s = FILES_DEADLINE_S

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        if request.turn is not None and request.turn.imitated is not None:
            return []
        turns = sample_items(await off_loop(self._read), self.id, char=persona_of(request))
        if not any(item.role == "assistant" for item in turns):
            return []
        items = tuple(_show(request, turns))
        text = "\n".join(item.text for item in items)
        return [
            Contribution(
                Layer.examples,
                int(Priority.SAMPLE),
                text,
                sum(estimate_tokens(item.text) for item in items),
                self.id,
                tag=ItemTag.SAMPLE,
                items=items,
                authored=True,
            )
        ]

    def _read(self) -> str:
        try:
            return self._store.read_if_present(FILE) or ""
        except MemoryStoreError as error:
            logger.warning("sample dialogues skipped", extra={"reason": type(error).__name__})
            return ""


def _show(request: ContextRequest, turns: Sequence[ContextItem]) -> list[ContextItem]:
    user, persona = ANYONE, persona_of(request)
    own_names = request.turn is not None and request.turn.showing.own_names
    items: list[ContextItem] = []
    unpaired, role = False, "assistant"
    for item in turns:
        words = readable(request, item.words or item.text, user=user)
        words = to_casual_text(words) if request.settings.humanizer == HEAVY_HUMANIZER else words
        if item.role == "user" and words.strip() in _SENTINELS:
            unpaired, role = True, "user"
            continue
        unpaired |= item.role == role
        role = item.role
        if item.role == "user":
            shown = f"{user}: {words}"
        else:
            shown = f"{persona}: {words}" if own_names and not _is_named(words, persona) else words
        items.append(replace(item, parts=(TextPart(shown),), words=words))
    unpaired |= role == "user"
    return _mark(items, unpaired=unpaired)


def _mark(items: list[ContextItem], *, unpaired: bool) -> list[ContextItem]:
    """*items* between a note that says what they are and one that says that they are over.

    A model so small that notes confuse it is shown pairs without them (`words`).
    """
    first = items[0]
    if first.role == "user":
        items = [replace(first, parts=(TextPart(f"{wrap_note(SAMPLES)}\n{first.text}"),)), *items[1:]]
    else:
        items = [_note(SAMPLES, words=""), *items]
    return [*items, _note(NEW_SCENE, words=None if unpaired else "")]


def _note(text: str, *, words: str | None) -> ContextItem:
    note = ContextItem.of("user", wrap_note(text), tag=ItemTag.SAMPLE, source="sample_dialogues")
    return replace(note, words=words)


def _is_named(words: str, persona: str) -> bool:
    """Whether *words* begin with the familiar's label, with or without a sprite."""
    label = rf"\s*(?:{re.escape(persona)}|\{{char\}}|\{{bot\}})\s*(?:\([^()\n]{{0,40}}\)\s*)?[:\uff1a]"
    return re.match(label, words, re.IGNORECASE) is not None


def sample_items(text: str, source: str, *, char: str = "") -> tuple[ContextItem, ...]:
    """The dialogue turns of *text*, in order; *char* is a name that opens the character's own lines, too."""
    own = (f"{char}:", f"{char}：") if char else ()
    turns: list[tuple[Role, list[str]]] = []
    open_turn = False
    for line in text.splitlines():
        if _START.match(line):
            open_turn = False
            continue
        label = _LABEL.match(line)
        if label is not None:
            who = (label.group(1) or label.group(2)).lower()
            turns.append(("user" if who == "user" else "assistant", [line[label.end() :]]))
            open_turn = True
        elif own and line.lstrip().startswith(own):
            turns.append(("assistant", [line.lstrip()[len(char) + 1 :].lstrip()]))
            open_turn = True
        elif open_turn:
            turns[-1][1].append(line)
    items = []
    for role, lines in turns[:MAX_ITEMS]:
        words = "\n".join(lines).strip()
        if words:
            shown = f"{USER_LABEL}: {words}" if role == "user" else words
            item = ContextItem.of(role, shown, tag=ItemTag.SAMPLE, source=source)
            items.append(replace(item, words=words))
    return tuple(items)


CHARACTER_PRIORITY = int(Priority.CHARACTER)

FIELDS: dict[str, tuple[ItemTag | None, int]] = {
    "system_prompt": (ItemTag.RULES, 10),
    "name": (ItemTag.PERSONA, 15),
    "description": (ItemTag.PERSONA, 20),
    "personality": (ItemTag.TRAITS, 30),
    "scenario": (ItemTag.SCENARIO, 40),
    "post_history_instructions": (ItemTag.POST_HISTORY, 50),
    "depth_prompt": (ItemTag.AUTHOR_NOTE, 60),
    "mes_example": (ItemTag.SAMPLE, 900),
}
"""File stem → its tag and its rank among equals; other files stand between."""

NAME_STEM = "name"
ALTERS = "self/alters"
"""Further personas, a file each, named as they are."""
SHARED = frozenset({"system_prompt", "post_history_instructions"})
"""What holds for every persona of a familiar."""
NEVER_SHOWN = frozenset(
    {"creator_notes", "tags", "first_mes", "alternate_greetings", "character_version", "creator", "nickname"}
)


class CharacterProvider:
    """One contribution per non-empty file of `self/` that belongs in a prompt."""

    id = "character"
    deadline_s = FILES_DEADLINE_S

    def __init__(self, store: MemoryStore, *, samples: bool = True) -> None:
        self._store = store
        self._samples = samples
        """False: sample dialogues come from a contributor of their own."""

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        unwanted = self._find_unwanted(request)
        if unwanted is None:
            return []
        texts = [(stem, text) for stem, text in await off_loop(self._read) if stem not in unwanted]
        alter = request.turn.flags.alter if request.turn is not None else None
        own = await off_loop(self._read_alter, alter) if alter is not None else ""
        if alter is not None and own:
            texts = [*((stem, text) for stem, text in texts if stem in SHARED), *_alter_texts(alter, own)]
        elif not request.is_exact:
            texts = _with_name_in_a_sentence(texts)
        card = request.card or CardFields()
        return [_contribution(stem, text, card) for stem, text in texts]

    def _find_unwanted(self, request: ContextRequest) -> frozenset[str] | None:
        """Files that others stand in for in this turn; None: all of them, for the familiar speaks for somebody."""
        if request.is_exact:
            return frozenset()
        if request.turn is not None and request.turn.imitated is not None:
            return None
        replaced = {"system_prompt"} if request.settings.replaces_rules else set()
        return frozenset(replaced if self._samples else replaced | {"mes_example"})

    def _read_alter(self, name: str) -> str:
        """Who a further persona is, in its own file; empty: it has none and is the familiar under another name."""
        wanted = fold_name(name)
        for path in self._store.glob(f"{ALTERS}/*.md"):
            if fold_name(PurePosixPath(path).stem) == wanted:
                try:
                    return self._store.read_file(path).strip()
                except MemoryStoreError as error:
                    logger.warning("character file skipped: %s", path, extra={"reason": type(error).__name__})
        return ""

    def _read(self) -> list[tuple[str, str]]:
        with self._store.hold():
            return read_character(self._store)


def read_character(store: MemoryStore) -> list[tuple[str, str]]:
    """The files of `self/` that belong in a prompt, each as its stem and its text."""
    found = []
    paths = store.glob("self/*.md")
    for reason in store.unreadable_folders("self") if not paths else ():
        logger.warning("the character is left out: %s", reason)
    for path in paths:
        stem = PurePosixPath(path).stem
        if stem in NEVER_SHOWN:
            continue
        try:
            text = store.read_file(path)
        except MemoryStoreError as error:
            logger.warning("character file skipped: %s", path, extra={"reason": type(error).__name__})
            continue
        if text.strip():
            found.append((stem, text))
    return found


def _alter_texts(name: str, text: str) -> list[tuple[str, str]]:
    """What is told of a further persona in place of the familiar's own character."""
    named = text if name in text or "{{char}}" in text else f"You are {name}.\n\n{text}"
    return [("description", named)]


def _with_name_in_a_sentence(texts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """*texts* without the bare name where another names the character, else with a sentence in its place."""
    name = next((text.strip() for stem, text in texts if stem == NAME_STEM), "")
    if not name:
        return texts
    others = [(stem, text) for stem, text in texts if stem != NAME_STEM]
    if any(name in text or "{{char}}" in text for _, text in others):
        return others
    return [(stem, f"You are {name}." if stem == NAME_STEM else text) for stem, text in texts]


def _contribution(stem: str, text: str, card: CardFields) -> Contribution:
    tag, order = FIELDS.get(stem, (None, 100))
    note = tag is ItemTag.AUTHOR_NOTE
    source = f"character:{stem}"
    return Contribution(
        Layer.character,
        CHARACTER_PRIORITY,
        text,
        estimate_tokens(text),
        source,
        items=sample_items(text, source, char=card.name) if tag is ItemTag.SAMPLE else (),
        tag=tag,
        order=order,
        depth=0 if tag is ItemTag.POST_HISTORY else card.depth_prompt_depth if note else None,
        role=card.depth_prompt_role if note else "system",
        authored=True,
    )
