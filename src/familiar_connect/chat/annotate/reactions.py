"""What reactions a message got: one System line after its words."""

from __future__ import annotations

from collections.abc import Sequence

from familiar_connect.chat.annotate.context import AnnotationContext
from familiar_connect.chat.message_parts import Reaction
from familiar_connect.support.system_notes import note, speaker_name

MOST_TYPES = 4
MOST_NAMES = 5


def reaction_note(reactions: Sequence[Reaction], reading: AnnotationContext) -> str:
    """The most frequent reactions with who gave them; people not to be heard neither named nor counted."""
    if not reading.settings.show_reactions:
        return ""
    heard = [(reaction, *_visible_reactors(reaction, reading)) for reaction in reactions]
    told = sorted((each for each in heard if each[1] > 0), key=lambda each: -each[1])
    if not told:
        return ""
    lines = [_reaction_line(reaction, count, names) for reaction, count, names in told[:MOST_TYPES]]
    rest = len(told) - len(lines)
    if rest:
        lines.append(f"+{rest} more reaction type{'' if rest == 1 else 's'}")
    return note("reactions: " + "; ".join(lines))


def _visible_reactors(reaction: Reaction, reading: AnnotationContext) -> tuple[int, list[str]]:
    hidden, names = 0, []
    for user in reaction.users or ():
        if reading.is_hidden(user):
            hidden += 1
        else:
            names.append(reading.people.name_of(user))
    if reaction.by_us:
        names.insert(0, reading.people.persona)
    return max(0, reaction.count - hidden), list(dict.fromkeys(names))


def _reaction_line(reaction: Reaction, count: int, names: list[str]) -> str:
    label = speaker_name(reaction.label, "?")
    label = f":{label}:" if reaction.is_custom else label
    shown = names[:MOST_NAMES]
    if not shown:
        return f"{label} x{count}"
    more = count - len(shown)
    return f"{label} x{count} by {', '.join(shown)}" + (f" (+{more} more)" if more > 0 else "")
