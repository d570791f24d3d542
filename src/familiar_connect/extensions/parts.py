"""Extension: one value that says what a package brings. Making it imports nothing heavy; `create` and `check` do.

DemoPart: a small network of an extension's own on this computer, for `familiar run --demo-NAME`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from familiar_connect.extensions.part_context import ExtensionPart

if TYPE_CHECKING:
    import click

    from familiar_connect.chat.place import Place
    from familiar_connect.chat.scene import Scene
    from familiar_connect.extensions.host import PlatformHost
    from familiar_connect.extensions.importer_parts import ChatImporterPart, DocumentImporterPart
    from familiar_connect.extensions.part_context import PartContext
    from familiar_connect.extensions.rehearsed_servers import RehearsedPerson, RehearsedServer
    from familiar_connect.extensions.turn_parts import (
        ModelPart,
        ProcessorPart,
        ProviderPart,
        RecognizerPart,
        SynthesizerPart,
        ToolPart,
        ToolSourcePart,
    )
    from familiar_connect.identity import Author
    from familiar_connect.slash.command import SlashCommand


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
    """What is shown, and the lines by which it is, if any; {name} stands for the familiar."""

    says: str
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DemoPart:
    """How the demonstration of a platform is made. It lies in the package `demo` of the extension."""

    create: Callable[[PlatformHost, Callable[[str], None]], PlatformDemo]
    """Given the familiar, and what shows a line."""
    tour: Callable[[], Sequence[Sequence[TourStep]]]
    """What people do by themselves. Between two rows of steps the familiar is started anew."""


class RehearsedLines(Protocol):
    """How a network's lines are read, for one channel and one start of the familiar."""

    def read(self, text: str) -> str:
        """What the familiar hears of a line."""

    async def answer_command(self, author: Author, text: str, place: Place, *, is_in_charge: bool) -> list[str] | None:
        """Do what a line asks for, and give what is posted about it; None: the line is talk."""


class RehearsedServers(Protocol):
    """What a platform gives that has servers, for one rehearsal."""

    proxy_application: str
    """The application that says what people write under further names of theirs."""

    def show(self, servers: Sequence[RehearsedServer]) -> None:
        """The servers are so from now on, and the familiar is told as live events would tell it."""

    def readers(self, channel_id: int) -> Sequence[int]:
        """The members who can read a channel now, in their server's order."""

    def rules(self, channel_id: int) -> str | None:
        """What decides who can read a channel, as a short mark; None: everybody on its server can."""

    def connect(self, host: PlatformHost) -> None:
        """The familiar was started: it knows nothing of the servers yet."""

    async def look(self, scene: Scene, channel_id: int, people: Sequence[RehearsedPerson] = ()) -> Scene:
        """*scene* with who can read the channel, or the direct message with *people*, and what they may be told."""

    def webhook_speaker(self, name: str, source: str) -> Author:
        """Who speaks under *name* through the webhooks of an application, or through one webhook."""

    def is_webhook_person(self, application: str | None) -> bool:
        """Whether the owner's settings take what a webhook says for a person's; *application* posts through it."""


@dataclass(frozen=True)
class Finding:
    """One thing that `familiar doctor` looked at: how it stands, and one sentence with what to do about it."""

    state: Literal["ok", "warn", "bad"]
    says: str


@dataclass(frozen=True, kw_only=True)
class PlatformQuestion:
    """What a platform is told when `familiar doctor` has it ask the network itself."""

    part: PartContext
    channels: Sequence[int] = ()
    """Where the familiar is to listen on servers, for a platform that keeps the network's numbers."""
    voice_channels: Sequence[int] = ()
    """Where it is to talk."""
    has_alters: bool = False
    """Whether the familiar has further personas, which post under names of their own."""
    speech_libraries: Sequence[str] = ()
    """Modules that hearing and speaking take, as the owner's settings have it."""


PostLine = Callable[[str], Awaitable[None]]
"""Shows one message in a place that is rehearsed."""


class ExtensionPlatform(Protocol):
    """Turns a network's events into what the familiar hears, and its replies into the network's own."""

    @property
    def places(self) -> Sequence[type[Place]]:
        """The kinds of place it answers in; they are looked over before it runs."""

    async def run(self) -> None:
        """Hear and answer until cancelled. A `SetupError` ends it for good; after any other error it runs again."""


@dataclass(frozen=True, kw_only=True)
class PlatformPart(ExtensionPart):
    """A network that people talk on. It has the name of its extension."""

    create: Callable[[PlatformHost], ExtensionPlatform]
    keeps_numbers: bool = False
    """Its channels are whole numbers, and `channels/NUMBER.toml` is named after the network's own."""
    ask_network: Callable[[PlatformQuestion], Awaitable[Sequence[Finding]]] | None = None
    """For `familiar doctor`, unless it is to ask nobody: what the network says of the set-up. What is raised as
    `SetupError` or `DeliveryError` is told as what is wrong."""
    writes_to_owner: bool = False
    """While it runs, it brings the owner what the familiar has to say to them; it is not said where it runs then."""
    rehearse: Callable[[str, PostLine], Place] | None = None
    """For `familiar rehearse`: the place called so, which posts by calling the function; None: not rehearsed."""
    rehearse_servers: Callable[[], RehearsedServers] | None = None
    """For `familiar rehearse` where channels are on servers, whose roles and members say who reads them."""
    rehearse_lines: Callable[[PlatformHost, str, Sequence[RehearsedPerson]], RehearsedLines] | None = None
    """For `familiar rehearse` where lines of chat may be commands; given the channel's id and who is there."""
    demo: DemoPart | None = None
    """For `familiar run --demo-NAME`, where the platform comes with the program; None: it has no demonstration."""


@dataclass(frozen=True, kw_only=True)
class SlashPart(ExtensionPart):
    """A command that people use in chat, on every platform."""

    create: Callable[[PartContext], SlashCommand]


@dataclass(frozen=True, kw_only=True)
class VerbPart:
    """A verb of the command line, behind the name of the program."""

    name: str
    help: str
    """One line for `familiar --help`."""
    create: Callable[[], click.Command]


@dataclass(frozen=True, kw_only=True)
class Extension:
    """What one package brings. `name` is also the name of its section in a settings file."""

    name: str
    platforms: Sequence[PlatformPart] = ()
    model: ModelPart | None = None
    recognizer: RecognizerPart | None = None
    synthesizer: SynthesizerPart | None = None
    providers: Sequence[ProviderPart] = ()
    processors: Sequence[ProcessorPart] = ()
    tools: Sequence[ToolPart] = ()
    tool_sources: Sequence[ToolSourcePart] = ()
    slash_commands: Sequence[SlashPart] = ()
    verbs: Sequence[VerbPart] = ()
    importers: Sequence[ChatImporterPart | DocumentImporterPart] = ()

    @property
    def parts(self) -> tuple[ExtensionPart, ...]:
        """Every part that has settings, secrets and a check."""
        return (
            *self.platforms,
            *(each for each in (self.model, self.recognizer, self.synthesizer) if each is not None),
            *self.providers,
            *self.processors,
            *self.tools,
            *self.tool_sources,
            *self.slash_commands,
        )
