"""create_models: chat models that extensions bring, for the slots whose `model` names one as `extension:NAME/MODEL`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from functools import partial

from familiar_connect.config.llm import EXTENSION_MODEL, LLMSlotConfig, split_extension_model
from familiar_connect.errors import ConfigError, ModelError
from familiar_connect.extensions.create import PartMaker
from familiar_connect.extensions.load import LoadedExtension
from familiar_connect.extensions.part_context import PartContext
from familiar_connect.extensions.thread import ExtensionThread
from familiar_connect.extensions.turn_parts import ModelPart
from familiar_connect.llm.protocols import ChatModel
from familiar_connect.llm.types import Capabilities, Message


class ExtensionModel:
    """A stranger's model: it works on its extension's own loop, and whatever it raises is a model that failed."""

    def __init__(self, model: ChatModel, thread: ExtensionThread, name: str) -> None:
        self._model = model
        self._thread = thread
        self.model = name
        """As the slot has it."""

    @property
    def capabilities(self) -> Capabilities:
        return self._model.capabilities

    async def chat(self, messages: list[Message]) -> Message:
        try:
            return await self._thread.call(lambda: self._model.chat(messages))
        except Exception as error:  # isolation: told as any model that fails
            raise self._failure(error) from error

    async def stream(self, messages: Sequence[Message]) -> AsyncIterator[str]:
        pieces = self._model.stream(messages)
        try:
            while (piece := await self._thread.call(partial(_next_piece, pieces))) is not None:
                yield piece
        except Exception as error:  # isolation: told as any model that fails
            raise self._failure(error) from error
        finally:
            self._thread.post(partial(_end, pieces))

    async def aclose(self) -> None:
        """End the loop that the model works on."""
        self._thread.close()

    def _failure(self, error: Exception) -> ModelError:
        if isinstance(error, ModelError):
            return error
        return ModelError(f"the model of the extension {self._thread.name} failed: {type(error).__name__}: {error}")


async def _next_piece(pieces: AsyncIterator[str]) -> str | None:
    """The next piece; None at the end."""
    return await anext(pieces, None)


async def _end(pieces: AsyncIterator[str]) -> None:
    """Let a stream that nobody reads on give up its connection."""
    if isinstance(pieces, AsyncGenerator):
        await pieces.aclose()


def create_models(
    loaded: Sequence[LoadedExtension], maker: PartMaker, slots: Mapping[str, LLMSlotConfig]
) -> dict[str, ChatModel]:
    """A model for every slot whose `model` names an extension. One that cannot be had is a `ConfigError`."""
    models: dict[str, ChatModel] = {}
    made: dict[str, ChatModel] = {}
    for slot, config in slots.items():
        named = split_extension_model(config.model)
        if named is None:
            continue
        if config.model not in made:
            made[config.model] = _create_model(*named, loaded, maker, slot)
        models[slot] = made[config.model]
    return models


def _create_model(name: str, model: str, loaded: Sequence[LoadedExtension], maker: PartMaker, slot: str) -> ChatModel:
    found = next((each for each in loaded if each.name == name), None)
    extension = found.extension if found is not None else None
    if extension is None or extension.model is None:
        reason = (found.trouble if found is not None else "") or "it is not allowed here, or brings no model"
        raise ConfigError(
            f"[llm.{slot}] model names the extension {name}, and {reason}: `familiar extension list` tells more"
        )
    created = maker.make(extension.model, extension, partial(_create, extension.model, model))
    if created is None:
        raise ConfigError(f"[llm.{slot}] model: {maker.troubles[-1]}")
    return ExtensionModel(created, ExtensionThread(name), f"{EXTENSION_MODEL}{name}/{model}")


def _create(part: ModelPart, model: str, context: PartContext) -> ChatModel:
    return part.create(context, model)
