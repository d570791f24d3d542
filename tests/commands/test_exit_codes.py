"""One fault, one exit code: the same trouble met through several verbs, each as a process."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from familiar_connect.commands import exit_codes
from familiar_connect.commands.exit_codes import asking_a_model, code_of
from familiar_connect.errors import ConfigError, ModelSetupError, NoReplyError
from tests.fakes.program import make_home, run_program

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "run-it.md"
SETTINGS, NOBODY, LIBRARY, KEY, SILENT, WORD = (
    "a settings file cannot be read, or a value in it is wrong",
    "there is no such familiar",
    "the library of a platform is not installed",
    "the key of a model is not set",
    "the model cannot be reached",
    "a word on the command line is wrong",
)
HIDE = "import importlib.util as u; f = u.find_spec; u.find_spec = lambda n, *a: None if n in {hidden!r} else f(n, *a)"
HIDDEN = ("discord", "starlette", "uvicorn", "jinja2", "hibari", "faster_whisper", "sounddevice")
CONNECT = ["connect", "--to", "openrouter", "--model", "x/y", "--json"]
VERBS = {
    SETTINGS: (["ask", "hi"], ["chat", "--plain"], ["run"], ["web", "--no-open"], ["config", "show"], ["doctor"]),
    NOBODY: (["ask", "hi"], ["run"], ["memory", "list"], ["inspect"], ["export", "card"], ["doctor", "--live"]),
    LIBRARY: (["web", "--no-open"], ["voice", "--say", "hi", "--out", "x.wav"], ["run", "--demo-discord"]),
    KEY: (["ask", "hi"], ["chat", "--plain"], ["run"], ["web", "--no-open"], CONNECT),
    SILENT: (
        ["ask", "hi"],
        ["chat", "--plain"],
        ["memory", "write-now"],
        ["connect", "--url", "http://127.0.0.1:9/v1", "--model", "m"],
    ),
    WORD: (["ask", "--nonsense", "hi"], ["connect", "--to", "ollama", "--url", "http://127.0.0.1:9"], ["memroy"]),
}


def promised() -> dict[str, int]:
    """The guide's table of faults."""
    rows = re.findall(r"(?m)^\| ([a-z][^|]+) \| (\d) \|$", GUIDE.read_text(encoding="utf-8"))
    return {fault: int(code) for fault, code in rows}


@pytest.fixture(scope="module")
def nobody_listens() -> Iterator[str]:
    """An address at which nobody listens, as long as the tests run."""
    with socket.socket() as kept:
        kept.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{kept.getsockname()[1]}/v1"


def set_up(fault: str, home: Path, address: str) -> dict[str, str]:
    """A home with *fault* in it; variables for the program."""
    settings = make_home(home) / "character.toml"
    slots = {KEY: 'model = "x/y"\n', SILENT: f'model = "x/y"\nbase_url = "{address}"\nfirst_token_s = 0.5\n'}
    if fault == SETTINGS:
        settings.write_text("[llm\n", encoding="utf-8")
    elif fault in slots:
        lines = "".join(f"[llm.{slot}]\n{slots[fault]}" for slot in ("main_prose", "memory_writer"))
        settings.write_text(lines, encoding="utf-8")
        if fault == SILENT:  # so that there is something to write up
            run_program(home, "ask", "I keep bees on the roof of my house.")
    elif fault == LIBRARY:
        (home / "sitecustomize.py").write_text(HIDE.format(hidden=HIDDEN), encoding="utf-8")
        return {"PYTHONPATH": str(home)}
    return {}


@pytest.mark.parametrize("fault", VERBS)
def test_a_fault_has_the_code_of_the_guide_in_every_verb(fault: str, tmp_path: Path, nobody_listens: str) -> None:
    """And a sentence, where it is not the doctor who tells it; never a traceback."""
    variables = set_up(fault, tmp_path, nobody_listens)
    wrong = ["--familiar", "nobody"] if fault == NOBODY else []
    done = {
        " ".join(words): run_program(tmp_path, *words, *wrong, said="hi\n", env=variables, cwd=tmp_path)
        for words in VERBS[fault]
    }

    assert {words: each.returncode for words, each in done.items()} == dict.fromkeys(done, promised()[fault])
    assert [words for words, each in done.items() if "Traceback" in each.stderr] == []
    assert [words for words, each in done.items() if not each.stderr.strip() and words != "doctor"] == []


def test_the_guide_tells_the_code_of_every_fault() -> None:
    """Those tested here, and no other."""
    assert set(promised()) == set(VERBS)


def test_a_model_that_fails_is_a_missing_reply_and_other_faults_stay_what_they_are() -> None:
    """The end of the sentence is the verb's."""
    with pytest.raises(NoReplyError, match=r"^Nobody listens\. Not kept\.$"), asking_a_model("Not kept."):
        raise ModelSetupError("Nobody listens.")
    with pytest.raises(ConfigError, match="no key"), asking_a_model():
        raise ConfigError("no key")
    assert (code_of(NoReplyError("x")), code_of(ConfigError("x"))) == (exit_codes.NO_REPLY, exit_codes.FAILED)
