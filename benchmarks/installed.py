"""Installed: wheel and sources of this tree, put into an empty environment by pip on every Python of this machine.

Packages come from the index that pip is set up with. In each environment a person's first steps are walked: a
question (which fetches the small model), a chat, an old chat brought in, the page. Run
`python -m benchmarks.installed`; `--python 3.12` for one of them, `--pipx PROGRAM` to have pipx install
the wheel instead.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.table import Row, table
from tests.fakes.installed import InstalledProgram, build_archive

MINORS = range(11, 15)
PIPX_FOLDERS = {"HOME": "pipx", "BIN_DIR": "bin", "MAN_DIR": "man"}
CHAT = (
    {"user_name": "Sam", "character_name": "Ember"},
    {"name": "Sam", "is_user": True, "mes": "I keep bees."},
    {"name": "Ember", "is_user": False, "mes": "How lovely."},
)


def find_pythons() -> dict[str, str]:
    """Version and program of every Python here that the program runs on."""
    found = {}
    for minor in MINORS:
        name = f"3.{minor}"
        kept = sorted(Path.home().glob(f".pyenv/versions/{name}.*/bin/python3"))
        program = str(kept[-1]) if kept else shutil.which(f"python{name}")
        if program is not None:
            found[name] = program
    return found


def install(python: str, archive: Path, folder: Path) -> InstalledProgram:
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, f"{archive}[web]"], check=True)
    return InstalledProgram(folder, pip_settings())


def install_with_pipx(pipx: str, python: str, archive: Path, folder: Path) -> InstalledProgram:
    """As a person does it, with pipx's own folders inside *folder*."""
    places = {f"PIPX_{what}": str(folder / name) for what, name in PIPX_FOLDERS.items()}
    subprocess.run(
        [pipx, "install", "--quiet", "--python", python, f"{archive}[web]"], env={**os.environ, **places}, check=True
    )
    return InstalledProgram(folder, pip_settings())


def pip_settings() -> dict[str, str]:
    """What tells pip where packages come from."""
    return {name: value for name, value in os.environ.items() if name.startswith("PIP_") or "PROXY" in name.upper()}


def walk(program: InstalledProgram, home: Path) -> Iterator[Row]:
    """A person's first steps, each with how long it took."""
    chat = home / "old.jsonl"
    chat.write_text("\n".join(map(json.dumps, CHAT)), encoding="utf-8")
    steps = (
        ("ask, the model fetched", ("ask", "Hello, who are you?"), ""),
        ("ask again", ("ask", "And what do you like?"), ""),
        ("chat", ("chat", "--plain"), "Hello again\n"),
        ("list", ("list",), ""),
        ("import chat", ("import", "chat", chat.name), ""),
    )
    for name, words, said in steps:
        began = time.monotonic()
        done = program.run(home, *words, said=said)
        ok = done.returncode == 0 and bool(done.stdout.strip())
        shown = f"{time.monotonic() - began:.1f} s" + ("" if ok else f": {done.stderr.strip()[-300:]}")
        yield Row(name=name, value=shown, bar="answers", ok=ok)
    began = time.monotonic()
    ok = "Ember" in program.open_page(home)
    yield Row(name="page", value=f"{time.monotonic() - began:.1f} s", bar="shown", ok=ok)


def measure(python: str, archive: Path, pipx: str | None = None) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="familiar-installed-") as folder:
        home = Path(folder) / "home"
        home.mkdir()
        began = time.monotonic()
        place = Path(folder) / "env"
        program = install_with_pipx(pipx, python, archive, place) if pipx else install(python, archive, place)
        size = sum(path.lstat().st_size for path in program.folder.rglob("*") if path.is_file())
        rows = [Row(name=f"install {archive.name}", value=f"{time.monotonic() - began:.0f} s, {size / 1e6:.0f} MB")]
        return [*rows, *walk(program, home)]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.installed", description=__doc__)
    parser.add_argument("--python", metavar="3.N", help="one Python; else all that are here")
    parser.add_argument("--pipx", metavar="PROGRAM", help="have this pipx install the wheel, instead of pip")
    options = parser.parse_args(arguments)
    chosen = options.python
    pythons = {name: path for name, path in find_pythons().items() if chosen in (None, name)}
    if not pythons:
        parser.error(f"there is no Python {chosen} here; there are {', '.join(find_pythons())}")
    found: dict[str, list[Row]] = {}
    with tempfile.TemporaryDirectory(prefix="familiar-archives-") as folder:
        wheel, sources = (build_archive(kind, Path(folder)) for kind in ("wheel", "sdist"))
        for number, (name, path) in enumerate(pythons.items()):
            print(f"Python {name} …", file=sys.stderr, flush=True)
            found[name] = measure(path, wheel, options.pipx)
            if number == 0 and not options.pipx:
                found[f"{name}, sources"] = measure(path, sources)
    print(table(found))
    return 0 if all(row.ok is not False for rows in found.values() for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
