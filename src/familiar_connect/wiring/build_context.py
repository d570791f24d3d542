"""Who contributes to a prompt and who works on a reply: providers, processors and the pipeline of a channel.

Providers run at once whatever their order here; the order decides only how equals are told apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from familiar_connect.config import ChannelConfig, CharacterConfig
from familiar_connect.config.types import PromptOrder
from familiar_connect.context.pipeline import ContextPipeline
from familiar_connect.context.processors.recast import RecastPostProcessor
from familiar_connect.context.processors.stepped_thinking import SteppedThinkingPreProcessor
from familiar_connect.context.protocols import ContextProvider, PostProcessor, PreProcessor
from familiar_connect.context.providers.channel_notes import ChannelNotesProvider
from familiar_connect.context.providers.character import CharacterProvider
from familiar_connect.context.providers.conditioning import ConditioningProvider
from familiar_connect.context.providers.content_search import ContentSearchProvider
from familiar_connect.context.providers.documents import FOLDER as DOCUMENTS
from familiar_connect.context.providers.documents import DocumentsProvider
from familiar_connect.context.providers.history import HistoryProvider
from familiar_connect.context.providers.history.cross_channel import CrossChannelNotes
from familiar_connect.context.providers.mode_instructions import ModeInstructionProvider
from familiar_connect.context.providers.sample_dialogues import SampleDialoguesProvider
from familiar_connect.context.providers.scene.assets import AssetsProvider
from familiar_connect.context.providers.scene.participants import ParticipantsProvider
from familiar_connect.context.providers.scene.server_info import ServerInfoProvider
from familiar_connect.context.providers.scene.server_memories import ServerMemoriesProvider
from familiar_connect.context.providers.short_term_memory import ShortTermMemoryProvider
from familiar_connect.context.render import RenderOptions
from familiar_connect.context.types import Modality
from familiar_connect.memory.visibility import SERVERS, Visibility
from familiar_connect.support.clock import Clock
from familiar_connect.wiring.models import SlotModel
from familiar_connect.wiring.stores import Stores


def render_options(config: CharacterConfig) -> RenderOptions:
    return RenderOptions(
        prompt_order=config.prompt_order,
        depth_inject_position=config.depth_inject_position,
        depth_inject_role="user" if config.depth_inject_role == "user" else "system",
    )


def build_scene_providers(
    stores: Stores, config: CharacterConfig, clock: Clock | None = None
) -> dict[str, ContextProvider]:
    """Those that tell where the familiar is, who is there and what the channel wants."""
    return {
        "channel_notes": ChannelNotesProvider(stores.memory),
        "server_info": ServerInfoProvider(privacy=stores.privacy),
        "server_memories": ServerMemoriesProvider(stores.memory),
        "assets": AssetsProvider(mode_of=lambda channel_id: stores.channels.get(channel_id).mode),
        "participants": ParticipantsProvider(privacy=stores.privacy, zone=ZoneInfo(config.display_tz), clock=clock),
        "sample_dialogues": SampleDialoguesProvider(stores.memory),
    }


def build_providers(
    stores: Stores, config: CharacterConfig, llm_clients: Mapping[str, Any], clock: Clock | None = None
) -> dict[str, ContextProvider]:
    """The long-lived contributors, in registration order. `mode_instructions` is built per channel."""
    stable_first = config.prompt_order is PromptOrder.stable_first
    return {
        "character": CharacterProvider(stores.memory, samples=False),
        "history": HistoryProvider(
            store=stores.history,
            llm_client=SlotModel(llm_clients, "history_summary"),
            window_size=config.history_window_size,
            display_zone=ZoneInfo(config.display_tz),
            step=config.history_window_size if stable_first else 0,
            refresh_every_turns=config.history_refresh_every_turns,
            max_turns_per_refresh=config.history_max_turns_per_refresh,
            max_chars_per_refresh=config.history_max_chars_per_refresh,
            privacy=stores.privacy,
            elsewhere=CrossChannelNotes(stores.short_term, config.private_channel_ids, config.recall_across_servers),
        ),
        "short_term_memory": ShortTermMemoryProvider(stores.short_term),
        "documents": DocumentsProvider(store=stores.memory),
        "conditioning": ConditioningProvider(stores.conditioning),
        "content_search": ContentSearchProvider(
            store=stores.memory,
            llm_client=SlotModel(llm_clients, "memory_search"),
            history_store=stores.history,
            recent_turns=config.history_window_size,
            exclude_folders=(DOCUMENTS, f"{SERVERS}/"),
            reach=build_reach(stores, config),
            privacy=stores.privacy,
        ),
        **build_scene_providers(stores, config, clock),
    }


def build_reach(stores: Stores, config: CharacterConfig) -> Visibility:
    """What of one channel's talk may be recalled in another."""
    return Visibility(
        stores.history,
        private_channel_ids=config.private_channel_ids,
        known_everywhere=config.recall_across_servers,
    )


def build_pre_processors(stores: Stores, llm_clients: Mapping[str, Any]) -> dict[str, PreProcessor]:
    thinking = SteppedThinkingPreProcessor(
        llm_client=SlotModel(llm_clients, "reasoning_context"),
        history_store=stores.history,
        privacy=stores.privacy,
    )
    return {thinking.id: thinking}


def build_post_processors(llm_clients: Mapping[str, Any]) -> dict[str, PostProcessor]:
    recast = RecastPostProcessor(llm_client=SlotModel(llm_clients, "post_process_style"))
    return {recast.id: recast}


def build_pipeline(
    channel: ChannelConfig,
    *,
    providers: Mapping[str, ContextProvider],
    pre_processors: Mapping[str, PreProcessor],
    post_processors: Mapping[str, PostProcessor],
    modes_root: Path,
    defaults_modes_root: Path | None,
    model: Any,
    options: RenderOptions,
    persona: str,
    modality: Modality = Modality.text,
) -> ContextPipeline:
    """The long-lived parts that *channel*'s mode asks for; on voice no side model stands in the way."""
    wanted = [provider for id_, provider in providers.items() if id_ in channel.providers_enabled]
    if ModeInstructionProvider.id in channel.providers_enabled:
        wanted.append(
            ModeInstructionProvider(
                modes_root=modes_root,
                mode=channel.mode,
                channel_backdrop_override=channel.backdrop_override,
                defaults_modes_root=defaults_modes_root,
            )
        )
    spoken = modality is Modality.voice
    return ContextPipeline(
        wanted,
        [p for id_, p in pre_processors.items() if id_ in channel.preprocessors_enabled and not spoken],
        [p for id_, p in post_processors.items() if id_ in channel.postprocessors_enabled and not spoken],
        model=model,
        budget_by_layer=channel.budget_by_layer,
        options=options,
        persona=persona,
    )
