"""Discord's people as authors. A name that shows nothing on screen is no name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from familiar_connect.identity import Author
from familiar_connect.support.names import has_visible


def author_of(person: Any) -> Author:
    """A user or member, under the names that can be seen."""
    found = Author.from_discord_member(person)
    return replace(found, username=visible_name(found.username), display_name=visible_name(found.display_name))


def visible_name(name: str | None) -> str | None:
    """*name* if anything of it can be seen, else None."""
    return name if name is not None and has_visible(name) else None
