"""Extra sizes: what the program and each of its extras bring, fetched from the index that pip is set up with.

A package counts for an extra when the program itself does not bring it. What is fetched is the sum of the wheels for
this Python and machine; on the disk it is their files. Run `python -m benchmarks.extra_sizes`; the numbers that hints
and the guide tell stand in `familiar_connect/config/extras.py`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

from tools.environment import EXTRAS, LOCK, lock_of

ROOT = Path(__file__).resolve().parents[1]
MEGABYTE = 1e6
Sizes = dict[str, tuple[float, float]]
"""Package → megabytes to fetch, megabytes on the disk."""


def download(folder: Path, *what: str) -> Sizes:
    """Fetch *what* as wheels, and how large each is."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    folder.mkdir()
    subprocess.run([*pip, "--dest", str(folder), *what], check=True)
    found = {}
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            disk = sum(entry.file_size for entry in archive.infolist())
        name = re.sub(r"[-_.]+", "-", wheel.name.partition("-")[0]).lower()
        found[name] = (wheel.stat().st_size / MEGABYTE, disk / MEGABYTE)
    return found


def measure(folder: Path) -> dict[str, Sizes]:
    """The packages of the program (under an empty name) and what each extra adds."""
    pinned = ("--no-deps", "--require-hashes", "-r")
    base = download(folder / "base", *pinned, LOCK)
    found = {"": base}
    for extra in EXTRAS:
        found[extra] = download(folder / extra, *pinned, lock_of(extra))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra in sorted(set(project["optional-dependencies"]) - {*EXTRAS, "all"}):
        found[extra] = download(folder / extra, *project["optional-dependencies"][extra])
    return {name: sizes if not name else without(sizes, base) for name, sizes in found.items()}


def without(sizes: Sizes, base: Sizes) -> Sizes:
    return {name: size for name, size in sizes.items() if name not in base}


def rounded(megabytes: float) -> int:
    """As people are told it: whole megabytes, tens above a hundred."""
    return max(1, round(megabytes) if megabytes < 100 else round(megabytes / 10) * 10)


def main() -> int:
    argparse.ArgumentParser(prog="python -m benchmarks.extra_sizes", description=__doc__).parse_args()
    with tempfile.TemporaryDirectory(prefix="familiar-extras-") as folder:
        found = measure(Path(folder))
    together = {name: size for extra in EXTRAS for name, size in found[extra].items()}
    print("extra       packages  to fetch   on the disk")
    for name, sizes in {**found, "all": together}.items():
        fetch, disk = (rounded(sum(size[part] for size in sizes.values())) for part in (0, 1))
        print(f"{name or '(program)':<12}{len(sizes):>7}{fetch:>7} MB{disk:>9} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
