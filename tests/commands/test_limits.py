"""Limits seen from outside: the program in a process of its own, an endpoint that tells what it cost."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from familiar_connect.identity import Author
from familiar_connect.support.clock import SystemClock
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program
from tests.fakes.scripted_familiar import scripted_familiar

USAGE = {"prompt_tokens": 900, "completion_tokens": 100, "cost": 0.5}
STRANGER = Author("discord", "4711471147114711", "stranger", "Stranger")
REHEARSAL = Path(__file__).parents[2] / "examples" / "rehearse" / "limits_kept.json"


def set_limits(root: Path, *lines: str) -> None:
    settings = root / "character.toml"
    text = settings.read_text(encoding="utf-8").replace("[limits]", "\n".join(["[limits]", *lines]))
    settings.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("line", ["money_per_day = 0.6", "tokens_per_day = 1500"])
def test_the_days_cap_ends_the_talk_also_after_a_restart(tmp_path: Path, line: str) -> None:
    """Two replies of 1,000 tokens and 0.50 each; then the sentence with the setting to change, and no call."""
    with model_endpoint(stream_answer("Hi.", usage=USAGE)) as server:
        root = make_home(tmp_path, server)
        set_limits(root, line)
        first = run_program(tmp_path, "chat", "--plain", said="one\ntwo\nthree\n")
        again = run_program(tmp_path, "chat", "--plain", said="four\n")
        shown = run_program(tmp_path, "metrics", "--spending", "--json")
        page = run_program(tmp_path, "inspect")

    said = first.stdout + first.stderr
    assert said.count("Today's limit is reached") == 1
    assert f"[limits] {line.split()[0]}" in said
    assert "Today's limit is reached" in again.stdout + again.stderr
    assert len(server.requests) == 2
    facts = json.loads(shown.stdout)
    assert (facts["tokens"], facts["money"], facts["calls"]) == (2000, 1.0, 2)
    assert [refused["messages"] for refused in facts["not_answered"]] == [2]
    assert "Not answered today" in page.stdout
    assert line.split()[0] in page.stdout


def test_metrics_shows_what_today_cost_by_the_prices_in_the_settings(tmp_path: Path) -> None:
    """An endpoint that only counts tokens; two and ten for a million of them."""
    usage = {"prompt_tokens": 100_000, "completion_tokens": 10_000}
    with model_endpoint(stream_answer("Hi.", usage=usage)) as server:
        root = make_home(tmp_path, server)
        with (root / "character.toml").open("a", encoding="utf-8") as settings:
            settings.write("price_per_million_input = 2.0\nprice_per_million_output = 10.0\n")
        run_program(tmp_path, "chat", "--plain", said="one\n")
        report = run_program(tmp_path, "metrics")

    assert report.returncode == 0, report.stderr
    assert "110,000" in report.stdout
    assert "0.3000" in report.stdout


def test_people_are_put_on_the_list_and_taken_off_by_the_command_line(tmp_path: Path) -> None:
    """By platform:id, or by a name that is known; a name that is not is one sentence."""
    make_home(tmp_path)
    unknown = run_program(tmp_path, "ignore", "add", "Nobody")
    added = run_program(tmp_path, "ignore", "add", "discord:4711")
    listed = json.loads(run_program(tmp_path, "ignore", "list", "--json").stdout)
    removed = run_program(tmp_path, "ignore", "remove", "discord:4711")
    twice = run_program(tmp_path, "ignore", "remove", "discord:4711")
    empty = run_program(tmp_path, "ignore", "list")

    assert (unknown.returncode, added.returncode, removed.returncode, twice.returncode) == (1, 0, 0, 1)
    assert "no one called 'Nobody' is known" in one_sentence(unknown)
    assert listed == [{"person": "discord:4711", "name": ""}]
    assert "No one is ignored." in empty.stdout


def test_the_owner_ignores_somebody_from_the_terminal(tmp_path: Path) -> None:
    """The same command as on Discord, for the same list."""
    with model_endpoint(stream_answer("Hi.")) as server:
        make_home(tmp_path, server)
        done = run_program(tmp_path, "chat", "--plain", said="/ignore discord:4711\n/ignore\n/unignore discord:4711\n")

    assert "I ignore discord:4711 from now on" in done.stdout
    assert "I ignore discord:4711. " in done.stdout
    assert "I answer 4711 again." in done.stdout


def test_the_rehearsal_of_limits_holds(tmp_path: Path) -> None:
    """Rate, ignoring and a restart in between, as the guide tells it."""
    done = run_program(tmp_path, "rehearse", str(REHEARSAL), "--scripted")

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("I cannot keep up") == 1


async def test_forgetting_somebody_takes_them_out_of_the_spending(tmp_path: Path) -> None:
    """The sum of the day stays."""
    async with scripted_familiar(tmp_path, ["Hello."], clock=SystemClock()) as house:
        await house.talk("hi", author=STRANGER, timestamp=datetime.now(UTC))
    before = json.loads(run_program(tmp_path, "metrics", "--spending", "--json").stdout)
    done = run_program(tmp_path, "memory", "forget", STRANGER.canonical_key, "--yes")
    after = json.loads(run_program(tmp_path, "metrics", "--spending", "--json").stdout)

    assert done.returncode == 0, done.stderr
    assert list(before["people"]) == [STRANGER.canonical_key]
    assert after["people"] == {}
    assert after["tokens"] == before["tokens"] > 0
