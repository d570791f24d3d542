"""The path of a message: from what was heard, over who decides to speak, to a reply sent and seen.

PlatformRules: whom the sections of the platforms let be heard. A key means the same in every section that has it.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from familiar_connect.chat.annotate.fetch import TranscriptCache
from familiar_connect.chat.place import Place
from familiar_connect.chat.types import InboundMessage, TurnSettings
from familiar_connect.chat.window import grow_window
from familiar_connect.config.channel import ChannelConfig
from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.consent import OwnerConsent
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.llm import MAIN_SLOT
from familiar_connect.config.types import PromptOrder
from familiar_connect.context.providers.history.compact_summary import CompactSummary
from familiar_connect.context.render import render_options
from familiar_connect.conversation.admission import Admission
from familiar_connect.conversation.channels import ChannelLabels
from familiar_connect.conversation.intake import Intake
from familiar_connect.conversation.limits import LimitLookup, ReplyLimits
from familiar_connect.conversation.message_edits import MessageEditHandler
from familiar_connect.conversation.monitor import ConversationMonitor, MonitorOptions
from familiar_connect.conversation.personas import Personas
from familiar_connect.conversation.place_readers import OwnerContact, PlaceReaders
from familiar_connect.conversation.queue import ReplyQueue
from familiar_connect.conversation.spending import SpendingMeter
from familiar_connect.conversation.types import BufferedMessage, Exchange, ResponseTrigger
from familiar_connect.errors import MemoryStoreError
from familiar_connect.llm.model_slots import ModelSlots
from familiar_connect.memory.card_fields import CardReader
from familiar_connect.memory.lorebooks.book_shelf import BookShelf
from familiar_connect.memory.persona import persona_name
from familiar_connect.memory.scheduler import MemoryWriterScheduler
from familiar_connect.memory.store import MemoryStore
from familiar_connect.observe.last_context import LastContextCache
from familiar_connect.observe.ledger import SQLiteCollector
from familiar_connect.observe.prompt_diff import PrefixMeter
from familiar_connect.observe.replay_store import ReplayStore
from familiar_connect.presets.regex_store import RegexStore
from familiar_connect.presets.store import PresetStore
from familiar_connect.presets.story.state_store import StoryStateStore
from familiar_connect.reply.chat_controls import ChatControls
from familiar_connect.reply.deliver import DeliveryTasks, TextDeliveryRegistry
from familiar_connect.reply.dialogue_start import DialogueStarts
from familiar_connect.reply.failures import FailureReports
from familiar_connect.reply.message_view import MessageView
from familiar_connect.reply.outbox import ReplyOutbox
from familiar_connect.reply.record import TurnArchive
from familiar_connect.reply.reminder_timer import RemindersTold, ReminderTimer
from familiar_connect.reply.runner import PipelineFor, ReplyRunner
from familiar_connect.reply.turn_builder import TurnBuilder, TurnInputsLookup, UserPersona
from familiar_connect.reply.turn_recorder import TurnRecorder
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import Clock
from familiar_connect.wiring.stores import Stores

ANSWER_LATE_S = 900.0
"""Where no section says how late a question is still answered."""


@dataclass(frozen=True, kw_only=True)
class PlatformRules:
    """What the sections say together."""

    dms: dict[str, str]
    """Platform → whose direct messages are heard: key `dms`."""
    bots: frozenset[str]
    """Canonical keys of bots that are heard as people are: key `hears_bots`, by their ids."""
    bot_reply_limit: int
    """Key `bot_reply_limit`; where several have it, the strictest."""
    answer_late_s: float
    """Key `answer_late_s`; where several have it, the longest."""


def read_platform_rules(config: CharacterConfig) -> PlatformRules:
    """The rules in the sections of the extensions that come with the program."""
    sections: dict[str, object] = vars(config.built_in)
    limits = [each.bot_reply_limit for each in sections.values() if hasattr(each, "bot_reply_limit")]
    waits = [each.answer_late_s for each in sections.values() if hasattr(each, "answer_late_s")]
    bots = {platform: each.hears_bots for platform, each in sections.items() if hasattr(each, "hears_bots")}
    return PlatformRules(
        dms={platform: each.dms for platform, each in sections.items() if hasattr(each, "dms")},
        bots=frozenset(f"{platform}:{user_id}" for platform, ids in bots.items() for user_id in ids),
        bot_reply_limit=min(limits, default=0),
        answer_late_s=max(waits, default=ANSWER_LATE_S),
    )


EXCHANGE_MESSAGES = 20
"""Messages of one exchange that are looked at besides the window before it."""


@dataclass(frozen=True, kw_only=True)
class ReplyPathInputs:
    """What the path of a message is built from."""

    root: Path
    stores: Stores
    config: CharacterConfig
    models: ModelSlots
    labels: ChannelLabels
    owner: OwnerContact
    spending: SpendingMeter
    clock: Clock
    rng: random.Random
    pipeline_for: PipelineFor
    transcripts: TranscriptCache
    memory: MemoryWriterScheduler
    prefixes: PrefixMeter
    """The last prompts, to compare the next with."""
    pause_background: Callable[[], AbstractContextManager[None]]
    consent: OwnerConsent

    @property
    def familiar_id(self) -> str:
        return self.root.name


def build_limits(inputs: ReplyPathInputs) -> ReplyLimits:
    """Who is heard and not answered."""
    return ReplyLimits(
        lookup=LimitLookup(inputs.config.limits, inputs.stores.channels),
        meter=inputs.spending,
        ignored=inputs.stores.ignored,
        owner=inputs.owner,
        clock=inputs.clock,
    )


def build_conversation(
    inputs: ReplyPathInputs,
    runner: ReplyRunner,
    limits: ReplyLimits,
    told: RemindersTold,
    deliveries: TextDeliveryRegistry,
) -> tuple[ReplyQueue, ConversationMonitor]:
    """Who decides when to speak, and the order of replies; each tells the other."""
    familiar_id, stores, config = inputs.familiar_id, inputs.stores, inputs.config
    monitor: ConversationMonitor
    alters = {alter.name: alter.aliases for alter in config.alters}
    personas = Personas(
        lambda exchange, place: runner.respond(exchange, place),  # looked up when used, as every collaborator
        lambda: (persona_name(stores.memory, familiar_id), *config.aliases),
        alters,
    )

    async def respond(exchange: Exchange, place: Place) -> bool:
        deliveries.get(exchange.channel_id).has_spoken = False
        async with limits.admit(exchange, place) as is_admitted:
            outcome = await personas.respond(exchange, place) if is_admitted else None
        if outcome is not None and outcome.sent:
            told.note(exchange.asked.reminder)
        if exchange.may_stay_silent:
            spoke = outcome is not None and not outcome.silent
            await monitor.on_reply_done(exchange.channel_id, exchange.messages, exchange.trigger, spoke=spoke)
        return outcome is None or not outcome.interrupted or bool(outcome.sent)

    async def settle(messages: Sequence[BufferedMessage]) -> None:
        """Nobody waits for a reply to *messages* any more, whatever came of them."""
        ids = [message.history_id for message in messages if message.history_id is not None]
        await off_loop(stores.history.outbox.settle, ids)

    async def end_delivery(channel_id: int) -> bool:
        """End what is being sent, before or after its first piece; whether anything was."""
        tracker = deliveries.get(channel_id)
        if tracker.has_spoken:  # also once all is out and only to be written down
            return True
        was_active = tracker.is_active()
        await tracker.cancel_and_wait()
        return was_active

    queue = ReplyQueue(
        familiar_id, respond, on_done=settle, on_failed=runner.reports.report_failure, end_delivery=end_delivery
    )

    async def on_silence(channel_id: int, messages: list[BufferedMessage], trigger: ResponseTrigger) -> None:
        await settle(messages)

    async def on_respond(channel_id: int, messages: list[BufferedMessage], trigger: ResponseTrigger) -> None:
        queue.answer(channel_id, messages, trigger=trigger, may_stay_silent=monitor.may_stay_silent(messages))

    monitor = ConversationMonitor(
        familiar_name=persona_name(stores.memory, familiar_id),
        aliases=[*config.aliases, familiar_id, *(word for name in alters for word in (name, *alters[name]))],
        chattiness=config.chattiness,
        interjection=config.interjection,
        lull_timeout=config.text_lull_timeout,
        llm_client=inputs.models.model("interjection_decision"),
        character_card=character_card(stores.memory),
        history_store=stores.history,
        on_respond=on_respond,
        on_silence=on_silence,
        rng=inputs.rng.random,
        options=MonitorOptions(
            familiar_id=familiar_id,
            decide_with=config.decide_with,
            reply_model=inputs.models.model(MAIN_SLOT),
            labels=inputs.labels,
            privacy=stores.privacy,
            clock=inputs.clock,
        ),
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
    turns: TurnBuilder
    runner: ReplyRunner
    outbox: ReplyOutbox
    deliveries: TextDeliveryRegistry
    last_context: LastContextCache
    collector: SQLiteCollector
    replays: ReplayStore
    recorder: TurnRecorder
    user_persona: UserPersona
    controls: ChatControls
    marks: DialogueStarts
    reminders: ReminderTimer
    message_edits: MessageEditHandler
    limits: ReplyLimits
    readers: PlaceReaders


def turn_settings(familiar_id: str, stores: Stores, config: CharacterConfig) -> Callable[[ChannelConfig], TurnSettings]:
    """How a channel's messages are read; called in a thread, for the familiar's name is in a file."""
    stable_first = config.prompt_order is PromptOrder.stable_first

    def settings(channel: ChannelConfig) -> TurnSettings:
        name = persona_name(stores.memory, familiar_id)
        usual = config.history_window_size
        size, step = grow_window(channel.history_turns, usual, usual if stable_first else 0)
        return TurnSettings(
            message_fetch_limit=max(TurnSettings.message_fetch_limit, size + step + EXCHANGE_MESSAGES),
            window_size=size,
            window_step=step,
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


def build_turn_inputs(inputs: ReplyPathInputs, user_persona: UserPersona) -> TurnInputsLookup:
    """What looks up a turn's preset and card."""
    return TurnInputsLookup(
        presets=PresetStore(FamiliarFolder(inputs.root).presets),
        card=CardReader(inputs.stores.memory, inputs.familiar_id),
        config=inputs.config,
        shelf=BookShelf(inputs.stores.memory),
        states=StoryStateStore(FamiliarFolder(inputs.root).story),
        persona=user_persona,
        regex=RegexStore(FamiliarFolder(inputs.root).regex_file, inputs.consent),
    )


def build_message_view(inputs: ReplyPathInputs, lookup: TurnInputsLookup) -> Callable[[InboundMessage], str | None]:
    """What a message is shown as, made once, when it is heard; it reads files."""
    stores = inputs.stores
    return MessageView(
        inputs.familiar_id,
        stores.history,
        channels=stores.channels,
        card=CardReader(stores.memory, inputs.familiar_id),
        lookup=lookup,
        states=StoryStateStore(FamiliarFolder(inputs.root).story),
        clock=inputs.clock,
        zone=ZoneInfo(inputs.config.display_tz),
    ).make


def build_turn_builder(inputs: ReplyPathInputs, lookup: TurnInputsLookup) -> TurnBuilder:
    """What makes an exchange into the request that is answered."""
    stores, config = inputs.stores, inputs.config
    return TurnBuilder(
        history=stores.history,
        channels=stores.channels,
        models=inputs.models,
        turn_inputs=lookup.lookup,
        turn_settings=turn_settings(inputs.familiar_id, stores, config),
        zone=ZoneInfo(config.display_tz),
        clock=inputs.clock,
        rng=inputs.rng,
        readers=build_readers(inputs),
        transcripts=inputs.transcripts,
    )


def build_readers(inputs: ReplyPathInputs) -> PlaceReaders:
    """What knows who can read a place, and how far the owner lets things travel."""
    config = inputs.config
    return PlaceReaders(
        owner=inputs.owner,
        channels=inputs.stores.channels,
        private_channel_ids=config.private_channel_ids,
        privacy=inputs.stores.privacy,
        policy=config.telling_policy,
        linked=inputs.stores.links.all,
    )


async def interrupt_delivery(deliveries: TextDeliveryRegistry, message: InboundMessage) -> None:
    """End what is still arriving in the channel of *message*, unless it answers somebody else.

    Who talks over a spoken reply is for the voice session to judge.
    """
    if message.is_voice:
        return
    tracker = deliveries.get(message.channel_id)
    if tracker.may_be_cut_by(message.author.canonical_key):
        await tracker.cancel_and_wait()


def build_intake(
    inputs: ReplyPathInputs,
    lookup: TurnInputsLookup,
    limits: ReplyLimits,
    queue: ReplyQueue,
    monitor: ConversationMonitor,
    deliveries: TextDeliveryRegistry,
) -> Intake:
    """The one way in."""
    stores, rules = inputs.stores, read_platform_rules(inputs.config)
    return Intake(
        familiar_id=inputs.familiar_id,
        history=stores.history,
        channels=stores.channels,
        admission=Admission(
            subscriptions=stores.subscriptions,
            privacy=stores.privacy,
            owner=inputs.owner,
            dms=rules.dms,
            limits=limits,
            quiet=stores.quiet,
            bots=rules.bots,
            bot_reply_limit=rules.bot_reply_limit,
            view=build_message_view(inputs, lookup),
        ),
        queue=queue,
        monitor=monitor,
        interrupt=lambda message: interrupt_delivery(deliveries, message),
        labels=inputs.labels,
        notify_turn=inputs.memory.notify_turn,
        readers=build_readers(inputs),
    )


def build_message_edits(inputs: ReplyPathInputs, intake: Intake) -> MessageEditHandler:
    """Where everything that takes turns back begins."""
    return MessageEditHandler(
        inputs.stores.history,
        inputs.familiar_id,
        inputs.stores.privacy,
        on_change=intake.revise,
        hear=intake.hear_edit,
        withdraw=inputs.memory.correct_soon,
        view=intake.view_of,
        clock=inputs.clock,
    )


def build_reply_path(inputs: ReplyPathInputs) -> ReplyPath:
    """Everything from a message heard to a reply sent and seen."""
    folder, stores, config, clock = FamiliarFolder(inputs.root), inputs.stores, inputs.config, inputs.clock
    deliveries = TextDeliveryRegistry()
    last_context = LastContextCache(channels_root=folder.channels, clock=clock)
    # Other programs look at a turn once it is over.
    collector = SQLiteCollector(folder.metrics_db, flush_interval=1, holds_open=True)
    replays = ReplayStore(folder.traces)
    recorder = TurnRecorder(
        last_context=last_context,
        collector=collector,
        replays=replays,
        options=render_options(config),
        prefixes=inputs.prefixes,
        on_kept=inputs.memory.correct_if_changed_since,
    )
    user_persona = UserPersona(config.user_persona)
    lookup = build_turn_inputs(inputs, user_persona)
    turns = build_turn_builder(inputs, lookup)
    fresh_s = read_platform_rules(config).answer_late_s
    outbox = ReplyOutbox(stores.history, inputs.familiar_id, fresh_s=fresh_s, clock=clock)
    runner = ReplyRunner(
        turns=turns,
        pipeline_for=inputs.pipeline_for,
        deliveries=DeliveryTasks(deliveries, edits_live=config.delivery == "growing", clock=clock),
        archive=TurnArchive(stores.history, short_term=stores.short_term, notify_turn=inputs.memory.notify_turn),
        recorder=recorder,
        outbox=outbox,
        reports=FailureReports(inputs.owner, inputs.labels),
        pause_background=inputs.pause_background,
        clock=clock,
        keep_story=StoryStateStore(FamiliarFolder(inputs.root).story).save,
    )
    limits = build_limits(inputs)
    told = RemindersTold()
    queue, monitor = build_conversation(inputs, runner, limits, told, deliveries)
    intake = build_intake(inputs, lookup, limits, queue, monitor, deliveries)
    return ReplyPath(
        intake=intake,
        monitor=monitor,
        queue=queue,
        turns=turns,
        runner=runner,
        outbox=outbox,
        deliveries=deliveries,
        last_context=last_context,
        collector=collector,
        replays=replays,
        recorder=recorder,
        user_persona=user_persona,
        controls=ChatControls(
            inputs.familiar_id,
            stores.history,
            queue=queue,
            turns=turns,
            on_change=intake.revise,
            correct_memory=inputs.memory.correct,
            clock=clock,
        ),
        message_edits=build_message_edits(inputs, intake),
        limits=limits,
        readers=build_readers(inputs),
        marks=DialogueStarts(
            inputs.familiar_id,
            stores.history,
            queue=queue,
            privacy=stores.privacy,
            summarise=CompactSummary(inputs.models.model("history_summary")).summarise,
        ),
        reminders=ReminderTimer(
            stores.reminders,
            queue=queue,
            told=told,
            privacy=stores.privacy,
            clock=clock,
            zone=ZoneInfo(config.display_tz),
        ),
    )
