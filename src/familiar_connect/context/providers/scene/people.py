"""People: everyone whose words a turn shows, under the names that may be shown.

The order stays while the same people are there: normal people first, by name; those on the far side of a bridge,
webhooks and other personas after them, for they cannot be mentioned. Ids of different kinds never meet. Nobody at FULL
privacy is among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from familiar_connect.chat.annotate.context import display_name_of
from familiar_connect.chat.scene import Member, Roster, RosterEntry, Scene
from familiar_connect.chat.types import AuthorKind, ListedUser, SimplifiedMessage
from familiar_connect.context.providers.scene.text import persona_of
from familiar_connect.context.types import ContextRequest
from familiar_connect.identity import Author, Privacy, PrivacyLevel
from familiar_connect.support.system_notes import NAMELESS, speaker_name
from familiar_connect.support.text import fold_name

Key = tuple[AuthorKind, str]


@dataclass(frozen=True, kw_only=True)
class Participant:
    """Someone here, under the names that may be shown."""

    key: Key
    name: str
    aliases: tuple[str, ...] = ()
    """Everything they can be called by, the best first."""
    handles: tuple[str, ...] = ()
    """Those of the aliases that nobody else here has."""
    author: Author | None = None
    member: Member | None = None
    is_self: bool = False
    level: PrivacyLevel = PrivacyLevel.MINIMAL

    @property
    def is_mentionable(self) -> bool:
        return self.key[0] == "user" and not self.is_self

    @property
    def is_open(self) -> bool:
        """Whether their presence and roles may be shown."""
        return self.level is PrivacyLevel.MINIMAL

    def as_listed_user(self) -> ListedUser:
        kind, id_ = self.key
        return ListedUser(
            target_id=id_ if kind == "user" else f"{kind}:{id_}",
            display_label=self.name,
            aliases=self.handles,
            mentionable=self.is_mentionable,
        )


def list_participants(request: ContextRequest, privacy: Privacy) -> list[Participant]:
    """Everyone who wrote what the turn shows, and the familiar itself unless it speaks for somebody."""
    found: dict[Key, Participant] = {}
    known = _Known(request, privacy)
    turn = request.turn
    for message in reversed(turn.messages) if turn is not None else ():  # whoever changed names goes by the newest
        if message.author_kind != "system" and message.author_key not in found:
            participant = known.writer(message)
            if participant is not None:
                found.setdefault(participant.key, participant)
    for author in known.speakers():
        if author.user_id == request.familiar_id and not author.is_named:
            continue  # its own words, from which somebody has it go on: it is listed by what it is called
        participant = known.person(author)
        if participant is not None:
            found.setdefault(participant.key, participant)
    if turn is None or turn.imitated is None:
        own = known.ourselves()
        found[own.key] = own
    return _with_handles(sorted(found.values(), key=_rank))


def _rank(participant: Participant) -> tuple[int, str, str]:
    kind, id_ = participant.key
    if participant.is_self:
        return 0, "", ""
    return (1 if kind == "user" else 2), participant.name.casefold(), f"{kind}:{id_}"


def _with_handles(people: Sequence[Participant]) -> list[Participant]:
    roster = Roster(RosterEntry(person.key, "", person.aliases) for person in people)
    return [
        replace(
            person,
            handles=tuple(alias for alias in person.aliases if not roster.is_shared(alias))
            if person.is_mentionable
            else (),
        )
        for person in people
    ]


class _Known:
    """What the request tells about people."""

    def __init__(self, request: ContextRequest, privacy: Privacy) -> None:
        self._request = request
        self._privacy = privacy
        scene = request.scene or Scene()
        self._me = scene.me
        self._scene = scene
        self._members = {member.author.user_id: member for member in scene.members}
        said = [turn.author for turn in request.turns_to_answer if turn.author is not None]
        authors = [*(member.author for member in scene.members), *scene.participants, *said]
        self._authors = {author.user_id: author for author in authors}
        self._bridged = {author.canonical_key: author for author in authors}

    def speakers(self) -> list[Author]:
        """Those being answered, those who listen, and, where nothing else is known of the company, all of the scene."""
        turn = self._request.turn
        said = [each.author for each in self._request.turns_to_answer if each.author is not None]
        alone = turn is None or not turn.messages
        return [*said, *self._scene.listeners, *(self._scene.participants if alone else ())]

    def writer(self, message: SimplifiedMessage) -> Participant | None:
        kind, id_ = message.author_key
        if kind == "persona":
            return self._persona(message)
        if kind == "webhook":
            return _synthetic(message.author_key, message.author_name)
        author = self._bridged.get(id_) if kind == "bridge" else self._authors.get(id_)
        if author is None:
            return _synthetic(message.author_key, message.author_name)
        return self.person(author, name=message.author_name, kind=kind)

    def _persona(self, message: SimplifiedMessage) -> Participant | None:
        name = message.persona_name or message.author_name
        imitating = self._request.turn is not None and self._request.turn.imitated is not None
        if not imitating and fold_name(name) == fold_name(persona_of(self._request)):
            return None
        return _synthetic(("persona", name), name)

    def person(self, author: Author, *, name: str | None = None, kind: AuthorKind = "user") -> Participant | None:
        """A human or another bot; None for ourselves, and for whoever is not to be heard at all."""
        level = self._privacy.get(author)
        if level is PrivacyLevel.FULL or (self._me is not None and author.canonical_key == self._me.canonical_key):
            return None
        member = self._members.get(author.user_id)
        if member is not None and not self._request.settings.personal_memories_enabled:
            member = replace(member, is_personalised=False)
        bridged = kind == "bridge" or (member is not None and member.is_bridge_user)
        return Participant(
            key=("bridge", author.canonical_key) if bridged else ("user", author.user_id),
            name=speaker_name(name) if name else display_name_of(author, member),
            aliases=_aliases(author, member),
            author=author,
            member=member,
            level=level,
        )

    def ourselves(self) -> Participant:
        persona = persona_of(self._request)
        me = self._me
        names: tuple[str | None, ...] = (persona, self._scene.own_name)
        if me is not None:
            names += (me.display_name, me.username)
        return Participant(key=("persona", persona), name=persona, aliases=_clean(names), author=me, is_self=True)


def _synthetic(key: Key, name: str) -> Participant:
    return Participant(key=key, name=speaker_name(name), aliases=(speaker_name(name),))


def _aliases(author: Author, member: Member | None) -> tuple[str, ...]:
    """Saved nickname where it may be shown, server nickname, name on the platform, user name."""
    if member is None:
        return _clean((author.display_name, author.username))
    saved = member.saved_nickname if member.is_personalised and not member.is_blacklisted else None
    here = member.server_nickname or member.author.display_name
    return _clean((saved, here, member.global_name, member.author.username or author.username))


def _clean(names: Iterable[str | None]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for name in names:
        cleaned = speaker_name(name, "") if name else NAMELESS
        cleaned = cleaned.replace("{", "(").replace("}", ")")
        if cleaned != NAMELESS:
            found.setdefault(fold_name(cleaned), cleaned)
    return tuple(found.values())
