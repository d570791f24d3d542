"""Pipeline overhead, event-loop stalls in whole turns, and providers that hang.

Overhead: eight providers that have their answer ready, 20 kB in all, to finished messages. Stalls: a
watchdog that wants to wake every millisecond while whole turns run through a familiar on disk; how late
it wakes is how long the loop was held. Beside the time on the clock stands the processor time of the loop's
thread, which other programs on a busy machine do not lengthen. Hanging: the same
assembly with and without one that never answers. Run `python -m benchmarks.pipeline`; `--quick` for a short form,
`--json` for a script.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.conversation_script import CHARACTER, ScriptedLine, conversation, people_file, summary
from benchmarks.fixtures import (
    ANA,
    BEN,
    CLEO,
    PEOPLE,
    FixedProvider,
    QuietPlace,
    a_request,
    load_familiar,
    say,
    scripted_clients,
    without_warnings,
    write_character,
)
from benchmarks.table import Row, percentile, run_part, spread
from familiar_connect.chat.directives import place_tail
from familiar_connect.config.channel import channel_config_for_mode
from familiar_connect.config.types import ChannelMode
from familiar_connect.context.messages import to_messages
from familiar_connect.context.pipeline import ContextPipeline
from familiar_connect.context.protocols import ContextProvider
from familiar_connect.context.providers.character import CharacterProvider
from familiar_connect.context.providers.history import HistoryProvider
from familiar_connect.context.providers.history.provider import HistoryOptions
from familiar_connect.context.types import (
    ContextItem,
    ContextRequest,
    Contribution,
    ItemTag,
    Layer,
    Priority,
    ProviderOutcome,
)
from familiar_connect.extensions.create import ExtensionProvider
from familiar_connect.extensions.thread import ExtensionThread
from familiar_connect.familiar import Familiar
from familiar_connect.history.store import HistoryStore
from familiar_connect.llm.types import Message
from familiar_connect.memory.store import MemoryStore
from familiar_connect.support.tokens import estimate_tokens

CONTRIBUTED_CHARS = 20_000
OVERHEAD_P50_MS, OVERHEAD_P99_MS = 3.0, 10.0
STALL_P99_MS = 20.0
OVERSHOOT_P99_MS = 10.0
MOST_AGAINST_TASK_GROUP = 3.0
HANG_DEADLINE_S = 0.05
BLOCK_S, MOST_BESIDE_BLOCKED_MS = 0.3, 80.0
_TICK_S = 0.001
_MODE = channel_config_for_mode(ChannelMode.full_rp)


def measure(*, quick: bool = False) -> dict[str, Any]:
    with without_warnings("familiar_connect"):
        return {
            "overhead": asyncio.run(_overhead(200 if quick else 3000)),
            "stubs": asyncio.run(_stubs(200 if quick else 2000)),
            "stubs_of_five": asyncio.run(_stubs(200 if quick else 2000, facts=5)),
            "stalls": asyncio.run(_stalls(30 if quick else 300)),
            "hanging": asyncio.run(_hanging(10 if quick else 120)),
            "blocking": asyncio.run(_blocking(5 if quick else 40)),
        }


# Overhead


def eight_providers() -> list[FixedProvider]:
    """Eight providers, 20 kB in all: character, notes, people, memory, a summary and a dialogue of thirty turns."""
    long = " ".join(people_file(author) for author in PEOPLE)
    share = CONTRIBUTED_CHARS // 8

    def text(number: int) -> str:
        return (long * 8)[number * 97 : number * 97 + share]

    plain = (
        ("character", Layer.character, ItemTag.PERSONA, Priority.CHARACTER, False),
        ("rules", Layer.core, ItemTag.CHANNEL_PROMPT, Priority.CHANNEL_PROMPT, False),
        ("summary", Layer.history_summary, ItemTag.SUMMARY, Priority.HISTORY_SUMMARY, False),
        ("people", Layer.content, ItemTag.PEOPLE, Priority.PEOPLE, False),
        ("found", Layer.content, ItemTag.FOUND, Priority.FOUND, True),
        ("scene", Layer.scene, ItemTag.PARTICIPANTS, Priority.PARTICIPANTS, False),
        ("note", Layer.author_note, ItemTag.AUTHOR_NOTE, Priority.MODE_INSTRUCTIONS, False),
    )
    providers = [
        FixedProvider(
            name,
            [Contribution.of(layer, text(n), source=name, priority=int(priority), tag=tag, volatile=volatile)],
        )
        for n, (name, layer, tag, priority, volatile) in enumerate(plain)
    ]
    return [*providers, FixedProvider("history", [_dialogue(text(7))])]


def _dialogue(text: str) -> Contribution:
    size = len(text) // 30
    items = tuple(
        ContextItem.of("user" if n % 2 else "assistant", text[n * size : (n + 1) * size], tag=ItemTag.DIALOGUE)
        for n in range(30)
    )
    tokens = sum(estimate_tokens(item.text) for item in items)
    return Contribution(
        Layer.recent_history, int(Priority.HISTORY_RECENT), text, tokens, "history", tag=ItemTag.DIALOGUE, items=items
    )


async def _overhead(rounds: int) -> dict[str, Any]:
    pipeline = ContextPipeline(eight_providers(), budget_by_layer=_MODE.budget_by_layer)
    request = a_request(deadline_s=_MODE.deadline_s, budget_tokens=_MODE.budget_tokens)
    seconds: list[float] = []
    worked: list[float] = []
    messages: list[Message] = []
    for _ in range(rounds):
        began, work = time.perf_counter(), time.thread_time()
        prompt = place_tail(await pipeline.build_prompt(request))
        messages = to_messages(prompt.items)
        seconds.append(time.perf_counter() - began)
        worked.append(time.thread_time() - work)
    given = [c for provider in pipeline.providers for c in await provider.contribute(request)]
    return {
        "ms": spread(seconds, 1000),
        "processor_ms": spread(worked, 1000),
        "contributed_chars": sum(len(c.text) for c in given),
        "sent_chars": sum(len(message.content) for message in messages),
    }


async def _stubs(rounds: int, facts: int = 1) -> dict[str, float]:
    """Ten providers with some *facts* ready each: a bare TaskGroup and assembly by turns, in processor time."""
    providers = [
        FixedProvider(
            f"stub{n}",
            [Contribution.of(Layer.content, f"Fact {n}.{at} is so.", source=f"stub{n}") for at in range(facts)],
        )
        for n in range(10)
    ]
    pipeline = ContextPipeline(providers)
    request = a_request(deadline_s=_MODE.deadline_s, budget_tokens=_MODE.budget_tokens)
    bare: list[float] = []
    assembled: list[float] = []
    for _ in range(rounds):
        began = time.thread_time()
        async with asyncio.TaskGroup() as group:
            for provider in providers:
                group.create_task(provider.contribute(request))
        between = time.thread_time()
        await pipeline.assemble(request, _MODE.budget_by_layer)
        bare.append(between - began)
        assembled.append(time.thread_time() - between)
    middle, most = percentile(bare, 0.5), percentile(assembled, 0.5)
    return {"bare_us": middle * 1e6, "assembled_us": most * 1e6, "ratio": most / middle}


# Stalls


class Watchdog:
    """Wants to wake every millisecond; keeps how late it was, turn by turn, and what the loop worked meanwhile."""

    def __init__(self) -> None:
        self.all: list[float] = []
        self._worst = self._most_work = 0.0

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        task = asyncio.get_running_loop().create_task(self._watch(), name="watchdog")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def _watch(self) -> None:
        while True:
            began, work = time.perf_counter(), time.thread_time()
            await asyncio.sleep(_TICK_S)
            self._most_work = max(self._most_work, time.thread_time() - work)
            late = max(0.0, time.perf_counter() - began - _TICK_S)
            self.all.append(late)
            self._worst = max(self._worst, late)

    def worst_since_last_asked(self) -> tuple[float, float]:
        """The longest delay, and the most processor time the loop's thread took between two wakings."""
        worst = (self._worst, self._most_work)
        self._worst = self._most_work = 0.0
        return worst


async def _stalls(turns: int) -> dict[str, Any]:
    """Whole turns from a message heard to a reply recorded, and the same watchdog with nothing to do."""
    with tempfile.TemporaryDirectory(prefix="familiar-stalls-") as folder:
        root = Path(folder) / "wren"
        write_character(root, CHARACTER)
        script = list(conversation(turns))
        told = iter(said.reply for said in script)
        clients = scripted_clients(lambda _: next(told), lambda _: summary(1))
        familiar = load_familiar(root, clients)
        try:
            worst, busy, seconds = await _watched_turns(familiar, script)
        finally:
            await familiar.aclose()
    idle = Watchdog()
    async with idle.watching():
        await asyncio.sleep(min(2.0, sum(seconds)))
    return {
        "worst_of_each_turn_ms": spread([late for late, _ in worst], 1000),
        "worst_work_of_each_turn_ms": spread([work for _, work in worst], 1000),
        "every_tick_ms": spread(busy, 1000),
        "idle_tick_ms": spread(idle.all, 1000),
        "turn_ms": spread(seconds, 1000),
    }


async def _watched_turns(
    familiar: Familiar, script: Sequence[ScriptedLine]
) -> tuple[list[tuple[float, float]], list[float], list[float]]:
    dog, place = Watchdog(), QuietPlace()
    worst: list[tuple[float, float]] = []
    seconds: list[float] = []
    async with dog.watching():
        for said in script:
            began = time.perf_counter()
            await say(familiar, place, said.author, said.text, datetime.now(UTC))
            seconds.append(time.perf_counter() - began)
            await asyncio.sleep(2 * _TICK_S)  # a stall at the very end is only seen once the loop is free again
            worst.append(dog.worst_since_last_asked())
    assert not place.notices, place.notices
    return worst, dog.all, seconds


# Hanging providers


class _Hanging:
    """A provider that never answers, in one of three ways."""

    id = "hanging"
    deadline_s = 10.0

    def __init__(self, wait: Callable[[], Any]) -> None:
        self._wait = wait

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        await self._wait()
        return []


class _Blocking:
    """A provider of an extension that works without letting anybody else run."""

    id = "blocking"
    deadline_s = HANG_DEADLINE_S

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        time.sleep(BLOCK_S)  # noqa: ASYNC251 - this is the mistake
        return []


async def _blocking(rounds: int) -> dict[str, Any]:
    """What a turn's assembly takes beside it, each time on a thread that is free again."""
    took: list[float] = []
    request = a_request(deadline_s=HANG_DEADLINE_S, budget_tokens=_MODE.budget_tokens)
    for _ in range(rounds):
        thread = ExtensionThread("stranger")
        began = time.perf_counter()
        await ContextPipeline([ExtensionProvider(_Blocking(), thread)]).assemble(request, _MODE.budget_by_layer)
        took.append(time.perf_counter() - began)
        thread.close()
    return {"ms": spread(took, 1000)}


async def _hanging(rounds: int) -> dict[str, Any]:
    released, let_go = threading.Event(), asyncio.Event()

    async def for_ever() -> None:
        await asyncio.Event().wait()

    async def in_a_thread() -> None:
        await asyncio.to_thread(released.wait)

    async def deaf() -> None:
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue

    ways = {"waits for ever": for_ever, "blocks in a thread": in_a_thread, "ignores its cancellation": deaf}
    with tempfile.TemporaryDirectory(prefix="familiar-hanging-") as folder:
        siblings, store = _siblings(Path(folder))
        try:
            found = {name: await _assemble(siblings, _Hanging(wait), rounds) for name, wait in ways.items()}
        finally:
            released.set()
            let_go.set()
            store.close()
    return {"deadline_ms": HANG_DEADLINE_S * 1000, "with": found}


def _siblings(root: Path) -> tuple[list[ContextProvider], HistoryStore]:
    """Providers with an answer ready, and the two that really read from disk."""
    write_character(root / "wren", CHARACTER)
    store = HistoryStore(root / "wren" / "history.db")
    for number, said in enumerate(conversation(30)):
        store.append_turn(
            familiar_id="wren", channel_id=4242, role="user", content=said.text, author=(ANA, BEN, CLEO)[number % 3]
        )
    ready = [provider for provider in eight_providers() if provider.id not in ("character", "history")]
    silent = scripted_clients(lambda _: "", lambda _: "")["history_summary"]
    memory = MemoryStore(root / "wren" / "memory", audit_dir=root / "wren" / "audit")
    real = [
        CharacterProvider(memory),
        HistoryProvider(store=store, llm_client=silent, window_size=40, options=HistoryOptions(step=20)),
    ]
    return [*ready, *real], store


async def _assemble(siblings: Sequence[ContextProvider], hanging: _Hanging, rounds: int) -> dict[str, Any]:
    """Rounds with the hanging provider and without it by turns: what slows the machine slows both."""
    together, alone = ContextPipeline([hanging, *siblings]), ContextPipeline(siblings)
    request = a_request(deadline_s=HANG_DEADLINE_S, budget_tokens=_MODE.budget_tokens)
    over: list[float] = []
    outcomes: dict[ContextPipeline, list[ProviderOutcome]] = {together: [], alone: []}
    for _ in range(rounds):
        outcomes[alone] += (await alone.assemble(request, _MODE.budget_by_layer)).outcomes
        began = time.perf_counter()
        output = await together.assemble(request, _MODE.budget_by_layer)
        over.append(time.perf_counter() - began - HANG_DEADLINE_S)
        outcomes[together] += [each for each in output.outcomes if each.provider_id != _Hanging.id]
    return {
        "overshoot_ms": spread(over, 1000),
        "siblings_failed": sum(each.status != "ok" for each in outcomes[together]),
        "siblings_failed_alone": sum(each.status != "ok" for each in outcomes[alone]),
        "siblings_asked": len(outcomes[together]),
        "sibling_read_ms_p50": _disk_reads_p50_ms(outcomes[together]),
        "sibling_read_alone_ms_p50": _disk_reads_p50_ms(outcomes[alone]),
    }


def _disk_reads_p50_ms(outcomes: Sequence[ProviderOutcome]) -> float:
    return percentile([each.duration_s for each in outcomes if each.provider_id in ("character", "history")], 0.5) * 1e3


def rows(found: dict[str, Any]) -> list[Row]:
    overhead, stalls, hanging = found["overhead"], found["stalls"], found["hanging"]
    ms, worst = overhead["ms"], stalls["worst_of_each_turn_ms"]
    work, held = overhead["processor_ms"], stalls["worst_work_of_each_turn_ms"]
    result = [
        *(
            Row(
                name=f"assembly with ten stub providers{facts} against a bare TaskGroup, processor time",
                value=f"{stubs['ratio']:.2f} × ({stubs['assembled_us']:.0f} µs against {stubs['bare_us']:.0f} µs)",
                bar=f"≤ {MOST_AGAINST_TASK_GROUP:g} ×",
                ok=stubs["ratio"] <= MOST_AGAINST_TASK_GROUP,
            )
            for facts, stubs in (("", found["stubs"]), (" of five facts each", found["stubs_of_five"]))
        ),
        Row(
            name=f"overhead p50, eight providers, {overhead['contributed_chars'] / 1000:.0f} kB, processor time",
            value=f"{work['p50']:.2f} ms (by the clock {ms['p50']:.2f})",
            bar=f"< {OVERHEAD_P50_MS:.0f} ms",
            ok=work["p50"] < OVERHEAD_P50_MS,
        ),
        Row(
            name="overhead p99, processor time",
            value=f"{work['p99']:.2f} ms (by the clock {ms['p99']:.2f}, at worst {ms['worst']:.2f}; "
            f"{ms['count']} rounds)",
            bar=f"< {OVERHEAD_P99_MS:.0f} ms",
            ok=work["p99"] < OVERHEAD_P99_MS,
        ),
        Row(
            name="longest stall of a whole turn, p99 of turns",
            value=f"{worst['p99']:.1f} ms (p50 {worst['p50']:.1f}, worst {worst['worst']:.1f} of {worst['count']} "
            f"turns; processor time p99 {held['p99']:.1f}, worst {held['worst']:.1f}; "
            f"idle loop: p99 {stalls['idle_tick_ms']['p99']:.1f}, worst {stalls['idle_tick_ms']['worst']:.1f})",
            bar=f"< {STALL_P99_MS:.0f} ms",
            ok=worst["p99"] < STALL_P99_MS,
        ),
    ]
    blocked = found["blocking"]["ms"]
    result.append(
        Row(
            name=f"assembly beside an extension that blocks for {BLOCK_S * 1000:.0f} ms under a deadline of "
            f"{HANG_DEADLINE_S * 1000:.0f} ms, p99",
            value=f"{blocked['p99']:.1f} ms (p50 {blocked['p50']:.1f}, worst {blocked['worst']:.1f})",
            bar=f"\u2264 {MOST_BESIDE_BLOCKED_MS:.0f} ms",
            ok=blocked["p99"] <= MOST_BESIDE_BLOCKED_MS,
        )
    )
    for name, told in hanging["with"].items():
        over = told["overshoot_ms"]
        result.append(
            Row(
                name=f"deadline of {hanging['deadline_ms']:.0f} ms overshot p99, a provider {name}",
                value=f"{over['p99']:.2f} ms (p50 {over['p50']:.2f}, worst {over['worst']:.2f}); siblings failed: "
                f"{told['siblings_failed']} of {told['siblings_asked']} (without it {told['siblings_failed_alone']}); "
                f"their disk reads p50 "
                f"{told['sibling_read_ms_p50']:.2f} ms, without it {told['sibling_read_alone_ms_p50']:.2f} ms",
                bar=f"< {OVERSHOOT_P99_MS:.0f} ms, none failed",
                ok=over["p99"] < OVERSHOOT_P99_MS and told["siblings_failed"] == 0,
            )
        )
    return result


def main(arguments: Sequence[str]) -> int:
    return run_part(arguments, title="pipeline", description=__doc__, measure=measure, rows=rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
