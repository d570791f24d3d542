"""ask and chat by name, as a person or a script calls them: the program as a process, a model on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from tests.fakes.model_server import ModelServer, error_answer, stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program
from tests.fakes.running_chat import RunningChat
from tests.fakes.waiting import wait_until

SAM = Author("discord", "41", "sam_w", "Sam")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_endpoint(stream_answer("Warm ", "tea.")) as found:
        yield found


def prompt(server: ModelServer, number: int = -1) -> str:
    """What the model was shown."""
    return json.dumps(server.requests[number].payload, ensure_ascii=False)


def talk(server: ModelServer) -> str:
    """What the model was shown as said before in the chat itself; memory of other chats stands with the new message."""
    messages = server.requests[-1].payload["messages"][:-1]
    return "\n".join(str(message["content"]) for message in messages if message["role"] != "system")


def test_a_question_is_answered_on_standard_output(tmp_path: Path, server: ModelServer) -> None:
    """The reply and nothing else."""
    make_home(tmp_path, server)

    done = run_program(tmp_path, "ask", "What", "is in the kettle?")

    assert (done.returncode, done.stdout) == (0, "Warm tea.\n")
    assert "What is in the kettle?" in prompt(server)


def test_piped_text_stands_below_the_question(tmp_path: Path, server: ModelServer) -> None:
    """As with other programs that ask models."""
    make_home(tmp_path, server)

    run_program(tmp_path, "ask", "What does this say?", said="line one\nline two\n")

    said = server.requests[-1].payload["messages"][-1]["content"]
    assert [line.strip() for line in said.splitlines() if line.strip()][-2:] == ["> line one", "> line two"]
    assert "What does this say?" in said


def test_json_says_what_a_script_needs(tmp_path: Path, server: ModelServer) -> None:
    """The reply, through which model, in which chat, and the turn for `inspect`."""
    make_home(tmp_path, server)

    done = run_program(tmp_path, "ask", "--json", "Hello?")
    facts = json.loads(done.stdout)

    assert (facts["reply"], facts["model"], facts["chat"], facts["error"]) == ("Warm tea.", "test-model", "ask", None)
    assert run_program(tmp_path, "inspect", facts["turn"]).returncode == 0


def test_no_reply_is_exit_code_3(tmp_path: Path) -> None:
    """With why on the error stream, or in the JSON."""
    with model_endpoint(error_answer(401, "bad key")) as server:
        make_home(tmp_path, server)
        done = run_program(tmp_path, "ask", "Hello?")
        as_json = run_program(tmp_path, "ask", "--json", "Hello?")

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.strip()
    assert as_json.returncode == 3
    assert (json.loads(as_json.stdout)["reply"], bool(json.loads(as_json.stdout)["error"])) == (None, True)


def people_files(root: Path) -> list[str]:
    return [path.name for path in sorted((root / "memory").glob("people/*.md"))]


def test_a_question_is_not_written_up(tmp_path: Path, server: ModelServer) -> None:
    """It waits; nothing of it is lost, for `memory write-now` and the next chat write it."""
    root = make_home(tmp_path, server)
    asked = [run_program(tmp_path, "ask", words).returncode for words in ("I live in Graz.", "Where do I live?")]
    after_asking = people_files(root)
    run_program(tmp_path, "memory", "write-now")

    assert asked == [0, 0]
    assert after_asking == []
    assert "I live in Graz." in (root / "memory" / "people" / people_files(root)[0]).read_text()


def talk_an_hour_ago(root: Path) -> None:
    """Somebody told two things, and nobody spoke since."""
    an_hour_ago = datetime.now(UTC) - timedelta(hours=1)
    history = HistoryStore(root / "history.db")
    for minute, words in enumerate(("I live in Graz.", "My cat is called Pixel.")):
        said = an_hour_ago + timedelta(minutes=minute)
        history.append_turn(
            familiar_id="ember", channel_id=5, role="user", content=words, author=SAM, guild_id=7, timestamp=said
        )
    history.close()


def test_a_talk_that_is_over_is_written_up_by_the_next_question(tmp_path: Path, server: ModelServer) -> None:
    """Where no model has to be asked for it: who only ever asks has a memory too."""
    root = make_home(tmp_path, server)
    talk_an_hour_ago(root)
    done = run_program(tmp_path, "ask", "Hello")

    assert (done.returncode, done.stdout) == (0, "Warm tea.\n")
    assert "Pixel" in (root / "memory" / "people" / "discord-41.md").read_text()


def test_a_chat_writes_up_a_talk_that_is_over_when_it_starts(tmp_path: Path, server: ModelServer) -> None:
    """Before anybody says a word in it."""
    root = make_home(tmp_path, server)
    talk_an_hour_ago(root)
    chat = RunningChat(tmp_path)
    try:
        wait_until((root / "memory" / "people" / "discord-41.md").exists, "memory was not written")
        said = chat.end()
    finally:
        chat.close()

    assert "Warm tea." not in said


def test_asking_nothing_is_a_mistake_of_usage(tmp_path: Path) -> None:
    """Nothing is made for it."""
    done = run_program(tmp_path, "ask")

    assert done.returncode == 2
    assert "there is no question" in one_sentence(done)
    assert list(tmp_path.iterdir()) == []


def test_a_question_does_not_stand_in_the_conversation(tmp_path: Path, server: ModelServer) -> None:
    """It has a chat of its own, unless the chat of last time is asked for."""
    make_home(tmp_path, server)
    run_program(tmp_path, "chat", said="The lighthouse is green.\n")

    run_program(tmp_path, "ask", "Hello?")
    apart = prompt(server)
    run_program(tmp_path, "ask", "--continue", "Hello?")

    assert "lighthouse" not in apart
    assert "lighthouse" in prompt(server)


def test_chats_have_names_and_stay_apart(tmp_path: Path, server: ModelServer) -> None:
    """--new begins one, --chat goes to one, --continue and nothing at all go on with the last."""
    make_home(tmp_path, server)
    run_program(tmp_path, "chat", said="The lighthouse is green.\n")
    run_program(tmp_path, "chat", "--new", said="The barn is red.\n")
    fresh = talk(server)
    run_program(tmp_path, "chat", "--continue", said="And now?\n")
    continued = talk(server)
    run_program(tmp_path, "chat", "--chat", "main", said="Where were we?\n")
    back = talk(server)
    run_program(tmp_path, "chat", said="Still here?\n")

    assert "lighthouse" not in fresh
    assert "barn" in continued
    assert ("lighthouse" in back, "barn" in back) == (True, False)
    assert "Where were we?" in talk(server)
    chats = json.loads(run_program(tmp_path, "chat", "--list", "--json").stdout)
    assert [(chat["name"], chat["turns"], chat["current"]) for chat in chats] == [("main", 6, True), ("2", 4, False)]
    assert "* main" in run_program(tmp_path, "chat", "--list").stdout


def test_a_chat_that_is_not_there_is_begun_under_its_name(tmp_path: Path, server: ModelServer) -> None:
    """And --new refuses a name that is taken."""
    make_home(tmp_path, server)
    first = run_program(tmp_path, "chat", "--chat", "travels", said="Hello\n")
    again = run_program(tmp_path, "chat", "--new", "--chat", "Travels", said="Hello\n")

    assert "'travels'" in first.stderr
    assert again.returncode == 1
    assert "already" in one_sentence(again)


def test_contradicting_options_are_refused(tmp_path: Path) -> None:
    """In one sentence, before anything is done."""
    done = run_program(tmp_path, "chat", "--new", "--continue")

    assert done.returncode == 2
    assert "leave out --new" in one_sentence(done)


def test_another_model_for_one_call(tmp_path: Path, server: ModelServer) -> None:
    """One of the same endpoint; the settings stay, and the next call is through theirs."""
    root = make_home(tmp_path, server)
    before = (root / "character.toml").read_bytes()

    run_program(tmp_path, "ask", "-m", "other-model", "Hello?")
    once = server.requests[-1].payload["model"]
    run_program(tmp_path, "chat", said="Hello?\n")

    assert (once, server.requests[-1].payload["model"]) == ("other-model", "test-model")
    assert (root / "character.toml").read_bytes() == before


def test_a_model_nobody_has_is_one_sentence(tmp_path: Path) -> None:
    """With where to look; one that could be fetched is said to be."""
    make_home(tmp_path)
    unknown = run_program(tmp_path, "ask", "-m", "no-such", "Hello?")
    fetchable = run_program(tmp_path, "chat", "-m", "qwen2.5-coder-1.5b", said="Hello?\n")

    assert (unknown.returncode, fetchable.returncode) == (1, 1)
    assert "model list" in one_sentence(unknown)
    assert "model get qwen2.5-coder-1.5b" in one_sentence(fetchable)


def test_with_one_of_its_servers_down_a_model_answers_all_the_same(tmp_path: Path, server: ModelServer) -> None:
    """`replicas` names them; `familiar doctor` says which one cannot be reached."""
    root = make_home(tmp_path, server)
    settings = root / "character.toml"
    with model_endpoint(stream_answer("never")) as other:
        gone = other.base_url
    written = settings.read_text(encoding="utf-8")
    named = f'base_url = "{server.base_url}"'
    assert named in written
    settings.write_text(
        written.replace(named, f'base_url = "{gone}"\nreplicas = ["{server.base_url}"]'), encoding="utf-8"
    )

    for chat in ("one", "two", "three", "four"):  # some of them belong to each server
        done = run_program(tmp_path, "ask", "Hello?", "--chat", chat)
        assert (done.returncode, done.stdout) == (0, "Warm tea.\n"), done.stderr
    told = run_program(tmp_path, "doctor", "--all", "--offline").stdout

    assert [line for line in told.splitlines() if gone in line and "nothing answers there" in line], told
    assert [line for line in told.splitlines() if server.base_url in line and "a server listens there" in line], told
