"""`familiar trust`, and what a familiar's settings may not do without it: seen from outside, on the wire."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.model_server import head, raw_answer, stream_answer, whole_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program

KEY = "sk-fake-0123456789abcdef"


def name_endpoint(root: Path, url: str, key: str | None = None) -> None:
    """Let the familiar's settings name an endpoint, as a folder from elsewhere would."""
    slot = f'\n[llm.main_prose]\nmodel = "m"\nbase_url = "{url}"\n' + (f'api_key_env = "{key}"\n' if key else "")
    settings = root / "character.toml"
    settings.write_text(settings.read_text(encoding="utf-8") + slot, encoding="utf-8")


@pytest.mark.parametrize("variable", ["OPENROUTER_API_KEY", "SOME_SECRET", "DISCORD_BOT", "TWITCH_TOKEN"])
def test_no_key_goes_where_it_was_not_given_for(tmp_path: Path, variable: str) -> None:
    """The folder names an owner's secret for its own server: nothing is sent at all, and one sentence says why."""
    root = make_home(tmp_path)
    (tmp_path / "secrets.env").write_text(f"{variable}={KEY}\n")
    with model_endpoint(stream_answer("Hi")) as server:
        name_endpoint(root, server.base_url, variable)
        done = run_program(tmp_path, "chat", "--plain", said="hello\n", env={variable: KEY})
        checked = run_program(tmp_path, "doctor", "--all", env={variable: KEY})

    assert done.returncode == 1
    assert "character.toml" in one_sentence(done)
    assert KEY not in done.stdout + done.stderr + checked.stdout
    assert (server.requests, checked.returncode) == ([], 1)


def test_a_key_given_by_connect_goes_to_its_origin_and_chat_names_the_host(tmp_path: Path) -> None:
    """`connect` binds the key; the banner says where words go."""
    make_home(tmp_path)
    with model_endpoint(whole_answer("Hi"), stream_answer("Hello!")) as server:
        to = ("--url", server.base_url, "--model", "m", "--key-env", "MY_KEY")
        connected = run_program(tmp_path, "connect", *to, said=f"{KEY}\n")
        done = run_program(tmp_path, "chat", said="hello\n")
        listed = json.loads(run_program(tmp_path, "trust", "list", "--json").stdout)

    origin = server.base_url.removesuffix("/v1")
    assert (connected.returncode, done.returncode) == (0, 0), connected.stderr + done.stderr
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    assert listed[1] == {"origin": origin, "keys": ["MY_KEY"], "built_in": False}
    assert f"at {origin.removeprefix('http://')}." in done.stderr


def test_a_redirect_does_not_carry_the_key_on(tmp_path: Path) -> None:
    """An endpoint that sends us elsewhere is an error; nobody else is called."""
    make_home(tmp_path)
    with model_endpoint(stream_answer("Hi")) as other:
        there = f"{other.base_url}/chat/completions"
        with model_endpoint(raw_answer(head(307, location=there))) as server:
            to = ("--url", server.base_url, "--model", "m", "--key-env", "MY_KEY")
            done = run_program(tmp_path, "connect", *to, said=f"{KEY}\n")

    assert done.returncode == 3
    assert len(server.requests) == 1
    assert other.requests == []


def test_an_origin_elsewhere_is_refused_until_trust_allows_it(tmp_path: Path) -> None:
    """Without a terminal nobody can be asked, so the sentence names the command; it is the one that works."""
    root = make_home(tmp_path)
    name_endpoint(root, "https://models.invalid/v1")
    refused = run_program(tmp_path, "chat", "--plain", said="hello\n")
    command = one_sentence(refused).rsplit("`familiar ", 1)[1].rstrip("`").split()
    allowed = run_program(tmp_path, *command)
    removed = run_program(tmp_path, "trust", "remove", "https://models.invalid")
    again = run_program(tmp_path, "trust", "remove", "https://models.invalid")

    assert refused.returncode == 1
    assert command == ["trust", "add", "https://models.invalid"]
    assert (allowed.returncode, removed.returncode, again.returncode) == (0, 0, 1)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("trust", "add", "models.example"), "http:// or https://"),
        (("trust", "add", "https://models.example", "--key", "DISCORD_BOT"), "never lent"),
        (("trust", "add", "http://models.example", "--key", "MY_KEY"), "plain http"),
        (("trust", "add", "https://models.example", "--key", KEY), "never by the key itself"),
        (("connect", "--url", "http://models.invalid/v1", "--model", "m", "--key-env", "MY_KEY"), "plain http"),
        (("connect", "--url", "https://models.invalid/v1", "--model", "m", "--key-env", "TWITCH_TOKEN"), "never lent"),
    ],
)
def test_what_may_never_be_allowed_is_refused_in_one_sentence(tmp_path: Path, words: tuple[str, ...], why: str) -> None:
    """Nothing is written."""
    make_home(tmp_path)
    done = run_program(tmp_path, *words, said=f"{KEY}\n")

    assert done.returncode == 1
    assert why in one_sentence(done)
    assert KEY not in done.stdout + done.stderr
    assert not (tmp_path / "trust.toml").exists()
