"""Which better model is offered: by memory, by cores, and by how fast this computer was measured to be."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from familiar_connect.config.folders import HomeFolder
from familiar_connect.llm.local.catalogue import SMALL_MODEL, CatalogueModel, read_catalogue
from familiar_connect.llm.local.discovery import find_local_servers
from familiar_connect.llm.upgrade import speed as speed_module
from familiar_connect.llm.upgrade.describe import describe_upgrade
from familiar_connect.llm.upgrade.offers import MOST_REPLY_S, choose_model
from familiar_connect.llm.upgrade.speed import SLOW, MachineSpeed, measure_speed
from tests.fakes.program import model_endpoint

CHAT = [each for each in read_catalogue() if not each.is_for_code]
PLENTY = 64 << 30
LAPTOP = MachineSpeed(read=2_000.0, write=400.0)
TWO_CORES = MachineSpeed(read=200.0, write=40.0)


def chosen(speed: MachineSpeed | None, *, free_bytes: int | None = PLENTY, cores: int = 4) -> str | None:
    found = choose_model(CHAT, free_bytes=free_bytes, speed=speed, cores=cores)
    return None if found is None else found.name


def test_the_best_chat_model_that_answers_soon_is_chosen() -> None:
    """A quick computer gets the best, a slower one the best of those within about five seconds."""
    middle = MachineSpeed(read=900.0, write=130.0)

    assert chosen(LAPTOP) == CHAT[0].name == "qwen3-4b"
    assert chosen(middle) == "qwen3-1.7b"
    assert middle.reply_seconds(CHAT[0].bytes, cores=4) > MOST_REPLY_S


def test_where_none_answers_soon_the_quickest_is_chosen_and_its_seconds_are_said() -> None:
    """The person decides, with the number."""
    found = choose_model(CHAT, free_bytes=PLENTY, speed=TWO_CORES, cores=2)

    assert found is not None
    assert found.entry is not None
    assert found.seconds is not None
    assert found.entry.bytes == min(each.bytes for each in CHAT)
    assert found.seconds > MOST_REPLY_S
    assert f"about {round(found.seconds)} s a reply on this computer" in describe_upgrade(found)


def test_a_computer_too_slow_to_measure_is_said_to_be_slow() -> None:
    """No number is made up."""
    found = choose_model(CHAT, free_bytes=PLENTY, speed=SLOW, cores=2)

    assert found is not None
    assert "slow on this computer" in describe_upgrade(found)


def test_memory_that_is_not_free_rules_a_model_out() -> None:
    """Nothing is offered where nothing fits; without a measurement the smallest is."""
    needed = {each.name: each.memory_bytes for each in CHAT}

    assert chosen(LAPTOP, free_bytes=needed["qwen3-4b"]) == "llama-3.2-3b"
    assert chosen(LAPTOP, free_bytes=1 << 30) is None
    assert chosen(None, free_bytes=None) == "qwen3-1.7b"


def test_many_cores_read_faster() -> None:
    """The small model is measured on four threads at most."""
    assert TWO_CORES.reply_seconds(10**9, cores=16) < TWO_CORES.reply_seconds(10**9, cores=4)


def test_models_for_code_are_marked_in_the_catalogue() -> None:
    """All that come as packages are."""
    for each in read_catalogue():
        assert each.is_for_code == ("coder" in each.name) == (each.packages is not None)


def test_a_model_for_code_is_named_as_what_it_is() -> None:
    """In the offer itself."""
    coder = next(each for each in read_catalogue() if each.is_for_code)
    found = choose_model([coder], free_bytes=None, speed=None)

    assert found is not None
    assert "it was made for code" in describe_upgrade(found)


async def test_a_measurement_that_takes_too_long_is_given_up_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The computer counts as slow, this time."""

    async def never(home: Path) -> MachineSpeed:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(speed_module, "_measure", never)
    monkeypatch.setattr(speed_module, "MEASURE_S", 0.01)

    assert await measure_speed(tmp_path) == SLOW
    assert not HomeFolder(tmp_path).speed_file.exists()


async def test_a_measurement_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later chat reads what the first one found; a file that makes no sense is measured again."""
    times = 0

    async def measure(home: Path) -> MachineSpeed:
        nonlocal times
        times += 1
        return LAPTOP

    monkeypatch.setattr(speed_module, "_measure", measure)
    assert [await measure_speed(tmp_path), await measure_speed(tmp_path)] == [LAPTOP, LAPTOP]
    file = HomeFolder(tmp_path).speed_file
    assert (times, json.loads(file.read_text(encoding="utf-8"))) == (1, asdict(LAPTOP))
    file.write_text('{"read": -1, "write": "x"}', encoding="utf-8")
    await measure_speed(tmp_path)

    assert times == 2


@pytest.mark.slow
async def test_this_computer_is_measured_with_the_small_model_itself(tmp_path: Path) -> None:
    """Within the time it may take; a busy computer counts as slow."""
    found = await measure_speed(tmp_path)

    assert found is None or (found.read >= SLOW.read and found.write >= SLOW.write)


@pytest.mark.parametrize(
    ("told", "is_found"),
    [("127.0.0.1:{port}", True), ("http://localhost:{port}", True), (":{port}", True), ("10.0.0.7:{port}", False)],
)
def test_ollama_is_found_where_its_own_variable_says(
    told: str, is_found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On this computer only."""
    with model_endpoint() as server:
        server.models = ["llama3.2"]
        monkeypatch.setenv("OLLAMA_HOST", told.format(port=server.port))
        there = [each for each in find_local_servers() if each.base_url == server.base_url]

    assert [each.kind for each in there] == (["Ollama"] if is_found else [])


@pytest.mark.parametrize("told", ["", "nonsense", "127.0.0.1:x", "[::1", "127.0.0.1:99999999"])
def test_an_odd_address_of_ollama_is_passed_over(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual ports are still looked at."""
    monkeypatch.setenv("OLLAMA_HOST", told)

    assert isinstance(find_local_servers(), list)


def test_looking_for_servers_on_this_computer_reads_no_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain HTTP has none; five ports once read the system's five times, a third of a second at the start of a chat."""
    monkeypatch.setattr("httpcore2.default_ssl_context", lambda **_: pytest.fail("certificates were read"))

    assert isinstance(find_local_servers(), list)


def test_the_small_model_itself_is_never_an_upgrade() -> None:
    """It is not in the list of what can be fetched for a chat."""
    names = {each.name for each in read_catalogue()}

    assert isinstance(SMALL_MODEL, CatalogueModel)
    assert SMALL_MODEL.name not in names
