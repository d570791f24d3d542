"""The parts of an extension that work in a turn: models, speech, providers, processors, tools.

They stand apart from `parts`, because every start looks at the platforms and few look at these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from familiar_connect.config.types import ChannelMode
from familiar_connect.extensions.part_context import ExtensionPart

if TYPE_CHECKING:
    from familiar_connect.context.protocols import ContextProvider, PostProcessor, PreProcessor
    from familiar_connect.context.types import ContextRequest
    from familiar_connect.extensions.part_context import PartContext
    from familiar_connect.llm.protocols import ChatModel
    from familiar_connect.tools.types import Tool
    from familiar_connect.voice.protocols import SpeechRecognizer, SpeechSynthesizer, StreamingTranscriber
    from familiar_connect.voice.speech_context import RemoteService, SpeechContext

EVERY_MODE = frozenset(ChannelMode)


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


class ToolSource(Protocol):
    """Tools that are known only while the program runs."""

    @property
    def names(self) -> Sequence[str]:
        """Those it may come to have, as the `tools` setting calls them."""

    async def run(self) -> None:
        """Find the tools and keep them, until cancelled; on the extension's own loop."""

    def make(self, name: str, request: ContextRequest) -> Tool | None:
        """The tool called *name* for one reply; None: it is not there now."""

    def why_missing(self) -> str:
        """What of the wanted tools there can never be, in a sentence; empty: nothing."""


@dataclass(frozen=True, kw_only=True)
class ToolSourcePart(ExtensionPart):
    """Where tools come from, such as a server: for names EXTENSION.TOOL of the owner's `tools` setting."""

    create: Callable[[PartContext, Sequence[str]], ToolSource]
    """Given the names of this extension's that the owner's `tools` setting has; not called where it has none."""
