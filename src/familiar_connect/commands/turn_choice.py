"""Which past turn is meant: its id or the beginning or end of it, `last`, or `-2` for the one before the last."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from familiar_connect.errors import HomeError

if TYPE_CHECKING:
    from familiar_connect.observe.ledger import SQLiteCollector

LAST = "last"
_BACK = re.compile(r"-[1-9][0-9]{0,5}")
_WITH_VALUE = ("--last", "--familiar", "-n")
_MARK = "\0back:"
"""Stands before a number that was typed as `-2`, which would be taken for an option."""


class TurnCommand(click.Command):
    """A command whose TURN may be written `-2`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        before = ["", *args]
        read = [
            f"{_MARK}{word[1:]}" if _BACK.fullmatch(word) and before[place] not in _WITH_VALUE else word
            for place, word in enumerate(args)
        ]
        return super().parse_args(ctx, read)


def find_turn(collector: SQLiteCollector, familiar_id: str, word: str | None) -> str | None:
    """The id of the turn that *word* means; None where there is no such turn."""
    back = 1 if word is None or word == LAST else None
    if word is not None and word.startswith(_MARK):
        back = int(word.removeprefix(_MARK))
    if back is not None:
        traces = collector.recent_traces(familiar_id=familiar_id, limit=back)
        return traces[back - 1].trace_id if len(traces) == back else None
    assert word is not None
    if collector.trace(word) is not None:
        return word
    found = collector.trace_ids_like(word, familiar_id=familiar_id)
    if len(found) > 1:
        raise HomeError(f"{word!r} matches several turns: {', '.join(found)}; write more of one")
    return found[0] if found else None


def read_turn_word(word: str | None) -> str | None:
    """*word* as it was typed."""
    return f"-{word.removeprefix(_MARK)}" if word is not None and word.startswith(_MARK) else word
