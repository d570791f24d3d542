"""PageModels: the models of a home for its pages: which better one is offered, how far a download is, what came of it.

One for the whole page, whichever familiar somebody is with: one model at a time is on its way. Nothing is downloaded
before the person asks for it; what fails is a sentence, and the model that answered goes on answering.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.llm import EMBEDDED_MODEL, EMBEDDED_PREFIX, MAIN_SLOT, local_model_name
from familiar_connect.config.load import load_character_config
from familiar_connect.errors import FamiliarError, HomeError, ModelSetupError
from familiar_connect.familiar import Familiar
from familiar_connect.llm.local.discovery import find_local_servers
from familiar_connect.llm.local.library import ModelLibrary
from familiar_connect.llm.local.listing import ModelRow, list_model_rows
from familiar_connect.llm.upgrade.describe import describe_taken_over, describe_upgrade
from familiar_connect.llm.upgrade.getter import GetProgress, ModelGetter, is_unreachable
from familiar_connect.llm.upgrade.offers import Upgrade, UpgradeFinder
from familiar_connect.platforms.web.live import ChatEvents
from familiar_connect.support.aio import BackgroundTasks, off_loop
from familiar_connect.support.free_memory import free_memory

WARM_UP_S, QUIET_S = 20.0, 20.0
"""An offer waits for the model to be loaded and for a reply under way, but comes in the first minute."""
SMALL_MODEL_LABEL = "small model"
REFUSED = "I will not offer a better model again. The page Model turns the offers back on."
STOPPED = "The download stops here. What has arrived is kept; the page Model goes on with it."
ON_ITS_WAY = "another model is on its way: wait until it answers, or stop it"


@dataclass(frozen=True, kw_only=True)
class ModelWish:
    """A model that somebody chose."""

    upgrade: Upgrade
    here: str
    """The familiar whose page it was chosen on."""
    for_all: bool
    """Whether it is written for every familiar of the home."""


@dataclass(frozen=True, kw_only=True)
class ModelActions:
    """What is done about models above the page."""

    adopt: Callable[[ModelWish], Awaitable[None]]
    """Lets a model that is here answer from the next reply on, and writes it; tries it first."""
    adopt_written: Callable[[str, str, str | None, str | None], Awaitable[None]]
    """Lets a familiar answer through a model, an address and a key's name that were just written to its settings."""
    reload: Callable[[], Awaitable[None]]
    """Lets the familiars that are open use what their settings say of models by now."""
    keep_asking: Callable[[bool], Awaitable[None]]
    """Keeps whether a better model is offered in this home, here and in the terminal."""
    aclose: Callable[[], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class ShownOffer:
    """What stands under the head of a chat."""

    state: str
    """`none`, `offer`, `busy` or `told`."""
    told: str = ""
    """What came of the last one."""
    text: str = ""
    name: str = ""
    """What is offered, so that an old page accepts no other."""
    button: str = ""
    percent: int | None = None
    has_others: bool = False


class PageModels:
    """What is offered and under way in *home*; the pages are told when it changes."""

    def __init__(self, home: Path, actions: ModelActions) -> None:
        self._home = home
        self._actions = actions
        self._finder = UpgradeFinder(home)
        self._getter = ModelGetter(self._finder, home=home, adopt=self._adopt, show=self._show)
        self._library = ModelLibrary(home)
        self._offered: Upgrade | None = None
        self._wish: ModelWish | None = None
        """What is on its way."""
        self._getting: asyncio.Task[None] | None = None
        self._progress: GetProgress | None = None
        self._told = ""
        self._has_looked = False
        self._pages: list[ChatEvents] = []
        self._background = BackgroundTasks("page-models")

    @contextmanager
    def connect(self, events: ChatEvents) -> Iterator[None]:
        """While this is open, the pages of a familiar are told of changes."""
        self._pages.append(events)
        try:
            yield
        finally:
            self._pages.remove(events)

    def announce(self) -> None:
        """Have every page look again."""
        for each in self._pages:
            each.publish_everywhere("model")

    # What is offered

    def look_for(self, familiar: Familiar) -> None:
        """Look for a better model, once, where *familiar* answers through the small one."""
        if not self._has_looked and familiar.has_small_model:
            self._has_looked = True
            self._background.start(self._look(familiar), name="look")

    async def _look(self, familiar: Familiar) -> None:
        server = getattr(familiar.llm_clients[MAIN_SLOT], "server", None)
        with suppress(TimeoutError, FamiliarError):
            async with asyncio.timeout(WARM_UP_S):
                if server is not None:
                    await server.ready()
        with suppress(TimeoutError):
            async with asyncio.timeout(QUIET_S):
                await familiar.reply_path.queue.wait_until_idle()
        with suppress(FamiliarError):  # a broken list of models: the page Model says what is wrong with it
            if await off_loop(self.is_asking, familiar):
                await self._find()

    async def _find(self) -> None:
        found = await self._finder.find()
        if self._wish is None:
            self._offered = found
            self.announce()

    def is_asking(self, familiar: Familiar) -> bool:
        """Whether the settings let a better model be offered, as they are now. Reads files."""
        folder = FamiliarFolder(familiar.root)
        profile = folder.profile.settings_file
        defaults = profile if profile.exists() else None
        return load_character_config(folder.settings_file, defaults_path=defaults).offer_upgrade

    def read_offer(self, familiar: Familiar) -> ShownOffer:
        """What a page of *familiar* shows now. Reads files."""
        if self._wish is not None:
            progress = self._progress or GetProgress(text=f"{self._wish.upgrade.title}: one moment…")
            return ShownOffer(state="busy", text=progress.text, percent=progress.percent)
        offered = self._offered
        if offered is None or not familiar.has_small_model or not self.is_asking(familiar):
            return ShownOffer(state="told" if self._told else "none", told=self._told)
        return ShownOffer(
            state="offer",
            told=self._told,
            text=describe_upgrade(offered),
            name=offered.name,
            button=_button_for(offered),
            has_others=offered.server is not None and len(offered.server.models) > 1,
        )

    def accept(self, name: str, here: str) -> None:
        """Get what is offered, for every familiar of the home; nothing where *name* is offered no more."""
        if self._offered is not None and self._offered.name == name and self._wish is None:
            self.choose(ModelWish(upgrade=self._offered, here=here, for_all=True))

    def dismiss(self) -> None:
        """Not now: nothing is offered until the next start."""
        self._offered, self._told = None, ""
        self.announce()

    async def refuse(self) -> None:
        """Never again, here and in the terminal."""
        await self._actions.keep_asking(False)
        self._offered, self._told = None, REFUSED
        self.announce()

    async def ask_again(self) -> None:
        """Offer a better model again, now and later."""
        await self._actions.keep_asking(True)
        self._told = ""
        await self._find()

    # What is chosen

    def choose(self, wish: ModelWish) -> None:
        """Get a model and let it answer; the pages are told how far it is."""
        if self._wish is not None:
            raise HomeError(ON_ITS_WAY)
        self._wish, self._told = wish, ""
        self._getting = self._background.start(self._get(wish.upgrade), name="get")
        self.announce()

    async def stop(self) -> None:
        """Give up the one that is on its way; what has arrived of it is kept."""
        getting = self._getting
        if getting is not None:
            getting.cancel()
            await asyncio.wait({getting})

    async def _get(self, upgrade: Upgrade) -> None:
        told = ""
        try:
            await self._getter.get(upgrade)
            told, self._offered = describe_taken_over(upgrade), None
        except (FamiliarError, OSError) as error:
            told = self._describe_failure(upgrade, error)
        except asyncio.CancelledError:
            told, self._offered = STOPPED, None
            raise
        finally:
            self._wish, self._getting, self._progress, self._told = None, None, None, told
            self.announce()
        if self._offered is not None:
            await self._find()

    def _describe_failure(self, upgrade: Upgrade, error: Exception) -> str:
        if is_unreachable(error):
            return f"{error.__cause__}, so {upgrade.title} cannot be downloaded now."
        return f"{error} The model that answered before goes on answering."

    async def _adopt(self, upgrade: Upgrade) -> None:
        wish = self._wish
        if wish is not None:
            await self._actions.adopt(wish)

    def _show(self, progress: GetProgress | None) -> None:
        if progress != self._progress:
            self._progress = progress
            self.announce()

    async def use_written(self, here: str, model: str, base_url: str | None, key_name: str | None) -> None:
        """Let the familiar *here* answer through what was just written, from the next reply on."""
        await self._actions.adopt_written(here, model, base_url, key_name)
        self.announce()

    async def reload(self) -> None:
        """Let settings of models that were changed count from the next reply on."""
        await self._actions.reload()
        self.announce()

    # What there is

    def rows(self, familiar: Familiar) -> tuple[list[ModelRow], int | None]:
        """Every model that could run on this computer, and how much memory is free. Reads files."""
        free = free_memory()
        return list_model_rows(self._home, free, {familiar.config.llm[MAIN_SLOT].model}), free

    def find_model(self, model: str) -> Upgrade:
        """The model on this computer that settings name so; where it is not here, with what is to be downloaded."""
        if model == EMBEDDED_MODEL:
            return Upgrade(name=EMBEDDED_MODEL)
        name = model.removeprefix(EMBEDDED_PREFIX)
        if any(each.name == name for each in self._library.models_here()):
            return Upgrade(name=name)
        return Upgrade(name=name, entry=self._library.entry(name))

    def find_at_server(self, address: str, model: str, ports: tuple[int, ...]) -> Upgrade:
        """A model of a server that runs on this computer. Asks the servers."""
        for server in find_local_servers(ports):
            if server.base_url == address and model in server.models:
                return Upgrade(name=model, server=server)
        raise ModelSetupError(f"No server at {address} offers {model} any more. Look again.")

    async def aclose(self) -> None:
        """End what is under way; what was downloaded stays."""
        await self._background.aclose()
        await self._actions.aclose()


def name_model(familiar: Familiar, channel_id: int | None = None) -> str:
    """The model that answers, in a chat where one is given, as people call it. Reads files."""
    own = None if channel_id is None else familiar.channel_configs.get(channel_id).model
    model = own or familiar.config.llm[MAIN_SLOT].model
    return SMALL_MODEL_LABEL if model == EMBEDDED_MODEL else local_model_name(model) or model


def _button_for(upgrade: Upgrade) -> str:
    if upgrade.server is not None:
        return f"Use {upgrade.name}"
    if upgrade.entry is None:
        return "Use it"
    return "Get the rest" if upgrade.had_bytes else "Get it"
