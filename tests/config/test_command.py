"""The command as it is typed: hints can be pasted however the program was started."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from familiar_connect.cli import VERBS as CLI_VERBS
from familiar_connect.cli import cli
from familiar_connect.config.command import (
    ABOUT_ALL,
    VERBS,
    VERBS_OF_A_FAMILIAR,
    command_name,
    command_with_extra,
    program_name,
    set_familiar_option,
    set_home_option,
    with_command,
    with_command_in_help,
)
from tools.launch import typed_command

SRC = Path(__file__).parents[2] / "src"


@pytest.fixture(autouse=True)
def without_options(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("FAMILIAR_COMMAND", raising=False)
    set_home_option(None)
    yield
    set_home_option(None)
    set_familiar_option(None)


def started(monkeypatch: pytest.MonkeyPatch, *typed: str, script: str) -> str:
    """What the program is called when a person typed that."""
    monkeypatch.setattr("sys.orig_argv", list(typed))
    monkeypatch.setattr("sys.argv", [script])
    return program_name()


def test_every_verb_is_known_to_hints() -> None:
    """A new verb is written in both places."""
    assert set(VERBS) == set(CLI_VERBS)


def test_the_name_is_how_it_was_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As a module, by a script on the PATH or off it, by the launcher."""
    script = tmp_path / "bin" / "familiar"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    script.chmod(0o755)
    module = started(monkeypatch, "python3", "-m", "familiar_connect", "list", script="/x/familiar_connect/__main__.py")
    off_path = started(monkeypatch, "/x/python", str(script), script=str(script))
    monkeypatch.setenv("PATH", str(script.parent))
    on_path = started(monkeypatch, "/x/python", str(script), script=str(script))
    monkeypatch.setenv("FAMILIAR_COMMAND", "python3 ../run.py")

    assert (module, off_path, on_path) == ("python3 -m familiar_connect", str(script), "familiar")
    assert program_name() == "python3 ../run.py"


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        (["python3", "run.py", "--with", "discord", "run"], "python3 run.py"),
        (["python3.12", "-X", "dev", "../my code/run.py", "chat"], "python3.12 -X dev '../my code/run.py'"),
        (["python3"], "python3 run.py"),
    ],
)
def test_the_launcher_is_named_as_it_was_typed(typed: list[str], command: str) -> None:
    """With its folder, and whichever Python it was."""
    assert typed_command(typed) == command


def test_a_long_path_is_shortened_to_what_works_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The bare name where it leads to the same Python, as under pyenv; else the path from here, else the whole path."""
    folder = tmp_path / "versions" / "3.12.1" / "bin"
    folder.mkdir(parents=True)
    for name in ("python3.12", "familiar"):
        (folder / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    python, main = str(folder / "python3.12"), "/x/familiar_connect/__main__.py"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("PATH", "/nowhere")
    assert typed_command([python, "run.py", "chat"]) == f"{python} run.py"
    assert started(monkeypatch, python, "-m", "familiar_connect", script=main) == f"{python} -m familiar_connect"
    assert started(monkeypatch, python, "-P", "-m", "familiar_connect", script=main) == str(folder / "familiar")

    monkeypatch.chdir(tmp_path)
    inside = started(monkeypatch, python, "-P", "-m", "familiar_connect", "list", script=main)
    assert inside == "versions/3.12.1/bin/familiar"
    assert started(monkeypatch, python, str(folder / "familiar"), script=str(folder / "familiar")) == inside

    monkeypatch.setenv("PATH", str(folder))
    assert typed_command([python, "-X", "dev", "run.py"]) == "python3.12 -X dev run.py"
    assert started(monkeypatch, python, "-m", "familiar_connect", script=main) == "python3.12 -m familiar_connect"
    assert started(monkeypatch, python, "-P", "-m", "familiar_connect", script=main) == "familiar"


def test_a_hint_carries_the_home_of_this_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one with a space in it."""
    monkeypatch.setenv("FAMILIAR_COMMAND", "python3 run.py")
    set_home_option(Path("/my data"))

    assert command_name() == "python3 run.py --home '/my data'"
    assert with_command("run `familiar doctor`; or: familiar chat") == (
        "run `python3 run.py --home '/my data' doctor`; or: python3 run.py --home '/my data' chat"
    )


def test_a_hint_carries_the_familiar_of_this_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its verb takes one and it names none: without, it would be about whoever was talked with last."""
    monkeypatch.setenv("FAMILIAR_COMMAND", "python3 run.py")
    set_familiar_option("wren")

    assert with_command("`familiar preset show`, `familiar memory list people`; `familiar chat --familiar mira`") == (
        "`python3 run.py preset show --familiar wren`, `python3 run.py memory list people --familiar wren`; "
        "`python3 run.py chat --familiar mira`"
    )
    assert with_command("`familiar preset show`; `familiar model list`", "wren").count("--familiar wren`") == 1
    assert with_command("`familiar model list`; or: familiar chat") == (
        "`python3 run.py model list`; or: python3 run.py chat"
    )


@pytest.mark.parametrize("verb", sorted(VERBS_OF_A_FAMILIAR))
def test_verbs_of_a_familiar_take_its_name(verb: str) -> None:
    """So do all that stand below them: what is added to a hint is understood."""
    with click.Context(cli, info_name="familiar") as ctx:
        waiting = [cli.get_command(ctx, verb)]
        while waiting:
            command = waiting.pop()
            assert command is not None
            if isinstance(command, click.Group):
                waiting += [command.get_command(ctx, name) for name in command.list_commands(ctx)]
            elif command.name not in ABOUT_ALL:
                assert "--familiar" in {option for each in command.params for option in each.opts}, command.name


@pytest.mark.parametrize("text", ["the familiar runs", "a familiar list", "familiar", "`familiar_connect chat`"])
def test_other_words_are_left_alone(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A familiar is a character before it is a command."""
    monkeypatch.setenv("FAMILIAR_COMMAND", "python3 run.py")

    assert with_command(text) == text


def test_help_shows_commands_as_they_are_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In examples and in pipes."""
    monkeypatch.setenv("FAMILIAR_COMMAND", "python3 run.py")

    assert with_command_in_help('  echo "hi" | familiar chat --plain') == '  echo "hi" | python3 run.py chat --plain'


def test_a_missing_extra_is_asked_for_with_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was typed, options and all, with the extra before it."""
    monkeypatch.setenv("FAMILIAR_COMMAND", "python3 run.py")
    set_home_option(Path("/my data"))

    typed = ["--home", "/my data", "run", "--demo-discord"]
    assert command_with_extra("discord", typed) == (
        "python3 run.py --with discord --home '/my data' run --demo-discord"
    )
    assert command_with_extra("discord", ["doctor"]) == "python3 run.py --with discord --home '/my data' run"
    assert command_with_extra("voice", ["doctor"]) == "python3 run.py --with voice --home '/my data' voice"
    assert command_with_extra("voice", ["run"]) == "python3 run.py --with voice run", "for voice channels"
    monkeypatch.delenv("FAMILIAR_COMMAND")
    beside = command_with_extra("twitch", ["run"])
    assert beside is not None
    assert Path(shlex.split(beside)[1]).is_file()


def test_every_hint_in_the_code_names_a_verb_and_can_be_rewritten() -> None:
    """Between backticks, so that it is found; a verb that does not exist is a slip."""
    wrong = []
    for path in sorted(SRC.rglob("*.py")):
        for hint in re.findall(r"`familiar ([^`{]*)", path.read_text(encoding="utf-8")):
            if hint.split(" ")[0].rstrip(".,;") not in {*VERBS, "VERB", "help"} and not hint.startswith("-"):
                wrong.append(f"{path.name}: familiar {hint}")

    assert wrong == []
