"""Company: whom a tool may mean by a name. Only those who took part in what is being answered can be meant.

A name is never guessed at: where several people go by it, all of them come back, unless it is the first name
of just one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from familiar_connect.chat.scene import Member, Scene
from familiar_connect.context.types import ContextRequest
from familiar_connect.identity import Author
from familiar_connect.support.system_notes import speaker_name
from familiar_connect.tools.types import Refusal, Status

MOST_CANDIDATES = 8


@dataclass(frozen=True, kw_only=True)
class TargetPerson:
    """Someone who took part."""

    author: Author
    primary: str
    names: frozenset[str]
    is_real: bool = True
    """False: on the far side of a bridge, or a webhook; nothing is kept about them."""
    is_barred: bool = False
    """Kept from being personalised on this server."""


@dataclass(frozen=True)
class TargetPeople:
    """Everyone who took part, and what the familiar itself is called."""

    people: tuple[TargetPerson, ...]
    own_names: frozenset[str]

    def resolve(self, name: str) -> TargetPerson | None:
        """Who is called *name*; None for the familiar itself. `Refusal` where that is nobody, or not one."""
        wanted = fold_target_name(name.removeprefix("@"))
        if wanted in self.own_names:
            return None
        found = [person for person in self.people if wanted in person.names]
        if len(found) > 1:
            first = [person for person in found if fold_target_name(person.primary) == wanted]
            found = first if len(first) == 1 else found
        if len(found) == 1:
            return found[0]
        if not found:
            here = [speaker_name(person.primary) for person in self.people][:MOST_CANDIDATES]
            raise Refusal(Status.user_not_found, "nobody in this conversation is called so", people=here)
        candidates = [_told_apart(each) for each in found]
        raise Refusal(
            Status.ambiguous_user, "several people are called so; say which", people=candidates[:MOST_CANDIDATES]
        )


def _told_apart(person: TargetPerson) -> str:
    """A name with which nobody else is meant, as a conversation shows it where two go by the same."""
    name, own = speaker_name(person.primary), person.author.username or "?"
    return name if name.endswith(f" ({own})") else f"{name} ({own})"


def people_in_turn(request: ContextRequest) -> TargetPeople:
    """Those who wrote what *request* answers or shows."""
    scene = request.scene or Scene()
    members = {member.author.user_id: member for member in scene.members}
    found: dict[tuple[bool, str], TargetPerson] = {}
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
    return TargetPeople(
        tuple(found.values()), _fold_all((*own, "bot", "char", "{bot}", "{char}", "{{char}}", "yourself"))
    )


def _person(author: Author, shown: str, member: Member | None, *, is_real: bool = True) -> TargetPerson:
    names: list[str | None] = [shown, author.display_name, author.username, *author.aliases]
    barred = False
    if member is not None:
        barred = member.is_blacklisted or not member.is_personalised
        names += [member.server_nickname, member.global_name, None if barred else member.saved_nickname]
        is_real = is_real and not member.is_bridge_user
    return TargetPerson(
        author=author, primary=shown, names=_fold_all(name or "" for name in names), is_real=is_real, is_barred=barred
    )


def fold_target_name(name: str) -> str:
    """*name* as two people would call it the same."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _fold_all(names: Iterable[str]) -> frozenset[str]:
    return frozenset(key for name in names if (key := fold_target_name(name)))
