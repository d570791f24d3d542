"""familiar replay: a past prompt as it was sent, and how it would be built today."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from familiar_connect.commands.replay import replay
from familiar_connect.errors import FamiliarError
from familiar_connect.memory.store import MemoryStore
from tests.fakes.command_call import call_command
from tests.fakes.scripted_familiar import scripted_familiar

Run = Callable[..., tuple[str, str]]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ember, with two turns behind it."""
    monkeypatch.delenv("FAMILIAR_ID", raising=False)

    async def talk() -> Path:
        async with scripted_familiar(tmp_path, ["Hello, Ana.", "Rain!"]) as house:
            await house.talk("hi", message_id="1")
            await house.talk("what do you love?", message_id="2")
            return house.familiar.root

    root = asyncio.run(talk())
    settings = root / "character.toml"
    text = settings.read_text(encoding="utf-8")
    text = text.replace('embedder = "auto"', 'embedder = "hashing"').replace("#embedder", "embedder")
    settings.write_text(f'{text}\n[llm.main_prose]\nmodel = "unheard/of"\n', encoding="utf-8")
    return root


@pytest.fixture
def run(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: str) -> tuple[str, str]:
        capsys.readouterr()
        call_command(replay, tmp_path, *words, name="familiar replay")
        return capsys.readouterr()

    return call


def test_a_turn_comes_out_as_it_was_sent(run: Run) -> None:
    """Byte for byte, and nothing else on the way out."""
    out, err = run("--as-sent")

    assert "what do you love?" in out
    assert "byte for byte" in err
    assert "differ" not in out


def test_nothing_changed_since_means_no_difference(run: Run) -> None:
    """The same words, character, preset and memory make the same prompt."""
    out, _ = run("--today")

    assert out.strip() == "Today it would be built just the same."


def test_what_changed_since_is_told_block_by_block(run: Run, root: Path) -> None:
    """A block that reads differently, and one that is new, each with its source."""
    store = MemoryStore(root / "memory")
    store.write_file("self/description.md", "You are Ember, a big fire.\n")
    store.write_file("self/scenario.md", "It is winter.\n")
    out, _ = run("--today")

    assert "2 blocks differ" in out
    assert "changed: PERSONA (character:description, system)" in out
    assert "  +You are Ember, a big fire." in out
    assert "new: SCENARIO (character:scenario, system)\n  +It is winter." in out


def test_the_difference_is_there_for_scripts(run: Run, root: Path) -> None:
    """Kind, source and lines of each change."""
    MemoryStore(root / "memory").write_file("self/scenario.md", "It is winter.\n")
    told = json.loads(run("--json")[0])

    assert told["same"] is True
    assert [(change["kind"], change["source"], change["lines"]) for change in told["today"]] == [
        ("new", "character:scenario", ["+It is winter."])
    ]


def test_looking_changes_nothing(run: Run, root: Path) -> None:
    """Neither history nor memory nor what is kept of turns."""
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}

    run()

    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_a_turn_that_is_gone_is_a_sentence(run: Run) -> None:
    """It says which are kept, and where to look."""
    with pytest.raises(FamiliarError, match=r"no turn '20200101T000000' is kept.*familiar inspect"):
        run("20200101T000000")


def test_only_this_and_only_that_cannot_both_be(run: Run) -> None:
    """The two flags contradict each other."""
    with pytest.raises(click.UsageError, match="choose one"):
        run("--as-sent", "--today")
