"""CharacterProvider: the familiar's own character, from `self/*.md`.

No model, a plain read. One unreadable file costs that file only; an unreadable folder is told. Notes meant
for people (creator's notes, tags, greetings, version) never reach a prompt by this road.
"""

from __future__ import annotations

import logging
from pathlib import PurePosixPath

from familiar_connect.context.providers.mes_example import sample_items
from familiar_connect.context.types import FILES_DEADLINE_S, ContextRequest, Contribution, ItemTag, Layer, Priority
from familiar_connect.memory.persona import persona_name as persona_name
from familiar_connect.memory.store import MemoryStore, MemoryStoreError
from familiar_connect.presets.types import CardFields
from familiar_connect.support.aio import off_loop
from familiar_connect.support.names import fold_name
from familiar_connect.support.tokens import estimate_tokens

logger = logging.getLogger(__name__)

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
        unwanted = self._unwanted(request)
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

    def _unwanted(self, request: ContextRequest) -> frozenset[str] | None:
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
