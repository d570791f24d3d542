"""The IRC server of the tests: found where it is, fetched from Debian's packages in CI, named to people who lack it."""

from __future__ import annotations

import os
import shutil

from tools.browser import installer, run_quietly
from tools.environment import say

NAME = "ngircd"
SYSTEM_FOLDERS = ("/usr/sbin", "/usr/local/sbin")
"""Where servers are installed; not every person's PATH has them."""


def find_irc_server() -> str | None:
    """The ngircd of this computer."""
    return shutil.which(NAME) or shutil.which(NAME, path=os.pathsep.join(SYSTEM_FOLDERS))


def prepare_irc_server() -> None:
    """In CI: fetch ngircd where there is none. Elsewhere the tests that need it say so and are skipped."""
    if not os.environ.get("CI") or find_irc_server() is not None:
        return
    install = installer()
    if install is None:
        say("The tests of IRC need a server, and nothing here can install one: put `ngircd` on the PATH.")
        return
    say("Installing ngircd for the tests of IRC")
    for words in (["update", "-qq"], ["install", "-qq", "-y", "--no-install-recommends", NAME]):
        if not run_quietly([*install, *words]):
            say(f"`{' '.join([*install, *words])}` failed: the tests of IRC will say that there is no server.")
            return
