"""Names to offer somebody who has begun to type one."""

from __future__ import annotations

from familiar_connect.familiar import Familiar
from familiar_connect.support.aio import off_loop

MAX_SUGGESTED = 25


async def suggest_people(familiar: Familiar, begun: str) -> list[str]:
    """People who have spoken, by the newest of their names, that begin with what was typed so far."""
    return _matching(await off_loop(_spoken, familiar), begun)


async def suggest_names(familiar: Familiar, begun: str) -> list[str]:
    """The familiar's own names, then those of people who have spoken."""
    own = [familiar.name, *familiar.config.aliases]
    return _matching([*own, *await off_loop(_spoken, familiar)], begun)


def _spoken(familiar: Familiar) -> list[str]:
    return [each.author.label for each in familiar.history_store.speakers(familiar_id=familiar.id)]


def _matching(names: list[str], begun: str) -> list[str]:
    wanted = begun.strip().lower()
    return [each for each in dict.fromkeys(names) if each.lower().startswith(wanted)][:MAX_SUGGESTED]
