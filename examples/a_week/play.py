"""Living through the week with the real history, memory, writer and audit, on a hand-wound clock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from examples.a_week.conversation import CHANNELS, KITCHEN, WEEK, Day
from familiar_connect.audience import EVERYONE, whole_server
from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.history.store import HistoryStore
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.memory.maintenance.review import Review
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.writer import MemoryWriter, MemoryWriterResult, WriterOptions
from familiar_connect.support.clock import ManualClock

FAMILIAR = "mira"
SERVER = 2001
"""Where the kitchen is; the stream belongs to no server."""
ZONE = "Europe/Vienna"


async def play_week(
    home: Path, *, review: bool = False, watch: Callable[[Day, MemoryWriterResult], None] = lambda day, result: None
) -> Path:
    """Seven days in a new home; the folder of the familiar. With *review* its memory waits for the owner."""
    root = make_starter(home, FAMILIAR, name="Mira")
    clock = ManualClock(WEEK[0].began)
    store = MemoryStore(root / "memory", audit_dir=root / "audit", clock=clock)
    history = HistoryStore(root / "history.db", clock=clock)
    writer = MemoryWriter(
        memory_store=store,
        history_store=history,
        llm_client=ScriptedModel([day.answer for day in WEEK]),
        familiar_id=FAMILIAR,
        channel_context_lookup=lambda channel: CHANNELS.get(channel, ""),
        clock=clock,
        zone=ZONE,
        pending=Review(store, clock=clock),
        options=WriterOptions(review=review),
    )
    try:
        for day in WEEK:
            _talk(day, history, clock)
            clock.advance(1800)
            watch(day, await writer.run())
    finally:
        history.close()
        if store.audit is not None:
            store.audit.close()
    return root


def _talk(day: Day, history: HistoryStore, clock: ManualClock) -> None:
    clock.advance((day.began - clock.now()).total_seconds())
    for author, words in day.said:
        clock.advance(60)
        history.append_turn(
            familiar_id=FAMILIAR,
            channel_id=day.channel,
            role="user" if author is not None else "assistant",
            content=words,
            author=author,
            guild_id=SERVER if day.channel == KITCHEN else None,
            audience=whole_server("discord", SERVER) if day.channel == KITCHEN else EVERYONE,
        )
