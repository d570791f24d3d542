"""A better model in a running chat: what is offered there, and how it takes over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.commands.connect import ConnectTarget, ask_for_word
from familiar_connect.commands.model_choice import ModelChoice, write_model
from familiar_connect.config.folders import HomeFolder
from familiar_connect.config.llm import EMBEDDED_MODEL, EMBEDDED_PREFIX
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import machine_zone

if TYPE_CHECKING:  # a verb loads no more than it needs
    from familiar_connect.familiar import Familiar
    from familiar_connect.llm.embedded.server import EmbeddedServers
    from familiar_connect.llm.upgrade.offers import Upgrade
    from familiar_connect.platforms.terminal.line_input import EditorReader
    from familiar_connect.platforms.terminal.upgrade import UpgradeOffer

OFFER_SETTING = "offer_upgrade"
WARM_UP_S, QUIET_S = 20.0, 20.0
"""An offer comes in the first minute, also on a busy computer."""


def open_upgrade(
    familiars: Sequence[Familiar], home: Path, editor: EditorReader, *, note: Callable[[str], None]
) -> UpgradeOffer:
    """The offer of a better model in a chat with *familiars*: *editor* has its key and its quiet line."""
    from familiar_connect.llm.upgrade.offers import UpgradeFinder
    from familiar_connect.platforms.terminal.upgrade import KEY, UpgradeOffer

    async def adopt(upgrade: Upgrade) -> None:
        await take_over(familiars, home, upgrade)

    async def keep_asking(asks: bool) -> None:
        await off_loop(write_asking, home, asks=asks)

    finder = UpgradeFinder(home)
    upgrade = UpgradeOffer(
        finder, home=home, adopt=adopt, keep_asking=keep_asking, note=note, show_status=editor.set_status
    )
    editor.bind(KEY, upgrade.accept)
    return upgrade


async def wait_for_quiet(familiar: Familiar, warming: asyncio.Task[None] | None = None) -> None:
    """Until the model has read the beginning of its prompt and answers nobody: measuring then disturbs nobody."""
    if warming is not None:
        await asyncio.wait({warming}, timeout=WARM_UP_S)
    with suppress(TimeoutError):
        async with asyncio.timeout(QUIET_S):
            await familiar.reply_path.queue.wait_until_idle()


def write_asking(home: Path, *, asks: bool) -> None:
    """Keep for all familiars of the home whether a better model is offered."""
    from familiar_connect.config.edit import find_setting, write_setting

    file = HomeFolder(home).profile.settings_file
    write_setting(file, find_setting(OFFER_SETTING), None if asks else False)


async def take_over(familiars: Sequence[Familiar], home: Path, upgrade: Upgrade) -> None:
    """Let *familiars* answer through *upgrade* from the next reply on, the others of the home from their next start.

    It is loaded, or asked for a word, first: where that fails nothing is written, and the error says why.
    """
    from familiar_connect.bot import replace_models

    servers = make_servers(familiars[0], home)
    choice = await try_model(servers, upgrade)
    await off_loop(write_model, home, None, choice)
    for each in familiars:
        own = servers if each is familiars[0] else make_servers(each, home)
        await replace_models(each, own, home=home, zone=machine_zone())


def make_servers(familiar: Familiar, home: Path) -> EmbeddedServers:
    """Servers for the models of *familiar* that run inside the program; none is started yet."""
    from familiar_connect.llm.embedded.server import EmbeddedServers

    return EmbeddedServers(home=home, cache_dir=HomeFolder(home).model_cache, cache_key=familiar.id)


async def try_model(servers: EmbeddedServers, upgrade: Upgrade) -> ModelChoice:
    """What is written for *upgrade*, once it is loaded or has said a word."""
    if upgrade.server is not None:
        address = upgrade.server.base_url
        await ask_for_word(ConnectTarget(address=address, model=upgrade.name, key_env=None), None)
        return ModelChoice(model=upgrade.name, base_url=address)
    choice = ModelChoice(model=upgrade.name if upgrade.name == EMBEDDED_MODEL else f"{EMBEDDED_PREFIX}{upgrade.name}")
    server = await off_loop(servers.server_for, choice.model)
    try:
        await server.ready()
    except BaseException:
        await server.aclose()
        raise
    return choice
