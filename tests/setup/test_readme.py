"""README holds: every command in it is run as it is written, in a fresh clone, by somebody who has nothing but that.

The clone is what git keeps of this checkout. Its environment is made by the set-up's own steps, except that the
packages are those the tests run with: fetching them is tested beside this, with packages from a folder.

A newcomer's first commands, and one of each kind for which the launcher does more than to hand words on, are typed into
a shell and start cold. The others are forked from the program as the tests have it loaded, in the clone's folder, with
its home and the words that the launcher would hand on; `COLD_STARTS=1` starts every one of them cold.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from familiar_connect.errors import ModelSetupError
from familiar_connect.llm.embedded.weights import find_weights
from tests.fakes.program import run_program, shorten_turns
from tests.fakes.program_process import COLD
from tests.fakes.publisher import publisher_of
from tests.setup.test_repository import committed

if sys.platform == "win32":
    pytest.skip("the commands are typed into a POSIX shell", allow_module_level=True)

from tools.launch import parse_extras
from tools.transcript import BLOCK, README, record

ROOT = Path(__file__).resolve().parents[2]
GUIDES = (ROOT / "docs" / "guides" / "models.md",)
"""Pages whose commands need what README's need; those of the others are run by `tests/test_docs.py`."""
FENCE = re.compile(r"```sh\n(.*?)```", re.DOTALL)
SPAN = re.compile(r"`([^`]+)`")
BETTER_MODEL = "qwen2.5-coder-1.5b"
TOO_SLOW = "The embedded model did not answer"
LINK_PACKAGES = """
import sys
from tools import installer
from tools.environment import SOURCE, wanted_locks, wanted_mark
venv, packages = sys.argv[1:]
installer.link_program(venv)
folder = next(__import__("pathlib").Path(venv).glob("lib/python*/site-packages"))
(folder / "packages_of_the_tests.pth").write_text(packages + "\\n")
installer.compile_program(venv)
locks = wanted_locks({}, testing=True, extras=["discord", "voice", "web"])
installer.write_mark(venv, wanted_mark(venv, locks))
"""
"""The last steps of the set-up, with packages that are there already."""


@dataclass(frozen=True, kw_only=True)
class StandIn:
    """How a command is run that needs a person, a key or hours; the command itself is the one of README."""

    types: str = ""
    """What the person types."""
    with_words: str = ""
    """What is added to the command."""
    code: int = 0
    says: str = ""
    """Words that must be among what it prints."""
    is_stopped: bool = False
    """It runs until Ctrl-C, which comes once it has said them."""


STAND_INS = {
    "python3 run.py": StandIn(types="I'm Sam, and I had a long day.\n", says="Welcome!"),
    "python3 run.py test": StandIn(with_words="tests/support/test_lru.py", says="passed"),
    "python3 run.py chat --as Sam": StandIn(types="/name\n", says="I call you Sam."),
    "python3 run.py chat --with wren --with mira": StandIn(types="/quit\n", says="Wren and Mira speak through"),
    "python3 run.py connect": StandIn(types="embedded\n", says="embedded"),
    "familiar connect": StandIn(types="embedded\n", says="embedded"),
    "python3 run.py chat --familiar mira": StandIn(types="Hello!\n", says="speaks through"),
    "python3 run.py memory forget Sam --familiar ember": StandIn(types="Sam\n", says="Erased"),
    "python3 run.py web": StandIn(with_words="--no-open --port 0", says="Ctrl-C stops.", is_stopped=True),
    "python3 run.py serve": StandIn(with_words="--port 0", says="Ctrl-C stops", is_stopped=True),
    "python3 run.py voice": StandIn(types="Hello!\n", says="Mira: "),
    "python3 run.py --with discord run": StandIn(code=1, says="DISCORD_BOT"),
    "python3 run.py --with discord run --demo-discord": StandIn(
        types="ada: Mira, hello!\n", says="Mira is starting on Discord"
    ),
    "python3 run.py chat --new": StandIn(types="/quit\n", says="This is the chat"),
    "python3 run.py chat --chat travels": StandIn(types="/quit\n", says="This is the chat 'travels'"),
}
"""By command. Whoever sits at the terminal types; the tests are one file of them; there is no bot's token, and its
absence is told; the model that is fetched comes from loopback and is the small one under the name of the better."""


TYPED = (
    *("python3 run.py", "python3 run.py inspect", "python3 run.py test", "python3 run.py web", "python3 run.py voice"),
    "python3 run.py serve",
    *("python3 run.py init mira --name Mira", "python3 run.py --with discord run", "familiar connect"),
)
"""What starts cold, besides whatever needs a shell."""
SHELL = re.compile(r"[|&;<>()$`*?\[\]~]")
"""A command with one of these, not in quotes, needs a shell."""
QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")


def handed_on(command: str) -> list[str] | None:
    """The words that the program is started with for *command*; None where it is to be typed."""
    if COLD or command in TYPED or SHELL.search(QUOTED.sub("", command)):
        return None
    words = shlex.split(command)
    return list(parse_extras(words[1 if words[0] == "familiar" else 2 :])[1])


def readme_commands() -> list[str]:
    """Every command of README in its order: the fenced ones, then those in the table."""
    text = README.read_text(encoding="utf-8")
    fenced = [line for block in FENCE.findall(text) for line in block.splitlines() if line.strip()]
    rows = [line for line in text.splitlines() if line.startswith("| ") and "run.py" in line]
    spans = [span.replace("\\|", "|") for row in rows for span in SPAN.findall(row) if "run.py" in span]
    return [*fenced, *spans]


def guide_commands() -> list[str]:
    """The commands that guides show in a block for a shell."""
    blocks = [block for page in GUIDES for block in FENCE.findall(page.read_text(encoding="utf-8"))]
    return [line for block in blocks for line in block.splitlines() if line.strip()]


@dataclass(frozen=True, kw_only=True)
class Clone:
    """A fresh clone, and the one home of everything that is typed in it."""

    root: Path
    home: Path

    def run(self, command: str, how: StandIn) -> subprocess.CompletedProcess[str]:
        """The command, typed or forked, to its end or to Ctrl-C."""
        words, whole = handed_on(command), f"{command} {how.with_words}".strip()
        if how.is_stopped:
            return self.run_until(whole, how.says)
        if words is None:
            return self.type(whole, said=how.types)
        env = {"HOME": str(self.root.parent), "FAMILIAR_COMMAND": "python3 run.py"}
        return run_program(self.home, *words, said=how.types, env=env, cwd=self.root, timeout_s=900)

    def type(self, command: str, *, said: str = "") -> subprocess.CompletedProcess[str]:
        """The command as a person types it in the clone's folder."""
        return subprocess.run(
            command,
            shell=True,
            cwd=self.root,
            env=self.environment(),
            input=said,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )

    def run_until(self, command: str, words: str) -> subprocess.CompletedProcess[str]:
        """The same for a command that runs until Ctrl-C, which comes once it has said *words*."""
        with subprocess.Popen(
            f"exec {command}",
            shell=True,
            cwd=self.root,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as running:
            assert running.stdout is not None
            told = ""
            for line in running.stdout:
                told += line
                if words in line:
                    running.send_signal(signal.SIGINT)
            return subprocess.CompletedProcess(command, running.wait(timeout=900), told, "")

    def environment(self) -> dict[str, str]:
        ours = ("FAMILIAR_", "PYTEST_", "PYTHON", "XDG_")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
        kept.pop("DISCORD_BOT", None)
        path = os.pathsep.join([str(self.root.parent / "bin"), str(self.root / ".venv" / "bin"), kept["PATH"]])
        return {**kept, "HOME": str(self.root.parent), "PATH": path, "LC_ALL": "C.UTF-8"}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clone]:
    """A clone with its environment, and the better model to be had on loopback."""
    try:
        weights = find_weights().path.read_bytes()
    except ModelSetupError as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("somebody")
    root = folder / "familiar-connect"
    for path in committed():
        target = root / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    (folder / "bin").mkdir()
    python = Path(getattr(sys, "_base_executable", sys.executable))
    (folder / "bin" / "python3").symlink_to(python)
    venv = root / ".venv"
    packages = next(path for path in map(Path, sys.path) if path.name == "site-packages")
    subprocess.run([python, "-m", "venv", "--without-pip", venv], check=True)
    subprocess.run([python, "-c", LINK_PACKAGES, venv, packages], cwd=root, check=True)
    home = folder / ".local" / "share" / "familiar-connect"
    home.mkdir(parents=True)
    shorten_turns(home)
    with publisher_of(weights) as published:
        row = f'[[model]]\nname = "{BETTER_MODEL}"\ntitle = "The small one"\nurl = "{published.url}"\n'
        row += f'bytes = {len(weights)}\nsha256 = "{hashlib.sha256(weights).hexdigest()}"\nlicence = "Apache-2.0"\n'
        (home / "catalogue.toml").write_text(row, encoding="utf-8")
        yield Clone(root=root, home=home)


@pytest.mark.timeout(3600)
def test_every_command_of_the_readme_works_as_it_is_written(clone: Clone) -> None:
    """One after another, in one clone with one home; each ends well and says something."""
    failures = []
    for command in (*readme_commands(), *guide_commands()):
        how = STAND_INS.get(command, StandIn())
        done = clone.run(command, how)
        if done.returncode != how.code and TOO_SLOW in done.stdout + done.stderr:
            done = clone.run(command, how)  # as a person would on a machine with much else to do
        told = done.stdout + done.stderr
        if done.returncode != how.code or not told.strip() or how.says not in told or "Traceback" in told:
            failures.append(f"$ {command}\n{done.stdout}\n{done.stderr}\n-> {done.returncode}")

    assert not failures, "\n\n".join(failures)


def test_every_stand_in_is_for_a_command_of_the_readme() -> None:
    """None is left over when README changes; and README has commands at all."""
    commands = readme_commands()

    assert {*STAND_INS, *TYPED} <= {*commands, *guide_commands()}
    assert len(commands) > 25


@pytest.mark.timeout(1200)
def test_the_transcript_is_the_one_the_program_gives() -> None:
    """Word for word but for what the small model says, which differs each time."""
    written = BLOCK.search(README.read_text(encoding="utf-8"))
    assert written is not None

    assert fixed_lines(record(is_brief=True)) == fixed_lines(written[0])


def fixed_lines(transcript: str) -> list[str]:
    """A transcript without what a model said: of its replies only the label stays.

    Nor is the offer of a better model in it, which depends on the machine.
    """
    offer = r"(?ms)^[^\n]*(?:talks better|runs on this computer|is already here).*?type /upgrade never\.\n"
    transcript = re.sub(offer, "", transcript)
    lines: list[str] = []
    is_reply, has_met = False, False
    for line in transcript.splitlines():
        speaks = re.match(r"(\w+): ", line)
        if speaks is None and is_reply:
            continue  # a reply goes on
        is_reply = speaks is not None and speaks[1] == "Ember" and has_met
        has_met = has_met or line.startswith("Ember: ")  # the greeting is the character's own
        lines.append("Ember:" if is_reply else line)
    return lines
