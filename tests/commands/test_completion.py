"""Tab in bash, zsh and fish; --version; and the exit codes scripts go by."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from familiar_connect import __version__
from familiar_connect.commands.completion import EPILOG
from familiar_connect.commands.exit_codes import EXIT_CODES
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.history.chats import ChatRegistry
from tests.fakes.program import make_home, run_program
from tests.fakes.program_process import PROGRAM, environment

ROOT = Path(__file__).parents[2]


def offered(home: Path, *words: str) -> list[str]:
    """What bash is offered behind *words*; the last one is being typed."""
    env = {
        "_FAMILIAR_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["familiar", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = run_program(home, env=env)
    assert done.returncode == 0, done.stderr
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_tab_offers_verbs_options_and_names(tmp_path: Path) -> None:
    """Familiars, chats, models and keys among them."""
    root = make_home(tmp_path)
    make_home(tmp_path / "other")
    ChatRegistry(FamiliarFolder(root)).start(1, "travels")

    assert offered(tmp_path, "ins") == ["inspect"]
    assert "--continue" in offered(tmp_path, "chat", "--")
    assert offered(tmp_path, "chat", "--familiar", "e") == ["ember"]
    assert offered(tmp_path, "chat", "--chat", "") == ["main", "travels"]
    assert offered(tmp_path, "chat", "-m", "emb") == ["embedded"]
    assert offered(tmp_path, "export", "c") == ["card", "chat"]
    assert offered(tmp_path, "keys", "") == ["list", "remove", "set"]


def put_on_path(folder: Path) -> dict[str, str]:
    """An environment with a home of its own in *folder*, in which `familiar` is a command."""
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    shim = bin_folder / "familiar"
    shim.write_text(f'#!/bin/sh\nexec {PROGRAM[0]} -m familiar_connect "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    env = environment(folder)
    return {**env, "HOME": str(folder), "PATH": f"{bin_folder}:{env['PATH']}"}


@pytest.mark.parametrize(
    ("shell", "file"),
    [("bash", ".bashrc"), ("zsh", ".zshrc"), ("fish", ".config/fish/completions/familiar.fish")],
)
def test_the_line_of_the_help_installs_a_script_the_shell_takes(tmp_path: Path, shell: str, file: str) -> None:
    """Pasted in a home without any settings; where the shell is here, it takes the script without complaint."""
    line = next(line for line in EPILOG.splitlines() if f"completion {shell} >" in line)
    env = put_on_path(tmp_path)
    done = subprocess.run(["sh", "-c", line], env=env, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    script = (tmp_path / file).read_text(encoding="utf-8")
    assert "_FAMILIAR_COMPLETE" in script
    assert "familiar-connect" in script
    if shutil.which(shell):
        begin = ["fish", "--no-config"] if shell == "fish" else [shell, "--norc" if shell == "bash" else "-f"]
        read = subprocess.run([*begin, str(tmp_path / file)], env=env, capture_output=True, text=True, check=False)
        assert (read.returncode, read.stdout, read.stderr) == (0, "", "")
    assert shell != "fish" or "--max 1" in script, "what is said of a verb goes on behind its first comma"


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_what_is_typed(tmp_path: Path) -> None:
    """The function of the script, called as bash calls it; a name with spaces comes as one word of a line."""
    root = make_home(tmp_path)
    ChatRegistry(FamiliarFolder(root)).start(1, "a walk")
    script = run_program(tmp_path, "completion", "bash").stdout
    ask = "_familiar_tab familiar; echo ${COMPREPLY[@]}; COMPREPLY=()"
    done = subprocess.run(
        [
            "bash",
            "-c",
            f"{script}\nCOMP_WORDS=(familiar chat --fam); COMP_CWORD=2; {ask}\n"
            f"COMP_WORDS=(familiar chat --chat a); COMP_CWORD=3; {ask}",
        ],
        env=put_on_path(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.splitlines() == ["--familiar", r"a\ walk"], done.stderr


def test_the_version_comes_with_facts_for_a_bug_report(tmp_path: Path) -> None:
    """Python, system, packages, home; the person's own folder is ~, and each package is named once."""
    done = run_program(tmp_path, "--version", env={"HOME": str(tmp_path.parent)})

    first, *facts = done.stdout.splitlines()
    packages = [each.split()[0] for each in facts[-1].removeprefix("packages").split(",")]
    assert sorted(packages) == sorted(set(packages))
    assert first == f"familiar, version {__version__}"
    assert {line.split()[0] for line in facts} == {"python", "system", "program", "started", "home", "packages"}
    assert f"home      ~/{tmp_path.name}" in done.stdout
    assert "click 8" in done.stdout


def test_the_table_of_exit_codes_is_what_the_guide_says() -> None:
    """Every code with its meaning, word for word."""
    guide = (ROOT / "docs" / "guides" / "run-it.md").read_text(encoding="utf-8")

    assert [
        f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items() if f"| {code} | {meaning} |" not in guide
    ] == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["list"], 0),
        ([], 0),
        (["inspect", "--familiar", "nobody"], 1),
        (["inpsect"], 2),
        (["list", "--nonsense"], 2),
        (["ask"], 2),
    ],
)
def test_exit_codes_are_those_of_the_table(tmp_path: Path, words: list[str], code: int) -> None:
    """For a script that looks at nothing else."""
    make_home(tmp_path)

    assert run_program(tmp_path, *words).returncode == code
