"""Extension: one value that says what a package brings. Making it imports nothing heavy; `create` and `check` do.

DemoPart: a small network of an extension's own on this computer, for `familiar run --demo-NAME`.

RehearsedServers: a network with servers as `familiar rehearse` plays it: its own rules say who can read what.

The rehearsal knows who is on a server, with which roles, and what each channel allows and denies. What follows from
that is the network's to say, by the same code as when it is live.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from familiar_connect.config.types import ChannelMode

if TYPE_CHECKING:
    from datetime import datetime

    import click

    from familiar_connect.chat.place import Place
    from familiar_connect.chat.scene import ChannelKind, Scene
    from familiar_connect.context.protocols import ContextProvider, PostProcessor, PreProcessor
    from familiar_connect.context.types import ContextRequest
    from familiar_connect.extensions.host import PlatformHost
    from familiar_connect.extensions.imported import ImportedItem, ImportedText, ReadLimits
    from familiar_connect.extensions.part_context import PartContext
    from familiar_connect.identity import Author
    from familiar_connect.llm.protocols import ChatModel
    from familiar_connect.slash.command import SlashCommand
    from familiar_connect.tools.types import Tool
    from familiar_connect.voice.protocols import SpeechRecognizer, SpeechSynthesizer, StreamingTranscriber
    from familiar_connect.voice.speech_context import RemoteService, SpeechContext


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


@dataclass(frozen=True, kw_only=True)
class RehearsedPerson:
    """Somebody of a rehearsal, as a network with numbers knows them."""

    id: int
    name: str
    username: str | None = None
    roles: tuple[int, ...] = ()
    joined_at: datetime | None = None
    """When they came to the server; None: this is no server."""


@dataclass(frozen=True, kw_only=True)
class RehearsedChannel:
    """A channel or thread of a server, and what it allows and denies now."""

    id: int
    kind: ChannelKind
    parent_id: int | None = None
    """The channel that a thread is in; None: it is no thread, or the file does not say."""
    is_thread: bool = False
    is_hidden: bool = False
    """Only for those who are allowed; of a thread: only for those who are in it."""
    is_age_restricted: bool = False
    allowed: tuple[int, ...] = ()
    """Roles and people by their ids; of a thread, who is in it."""
    denied: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RehearsedServer:
    """A server with its members, the ids of all roles, and its channels."""

    id: int
    members: tuple[RehearsedPerson, ...]
    roles: tuple[int, ...]
    channels: tuple[RehearsedChannel, ...]


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


EVERY_MODE = frozenset(ChannelMode)


@dataclass(frozen=True, kw_only=True)
class ExtensionPart:
    """What every part says of itself, beside how it is created."""

    settings: type[Any] | None = None
    """A class of `setting(…)` fields, plain or a dataclass: the keys of the section named after the extension."""
    secrets: tuple[str, ...] = ()
    """Names of the secrets it may read, as `familiar keys set NAME` keeps them."""
    secrets_of_each: tuple[str, ...] = ()
    """Those of them that a familiar may have for itself: `NAME_WREN` is that of `wren` and comes before `NAME`."""
    required: tuple[str, ...] = ()
    """Settings and secrets without which it does nothing; the sentence on those that are missing is ours."""
    library: str = ""
    """A module that an extra brings and that it cannot do without."""
    hosts: tuple[str, ...] | Callable[[PartContext], tuple[str, ...]] = ()
    """Where it connects to, for `familiar doctor --privacy`, such as https://api.example.org; or what finds it out."""
    why_not_set_up: Callable[[PartContext], str | None] | None = None
    """One sentence on what the owner has still to do; None: nothing."""
    check: Callable[[PartContext], str | None] | None = None
    """For `familiar doctor`: one sentence on what is wrong; None: nothing. May take seconds."""

    shared_section: ClassVar[str] = ""
    """The section of the program's own in which a built-in extension's settings of this kind stand."""

    def __post_init__(self) -> None:
        if self.settings is not None and not is_dataclass(self.settings):
            dataclass(frozen=True)(self.settings)  # here, where the part is used: every start declares settings


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
class ModelPart(ExtensionPart):
    """A way to ask a chat model, for slots whose `model` is `extension:NAME/MODEL`."""

    create: Callable[[PartContext, str], ChatModel]
    """Given what stands behind the slash; empty where nothing does."""


@dataclass(frozen=True, kw_only=True)
class SpeechPart(ExtensionPart):
    """What hearing and speaking have in common."""

    service: RemoteService | None = None
    """Who is asked over the network; None: it works on this computer, or finds its way itself."""
    model_files: Mapping[str, str] = field(default_factory=dict)
    """Packages that bring its model, each with a pattern of the file; `familiar doctor` misses one that is lost."""


@dataclass(frozen=True, kw_only=True)
class RecognizerPart(SpeechPart):
    """Makes words of speech, where `provider` under [stt] is `extension:NAME`."""

    create: Callable[[SpeechContext, str], SpeechRecognizer]
    """Given what stands behind a slash, as in `extension:NAME/fast`; empty where nothing does."""
    create_stream: Callable[[SpeechContext, str], StreamingTranscriber] | None = None
    """Listens to one person while they speak; None: it is given whole stretches of speech."""

    shared_section: ClassVar[str] = "stt"


@dataclass(frozen=True, kw_only=True)
class SynthesizerPart(SpeechPart):
    """Makes speech of words, where `provider` under [tts] is `extension:NAME`."""

    create: Callable[[SpeechContext, str], SpeechSynthesizer]
    """Given what stands behind a slash, as in `extension:NAME/low`; empty where nothing does."""

    shared_section: ClassVar[str] = "tts"


@dataclass(frozen=True, kw_only=True)
class ProviderPart(ExtensionPart):
    """Adds a block to the prompt."""

    create: Callable[[PartContext], ContextProvider]
    modes: frozenset[ChannelMode] = EVERY_MODE
    """Modes of a channel in which it is on unless the owner says otherwise."""
    on_voice: bool = True
    """Whether it is on where the conversation is spoken."""


@dataclass(frozen=True, kw_only=True)
class ProcessorPart(ExtensionPart):
    """Works on a request before the model sees it, or on a reply before it goes out."""

    create: Callable[[PartContext], PreProcessor | PostProcessor]
    runs: Literal["before", "after"] = "after"
    """Before the model is asked, as a `PreProcessor`, or over its reply, as a `PostProcessor`."""
    modes: frozenset[ChannelMode] = EVERY_MODE
    on_voice: bool = True


@dataclass(frozen=True, kw_only=True)
class ToolPart(ExtensionPart):
    """A function that the model may call during a reply, where the owner's `tools` setting names it."""

    name: str
    create: Callable[[PartContext], Callable[[ContextRequest], Tool | None]]
    """Gives what makes the tool for one reply; None: it is of no use in that one."""


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
class ChatImporterPart:
    """A format of chats that `familiar import chat` takes."""

    name: str
    """What the format is called."""
    recognizes: Callable[[bytes, str], bool]
    """Whether a file is of this format, by its first 4096 bytes and its name. It only looks, and at once."""
    read: Callable[[bytes, str], Iterable[ImportedItem]]
    """The chats in all bytes of a file, and its name. It runs in a process of its own, within bounds, and says by an
    `UnreadableFileError` what is wrong with a file. Of a generator each line is handed on as it comes."""
    limits: ReadLimits | None = None
    """What reading one file may take; None: as much as `ReadLimits()` says."""


@dataclass(frozen=True, kw_only=True)
class DocumentImporterPart:
    """A format of documents that `familiar import document` takes."""

    name: str
    recognizes: Callable[[bytes, str], bool]
    """As for chats."""
    read: Callable[[bytes, str], ImportedText]
    """As for chats; the text of a document."""
    limits: ReadLimits | None = None
    """As for chats."""


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
            *self.slash_commands,
        )
