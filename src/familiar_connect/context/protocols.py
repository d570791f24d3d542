"""The seams of the context room: who contributes, who runs before and after, who arranges."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from familiar_connect.context.types import ContextRequest, Contribution, Prompt
from familiar_connect.errors import PreProcessorError

__all__ = ["Arranger", "ContextProvider", "PostProcessor", "PreProcessor", "PreProcessorError"]


@runtime_checkable
class ContextProvider(Protocol):
    """Contributes pieces of context, within its own deadline."""

    id: str
    deadline_s: float

    async def contribute(self, request: ContextRequest) -> list[Contribution]: ...


@runtime_checkable
class PreProcessor(Protocol):
    """Returns the request with more `preprocessor_contributions`; runs beside the providers."""

    id: str

    async def process(self, request: ContextRequest) -> ContextRequest: ...


@runtime_checkable
class PostProcessor(Protocol):
    """Turns the reply's text into the text that goes out."""

    id: str

    async def process(self, reply_text: str, request: ContextRequest) -> str: ...


@runtime_checkable
class Arranger(Protocol):
    """May move the items of a native prompt; never fetches anything."""

    def arrange(self, prompt: Prompt, request: ContextRequest) -> Prompt: ...
