"""Disclosure: the one rule that decides whether what was said in one place (a direct message) may be told in another.

Everybody who can read here now (`Readers`) must have been among those it was said to (`Audience`). What a platform
cannot say counts as no. The owner's settings can widen the rule, never narrow it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum

from familiar_connect.audience import Audience, AudienceKind, Readers, hidden_channel, whole_server


class Confidence(Enum):
    """How far what was heard may travel."""

    strict = "strict"
    server = "server"
    """Hidden channels count as their server."""
    open = "open"
    """One mind everywhere: what is heard anywhere may be told anywhere."""


@dataclass(frozen=True)
class DisclosurePolicy:
    """The owner's settings that widen the rule."""

    confidence: Confidence = Confidence.strict
    owner_hears_all: bool = False
    """Whether the owner's place also hears other people's direct messages."""
    known_everywhere: frozenset[str] = field(default_factory=frozenset)
    """Canonical keys of people whose own words on servers follow them wherever they speak."""


STRICT = DisclosurePolicy()


def may_tell(said_to: Audience, here: Readers, policy: DisclosurePolicy = STRICT) -> bool:
    """Whether what was said to *said_to* may be told *here*."""
    if policy.confidence is Confidence.open or said_to.kind is AudienceKind.EVERYONE or _is_shared(said_to, here):
        return True
    if here.is_owner:
        own = said_to.people <= {here.speaker}
        return said_to.kind is not AudienceKind.PEOPLE or own or policy.owner_hears_all
    match said_to.kind:
        case AudienceKind.PEOPLE:
            return here.audience.kind is AudienceKind.PEOPLE and here.audience.people <= said_to.people
        case AudienceKind.CHANNEL:
            if policy.confidence is Confidence.server and said_to.server_id is not None:
                return _is_on_server(said_to.platform, said_to.server_id, here)
            return _is_in_channel(said_to, here)
        case AudienceKind.SERVER:
            return said_to.id is not None and _is_on_server(said_to.platform, said_to.id, here)
        case _:
            return False


def may_tell_all(sources: Iterable[Audience], here: Readers, policy: DisclosurePolicy = STRICT) -> bool:
    """Whether something made from several sources may be told *here*: each of them may."""
    return all(may_tell(source, here, policy) for source in sources)


def may_tell_words(author_key: str | None, said_to: Audience, here: Readers, policy: DisclosurePolicy = STRICT) -> bool:
    """As `may_tell`, for the words of one person, who may have asked to be remembered everywhere."""
    if may_tell(said_to, here, policy):
        return True
    follows = author_key is not None and author_key == here.speaker and author_key in policy.known_everywhere
    return follows and said_to.kind is AudienceKind.SERVER


def may_still_tell(gathered_for: Readers, here: Readers, policy: DisclosurePolicy = STRICT) -> bool:
    """Whether whatever may have been gathered for some readers may be told to those who can read the place now."""
    if gathered_for == here:
        return True
    if gathered_for.is_owner or here.is_owner:
        return gathered_for.is_owner == here.is_owner and gathered_for.speaker == here.speaker
    servers = gathered_for.servers | ({gathered_for.server_id} if gathered_for.server_id is not None else set())
    sources = [
        replace(gathered_for.audience, also=frozenset()),
        *(hidden_channel(each.platform, each.channel_id, rules=each.rules) for each in gathered_for.channels),
        *(whole_server(gathered_for.platform, each) for each in servers),
    ]
    return may_tell_all(sources, here, policy)


def _is_shared(said_to: Audience, here: Readers) -> bool:
    return not said_to.also.isdisjoint(
        {f"channel:{here.channel_id}", f"server:{here.server_id}", f"platform:{here.platform.lower()}"}
    )


def _is_in_channel(said_to: Audience, here: Readers) -> bool:
    """In the hidden channel itself while its rules are those of then, or among people who were all let in then.

    Where the rules of then are not known, the channel itself counts while it is hidden.
    """
    then, now = said_to.channel_key, here.audience.channel_key
    if now is not None and then is not None and (then == now or then == now._replace(rules="")):
        return True
    return then in here.channels


def _is_on_server(platform: str, server_id: int, here: Readers) -> bool:
    """On the server, in whichever channel, or among present members of it."""
    if here.audience.kind is AudienceKind.PEOPLE:
        return here.platform == platform and server_id in here.servers
    return here.platform == platform and here.server_id == server_id
