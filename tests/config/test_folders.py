"""Folders: the paths of a familiar and of the home are spelled in one place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from familiar_connect.config.folders import FamiliarFolder, HomeFolder

SRC = Path(__file__).parents[2] / "src" / "familiar_connect"
FILES = (
    "character.toml",
    "subscriptions.toml",
    "privacy.toml",
    "ignored.toml",
    "controls.toml",
    "quiet.toml",
    "history.db",
    "history.db-wal",
    "metrics.db",
    "secrets.env",
    ".index",
)
FOLDERS = ("memory", "audit", "traces", "presets", "modes", "channels", "familiars", "_default", "cache")


def spelled_paths(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """File names written out anywhere, and folder names joined to a path."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in FILES:
            yield node.lineno, str(node.value)
        match node:
            case ast.BinOp(op=ast.Div(), right=ast.Constant(value=str(name))) if name in FOLDERS:
                yield node.lineno, name


@pytest.mark.slow
def test_nobody_else_spells_a_path_of_a_familiar() -> None:
    """A file that moves is moved in one place."""
    strays = [
        f"{path.relative_to(SRC)}:{line} {name}"
        for path in sorted(SRC.rglob("*.py"))
        if path != SRC / "config" / "folders.py"
        for line, name in spelled_paths(ast.parse(path.read_text(encoding="utf-8")))
    ]

    assert strays == []


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("settings_file", "character.toml"),
        ("subscriptions_file", "subscriptions.toml"),
        ("privacy_file", "privacy.toml"),
        ("ignore_list_file", "ignored.toml"),
        ("control_grants_file", "controls.toml"),
        ("quiet_channels_file", "quiet.toml"),
        ("history_db", "history.db"),
        ("history_wal", "history.db-wal"),
        ("metrics_db", "metrics.db"),
        ("memory", "memory"),
        ("character", "memory/self"),
        ("index", "memory/.index"),
        ("audit", "audit"),
        ("traces", "traces"),
        ("presets", "presets"),
        ("modes", "modes"),
        ("channels", "channels"),
    ],
)
def test_a_familiars_files_lie_where_they_were_promised(tmp_path: Path, name: str, path: str) -> None:
    """Data written by an earlier version is found."""
    assert getattr(FamiliarFolder(tmp_path), name) == tmp_path / path


def test_a_familiar_knows_its_home_and_its_profile(tmp_path: Path) -> None:
    """Both follow from where its folder stands."""
    home = HomeFolder(tmp_path)
    wren = home.familiar("wren")

    assert wren.root == tmp_path / "familiars" / "wren"
    assert (wren.familiar_id, wren.home, wren.profile) == ("wren", home, home.profile)
    assert home.profile.settings_file == tmp_path / "familiars" / "_default" / "character.toml"
    assert home.secrets_file == tmp_path / "secrets.env"


def test_channel_files_come_by_name_and_a_folder_that_lacks_holds_none(tmp_path: Path) -> None:
    """Settings and last prompts of channels lie side by side and are told apart by their ending."""
    folder = FamiliarFolder(tmp_path)
    assert (folder.channel_files(), folder.last_context_files()) == ([], [])
    folder.channels.mkdir()
    for name in ("7.toml", "12.toml", "7.last-context.md"):
        (folder.channels / name).touch()

    assert [path.name for path in folder.channel_files()] == ["12.toml", "7.toml"]
    assert folder.channel_file(7) in folder.channel_files()
    assert [path.name for path in folder.last_context_files()] == ["7.last-context.md"]
