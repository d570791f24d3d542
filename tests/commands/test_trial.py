"""A copy of a familiar to try things with."""

from __future__ import annotations

from pathlib import Path

import pytest

from familiar_connect.commands.trial import open_trial
from tests.fakes.program import make_home, one_sentence, run_program
from tests.fakes.terminal import TerminalSession


def test_a_second_trial_is_told_of_the_first(tmp_path: Path) -> None:
    """It would throw the copy away that the first one talks with; afterwards it has its turn."""
    root = make_home(tmp_path)
    with open_trial(root, tmp_path) as copy:
        second = run_program(tmp_path, "run", "--demo-discord", said="ada: hello\n")
        assert copy.is_dir()

    assert second.returncode != 0
    assert "another trial runs in this home" in one_sentence(second)
    with open_trial(root, tmp_path) as copy:
        assert copy.is_dir()


def test_commands_for_looking_at_a_trial_are_broken_as_a_shell_takes_them(tmp_path: Path) -> None:
    """Where the window is too narrow for one, its lines end with a backslash, and no word is broken."""
    pytest.importorskip("discord", reason="the Discord library is an extra")
    make_home(tmp_path)
    trial = tmp_path / "trial"
    with TerminalSession(
        tmp_path, "run", "--demo-discord", columns=len(f"  {trial} memory list \\"), rows=200
    ) as session:
        session.wait_for_screen("#general >")
        assert session.leave() == 0

    assert f"  familiar --home \\\n  {trial} logs\n      what was said\n" in session.screen.everything
    assert f"  familiar --home \\\n  {trial} memory list\n      its memory" in session.screen.everything
