"""The hands that put a familiar together: every part built once, in an order you can read.

Nothing registers itself. Providers run at once whatever their order here; the order decides only
how equals are told apart.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zoneinfo import ZoneInfo

from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.chat.types import TurnSettings
from familiar_connect.config import ChannelConfig, CharacterConfig
from familiar_connect.config.types import PromptOrder
from familiar_connect.context.pipeline import ContextPipeline
from familiar_connect.context.processors.recast import RecastPostProcessor
from familiar_connect.context.processors.stepped_thinking import SteppedThinkingPreProcessor
from familiar_connect.context.protocols import ContextProvider, PostProcessor, PreProcessor
from familiar_connect.context.providers.channel_notes import ChannelNotesProvider
from familiar_connect.context.providers.character import CharacterProvider, persona_name
from familiar_connect.context.providers.conditioning import ConditioningProvider
from familiar_connect.context.providers.content_search import ContentSearchProvider
from familiar_connect.context.providers.content_search.mentions import known_names
from familiar_connect.context.providers.documents import FOLDER as DOCUMENTS
from familiar_connect.context.providers.documents import DocumentsProvider
from familiar_connect.context.providers.history import HistoryProvider
from familiar_connect.context.providers.history.elsewhere import Elsewhere
from familiar_connect.context.providers.mode_instructions import ModeInstructionProvider
from familiar_connect.context.providers.sample_dialogues import SampleDialoguesProvider
from familiar_connect.context.providers.scene.assets import AssetsProvider
from familiar_connect.context.providers.scene.participants import ParticipantsProvider
from familiar_connect.context.providers.scene.server_info import ServerInfoProvider
from familiar_connect.context.providers.scene.server_memories import ServerMemoriesProvider
from familiar_connect.context.providers.short_term_memory import ShortTermMemoryProvider
from familiar_connect.context.render import RenderOptions
from familiar_connect.context.types import Modality
from familiar_connect.conversation.channels import ChannelLabels
from familiar_connect.conversation.intake import Intake
from familiar_connect.conversation.personas import Personas
from familiar_connect.conversation.queue import ReplyQueue
from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.card_fields import CardReader
from familiar_connect.memory.index.indexing_store import Indexer, IndexingMemoryStore, choose_embedder
from familiar_connect.memory.notes.conditioning import Conditioning
from familiar_connect.memory.notes.short_term import ShortTermNotes
from familiar_connect.memory.scheduler import MemoryWriterScheduler
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.tending.review import Review
from familiar_connect.memory.writer import MemoryWriter
from familiar_connect.observe.last_context import LastContextCache
from familiar_connect.observe.ledger import SQLiteCollector
from familiar_connect.observe.replay import ReplayStore
from familiar_connect.presets.store import FOLDER, PresetStore
from familiar_connect.privacy import PrivacyRegistry
from familiar_connect.reply.brings import Brings
from familiar_connect.reply.deliver import TextDeliveryRegistry
from familiar_connect.reply.runner import PipelineFor, ReplyRunner
from familiar_connect.reply.witness import Witness
from familiar_connect.subscriptions import SubscriptionRegistry
from familiar_connect.support.clock import Clock

if TYPE_CHECKING:  # numpy is loaded with the index, in the background
    from familiar_connect.memory.index.embeddings import EmbeddingIndex
    from familiar_connect.memory.index.retriever import MemoryRetriever
    from familiar_connect.memory.index.turns import TurnIndex


@dataclass(frozen=True)
class Stores:
    """What lies on disk."""

    memory: MemoryStore
    history: HistoryStore
    subscriptions: SubscriptionRegistry
    privacy: PrivacyRegistry
    channels: ChannelConfigStore
    short_term: ShortTermNotes
    conditioning: Conditioning


def build_stores(root: Path, config: CharacterConfig, clock: Clock) -> Stores:
    """Open everything; the history last, so that nothing stays open when another file is broken."""
    for folder in ("channels", "modes"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    memory = cast("MemoryStore", IndexingMemoryStore(MemoryStore(root / "memory", audit_dir=root / "audit")))
    subscriptions = SubscriptionRegistry(root / "subscriptions.toml")
    privacy = PrivacyRegistry(root / "privacy.toml")
    channels = ChannelConfigStore(root=root / "channels", character=config)
    history = HistoryStore(root / "history.db", clock=clock)
    short_term = ShortTermNotes(history, clock=clock, is_private=privacy.is_full)
    conditioning = Conditioning(history, familiar_id=root.name, clock=clock, is_private=privacy.is_full)
    return Stores(memory, history, subscriptions, privacy, channels, short_term, conditioning)


@dataclass(frozen=True)
class Recall:
    """What finds memory again: the index of the files and of everything said, and the worker that keeps it level."""

    files: EmbeddingIndex | None
    turns: TurnIndex | None
    retriever: MemoryRetriever
    indexer: Indexer
    embedder: str
    """Which embedder is used, and why."""

    async def aclose(self) -> None:
        await self.indexer.aclose()
        for index in (self.files, self.turns):
            if index is not None:
                index.close()


def build_recall(familiar_id: str, stores: Stores, config: CharacterConfig, clock: Clock) -> Recall:
    """Slow the first time, as it loads the index's library: called in a thread, never in a reply."""
    from familiar_connect.memory.index.embeddings import INDEX_FILE, EmbeddingIndex
    from familiar_connect.memory.index.retriever import MemoryRetriever
    from familiar_connect.memory.index.turns import TURNS_FILE, TurnIndex

    store = cast("IndexingMemoryStore", stores.memory)
    model, embedder = choose_embedder(config.embedder)
    name = str(getattr(model, "name", type(model).__name__))
    folder = store.root / ".index"
    files = turns = None
    if config.search_files:
        files = EmbeddingIndex(folder / INDEX_FILE, dim=model.dim, model_name=name)
    if config.search_turns:
        turns = TurnIndex(
            folder / TURNS_FILE,
            history=stores.history,
            familiar_id=familiar_id,
            dim=model.dim,
            model_name=name,
            own_name=persona_name(stores.memory, familiar_id),
            allows=lambda author: not stores.privacy.is_full(author),
        )
    retriever = MemoryRetriever(
        model=model, files=files, turns=turns, names=lambda: known_names(stores.memory), clock=clock
    )
    indexer = Indexer(store=store, model=model, files=files, turns=turns, retriever=retriever)
    return Recall(files, turns, retriever, indexer, embedder)


class SlotModel:
    """The model of one slot, looked up whenever it is used: a client replaced at run time takes effect at once."""

    def __init__(self, llm_clients: Mapping[str, Any], slot: str) -> None:
        self._llm_clients = llm_clients
        self._slot = slot

    def __getattr__(self, name: str) -> Any:
        client = self._llm_clients.get(self._slot)
        if client is None:
            raise AttributeError(f"no model for the slot {self._slot!r}")
        return getattr(client, name)


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
        "server_info": ServerInfoProvider(is_private=stores.privacy.is_full),
        "server_memories": ServerMemoriesProvider(stores.memory),
        "assets": AssetsProvider(mode_of=lambda channel_id: stores.channels.get(channel_id).mode),
        "participants": ParticipantsProvider(privacy=stores.privacy.get, zone=ZoneInfo(config.display_tz), clock=clock),
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
            is_private=stores.privacy.is_full,
            private_people=stores.privacy.full,
            elsewhere=Elsewhere(stores.short_term, config.private_channel_ids, config.recall_across_servers),
        ),
        "short_term_memory": ShortTermMemoryProvider(stores.short_term),
        "documents": DocumentsProvider(store=stores.memory),
        "conditioning": ConditioningProvider(stores.conditioning),
        "content_search": ContentSearchProvider(
            store=stores.memory,
            llm_client=SlotModel(llm_clients, "memory_search"),
            history_store=stores.history,
            recent_turns=config.history_window_size,
            exclude_folders=(DOCUMENTS,),
        ),
        **build_scene_providers(stores, config, clock),
    }


def build_memory_writer(
    familiar_id: str,
    stores: Stores,
    config: CharacterConfig,
    llm_clients: Mapping[str, Any],
    clock: Clock | None = None,
    channel_context_lookup: Callable[[int], str] | None = None,
) -> MemoryWriter:
    """The writer of long-term memory; in review mode its plans wait for the owner."""
    return MemoryWriter(
        memory_store=stores.memory,
        history_store=stores.history,
        llm_client=SlotModel(llm_clients, "memory_writer"),
        familiar_id=familiar_id,
        channel_context_lookup=channel_context_lookup,
        clock=clock,
        zone=ZoneInfo(config.display_tz),
        review=config.memory_writer_review,
        pending=Review(stores.memory),
        privacy=stores.privacy.get,
    )


def build_scheduler(
    familiar_id: str, stores: Stores, config: CharacterConfig, writer: MemoryWriter, clock: Clock
) -> MemoryWriterScheduler:
    return MemoryWriterScheduler(
        writer=writer,
        history_store=stores.history,
        familiar_id=familiar_id,
        turn_threshold=config.memory_writer_turn_threshold,
        idle_timeout=config.memory_writer_idle_timeout,
        clock=clock,
    )


def build_pre_processors(stores: Stores, llm_clients: Mapping[str, Any]) -> dict[str, PreProcessor]:
    thinking = SteppedThinkingPreProcessor(
        llm_client=SlotModel(llm_clients, "reasoning_context"),
        history_store=stores.history,
        is_private=stores.privacy.is_full,
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


@dataclass(frozen=True)
class ReplyPath:
    """From a message heard to a reply sent and seen."""

    intake: Intake
    queue: ReplyQueue
    runner: ReplyRunner
    deliveries: TextDeliveryRegistry
    last_context: LastContextCache
    collector: SQLiteCollector
    replays: ReplayStore
    witness: Witness


def turn_settings(familiar_id: str, stores: Stores, config: CharacterConfig) -> Callable[[ChannelConfig], TurnSettings]:
    """How a channel's messages are read; called in a thread, for the familiar's name is in a file."""
    stable_first = config.prompt_order is PromptOrder.stable_first

    def settings(channel: ChannelConfig) -> TurnSettings:
        name = persona_name(stores.memory, familiar_id)
        return TurnSettings(
            window_size=config.history_window_size,
            window_step=config.history_window_size if stable_first else 0,
            mode=channel.mode.value,
            persona=name,
            triggers=(
                name,
                *config.aliases,
                *(word for alter in config.alters for word in (alter.name, *alter.aliases)),
            ),
            alters=tuple(alter.name for alter in config.alters),
            time_awareness=channel.place.time_awareness,
            include_timestamps=channel.place.include_timestamps,
            zone=ZoneInfo(config.display_tz),
        )

    return settings


def build_brings(familiar_id: str, root: Path, stores: Stores, config: CharacterConfig) -> Brings:
    """What looks up a turn's preset and card."""
    return Brings(
        presets=PresetStore(root / FOLDER),
        card=CardReader(stores.memory, familiar_id),
        fidelity=config.preset_fidelity,
        persona=config.user_persona,
    )


def build_reply_path(
    familiar_id: str,
    root: Path,
    stores: Stores,
    config: CharacterConfig,
    llm_clients: dict[str, Any],
    pipeline_for: PipelineFor,
    labels: ChannelLabels,
    notify_turn: Callable[[], Awaitable[None]],
    clock: Clock,
) -> ReplyPath:
    deliveries = TextDeliveryRegistry()
    last_context = LastContextCache(channels_root=root / "channels", clock=clock)
    collector = SQLiteCollector(root / "metrics.db", flush_interval=1)  # other programs look at a turn once it is over
    replays = ReplayStore(root / "traces")
    witness = Witness(last_context=last_context, collector=collector, replays=replays, options=render_options(config))
    runner = ReplyRunner(
        history=stores.history,
        channels=stores.channels,
        llm_clients=llm_clients,
        pipeline_for=pipeline_for,
        deliveries=deliveries,
        witness=witness,
        notify_turn=notify_turn,
        brings=build_brings(familiar_id, root, stores, config).lookup,
        zone=ZoneInfo(config.display_tz),
        clock=clock,
        turn_settings=turn_settings(familiar_id, stores, config),
        is_private=stores.privacy.is_full,
        short_term=stores.short_term,
    )
    alters = {alter.name: alter.aliases for alter in config.alters}
    personas = Personas(runner.respond, lambda: (persona_name(stores.memory, familiar_id), *config.aliases), alters)
    queue = ReplyQueue(familiar_id, personas.respond)
    intake = Intake(
        familiar_id=familiar_id,
        history=stores.history,
        channels=stores.channels,
        subscriptions=stores.subscriptions,
        privacy=stores.privacy,
        queue=queue,
        interrupt=lambda channel_id: deliveries.get(channel_id).cancel_and_wait(),
        labels=labels,
        notify_turn=notify_turn,
    )
    return ReplyPath(intake, queue, runner, deliveries, last_context, collector, replays, witness)
