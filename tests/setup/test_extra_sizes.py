"""What the guide and the hints say about the size of an extra is what was measured."""

from __future__ import annotations

import re
import tomllib
import zipfile
from pathlib import Path

import pytest

from benchmarks.extra_sizes import download, rounded, without
from familiar_connect.config.extras import EXTRA_SIZES, PROGRAM_SIZE, how_to_install
from tools.environment import EXTRAS, LOCK, lock_of
from tools.installer import FETCH_MB

ROOT = Path(__file__).resolve().parents[2]


def test_the_guide_has_a_row_for_every_extra_with_the_measured_numbers() -> None:
    """And no other row; the program's own size stands above it."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    guide = (ROOT / "docs" / "guides" / "deploy.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| `\[(\w+)\]` \|[^|]+\| (\d+) MB \| (\d+) MB \|$", guide)

    assert {name: (int(fetch), int(disk)) for name, fetch, disk in rows} == EXTRA_SIZES
    assert len(rows) == len(EXTRA_SIZES)
    assert set(EXTRA_SIZES) == set(declared)
    assert f"{PROGRAM_SIZE.fetch} MB to fetch and {PROGRAM_SIZE.disk} MB on the disk" in " ".join(guide.split())


def test_all_is_every_extra_that_has_a_lock() -> None:
    """Nobody's favourite is left out, and nothing else comes along."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert declared["all"] == [f"familiar-connect[{','.join(EXTRAS)}]"]


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_hint_for_a_missing_extra_says_what_it_brings(extra: str) -> None:
    """Whoever pays for each megabyte knows it before the command is pasted."""
    assert how_to_install(extra).endswith(f"(about {EXTRA_SIZES[extra].fetch} MB to fetch)")


def test_run_py_tells_the_same_sizes() -> None:
    """As README does for the program; within a tenth for the one large extra."""
    assert FETCH_MB[LOCK] == PROGRAM_SIZE.fetch
    assert f"about {PROGRAM_SIZE.fetch} MB to fetch" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert FETCH_MB[lock_of("voice")] == pytest.approx(EXTRA_SIZES["voice"].fetch, rel=0.1)


def test_sizes_are_measured_from_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fetched is the file, on the disk is what is in it; what the program brings anyway does not count."""

    def fetch(command: list[str], *, check: bool) -> None:
        folder = Path(command[command.index("--dest") + 1])
        for name, size in {"big_one": 3_000_000, "small.one": 1_000}.items():
            with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
                wheel.writestr("data", b"0" * size)

    monkeypatch.setattr("benchmarks.extra_sizes.subprocess.run", fetch)
    sizes = download(tmp_path / "wheels", "anything")
    fetched, disk = sizes["big-one"]

    assert set(sizes) == {"big-one", "small-one"}
    assert disk == pytest.approx(3.0)
    assert fetched < 0.1
    assert set(without(sizes, {"small-one": (0, 0)})) == {"big-one"}
    assert [rounded(size) for size in (0.2, 21.6, 183.0)] == [1, 22, 180]
