"""Files are replaced whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from familiar_connect.support.files import (
    atomic_write,
    is_temporary,
    open_locked,
    safe_join,
    sweep_temporaries,
    temporary_name,
)
from familiar_connect.support.no_follow import LinkRefused


def test_text_and_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    """No newline is translated and text is UTF-8."""
    atomic_write(tmp_path / "a.md", "ä\r\n")
    atomic_write(tmp_path / "b.bin", b"\xff\x00")

    assert (tmp_path / "a.md").read_bytes() == "ä\r\n".encode()
    assert (tmp_path / "b.bin").read_bytes() == b"\xff\x00"


def test_missing_folders_are_made(tmp_path: Path) -> None:
    """The parents of the file come with it."""
    atomic_write(tmp_path / "x" / "y" / "z.md", "z")

    assert (tmp_path / "x" / "y" / "z.md").read_text() == "z"


@pytest.mark.skipif(os.name == "nt", reason="rights are POSIX")
def test_mode_is_set_whatever_the_umask_and_kept_afterwards(tmp_path: Path) -> None:
    """A secret stays secret when it is rewritten."""
    secret = tmp_path / "secrets.env"
    atomic_write(secret, "A=1", mode=0o600)
    atomic_write(secret, "A=2")

    assert stat.S_IMODE(secret.stat().st_mode) == 0o600


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_a_link_is_refused_and_what_it_leads_to_is_left_alone(tmp_path: Path) -> None:
    """Neither written through nor replaced: the sentence names it, and whoever named it decides."""
    real = tmp_path / "real.toml"
    real.write_text("old")
    link = tmp_path / "link.toml"
    link.symlink_to(real)

    with pytest.raises(LinkRefused, match=r"link\.toml is a link; replace it by the file itself"):
        atomic_write(link, "new")

    assert link.is_symlink()
    assert real.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.toml", "real.toml"]


@pytest.mark.parametrize("failing", ["write", "fsync", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
def test_a_refusing_disk_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str, code: int
) -> None:
    """The error passes through, the old text stays, no temporary file is left."""
    path = tmp_path / "a.md"
    path.write_text("old")

    def refuse(*_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, failing, refuse)
    with pytest.raises(OSError, match=os.strerror(code)) as raised:
        atomic_write(path, "new")

    assert raised.value.errno == code
    assert [p.name for p in tmp_path.iterdir()] == ["a.md"]
    assert path.read_text() == "old"


def test_short_writes_are_carried_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that takes one byte at a time still gets them all."""
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, bytes(data[:1])))
    atomic_write(tmp_path / "a.md", "hello")

    assert (tmp_path / "a.md").read_text() == "hello"


def test_old_leftovers_are_swept_and_fresh_ones_are_not(tmp_path: Path) -> None:
    """A fresh temporary file may belong to somebody writing right now."""
    stale, fresh = tmp_path / temporary_name(), tmp_path / temporary_name()
    for path in (stale, fresh, tmp_path / ".tmp-notes"):
        path.write_text("x")
    for path in (stale, tmp_path / ".tmp-notes"):
        os.utime(path, (0, 0))

    assert sweep_temporaries(tmp_path) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([fresh.name, ".tmp-notes"])
    assert is_temporary(fresh.name)


@pytest.mark.parametrize("parts", [("..", "x"), ("a", "../../x"), ("/etc/passwd",), ("a\0b",)])
def test_safe_join_refuses_to_leave(tmp_path: Path, parts: tuple[str, ...]) -> None:
    """Names from outside never lead outside."""
    with pytest.raises(ValueError, match=r"outside|NUL"):
        safe_join(tmp_path / "root", *parts)


def test_safe_join_gives_the_path_inside(tmp_path: Path) -> None:
    """What stays inside is joined."""
    assert safe_join(tmp_path, "a", "../b.md") == tmp_path.resolve() / "b.md"


def test_a_locked_file_is_the_one_that_stands_there(tmp_path: Path) -> None:
    """Whoever waited while it was replaced gets the new one, not the old."""
    path = tmp_path / "log"
    path.write_text("old")
    order: list[str] = []
    first_has_it = threading.Event()

    def second() -> None:
        first_has_it.wait()
        with open_locked(path, os.O_RDONLY) as fd:
            order.append(os.read(fd, 10).decode())

    waiting = threading.Thread(target=second)
    waiting.start()
    with open_locked(path, os.O_RDONLY):
        first_has_it.set()
        order.append("replaced")  # before it is: nobody who opens the new one waits
        atomic_write(path, "new")
    waiting.join()

    assert order == ["replaced", "new"]
