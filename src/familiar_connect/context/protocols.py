"""The seams of the context room: who contributes, who runs before and after, who arranges."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

from familiar_connect.context.types import ContextRequest, Contribution, Prompt
from familiar_connect.errors import PreProcessorError
from familiar_connect.llm.types import Message, ToolCall, ToolSpec

__all__ = [
    "Arranger",
    "ContextProvider",
    "PartialProvider",
    "PostProcessor",
    "PreProcessor",
    "PreProcessorError",
    "PromptThinker",
    "ToolSet",
    "ViewProcessor",
]


@runtime_checkable
class ContextProvider(Protocol):
    """Contributes pieces of context, within its own deadline."""

    id: str
    deadline_s: float

    async def contribute(self, request: ContextRequest) -> list[Contribution]: ...


@runtime_checkable
class PartialProvider(ContextProvider, Protocol):
    """A provider that can say at any moment what it has found; where it is late, that much is used."""

    def peek_contributions(self, request: ContextRequest) -> list[Contribution]: ...


@runtime_checkable
class PreProcessor(Protocol):
    """Returns the request with more `preprocessor_contributions`; runs beside the providers."""

    id: str

    async def process(self, request: ContextRequest) -> ContextRequest: ...


@runtime_checkable
class PromptThinker(PreProcessor, Protocol):
    """A pre-processor that thinks over the finished prompt instead of running beside the providers."""

    async def think(
        self, messages: Sequence[Message], request: ContextRequest, *, own_name: str, speakers: Collection[str]
    ) -> Contribution | None:
        """A note to add before the reply to *messages*, or None."""


@runtime_checkable
class PostProcessor(Protocol):
    """Turns the reply's text into the text that goes out."""

    id: str

    async def process(self, reply_text: str, request: ContextRequest) -> str: ...


@runtime_checkable
class ViewProcessor(PostProcessor, Protocol):
    """A post-processor after which the words it was given are kept too: what it makes is a view of them."""

    makes_view: bool


@runtime_checkable
class Arranger(Protocol):
    """May move the items of a native prompt; never fetches anything."""

    def arrange(self, prompt: Prompt, request: ContextRequest) -> Prompt: ...


@runtime_checkable
class ToolSet(Protocol):
    """What the model may do during one reply."""

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """The tools offered this turn."""

    @property
    def macros(self) -> Mapping[str, str]:
        """Tool macro (`memory_tool`) → what stands for it in authored text this turn."""

    async def call(self, call: ToolCall) -> str:
        """Do what is asked; how it went, as text for the model."""
