"""DemoPart: a small network of an extension's own on this computer, for `familiar run --demo-NAME`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from familiar_connect.extensions.host import PlatformHost


class PlatformDemo(Protocol):
    """The network while it is there: what is typed becomes something that somebody does on it.

    What the familiar does there becomes lines. They are shown without what commands a terminal.
    """

    @property
    def forms(self) -> Mapping[str, str]:
        """What can be typed, and what that does; {name} stands for the familiar."""

    @property
    def channels(self) -> Mapping[str, int | None]:
        """Where the familiar listens while this is there, each with its server; None: it is on none."""

    @property
    def room(self) -> str:
        """Where you are, as the line is prompted for."""

    @property
    def newest(self) -> Mapping[str, str]:
        """Of each channel in which a person spoke, the id of their last message there."""

    async def run(self) -> None:
        """Be the network, and let the platform itself run on it, until cancelled."""

    async def wait_until_ready(self) -> None:
        """Wait until the familiar is there."""

    async def take(self, line: str) -> None:
        """Somebody does what was typed."""

    async def wait_until_answered(self) -> None:
        """Wait for answers that are no replies to messages, such as those of commands."""


@dataclass(frozen=True)
class TourStep:
    """What is shown, and the lines by which it is; {name} stands for the familiar."""

    says: str
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DemoPart:
    """How the demonstration of a platform is made. It lies in the package `demo` of the extension."""

    create: Callable[[PlatformHost, Callable[[str], None]], PlatformDemo]
    """Given the familiar, and what shows a line."""
    tour: Callable[[], Sequence[Sequence[TourStep]]]
    """What people do by themselves. Between two rows of steps the familiar is started anew."""
