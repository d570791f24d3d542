"""Packages of strangers, as pip leaves them behind: a module, and what says that it is an extension."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from tests.fakes.program import run_program

EXAMPLES = Path(__file__).parents[2] / "examples" / "extensions"


def install_extension(site: Path, name: str, source: str, *, value: str = "extension", version: str = "1.0") -> None:
    """Put a package into *site* whose module has *source* and names its `value` as the extension *name*."""
    info = site / f"familiar_{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (site / f"familiar_{name}.py").write_text(source, encoding="utf-8")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: familiar-{name}\nVersion: {version}\n")
    points = f"[familiar_connect.extensions]\n{name} = familiar_{name}:{value}\n"
    (info / "entry_points.txt").write_text(points)


def install_example(site: Path, name: str) -> None:
    """One of the extensions in `examples/`, as pip leaves it behind."""
    shutil.copytree(installed_example(name), site, dirs_exist_ok=True)


@cache
def installed_example(name: str) -> Path:
    """A folder with that extension, installed by pip without a network, once in a process."""
    folder = tempfile.TemporaryDirectory(prefix="familiar-example-")
    atexit.register(folder.cleanup)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*command, "--target", folder.name, str(EXAMPLES / name)], check=True, timeout=300)
    return Path(folder.name)


def run_beside(site: Path, home: Path, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
    """`familiar WORDS` as a new process that finds the packages in *site*."""
    return run_program(home, *words, said=said, env={"PYTHONPATH": str(site)})
