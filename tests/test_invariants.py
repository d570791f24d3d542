"""What must always hold of a prompt, whatever was said, whoever was quick and however little room there is."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.privacy_rooms import PLANTED, has_no_leak, run_rooms
from benchmarks.random_rooms import START, Room, random_room
from familiar_connect.chat.build import build_turn
from familiar_connect.chat.types import TurnSettings
from familiar_connect.config.channel import channel_config_for_mode
from familiar_connect.config.types import ChannelMode
from familiar_connect.context.pipeline import ContextPipeline
from familiar_connect.context.providers.character import CharacterProvider, SampleDialoguesProvider
from familiar_connect.context.providers.history import HistoryProvider
from familiar_connect.context.providers.scene.participants import ParticipantsProvider
from familiar_connect.context.providers.scene.server import AssetsProvider, ServerInfoProvider
from familiar_connect.context.types import ContextRequest, Contribution, Layer
from familiar_connect.history.store import HistoryStore
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities
from familiar_connect.memory.store import MemoryStore
from familiar_connect.observe.replay_store import hash_messages
from familiar_connect.reply.request import to_request
from tests.fakes.chat import an_exchange
from tests.fakes.context import FixedProvider, a_dialogue, a_piece, a_request, said

ROOMS = 25
"""How many random channels are searched here; the benchmarks search many more."""


# Whoever is quick


class Gated:
    """A provider that answers when it is let."""

    def __init__(self, inner: Any, gate: asyncio.Event) -> None:
        self.inner = inner
        self.gate = gate
        self.id = str(inner.id)
        self.deadline_s = 30.0

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        brought: list[Contribution] = await self.inner.contribute(request)
        await self.gate.wait()
        return brought


def the_providers(folder: Path) -> list[Any]:
    memory = MemoryStore(folder / "memory")
    for name, text in {"name": "Ember", "description": "A flame.", "mes_example": "{{user}}: hi\n{{char}}: oh"}.items():
        memory.write_file(f"self/{name}.md", text)
    history = HistoryStore(":memory:")
    return [
        CharacterProvider(memory, samples=False),
        HistoryProvider(store=history, llm_client=None, window_size=20),
        SampleDialoguesProvider(memory),
        ServerInfoProvider(),
        AssetsProvider(),
        ParticipantsProvider(),
    ]


async def a_request_in(room: Room, seed: int = 3) -> ContextRequest:
    turn = await build_turn(
        an_exchange(room.messages[-1], familiar_id="ember", channel_id=room.channel_id),
        room,
        settings=TurnSettings(persona="Ember"),
        now=START,
    )
    channel = channel_config_for_mode(ChannelMode.text_conversation_rp)
    return to_request(turn, replace(channel, deadline_s=0.0), scene=room.seen, seed=seed, now=START)


async def shown(providers: Sequence[Any], request: ContextRequest, order: Sequence[int]) -> str:
    """The messages, named by every byte, where providers finish in *order*."""
    gates = [asyncio.Event() for _ in providers]
    model = ScriptedModel(["fine"], capabilities=Capabilities(vision=True))
    pipeline = ContextPipeline(
        [Gated(provider, gate) for provider, gate in zip(providers, gates, strict=True)],
        model=model,
        budget_by_layer=channel_config_for_mode(ChannelMode.text_conversation_rp).budget_by_layer,
        persona="Ember",
    )
    made = asyncio.create_task(pipeline.preview(request))
    for place in order:
        gates[place].set()
        await asyncio.sleep(0)
    reply, _ = await made
    return hash_messages(reply.messages)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), order=st.permutations(range(6)))
def test_the_order_in_which_providers_finish_changes_no_byte(tmp_path: Path, seed: int, order: list[int]) -> None:
    """The same words, clock and dice give the same messages."""

    async def both() -> tuple[str, str]:
        request = await a_request_in(random_room(random.Random(seed), 7, planted="Z"))
        again = await a_request_in(random_room(random.Random(seed), 7, planted="Z"))
        providers = the_providers(tmp_path)
        return await shown(providers, request, range(6)), await shown(providers, again, order)

    first, second = asyncio.run(both())

    assert first == second


# However little room there is


@given(
    sizes=st.lists(st.tuples(st.sampled_from(list(Layer)[:6]), st.integers(1, 400)), min_size=1, max_size=8),
    room=st.integers(1, 600),
    total=st.sampled_from([0, 50, 300, 2000]),
    window=st.one_of(st.none(), st.integers(200, 1500)),
)
def test_every_cut_is_reported(sizes: list[tuple[Layer, int]], room: int, total: int, window: int | None) -> None:
    """What is not shown whole is noted with its source; what is noted is not shown whole."""
    pieces = [
        a_piece(f"piece{at} " + "word " * size + f"end{at}", layer, source=f"piece{at}")
        for at, (layer, size) in enumerate(sizes)
    ]
    talk = a_dialogue(*(said("user", f"Ada: line{at} " + "word " * 30 + f"over{at}") for at in range(6)))
    model = ScriptedModel(["fine"], capabilities=Capabilities(window=window))
    pipeline = ContextPipeline([FixedProvider(*pieces, talk)], model=model, budget_by_layer=dict.fromkeys(Layer, room))
    reply, _ = asyncio.run(pipeline.preview(a_request(budget_tokens=total)))
    text = "\n".join(message.content for message in reply.messages)
    noted = {note.source for note in reply.prompt.dropped if note.tokens_dropped > 0}

    for piece in pieces:
        assert (piece.text.strip() in text) == (piece.source not in noted), piece.source
    if not all(f"line{at} " in text and f"over{at}" in text for at in range(6)):
        assert any("history" in source for source in noted)


# Whoever is not to be heard


@pytest.mark.slow
async def test_words_of_who_is_not_to_be_heard_are_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """E4, G30, G33: not in messages, pages, traces, notes, history, memory, replies or logs."""
    caplog.set_level(logging.INFO)
    found = await run_rooms(tmp_path, ROOMS)

    assert found["calls"] >= ROOMS
    assert has_no_leak(found), found
    assert PLANTED not in caplog.text


@pytest.mark.slow
async def test_the_search_for_planted_words_would_find_them(tmp_path: Path) -> None:
    """The same rooms with nobody hushed: so the search can fail."""
    found = await run_rooms(tmp_path, 3, hush=False)

    assert found["shown"]
    assert {"history.db", "metrics.db"} & {Path(name).name for name in found["files"]}
