"""build_familiar: one familiar's parts, built in a visible order; each is given what it needs when it is made."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo

from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.chat.annotate.fetch import TranscriptCache, transcribe_fetched
from familiar_connect.chat.place import Place
from familiar_connect.chat.protocols import Transcriber
from familiar_connect.config.channel import ChannelConfig
from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.consent import OwnerConsent
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.context.media import MediaCache
from familiar_connect.context.pipeline import ContextPipeline
from familiar_connect.context.protocols import ContextProvider, PostProcessor, PreProcessor
from familiar_connect.context.render import render_options
from familiar_connect.context.types import ContextRequest
from familiar_connect.conversation.channels import ChannelLabels, LivePlaces
from familiar_connect.conversation.place_readers import OwnerContact
from familiar_connect.conversation.spending import SpendingMeter, token_prices
from familiar_connect.history.store import HistoryStore
from familiar_connect.llm.model_slots import ModelSlots
from familiar_connect.llm.protocols import ChatModel
from familiar_connect.memory.persona import persona_name
from familiar_connect.memory.scheduler import MemoryWriterScheduler
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.withdrawal.copies import copy_keepers
from familiar_connect.memory.writer import MemoryWriter
from familiar_connect.observe.prompt_diff import PrefixMeter
from familiar_connect.observe.spending import SpendingStore
from familiar_connect.subscriptions import SubscriptionRegistry
from familiar_connect.support.aio import IdleGate
from familiar_connect.support.clock import Clock
from familiar_connect.support.fetch.attachments import AttachmentStore, FetchWithAttachments
from familiar_connect.support.fetch.client import GuardedFetch, OwnOrigins
from familiar_connect.support.fetch.protocols import Fetch
from familiar_connect.tools.toolbox import Toolbox
from familiar_connect.wiring.added_parts import NOTHING_ADDED, AddedParts, AddedTool
from familiar_connect.wiring.build_context import (
    PipelineFactory,
    build_post_processors,
    build_pre_processors,
    build_providers,
)
from familiar_connect.wiring.build_index import LazyMemoryIndex, build_memory_index
from familiar_connect.wiring.build_memory import build_memory_scheduler, build_memory_writer
from familiar_connect.wiring.build_reply import ReplyPath, ReplyPathInputs, build_reply_path
from familiar_connect.wiring.stores import Stores, build_stores


@dataclass(frozen=True, kw_only=True, eq=False)
class FamiliarParts:
    """Config, stores, models, providers and processors of one familiar."""

    id: str
    root: Path
    config: CharacterConfig
    memory_store: MemoryStore
    history_store: HistoryStore
    llm_clients: dict[str, ChatModel]
    """By slot; an entry may be replaced at run time."""
    providers: dict[str, ContextProvider]
    pre_processors: dict[str, PreProcessor]
    post_processors: dict[str, PostProcessor]
    subscriptions: SubscriptionRegistry
    channel_configs: ChannelConfigStore
    stores: Stores
    pipelines: PipelineFactory
    reply_path: ReplyPath
    labels: ChannelLabels
    owner: OwnerContact
    memory_writer: MemoryWriter
    memory_writer_scheduler: MemoryWriterScheduler
    spending: SpendingMeter
    """What every call of its models uses, today."""
    index: LazyMemoryIndex
    """What finds memory again; empty until it was started."""
    toolbox: Toolbox
    """What its model may do during a reply."""
    clock: Clock
    own_origins: OwnOrigins
    """Platforms on this machine whose files may be fetched."""
    live_places: LivePlaces = field(default_factory=LivePlaces)
    """Channels of the platforms that are connected."""
    tts_client: object = None
    transcriber: object = None
    """Writes down voice messages, where it is a `chat.protocols.Transcriber`."""
    added: AddedParts = NOTHING_ADDED
    """What extensions bring."""


Bundle = TypeVar("Bundle", bound=FamiliarParts)


@dataclass(frozen=True, kw_only=True)
class AssemblyInputs:
    """What a familiar is built from, beside its folder and settings."""

    llm_clients: dict[str, ChatModel]
    clock: Clock
    tts_client: object = None
    transcriber: object = None
    """Writes down voice messages, where it is a `chat.protocols.Transcriber`."""
    defaults_path: Path | None = None
    fetches_media: bool = True
    """Whether pictures and films are fetched for models that see; else they are given their addresses."""
    rng: random.Random = field(default_factory=random.Random)
    """Seed for random choices."""
    added: AddedParts = NOTHING_ADDED
    """What extensions bring."""
    consent: OwnerConsent | None = None
    """What the owner allowed; None: scripts as the folder's own home says, and every setting."""


def build_familiar(bundle: type[Bundle], root: Path, config: CharacterConfig, inputs: AssemblyInputs) -> Bundle:
    """The familiar in *root* as a *bundle*; folders and databases that lack are made."""
    clock, owner, labels = inputs.clock, OwnerContact(), ChannelLabels(FamiliarFolder(root).channel_names_file)
    spending = build_spending_meter(root, config, clock)
    models = ModelSlots(inputs.llm_clients, spending, tell=owner.tell, clock=clock)
    stores = build_stores(root, config, clock, consent=inputs.consent)
    keepers = (*copy_keepers(FamiliarFolder(root)), prefixes := PrefixMeter())
    writer = build_memory_writer(root.name, stores, config, models, clock, labels.format_channel_context, keepers)
    index = LazyMemoryIndex(partial(build_memory_index, root.name, stores, config, clock))
    scheduler = build_memory_scheduler(root.name, stores, config, writer, clock, index.follow_now)
    toolbox = build_toolbox(stores, config, index, inputs.added.tools)
    replies, own_origins = IdleGate(), OwnOrigins()
    fetch = FetchWithAttachments(GuardedFetch(own=own_origins), AttachmentStore(FamiliarFolder(root).attachments))
    pipelines = PipelineFactory(
        providers=build_providers(stores, config, models, clock, index=index, toolbox=toolbox, replies=replies),
        pre_processors=build_pre_processors(stores, models),
        post_processors=build_post_processors(models),
        modes_root=FamiliarFolder(root).modes,
        defaults_modes_root=FamiliarFolder(inputs.defaults_path.parent).modes if inputs.defaults_path else None,
        models=models,
        options=render_options(config),
        persona=lambda: persona_name(stores.memory, root.name),
        media=MediaCache(fetch) if inputs.fetches_media else None,
        toolbox=toolbox,
        added=inputs.added,
    )

    def pipeline_for(channel: ChannelConfig, request: ContextRequest, place: Place) -> ContextPipeline:
        return pipelines.build(channel, modality=request.modality, place=place, scripts=request.story.regex)

    @contextmanager
    def pause_background() -> Iterator[None]:
        with replies.busy(), index.pause_while_replying():
            yield

    return bundle(
        id=root.name,
        root=root,
        config=config,
        memory_store=stores.memory,
        history_store=stores.history,
        llm_clients=inputs.llm_clients,
        providers=pipelines.providers,
        pre_processors=pipelines.pre_processors,
        post_processors=pipelines.post_processors,
        subscriptions=stores.subscriptions,
        channel_configs=stores.channels,
        stores=stores,
        pipelines=pipelines,
        reply_path=build_reply_path(
            ReplyPathInputs(
                root=root,
                stores=stores,
                config=config,
                models=models,
                labels=labels,
                owner=owner,
                spending=spending,
                clock=clock,
                rng=inputs.rng,
                pipeline_for=pipeline_for,
                transcripts=build_transcripts(inputs.transcriber, fetch),
                memory=scheduler,
                prefixes=prefixes,
                pause_background=pause_background,
                consent=inputs.consent or OwnerConsent(FamiliarFolder(root).home.root, root.name),
            )
        ),
        labels=labels,
        owner=owner,
        memory_writer=writer,
        memory_writer_scheduler=scheduler,
        spending=spending,
        index=index,
        toolbox=toolbox,
        clock=clock,
        own_origins=own_origins,
        tts_client=inputs.tts_client,
        transcriber=inputs.transcriber,
        added=inputs.added,
    )


def build_transcripts(transcriber: object, fetch: Fetch) -> TranscriptCache:
    """What was heard in voice messages; where nobody can transcribe, nobody listens to them."""
    if not isinstance(transcriber, Transcriber):
        return TranscriptCache()
    return TranscriptCache(transcribe=transcribe_fetched(transcriber, fetch))


def build_spending_meter(root: Path, config: CharacterConfig, clock: Clock) -> SpendingMeter:
    """What counts the calls of the familiar in *root* against its limits."""
    return SpendingMeter(
        SpendingStore(FamiliarFolder(root).metrics_db, root.name),
        limits=config.limits,
        prices=token_prices(config.llm),
        zone=ZoneInfo(config.display_tz),
        clock=clock,
    )


def build_toolbox(
    stores: Stores, config: CharacterConfig, index: LazyMemoryIndex, added: Sequence[AddedTool] = ()
) -> Toolbox:
    """What the model may do besides talking, where the owner allows it."""
    return Toolbox(
        config.tools,
        store=stores.memory,
        privacy=stores.privacy,
        summaries=stores.short_term,
        retriever=lambda: index.retriever,
        audiences=stores.audiences,
        reminders=stores.reminders,
        zone=ZoneInfo(config.display_tz),
        added={tool.name: tool.create for tool in added},
    )
