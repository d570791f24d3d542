"""Who sits at the terminal: one person, called by the name they gave and never by that of their account."""

from __future__ import annotations

import getpass
import os

from familiar_connect.familiar import Familiar
from familiar_connect.identity import Author
from familiar_connect.platforms.terminal.place import CHANNEL_ID

PLATFORM = "terminal"
NAMELESS = "Friend"
"""What someone is called who has given no name; an account's is none."""
WHO_SITS_HERE = "you"
"""Under this they are remembered, whatever their account is called."""
MOST_KNOWN = 50
"""So many people of the terminal's past are looked through."""


def person_at_terminal(name: str | None, familiar: Familiar) -> Author:
    """The one who types, called *name* or "Friend". May read the history.

    Where an earlier version knew them by their account, they stay who they were.
    """
    login = _login()
    user_id = login if login is not None and _is_known(login, familiar) else WHO_SITS_HERE
    return Author(PLATFORM, user_id, None, (name or "").strip() or NAMELESS)


def _is_known(login: str, familiar: Familiar) -> bool:
    if f"{PLATFORM}:{login}" in familiar.stores.privacy.all():
        return True
    known = familiar.history_store.recent_distinct_authors(
        familiar_id=familiar.id, channel_id=CHANNEL_ID, limit=MOST_KNOWN
    )
    return any((each.platform, each.user_id) == (PLATFORM, login) for each in known)


def _login() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return os.environ.get("USERNAME")
