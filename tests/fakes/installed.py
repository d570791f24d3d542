"""The program as an installed package: archives of this tree, and an environment they were installed in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 400


def build_archive(kind: Literal["wheel", "sdist"], folder: Path) -> Path:
    """The wheel or the sources of this tree, made by the declared build system without fetching anything."""
    code = f"import sys; from hatchling.build import build_{kind} as build; print(build(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return folder / done.stdout.split()[-1]


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

    def _environment(self, home: Path) -> dict[str, str]:
        """Nothing of ours: a person's shell, and what pip is told."""
        usual = {"PATH": os.defpath, "HOME": str(home), "FAMILIAR_HOME": str(home / "data"), "LC_ALL": "C.UTF-8"}
        return {**usual, **self.pip}
