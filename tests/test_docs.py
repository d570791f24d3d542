"""The docs say what the program does: generated pages are fresh, links lead somewhere, examples run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest

from familiar_connect.config.folders import HomeFolder
from tests.fakes.model_server import ModelServer, answer_as_asked
from tests.fakes.program import run_program, serve_beside, set_model
from tests.fakes.program_process import environment
from tools.reference import pages

ROOT = Path(__file__).parent.parent
DOCS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
TOML = re.compile(r"```toml\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
PACKAGE = ROOT / "src" / "familiar_connect"
MODULE = re.compile(
    r"(?<![\w./~-])(?:(?:[a-z_]+/)+[a-z_]*(?:\.py)?(?![\w./])|(?:familiar_connect|benchmarks|tests|tools)(?:\.[a-z_]+)+(?!\w))"
)
NAMED = re.compile(r"`((?:familiar|python3 run\.py) [^`\n]+)`")
"""A command in the text of a page."""
OF_RUN_PY = ("docs", "help", "test", "…")
"""What follows is no verb of the program's own table."""
NEW = re.compile(r"`[^`]+` \(new\)")
"""A file the reader is asked to make."""
OF_A_FAMILIAR = ("memory/self", "memory/people", "memory/sessions", "memory/documents", "memory/servers", "memory/lore")
"""Folders in a familiar's own memory, which is named like the package that keeps it."""


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", pages(), ids=name_of)
def test_generated_pages_are_fresh(path: Path) -> None:
    """A reference page is what `tools/reference.py` writes today."""
    expected = pages()[path]

    assert path.read_text(encoding="utf-8") == expected


@pytest.mark.parametrize("path", DOCS, ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    """Every relative link names a file that exists."""
    links = LINK.findall(path.read_text(encoding="utf-8"))

    assert [link for link in links if not (path.parent / link).exists()] == []


def commands_of(path: Path) -> list[str]:
    """The command lines of a page's console blocks."""
    blocks = CONSOLE.findall(path.read_text(encoding="utf-8"))
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


SHELL = re.compile(r"[|&;<>()$`*?\[\]~]")
"""A command with one of these, not in quotes, needs a shell."""
QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
"""Words a shell leaves as they are."""
PIPED = re.compile(r"((?:echo|printf) [^|]*) \| (familiar .*)")
"""What somebody types, and who hears it."""


@pytest.mark.parametrize("path", [path for path in DOCS if commands_of(path)], ids=name_of)
def test_examples_run(path: Path, tmp_path: Path) -> None:
    """The commands of a page, one after another in a fresh home, all end well.

    Replies come from an endpoint, except where a command names the embedded model: that one is tried by README's
    commands, which are run by `tests/setup/test_readme.py`, and takes most of a minute for a page.
    """
    shim = tmp_path / "bin" / "familiar"
    shim.parent.mkdir()
    python = shlex.quote(sys.executable)
    shim.write_text(f'#!/bin/sh\nexec {python} -m familiar_connect "$@"\n')
    shim.chmod(0o755)
    (tmp_path / "examples").symlink_to(ROOT / "examples")  # pages speak from the checkout's own folder
    home = tmp_path / "home"
    path_variable = f"{shim.parent}{os.pathsep}{os.environ['PATH']}"

    def run(command: str) -> subprocess.CompletedProcess[str]:
        piped = PIPED.fullmatch(command)
        last = piped[2] if piped else command
        words = [] if SHELL.search(QUOTED.sub("", last)) else shlex.split(last)
        if words and words[0] == "familiar":  # from the process that has the program loaded: the same, and sooner
            said = run_in_shell(piped[1]).stdout if piped else ""
            return run_program(home, *words[1:], said=said, cwd=tmp_path)
        return run_in_shell(command)

    def run_in_shell(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            shell=True,
            env={**environment(home), "PATH": path_variable},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=400,
        )

    with serve_beside(ModelServer([answer_as_asked("It is a fine evening for it.")])) as server:
        set_model(HomeFolder(home).profile.settings_file, server)
        done = [(command, run(command)) for command in commands_of(path)]
    failures = [
        (command, result.returncode, result.stdout[-300:], result.stderr[-300:])
        for command, result in done
        if result.returncode != 0 or not result.stdout.strip()
    ]

    assert failures == []


@pytest.mark.parametrize("path", [path for path in DOCS if PYTHON.search(path.read_text("utf-8"))], ids=name_of)
def test_python_examples_compile_and_import(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A code example is a module that loads."""
    blocks = PYTHON.findall(path.read_text(encoding="utf-8"))

    for block in blocks:
        example = ModuleType("example")
        monkeypatch.setitem(sys.modules, "example", example)  # a dataclass looks its own module up
        exec(compile(block, str(path), "exec"), vars(example))
        assert "__doc__" in vars(example)


@pytest.mark.parametrize("path", [path for path in DOCS if TOML.search(path.read_text("utf-8"))], ids=name_of)
def test_settings_examples_load(path: Path, tmp_path: Path) -> None:
    """A settings example is a character.toml that loads."""
    from familiar_connect.config import load_character_config

    for block in TOML.findall(path.read_text(encoding="utf-8")):
        file = tmp_path / "character.toml"
        file.write_text(block, encoding="utf-8")
        config = load_character_config(file)
        assert config.llm["main_prose"].model


def test_every_verb_is_in_the_readme_or_a_guide() -> None:
    """A newcomer finds each verb in what they read first."""
    from familiar_connect.cli import VERBS

    text = "".join(path.read_text(encoding="utf-8") for path in DOCS if "reference" not in path.parts)
    missing = [verb for verb in VERBS if not re.search(rf"(?:familiar|run\.py) {verb}\b", text)]

    assert missing == []


def unknown_word(command: str) -> str | None:
    """The first word of *command*, as a page names it, that the program does not know; None: all are known."""
    from familiar_connect.cli import cli

    words = shlex.split(command.replace("\\|", "|"))
    words = words[1:] if words[0] == "familiar" else words[2:]
    while words and words[0].startswith("--with"):
        words = words[1 if "=" in words[0] else 2 :]
    here: click.Command = cli
    context = click.Context(cli)
    while words:
        word = words.pop(0)
        if word in ("|", "&&", ">", "<") or (isinstance(here, click.Group) and (word.isupper() or word in OF_RUN_PY)):
            return None
        if re.fullmatch(r"-(?:\d+|v+|h|-help)?", word):
            continue
        if word.startswith("-"):
            name, equals, _ = word.partition("=")
            options = {each: one for one in here.params for each in (*one.opts, *one.secondary_opts)}
            if not isinstance(option := options.get(name), click.Option):
                return word
            if not (option.is_flag or option.count or equals):
                del words[:1]
        elif isinstance(here, click.Group):
            found = here.get_command(context, word)
            if found is None:
                return word
            here, context = found, click.Context(found, parent=context)
    return None


@pytest.mark.parametrize("path", DOCS, ids=name_of)
def test_commands_in_the_text_exist(path: Path) -> None:
    """Every verb and option that a page names between backticks is one of the program's."""
    named = NAMED.findall(path.read_text(encoding="utf-8"))

    assert [(command, word) for command in named if (word := unknown_word(command)) is not None] == []


def test_a_command_that_does_not_exist_is_found() -> None:
    """A verb, a verb of a verb, an option; values and what stands behind a pipe are not looked at."""
    assert unknown_word("familiar memory serch tea") == "serch"
    assert unknown_word("python3 run.py --with discord run --demo-dicsord") == "--demo-dicsord"
    assert unknown_word('echo "hi" | familiar chat --plain'.partition("| ")[2]) is None
    assert unknown_word("familiar --home ./data inspect -2 --json") is None


def lost_modules(text: str) -> list[str]:
    """The folders and modules of ours that *text* names and nobody finds."""
    ours = {path.stem for path in PACKAGE.iterdir()} | {"src", "tests", "benchmarks", "tools", "familiar_connect"}
    lost = []
    for name in MODULE.findall(NEW.sub("", text)):
        path = name.rstrip("/").removesuffix(".py") if "/" in name else name.replace(".", "/")
        is_page = name.endswith(".md") and (ROOT / "docs" / name).exists()
        if is_page or path.split("/")[0] not in ours or path.startswith(OF_A_FAMILIAR):
            continue
        places = [base / each for base in (ROOT, ROOT / "src", PACKAGE) for each in (path, f"{path}.py")]
        if not any(place.exists() for place in places):
            lost.append(name)
    return lost


@pytest.mark.parametrize("path", DOCS, ids=name_of)
def test_pages_name_only_modules_that_exist(path: Path) -> None:
    """A folder or module that was renamed is renamed on every page."""
    assert lost_modules(path.read_text(encoding="utf-8")) == []


def test_a_lost_module_is_found() -> None:
    """Paths and dotted names are looked up; a familiar's own folders and other people's paths are not ours."""
    text = "`reply/around/` `context/slots.py` benchmarks.gone `memory/self/` (bin/activate) `memory/no_such.py`"

    assert lost_modules(text) == ["reply/around/", "benchmarks.gone", "memory/no_such.py"]
