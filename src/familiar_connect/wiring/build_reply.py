"""The path of a message: from what was heard, over who decides to speak, to a reply sent and seen."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from familiar_connect.chat.types import TurnSettings
from familiar_connect.config import ChannelConfig, CharacterConfig
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.types import PromptOrder
from familiar_connect.context.providers.character import persona_name
from familiar_connect.conversation.channels import ChannelLabels
from familiar_connect.conversation.intake import Intake
from familiar_connect.conversation.monitor import ConversationMonitor
from familiar_connect.conversation.personas import Personas
from familiar_connect.conversation.queue import ReplyQueue
from familiar_connect.conversation.types import BufferedMessage, Exchange, ResponseTrigger
from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.card_fields import CardReader
from familiar_connect.memory.store import MemoryStore
from familiar_connect.observe.last_context import LastContextCache
from familiar_connect.observe.ledger import SQLiteCollector
from familiar_connect.observe.replay_store import ReplayStore
from familiar_connect.presets.store import PresetStore
from familiar_connect.reply.deliver import TextDeliveryRegistry
from familiar_connect.reply.runner import PipelineFor, ReplyRunner
from familiar_connect.reply.turn_inputs import TurnInputsLookup
from familiar_connect.reply.turn_recorder import TurnRecorder
from familiar_connect.support.clock import Clock
from familiar_connect.wiring.build_context import render_options
from familiar_connect.wiring.models import SlotModel
from familiar_connect.wiring.stores import Stores


def build_conversation(
    familiar_id: str,
    stores: Stores,
    config: CharacterConfig,
    llm_clients: Mapping[str, Any],
    runner: ReplyRunner,
    labels: ChannelLabels,
    clock: Clock,
) -> tuple[ReplyQueue, ConversationMonitor]:
    """Who decides when to speak, and the order of replies; each tells the other."""
    monitor: ConversationMonitor
    alters = {alter.name: alter.aliases for alter in config.alters}
    personas = Personas(
        lambda exchange, place: runner.respond(exchange, place),  # looked up when used, as every collaborator
        lambda: (persona_name(stores.memory, familiar_id), *config.aliases),
        alters,
    )

    async def respond(exchange: Exchange, place: Any) -> bool:
        outcome = await personas.respond(exchange, place)
        if exchange.may_stay_silent:
            spoke = outcome is not None and not outcome.silent
            await monitor.on_reply_done(exchange.channel_id, exchange.messages, exchange.trigger, spoke=spoke)
        return outcome is None or not outcome.interrupted or bool(outcome.sent)

    queue = ReplyQueue(familiar_id, respond)

    async def on_respond(channel_id: int, messages: list[BufferedMessage], trigger: ResponseTrigger) -> None:
        queue.answer(channel_id, messages, trigger=trigger, may_stay_silent=monitor.may_stay_silent(messages))

    monitor = ConversationMonitor(
        familiar_name=persona_name(stores.memory, familiar_id),
        aliases=[*config.aliases, familiar_id, *(word for name in alters for word in (name, *alters[name]))],
        chattiness=config.chattiness,
        interjection=config.interjection,
        lull_timeout=config.text_lull_timeout,
        llm_client=SlotModel(llm_clients, "interjection_decision"),
        character_card=character_card(stores.memory),
        history_store=stores.history,
        on_respond=on_respond,
        familiar_id=familiar_id,
        decide_with=config.decide_with,
        reply_model=SlotModel(llm_clients, "main_prose"),
        labels=labels,
        privacy=stores.privacy,
        clock=clock,
    )
    return queue, monitor


def character_card(store: MemoryStore) -> str:
    """Who the familiar is: everything in `self/`, a blank line between two files."""
    texts = []
    for path in store.glob("self/*.md"):
        with contextlib.suppress(MemoryStoreError):  # a file that cannot be read is left out
            texts.append(store.read_file(path).strip())
    return "\n\n".join(text for text in texts if text)


@dataclass(frozen=True)
class ReplyPath:
    """From a message heard to a reply sent and seen."""

    intake: Intake
    monitor: ConversationMonitor
    queue: ReplyQueue
    runner: ReplyRunner
    deliveries: TextDeliveryRegistry
    last_context: LastContextCache
    collector: SQLiteCollector
    replays: ReplayStore
    recorder: TurnRecorder


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


def build_turn_inputs(familiar_id: str, root: Path, stores: Stores, config: CharacterConfig) -> TurnInputsLookup:
    """What looks up a turn's preset and card."""
    return TurnInputsLookup(
        presets=PresetStore(FamiliarFolder(root).presets),
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
    last_context = LastContextCache(channels_root=FamiliarFolder(root).channels, clock=clock)
    folder = FamiliarFolder(root)
    collector = SQLiteCollector(folder.metrics_db, flush_interval=1)  # other programs look at a turn once it is over
    replays = ReplayStore(folder.traces)
    witness = TurnRecorder(
        last_context=last_context, collector=collector, replays=replays, options=render_options(config)
    )
    runner = ReplyRunner(
        history=stores.history,
        channels=stores.channels,
        llm_clients=llm_clients,
        pipeline_for=pipeline_for,
        deliveries=deliveries,
        witness=witness,
        notify_turn=notify_turn,
        brings=build_turn_inputs(familiar_id, root, stores, config).lookup,
        zone=ZoneInfo(config.display_tz),
        clock=clock,
        turn_settings=turn_settings(familiar_id, stores, config),
        privacy=stores.privacy,
        short_term=stores.short_term,
        grows=config.delivery == "growing",
    )
    queue, monitor = build_conversation(familiar_id, stores, config, llm_clients, runner, labels, clock)
    intake = Intake(
        familiar_id=familiar_id,
        history=stores.history,
        channels=stores.channels,
        subscriptions=stores.subscriptions,
        privacy=stores.privacy,
        queue=queue,
        monitor=monitor,
        interrupt=lambda channel_id: deliveries.get(channel_id).cancel_and_wait(),
        labels=labels,
        notify_turn=notify_turn,
        dms=config.discord.dms,
    )
    return ReplyPath(intake, monitor, queue, runner, deliveries, last_context, collector, replays, witness)
