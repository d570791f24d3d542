"""The program as an installed package: archives of this tree, and an environment they were installed in."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 400
EXTRA = re.compile(r"extra == ['\"]([^'\"]+)['\"]")
BRACKETS = re.compile(r"\[([^\]]+)\]")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def build_archive(kind: Literal["wheel", "sdist"], folder: Path, tree: Path = ROOT) -> Path:
    """The wheel or the sources of *tree*, made by the declared build system without fetching anything."""
    code = f"import sys; from hatchling.build import build_{kind} as build; print(build(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=tree, capture_output=True, text=True, check=True
    )
    return folder / done.stdout.split()[-1]


def needed(name: str, extras: frozenset[str], found: dict[str, Distribution]) -> None:
    """Add to *found* whatever the package *name*, with its *extras*, asks for."""
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return  # another system's
    if name in found:
        return
    found[name] = package
    for row in package.requires or []:
        requirement, _, marker = row.partition(";")
        wanted = EXTRA.findall(marker)
        if wanted and extras.isdisjoint(wanted):
            continue
        parts = _NAME.findall(requirement)
        needed(parts[0], frozenset(BRACKETS.findall(requirement)), found)


def link_packages(site: Path, packages: Iterator[Distribution]) -> None:
    """Put what each of *packages* installed into *site*, by links to its folders and files."""
    for package in packages:
        for top in {Path(file).parts[0] for file in package.files or [] if ".." not in Path(file).parts}:
            there, here = Path(str(package.locate_file(top))), site / top
            if there.exists() and not here.exists() and top != "__pycache__":
                here.symlink_to(there)


def make_environment(folder: Path, wheel: Path, *extras: str, beside: Sequence[Path] = ()) -> Path:
    """An environment with *wheel* and what it asks for, with *extras*, and the wheels *beside* it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    [site] = (folder / "lib").glob("python*/site-packages")
    install = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile")
    subprocess.run([*install, "--target", str(site), str(wheel), *map(str, beside)], check=True)
    found: dict[str, Distribution] = {}
    [facts] = site.glob("familiar_connect-*.dist-info")
    for row in Distribution.at(facts).requires or []:
        wanted = EXTRA.findall(row)
        if not wanted or not set(extras).isdisjoint(wanted):
            needed(_NAME.findall(row)[0], frozenset(BRACKETS.findall(row.partition(";")[0])), found)
    needed("pip", frozenset(), found)
    link_packages(site, iter(found.values()))
    script = folder / "bin" / "familiar"
    lines = (f"#!{folder}/bin/python", "import sys", "from familiar_connect.cli import main", "sys.exit(main())", "")
    script.write_text("\n".join(lines), encoding="utf-8")
    script.chmod(0o755)
    return folder


@dataclass(frozen=True)
class InstalledProgram:
    """An environment with the program in it."""

    folder: Path
    pip: Mapping[str, str] = field(default_factory=dict)
    """Variables that tell pip where packages come from."""
    inside: tuple[str, ...] = ()
    """Words that stand before the command and start it in other surroundings."""

    @property
    def familiar(self) -> Path:
        return self.folder / "bin" / "familiar"

    def run(self, home: Path, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.inside, str(self.familiar), *words],
            env=self._environment(home),
            cwd=home,
            input=said,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    def open_page(self, home: Path) -> str:
        """What a browser is shown at the address that `familiar web` prints; the page is stopped with Ctrl-C."""
        command = [str(self.familiar), "web", "--no-open", "--port", "0", "--plain-address"]
        with subprocess.Popen(
            command, env=self._environment(home), cwd=home, stdout=subprocess.PIPE, text=True
        ) as serving:
            assert serving.stdout is not None
            address = next(word for line in serving.stdout for word in line.split() if "/open?token=" in word)
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            browser.open(address, timeout=TIMEOUT_S).close()
            with browser.open(address.partition("/open")[0], timeout=TIMEOUT_S) as answer:
                shown: str = answer.read().decode()
            serving.send_signal(signal.SIGINT)
            assert serving.wait(TIMEOUT_S) in (0, 130)
        return shown

    @contextmanager
    def serve(self, home: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
        """`familiar WORDS` while this is open, for a verb that does not end by itself."""
        usual, quiet = self._environment(home), subprocess.DEVNULL
        running = subprocess.Popen(
            [str(self.familiar), *words], env=usual, cwd=home, stdin=quiet, stdout=quiet, stderr=quiet
        )
        try:
            yield running
        finally:
            running.kill()
            running.wait(TIMEOUT_S)

    def _environment(self, home: Path) -> dict[str, str]:
        """Nothing of ours: a person's shell, and what pip is told."""
        usual = {"PATH": os.defpath, "HOME": str(home), "FAMILIAR_HOME": str(home / "data"), "LC_ALL": "C.UTF-8"}
        return {**usual, **self.pip}
