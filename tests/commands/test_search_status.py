"""A search that was not awake, as the real program tells it: in the trace, in inspect, in doctor, in why."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from familiar_connect.commands.doctor_search import LARGE_BACKLOG, NEWEST_BY_MEANING, check_search, describe_backlog
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.memory.index import turns
from tests.fakes.model_server import answer_as_asked
from tests.fakes.program import make_home, model_endpoint, run_program

TOLD = "lol the kettle whistled such a funny tune just now"
"""Nothing that is kept in a file, which would be shown without a search."""
SAM = Author(platform="terminal", user_id="me", username="sam", display_name="Sam")


def test_a_reply_made_without_memory_is_told_everywhere(tmp_path: Path) -> None:
    """The index cannot be opened while somebody asks; afterwards everything says that it was not searched."""
    with model_endpoint(answer_as_asked("I see.")) as server:
        root = make_home(tmp_path, server)
        run_program(tmp_path, "ask", TOLD)
        index = root / "memory" / ".index"
        shutil.rmtree(index, ignore_errors=True)
        index.write_text("a file where the index belongs", encoding="utf-8")
        asked = run_program(tmp_path, "ask", "--chat", "elsewhere", "What did the kettle do?")
        index.unlink()
        facts = json.loads(run_program(tmp_path, "inspect", "--json").stdout)
        shown = run_program(tmp_path, "inspect").stdout
        checked = run_program(tmp_path, "doctor", "--all", "--offline").stdout
        counted = run_program(tmp_path, "metrics").stdout
        why = json.loads(run_program(tmp_path, "why", "kettle", "whistled", "funny", "tune", "--json").stdout)

    assert asked.returncode == 0, asked.stderr
    [outcome] = [each for each in _outcomes(facts) if each["id"] == "content_search"]
    assert outcome["status"] == "asleep"
    assert "asleep" in shown
    assert "memory was not searched" in " ".join(shown.split())
    lines = [line.split() for line in counted.splitlines() if line.strip()]
    [head] = [line for line in lines if "asleep" in line]
    [row] = [line for line in lines if line[0] == "content_search"]
    assert row[head.index("asleep")] == "1"
    assert "made before memory was ready" in " ".join(checked.split())
    assert "not loaded yet" in why["sentence"]


def _outcomes(value: object) -> list[dict[str, object]]:
    if isinstance(value, dict):
        if "provider_outcomes" in value:
            return list(value["provider_outcomes"])
        value = list(value.values())
    return next((found for each in value if (found := _outcomes(each))), []) if isinstance(value, list) else []


def test_doctor_warns_of_an_embedder_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings want one that finds meaning; with `hashing` in them nothing is missing."""
    monkeypatch.setattr("familiar_connect.memory.index.minilm.why_unavailable", lambda: "onnxruntime is missing.")
    root = make_home(tmp_path)
    [lacking] = check_search(root, tmp_path)
    settings = root / "character.toml"
    head = "[providers.content_search]\n"
    settings.write_text(settings.read_text("utf-8").replace(head, f'{head}embedder = "hashing"\n'), "utf-8")
    [wanted] = check_search(root, tmp_path)

    assert (lacking.state, lacking.says) == ("warn", "words and spelling only. onnxruntime is missing.")
    assert wanted.state == "ok"


def test_doctor_says_how_much_of_the_talk_is_not_in_the_index_yet(tmp_path: Path) -> None:
    """What was imported or said while no index was kept: it is being built, and doctor says so."""
    with model_endpoint(answer_as_asked("I see.")) as server:
        root = make_home(tmp_path, server)
        run_program(tmp_path, "ask", TOLD)
    history = HistoryStore(root / "history.db")
    for number in range(LARGE_BACKLOG):
        history.append_turn(
            familiar_id=root.name, channel_id=1, role="user", content=f"Lamp {number} was lit.", author=SAM
        )
    history.close()
    says, missing = describe_backlog(root)
    checked = " ".join(run_program(tmp_path, "doctor", "--all", "--offline").stdout.split())

    assert missing >= LARGE_BACKLOG
    assert "messages are not indexed yet" in says
    assert "still being built" in checked


def test_doctor_counts_the_messages_that_the_index_has_by_meaning() -> None:
    """It does not load the index for that, so the number stands there too."""
    assert NEWEST_BY_MEANING == turns.NEWEST_BY_MEANING
