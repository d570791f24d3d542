"""A home with a week of talk in it, and the command line on it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.cli import main
from tests.fakes.sample_week import copy_week


@dataclass(frozen=True)
class Outcome:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Outcome]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The familiar's folder."""
    monkeypatch.setenv("FAMILIAR_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FAMILIAR_ID", raising=False)
    return copy_week(tmp_path / "home")


@pytest.fixture
def run(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`familiar memory …` as the owner types it; *typed* is what they answer."""

    def call(*words: str, typed: str = "") -> Outcome:
        monkeypatch.setattr(sys, "argv", ["familiar", "memory", *words])
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        capsys.readouterr()
        code = main()
        out, err = capsys.readouterr()
        return Outcome(code, out, err)

    return call
