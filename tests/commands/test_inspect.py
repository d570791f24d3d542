"""inspect and replay: which turn is meant, pages, and the summary at the end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from familiar_connect.commands.turn_choice import find_turn
from familiar_connect.errors import HomeError
from familiar_connect.observe.ledger import SQLiteCollector
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program
from tests.fakes.scripted_familiar import scripted_familiar
from tests.fakes.terminal import TerminalSession
from tests.fakes.traces import a_trace


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    """A home in which three turns were made."""
    async with scripted_familiar(tmp_path, ["One.", "Two.", "Three."]) as house:
        for word in ("first", "second", "third"):
            await house.talk(f"{word} question")
    return tmp_path


def turn_ids(home: Path) -> list[str]:
    traces = SQLiteCollector(home / "familiars" / "ember" / "metrics.db").recent_traces(familiar_id="ember")
    return [trace.trace_id for trace in traces]


def test_a_turn_is_named_by_its_end_by_last_or_counted_back(home: Path) -> None:
    """`-2` is the one before the last."""
    newest, before, oldest = turn_ids(home)

    assert f"# Turn {newest}" in run_program(home, "inspect", "last").stdout
    assert f"# Turn {before}" in run_program(home, "inspect", "-2").stdout
    assert f"# Turn {oldest}" in run_program(home, "inspect", oldest[-5:]).stdout
    assert "second question" in run_program(home, "replay", "-2", "--as-sent").stdout


def test_a_turn_that_is_not_there_is_named_as_it_was_typed(home: Path) -> None:
    """Too far back, and unknown."""
    far, unknown = run_program(home, "inspect", "-9"), run_program(home, "inspect", "no-such")

    assert (far.returncode, unknown.returncode) == (1, 1)
    assert "no turn '-9'" in one_sentence(far)
    assert "no turn 'no-such'" in one_sentence(unknown)


def test_part_of_an_id_that_several_share_is_refused(tmp_path: Path) -> None:
    """With those it could be."""
    collector = SQLiteCollector(tmp_path / "metrics.db", flush_interval=1)
    for trace_id in ("2026-aa", "2026-bb"):
        collector.record(a_trace(trace_id, familiar_id="ember"))

    with pytest.raises(HomeError, match=r"2026-bb, 2026-aa"):
        find_turn(collector, "ember", "2026")
    assert find_turn(collector, "ember", "bb") == "2026-bb"
    assert find_turn(collector, "ember", "%") is None


def test_the_summary_comes_last(home: Path) -> None:
    """Turn, time, model and what was cut, where the screen stops."""
    summary = run_program(home, "inspect").stdout.rpartition("## Summary")[2]

    assert turn_ids(home)[0] in summary
    assert "nothing was cut" in summary
    assert "## " not in summary


def test_a_long_page_goes_through_the_pager(home: Path) -> None:
    """Where somebody watches; the pager is the person's own. Lines are broken at words, tables stand in columns."""
    pager, paged = home / "pager", home / "paged"
    pager.write_text(f'#!/bin/sh\necho "IN PAGES"; cat > {paged}\n', encoding="utf-8")
    pager.chmod(0o755)

    with TerminalSession(home, "inspect", columns=80, env={"PAGER": str(pager)}) as session:
        session.wait_for_text("IN PAGES")
        assert session.wait_end() == 0
    text = paged.read_text(encoding="utf-8")
    assert {line.count(" ") for line in text.splitlines() if len(line) > 80} <= {0}, "a long line that could be broken"
    assert "You always answer with one short sentence." in " ".join(text.split())
    assert re.search(r"^place  message  source +tag +layer +tokens  fate$", text, re.MULTILINE)


def test_a_reply_that_is_ended_here_is_not_said_to_cost_nothing(tmp_path: Path) -> None:
    """A model that goes on to speak for the person is stopped, so it never tells what it counted."""
    answers = [
        stream_answer("Hello.\n", "Sam: hi", "\nEmber: ho" * 50),
        stream_answer("Yes.", usage={"prompt_tokens": 99}),
    ]
    with model_endpoint(*answers) as server:
        make_home(tmp_path, server)
        done = run_program(tmp_path, "chat", "--plain", "--as", "Sam", said="hi\n/context\nso?\n/context\n")

    assert "stopped: it started speaking for someone else" in done.stdout
    (first,) = re.findall(
        r"(\d+) tokens in the prompt \(estimated\): about (\d+) in the blocks, (\d+) around", done.stdout
    )
    assert int(first[0]) == int(first[1]) + int(first[2])
    (sum_,) = re.findall(
        r"99 tokens in the prompt by the model's own count: about (\d+) in the blocks, (\d+) around \d+ messages, "
        r"and (\d+) fewer than estimated",
        done.stdout,
    )
    assert int(sum_[0]) + int(sum_[1]) - int(sum_[2]) == 99
    newest, oldest = run_program(tmp_path, "inspect", "--list").stdout.splitlines()[1:3]
    assert newest.split()[-3] == "99"
    assert re.fullmatch(r"~\d+", oldest.split()[-3])
