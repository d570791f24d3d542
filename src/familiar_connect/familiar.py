"""Familiar: everything that one character needs to live, in one bundle."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Iterable
from pathlib import Path

from familiar_connect.config.channel import ChannelConfig
from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.consent import OwnerConsent
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.llm import MAIN_SLOT
from familiar_connect.config.load import load_allowed_config
from familiar_connect.config.permissions import refuse_links
from familiar_connect.context.pipeline import ContextPipeline
from familiar_connect.context.types import Modality
from familiar_connect.conversation.intake import Intake
from familiar_connect.conversation.monitor import ConversationMonitor
from familiar_connect.errors import FamiliarError
from familiar_connect.history.pending_speech import PendingSpeechRows
from familiar_connect.llm.protocols import ChatModel, SideModel
from familiar_connect.memory.maintenance.forget_person import finish_erasure
from familiar_connect.memory.persona import persona_name
from familiar_connect.observe.last_context import LastContextCache
from familiar_connect.observe.ledger import MetricsCollector
from familiar_connect.reply.deliver import TextDeliveryRegistry
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.wiring.added_parts import NOTHING_ADDED, AddedParts
from familiar_connect.wiring.assembly import AssemblyInputs, FamiliarParts, build_familiar
from familiar_connect.wiring.build_index import MemoryIndex

logger = logging.getLogger(__name__)

LAST_FLUSH_S = 10.0
"""How long leaving may wait for memory to be written up."""


class Familiar(FamiliarParts):
    """The parts of one familiar, and how it begins and ends."""

    @classmethod
    def load_from_disk(
        cls,
        root: Path,
        *,
        llm_clients: dict[str, ChatModel],
        tts_client: object = None,
        transcriber: object = None,
        defaults_path: Path | None = None,
        clock: Clock | None = None,
        zone: str | None = None,
    ) -> Familiar:
        """Build the familiar that lives in *root*; folders and databases that lack are made.

        *zone* is the time zone where no settings name one. Settings that let it do or tell more count only where the
        home that the folder lies in says that the owner allowed them.
        """
        folder = FamiliarFolder(Path(root).parent.resolve() / Path(root).name)
        refuse_links(folder)
        profile = defaults_path or _default_profile(folder)
        consent = OwnerConsent(folder.home.root, folder.root.name)
        config = load_allowed_config(folder.settings_file, consent, defaults_path=profile, zone=zone)
        return cls.from_config(
            folder.root,
            config,
            llm_clients=llm_clients,
            tts_client=tts_client,
            transcriber=transcriber,
            defaults_path=profile,
            clock=clock,
            consent=consent,
        )

    @classmethod
    def from_config(
        cls,
        root: Path,
        config: CharacterConfig,
        *,
        llm_clients: dict[str, ChatModel],
        tts_client: object = None,
        transcriber: object = None,
        defaults_path: Path | None = None,
        clock: Clock | None = None,
        fetches_media: bool = True,
        rng: random.Random | None = None,
        consent: OwnerConsent | None = None,
        added: AddedParts = NOTHING_ADDED,
    ) -> Familiar:
        """As `load_from_disk`, under *config* whatever the settings file says. Chances are taken from *rng*.

        *consent* is what the owner allowed; without it every setting counts, and scripts as the folder's home says.
        """
        inputs = AssemblyInputs(
            llm_clients=llm_clients,
            clock=clock or SystemClock(),
            tts_client=tts_client,
            transcriber=transcriber,
            defaults_path=defaults_path,
            fetches_media=fetches_media,
            rng=rng or random.Random(),
            consent=consent,
            added=added,
        )
        return build_familiar(cls, Path(root), config, inputs)

    def build_pipeline(self, channel_config: ChannelConfig, *, modality: Modality = Modality.text) -> ContextPipeline:
        """The registered parts that *channel_config* enables, in registration order."""
        return self.pipelines.build(channel_config, modality=modality)

    @property
    def name(self) -> str:
        """What the familiar is called."""
        return persona_name(self.memory_store, self.id)

    def side_model(self, slot: str) -> SideModel:
        """The model of *slot*, whichever client has it when it is asked."""
        return self.pipelines.models.model(slot)

    @property
    def has_small_model(self) -> bool:
        """Whether its replies come from the small model that is included."""
        return self.config.llm[MAIN_SLOT].is_small_default

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

    @property
    def memory_index(self) -> MemoryIndex | None:
        """What finds memory again, once it is loaded."""
        return self.index.current

    async def start(self, *, keep_index: bool = True, writes_memory: bool = True) -> None:
        """Begin to live: notice what its owner changed by hand, catch up on memory, watch for quiet moments.

        Without *keep_index* its index is made ready once, and whoever starts it keeps it level from then on, by
        `update_memory_index`. Without *writes_memory* nothing that is said is written up here, also not at the end.
        """
        if self.memory_store.audit is not None:
            await off_loop(self.memory_store.audit.reconcile, self.memory_store)
        await self._finish_erasure()
        await self._recover_speech()
        await self.memory_writer_scheduler.correct()
        if writes_memory:
            self.memory_writer_scheduler.start()
        else:
            self.memory_writer_scheduler.hold()
        if self.config.search_files or self.config.search_turns:
            self.index.start(keeps_level=keep_index)

    async def _finish_erasure(self) -> None:
        """Finish forgetting somebody where an earlier run could not; what stands in the way now is logged."""
        try:
            await off_loop(finish_erasure, self.root, self.memory_store, self.history_store)
        except FamiliarError as error:
            logger.warning("somebody is not wholly forgotten yet", extra={"reason": str(error)})

    async def _recover_speech(self) -> None:
        """Put into the history what was said aloud before an earlier run ended in the middle of it."""
        pending = PendingSpeechRows(self.history_store.database)
        try:
            count = await off_loop(pending.recover, self.id, self.history_store.append_turn)
        except FamiliarError as error:
            logger.warning("what was said before a crash is not in the history yet", extra={"reason": str(error)})
            return
        if count:
            logger.info("put into the history what was said before a crash", extra={"turns": count})

    async def update_memory_index(self, limit_s: float) -> bool:
        """Find memory again as a reply would, and nothing else: nobody is asked to write. Says whether all is found."""
        return await self.index.update(limit_s)

    async def write_finished_talk(self, latest: int) -> None:
        """Write up a talk that ended with turn *latest*, within bounds, where that is cheap."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_FLUSH_S):
                await self.memory_writer_scheduler.write_finished_talk(latest)

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
            closing.callback(self.added.close)
            closing.push_async_callback(self.spending.aclose)
            closing.push_async_callback(self.pipelines.models.aclose)
            closing.push_async_callback(self.index.aclose)
            closing.push_async_callback(self.memory_writer_scheduler.aclose)
            if self.memory_writer_scheduler.is_started:
                closing.push_async_callback(self._flush_memory)
            closing.push_async_callback(self.reply_path.queue.aclose)
            closing.push_async_callback(self.reply_path.intake.aclose)
            closing.push_async_callback(self.reply_path.reminders.aclose)


def _distinct(clients: Iterable[ChatModel]) -> Iterable[ChatModel]:
    return {id(client): client for client in clients}.values()


def _default_profile(folder: FamiliarFolder) -> Path | None:
    """`_default/character.toml` beside the familiar, where there is one."""
    profile = folder.profile.settings_file
    return profile if profile.exists() else None
