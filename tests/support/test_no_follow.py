"""Opening files without following links: at every part of the path, on every kind of system."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.errors import HomeError
from familiar_connect.support import no_follow
from familiar_connect.support.files import atomic_write, open_locked
from familiar_connect.support.no_follow import (
    LinkRefused,
    load_bytes,
    make_folder,
    open_file,
    open_folder,
    open_to_append,
    refuse_linked_path,
    remove_file,
)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="making links needs rights there")


@pytest.fixture(params=["held", "looked at"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of walking: folders held open, and each part looked at before."""
    if request.param == "looked at":
        monkeypatch.setattr(no_follow, "CAN_WALK", False)
    elif not no_follow.CAN_WALK:
        pytest.skip("this system cannot hold folders so")


def lock(path: Path) -> None:
    with open_locked(path, os.O_RDWR | os.O_CREAT):
        pass


ACTIONS: dict[str, Callable[[Path], object]] = {
    "read": load_bytes,
    "append": lambda path: open_to_append(path).close(),
    "create": lambda path: os.close(open_file(path, os.O_WRONLY | os.O_CREAT)),
    "replace": lambda path: atomic_write(path, "new"),
    "lock": lock,
    "make a folder": lambda path: make_folder(path / "in"),
    "open a folder": open_folder,
    "look": refuse_linked_path,
}


def test_a_link_at_any_part_of_a_path_is_refused_by_name(tmp_path: Path) -> None:
    """One that leads nowhere as well, whatever is to be done there; what it leads to is not changed."""
    faults = {}
    for name, linked, dangles in itertools.product(ACTIONS, ("a", "a/b", "a/b/c"), (False, True)):
        folder = tmp_path / f"{name} {linked.replace('/', ' ')} {dangles}"
        folder.mkdir()
        try:
            check_link(folder, ACTIONS[name], linked, dangles=dangles)
        except (Exception, pytest.fail.Exception) as fault:
            faults[folder.name] = repr(fault)

    assert faults == {}


def check_link(tmp_path: Path, action: Callable[[Path], object], linked: str, *, dangles: bool) -> None:
    outside = tmp_path / "outside"
    target = outside / Path("a/b/c").relative_to(linked)
    if not dangles:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("old")
    link = tmp_path / linked
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside if linked != "a/b/c" else target)
    before = sorted(outside.rglob("*"))

    with pytest.raises(LinkRefused) as refused:
        action(tmp_path / "a/b/c")

    assert str(refused.value).startswith(f"{link} is a link; replace it by the ")
    assert isinstance(refused.value, HomeError)
    assert isinstance(refused.value, OSError)
    assert sorted(outside.rglob("*")) == before
    assert dangles or target.read_text() == "old"


def test_a_second_name_is_refused_where_the_file_is_written_in_place(tmp_path: Path) -> None:
    """Reading it is harmless, and replacing it leaves the other alone."""
    (tmp_path / "other").write_text("old")
    os.link(tmp_path / "other", tmp_path / "log")

    with pytest.raises(LinkRefused, match=r"log has a second name elsewhere \(a hard link\).*put a copy in its place"):
        open_to_append(tmp_path / "log")
    with pytest.raises(LinkRefused, match="hard link"):
        refuse_linked_path(tmp_path / "log", is_written=True)

    assert load_bytes(tmp_path / "log") == b"old"
    atomic_write(tmp_path / "log", "new")
    assert ((tmp_path / "other").read_text(), (tmp_path / "log").read_text()) == ("old", "new")


def test_a_link_is_deleted_itself(tmp_path: Path) -> None:
    """Not what it leads to; a link on the way is refused."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text("old")
    (tmp_path / "link").symlink_to("outside/x")
    (tmp_path / "folder").symlink_to("outside")
    remove_file(tmp_path / "link")
    remove_file(tmp_path / "missing")

    assert not (tmp_path / "link").is_symlink()
    with pytest.raises(LinkRefused):
        remove_file(tmp_path / "folder" / "x")
    assert (tmp_path / "outside" / "x").read_text() == "old"


def test_what_is_no_plain_file_is_an_error_and_holds_nobody_up(tmp_path: Path) -> None:
    """A folder, and a pipe that nobody writes to."""
    os.mkfifo(tmp_path / "pipe")
    for name in (".", "pipe"):
        with pytest.raises(OSError, match="not a plain file"):
            load_bytes(tmp_path / name)


names = st.lists(st.sampled_from(["a", "b", "c", ".", ".."]), min_size=1, max_size=6)


@given(parts=names, links=st.dictionaries(st.sampled_from(["a", "b", "c"]), names, max_size=3))
def test_whatever_the_path_and_the_links_nothing_is_read_through_one(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], links: dict[str, list[str]]
) -> None:
    """What is read lies where its path says, letter by letter."""
    root = tmp_path_factory.mktemp("links")
    for name in ("a", "b", "c"):
        if name in links:
            (root / name).symlink_to("/".join(links[name]))
        else:
            (root / name).mkdir()
            for inner in ("a", "b", "c"):
                (root / name / inner).write_text(f"{name}/{inner}")
    path = Path(os.path.normpath(root.joinpath(*parts)))
    try:
        text = load_bytes(path).decode()
    except OSError:
        return
    assert path == root / text
