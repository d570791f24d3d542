"""LanguageOffer: where somebody writes another language than English, tells once of an embedder that knows it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.familiar import Familiar
from familiar_connect.memory.index.letters import WORD, is_english
from familiar_connect.support.aio import off_loop
from familiar_connect.support.files import atomic_write
from familiar_connect.support.letters import UNSPACED
from familiar_connect.support.translate import later, tr

ENOUGH_LINES = 3
"""So many in another language are no accident."""
LEAST_WORDS = 4
"""Fewer may be names, or hardly any language."""
OFFER = later(
    "What is said here is found better with an embedder that knows many languages: "
    "`familiar model get multilingual-e5-small`, then `familiar model use multilingual-e5-small`."
)
INCLUDED = "auto"


class LanguageOffer:
    """The offer of one chat; a home is told once."""

    def __init__(self, familiar: Familiar, note: Callable[[str], None]) -> None:
        self._note = note
        self._told = FamiliarFolder(familiar.root).home.cache / "told-of-languages"
        self._is_wanted = familiar.config.offer_upgrade and familiar.config.embedder == INCLUDED
        self._lines = 0

    async def hear(self, line: str) -> None:
        """Somebody said *line*."""
        if not self._is_wanted or not await off_loop(is_other_language, line):
            return
        self._lines += 1
        if self._lines >= ENOUGH_LINES:
            self._is_wanted = False
            if await off_loop(_tell_now, self._told):
                self._note(tr(OFFER))


def is_other_language(line: str) -> bool:
    """Whether *line* is long enough to tell, and not English."""
    signs = UNSPACED.findall(line)
    return (len(signs) >= 2 * LEAST_WORDS or len(WORD.findall(line)) >= LEAST_WORDS) and not is_english(line)


def _tell_now(told: Path) -> bool:
    """Whether this home was not told yet; from now on it was."""
    if told.exists():
        return False
    with suppress(OSError):  # on a full disk it is told again
        atomic_write(told, "", durable=False)
    return True
