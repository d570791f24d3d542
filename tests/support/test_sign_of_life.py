"""A sign of life is renewed by the event loop, comes back when its file is deleted, and ends with its program."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from familiar_connect.support import sign_of_life
from familiar_connect.support.sign_of_life import seconds_since_life, show_life

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no hold on a file")


async def until_fresh(path: Path) -> None:
    """Wait until the file is there, held and new."""
    async with asyncio.timeout(300):
        while True:
            seconds = seconds_since_life(path)
            if seconds is not None and seconds < 100:
                return
            await asyncio.sleep(0)


async def test_the_loop_renews_it_and_makes_it_again_when_it_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old becomes new, gone becomes there; after the block nobody holds it."""
    monkeypatch.setattr(sign_of_life, "RENEW_S", 0.0)
    path = tmp_path / "running" / "ember.lock"
    assert seconds_since_life(path) is None
    async with show_life(path):
        await until_fresh(path)
        os.utime(path, (0, 0))
        await until_fresh(path)
        path.unlink()
        await until_fresh(path)
    assert seconds_since_life(path) is None


async def test_where_it_cannot_be_written_the_program_runs_without(tmp_path: Path) -> None:
    """A file stands where its folder should be."""
    (tmp_path / "running").write_text("in the way")
    async with show_life(tmp_path / "running" / "ember.lock"):
        pass
    assert seconds_since_life(tmp_path / "running" / "ember.lock") is None
