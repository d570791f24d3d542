"""Shadow: a familiar copied into a folder that is thrown away, to see what it would be shown.

It is the same familiar, put together the same way; whatever it writes down is gone with the folder, and no model is
ever asked. Side work that a model would do takes the plain form that small models get.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from familiar_connect.config import CharacterConfig
from familiar_connect.config.consent import OwnerConsent
from familiar_connect.config.folders import LAST_CONTEXT_SUFFIX, FamiliarFolder
from familiar_connect.config.llm import MAIN_SLOT, SLOT_TEMPERATURES
from familiar_connect.config.load import load_allowed_config
from familiar_connect.config.secrets import Secrets
from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.context.types import PipelineOutput
from familiar_connect.errors import FamiliarError, HomeError, ModelError
from familiar_connect.familiar import Familiar
from familiar_connect.llm.profiles import capabilities_for
from familiar_connect.llm.slots import create_llm_clients
from familiar_connect.llm.types import Capabilities
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import Clock
from familiar_connect.support.no_follow import LinkRefused, open_to_read

NOT_COPIED = ("*.lock", "*-shm", f"*{LAST_CONTEXT_SUFFIX}")
"""What a prompt is not made of, besides the ledger, the replays and the audit log."""
COPIES = 3
"""How often a database that changes meanwhile is copied anew."""
INDEX_READY_S = 30.0
"""Seconds that finding memory again may take to be ready."""


@dataclass(frozen=True)
class NoModel:
    """A model known by what it can do. It is never asked for anything."""

    model: str
    capabilities: Capabilities

    def chat(self, *words: object, **more: object) -> NoReturn:
        raise ModelError("no model is asked while a prompt is only looked at")

    chat_stream = complete = stream = chat


@asynccontextmanager
async def open_sandbox(
    root: Path,
    *,
    profile: Path | None,
    clock: Clock | None = None,
    changed: Callable[[CharacterConfig], CharacterConfig] | None = None,
    capabilities: Mapping[str, Any] | None = None,
    model: str | None = None,
    searches: bool = True,
) -> AsyncIterator[tuple[Familiar, bool]]:
    """The familiar in *root*, copied, and whether all of its memory is found; gone at the end.

    *capabilities* go over what is known of *model*, or of the familiar's own model. Without *searches* memory is not
    made ready to be found, for prompts in which nothing found stands. What the owner has not allowed does not count.
    """
    with tempfile.TemporaryDirectory(prefix="familiar-") as folder:
        there = FamiliarFolder(root)
        consent = OwnerConsent(there.home.root, root.name)
        config = await off_loop(load_allowed_config, there.settings_file, consent, defaults_path=profile)
        copy = await off_loop(copy_familiar, root, Path(folder))
        config = changed(config) if changed is not None else config
        familiar = Familiar.from_config(
            copy,
            config,
            llm_clients=stand_in_models(config, model, await _with_window(config, model, capabilities or {}, root)),
            defaults_path=profile,
            clock=clock,
            fetches_media=False,
            consent=consent,
        )
        try:
            yield familiar, not searches or await familiar.update_memory_index(INDEX_READY_S)
        except FamiliarError as error:  # whoever reads it has the files themselves, not the copy
            raise FamiliarError(str(error).replace(str(copy), str(root))) from error
        finally:
            await familiar.aclose()


async def _with_window(
    config: CharacterConfig, model: str | None, over: Mapping[str, Any], root: Path
) -> Mapping[str, Any]:
    """*over* with the window that the familiar's endpoint tells, which a reply would ask for too; no model is asked."""
    slot = config.llm[MAIN_SLOT]
    if model or "window" in over or slot.context_window is not None or slot.is_embedded:
        return over
    home = root.parent.parent
    secrets = Secrets(home)
    try:
        clients = create_llm_clients(
            secrets.get("OPENROUTER_API_KEY"),
            replace(config, llm=dict.fromkeys(SLOT_TEMPERATURES, slot)),
            secrets=secrets.get,
            trust=TrustedOrigins(home),
        )
    except FamiliarError:  # an endpoint that the owner has not allowed is not asked
        return over
    client = clients[MAIN_SLOT]
    try:
        await client.learn_limits()
        window = client.capabilities.window
    finally:
        for each in clients.values():
            await each.close()
    return over if window is None else {**over, "window": window}


def stand_in_models(config: CharacterConfig, model: str | None, over: Mapping[str, Any]) -> dict[str, Any]:
    """For every slot what is known of its model, and nobody who could answer."""
    slot = config.llm[MAIN_SLOT]
    known = capabilities_for(model) if model else capabilities_for(slot.model, slot.base_url, slot)
    main = NoModel(model or slot.model, replace(known, **over))
    small = NoModel("none", Capabilities(side_tasks=False))
    return {name: main if name == MAIN_SLOT else small for name in SLOT_TEMPERATURES}


def copy_familiar(root: Path, folder: Path, *, is_whole: bool = False) -> Path:
    """A copy of the familiar's folder, without what no prompt is made of.

    When it *is_whole*, the copy can live on: with the versions of its memory, and what it used today.
    """
    copy, there = folder.resolve() / root.name, FamiliarFolder(root)
    copied = FamiliarFolder(copy)
    databases = [(there.history_db, copied.history_db)]
    databases += [(there.metrics_db, copied.metrics_db)] if is_whole else []
    left_out = [there.traces.name, f"{there.metrics_db.name}*", f"{there.history_db.name}*"]
    left_out += [] if is_whole else [there.audit.name]
    try:
        shutil.copytree(root, copy, symlinks=True, ignore=shutil.ignore_patterns(*NOT_COPIED, *left_out))
        for database, target in databases:
            _copy_database(database, target)
    except LinkRefused:
        raise
    except (OSError, shutil.Error) as error:
        raise HomeError(f"{root}: cannot be copied to be looked at ({type(error).__name__}: {error})") from error
    return copy


def _copy_database(there: Path, copy: Path) -> None:
    """A database with what is not yet merged into it, both of one moment."""
    pairs = [(there.with_name(there.name + end), copy.with_name(copy.name + end)) for end in ("-wal", "")]
    for _ in range(COPIES):
        before = [_stamp(path) for path, _ in pairs]
        for path, target in pairs:
            target.unlink(missing_ok=True)
            if path.exists():
                with open_to_read(path) as there_now, target.open("wb") as out:
                    shutil.copyfileobj(there_now, out)
        if before == [_stamp(path) for path, _ in pairs]:
            return


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        facts = path.stat()
    except FileNotFoundError:
        return None
    return facts.st_mtime_ns, facts.st_size


def providers_that_failed(output: PipelineOutput) -> list[str]:
    """Providers that brought nothing because they failed or were late: the prompt lacks their part."""
    return [f"{outcome.provider_id} ({outcome.status})" for outcome in output.outcomes if outcome.status != "ok"]
