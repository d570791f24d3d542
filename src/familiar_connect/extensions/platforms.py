"""create_platforms: the platforms of the owner's extensions that are set up, and why the others are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from familiar_connect.chat.place import Place
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.extensions.create import PartMaker
from familiar_connect.extensions.host import PlatformHost
from familiar_connect.extensions.load import ExtensionFault, LoadedExtension, load_built_in
from familiar_connect.extensions.part_context import PartContext
from familiar_connect.extensions.parts import ExtensionPlatform, PlatformPart
from familiar_connect.extensions.speech import open_speech_access
from familiar_connect.familiar import Familiar
from familiar_connect.slash.registry import BUILT_IN_COMMANDS


class HostedPlatform:
    """A stranger's platform under the name of its extension. It ends together with what it started."""

    def __init__(self, platform: ExtensionPlatform, host: PlatformHost, *, writes_to_owner: bool = False) -> None:
        self._platform = platform
        self._host = host
        self.id = host.platform
        self.writes_to_owner = writes_to_owner

    @property
    def places(self) -> Sequence[type[Place]]:
        return self._platform.places

    async def run(self) -> None:
        try:
            await self._platform.run()
        finally:
            await self._host.aclose()


def make_host(
    familiar: Familiar,
    name: str,
    *,
    tell: Callable[[str], None] = lambda sentence: None,
    home: Path | None = None,
) -> PlatformHost:
    """The host of a built-in platform that is started by other hands than the program's: without any secrets.

    Speech services are asked with the keys of *home*, where the familiar is a copy that has none.
    """
    found = next(each.extension for each in load_built_in() if each.name == name)
    assert found is not None
    context = PartContext(
        settings=getattr(familiar.config.built_in, name),
        clock=familiar.clock,
        folder=FamiliarFolder(familiar.root).extension_data(name),
        familiar_id=familiar.id,
    )
    open_speech = partial(open_speech_access, familiar.root, home, familiar.config) if home is not None else None
    keeps_numbers = found.platforms[0].keeps_numbers
    return PlatformHost(
        familiar,
        name,
        context,
        tell,
        commands=BUILT_IN_COMMANDS,
        keeps_numbers=keeps_numbers,
        open_speech=open_speech,
    )


def make_verb_host(familiar: Familiar, name: str, *, tell: Callable[[str], None]) -> PlatformHost:
    """The host of a verb that answers for *familiar*: it has no section and no secrets."""
    folder = FamiliarFolder(familiar.root).extension_data(name)
    context = PartContext(settings=None, clock=familiar.clock, folder=folder, familiar_id=familiar.id)
    return PlatformHost(familiar, name, context, tell, commands=BUILT_IN_COMMANDS)


def create_platforms(
    loaded: Sequence[LoadedExtension], maker: PartMaker, familiar: Familiar, tell: Callable[[str], None]
) -> tuple[list[HostedPlatform], dict[str, str]]:
    """The platforms to run, and for each extension whose platform does not run, why."""
    platforms: list[HostedPlatform] = []
    absent: dict[str, str] = {}
    for extension in (each.extension for each in loaded if each.extension is not None):
        for part in extension.platforms:
            create = partial(_create, part, extension.name, familiar, tell, maker)
            made = maker.make(part, extension, create)
            if made is not None:
                platforms.append(made)
            else:
                absent[extension.name] = maker.troubles[-1].partition(": ")[2]
    return platforms, absent


def _create(
    part: PlatformPart,
    name: str,
    familiar: Familiar,
    tell: Callable[[str], None],
    maker: PartMaker,
    context: PartContext,
) -> HostedPlatform:
    def keep(secret: str, value: str) -> None:
        if secret not in part.secrets:
            raise ExtensionFault(f"it may not keep the secret {secret}, which it does not name")
        maker.secrets.put(maker.setup.secret_name(part, secret), value)

    home = FamiliarFolder(familiar.root).home.root
    host = PlatformHost(
        familiar,
        name,
        context,
        tell,
        commands=BUILT_IN_COMMANDS,
        keep=keep,
        keeps_numbers=part.keeps_numbers,
        open_speech=partial(open_speech_access, familiar.root, home, familiar.config),
    )
    made = part.create(host)
    lacking = [each for each in ("places", "run") if not hasattr(made, each)]
    if lacking:
        raise ExtensionFault(f"its platform lacks `{lacking[0]}`")
    return HostedPlatform(made, host, writes_to_owner=part.writes_to_owner)
