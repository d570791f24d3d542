"""create_parts: the parts of the owner's extensions for one familiar. A part that cannot be made costs itself alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from familiar_connect.config.built_in import BUILT_IN
from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.secrets import Secrets
from familiar_connect.context.layers import ItemTag, Layer
from familiar_connect.context.protocols import ContextProvider, PostProcessor, PreProcessor
from familiar_connect.context.types import ContextRequest, Contribution
from familiar_connect.extensions.load import ExtensionFault, LoadedExtension
from familiar_connect.extensions.part_context import ExtensionPart, PartContext
from familiar_connect.extensions.parts import Extension
from familiar_connect.extensions.setup import IsInstalled, PartSetup, is_installed
from familiar_connect.extensions.slash_commands import isolate_command
from familiar_connect.extensions.thread import ExtensionThread
from familiar_connect.extensions.turn_parts import ProcessorPart, ToolPart, ToolSource, ToolSourcePart
from familiar_connect.llm.types import ToolSpec
from familiar_connect.support.clock import Clock
from familiar_connect.tools.types import Outcome, Refusal, Status, Tool
from familiar_connect.wiring.added_parts import AddedParts, AddedStep, AddedTool

logger = logging.getLogger(__name__)

DEFAULT_DEADLINE_S = 1.0
MAX_CONTRIBUTIONS = 64
TOOL_LIMIT_S = 30.0

T = TypeVar("T")


@dataclass(kw_only=True)
class PartMaker:
    """Makes what one familiar gets of the owner's extensions."""

    root: Path
    config: CharacterConfig
    secrets: Secrets
    clock: Clock
    troubles: list[str] = field(default_factory=list)

    is_installed: IsInstalled = is_installed

    @property
    def setup(self) -> PartSetup:
        """What the owner's files say of a part."""
        return PartSetup(
            root=self.root,
            config=self.config,
            secrets=self.secrets,
            clock=self.clock,
            is_installed=self.is_installed,
        )

    def make(self, part: ExtensionPart, extension: Extension, create: Callable[[PartContext], T]) -> T | None:
        """What *create* gives for *part*; None where the owner has still something to do, or it failed."""
        context = self.setup.context_for(part, extension)
        # A built-in extension is there whether it is wanted or not.
        level = logging.DEBUG if extension.name in BUILT_IN else logging.WARNING
        try:
            reason = self.setup.why_absent(part, extension)
            if reason is None:
                return create(context)
        except Exception as error:  # isolation: a part that cannot be made costs itself
            level, reason = logging.WARNING, f"it failed when it was made: {type(error).__name__}: {error}"
        self.troubles.append(f"{extension.name}: {reason}")
        logger.log(level, "part of an extension left out", extra={"extension": extension.name, "reason": reason})
        return None


def create_parts(loaded: Sequence[LoadedExtension], maker: PartMaker) -> AddedParts:
    """Every part for one familiar, in the order of the owner's list."""
    providers: list[AddedStep[ContextProvider]] = []
    before: list[AddedStep[PreProcessor]] = []
    after: list[AddedStep[PostProcessor]] = []
    tools: list[AddedTool] = []
    commands: list[object] = []
    threads: list[ExtensionThread] = []
    maker.troubles += [f"{each.name}: {each.trouble}" for each in loaded if each.trouble]
    for extension in (each.extension for each in loaded if each.extension is not None):
        threads.append(thread := ExtensionThread(extension.name))
        for part in extension.providers:
            made = maker.make(part, extension, part.create)
            if made is not None:
                step: ContextProvider = ExtensionProvider(made, thread)
                providers.append(AddedStep(step=step, modes=part.modes, on_voice=part.on_voice))
        for processor in extension.processors:
            _add_processor(processor, extension, maker, thread, before, after)
        tools += [tool for each in extension.tools for tool in _make_tool(each, extension, maker, thread)]
        tools += [tool for each in extension.tool_sources for tool in _open_source(each, extension, maker, thread)]
        for command in extension.slash_commands:
            made_command = maker.make(command, extension, command.create)
            commands += [isolate_command(made_command, thread)] if made_command is not None else []

    def close() -> None:
        for each in threads:
            each.close()

    return AddedParts(
        providers=providers,
        pre_processors=before,
        post_processors=after,
        tools=tools,
        slash_commands=commands,
        troubles=tuple(maker.troubles),
        close=close,
    )


def check_parts(loaded: Sequence[LoadedExtension], maker: PartMaker) -> Iterator[tuple[str, str]]:
    """Each extension with what is wrong with it, for `familiar doctor`; an empty text where nothing is."""
    for each in loaded:
        found = (
            []
            if each.extension is None
            else [_check_part(part, each.extension, maker) for part in each.extension.parts]
        )
        yield each.name, "; ".join(trouble for trouble in (each.trouble, *found) if trouble)


def _check_part(part: ExtensionPart, extension: Extension, maker: PartMaker) -> str:
    """What is wrong with *part*; empty where nothing is."""
    context = maker.setup.context_for(part, extension)
    try:
        looks = [maker.setup.why_absent(part, extension), part.check(context) if part.check is not None else None]
    except Exception as error:  # isolation: a check that fails is a finding
        return f"its check failed: {type(error).__name__}: {error}"
    return "; ".join(trouble for trouble in looks if trouble)


class ExtensionProvider:
    """A stranger's provider: it works on its extension's own loop, and its blocks say whose they are."""

    def __init__(self, provider: ContextProvider, thread: ExtensionThread) -> None:
        self._provider = provider
        self._thread = thread
        self.id = f"{thread.name}.{provider.id}"
        self.deadline_s = float(getattr(provider, "deadline_s", DEFAULT_DEADLINE_S))

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        found = await self._thread.call(lambda: self._provider.contribute(request))
        if not isinstance(found, list) or not all(isinstance(each, Contribution) for each in found):
            raise ExtensionFault(f"{self.id} gave something else than a list of contributions")
        return [self._named(each) for each in found[:MAX_CONTRIBUTIONS]]

    def _named(self, contribution: Contribution) -> Contribution:
        tag = ItemTag.EXTENSION if contribution.layer is Layer.extensions else contribution.tag
        return replace(contribution, source=self.id, tag=tag)


class ExtensionPreProcessor:
    """A stranger's pre-processor, on its extension's own loop."""

    def __init__(self, processor: PreProcessor, thread: ExtensionThread) -> None:
        self._processor = processor
        self._thread = thread
        self.id = f"{thread.name}.{processor.id}"

    async def process(self, request: ContextRequest) -> ContextRequest:
        return await self._thread.call(lambda: self._processor.process(request))


class ExtensionPostProcessor:
    """A stranger's post-processor, on its extension's own loop."""

    def __init__(self, processor: PostProcessor, thread: ExtensionThread) -> None:
        self._processor = processor
        self._thread = thread
        self.id = f"{thread.name}.{processor.id}"

    async def process(self, reply_text: str, request: ContextRequest) -> str:
        changed: object = await self._thread.call(lambda: self._processor.process(reply_text, request))
        if not isinstance(changed, str):
            raise ExtensionFault(f"{self.id} gave no text")
        return changed


def _add_processor(
    part: ProcessorPart,
    extension: Extension,
    maker: PartMaker,
    thread: ExtensionThread,
    before: list[AddedStep[PreProcessor]],
    after: list[AddedStep[PostProcessor]],
) -> None:
    made: Any = maker.make(part, extension, part.create)
    if made is None:
        return
    if part.runs == "after":
        changed: PostProcessor = ExtensionPostProcessor(made, thread)
        after.append(AddedStep(step=changed, modes=part.modes, on_voice=part.on_voice))
    else:
        prepared: PreProcessor = ExtensionPreProcessor(made, thread)
        before.append(AddedStep(step=prepared, modes=part.modes, on_voice=part.on_voice))


def _make_tool(part: ToolPart, extension: Extension, maker: PartMaker, thread: ExtensionThread) -> Iterator[AddedTool]:
    made = maker.make(part, extension, part.create)
    if made is None:
        return
    name = f"{extension.name}.{part.name}"

    def create(request: ContextRequest) -> Tool | None:
        tool = made(request)
        return None if tool is None else _isolated(tool, name.replace(".", "_"), thread)

    yield AddedTool(name=name, create=create)


def _open_source(
    part: ToolSourcePart, extension: Extension, maker: PartMaker, thread: ExtensionThread
) -> Iterator[AddedTool]:
    """The tools of a source, which runs from now on; nothing where the owner wants none of them."""
    wanted = [name for name in maker.config.tools if name.startswith(f"{extension.name}.")]
    source = maker.make(part, extension, partial(_create_source, part, wanted)) if wanted else None
    if source is None:
        return
    missing = source.why_missing()
    if missing:
        maker.troubles.append(f"{extension.name}: {missing}")
    thread.begin(source.run)
    for name in source.names:
        yield AddedTool(name=name, create=partial(_make_from_source, source, name, thread))


def _create_source(part: ToolSourcePart, wanted: Sequence[str], context: PartContext) -> ToolSource:
    return part.create(context, wanted)


def _make_from_source(source: ToolSource, name: str, thread: ExtensionThread, request: ContextRequest) -> Tool | None:
    tool = source.make(name, request)
    return None if tool is None else _isolated(tool, name.replace(".", "_"), thread)


def _isolated(tool: Tool, name: str, thread: ExtensionThread) -> Tool:
    """*tool* under the name that says whose it is; whatever it does, the model is told how it went."""

    async def run(arguments: Mapping[str, object]) -> Outcome:
        try:
            async with asyncio.timeout(TOOL_LIMIT_S):
                return await thread.call(lambda: tool.run(arguments))
        except Refusal:
            raise
        except TimeoutError:
            return Outcome(Status.internal, f"no answer within {TOOL_LIMIT_S:g} seconds")
        except Exception as error:  # isolation: a tool that fails ends no reply
            logger.warning("tool of an extension failed", extra={"tool": name, "error": type(error).__name__})
            return Outcome(Status.internal, "the tool failed")

    spec = ToolSpec(name, tool.spec.description, tool.spec.parameters)
    return Tool(spec, run)
