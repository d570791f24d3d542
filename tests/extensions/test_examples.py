"""The examples' own tests, run as their authors run them: by pytest in the example's folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.extension_packages import EXAMPLES

SRC = EXAMPLES.parents[1] / "src"
WITH_TESTS = sorted({file.parent.name for file in EXAMPLES.glob("*/test_*.py")})


def test_every_example_has_tests_of_its_own() -> None:
    """Whoever copies one copies how it is tested."""
    assert sorted(each.name for each in EXAMPLES.iterdir() if each.is_dir()) == WITH_TESTS


@pytest.mark.parametrize("name", WITH_TESTS)
def test_the_tests_of_an_example_pass(name: str, tmp_path: Path) -> None:
    """With nothing but the program, pytest and the example itself; nothing of this repository's settings."""
    folder = EXAMPLES / name
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(tmp_path / "pytest.ini")]
    facts = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(SRC), str(folder)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }

    done = subprocess.run(
        [*command, str(folder)], cwd=folder, env=facts, text=True, capture_output=True, timeout=300, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
