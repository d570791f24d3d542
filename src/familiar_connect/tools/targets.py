"""Targets: whom a tool may mean by a name. Only those who took part in what is being answered can be meant."""

from __future__ import annotations

from dataclasses import dataclass

from familiar_connect.chat.roster import Roster, RosterEntry, distinct_label
from familiar_connect.chat.scene import Member, Scene
from familiar_connect.context.types import ContextRequest
from familiar_connect.identity import Author
from familiar_connect.support.system_notes import speaker_name
from familiar_connect.tools.types import Refusal, Status

MOST_CANDIDATES = 8
WORDS_FOR_SELF = ("bot", "char", "{bot}", "{char}", "{{char}}", "yourself")
"""What a model may call the familiar besides its names."""


@dataclass(frozen=True, kw_only=True)
class TargetPerson:
    """Someone who took part."""

    author: Author
    is_real: bool = True
    """False: on the far side of a bridge, or a webhook; nothing is kept about them."""
    is_barred: bool = False
    """Kept from being personalised on this server."""


def resolve_target(people: Roster[TargetPerson], name: str) -> TargetPerson | None:
    """Who of *people* is called *name*; None for the familiar itself. `Refusal` where that is nobody, or not one."""
    if people.is_own_name(name):
        return None
    found = people.resolve(name)
    if len(found) == 1:
        return found[0].person
    if not found:
        here = [speaker_name(entry.label) for entry in people][:MOST_CANDIDATES]
        raise Refusal(Status.user_not_found, "nobody in this conversation is called so", people=here)
    candidates = [_distinct(each) for each in found]
    raise Refusal(Status.ambiguous_user, "several people are called so; say which", people=candidates[:MOST_CANDIDATES])


def _distinct(entry: RosterEntry[TargetPerson]) -> str:
    """A name with which nobody else is meant, as a conversation shows it where two go by the same."""
    name, own = speaker_name(entry.label), entry.person.author.username or "?"
    return name if name.endswith((f" ({own})", " (a user)")) else distinct_label(name, own)


def people_in_turn(request: ContextRequest) -> Roster[TargetPerson]:
    """Those who wrote what *request* answers or shows, and what the familiar itself is called."""
    scene = request.scene or Scene()
    members = {member.author.user_id: member for member in scene.members}
    found: dict[tuple[bool, str], RosterEntry[TargetPerson]] = {}
    turn = request.turn
    said = [each.author for each in request.turns_to_answer if each.author is not None]
    said += [each.author for each in turn.said] if turn is not None else []
    shown = {each.author_id: each.author_name for each in turn.messages if each.author_kind == "user"} if turn else {}
    for author in said:
        member = members.get(author.user_id)
        found.setdefault((True, author.user_id), _person(author, shown.get(author.user_id, author.label), member))
    platform = request.author.platform if request.author is not None else said[0].platform if said else ""
    known = {each.user_id: each for each in (*scene.participants, *(member.author for member in scene.members))}
    for message in turn.messages if turn is not None else ():
        if message.author_type == "persona" or message.author_kind in ("system", "persona") or not platform:
            continue
        real = message.author_kind == "user"
        member = members.get(message.author_id) if real else None
        met = known.get(message.author_id) if real else None
        met = met or Author(platform, message.author_id, None, message.author_name)
        found.setdefault((real, message.author_id), _person(met, message.author_name, member, is_real=real))
    own = [turn.persona if turn is not None else "", scene.own_name or "", request.familiar_id]
    own += [scene.me.display_name or "", scene.me.username or ""] if scene.me is not None else []
    return Roster(found.values(), own_names=(*own, *WORDS_FOR_SELF))


def _person(author: Author, shown: str, member: Member | None, *, is_real: bool = True) -> RosterEntry[TargetPerson]:
    names: list[str | None] = [author.display_name, author.username, *sorted(author.aliases)]
    barred = False
    if member is not None:
        barred = member.is_blacklisted or not member.is_personalised
        names += [member.server_nickname, member.global_name, None if barred else member.saved_nickname]
        is_real = is_real and not member.is_bridge_user
    person = TargetPerson(author=author, is_real=is_real, is_barred=barred)
    return RosterEntry(person, shown, tuple(name for name in names if name))
