"""A copy of a familiar to try things with."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.commands.trial import open_trial
from tests.fakes.program import make_home, one_sentence, run_program


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
