"""A folder that tells of its changes, so that nobody has to look at ten thousand files every second."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from familiar_connect.support import folder_watch
from familiar_connect.support.folder_watch import FolderWatch

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells of changes this way")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people").mkdir()
    (tmp_path / "people" / "ada.md").write_text("Ada likes tea.\n")
    (tmp_path / ".index").mkdir()
    return tmp_path


@pytest.fixture
def watch(folder: Path) -> Iterator[FolderWatch]:
    made = FolderWatch(folder)
    made.watch()
    yield made
    made.close()


def rename(folder: Path) -> None:
    (folder / "people" / "ada.md").rename(folder / "people" / "lovelace.md")


def edit_in_place(folder: Path) -> None:
    with (folder / "people" / "ada.md").open("a") as file:
        file.write("And cake.\n")


def replace(folder: Path) -> None:
    (folder / "new").write_text("Ada likes cake.\n")
    (folder / "new").replace(folder / "people" / "ada.md")


def restamp(folder: Path) -> None:
    os.utime(folder / "people" / "ada.md", (1, 1))


@on_linux
@pytest.mark.parametrize(
    "change",
    [
        rename,
        edit_in_place,
        replace,
        restamp,
        lambda folder: (folder / "people" / "ada.md").unlink(),
        lambda folder: (folder / "topics").mkdir(),
    ],
)
def test_every_change_is_told_once(folder: Path, watch: FolderWatch, change: Callable[[Path], None]) -> None:
    """However it was made; before it, and when it was told of, there is nothing to tell."""
    assert not watch.may_have_changed()

    change(folder)

    assert watch.may_have_changed()
    assert not watch.may_have_changed()


@on_linux
def test_a_folder_that_came_later_is_watched_after_the_next_look(folder: Path, watch: FolderWatch) -> None:
    """It is told that the folder came; from then on what happens in it is told too."""
    (folder / "topics").mkdir()
    assert watch.may_have_changed()
    watch.watch()

    (folder / "topics" / "tea.md").write_text("Tea.\n")

    assert watch.may_have_changed()


@on_linux
def test_what_the_program_keeps_for_itself_is_not_told(folder: Path, watch: FolderWatch) -> None:
    """The index changes all the time."""
    (folder / ".index" / "rows").write_text("1\n")

    assert not watch.may_have_changed()


def test_where_nobody_can_tell_it_may_always_have_changed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On more folders than may be watched, and before watching began: whoever asks looks for themselves."""
    monkeypatch.setattr(folder_watch, "MAX_FOLDERS", 1)
    watch = FolderWatch(folder)
    before = watch.may_have_changed()
    watch.watch()

    assert (before, watch.is_watching, watch.may_have_changed(), watch.may_have_changed()) == (True, False, True, True)
    watch.close()
