"""Who writes long-term memory, and when."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from familiar_connect.config.character import CharacterConfig
from familiar_connect.llm.model_slots import ModelSlots
from familiar_connect.memory.maintenance.review import Review
from familiar_connect.memory.scheduler import MemoryWriterScheduler
from familiar_connect.memory.withdrawal.withdraw_turns import CopyKeeper, TurnWithdrawal
from familiar_connect.memory.writer import MemoryWriter, WriterOptions
from familiar_connect.support.clock import Clock
from familiar_connect.wiring.stores import Stores


def build_memory_writer(
    familiar_id: str,
    stores: Stores,
    config: CharacterConfig,
    models: ModelSlots,
    clock: Clock | None = None,
    channel_context_lookup: Callable[[int], str] | None = None,
    keepers: Sequence[CopyKeeper] = (),
) -> MemoryWriter:
    """The writer of long-term memory; in review mode its plans wait for the owner.

    What is taken back leaves memory, and the copies of *keepers*.
    """
    withdrawal = TurnWithdrawal(
        stores.memory, stores.history, familiar_id, clock=clock, privacy=stores.privacy, keepers=keepers
    )
    return MemoryWriter(
        memory_store=stores.memory,
        history_store=stores.history,
        llm_client=models.model("memory_writer"),
        familiar_id=familiar_id,
        channel_context_lookup=channel_context_lookup,
        clock=clock,
        zone=ZoneInfo(config.display_tz),
        pending=Review(stores.memory),
        privacy=stores.privacy,
        options=WriterOptions(review=config.memory_writer_review, withdrawal=withdrawal),
    )


def build_memory_scheduler(
    familiar_id: str,
    stores: Stores,
    config: CharacterConfig,
    writer: MemoryWriter,
    clock: Clock,
    after_correction: Callable[[], Coroutine[Any, Any, None]] | None = None,
) -> MemoryWriterScheduler:
    return MemoryWriterScheduler(
        writer=writer,
        history_store=stores.history,
        familiar_id=familiar_id,
        turn_threshold=config.memory_writer_turn_threshold,
        idle_timeout=config.memory_writer_idle_timeout,
        calls_per_day=config.memory_writer_calls_per_day,
        clock=clock,
        after_correction=after_correction,
    )
