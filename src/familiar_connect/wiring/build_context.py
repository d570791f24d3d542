"""Who contributes to a prompt and who works on a reply: providers, processors and the pipeline of a channel.

Providers run at once whatever their order here; the order decides only how equals are told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo

from familiar_connect.chat.message_parts import Sticker
from familiar_connect.chat.place import Place
from familiar_connect.config.channel import ChannelConfig
from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.llm import MAIN_SLOT
from familiar_connect.config.types import PromptOrder, is_step_on
from familiar_connect.context.media import MediaCache
from familiar_connect.context.pipeline import ContextPipeline, GenerationResources, ToolsFor
from familiar_connect.context.processors.recast import RecastPostProcessor
from familiar_connect.context.processors.regex_output import RegexPostProcessor
from familiar_connect.context.processors.spoken_text import SpokenTextPostProcessor
from familiar_connect.context.processors.stepped_thinking import SteppedThinkingPreProcessor
from familiar_connect.context.protocols import ContextProvider, PostProcessor, PreProcessor
from familiar_connect.context.providers.character import CharacterProvider, SampleDialoguesProvider
from familiar_connect.context.providers.content_search import ContentSearchProvider
from familiar_connect.context.providers.content_search.provider import SearchScope
from familiar_connect.context.providers.documents import DocumentsProvider
from familiar_connect.context.providers.history import HistoryProvider
from familiar_connect.context.providers.history.cross_channel import CrossChannelNotes
from familiar_connect.context.providers.history.provider import HistoryOptions
from familiar_connect.context.providers.mode_instructions import SHIPPED_NOTES, ModeInstructionProvider
from familiar_connect.context.providers.owner_notes import ChannelNotesProvider, ConditioningProvider, PinnedProvider
from familiar_connect.context.providers.scene.participants import ParticipantsProvider
from familiar_connect.context.providers.scene.server import AssetsProvider, ServerInfoProvider, ServerMemoriesProvider
from familiar_connect.context.providers.short_term_memory import ShortTermMemoryProvider
from familiar_connect.context.render import RenderOptions
from familiar_connect.context.types import ContextRequest, Modality
from familiar_connect.llm.model_slots import ModelSlots
from familiar_connect.memory.pins import PinnedFiles
from familiar_connect.memory.types import DOCUMENTS_FOLDER
from familiar_connect.memory.visible_memory import SERVERS
from familiar_connect.presets.arranger import PresetArranger
from familiar_connect.presets.regex_scripts import rewrites_reply
from familiar_connect.presets.types import RegexScript
from familiar_connect.support.aio import IdleGate
from familiar_connect.support.clock import Clock
from familiar_connect.tools.toolbox import Toolbox
from familiar_connect.tools.types import SEND_STICKER, SHORT_TERM_NOTE
from familiar_connect.wiring.added_parts import NOTHING_ADDED, AddedParts, AddedStep
from familiar_connect.wiring.build_index import LazyMemoryIndex
from familiar_connect.wiring.stores import Stores

S = TypeVar("S", bound=ContextProvider | PreProcessor | PostProcessor)


def build_scene_providers(stores: Stores, config: CharacterConfig, clock: Clock) -> dict[str, ContextProvider]:
    """Those that tell where the familiar is, who is there and what the channel wants."""
    return {
        "channel_notes": ChannelNotesProvider(stores.memory),
        "server_info": ServerInfoProvider(privacy=stores.privacy),
        "server_memories": ServerMemoriesProvider(stores.memory, stores.audiences),
        "assets": AssetsProvider(
            mode_of=lambda channel_id: stores.channels.get(channel_id).mode,
            sticker_tool=SEND_STICKER,
            is_offered=lambda request: SEND_STICKER in request.offered.tool_names,
        ),
        "participants": ParticipantsProvider(
            privacy=stores.privacy,
            zone=ZoneInfo(config.display_tz),
            clock=clock,
            reminders=stores.reminders,
        ),
        "sample_dialogues": SampleDialoguesProvider(stores.memory),
    }


def build_providers(
    stores: Stores,
    config: CharacterConfig,
    models: ModelSlots,
    clock: Clock,
    *,
    index: LazyMemoryIndex,
    toolbox: Toolbox,
    replies: IdleGate,
) -> dict[str, ContextProvider]:
    """The long-lived contributors, in registration order. `mode_instructions` is built per channel.

    While *replies* are being made no model is asked for a summary.
    """
    stable_first = config.prompt_order is PromptOrder.stable_first

    def can_note(request: ContextRequest) -> bool:
        return "tools" in request.offered.capabilities and SHORT_TERM_NOTE in toolbox.enabled and toolbox.is_on(request)

    return {
        "character": CharacterProvider(stores.memory, samples=False),
        "history": HistoryProvider(
            store=stores.history,
            llm_client=models.model("history_summary"),
            window_size=config.history_window_size,
            options=HistoryOptions(
                display_zone=ZoneInfo(config.display_tz),
                step=config.history_window_size if stable_first else 0,
                refresh_every_turns=config.history_refresh_every_turns,
                max_turns_per_refresh=config.history_max_turns_per_refresh,
                max_chars_per_refresh=config.history_max_chars_per_refresh,
                wait_until_quiet=replies.wait,
                keeps_modes_apart=False,
            ),
            privacy=stores.privacy,
            elsewhere=CrossChannelNotes(stores.short_term, stores.history, stores.chats),
        ),
        "short_term_memory": ShortTermMemoryProvider(stores.short_term, tools_on=can_note),
        "documents": DocumentsProvider(store=stores.memory, search=index),
        "pinned": PinnedProvider(PinnedFiles(stores.memory)),
        "conditioning": ConditioningProvider(stores.conditioning),
        "content_search": ContentSearchProvider(
            store=stores.memory,
            llm_client=models.model("memory_search"),
            history_store=stores.history,
            retriever=index if config.search_files or config.search_turns else None,
            scope=SearchScope(
                recent_turns=config.history_window_size,
                window_step=config.history_window_size if stable_first else 0,
                exclude_folders=(DOCUMENTS_FOLDER, f"{SERVERS}/"),
                audiences=stores.audiences,
                privacy=stores.privacy,
            ),
        ),
        **build_scene_providers(stores, config, clock),
    }


def build_pre_processors(stores: Stores, models: ModelSlots) -> dict[str, PreProcessor]:
    thinking = SteppedThinkingPreProcessor(
        llm_client=models.model("reasoning_context"),
        history_store=stores.history,
        privacy=stores.privacy,
    )
    return {thinking.id: thinking}


def build_post_processors(models: ModelSlots) -> dict[str, PostProcessor]:
    recast = RecastPostProcessor(llm_client=models.model("post_process_style"))
    spoken = SpokenTextPostProcessor()
    return {recast.id: recast, spoken.id: spoken}


@dataclass(frozen=True, kw_only=True)
class PipelineFactory:
    """The long-lived parts of every pipeline, put together anew for each turn."""

    providers: dict[str, ContextProvider]
    pre_processors: dict[str, PreProcessor]
    post_processors: dict[str, PostProcessor]
    modes_root: Path
    defaults_modes_root: Path | None
    models: ModelSlots
    options: RenderOptions
    persona: Callable[[], str]
    """What the familiar is called; reads a file."""
    media: MediaCache | None
    toolbox: Toolbox
    added: AddedParts = NOTHING_ADDED

    def build(
        self,
        channel: ChannelConfig,
        *,
        modality: Modality = Modality.text,
        place: Place | None = None,
        scripts: Sequence[RegexScript] = (),
    ) -> ContextPipeline:
        """The parts that *channel* asks for; on voice those it has there. *scripts* are the turn's regex scripts."""
        is_voice = modality is Modality.voice
        steps = channel.on_voice if is_voice else channel.in_text

        def choose(added: Sequence[AddedStep[S]], ids: frozenset[str]) -> list[S]:
            on = [(each.step, each.is_on(channel.mode, is_voice=is_voice)) for each in added]
            return [step for step, by_default in on if is_step_on(step.id, ids, by_default=by_default)]

        wanted = [provider for id_, provider in self.providers.items() if id_ in steps.providers]
        if ModeInstructionProvider.id in steps.providers:
            wanted.append(
                ModeInstructionProvider(
                    modes_root=self.modes_root,
                    mode=channel.mode,
                    channel_backdrop_override=channel.backdrop_override,
                    defaults_modes_root=self.defaults_modes_root,
                    shipped=SHIPPED_NOTES,
                )
            )
        wanted += choose(self.added.providers, steps.providers)
        pre_processors = [p for id_, p in self.pre_processors.items() if id_ in steps.pre_processors]
        pre_processors += choose(self.added.pre_processors, steps.pre_processors)
        post_processors = [p for id_, p in self.post_processors.items() if id_ in steps.post_processors]
        post_processors += choose(self.added.post_processors, steps.post_processors)
        if rewrites_reply(scripts):
            post_processors.insert(0, RegexPostProcessor())  # the first is run last
        return ContextPipeline(
            wanted,
            pre_processors,
            post_processors,
            model=self.models.get(MAIN_SLOT, model=channel.model),
            budget_by_layer=channel.budget_by_layer,
            options=self.options,
            arranger=PresetArranger(),
            persona=self.persona(),
            resources=GenerationResources(media=self.media, tools=tools_for_place(self.toolbox, place)),
        )


def tools_for_place(toolbox: Toolbox, place: Place | None) -> ToolsFor:
    """What the model may do in a reply at *place*: stickers where it takes them, and what it brings along itself."""
    if place is None:
        return toolbox.for_turn
    brought = tuple(place.tools())
    if not place.features.stickers:
        return lambda request: toolbox.for_turn(request, brought=brought)

    async def send(sticker: Sticker) -> None:
        await place.send_sticker(sticker.name)

    return lambda request: toolbox.for_turn(request, send_sticker=send, brought=brought)
