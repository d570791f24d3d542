"""Who sits at the terminal: one person, called by the name they gave and never by that of their account."""

from __future__ import annotations

import getpass
import os
from typing import TYPE_CHECKING

from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import UNNAMED, Author, Privacy
from familiar_connect.platforms.terminal.place import CHANNEL_ID

if TYPE_CHECKING:
    from familiar_connect.familiar import Familiar

PLATFORM = "terminal"
WHO_SITS_HERE = "you"
"""Under this they are remembered, whatever their account is called."""
MOST_KNOWN = 50
"""So many people of the terminal's past are looked through."""


def person_at_terminal(name: str | None, familiar: Familiar) -> Author:
    """The one who types, called *name* or "Friend". May read the history.

    Where an earlier version knew them by their account, they stay who they were.
    """
    return find_terminal_person(name, familiar.history_store, familiar.stores.privacy, familiar.id)


def find_terminal_person(name: str | None, history: HistoryStore, privacy: Privacy, familiar_id: str) -> Author:
    """`person_at_terminal` without the rest of a familiar."""
    login = _login()
    is_known = login is not None and _is_known(login, history, privacy, familiar_id)
    return Author(PLATFORM, login if login and is_known else WHO_SITS_HERE, None, (name or "").strip() or UNNAMED)


def _is_known(login: str, history: HistoryStore, privacy: Privacy, familiar_id: str) -> bool:
    if f"{PLATFORM}:{login}" in privacy.all():
        return True
    known = history.recent_distinct_authors(familiar_id=familiar_id, channel_id=CHANNEL_ID, limit=MOST_KNOWN)
    return any((each.platform, each.user_id) == (PLATFORM, login) for each in known)


def _login() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return os.environ.get("USERNAME")
