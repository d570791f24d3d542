"""Budgets that fit the model, seen from outside: the program as a process, a model's endpoint on loopback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.platforms.terminal.place import CHANNEL_ID
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program

NOWHERE = "http://127.0.0.1:9/v1"
LARGE = {"/v1/models": {"data": [{"id": "test-model", "context_length": 200_000}]}}
WORDS = "we sat by the harbour and talked about boats and tea until the lamps went out again " * 8
TOLD = [f"told-{number:02} {WORDS}" for number in range(61)]


def a_home(path: Path, server: ModelServer | None, more: str = "") -> Path:
    root = make_home(path)
    address = server.base_url if server is not None else NOWHERE
    settings = '[providers.content_search]\nembedder = "hashing"\n\n[llm.main_prose]\nmodel = "test-model"\n'
    (root / "character.toml").write_text(f'{settings}base_url = "{address}"\n{more}', encoding="utf-8")
    return root


def a_transcript(path: Path, texts: list[str]) -> Path:
    messages = [
        {"id": str(n), "author": ("ada", "ember")[(len(texts) - n) % 2 == 0], "text": text}
        for n, text in enumerate(texts)
    ]
    members = [{"id": "ember", "name": "Ember", "bot": True}, {"id": "ada", "name": "Ada"}]
    whole = {"channel": {"name": "lounge", "id": 70}, "me": "ember", "members": members, "messages": messages}
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


def shown(text: str) -> int:
    return sum(f"told-{number:02}" in text for number in range(61))


def prompt_of(home: Path, transcript: Path, *options: str) -> str:
    done = run_program(home, "prompt", str(transcript), *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_description_without_full_stops_is_not_cut_to_its_first_word(tmp_path: Path) -> None:
    """ "Dr." is no sentence, and 260 bullets have none."""
    root = a_home(tmp_path, None)
    bullets = "\n".join(f"- trait-{n:03} of hers told in plain words" for n in range(260))
    (root / "memory/self/description.md").write_text(f"Dr. Mira Voss\n{bullets}\n", encoding="utf-8")
    said = prompt_of(tmp_path, a_transcript(tmp_path / "talk.json", ["hello"]))

    assert sum(f"trait-{n:03}" in said for n in range(260)) > 60


def test_a_large_window_shows_the_whole_evening_in_a_preview(tmp_path: Path) -> None:
    """The endpoint says 200,000 tokens: all 61 long messages are sent, where an unknown one gets a few."""
    talk = a_transcript(tmp_path / "talk.json", TOLD)
    with model_endpoint(stream_answer("Yes.")) as server:
        server.about.update(LARGE)
        a_home(tmp_path / "large", server)
        said = prompt_of(tmp_path / "large", talk)

    assert (shown(said), server.requests) == (61, [])

    a_home(tmp_path / "unknown", None)
    assert 5 <= shown(prompt_of(tmp_path / "unknown", talk)) <= 20


def test_a_large_window_shows_the_whole_evening_in_a_chat(tmp_path: Path) -> None:
    """Sixty-one messages lie in the history; the model is sent every one of them."""
    with model_endpoint(stream_answer("Yes.")) as server:
        server.about.update(LARGE)
        root = a_home(tmp_path, server)
        store = HistoryStore(FamiliarFolder(root).history_db)
        ada = Author("terminal", "ada", None, "Ada")
        for number, text in enumerate(TOLD):
            ours = number % 2 == 1
            store.append_turn(
                familiar_id="ember",
                channel_id=CHANNEL_ID,
                role="assistant" if ours else "user",
                content=text,
                author=None if ours else ada,
                mode="text_conversation_rp",
            )
        store.close()
        done = run_program(tmp_path, "chat", said="And now?\n")

    assert done.returncode == 0, done.stderr
    assert "/v1/models" in server.questions
    assert shown(json.dumps(server.requests[0].payload)) == 61


def test_a_large_window_shows_the_whole_evening_in_a_rehearsal(tmp_path: Path) -> None:
    """The familiar's own model answers, and is asked for its window as in a chat."""
    steps: list[dict[str, Any]] = [{"in": "tea", "by": "ada", "say": text} for text in TOLD]
    steps += [{"in": "tea", "by": "ada", "say": "Ember, what now?", "mention": True}]
    steps += [{"expect": {"reply_in": "tea", "prompt_has": ["told-00", "told-30", "told-60"]}}]
    others: dict[str, Any] = {name: {"otherwise": "no"} for name in ("memory_writer", "history_summary")}
    others["interjection_decision"] = {"say": [{"when": "what now", "say": "YES"}], "otherwise": "NO"}
    file = tmp_path / "play.json"
    file.write_text(
        json.dumps({"people": {"ada": {"name": "Ada"}}, "places": {"tea": {}}, "models": others, "steps": steps}),
        encoding="utf-8",
    )
    with model_endpoint(stream_answer("Yes.")) as server:
        server.about.update(LARGE)
        a_home(tmp_path / "home", server)
        done = run_program(tmp_path / "home", "rehearse", str(file), "--familiar", "ember")

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("settings", "least", "most"),
    [
        ("window = 200000\n", 61, 61),
        ("window = 8192\n", 5, 20),
        ("window = 200000\n\n[budget]\nrecent_history = 900\n", 1, 8),
        ("window = 200000\n\n[text]\nbudget_cap = 6000\n", 1, 20),
        ("window = 200000\n\n[voice.budget]\nrecent_history = 900\n", 61, 61),
    ],
)
def test_settings_say_how_much_of_an_evening_is_shown(tmp_path: Path, settings: str, least: int, most: int) -> None:
    """A window, a cap, a layer and a modality; nobody is asked where the window is set."""
    a_home(tmp_path, None, settings)

    assert least <= shown(prompt_of(tmp_path, a_transcript(tmp_path / "talk.json", TOLD))) <= most


def test_a_channel_has_budgets_of_its_own(tmp_path: Path) -> None:
    """Its file goes before the familiar's."""
    root = a_home(tmp_path, None, "window = 200000\n")
    (root / "channels").mkdir(exist_ok=True)
    (root / "channels" / "70.toml").write_text(
        'mode = "text_conversation_rp"\n\n[budget]\nrecent_history = 0.05\n', encoding="utf-8"
    )

    assert shown(prompt_of(tmp_path, a_transcript(tmp_path / "talk.json", TOLD))) < 20


def test_samplers_and_limits_are_sent_only_where_they_are_set(tmp_path: Path) -> None:
    """As the slot says them, under the names that endpoints know."""
    with model_endpoint(stream_answer("Yes.")) as server:
        a_home(
            tmp_path,
            server,
            'top_p = 0.9\ntop_k = 40\nmin_p = 0.05\nrepeat_penalty = 1.1\nseed = 7\nstop = ["Ada:"]\nmax_tokens = 50\n',
        )
        done = run_program(tmp_path, "chat", said="hello\n")
    sent = server.requests[0].payload

    assert done.returncode == 0, done.stderr
    assert {
        name: sent[name] for name in ("top_p", "top_k", "min_p", "repeat_penalty", "seed", "stop", "max_tokens")
    } == {
        "top_p": 0.9,
        "top_k": 40,
        "min_p": 0.05,
        "repeat_penalty": 1.1,
        "seed": 7,
        "stop": ["Ada:"],
        "max_tokens": 50,
    }
    assert not {"presence_penalty", "frequency_penalty"} & sent.keys()


def test_what_is_set_and_where_is_shown(tmp_path: Path) -> None:
    """`familiar config show` names value and origin of every budget and sampler."""
    a_home(tmp_path, None, "window = 9000\n\n[budget]\ncontent = 0.1\n")
    rows = json.loads(run_program(tmp_path, "config", "show", "--json").stdout)
    told = {row["key"]: (row["value"], row["source"]) for row in rows}

    assert told["budget.content"] == (0.1, "familiar")
    assert told["llm.main_prose.window"] == (9000, "familiar")
    assert told["llm.main_prose.top_p"] == (None, "default")
