"""Audience: who was told something, who can read a place now, and whether the one may be told in the other.

An `Audience` is decided once, when something is heard, and stored with it. `Readers` says who can read a place at the
moment something is about to be told there. The rule between the two is `may_tell`: everybody who can read here now
must have been among those it was said to. What a platform cannot say counts as no. The owner's settings can widen the
rule, never narrow it.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, unquote

MAX_PARSED = 4_096
"""Stored audiences whose reading is kept: a home has few, and every turn names one."""


class AudienceKind(Enum):
    """How wide the circle is."""

    OWNER = "owner"
    """The owner alone: terminal, page, and the owner's direct messages."""
    PEOPLE = "people"
    """The people of a direct message."""
    CHANNEL = "channel"
    """A channel whose rules let not everybody on its server read it, or a group message."""
    SERVER = "server"
    """Everybody on a server."""
    EVERYONE = "everyone"


class RuledChannel(NamedTuple):
    """A channel under the rules it had when something was said in it."""

    platform: str
    channel_id: int
    rules: str = ""
    """A fingerprint of who was let in; empty where that is not known."""


@dataclass(frozen=True)
class Audience:
    """Those something was said to. *also* names places the owner shares it with: see `parse_share_target`."""

    kind: AudienceKind
    people: frozenset[str] = frozenset()
    """Canonical keys of a direct message's people."""
    platform: str = ""
    id: int | None = None
    """Of the channel or the server."""
    server_id: int | None = None
    """Of the server that a hidden channel belongs to."""
    rules: str = ""
    """A fingerprint of the rules by which a hidden channel let people in then; empty where they are not known."""
    also: frozenset[str] = frozenset()

    def __str__(self) -> str:
        """The stored form; `parse_audience` reads it back."""
        match self.kind:
            case AudienceKind.PEOPLE:
                text = "people:" + ",".join(quote(key, safe=":") for key in sorted(self.people))
            case AudienceKind.CHANNEL:
                server = "-" if self.server_id is None else str(self.server_id)
                text = f"channel:{quote(self.platform, safe='')}:{self.id}:{server}"
                text += f":{quote(self.rules, safe='')}" if self.rules else ""
            case AudienceKind.SERVER:
                text = f"server:{quote(self.platform, safe='')}:{self.id}"
            case _:
                text = str(self.kind.value)
        return " ".join([text, *(f"+{target}" for target in sorted(self.also))])

    @property
    def is_sealed(self) -> bool:
        """Whether it is that of a sealed chat, which nothing leaves and nothing enters."""
        return self.kind is AudienceKind.CHANNEL and self.rules == SEALED

    @property
    def slug(self) -> str:
        """What marks a file of this audience in its name; the same people and places give the same slug."""
        match self.kind:
            case AudienceKind.PEOPLE:
                return "dm-" + "-and-".join(_slug(key) for key in sorted(self.people))
            case AudienceKind.CHANNEL:
                then = f"-{_slug(self.rules)}" if self.rules else ""
                return f"channel-{_slug(self.platform)}-{self.id}{then}"
            case AudienceKind.SERVER:
                return f"server-{_slug(self.platform)}-{self.id}"
            case _:
                return str(self.kind.value)

    @property
    def channel_key(self) -> RuledChannel | None:
        """The hidden channel, under the rules of then; None for every other audience."""
        if self.kind is not AudienceKind.CHANNEL or self.id is None:
            return None
        return RuledChannel(self.platform, self.id, self.rules)

    def with_targets(self, targets: Iterable[str]) -> Audience:
        """The same audience, shared with *targets* as well."""
        return replace(self, also=self.also | frozenset(targets))


SEALED = "sealed"
"""Stands where a hidden channel has the rules that let people in: a chat of the owner's that is a world of its own."""
OWNER = Audience(AudienceKind.OWNER)
EVERYONE = Audience(AudienceKind.EVERYONE)
"""What may be told to anybody, anywhere."""


def between(people: Iterable[str]) -> Audience:
    """The audience of a direct message between *people* (canonical keys) and the familiar."""
    return Audience(AudienceKind.PEOPLE, people=frozenset(people))


def hidden_channel(platform: str, channel_id: int, server_id: int | None = None, rules: str = "") -> Audience:
    return Audience(AudienceKind.CHANNEL, platform=platform, id=channel_id, server_id=server_id, rules=rules)


def sealed_chat(platform: str, channel_id: int) -> Audience:
    """The audience of what is said in a sealed chat: that chat alone."""
    return hidden_channel(platform, channel_id, rules=SEALED)


def whole_server(platform: str, server_id: int) -> Audience:
    return Audience(AudienceKind.SERVER, platform=platform, id=server_id)


@lru_cache(maxsize=MAX_PARSED)
def parse_audience(text: str | None) -> Audience:
    """The audience a stored text names. One that is missing or cannot be read is the owner's: nobody else hears it."""
    words = (text or "").split(" ")
    kind, _, rest = words[0].partition(":")
    also = frozenset(word[1:] for word in words if word.startswith("+") and word != "+")
    try:
        return replace(_parse_kind(AudienceKind(kind), rest), also=also)
    except ValueError:
        return OWNER


def _parse_kind(kind: AudienceKind, rest: str) -> Audience:
    match kind:
        case AudienceKind.PEOPLE:
            people = frozenset(unquote(key) for key in rest.split(",") if key)
            if not people:
                raise ValueError("a direct message without people")
            return Audience(kind, people=people)
        case AudienceKind.CHANNEL:
            platform, channel_id, server, *rules = rest.split(":")
            if len(rules) > 1 or rules == [""]:
                raise ValueError("a channel with more than one set of rules")
            server_id = None if server == "-" else int(server)
            return hidden_channel(unquote(platform), int(channel_id), server_id, *map(unquote, rules))
        case AudienceKind.SERVER:
            platform, server = rest.split(":")
            return whole_server(unquote(platform), int(server))
        case _:
            return Audience(kind)


def parse_share_target(text: str) -> str | None:
    """One entry of `shares_with` in its stored form; None when it names no place.

    A channel is its number or `channel:NUMBER`, a server `server:NUMBER`, a platform its name.
    """
    word = text.strip().lower()
    kind, separator, rest = word.partition(":")
    if word.isdigit():
        return f"channel:{int(word)}"
    if separator and kind in ("channel", "server") and rest.isdigit():
        return f"{kind}:{int(rest)}"
    return f"platform:{word}" if word.isalpha() else None


@dataclass(frozen=True)
class Readers:
    """Who can read a place now, as far as its platform says."""

    audience: Audience
    """Whom something that is said here now is said to."""
    platform: str = ""
    channel_id: int = 0
    server_id: int | None = None
    speaker: str = ""
    """Canonical key of whoever is being answered."""
    channels: frozenset[RuledChannel] = frozenset()
    """Hidden channels, each under the rules of some time, whose readers of then include everybody here."""
    servers: frozenset[int] = frozenset()
    """In a direct message: servers whose present members include everybody here."""

    @property
    def is_owner(self) -> bool:
        return self.audience.kind is AudienceKind.OWNER


def _slug(text: str) -> str:
    return "-".join("".join(ch if ch.isalnum() and ch.isascii() else " " for ch in text.lower()).split()) or "unknown"


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
    linked: frozenset[frozenset[str]] = frozenset()
    """The canonical keys of each person who said on several networks that they are the same."""


STRICT = DisclosurePolicy()


def may_tell(said_to: Audience, here: Readers, policy: DisclosurePolicy = STRICT) -> bool:
    """Whether what was said to *said_to* may be told *here*."""
    if said_to.kind is AudienceKind.EVERYONE:
        return True
    if said_to.is_sealed or here.audience.is_sealed:  # whatever the settings of everything else say
        return said_to.channel_key == here.audience.channel_key
    if policy.confidence is Confidence.open or _is_shared(said_to, here):
        return True
    if here.is_owner:
        own = said_to.people <= {here.speaker} or _is_own_elsewhere(said_to, {here.speaker}, policy)
        return said_to.kind is not AudienceKind.PEOPLE or own or policy.owner_hears_all
    match said_to.kind:
        case AudienceKind.PEOPLE:
            if here.audience.kind is not AudienceKind.PEOPLE:
                return False
            return here.audience.people <= said_to.people or _is_own_elsewhere(said_to, here.audience.people, policy)
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


def _is_own_elsewhere(said_to: Audience, people: Set[str], policy: DisclosurePolicy) -> bool:
    """Whether it was said by one person alone in a direct chat, and nobody but the same person reads here."""
    both = said_to.people | people
    return len(said_to.people) == len(people) == 1 and any(both <= each for each in policy.linked)


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


def all_audiences(sources: Iterable[frozenset[Audience] | None]) -> frozenset[Audience] | None:
    """Those that several things were said to; None where of one of them nobody knows."""
    found: frozenset[Audience] = frozenset()
    for each in sources:
        if each is None:
            return None
        found |= each
    return found
