"""The browser of the tests: found where it is, fetched from Debian's packages in CI, named to people who lack it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from tools.environment import say

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGE = "chromium"
LONGEST_S = 900


def find_browser() -> str | None:
    """The Chromium of this computer."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def prepare_browser() -> None:
    """In CI: fetch a Chromium where there is none. Elsewhere the tests that need one say so and are skipped."""
    if not os.environ.get("CI") or find_browser() is not None:
        return
    install = installer()
    if install is None:
        say("The tests of the page need a Chromium, and nothing here can install one: put `chromium` on the PATH.")
        return
    say("Installing Chromium for the tests of the page")
    for words in (["update", "-qq"], ["install", "-qq", "-y", "--no-install-recommends", PACKAGE]):
        if not run_quietly([*install, *words]):
            say(f"`{' '.join([*install, *words])}` failed: the tests of the page will say that there is no Chromium.")
            return


def installer() -> list[str] | None:
    """The command that installs packages here without asking anybody; None where there is none."""
    if shutil.which("apt-get") is None or not hasattr(os, "geteuid"):
        return None
    if os.geteuid() == 0:
        return ["apt-get"]
    return ["sudo", "-n", "apt-get"] if shutil.which("sudo") is not None else None


def run_quietly(command: Sequence[str]) -> bool:
    """Run *command* without questions; whether it went well."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        return subprocess.run(command, check=False, env=quiet, timeout=LONGEST_S).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
