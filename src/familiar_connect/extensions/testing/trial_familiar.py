"""open_trial_familiar: a familiar in a temporary home, with extensions loaded as the program loads them."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from familiar_connect.config.extension_list import ExtensionList, FoundExtension
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.llm import MAIN_SLOT, SLOT_TEMPERATURES
from familiar_connect.config.load import load_character_config
from familiar_connect.config.merge import merge_settings
from familiar_connect.config.secrets import Secrets
from familiar_connect.config.toml import write_text
from familiar_connect.extensions.create import PartMaker, create_parts
from familiar_connect.extensions.load import LoadedExtension, check_extension
from familiar_connect.extensions.models import create_models
from familiar_connect.extensions.parts import Extension
from familiar_connect.familiar import Familiar
from familiar_connect.llm.protocols import ChatModel
from familiar_connect.llm.scripted import Answer, ScriptedModel, ScriptedReply
from familiar_connect.llm.types import Capabilities, Message
from familiar_connect.memory.store import MemoryStore
from familiar_connect.support.clock import Clock, SystemClock

NAME = "Ember"
DESCRIPTION = f"You are {NAME}, a small flame in a kettle. You answer with one short sentence.\n"
SOURCE = "test"
AT_ONCE = "[typing_simulation]\nenabled = false\n"
"""Nobody pretends to type, so that a test waits for nothing."""

Replies = Iterable[Answer] | Callable[[list[Message]], ScriptedReply]
"""What the model says: one answer after the other, or a function of what it is asked."""


@dataclass(frozen=True, kw_only=True)
class TrialFamiliar:
    """A familiar for a test, and what its parts are made with."""

    familiar: Familiar
    loaded: Sequence[LoadedExtension]
    maker: PartMaker


@asynccontextmanager
async def open_trial_familiar(
    extensions: Sequence[Extension],
    replies: Replies,
    *,
    settings: str = "",
    secrets: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[TrialFamiliar]:
    """A familiar with *settings* in its character.toml; its home is removed at the end.

    An extension that the program would leave out is an `ExtensionFault`.
    """
    for each in extensions:
        check_extension(each.name, each)
    with tempfile.TemporaryDirectory(prefix="familiar-test-") as folder:
        root = _make_home(folder, settings)
        home = FamiliarFolder(root).home.root
        for each in extensions:
            ExtensionList(home).allow(FoundExtension(name=each.name, target="", package=SOURCE, version=SOURCE))
        kept = Secrets(home)
        for name, value in (secrets or {}).items():
            kept.put(name, value)
        config = load_character_config(FamiliarFolder(root).settings_file)
        clock = clock or SystemClock()
        maker = PartMaker(root=root, config=config, secrets=kept, clock=clock)
        loaded = [LoadedExtension(name=each.name, extension=each) for each in extensions]
        models = create_models(loaded, maker, config.llm)
        familiar = Familiar.from_config(
            root,
            config,
            llm_clients={**_create_slots(replies), **models},
            clock=clock,
            added=create_parts(loaded, maker),
        )
        try:
            yield TrialFamiliar(familiar=familiar, loaded=loaded, maker=maker)
        finally:
            await familiar.aclose()


def _make_home(home: str, settings: str) -> Path:
    """A familiar's folder in *home*, with *settings* over what suits a test."""
    folder = HomeFolder(Path(home).resolve()).familiar(NAME.lower())
    text = merge_settings(AT_ONCE, settings, where=Path("the test's settings"))
    folder.root.mkdir(parents=True)
    write_text(folder.settings_file, text)
    store = MemoryStore(folder.memory)
    for stem, words in (("name", f"{NAME}\n"), ("description", DESCRIPTION)):
        store.write_file(f"self/{stem}.md", words, source=SOURCE)
    return folder.root


def _create_slots(replies: Replies) -> dict[str, ChatModel]:
    """The scripted model for the reply; every other slot counts as too small for side work and is never asked."""
    main = ScriptedModel(replies, capabilities=Capabilities(tools=True, is_tools_set=True))
    silent = ScriptedModel(model="silent", capabilities=Capabilities(side_tasks=False))
    return {slot: main if slot == MAIN_SLOT else silent for slot in SLOT_TEMPERATURES}
