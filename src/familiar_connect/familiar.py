"""Familiar: everything that one character needs to live, in one bundle."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.chat.message_parts import Sticker
from familiar_connect.config import ChannelConfig, CharacterConfig, load_character_config
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.context.generate import capabilities_of
from familiar_connect.context.generation.media_cache import MediaCache
from familiar_connect.context.pipeline import ContextPipeline, ToolsFor
from familiar_connect.context.protocols import ContextProvider, PostProcessor, PreProcessor
from familiar_connect.context.providers.character import persona_name
from familiar_connect.context.providers.content_search import ContentSearchProvider
from familiar_connect.context.providers.documents import DocumentsProvider
from familiar_connect.context.providers.scene.assets import AssetsProvider
from familiar_connect.context.providers.short_term_memory import ShortTermMemoryProvider
from familiar_connect.context.types import ContextRequest, Modality
from familiar_connect.conversation.channels import ChannelLabels
from familiar_connect.conversation.intake import Intake
from familiar_connect.conversation.monitor import ConversationMonitor
from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.scheduler import MemoryWriterScheduler
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.writer import MemoryWriter
from familiar_connect.observe.last_context import LastContextCache
from familiar_connect.observe.ledger import MetricsCollector
from familiar_connect.reply.deliver import TextDeliveryRegistry
from familiar_connect.reply.protocols import Place, SendsStickers
from familiar_connect.subscriptions import SubscriptionRegistry
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.fetch.client import GuardedFetch
from familiar_connect.tools.toolbox import Toolbox
from familiar_connect.tools.types import SEND_STICKER, SHORT_TERM_NOTE
from familiar_connect.wiring.build_context import (
    build_pipeline,
    build_post_processors,
    build_pre_processors,
    build_providers,
    build_reach,
    render_options,
)
from familiar_connect.wiring.build_index import MemoryIndex, build_memory_index
from familiar_connect.wiring.build_memory import build_memory_scheduler, build_memory_writer
from familiar_connect.wiring.build_reply import ReplyPath, build_reply_path
from familiar_connect.wiring.stores import Stores, build_stores

logger = logging.getLogger(__name__)

LAST_FLUSH_S = 10.0
"""How long leaving may wait for memory to be written up."""


@dataclass
class Familiar:
    """Config, stores, models, providers and processors of one familiar. Collaborators may be replaced."""

    id: str
    root: Path
    config: CharacterConfig
    memory_store: MemoryStore
    history_store: HistoryStore
    llm_clients: dict[str, Any]
    providers: dict[str, ContextProvider]
    pre_processors: dict[str, PreProcessor]
    post_processors: dict[str, PostProcessor]
    subscriptions: SubscriptionRegistry
    channel_configs: ChannelConfigStore
    stores: Stores
    reply_path: ReplyPath
    labels: ChannelLabels
    memory_writer: MemoryWriter
    memory_writer_scheduler: MemoryWriterScheduler
    defaults_modes_root: Path | None = None
    tts_client: Any = None
    transcriber: Any = None
    memory_index: MemoryIndex | None = None
    """What finds memory again; there from `start` on."""
    clock: Clock = field(default_factory=SystemClock)
    media: MediaCache | None = field(default_factory=lambda: MediaCache(GuardedFetch()))
    toolbox: Toolbox | None = None
    """What its model may do during a reply; None: only speak."""
    _index_task: asyncio.Task[None] | None = field(default=None, repr=False)

    @classmethod
    def load_from_disk(
        cls,
        root: Path,
        *,
        llm_clients: dict[str, Any],
        tts_client: Any = None,
        transcriber: Any = None,
        defaults_path: Path | None = None,
        clock: Clock | None = None,
    ) -> Familiar:
        """Build the familiar that lives in *root*; folders and databases that lack are made."""
        folder = FamiliarFolder(Path(root))
        profile = defaults_path or _default_profile(folder)
        config = load_character_config(folder.settings_file, defaults_path=profile)
        return cls.from_config(
            root,
            config,
            llm_clients=llm_clients,
            tts_client=tts_client,
            transcriber=transcriber,
            defaults_path=profile,
            clock=clock,
        )

    @classmethod
    def from_config(
        cls,
        root: Path,
        config: CharacterConfig,
        *,
        llm_clients: dict[str, Any],
        tts_client: Any = None,
        transcriber: Any = None,
        defaults_path: Path | None = None,
        clock: Clock | None = None,
    ) -> Familiar:
        """As `load_from_disk`, under *config* whatever the settings file says."""
        root, clock = Path(root), clock or SystemClock()
        stores = build_stores(root, config, clock)
        labels = ChannelLabels()
        writer = build_memory_writer(root.name, stores, config, llm_clients, clock, labels.format_channel_context)
        scheduler = build_memory_scheduler(root.name, stores, config, writer, clock)
        familiar: Familiar

        def pipeline_for(channel: ChannelConfig, request: ContextRequest) -> ContextPipeline:
            return familiar.build_pipeline(channel, modality=request.modality)

        familiar = cls(
            id=root.name,
            root=root,
            config=config,
            memory_store=stores.memory,
            history_store=stores.history,
            llm_clients=llm_clients,
            providers=build_providers(stores, config, llm_clients, clock),
            pre_processors=build_pre_processors(stores, llm_clients),
            post_processors=build_post_processors(llm_clients),
            subscriptions=stores.subscriptions,
            channel_configs=stores.channels,
            stores=stores,
            reply_path=build_reply_path(
                root.name, root, stores, config, llm_clients, pipeline_for, labels, scheduler.notify_turn, clock
            ),
            labels=labels,
            memory_writer=writer,
            memory_writer_scheduler=scheduler,
            defaults_modes_root=FamiliarFolder(defaults_path.parent).modes if defaults_path else None,
            tts_client=tts_client,
            transcriber=transcriber,
            clock=clock,
        )
        familiar.toolbox = Toolbox(
            config.tools,
            store=stores.memory,
            privacy=stores.privacy,
            summaries=stores.short_term,
            retriever=lambda: familiar.memory_index.retriever if familiar.memory_index is not None else None,
            reach=build_reach(stores, config),
            zone=ZoneInfo(config.display_tz),
        )
        familiar._connect_tools(familiar.toolbox)
        familiar.reply_path.runner.tools_for_place = familiar.tools_for_place
        writer.channel_context_lookup = familiar.monitor.format_channel_context
        return familiar

    def _connect_tools(self, toolbox: Toolbox) -> None:
        """Let the providers that speak of tools know what there is."""

        def can_note(request: ContextRequest) -> bool:
            model = self.llm_clients.get("main_prose")
            return capabilities_of(model).tools and SHORT_TERM_NOTE in toolbox.enabled and toolbox.is_on(request)

        notes = self.providers.get("short_term_memory")
        if isinstance(notes, ShortTermMemoryProvider):
            notes.tools_on = can_note
        assets = self.providers.get("assets")
        if isinstance(assets, AssetsProvider):
            assets.sticker_tool = SEND_STICKER
            assets.is_offered = lambda request: SEND_STICKER in request.offered.tool_names

    def build_pipeline(self, channel_config: ChannelConfig, *, modality: Modality = Modality.text) -> ContextPipeline:
        """The registered parts that *channel_config* enables, in registration order."""
        pipeline = build_pipeline(
            channel_config,
            providers=self.providers,
            pre_processors=self.pre_processors,
            post_processors=self.post_processors,
            modes_root=FamiliarFolder(self.root).modes,
            defaults_modes_root=self.defaults_modes_root,
            model=self.llm_clients["main_prose"],
            options=render_options(self.config),
            persona=self.name,
            modality=modality,
        )
        pipeline.media = self.media
        pipeline.tools = self.toolbox.for_turn if self.toolbox is not None else None
        return pipeline

    def tools_for_place(self, place: Place) -> ToolsFor | None:
        """What the model may do in a reply at *place*: stickers where it takes them."""
        box = self.toolbox
        if box is None:
            return None

        async def send(sticker: Sticker) -> None:
            assert isinstance(place, SendsStickers)
            await place.send_sticker(sticker.name)

        send_sticker = send if isinstance(place, SendsStickers) else None
        return lambda request: box.for_turn(request, send_sticker=send_sticker)

    @property
    def name(self) -> str:
        """What the familiar is called."""
        return persona_name(self.memory_store, self.id)

    @property
    def intake(self) -> Intake:
        return self.reply_path.intake

    @property
    def monitor(self) -> ConversationMonitor:
        return self.reply_path.monitor

    @property
    def last_context_cache(self) -> LastContextCache:
        return self.reply_path.last_context

    @property
    def metrics_collector(self) -> MetricsCollector:
        return self.reply_path.collector

    @property
    def text_delivery_registry(self) -> TextDeliveryRegistry:
        return self.reply_path.deliveries

    async def start(self) -> None:
        """Begin to live: notice what its owner changed by hand, catch up on memory, watch for quiet moments."""
        if self.memory_store.audit is not None:
            await off_loop(self.memory_store.audit.reconcile, self.memory_store)
        self.memory_writer_scheduler.start()
        self._index_task = asyncio.get_running_loop().create_task(self._start_indexing(), name="wake recall")

    async def update_memory_index(self, limit_s: float) -> bool:
        """Find memory again as a reply would, and nothing else: nobody is asked to write. Says whether all is found."""
        await self._load_memory_index()
        if self.memory_index is None:
            return False
        try:
            async with asyncio.timeout(limit_s):
                await self.memory_index.indexer.build()
        except TimeoutError:
            return False
        return True

    async def _start_indexing(self) -> None:
        await self._load_memory_index()
        if self.memory_index is not None:
            self.memory_index.indexer.start()

    async def _load_memory_index(self) -> None:
        """Load what finds memory again; until then, and if it fails, the people floor serves alone."""
        try:
            recall = await off_loop(build_memory_index, self.id, self.stores, self.config, self.clock)
        except Exception as error:  # isolation: finding more is a gift, never a condition
            logger.warning("memory is not searched", extra={"error": f"{type(error).__name__}: {error}"})
            return
        self.memory_index = recall
        provider = self.providers.get("content_search")
        if isinstance(provider, ContentSearchProvider):
            provider.retriever = recall.retriever
        documents = self.providers.get("documents")
        if isinstance(documents, DocumentsProvider):
            documents.search = recall.retriever
        self.reply_path.runner.pause_background = recall.indexer.pause_while_replying

    async def _close_memory_index(self) -> None:
        if self._index_task is not None:
            await asyncio.wait({self._index_task}, timeout=LAST_FLUSH_S)
        if self.memory_index is not None:
            await self.memory_index.aclose()

    async def _flush_memory(self) -> None:
        """Write down what is left to remember, within bounds; what is not done now is caught up at the next start."""
        try:
            async with asyncio.timeout(LAST_FLUSH_S):
                await self.memory_writer_scheduler.flush()
        except TimeoutError:
            logger.warning("memory is not written up yet; the next start goes on", extra={"limit_s": LAST_FLUSH_S})

    async def aclose(self) -> None:
        """End everything in order: replies, memory, background work, observers, models, stores."""
        async with contextlib.AsyncExitStack() as closing:  # last in, first out; one failure stops no other
            closing.push_async_callback(off_loop, self.history_store.close)
            for owner in (*_distinct(self.llm_clients.values()), self.reply_path.recorder, *self.providers.values()):
                close = getattr(owner, "aclose", None) or getattr(owner, "close", None)
                if close is not None:
                    closing.push_async_callback(close)
            closing.push_async_callback(self._close_memory_index)
            closing.push_async_callback(self.memory_writer_scheduler.aclose)
            if self.memory_writer_scheduler.is_started:
                closing.push_async_callback(self._flush_memory)
            closing.push_async_callback(self.reply_path.queue.aclose)
            closing.push_async_callback(self.reply_path.intake.aclose)


def _distinct(clients: Iterable[Any]) -> Iterable[Any]:
    return {id(client): client for client in clients}.values()


def _default_profile(folder: FamiliarFolder) -> Path | None:
    """`_default/character.toml` beside the familiar, where there is one."""
    profile = folder.profile.settings_file
    return profile if profile.exists() else None
