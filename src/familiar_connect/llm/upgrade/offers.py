"""UpgradeFinder: the better model to offer: a server that runs here, a file that is here, or the best to fetch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from familiar_connect.llm.embedded.run_plan import MOST_OF_FREE
from familiar_connect.llm.embedded.weights import RUNTIME
from familiar_connect.llm.local.catalogue import CatalogueModel
from familiar_connect.llm.local.discovery import LocalServer, find_local_servers
from familiar_connect.llm.local.library import ModelLibrary, part_files
from familiar_connect.llm.upgrade.speed import MachineSpeed, measure_speed
from familiar_connect.support.aio import off_loop
from familiar_connect.support.free_memory import free_memory

MOST_REPLY_S = 5.0
"""A model that would take longer for a reply is offered only where none is quicker."""


@dataclass(frozen=True, kw_only=True)
class Upgrade:
    """A better model that could answer here."""

    name: str
    """As settings name it: of a server its id there, else its name among the model files."""
    server: LocalServer | None = None
    entry: CatalogueModel | None = None
    """What is to be fetched; None: nothing is."""
    had_bytes: int = 0
    """What an earlier fetch left."""
    seconds: float | None = None
    """About how long a reply takes; None: unknown."""

    @property
    def title(self) -> str:
        return self.entry.title if self.entry is not None else self.name


class UpgradeFinder:
    """Finds what to offer in the chats of *home*."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._library = ModelLibrary(home)
        self._unreachable: set[str] = set()
        """Hosts that a fetch did not get anything from in this run."""
        self._unusable: set[str] = set()
        """Models that were here and did not answer."""

    async def find(self) -> Upgrade | None:
        """The model to offer; None: there is none for this computer."""
        return await off_loop(self._find_here) or await self._find_to_fetch()

    def note_unreachable(self, model: CatalogueModel) -> None:
        """The publisher of *model* cannot be reached: from now on only what has another way is offered."""
        self._unreachable.add(_host(model))

    def note_unusable(self, name: str) -> None:
        """The model of that name is here and does not answer: others are offered."""
        self._unusable.add(name)

    def _find_here(self) -> Upgrade | None:
        for server in find_local_servers():
            talking = [each for each in server.models if "embed" not in each.lower() and each not in self._unusable]
            if talking:
                return Upgrade(name=talking[0], server=server)
        if find_spec(RUNTIME) is None:
            return None
        stored = [each for each in self._library.models_here() if each.name not in self._unusable]
        if stored:
            return Upgrade(name=stored[0].name)
        for model in self._fetchable(self._library.catalogue()):
            part, _ = part_files(self._library.path_for(model.name))
            if part.exists() and (had := part.stat().st_size):
                return Upgrade(name=model.name, entry=model, had_bytes=min(had, model.bytes))
        return None

    async def _find_to_fetch(self) -> Upgrade | None:
        if find_spec(RUNTIME) is None:
            return None
        here = {each.name for each in await off_loop(self._library.models_here)}
        models = [each for each in self._fetchable(await off_loop(self._library.catalogue)) if each.name not in here]
        for group in ([each for each in models if not each.is_for_code], [each for each in models if each.is_for_code]):
            if group:
                speed = await measure_speed(self._home)
                return choose_model(group, free_bytes=await off_loop(free_memory), speed=speed)
        return None

    def _fetchable(self, models: Sequence[CatalogueModel]) -> list[CatalogueModel]:
        return [each for each in models if each.packages is not None or _host(each) not in self._unreachable]


def choose_model(
    models: Sequence[CatalogueModel], *, free_bytes: int | None, speed: MachineSpeed | None, cores: int | None = None
) -> Upgrade | None:
    """The first of *models*, the best first, that fits the memory and answers soon; else the quickest that fits."""
    fitting = [each for each in models if free_bytes is None or each.memory_bytes <= free_bytes * MOST_OF_FREE]
    if not fitting:
        return None
    smallest = min(fitting, key=lambda each: each.bytes)
    if speed is None:
        return Upgrade(name=smallest.name, entry=smallest)
    seconds = {each.name: speed.reply_seconds(each.bytes, cores=cores) for each in fitting}
    chosen = next((each for each in fitting if seconds[each.name] <= MOST_REPLY_S), smallest)
    return Upgrade(name=chosen.name, entry=chosen, seconds=seconds[chosen.name])


def _host(model: CatalogueModel) -> str:
    return urlsplit(model.url).netloc
