"""Lines of a group: what is done to one is done in the history of every member.

A line is the same for everybody by its name: who said it and as which turn, or what the person's line is called.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from familiar_connect.errors import HistoryError
from familiar_connect.familiar import Familiar
from familiar_connect.history.chat_lines import swap_lines
from familiar_connect.history.message_edits import MessageEdits
from familiar_connect.history.types import HistoryTurn
from familiar_connect.platforms.group_talk import name_line_of, origin_of_line
from familiar_connect.support.aio import off_loop

NAMELESS = "That line came in before everybody here knew it by one name, so it cannot be changed for all of them."
NO_NEIGHBOUR = "There is no line beyond this one that it could change places with."


class Seat(Protocol):
    """A member of a group with the chat it has for it."""

    @property
    def id(self) -> str: ...
    @property
    def familiar(self) -> Familiar: ...
    @property
    def channel_id(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class GroupLine:
    """One line of a group: the turn it is for each member that has it."""

    owner: str | None
    """The member that said it; None: the person."""
    turns: dict[str, HistoryTurn]


async def find_group_line(here: Seat, seats: Collection[Seat], turn: HistoryTurn) -> GroupLine:
    """The line that is *turn* for the member *here*."""
    if len(seats) > 1 and turn.role != "assistant" and turn.platform_message_id is None:
        raise HistoryError(NAMELESS)
    return await off_loop(_find, here, seats, turn)


def _find(here: Seat, seats: Collection[Seat], turn: HistoryTurn) -> GroupLine:
    origin = (here.id, turn.id) if turn.role == "assistant" else origin_of_line(turn)
    name = name_line_of(*origin) if origin is not None else turn.platform_message_id
    turns = {here.id: turn}
    for seat in seats:
        if seat.id in turns:
            continue
        history = seat.familiar.history_store
        if origin is not None and seat.id == origin[0]:
            found = history.turn_by_id(familiar_id=seat.id, turn_id=origin[1])
        else:
            found = history.find_message(familiar_id=seat.id, channel_id=seat.channel_id, message_id=name or "")
        if found is not None:
            turns[seat.id] = found
    owner = origin[0] if origin is not None and origin[0] in turns else None
    return GroupLine(owner=owner, turns=turns)


def lines_since_person(lines: Sequence[HistoryTurn]) -> list[HistoryTurn]:
    """What the person said last, and all that was said since; hidden lines count."""
    own = [at for at, turn in enumerate(lines) if turn.author is not None and not turn.author.is_familiar]
    if not own:
        raise HistoryError("There is nothing to undo: no one has said anything yet.")
    return list(lines[own[-1] :])


async def move_group_line(here: Seat, seats: Collection[Seat], turn_id: int, step: int) -> dict[str, list[int]]:
    """Let a line change places with the one *step* lines on for everybody; the turns of each, its new one first."""
    controls = here.familiar.reply_path.controls
    there = await controls.lines(here.channel_id)
    line = await controls.find_line(here.channel_id, turn_id)
    at = [turn.id for turn in there].index(line.id) + step
    if not 0 <= at < len(there):
        raise HistoryError(NO_NEIGHBOUR)
    moved = await find_group_line(here, seats, line)
    other = await find_group_line(here, seats, there[at])
    changed: dict[str, list[int]] = {}
    for seat in seats:
        if seat.id in moved.turns and seat.id in other.turns:
            first, second = other.turns[seat.id].id, moved.turns[seat.id].id
            swap = partial(swap_lines, seat.familiar.history_store, seat.id, first, second, seat.familiar.clock)
            changed[seat.id] = await seat.familiar.reply_path.controls.change_turns(seat.channel_id, swap)
    for seat in seats:
        if seat.id in changed:
            await off_loop(_name_anew, seat, moved, other)
    return changed


def _name_anew(seat: Seat, *lines: GroupLine) -> None:
    """Let *seat* know two lines that changed places by the turns they are now for the members who said them."""
    edits = MessageEdits(seat.familiar.history_store, seat.id, clock=seat.familiar.clock)
    names: dict[int, tuple[str, str | None]] = {}
    for line, partner in zip(lines, lines[::-1], strict=True):
        if line.owner is not None and line.owner != seat.id and line.owner in partner.turns:
            name = name_line_of(line.owner, partner.turns[line.owner].id)
            names[partner.turns[seat.id].id] = (name, line.turns[seat.id].facts)
    for turn_id, (_, facts) in names.items():  # no two lines may have one name meanwhile
        edits.set_posts(turn_id, None, facts)
    for turn_id, (name, facts) in names.items():
        edits.set_posts(turn_id, name, facts)
