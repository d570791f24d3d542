"""OwnName: what the person at the terminal is called; learned from what they say, kept for this familiar and others."""

from __future__ import annotations

import logging
from pathlib import Path

from familiar_connect.chat.introductions import MAX_NAME_CHARS, asks_for_name, read_introduction
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.user_name import keep_user_name
from familiar_connect.errors import ConfigError
from familiar_connect.support.text import one_line, printable

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
