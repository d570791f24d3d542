"""Which embedder the command line uses, and how it gets weights: the program with a stand-in for fastembed."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from familiar_connect.memory.index.indexing_store import IN_USE_FILE
from familiar_connect.support.files import is_held
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program
from tests.fakes.running_chat import RunningChat
from tests.fakes.terminal import TerminalSession
from tests.fakes.waiting import wait_until

STAND_IN = """
import os
from pathlib import Path

import numpy as np


class TextEmbedding:
    @staticmethod
    def list_supported_models():
        return [{"model": "tiny/seven", "dim": 7, "size_in_GB": 0.001}]

    def __init__(self, name, cache_dir, local_files_only=False):
        if os.environ.get("NO_NETWORK") and not Path(cache_dir, "tiny--seven").exists():
            raise OSError("no route to host")
        if local_files_only and not Path(cache_dir, "tiny--seven").exists():
            raise OSError("not here")
        Path(cache_dir, "tiny--seven").mkdir(parents=True, exist_ok=True)

    def embed(self, texts, batch_size=8):
        for text in texts:
            row = np.ones(7, dtype=np.float32)
            row[len(text) % 7] += 1
            yield row
"""


class Program:
    """`familiar memory …` on a home whose settings name the seven-number embedder."""

    def __init__(self, tmp_path: Path, embedder: str = "tiny/seven", *, model_url: str = "") -> None:
        package = tmp_path / "lib" / "fastembed"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(STAND_IN, encoding="utf-8")
        self.home = tmp_path / "home"
        self.root = make_home(self.home)
        self.env = {"PYTHONPATH": str(package.parent), "FASTEMBED_CACHE_PATH": str(tmp_path / "cache")}
        self._slot = f'[llm.main_prose]\nmodel = "test-model"\nbase_url = "{model_url}"\n' if model_url else ""
        self.name(embedder)

    def name(self, embedder: str) -> None:
        """Have the settings name *embedder*."""
        settings = f'[providers.content_search]\nembedder = "{embedder}"\n'
        (self.root / "character.toml").write_text(settings + self._slot, encoding="utf-8")

    def run(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return run_program(self.home, "memory", *words, env={**self.env, **env})


def test_the_configured_embedder_is_used_whatever_its_dimension(tmp_path: Path) -> None:
    """Its weights are fetched when asked to, with a word about how much; reindex, stats and search all use it."""
    program = Program(tmp_path)
    done = program.run("reindex", "--fetch")

    assert done.returncode == 0, done.stderr
    assert "Fetching the weights of tiny/seven (1 MB)" in done.stderr
    assert "embedder: tiny/seven" in done.stdout
    assert json.loads(program.run("stats", "--json").stdout)["embedder"] == "tiny/seven"


def test_an_index_is_never_made_again_with_another_embedder_unless_asked(tmp_path: Path) -> None:
    """A familiar that runs may be using it: the command line uses what it was made with, and says so."""
    program = Program(tmp_path, "hashing")
    assert program.run("reindex").returncode == 0
    program.name("auto")
    searched = program.run("search", "who", "are", "you")
    told = json.loads(program.run("stats", "--json").stdout)

    assert "the index was made with hashing-384, which is used here" in searched.stderr
    assert told["embedder"] == "hashing-384"
    assert told["indexed_files"] > 0
    program.name("hashing")
    assert "was made with" not in program.run("stats").stderr


def test_an_index_whose_embedder_cannot_be_used_now_is_left_alone(tmp_path: Path) -> None:
    """The sentence names both and the way out; `--anew` takes it."""
    program = Program(tmp_path)
    assert program.run("reindex", "--fetch").returncode == 0
    (tmp_path / "cache" / "tiny--seven").rmdir()
    refused = program.run("search", "anything")

    assert refused.returncode != 0
    assert "the index was made with tiny/seven, which cannot be used now" in one_sentence(refused)
    assert "familiar memory reindex --fetch" in one_sentence(refused)
    program.name("hashing")
    assert "embedder: hashing-384" in program.run("reindex", "--anew").stdout


def test_a_live_index_is_never_made_again_with_another_embedder(tmp_path: Path) -> None:
    """While a conversation goes on its index stays as it is, `--anew` or not; once it is over, `--anew` makes it."""
    with model_endpoint(stream_answer("Hi")) as server:
        program = Program(tmp_path, "hashing", model_url=server.base_url)
        assert program.run("reindex").returncode == 0
        with closing(RunningChat(program.home)) as chat:
            wait_until(lambda: is_held(program.root / "memory" / ".index" / IN_USE_FILE), "the chat uses its index")
            program.name("tiny/seven")
            assert program.run("reindex", "--fetch").returncode == 0
            refused = program.run("reindex", "--anew")
            told = json.loads(program.run("stats", "--json").stdout)
            chat.end()

    assert refused.returncode != 0
    assert "ember is running and uses its index with hashing-384: stop it" in one_sentence(refused)
    assert (told["embedder"], told["indexed_files"] > 0) == ("hashing-384", True)
    assert "embedder: tiny/seven" in program.run("reindex", "--anew").stdout


@pytest.mark.parametrize(("answer", "is_fetched"), [("y", True), ("n", False)])
def test_a_terminal_is_asked_once_whether_to_fetch_weights(tmp_path: Path, answer: str, is_fetched: bool) -> None:
    """The question says which and how much; without a yes the embedder that came with the program is used."""
    program = Program(tmp_path)
    with TerminalSession(program.home, "memory", "reindex", env=program.env) as terminal:
        terminal.wait_for_text("The weights of tiny/seven (1 MB) are not here. Fetch them now?")
        terminal.enter(answer)
        terminal.wait_for_text("embedder: ")
        assert terminal.wait_end() == 0

        assert terminal.text.count("Fetch them now?") == 1
        assert ("embedder: tiny/seven" in terminal.text) is is_fetched
        assert ("Fetching the weights of tiny/seven (1 MB)" in terminal.text) is is_fetched
    assert (tmp_path / "cache" / "tiny--seven").exists() is is_fetched


def test_weights_that_cannot_be_fetched_are_told_plainly(tmp_path: Path) -> None:
    """Without a network one sentence says where to put them; a model nobody knows is named with the choices."""
    program = Program(tmp_path)
    done = program.run("reindex", "--fetch", NO_NETWORK="1")

    assert done.returncode != 0
    assert "could not be fetched" in one_sentence(done)
    assert os.path.join(str(tmp_path), "cache") in one_sentence(done)
    program.name("nobody/knows")
    assert "fastembed does not know nobody/knows" in one_sentence(program.run("reindex", "--fetch"))
