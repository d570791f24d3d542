"""Short forms of the trials a familiar on Discord must stand: each with the real library, in a process of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

pytest.importorskip("discord", reason="the Discord library is an extra")

from benchmarks.reliability import addressed, bursts, cuts, kills, load, soak
from benchmarks.reliability.door_kills import trial as doors
from benchmarks.reliability.door_kills.campaign import Runner, running_runner
from benchmarks.reliability.door_kills.doors import DOORS
from benchmarks.reliability.traffic import generate_traffic, number_of
from benchmarks.reliability.trouble import trial as trouble


async def test_under_load_nothing_is_lost_or_doubled_and_who_asks_is_answered_in_order() -> None:
    """Forty messages a second in ten channels."""
    found = await load.play("child", seconds=2.0, per_second=40.0, rooms=10, people=20)

    assert found["heard"] == {"said": 80, "lost": 0, "twice": 0, "disordered": 0}
    assert found["answers"]["answered"] == found["answers"]["asked"] > 0
    assert found["answers"]["answered_twice"] == 0
    assert found["disordered_replies"] == 0


async def test_over_a_bad_line_everyone_who_asks_is_answered_once_or_reported() -> None:
    """The gateway is cut again and again, and one request in five goes wrong."""
    found = await cuts.measure(seconds=4.0, cut_every_s=0.8)

    assert found["cuts"] >= 2
    assert found["heard"] == {"said": 40, "lost": 0, "twice": 0, "disordered": 0}
    assert (found["answers"]["neither"], found["answers"]["answered_twice"]) == (0, 0)
    assert found["posted"] == found["answers"]["replies"]


async def test_whoever_speaks_to_it_is_answered_once_or_told_why_not() -> None:
    """Twenty mentions, replies and direct messages among chatter, with a side model that would let all of them pass."""
    found = await addressed.measure(asked=20, per_second=8.0)

    assert found["heard"] == {"said": 60, "lost": 0, "twice": 0, "disordered": 0}
    assert (found["answers"]["neither"], found["answers"]["answered_twice"]) == (0, 0)
    assert found["answers"]["answered"] > 0
    assert found["told"] >= found["failed"]


async def test_each_of_many_askers_is_answered_once_though_they_edit_delete_and_repeat() -> None:
    """Twenty mentions in bursts, by people and by PluralKit; no answer is to words that were known to be gone."""
    found = await bursts.measure(mentions=20, seed=34)

    assert (found["unanswered"], found["twice"], found["misnamed"], found["outdated"]) == ([], [], [], [])
    assert found["answered"] > 0


async def test_killed_around_a_post_the_real_program_answers_each_question_once_and_remembers_what_it_said() -> None:
    """`familiar run`, killed at eight moments one after another; by hand each is started cold."""
    found = await kills.measure(rounds=8, is_forked=True)

    assert (found["heard"]["lost"], found["heard"]["twice"]) == (0, 0)
    assert found["posted"] == found["in_history"] > 0
    assert (found["recorded_twice"], found["said_twice"]) == (0, 0)
    assert (found["never_answered"], found["half_answered"]) == (0, 0)


async def test_a_soak_reads_what_the_process_holds_after_each_round() -> None:
    """A few dozen messages: all stored, the asked ones answered, and tasks and handles counted."""
    found = await soak.measure(heard=40, answered=8, rounds=2, is_shown=False)
    last = found["curve"][-1]

    assert (len(found["curve"]), last["heard"]) == (3, 40)
    assert last["answered"] > 0
    assert last["tasks"] < 20
    assert 0 < last["threads"] < last["pooled"]
    assert 0 < last["held"] < last["heap_in_use"] < last["rss"]
    assert 0 < last["cache_bytes"] == sum(last["caches"].values()) < last["held"]
    assert 0 < last["cached"] <= last["cached_most"]


@pytest.mark.parametrize(
    ("part", "leak", "is_flat"),
    [
        ("held", 0, True),
        ("held", 10_000, False),
        ("cache_bytes", 100_000, False),
        ("cache_bytes", 1_000, True),
        ("objects", 20, False),
        ("threads", 1, False),
        ("index", 10_000, True),
    ],
)
def test_a_soak_is_judged_by_its_second_half_and_beside_the_parts_it_names(part: str, leak: int, is_flat: bool) -> None:
    """Caches that fill in the first half, and the index, may grow; nothing else may go on growing."""
    named = (
        "held",
        "objects",
        "index",
        "sqlite",
        "cache_bytes",
        "heap_free",
        "rss",
        "handles",
        "tasks",
        "threads",
        "pooled",
        "cached",
        "pages",
        "files",
        "file_bytes",
    )
    curve = [
        {"heard": 2_500 * number, "answered": 125 * number, "caches": {"TurnRows": 10}, "by_type": {"str": 5}}
        | dict.fromkeys(named, 10 * min(number, 20))
        | {part: 10 * min(number, 20) + leak * 125 * number}
        for number in range(41)
    ]

    verdicts = [row.ok for row in soak.rows({"curve": curve, "seconds": 1.0}) if row.ok is not None]

    assert len(verdicts) == 5
    assert all(verdicts) is is_flat


def test_traffic_is_the_same_for_the_same_seed_and_every_message_can_be_told() -> None:
    """Each carries its number, and about the share asked for is said to the familiar."""
    facts = {"seconds": 10.0, "per_second": 100.0, "rooms": 50, "people": 200, "asked": 0.1, "mention": "<@1>"}
    first, again = (list(generate_traffic(**facts)) for _ in range(2))  # type: ignore[arg-type]

    assert first == again
    assert [number_of(said.text) for said in first] == list(range(1000))
    assert 60 < sum(said.is_asked for said in first) < 140
    assert {said.room for said in first} == set(range(50))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def runner() -> AsyncIterator[Runner]:
    """The program loaded once for all doors."""
    async with running_runner() as running:
        yield running


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("door", list(DOORS))
async def test_killed_at_its_writes_every_door_answers_once_or_tells(door: str, runner: Runner) -> None:
    """Two kills behind each of eight doors, at the system calls that write; by hand it is 200 behind each."""
    found = await doors.measure(kills=2, doors=[door], runner=runner)

    (verdict,) = found["doors"]
    assert (verdict["lost"], verdict["doubled"], verdict["silent"]) == ([], [], [])
    assert verdict["answered"] > 0


async def test_the_page_outlives_a_full_disk_and_a_lack_of_descriptors() -> None:
    """A question before and one after are answered and kept, and whoever asks meanwhile is told, without a traceback.

    By hand (`python -m benchmarks.reliability trouble`) every door is tried.
    """
    found = await trouble.measure(doors=["page"], troubles=["full disk", "no descriptors"])

    tried = [each for each in found["cells"] if "skipped" not in each]  # a disk of our own takes the rights of root
    assert [(each["trouble"], fault) for each in tried for fault in each["faults"]] == []
    assert "no descriptors" in [each["trouble"] for each in tried]
