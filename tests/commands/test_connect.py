"""`familiar connect`: asks, tests the endpoint, writes one setting, keeps the key."""

from __future__ import annotations

import json
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.commands.connect import _complete_address
from familiar_connect.config.load import write_default_model
from familiar_connect.config.secrets import Secrets
from tests.fakes.model_server import error_answer, stream_answer, whole_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program
from tests.fakes.waiting import files_holding

KEY = "sk-fake-0123456789abcdef"


def default_slot(root: Path, *, own: bool = False) -> dict[str, Any]:
    """What is written for every familiar beside *root*; with *own*, for it alone."""
    file = (root if own else root.parent / "_default") / "character.toml"
    settings = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    found: dict[str, Any] = settings.get("llm", {}).get("default", {})
    return found


def test_it_tests_the_endpoint_and_moves_every_slot_of_every_familiar(tmp_path: Path) -> None:
    """In the profile under them all; their own files stay as they are."""
    root = make_home(tmp_path)
    before = (root / "character.toml").read_text(encoding="utf-8")
    with model_endpoint(whole_answer("Hello!")) as server:
        done = run_program(tmp_path, "connect", "--url", server.base_url, "--model", "some-model")

    assert done.returncode == 0, done.stderr
    assert "It answered: Hello!" in done.stdout
    assert default_slot(root) == {"model": "some-model", "base_url": server.base_url}
    assert (root / "character.toml").read_text(encoding="utf-8") == before
    assert "authorization" not in server.requests[0].headers


def test_a_key_is_asked_for_tried_and_kept_for_its_owner_alone(tmp_path: Path) -> None:
    """In secrets.env, never in the settings, never on the screen."""
    root = make_home(tmp_path)
    with model_endpoint(whole_answer("Hi")) as server:
        done = run_program(
            tmp_path, "connect", "--url", server.base_url, "--model", "m", "--key-env", "MY_KEY", said=f"{KEY}\n"
        )

    assert done.returncode == 0, done.stderr
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in done.stdout + done.stderr
    assert stat.S_IMODE((tmp_path / "secrets.env").stat().st_mode) == 0o600
    assert files_holding(tmp_path, KEY) == ["secrets.env"]
    assert default_slot(root)["api_key_env"] == "MY_KEY"


def test_a_wrong_key_is_one_sentence_and_nothing_is_written(tmp_path: Path) -> None:
    """Neither the key nor the setting."""
    root = make_home(tmp_path)
    with model_endpoint(error_answer(401, "bad key")) as server:
        done = run_program(
            tmp_path, "connect", "--url", server.base_url, "--model", "m", "--key-env", "MY_KEY", said=f"{KEY}\n"
        )

    assert done.returncode == 3
    assert "refused the key in MY_KEY (401)" in one_sentence(done)
    assert default_slot(root) == {}
    assert not (tmp_path / "secrets.env").exists()


def test_a_dead_endpoint_is_one_sentence_and_nothing_is_written(tmp_path: Path) -> None:
    """It names the address."""
    root = make_home(tmp_path)
    done = run_program(tmp_path, "connect", "--url", "http://127.0.0.1:9/v1", "--model", "m")

    assert done.returncode == 3
    assert "127.0.0.1:9" in one_sentence(done)
    assert default_slot(root) == {}


def test_a_key_given_where_its_name_belongs_is_refused_without_repeating_it(tmp_path: Path) -> None:
    """A common slip; the key must not end up in a file or on the screen."""
    root = make_home(tmp_path)
    done = run_program(tmp_path, "connect", "--to", "openrouter", "--model", "m", "--key-env", KEY)

    assert done.returncode == 1
    assert "NAME of a variable" in one_sentence(done)
    assert KEY not in done.stdout + done.stderr
    assert default_slot(root) == {}


def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    """With what one looks like."""
    make_home(tmp_path)
    done = run_program(tmp_path, "connect", "--url", "my server", "--model", "m")

    assert done.returncode == 1
    assert "http://" in one_sentence(done)


@pytest.mark.parametrize("given", ["--url {host}", "{host}", "{host}/", "{host}/v1", "{host}/v1/chat/completions"])
def test_an_address_may_be_given_as_people_say_it(tmp_path: Path, given: str) -> None:
    """Without http:// and /v1; what was made of it is said."""
    root = make_home(tmp_path)
    with model_endpoint(whole_answer("Hi")) as server:
        host = server.base_url.removeprefix("http://").removesuffix("/v1")
        done = run_program(tmp_path, "connect", *given.format(host=host).split(), "--model", "m")

    assert done.returncode == 0, done.stderr
    assert f"becomes {server.base_url}" in done.stderr
    assert default_slot(root)["base_url"] == server.base_url


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("localhost:9999", "http://localhost:9999/v1"),
        ("192.168.0.7:8080", "http://192.168.0.7:8080/v1"),
        ("[::1]:8080", "http://[::1]:8080/v1"),
        ("my-box:8080", "http://my-box:8080/v1"),
        ("box.lan/api", "http://box.lan/api"),
        ("api.example.org", "https://api.example.org/v1"),
        ("api.example.org/openai/v1", "https://api.example.org/openai/v1"),
        ("http://box.lan", "http://box.lan"),
        ("ftp://x", "ftp://x"),
    ],
)
def test_an_address_is_plain_at_home_and_encrypted_elsewhere(given: str, meant: str) -> None:
    """What names its scheme stays as it is."""
    assert _complete_address(given) == meant


def test_a_kind_of_server_is_named_alone(tmp_path: Path) -> None:
    """As `--to` would have it; naming two places is refused."""
    root = make_home(tmp_path)
    alone = run_program(tmp_path, "connect", "ollama", "--model", "m", "--no-test")
    twice = run_program(tmp_path, "connect", "ollama", "--url", "http://127.0.0.1:9/v1", "--model", "m")

    assert alone.returncode == 0, alone.stderr
    assert default_slot(root)["base_url"] == "http://127.0.0.1:11434/v1"
    assert twice.returncode == 2
    assert "ollama and --url each name an address" in twice.stderr


@pytest.mark.parametrize(
    "address", ["http://user:{key}@127.0.0.1:{port}/v1", "http://127.0.0.1:{port}/v1?key={key}"], ids=["user", "query"]
)
def test_an_address_with_a_secret_in_it_is_refused_before_anything_is_sent(tmp_path: Path, address: str) -> None:
    """And never repeated."""
    root = make_home(tmp_path)
    with model_endpoint(whole_answer("Hi")) as server:
        port = server.base_url.rsplit(":", 1)[-1].removesuffix("/v1")
        done = run_program(tmp_path, "connect", "--url", address.format(key=KEY, port=port), "--model", "m")

    assert done.returncode == 1
    assert "without user name, password or ?query. Nothing was written." in one_sentence(done)
    assert KEY not in done.stdout + done.stderr
    assert (server.requests, default_slot(root)) == ([], {})


@pytest.mark.parametrize("address", ["http://[::1", "http://127.0.0.1:99999/v1", "http://", "ftp://x/v1"])
def test_an_address_nobody_can_call_is_one_sentence(tmp_path: Path, address: str) -> None:
    """Whatever is wrong with it."""
    make_home(tmp_path)
    done = run_program(tmp_path, "connect", "--url", address, "--model", "m")

    assert done.returncode == 1
    assert "The base URL must be" in one_sentence(done)


def test_an_address_copied_with_its_end_is_shortened(tmp_path: Path) -> None:
    """The end every call adds was removed from the address, and that is said."""
    root = make_home(tmp_path)
    with model_endpoint(whole_answer("Hi")) as server:
        done = run_program(tmp_path, "connect", "--url", f"{server.base_url}/chat/completions", "--model", "m")

    assert done.returncode == 0, done.stderr
    assert "/chat/completions was removed from the address" in done.stdout
    assert server.requests[0].path == "/v1/chat/completions"
    assert default_slot(root)["base_url"] == server.base_url


def test_two_addresses_at_once_are_refused(tmp_path: Path) -> None:
    """It does not guess which one is meant."""
    root = make_home(tmp_path)
    done = run_program(tmp_path, "connect", "--to", "ollama", "--url", "http://127.0.0.1:9/v1", "--model", "m")

    assert done.returncode == 2
    assert "--to ollama and --url each name an address: give only one" in done.stderr
    assert default_slot(root) == {}


def test_a_failure_says_that_nothing_was_written(tmp_path: Path) -> None:
    """So nobody has to look."""
    make_home(tmp_path)
    done = run_program(tmp_path, "connect", "--url", "http://127.0.0.1:9/v1", "--model", "m")

    assert one_sentence(done).endswith(". Nothing was written.")


def test_it_says_what_else_the_model_will_be_asked_for(tmp_path: Path) -> None:
    """Whoever pays by the call knows what a message costs."""
    make_home(tmp_path)
    with model_endpoint(whole_answer("Hi")) as server:
        done = run_program(tmp_path, "connect", "--url", server.base_url, "--model", "m")

    assert "A message costs one call" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are Unix's")
def test_an_answer_that_cannot_be_used_is_asked_for_again(tmp_path: Path) -> None:
    """Someone at a terminal need not begin anew for an address, a name or a key that is none."""
    from tests.fakes.terminal import TerminalSession

    root = make_home(tmp_path)
    with model_endpoint(whole_answer("Hi")) as server, TerminalSession(tmp_path, "connect") as session:
        session.wait_for_text("Which one")
        session.enter("other")
        for times, address in enumerate(("my server", server.base_url), start=1):
            session.wait_for_text("Base URL, such as", times=times)
            session.enter(address)
        for times, name in enumerate(("my key", "MY_KEY"), start=1):
            session.wait_for_text("Name for its key", times=times)
            session.enter(name)
        session.wait_for_text("Model id")
        session.enter("m")
        for times, key in enumerate(("   ", KEY), start=1):
            session.wait_for_text("Key for", times=times)
            session.enter(key)
        assert session.wait_end() == 0, session.text

    assert default_slot(root) == {"model": "m", "base_url": server.base_url, "api_key_env": "MY_KEY"}
    assert Secrets(tmp_path).get("MY_KEY") == KEY


def test_it_asks_for_what_it_was_not_told(tmp_path: Path) -> None:
    """Kind, address, key and model, one after another."""
    root = make_home(tmp_path)
    with model_endpoint(whole_answer("Hi")) as server:
        done = run_program(tmp_path, "connect", said=f"other\n{server.base_url}\n\nmy-model\n")

    assert done.returncode == 0, done.stderr
    assert default_slot(root) == {"model": "my-model", "base_url": server.base_url}
    assert "familiar chat --familiar ember" in done.stdout


def test_back_to_the_embedded_model(tmp_path: Path) -> None:
    """No address is left behind."""
    root = make_home(tmp_path)
    with model_endpoint(whole_answer("Hi")) as server:
        run_program(tmp_path, "connect", "--url", server.base_url, "--model", "m")
    done = run_program(tmp_path, "connect", "--to", "embedded")

    assert done.returncode == 0
    assert default_slot(root) == {"model": "embedded"}


def test_one_familiar_is_connected_alone(tmp_path: Path) -> None:
    """Comments and everything else in its file stay."""
    root = make_home(tmp_path)
    before = (root / "character.toml").read_text(encoding="utf-8")
    with model_endpoint(whole_answer("Hi")) as server:
        done = run_program(
            tmp_path, "connect", "--url", server.base_url, "--model", "some-model", "--familiar", "ember"
        )

    assert done.returncode == 0, done.stderr
    assert default_slot(root, own=True) == {"model": "some-model", "base_url": server.base_url}
    assert default_slot(root) == {}
    after = (root / "character.toml").read_text(encoding="utf-8")
    comments = [line for line in before.splitlines() if line.startswith("# ")]
    assert all(line in after.splitlines() for line in comments)


def test_it_works_in_an_empty_home(tmp_path: Path) -> None:
    """The first familiar, made later, speaks through the model at once."""
    home = tmp_path / "home"
    with model_endpoint(whole_answer("Hello"), stream_answer("Hi, I am here.")) as server:
        done = run_program(home, "connect", "--url", server.base_url, "--model", "m")
        said = run_program(home, "chat", "--plain", said="hello\n")

    assert done.returncode == 0, done.stderr
    assert said.stdout.strip() == "Hi, I am here."
    assert "speaks through m at 127.0.0.1" in said.stderr


def test_all_means_those_with_a_model_of_their_own_too(tmp_path: Path) -> None:
    """Their own default is changed; one that names a model for replies alone keeps it, and that is said."""
    root = make_home(tmp_path)
    write_default_model(root / "character.toml", model="old", base_url="http://127.0.0.1:9/v1")
    other = make_starter(tmp_path, "mira")
    slot = '\n[llm.main_prose]\nmodel = "prose"\nbase_url = "http://127.0.0.1:9/v1"\n'
    (other / "character.toml").write_text((other / "character.toml").read_text("utf-8") + slot, encoding="utf-8")
    with model_endpoint(whole_answer("Hi")) as server:
        done = run_program(tmp_path, "connect", "--url", server.base_url, "--model", "new")

    assert done.returncode == 0, done.stderr
    assert (default_slot(root, own=True)["model"], default_slot(root)["model"]) == ("new", "new")
    assert "mira keeps prose for its replies" in done.stdout


def test_servers_on_this_computer_are_found_and_listed(tmp_path: Path) -> None:
    """For people and for scripts; nothing is written."""
    with model_endpoint(whole_answer("Hi")) as server:
        server.models = ["tiny", "larger"]
        port = server.base_url.rsplit(":", 1)[-1].removesuffix("/v1")
        shown = run_program(tmp_path, "connect", "--list", "--port", port)
        listed = run_program(tmp_path, "connect", "--list", "--json", "--port", port)

    assert f"a model server at {server.base_url}\n  tiny\n  larger" in shown.stdout
    found = [each for each in json.loads(listed.stdout) if each["base_url"] == server.base_url]
    assert found == [{"kind": "a model server", "base_url": server.base_url, "models": ["tiny", "larger"]}]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are Unix's")
def test_a_found_model_is_chosen_by_its_number(tmp_path: Path) -> None:
    """In a terminal, in an empty home; a number that is not in the list is asked for again."""
    from tests.fakes.terminal import TerminalSession

    with model_endpoint(whole_answer("Hello")) as server:
        server.models = ["tiny", "larger"]
        port = server.base_url.rsplit(":", 1)[-1].removesuffix("/v1")
        with TerminalSession(tmp_path / "home", "connect", "--port", port) as session:
            session.wait_for_text("Which one (a number) [1]")
            session.enter("999")
            session.wait_for_text("Which one (a number) [1]", times=2)
            session.enter("2")
            assert session.wait_end() == 0, session.text

    assert server.requests[0].payload["model"] == "larger"
    assert default_slot(tmp_path / "home" / "familiars" / "any") == {"model": "larger", "base_url": server.base_url}


def test_the_only_model_of_a_server_needs_no_name(tmp_path: Path) -> None:
    """Where it has several, they are listed and one is chosen."""
    make_home(tmp_path)
    with model_endpoint(whole_answer("Hi")) as server:
        server.models = ["only"]
        one = run_program(tmp_path, "connect", "--url", server.base_url)
        server.models = ["a", "b"]
        two = run_program(tmp_path, "connect", "--url", server.base_url, said="b\n")

    assert "has one model: only" in one.stdout
    assert two.returncode == 0, two.stderr
    assert [request.payload["model"] for request in server.requests] == ["only", "b"]


def test_a_script_gets_json_and_is_asked_nothing(tmp_path: Path) -> None:
    """What was written where, what the model said and how long it took."""
    root = make_home(tmp_path)
    with model_endpoint(whole_answer("Hello")) as server:
        done = run_program(tmp_path, "connect", "--json", "--url", server.base_url, "--model", "m")
    open_question = run_program(tmp_path, "connect", "--json", "--to", "ollama")

    told = json.loads(done.stdout)
    assert (told["model"], told["base_url"], told["answer"]) == ("m", server.base_url, "Hello")
    assert (told["familiars"], told["files"]) == (["ember"], [str(root.parent / "_default" / "character.toml")])
    assert open_question.returncode == 1
    assert "--json asks no questions" in one_sentence(open_question)


def test_nobody_there_to_answer_its_questions_ends_it(tmp_path: Path) -> None:
    """An empty input is no endless loop."""
    make_home(tmp_path)
    done = run_program(tmp_path, "connect", said="")

    assert done.returncode == 130


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are Unix's")
def test_a_kept_key_that_no_longer_works_can_be_entered_anew(tmp_path: Path) -> None:
    """Someone at a terminal is asked for another one; it is not shown while they type."""
    from tests.fakes.terminal import TerminalSession

    root = make_home(tmp_path)
    Secrets(tmp_path).put("MY_KEY", "old-key-that-expired")
    with model_endpoint(error_answer(401, "expired"), whole_answer("Hi")) as server:
        words = ("connect", "--url", server.base_url, "--model", "m", "--key-env", "MY_KEY")
        with TerminalSession(tmp_path, *words) as session:
            session.wait_for_text("refused the key in MY_KEY (401)")
            session.wait_for_text("Key for")
            session.enter(KEY)
            assert session.wait_end() == 0

    assert server.requests[1].headers["authorization"] == f"Bearer {KEY}"
    assert Secrets(tmp_path).get("MY_KEY") == KEY
    assert KEY not in session.text
    assert default_slot(root)["model"] == "m"
