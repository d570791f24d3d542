"""doctor: every trouble is a finding, and none hides another."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from familiar_connect.commands.doctor import examine
from familiar_connect.config.load import write_default_model
from familiar_connect.memory.store import MemoryStore
from tests.fakes.program import a_home


def bad(home: Path) -> dict[str, str]:
    """What is wrong in *home*, by area; the last area must have been looked at."""
    findings = list(examine(home, None))
    assert findings[-1].area == "search"
    return {finding.area: finding.says for finding in findings if finding.state == "bad"}


def test_a_sound_familiar_has_nothing_bad(tmp_path: Path) -> None:
    """Nor anything about parts it does not have yet."""
    a_home(tmp_path)

    assert bad(tmp_path) == {}


@pytest.mark.parametrize("name", ["memory", "channels", "modes"])
def test_a_file_where_a_folder_belongs_is_found(tmp_path: Path, name: str) -> None:
    """Chat cannot start with it."""
    root = a_home(tmp_path)
    if (root / name).exists():
        (root / name).rename(tmp_path / "aside")
    (root / name).write_text("no folder", encoding="utf-8")

    found = bad(tmp_path)
    assert list(found) == [name]
    assert str(root / name) in found[name]


def test_a_folder_without_rights_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may not read or write there is told so."""
    root = a_home(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, _mode: Path(path) != root / "memory")

    assert "right" in bad(tmp_path)["memory"]


def test_a_ledger_of_junk_is_found(tmp_path: Path) -> None:
    """With what to do, and that nothing said is lost."""
    root = a_home(tmp_path)
    (root / "metrics.db").write_bytes(b"no database at all " * 99)

    assert "move it away" in bad(tmp_path)["ledger"]


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied", "memory"), RuntimeError("odd")])
def test_whatever_stops_one_check_the_others_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """It never dies half-way."""
    a_home(tmp_path)

    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(MemoryStore, "glob", fails)

    assert "memory" in bad(tmp_path)


def test_a_server_on_this_computer_is_knocked_at(tmp_path: Path) -> None:
    """An open door is fine, a closed one is said to be closed."""
    root = a_home(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        write_default_model(root / "character.toml", model="m", base_url=f"http://127.0.0.1:{port}/v1")
        assert bad(tmp_path) == {}
    found = bad(tmp_path)

    assert f"127.0.0.1:{port}" in found["model"]
    assert "nobody listens" in found["model"]


def test_nobody_else_is_knocked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A remote endpoint is asked only when told to."""
    root = a_home(tmp_path)
    write_default_model(root / "character.toml", model="m", base_url="https://models.example/v1")
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("knocked"))

    (said,) = [finding.says for finding in examine(tmp_path, None) if finding.area == "model"]
    assert "--ask-models" in said
