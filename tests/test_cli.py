"""The program around its verbs: what people type, mistakes in one sentence, readers who leave."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.cli import FIRST_VERBS, MORE_VERBS, VERBS, main
from familiar_connect.history.store import HistoryStore
from familiar_connect.observe.ledger import SQLiteCollector
from tests.fakes.program import make_home
from tests.fakes.program_process import PROGRAM, environment
from tests.fakes.scripted_familiar import scripted_familiar
from tests.fakes.traces import a_trace

Shown = pytest.CaptureFixture[str]


def call(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """`familiar WORDS` in this process."""
    for name in ("FAMILIAR_HOME", "FAMILIAR_ID", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "argv", ["familiar", *words])
    return main()


@pytest.mark.parametrize("words", [["help"], ["help", "chat"]])
def test_help_is_a_verb_too(monkeypatch: pytest.MonkeyPatch, capsys: Shown, words: list[str]) -> None:
    """Of the program, or of the verb named after it."""
    assert call(monkeypatch, *words) == 0
    assert f"Usage: {' '.join(['familiar', *words[1:]])}" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "columns"), [(["-h"], 80), (["help"], 110), ([], 80), (["-h"], 40)])
def test_help_fits_a_screen_and_names_every_verb(
    monkeypatch: pytest.MonkeyPatch, capsys: Shown, words: list[str], columns: int
) -> None:
    """In 24 lines with the prompt below them, in a narrow window too, each verb once."""
    monkeypatch.setenv("COLUMNS", str(columns))
    assert call(monkeypatch, *words) == 0
    shown = capsys.readouterr().out
    lines = shown.rstrip().splitlines()

    assert len(lines) < 24
    assert max(map(len, lines)) <= columns
    assert sorted([*FIRST_VERBS, *(verb for verbs in MORE_VERBS.values() for verb in verbs)]) == sorted(VERBS)
    assert [verb for verb in VERBS if verb not in shown] == []


def test_help_all_explains_every_verb_and_option(monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    """`-h` names it as the way to the rest."""
    assert call(monkeypatch, "-h") == 0
    assert "`familiar help --all` lists everything" in capsys.readouterr().out
    assert call(monkeypatch, "help", "--all") == 0
    shown = " ".join(capsys.readouterr().out.split())

    assert [verb for verb, (_, says) in VERBS.items() if f"{verb} {says}" not in shown] == []
    assert "--home PATH" in shown
    assert "Examples: familiar chat" in shown


@pytest.mark.parametrize(("given", "threads"), [(None, "1"), ("3", "3")])
def test_numpy_is_loaded_without_threads_that_spin(
    monkeypatch: pytest.MonkeyPatch, given: str | None, threads: str
) -> None:
    """They cost each start 20 ms for every core; who sets a number of them has it."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", given or "")
    if given is None:
        monkeypatch.delenv("OPENBLAS_NUM_THREADS")

    assert call(monkeypatch, "--version") == 0
    assert os.environ["OPENBLAS_NUM_THREADS"] == threads


def test_an_option_of_the_program_after_the_verb_is_put_right(
    monkeypatch: pytest.MonkeyPatch, capsys: Shown, tmp_path: Path
) -> None:
    """The sentence shows where it stands."""
    assert call(monkeypatch, "chat", "--home", str(tmp_path)) == 2
    assert "--home goes before the verb" in capsys.readouterr().err


def test_a_home_of_nobody_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    """As an option and in the environment."""
    assert call(monkeypatch, "--home", "~nosuchuser/x", "list") == 1
    assert "~nosuchuser/x" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["familiar", "list"])
    monkeypatch.setenv("FAMILIAR_HOME", "~nosuchuser/x")
    assert main() == 1
    assert "~nosuchuser/x" in capsys.readouterr().err


@pytest.mark.parametrize("last", ["99999999999999999999", "-3", "0"])
@pytest.mark.parametrize("verb", [["metrics"], ["inspect", "--list"]])
def test_a_number_of_turns_out_of_range_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: Shown, verb: list[str], last: str
) -> None:
    """Too many, or too few."""
    assert call(monkeypatch, *verb, "--last", last) == 2
    assert "--last" in capsys.readouterr().err


def test_a_reader_who_leaves_is_no_failure(tmp_path: Path) -> None:
    """`familiar … | head -1` ends well and quietly, whichever verb it is."""
    root = make_home(tmp_path)
    (root / "memory" / "self" / "long.md").write_text("line\n" * 200_000, encoding="utf-8")
    with subprocess.Popen(
        [*PROGRAM, "memory", "show", "self/long.md"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.readline()
        program.stdout.close()
        said = program.stderr.read()
        assert (program.wait(60), said) == (0, b"")


def test_list_counts_turns_whatever_ails_the_settings(
    monkeypatch: pytest.MonkeyPatch, capsys: Shown, tmp_path: Path
) -> None:
    """And a name that commands the terminal does not."""
    root = make_starter(tmp_path, "mira", name="Mi\x1b[31mra")
    store = HistoryStore(root / "history.db")
    store.append_turn(familiar_id="mira", channel_id=1, role="user", content="hi")
    store.close()
    (root / "character.toml").write_text("nonsense = 1", encoding="utf-8")

    assert call(monkeypatch, "--home", str(tmp_path), "list") == 0
    shown = capsys.readouterr().out
    assert "1 turn\n" in shown
    assert "nonsense" in shown
    assert "\x1b" not in shown


def test_settings_equal_to_the_default_are_not_changed(
    monkeypatch: pytest.MonkeyPatch, capsys: Shown, tmp_path: Path
) -> None:
    """With none changed, a sentence says so."""
    root = make_home(tmp_path)
    (root / "character.toml").write_text('[llm.default]\nmodel = "embedded"\n', encoding="utf-8")

    assert call(monkeypatch, "--home", str(tmp_path), "config", "show", "--changed") == 0
    assert capsys.readouterr().out == "Nothing is changed: every setting is at its default.\n"


@pytest.fixture
async def lived_in(tmp_path: Path) -> Path:
    """A home in which two turns were made, one of them by someone who types escapes."""
    async with scripted_familiar(tmp_path, ["One\x1b[5m.", "Two."]) as house:
        await house.talk("first \x1b]0;owned\x07 question")
        await house.talk("second question")
    return tmp_path


@pytest.mark.parametrize("verb", [["inspect"], ["replay"], ["inspect", "--list"], ["metrics"], ["inspect", "--json"]])
def test_no_verb_hands_escapes_to_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: Shown, lived_in: Path, verb: list[str]
) -> None:
    """Whoever said the words."""
    assert call(monkeypatch, "--home", str(lived_in), *verb) == 0
    shown = "".join(capsys.readouterr())
    assert "\x1b" not in shown
    assert "\x07" not in shown


def test_an_earlier_turn_is_shown_with_its_own_prompt(
    monkeypatch: pytest.MonkeyPatch, capsys: Shown, lived_in: Path
) -> None:
    """Never with the latest one's."""
    _, earlier = SQLiteCollector(lived_in / "familiars" / "ember" / "metrics.db").recent_traces(familiar_id="ember")

    assert call(monkeypatch, "--home", str(lived_in), "inspect", earlier.trace_id) == 0
    page = capsys.readouterr().out
    assert "rebuilt from the replay record" in page
    assert "second question" not in page


def test_a_trace_newer_than_the_page_does_not_borrow_it(
    monkeypatch: pytest.MonkeyPatch, capsys: Shown, lived_in: Path
) -> None:
    """A turn whose prompt is not on disk is said to have none."""
    path = lived_in / "familiars" / "ember" / "metrics.db"
    latest = SQLiteCollector(path).last_trace("ember")
    assert latest is not None
    newer = a_trace("newer", familiar_id="ember", channel_id=latest.channel_id, timestamp="2999-01-01T00:00:00+00:00")
    SQLiteCollector(path, flush_interval=1).record(newer)

    assert call(monkeypatch, "--home", str(lived_in), "inspect") == 0
    page = capsys.readouterr().out
    assert "not on disk" in page
    assert "question" not in page


def test_a_hint_can_be_pasted_as_it_stands(tmp_path: Path) -> None:
    """It starts the program the way it was started, in the home that was named."""
    home = tmp_path / "my home"
    make_starter(home, "mira")
    env = environment(tmp_path / "elsewhere", {"FAMILIAR_COMMAND": ""})

    refused = subprocess.run(
        [*PROGRAM, "--home", str(home), "inspect"], env=env, capture_output=True, text=True, check=False
    )
    hint = refused.stderr.split("`")[1]
    pasted = subprocess.run(
        hint, shell=True, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )

    assert hint.endswith("chat --familiar mira")
    assert pasted.returncode == 0, pasted.stderr
    assert "Ember speaks through" in pasted.stderr


@pytest.mark.parametrize("command", ["python3 run.py", ".venv/bin/familiar", "/opt/familiar/bin/familiar"])
def test_help_is_written_as_the_program_was_started(tmp_path: Path, command: str) -> None:
    """Usage and examples alike."""
    done = subprocess.run(
        [*PROGRAM, "help", "chat"],
        env=environment(tmp_path, {"FAMILIAR_COMMAND": command}),
        capture_output=True,
        text=True,
        check=False,
    )

    assert f"Usage: {command} chat [OPTIONS]" in done.stdout
    assert f"  {command} chat --new" in done.stdout
