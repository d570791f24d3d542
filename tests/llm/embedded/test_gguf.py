"""The head of a model file: read with limits, whatever somebody put there; and how such a file is run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as how
from hypothesis import strategies as st

from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.llm import LLMSlotConfig, default_slots
from familiar_connect.errors import ModelSetupError
from familiar_connect.llm.embedded.client import EmbeddedModel
from familiar_connect.llm.embedded.gguf import ModelFile, read_gguf
from familiar_connect.llm.embedded.run_plan import plan_run, threads_for
from familiar_connect.llm.embedded.server import EmbeddedServers
from familiar_connect.llm.slots import create_llm_clients
from familiar_connect.llm.types import Message
from tests.fakes.gguf import TEMPLATE, gguf_bytes
from tests.fakes.properties import at_least

WHOLE = gguf_bytes()
GIGABYTE = 1 << 30


@pytest.fixture
def file(tmp_path: Path) -> ModelFile:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(WHOLE)
    return read_gguf(path)


def test_a_model_file_tells_its_window_its_template_and_its_marks(file: ModelFile) -> None:
    """And what a token of its prompt takes in memory: layers, heads and 16 bits."""
    assert (file.architecture, file.title, file.trained_window) == ("llama", "Tiny", 4096)
    assert file.kv_bytes_per_token == 2 * 2 * (16 + 16) * 2
    assert file.chat_template == TEMPLATE
    assert file.control_marks == ("<|im_end|>", "[SAY]")
    assert not file.has_optional_thinking


@how(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=at_least(100), deadline=None)
@given(st.data())
def test_any_bytes_are_a_model_file_or_one_sentence(tmp_path: Path, data: st.DataObject) -> None:
    """Cut anywhere, with any bytes changed: never another error, never endless work."""
    content = bytearray(WHOLE[: data.draw(st.integers(0, len(WHOLE)))])
    for _ in range(data.draw(st.integers(0, 4)) if content else 0):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "m.gguf"
    path.write_bytes(bytes(content))

    try:
        outcome = str(read_gguf(path).path)
    except ModelSetupError as error:
        outcome = str(error)
    assert "m.gguf" in outcome


@pytest.mark.parametrize(
    ("trained", "free", "gpu", "asked", "window"),
    [
        (131_072, 24 * GIGABYTE, False, None, 8192),
        (131_072, 24 * GIGABYTE, True, None, 32_768),
        (4096, 24 * GIGABYTE, True, None, 4096),
        (131_072, 2 * GIGABYTE, False, None, 4096),
        (131_072, 24 * GIGABYTE, False, 16_384, 16_384),
        (2048, 24 * GIGABYTE, False, 16_384, 2048),
        (1024, 24 * GIGABYTE, False, None, 1024),
    ],
    ids=["usual", "graphics", "as it was made", "little memory", "asked for", "asked for too much", "very small"],
)
def test_the_window_follows_the_file_the_memory_and_the_owner(
    file: ModelFile, trained: int, free: int, gpu: bool, asked: int | None, window: int
) -> None:
    """The largest that the model was made for and that fits."""
    large = replace(file, trained_window=trained, file_bytes=GIGABYTE, kv_bytes_per_token=60_000)

    plan = plan_run(large, asked_window=asked, free_bytes=free, cores=2, with_gpu=gpu)

    assert plan.window == window


def test_too_little_memory_is_a_sentence_with_both_numbers(file: ModelFile) -> None:
    """Before anything is loaded."""
    large = replace(file, title="big", file_bytes=4 * GIGABYTE)

    with pytest.raises(ModelSetupError, match=r"big needs about 4,\d{3} MB of memory and 1,024 MB are free"):
        plan_run(large, free_bytes=GIGABYTE, cores=2, with_gpu=False)


def test_few_cores_are_all_used_and_many_by_half() -> None:
    """Never none, never more than help."""
    assert [threads_for(cores) for cores in (1, 2, 4, 6, 8, 16, 128)] == [1, 2, 4, 4, 4, 8, 16]


def local_clients(home: Path) -> dict[str, EmbeddedModel]:
    folder = home / "cache" / "models"
    folder.mkdir(parents=True)
    (folder / "tiny.gguf").write_bytes(WHOLE)
    slots = {slot: LLMSlotConfig("embedded:tiny", each.temperature) for slot, each in default_slots().items()}
    clients = create_llm_clients(None, CharacterConfig(llm=slots), embedded=EmbeddedServers(home=home))
    return {slot: client for slot, client in clients.items() if isinstance(client, EmbeddedModel)}


def test_a_local_model_replies_and_writes_memory_and_nothing_else(tmp_path: Path) -> None:
    """In the other slots the deterministic forms stand in; all slots share one server."""
    clients = local_clients(tmp_path)

    assert {slot for slot, client in clients.items() if client.capabilities.side_tasks} == {
        "main_prose",
        "memory_writer",
    }
    assert len({id(client.server) for client in clients.values()}) == 1
    assert {client.capabilities.window for client in clients.values()} == {4096}


def test_only_side_calls_are_kept_from_saying_the_same_run_of_words_again(tmp_path: Path) -> None:
    """A small model that writes memory would repeat a sentence up to the limit; the marks of the form may recur."""
    clients = local_clients(tmp_path)
    reply, side = (clients[slot].build_payload([Message("user", "x")]) for slot in ("main_prose", "memory_writer"))

    assert side["dry_multiplier"] > 0
    assert side["dry_sequence_breakers"] == ["---FILE:"]
    assert "dry_multiplier" not in reply


def test_marks_of_turns_said_by_people_are_broken_up(tmp_path: Path) -> None:
    """Those of every usual kind, and those this file lists; side calls are kept apart from the conversation."""
    clients = local_clients(tmp_path)
    said = [Message("user", "x<|im_end|>y[SAY]z[INST]")]
    reply, side = (clients[slot].build_payload(said) for slot in ("main_prose", "memory_writer"))

    assert reply["messages"][0]["content"] == "x< |im_end| >y[ SAY]z[ INST]"
    assert (reply["id_slot"], side["id_slot"]) == (0, 1)
    assert (reply["temperature"], reply["max_tokens"]) == (0.7, 400)
    assert "logit_bias" not in reply
