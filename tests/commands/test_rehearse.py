"""familiar rehearse: as a program, with its exit codes, its JSON and the examples that come along."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "rehearse"
HELLO = {"in": "tea", "by": "ada", "say": "Ember, hi", "mention": True}
SHORT = {
    "familiar": {"settings": '[providers.content_search]\nembedder = "hashing"\n'},
    "people": {"ada": {"name": "Ada"}},
    "places": {"tea": {"server": "Tea House"}},
    "models": {"main_prose": {"say": ["Hello!"]}, "memory_writer": "echo"},
    "steps": [
        HELLO,
        {"write_up": True},
        {"expect": {"reply_in": "tea"}},
    ],
}


def file_of(folder: Path, **changes: object) -> str:
    path = folder / "short.json"
    path.write_text(json.dumps({**SHORT, **changes}), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "name",
    [
        "week_among_friends",
        "card_tried",
        "confidence_kept",
    ],
)
def test_the_examples_hold(name: str, tmp_path: Path) -> None:
    """Each plays to its end without a real model."""
    done = run_program(tmp_path, "rehearse", str(EXAMPLES / f"{name}.json"), "--scripted")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failed" in done.stdout


def test_the_same_file_and_seed_give_the_same_bytes(tmp_path: Path) -> None:
    """Steps, prompts and the files at the end, in two processes."""
    path = file_of(tmp_path)
    runs = [
        run_program(tmp_path / "home", "rehearse", path, "--json", "--seed", "7", env={"PYTHONHASHSEED": str(number)})
        for number in (1, 2)
    ]

    assert runs[0].stdout == runs[1].stdout
    *steps, last = [json.loads(line) for line in runs[0].stdout.splitlines()]
    assert [step["step"] for step in steps] == [1, 2, 3]
    assert (steps[0]["in"], steps[0]["replies"], steps[0]["calls"][0]["slot"]) == ("tea", ["Hello!"], "main_prose")
    assert {"answers", "withheld", "dropped", "failed"} <= steps[0].keys()
    assert (last["passed"], last["failed"]) == (1, 0)
    assert len(last["files"]["memory/people/discord-1001.md"]) == 64


def test_an_expectation_that_does_not_hold_ends_with_one_and_a_cross(tmp_path: Path) -> None:
    """And says which."""
    path = file_of(tmp_path, steps=[HELLO, {"expect": {"said_has": "Bye"}}])
    done = run_program(tmp_path, "rehearse", path)

    assert done.returncode == 1
    assert "✗ step 2: said_has: 'Bye' is not there" in done.stdout


def test_a_file_that_cannot_be_read_ends_with_two_and_one_sentence(tmp_path: Path) -> None:
    """With the place and the fix; settings and memory paths count too."""
    done = run_program(tmp_path, "rehearse", file_of(tmp_path, steps=[{"sya": "hi"}]))
    assert (done.returncode, "steps[0]" in one_sentence(done)) == (2, True)

    done = run_program(tmp_path, "rehearse", file_of(tmp_path, familiar={"settings": "chatiness = 1\n"}))
    assert (done.returncode, "short.json: familiar: settings" in one_sentence(done)) == (2, True)

    done = run_program(tmp_path, "rehearse", file_of(tmp_path, familiar={"memory": {"../x.md": "y"}}))
    assert (done.returncode, "familiar: memory" in one_sentence(done)) == (2, True)

    done = run_program(tmp_path, "rehearse", str(tmp_path / "none.json"))
    assert (done.returncode, "cannot be read" in one_sentence(done)) == (2, True)


def test_a_home_is_kept_where_asked_and_never_overwritten(tmp_path: Path) -> None:
    """A folder that holds something already is refused."""
    path = file_of(tmp_path)
    done = run_program(tmp_path / "home", "rehearse", path, "--keep", str(tmp_path / "tried"))
    again = run_program(tmp_path / "home", "rehearse", path, "--keep", str(tmp_path / "tried"))

    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "tried" / "familiars" / "ember" / "memory" / "people" / "discord-1001.md").exists()
    assert (again.returncode, "name a new folder" in again.stderr) == (2, True)


def test_a_slot_without_a_script_asks_the_familiars_own_model(tmp_path: Path) -> None:
    """On real time, while simulated time stands still; a copy of a familiar plays, and it is left as it is."""
    with model_endpoint(stream_answer("I am ", "real.")) as server:
        root = make_home(tmp_path / "home", server)
        path = file_of(tmp_path, familiar={"base": "ember"}, models={})
        done = run_program(tmp_path / "home", "rehearse", path, "--json")

    first = json.loads(done.stdout.splitlines()[0])
    assert done.returncode == 0, done.stdout + done.stderr
    assert (first["replies"], first["calls"][0]["slot"]) == (["I am real."], "main_prose")
    assert not (root / "history.db").exists()


def test_a_summary_changes_only_when_the_dialogue_moves_on(tmp_path: Path) -> None:
    """Its refreshes come more often than that, but what a model has read of the prompt's top stays the same."""
    settings = (
        '[providers.content_search]\nembedder = "hashing"\nfiles = false\nturns = false\n'
        "[providers.history]\nwindow_size = 8\nrefresh_every_turns = 2\n"
    )
    path = file_of(
        tmp_path,
        familiar={"settings": settings},
        models={"main_prose": {"otherwise": "Hm."}, "history_summary": {"otherwise": "The tea went cold."}},
        steps=[{**HELLO, "say": f"Ember, line {number}."} for number in range(1, 15)],
    )
    done = run_program(tmp_path, "rehearse", path, "--json", "--scripted")
    steps = [json.loads(line) for line in done.stdout.splitlines()][:-1]
    prompts = [json.dumps(next(c["messages"] for c in s["calls"] if c["slot"] == "main_prose")) for s in steps]

    assert [prompt.count("The tea went cold.") for prompt in prompts] == [0] * 8 + [1] * 4 + [2] * 2
    assert [f"Ember, line {first}." in prompts[step] for step, first in ((7, 1), (8, 1), (8, 5), (12, 5))] == [
        True,
        False,
        True,
        False,
    ]
