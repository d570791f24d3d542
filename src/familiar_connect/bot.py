"""Putting a familiar on its feet: models, stores and path from one folder, and the platforms it answers on."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

from familiar_connect.config.built_in import BUILT_IN_TOOLS
from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.command import command_name
from familiar_connect.config.consent import OwnerConsent
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.llm import MAIN_SLOT, OPENROUTER_BASE_URL, LLMSlotConfig
from familiar_connect.config.load import load_allowed_config
from familiar_connect.config.permissions import refuse_links
from familiar_connect.config.secrets import Secrets
from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.errors import MissingKeyError, SetupError
from familiar_connect.extensions.create import PartMaker, create_parts
from familiar_connect.extensions.load import load_built_in, load_extensions
from familiar_connect.extensions.models import create_models
from familiar_connect.extensions.platforms import create_platforms
from familiar_connect.extensions.speech import open_speech_access
from familiar_connect.familiar import Familiar
from familiar_connect.llm.embedded.server import EmbeddedServer, EmbeddedServers
from familiar_connect.llm.protocols import ChatModel
from familiar_connect.llm.slots import create_llm_clients, key_name
from familiar_connect.platforms.supervise import Platform, Sleep, Tell, run_all
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.open_files import check_open_files
from familiar_connect.support.translate import use_language
from familiar_connect.voice.stt.voice_messages import find_transcriber

logger = logging.getLogger(__name__)

FINISH_REPLIES_S = 8.0
"""How long replies under way may take to be said before we leave."""
SHUTDOWN_S = 10.0
"""How long platforms may take to say goodbye."""


def load_familiar(
    root: Path,
    *,
    home: Path,
    defaults_path: Path | None = None,
    clock: Clock | None = None,
    wake: bool = True,
    zone: str | None = None,
    speaks_through: LLMSlotConfig | None = None,
) -> tuple[Familiar, EmbeddedServer | None]:
    """The familiar in *root* with a client for every slot.

    The embedded model starts in the background; without *wake*, only when it is first asked. *zone* is the time zone
    where no settings name one, *speaks_through* the model of its replies whatever the settings say. Settings that let
    it do or tell more count only where the owner allowed them.
    """
    check_open_files()
    folder = FamiliarFolder(Path(root).parent.resolve() / Path(root).name)
    refuse_links(folder)
    if defaults_path is None and folder.profile.settings_file.exists():
        defaults_path = folder.profile.settings_file
    consent = OwnerConsent(home, folder.root.name)
    config = load_allowed_config(folder.settings_file, consent, defaults_path=defaults_path, zone=zone)
    use_language(config.interface_language)
    if speaks_through is not None:
        config = replace(config, llm={**config.llm, MAIN_SLOT: speaks_through})
    secrets, trust = Secrets(home), TrustedOrigins(home)
    trust.check(config.llm, file=FamiliarFolder(root).settings_file)
    servers = EmbeddedServers(home=home, cache_dir=HomeFolder(home).model_cache, cache_key=root.name)
    clients = create_llm_clients(
        secrets.get("OPENROUTER_API_KEY"), config, secrets=secrets.get, trust=trust, embedded=servers
    )
    transcriber = find_transcriber(config.stt, open_speech_access(folder.root, home, config))
    clock = clock or SystemClock()
    maker = PartMaker(root=folder.root, config=config, secrets=secrets, clock=clock)
    extensions = load_extensions(home)
    models = create_models(extensions, maker, config.llm)
    familiar = Familiar.from_config(
        folder.root,
        config,
        llm_clients={**clients, **models},
        transcriber=transcriber,
        defaults_path=defaults_path,
        clock=clock,
        consent=consent,
        added=create_parts([*load_built_in(_tools_named(config)), *extensions], maker),
    )
    main = config.llm[MAIN_SLOT]
    if not main.is_embedded:
        return familiar, None
    embedded = servers.server_for(main.model)
    if wake:
        embedded.start_in_background()
    return familiar, embedded


def _tools_named(config: CharacterConfig) -> list[str]:
    """The built-in extensions of which the owner's `tools` name some; the others are not loaded."""
    return [each for each in BUILT_IN_TOOLS if any(name.startswith(f"{each}.") for name in config.tools)]


async def replace_models(familiar: Familiar, servers: EmbeddedServers, *, home: Path, zone: str | None = None) -> None:
    """`swap_models`, and wait until what is not used any more is closed."""
    await close_models(familiar, await swap_models(familiar, servers, home=home, zone=zone))


async def swap_models(
    familiar: Familiar, servers: EmbeddedServers, *, home: Path, zone: str | None = None
) -> list[ChatModel]:
    """Give every slot whose settings changed since *familiar* was loaded a new client; the next reply uses it.

    Models inside the program run in *servers*. The replies under way keep the clients they began with; `close_models`
    is for those that are returned.
    """
    folder, secrets, trust = FamiliarFolder(familiar.root), Secrets(home), TrustedOrigins(home)
    profile = folder.profile.settings_file
    consent = OwnerConsent(home, familiar.id)

    def create() -> tuple[Mapping[str, LLMSlotConfig], Mapping[str, ChatModel]]:
        defaults = profile if profile.exists() else None
        config = load_allowed_config(folder.settings_file, consent, defaults_path=defaults, zone=zone)
        trust.check(config.llm, file=folder.settings_file)
        key = secrets.get("OPENROUTER_API_KEY")
        return config.llm, create_llm_clients(key, config, secrets=secrets.get, trust=trust, embedded=servers)

    slots, clients = await off_loop(create)
    unused: list[ChatModel] = []
    for slot, client in clients.items():
        if slots[slot] == familiar.config.llm[slot]:
            unused.append(client)
            continue
        unused.append(familiar.llm_clients[slot])
        familiar.llm_clients[slot] = client
        familiar.config.llm[slot] = slots[slot]
    return unused


async def close_models(familiar: Familiar, unused: Sequence[ChatModel]) -> None:
    """Close clients that nobody asks any more, once no reply of *familiar* is under way."""
    try:
        await familiar.reply_path.queue.wait_until_idle()
    finally:
        for each in unused:
            close = getattr(each, "aclose", None) or getattr(each, "close", None)
            if close is not None:
                await close()


@dataclass
class Bot:
    """The platforms a familiar answers on, and why not the others."""

    familiar: Familiar
    platforms: list[Platform]
    absent: dict[str, str]
    tell: Tell
    writes_to_owner: bool = False
    """Whether one of them brings the owner what the familiar has to say to them."""

    async def run(self, *, sleep: Sleep = asyncio.sleep) -> dict[str, SetupError]:
        """Answer on every platform until cancelled; one that the owner must mend stays off and is returned."""
        with self.familiar.owner.connect(tell=None if self.writes_to_owner else self._report):
            return await run_all(self.platforms, tell=self.tell, clock=self.familiar.clock, sleep=sleep)

    async def run_until(self, leaving: asyncio.Event) -> int:
        """Run until told to leave, or until nothing is left that runs; the exit code."""
        working = asyncio.create_task(self.run(), name="platforms")
        asked = asyncio.create_task(leaving.wait(), name="leaving")
        try:
            await asyncio.wait({working, asked}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                await self._finish_replies()
            return 1 if working.done() and working.result() else 0
        finally:
            for task in (working, asked):
                task.cancel()
            _, late = await asyncio.wait({working, asked}, timeout=SHUTDOWN_S)
            if late:
                logger.warning("a platform did not stop in time", extra={"limit_s": SHUTDOWN_S})

    async def _finish_replies(self) -> None:
        """Let replies under way be said, within bounds; one that takes longer is ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FINISH_REPLIES_S):
                await self.familiar.reply_path.queue.wait_until_idle()

    async def _report(self, sentence: str) -> None:
        self.tell(sentence)


@contextmanager
def stop_on_signal(tell: Tell) -> Iterator[asyncio.Event]:
    """Set by the first Ctrl-C or SIGTERM; the second one leaves at once. What was heard is on disk either way."""
    loop, leaving = asyncio.get_running_loop(), asyncio.Event()

    def on_signal(number: int, _frame: FrameType | None) -> None:
        if leaving.is_set():
            try:
                sys.stdout.flush()
            finally:  # the signal may have come in the middle of a write, which lets nobody flush
                os._exit(128 + number)
        leaving.set()
        loop.call_soon_threadsafe(
            tell, "Stopping: finishing replies and writing memory. Press Ctrl-C again to leave at once."
        )

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield leaving
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def create_bot(
    familiar: Familiar,
    *,
    home: Path | None = None,
    secrets: Secrets | None = None,
    tell: Tell = lambda sentence: None,
    is_installed: Callable[[str], bool] = lambda library: find_spec(library) is not None,
) -> Bot:
    """Pick the platforms this familiar answers on: those that are set up and whose library is there."""
    home = home or FamiliarFolder(familiar.root).home.root
    secrets = secrets or Secrets(home)
    maker = PartMaker(
        root=familiar.root, config=familiar.config, secrets=secrets, clock=familiar.clock, is_installed=is_installed
    )
    hosted, absent = create_platforms([*load_built_in(), *load_extensions(home)], maker, familiar, tell)
    writes_to_owner = any(each.writes_to_owner for each in hosted)
    return Bot(familiar, list(hosted), absent, tell, writes_to_owner=writes_to_owner)


def check_keys(familiar: Familiar, home: Path, secrets: Secrets | None = None) -> None:
    """A sentence for the first slot whose endpoint wants a key that nobody gave."""
    secrets = secrets or Secrets(home)
    for slot, config in familiar.config.llm.items():
        if config.is_embedded:
            continue
        name = key_name(config, config.base_url or OPENROUTER_BASE_URL)
        if name is not None and secrets.get(name) is None:
            raise MissingKeyError(
                f"no {name}, although [llm.{slot}] asks {config.model}: put a line {name}= with it "
                f"into {HomeFolder(home).secrets_file}, or run `{command_name()} connect`"
            )
