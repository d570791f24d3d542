"""A platform over a wire inside the test, whole or with one defect, and the network at the far end of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from familiar_connect.api import (
    Author,
    DeliveryError,
    Extension,
    InboundMessage,
    Place,
    PlaceFeatures,
    PlatformHost,
    PlatformPart,
    ReadBy,
    Scene,
    SetupError,
)
from familiar_connect.api.testing import PlatformNetwork
from familiar_connect.extensions.testing.fair_time import LOOK_EVERY_S
from familiar_connect.extensions.testing.platform_check import HOLD_S

ROOM = "den"
LIMIT = 500
"""Characters that the wire takes at once."""


@dataclass(frozen=True)
class Line:
    """Something that somebody wrote."""

    user_id: str
    name: str
    text: str
    is_dm: bool
    number: int


@dataclass
class Wire(PlatformNetwork):
    """One room and direct messages, in memory."""

    lines: asyncio.Queue[Line] = field(default_factory=asyncio.Queue)
    shown: dict[str | None, list[str]] = field(default_factory=dict)
    is_refused: bool = False
    names: dict[str, str] = field(default_factory=dict)
    numbers: count[int] = field(default_factory=lambda: count(1))

    async def start(self) -> None:
        self.settings = "[wire]\n"

    async def stop(self) -> None:
        pass

    async def say(self, person: str, text: str, *, is_dm: bool) -> None:
        line = Line(f"u-{person}", self.names.get(person, person), text, is_dm, next(self.numbers))
        await self.lines.put(line)

    async def list_shown(self, person: str | None) -> Sequence[str]:
        return self.shown.get(None if person is None else f"u-{person}", [])

    async def refuse(self, *, is_refused: bool) -> None:
        self.is_refused = is_refused

    async def rename(self, person: str, name: str) -> bool:
        self.names[person] = name
        return True

    def take(self, target: str | None, text: str) -> None:
        """What the platform sends; too long a text is cut by the network, as networks do."""
        if self.is_refused:
            raise OSError("the wire is cut")
        self.shown.setdefault(target, []).append(text[:LIMIT])


class WirePlace(Place):
    """A room, or a direct message with *person*."""

    features = PlaceFeatures(limit=LIMIT)

    def __init__(self, platform: WirePlatform, person: Author | None) -> None:
        self._platform = platform
        self._person = person

    async def send(self, text: str) -> None:
        defect, wire = self._platform.defect, self._platform.wire
        target = None if self._person is None else self._person.user_id
        if defect == "sends nothing":
            return
        if defect == "sends direct answers to the room":
            target = None
        try:
            wire.take(target, text)
            if defect == "sends twice":
                wire.take(target, text)
        except OSError as error:
            if defect == "hides failures":
                return
            if defect == "raises what the library raises":
                raise
            if defect == "waits for ever":
                await asyncio.Event().wait()
            raise DeliveryError("the wire takes nothing", retryable=True) from error

    async def notice(self, text: str) -> None:
        self._platform.host.tell_owner(text)

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return ()

    async def scene(self) -> Scene:
        host, defect = self._platform.host, self._platform.defect
        if self._person is not None and defect != "calls a direct message a room":
            people = [] if defect == "names nobody" else [self._person]
            return host.scene(self._person.label, read_by=ReadBy.people, people=people)
        return host.scene(ROOM, read_by=ReadBy.members if defect == "hides the room" else ReadBy.everyone)


class GreedyPlace(WirePlace):
    """Says that more goes into a message than does."""

    features = PlaceFeatures(limit=100_000)


class MisspeltPlace(WirePlace):
    """Has a method that nobody calls."""

    async def tell_askr(self, asked: InboundMessage, text: str) -> None:
        """Never called."""


class WirePlatform:
    """Hears the wire; *defect* names what is wrong with it."""

    def __init__(self, host: PlatformHost, wire: Wire, defect: str) -> None:
        self.host = host
        self.wire = wire
        self.defect = defect
        kinds = {"says a limit it has not": GreedyPlace, "misspells a method": MisspeltPlace}
        self._kind = kinds.get(defect, WirePlace)
        self.places = (self._kind,)
        self._room = self._kind(self, None)
        self._was_cancelled = False

    async def run(self) -> None:
        if self.defect == "ends by itself":
            return
        if self.defect == "is set up wrong":
            raise SetupError("no key")
        if self.defect != "never joins":
            await self.host.join(ROOM, self._room)
        if self.defect == "leaves a task behind":
            self.left = asyncio.create_task(wait_for_ever(), name="left behind")
        while True:
            try:
                line = await self.wire.lines.get()
                await self._hear(line)
            except asyncio.CancelledError:
                if self.defect != "swallows its cancellation" or self._was_cancelled:
                    raise
                self._was_cancelled = True  # once, so that the test itself can end

    async def _hear(self, line: Line) -> None:
        if self.defect == "hears nothing" or (self.defect == "hears no direct messages" and line.is_dm):
            return
        if self.defect == "blocks the loop" and line.number == 1:
            for _ in range(round(2 * HOLD_S / LOOK_EVERY_S)):  # as often as is looked, however slow the machine
                threading.Event().wait(LOOK_EVERY_S)
        user_id = {
            "takes the name for the person": line.name,
            "takes everybody for one": "somebody",
            "makes ids anew": f"{line.user_id}-{line.number}",
        }.get(self.defect, line.user_id)
        author = self.host.author(user_id, line.name)
        if self.defect == "makes authors by itself":
            author = Author("elsewhere", user_id, line.name, line.name)
        is_dm = line.is_dm and self.defect != "forgets that it is direct"
        place = self._kind(self, author) if line.is_dm else self._room
        channel = author.user_id if line.is_dm and self.defect != "mixes channels" else ROOM
        await self.host.hear(
            channel,
            author,
            line.text,
            place,
            message_id="one" if self.defect == "gives one id" else str(line.number),
            is_mention=not line.is_dm and self.defect != "misses who is meant",
            is_dm=is_dm,
        )


async def wait_for_ever() -> None:
    await asyncio.Event().wait()


def wire_extension(wire: Wire, defect: str = "") -> Extension:
    """The platform as an extension brings it."""
    part = PlatformPart(create=lambda host: WirePlatform(host, wire, defect))
    return Extension(name="wire", platforms=(part,))
