"""OwnName: what the person at the terminal is called; learned from what they say, kept for this familiar and others.

keep_user_name: what the owner is called, kept for one familiar and known to those to come.
"""

from __future__ import annotations

import logging
from pathlib import Path

from familiar_connect.chat.introductions import MAX_NAME_CHARS, asks_for_name, read_introduction
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.load import write_user_name
from familiar_connect.config.toml import read_toml
from familiar_connect.errors import ConfigError
from familiar_connect.support.text import one_line, printable


def keep_user_name(folder: FamiliarFolder, name: str) -> None:
    """Set `user_name` of a familiar; familiars that were told none go by it too.

    For them it stands in the profile: the first name that is given in a home, and whatever that one is changed to.
    """
    before = _read_user_name(folder.settings_file)
    write_user_name(folder.settings_file, name)
    share_user_name(folder, name, instead_of=before)


def share_user_name(folder: FamiliarFolder, name: str, *, instead_of: str | None = None) -> None:
    """Let the familiars beside *folder* that were told no name know this one; another that stands there stays."""
    profile = folder.profile.settings_file
    if _read_user_name(profile) in (None, instead_of):
        write_user_name(profile, name)


def _read_user_name(path: Path) -> str | None:
    found = (read_toml(path) or {}).get("user_name")
    return found if isinstance(found, str) and found.strip() else None


logger = logging.getLogger(__name__)


class OwnName:
    """What a person is called, as far as it is known."""

    def __init__(self, settings_file: Path, *, is_known: bool, is_fixed: bool = False) -> None:
        self._settings_file = settings_file
        self._is_known = is_known
        self._is_fixed = is_fixed
        """Nothing that is said changes it in this run."""

    @property
    def is_known(self) -> bool:
        return self._is_known

    def learn(self, line: str, before: str = "") -> str | None:
        """The name given in *line*, kept for the next time too; None where none is given.

        *before* is what the familiar had said: an answer to the question for a name may be the name alone.

        Who has a name keeps it until they say plainly that it is another: "I'm Batman" is not enough.
        """
        if self._is_fixed:
            return None
        found = read_introduction(line, was_asked=not self._is_known and asks_for_name(before))
        if found is None or (self._is_known and not found.is_plain):
            return None
        return self.keep(found.name)

    def keep(self, name: str) -> str:
        """Be called *name* from now on, in later runs too; the name as it can be shown."""
        name = one_line(printable(name)).strip()[:MAX_NAME_CHARS].strip()
        self._is_known = True
        try:
            keep_user_name(FamiliarFolder(self._settings_file.parent), name)
        except (ConfigError, OSError) as error:
            logger.warning("a name is known for this run only", extra={"error": str(error)})
        return name
