"""Names to offer somebody who has begun to type one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from familiar_connect.familiar import Familiar
from familiar_connect.support.aio import off_loop

MAX_SUGGESTED = 25


async def suggest_people(familiar: Familiar, begun: str) -> list[str]:
    """People who have spoken, by the newest of their names, that begin with what was typed so far."""
    return names_begun(await off_loop(_spoken, familiar), begun)


async def suggest_names(familiar: Familiar, begun: str) -> list[str]:
    """The familiar's own names, then those of people who have spoken."""
    own = [familiar.name, *familiar.config.aliases]
    return names_begun([*own, *await off_loop(_spoken, familiar)], begun)


def _spoken(familiar: Familiar) -> list[str]:
    return [each.author.label for each in familiar.history_store.speakers(familiar_id=familiar.id)]


def names_begun(names: Iterable[str], begun: str) -> list[str]:
    """Those that begin with what was typed so far, each once and not too many."""
    wanted = begun.strip().lower()
    found = (each for each in dict.fromkeys(names) if each.lower().startswith(wanted))
    return list(islice(found, MAX_SUGGESTED))
