"""One model on several servers: each conversation keeps to one, and a server that fails costs nobody an answer."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.llm import LLM_SLOT_NAMES, LLMSlotConfig
from familiar_connect.config.load import load_character_config
from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.errors import ConfigError, ModelError, PromptTooLongError
from familiar_connect.llm.replicas import FIRST_REST_S, LONGEST_REST_S, ReplicaChooser, ReplicatedModel
from familiar_connect.llm.slots import create_llm_clients
from familiar_connect.llm.types import CompletionRequest, Message
from tests.fakes.model_server import (
    Answer,
    ModelServer,
    answer_as_asked,
    error_answer,
    event,
    head,
    raw_answer,
    reset_connection,
)

PLACES = [f"ember {number}" for number in range(400)]


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def model_on(
    *scripts: Answer, slot: str = "main_prose"
) -> AsyncIterator[tuple[ReplicatedModel, list[ModelServer]]]:
    """The model of a slot as the settings make it, on a server for each of *scripts*."""
    waited: list[float] = []

    async def no_wait(seconds: float) -> None:
        waited.append(seconds)

    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(ModelServer([script])) for script in scripts]
        first, *others = [server.base_url for server in servers]
        config = LLMSlotConfig("m", base_url=first, replicas=tuple((other, 1.0) for other in others))
        config = replace(config, context_window=8192)
        clients = create_llm_clients(
            None,
            CharacterConfig(llm=dict.fromkeys(LLM_SLOT_NAMES, config)),
            secrets=lambda _: None,
            sleep=no_wait,
            rng=random.Random(7),
        )
        model = clients[slot]
        assert isinstance(model, ReplicatedModel)
        yield model, servers
        for client in clients.values():
            await client.close()


def request(place: str = "") -> CompletionRequest:
    return CompletionRequest([Message("user", "Hello?")], place=place)


async def said(model: ReplicatedModel, place: str) -> str:
    stream = model.start(request(place))
    text = "".join([piece async for piece in stream])
    assert stream.completion.text == text
    return text


async def test_a_conversation_keeps_to_one_server() -> None:
    """And conversations are spread over all of them."""
    async with model_on(*[answer_as_asked(name) for name in "abc"]) as (model, _):
        rounds = [[await said(model, place) for place in PLACES[:12]] for _ in range(2)]

    assert rounds[0] == rounds[1]
    assert set(rounds[0]) == {"a", "b", "c"}


@pytest.mark.parametrize(
    "trouble", [error_answer(500), error_answer(404), reset_connection], ids=["500", "404", "reset"]
)
async def test_a_server_that_fails_costs_nobody_an_answer(trouble: Answer) -> None:
    """Its conversations are answered by the other at once, and it is asked no more for a while."""
    async with model_on(trouble, answer_as_asked("b")) as (model, (bad, good)):
        answers = [await said(model, place) for place in PLACES[:10]]

    assert answers == ["b"] * 10
    assert len(bad.requests) == 1
    assert len(good.requests) == 10


async def test_a_whole_answer_moves_as_well() -> None:
    """Side calls ask for those; they belong to no conversation and are dealt out."""
    async with model_on(error_answer(500), answer_as_asked("b")) as (model, (bad, _good)):
        answers = [(await model.chat([Message("user", "Hello?")])).content for _ in range(6)]

    assert answers == ["b"] * 6
    assert len(bad.requests) == 1


async def test_a_reply_that_has_begun_is_not_begun_again_elsewhere() -> None:
    """Its words stand in the channel already."""
    begun = raw_answer(head(), event("It was "))
    async with model_on(begun, begun) as (model, servers):
        heard: list[str] = []

        async def listen() -> None:
            async for piece in model.start(request("ember 1")):
                heard.append(piece)

        with pytest.raises(ModelError):
            await listen()

    assert heard == ["It was "]
    assert sum(len(server.requests) for server in servers) == 1


async def test_when_all_fail_each_is_tried_as_often_as_one_alone_would_be() -> None:
    """Then the failure is told; a prompt that is too long is told at once."""
    async with model_on(error_answer(500), error_answer(500)) as (model, servers):
        with pytest.raises(ModelError):
            await said(model, "ember 1")
        assert [len(server.requests) for server in servers] == [model.retry.max_retries + 1] * 2

    too_long = error_answer(400, "This model's maximum context length is 8192 tokens.")
    async with model_on(too_long, too_long) as (model, servers):
        with pytest.raises(PromptTooLongError):
            await said(model, "ember 1")
        assert sum(len(server.requests) for server in servers) == 1


async def test_each_server_has_the_calls_at_a_time_to_itself() -> None:
    """What one may be given at once says nothing of the others."""
    opened = asyncio.Event()

    async def wait(server: ModelServer, writer: asyncio.StreamWriter) -> None:
        if sum(each.running for each in servers) == 4:
            opened.set()
        await opened.wait()
        await answer_as_asked("ok")(server, writer)

    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(ModelServer([wait])) for _ in range(2)]
        config = LLMSlotConfig("m", base_url=servers[0].base_url, replicas=((servers[1].base_url, 1.0),), at_once=2)
        clients = create_llm_clients(
            None, CharacterConfig(llm=dict.fromkeys(LLM_SLOT_NAMES, config)), secrets=lambda _: None
        )
        model = clients["main_prose"]
        assert isinstance(model, ReplicatedModel)
        homes: dict[str, list[str]] = {server.base_url: [] for server in servers}
        chooser = ReplicaChooser({server.base_url: 1.0 for server in servers})
        for place in PLACES:
            homes[str(chooser.choose(place))].append(place)
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            for places in homes.values():
                for place in places[:3]:
                    tasks.create_task(said(model, place))
        for client in clients.values():
            await client.close()

    assert [server.most_running for server in servers] == [2, 2]


@given(left_out=st.integers(0, 3))
def test_a_server_that_leaves_moves_its_own_conversations_only(left_out: int) -> None:
    """Those of the others stay, and all come back with it."""
    clock = Clock()
    addresses = [f"http://gpu{number}/v1" for number in range(4)]
    chooser = ReplicaChooser(dict.fromkeys(addresses, 1.0), clock=clock)
    before = {place: chooser.choose(place) for place in PLACES}
    chooser.note_failure(addresses[left_out])
    during = {place: chooser.choose(place) for place in PLACES}
    clock.now += FIRST_REST_S
    after = {place: chooser.choose(place) for place in PLACES}

    moved = {place for place in PLACES if before[place] != during[place]}
    assert moved == {place for place in PLACES if before[place] == addresses[left_out]}
    assert addresses[left_out] not in during.values()
    assert after == before


def test_a_server_of_twice_the_weight_has_about_twice_the_conversations() -> None:
    """Also of calls that belong to none."""
    chooser = ReplicaChooser({"one": 1.0, "two": 2.0})
    placed = Counter(chooser.choose(f"place {number}") for number in range(3000))
    dealt = Counter(chooser.choose("") for _ in range(3000))

    for counted in (placed, dealt):
        assert 850 < counted["one"] < 1150


def test_a_server_that_goes_on_failing_rests_longer_and_longer() -> None:
    """Up to a bound; when all rest, the one that may work soonest is asked."""
    clock = Clock()
    chooser = ReplicaChooser({"a": 1.0, "b": 1.0}, clock=clock)
    rests = []
    for _ in range(10):
        chooser.note_failure("a")
        began = clock.now
        while not chooser.is_well("a"):
            clock.now += FIRST_REST_S
        rests.append(clock.now - began)
    assert rests == sorted(rests)
    assert (rests[0], rests[-1]) == (FIRST_REST_S, LONGEST_REST_S)

    chooser.note_failure("a")
    chooser.note_failure("b")
    assert {chooser.choose(place) for place in PLACES} == {"b"}
    assert chooser.choose("x", tried=["b"]) == "a"
    assert chooser.choose("x", tried=["a", "b"]) is None


def test_each_address_needs_the_owners_word_and_gets_no_key_of_another(tmp_path: Path) -> None:
    """As the address at `base_url` does."""
    trust = TrustedOrigins(tmp_path)
    trust.add("https://one.example", "MY_KEY")
    config = LLMSlotConfig(
        "m", base_url="https://one.example/v1", api_key_env="MY_KEY", replicas=(("https://two.example/v1", 1.0),)
    )
    settings = CharacterConfig(llm=dict.fromkeys(LLM_SLOT_NAMES, config))
    with pytest.raises(ConfigError, match=r"https://two\.example, which you have not allowed"):
        create_llm_clients(None, settings, secrets=lambda _: "sk-1", trust=trust)

    trust.add("https://two.example")
    model = create_llm_clients(None, settings, secrets=lambda _: "sk-1", trust=trust)["main_prose"]
    assert isinstance(model, ReplicatedModel)
    assert {each.base_url: each.api_key for each in model.servers.values()} == {
        "https://one.example/v1": "sk-1",
        "https://two.example/v1": None,
    }


@pytest.mark.parametrize(
    "written", ['["ftp://x"]', '["http://x/v1 weight=0"]', '["http://x/v1 heavy"]', '"http://x/v1"']
)
def test_what_is_no_list_of_addresses_is_told(written: str, tmp_path: Path) -> None:
    """With the file, the key and what is wanted; the address itself is not repeated."""
    file = tmp_path / "character.toml"
    file.write_text(f'[llm.default]\nmodel = "m"\nbase_url = "http://localhost:1/v1"\nreplicas = {written}\n')

    with pytest.raises(ConfigError, match=r"character\.toml: .*replicas must be a list of up to 64 addresses"):
        load_character_config(file)
