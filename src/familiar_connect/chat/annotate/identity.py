"""Who wrote an entry: a person, a persona of ours, a webhook, or someone behind a bridge.

Names come out fit to stand before somebody's words. Ids are only unique within their kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from familiar_connect.chat.message_parts import WebhookIdentity
from familiar_connect.chat.roster import NO_USERNAME, Roster, RosterEntry, distinct_label
from familiar_connect.chat.scene import Member, Scene
from familiar_connect.chat.types import AuthorKind
from familiar_connect.identity import EVERYTHING_ALLOWED, Author, Privacy
from familiar_connect.support.names import fold_name
from familiar_connect.support.system_notes import speaker_name

FAMILIAR = "the familiar"
_IN_BRACKETS = re.compile(r"\(([^()]*)\)$")


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Whose words they are, as they are shown."""

    author_id: str
    name: str
    kind: AuthorKind = "user"
    type: Literal["user", "persona"] = "user"
    persona_name: str | None = None
    person: Author | None = None
    """The human behind it, where there is one we could name."""


def display_name_of(author: Author, member: Member | None = None, *, is_private: bool = False) -> str:
    """What *author* is called here: by their own wish where that may be shown, else as the server shows them."""
    saved = None
    if member is not None and member.is_personalised and not member.is_blacklisted and not is_private:
        saved = member.saved_nickname
    here = member and (member.server_nickname or member.author.display_name or member.global_name)
    for name in (saved, here, author.display_name, member and member.global_name, author.username):
        if name and (cleaned := speaker_name(name, "")) != speaker_name("", ""):
            return cleaned
    return speaker_name(author.user_id)


class People:
    """Everyone a turn may have to name, by the ids a platform uses."""

    def __init__(
        self,
        scene: Scene,
        *,
        persona: str = "",
        alters: Iterable[str] = (),
        known: Iterable[Author] = (),
        speakers: Iterable[Author] = (),
        privacy: Privacy = EVERYTHING_ALLOWED,
    ) -> None:
        self._members = {member.author.canonical_key: member for member in scene.members}
        self._by_id: dict[str, Author] = {}
        for author in (*known, *scene.participants, *(member.author for member in scene.members)):
            self._by_id[author.user_id] = author
        self._names: dict[int, tuple[Author, str]] = {}
        """By identity: a turn asks for the same few people again and again."""
        self._private: dict[int, tuple[Author, bool]] = {}
        self._identities: dict[int, Identity] = {}
        self._privacy = privacy
        self._me = scene.me
        self.persona = speaker_name(persona or scene.own_name, FAMILIAR)
        self.own_name = speaker_name(scene.own_name or persona, FAMILIAR)
        self._personas = {fold_name(speaker_name(name)): speaker_name(name) for name in (persona, *alters) if name}
        speakers = tuple(speakers)
        self._speakers = self._roster_of(speakers)
        self._usernames = {fold_name(speaker_name(each.username, "")) for each in speakers if each.username}

    def member(self, author: Author) -> Member | None:
        return self._members.get(author.canonical_key)

    def is_private(self, author: Author | None) -> bool:
        """Whether *author* is not to be heard, as they wanted it when the turn began."""
        if author is None:
            return False
        known = self._private.get(id(author))
        if known is None:
            known = self._private[id(author)] = author, self._privacy.is_full(author)
        return known[1]

    def name_of(self, author: Author) -> str:
        known = self._names.get(id(author))
        if known is not None:
            return known[1]
        found = self._display_name(author)
        is_speaker = author.canonical_key in self._speakers.owners(found)
        if is_speaker and (self._speakers.is_shared(found) or self._reads_like_another(found, author)):
            found = distinct_label(found, author.username)
        self._names[id(author)] = author, found
        return found

    def _display_name(self, author: Author) -> str:
        return display_name_of(author, self.member(author), is_private=self.is_private(author))

    def _roster_of(self, speakers: Iterable[Author]) -> Roster[str]:
        """Those who speak, by canonical key, under the names they are shown as; ours are the personas' names."""
        names: dict[str, list[str]] = {}
        for author in dict.fromkeys(speakers):
            names.setdefault(author.canonical_key, []).append(self._display_name(author))
        entries = (RosterEntry(key, shown[-1], tuple(shown)) for key, shown in names.items())
        return Roster(entries, own_names=(self.persona, *self._personas.values()))

    def _reads_like_another(self, name: str, author: Author) -> bool:
        """Whether *name* ends as `distinct_label` would have somebody else's end."""
        ending = _IN_BRACKETS.search(fold_name(name))
        if ending is None:
            return False
        own = fold_name(author.username or "")
        return ending[1] == NO_USERNAME or (ending[1] in self._usernames and ending[1] != own)

    def name_for_id(self, user_id: str) -> str | None:
        """The name a mention of *user_id* stands for; None for a stranger."""
        if self._me is not None and user_id == self._me.user_id:
            return self.own_name
        author = self._by_id.get(user_id)
        return None if author is None else self.name_of(author)

    def identity(self, author: Author, *, is_self: bool = False, webhook: WebhookIdentity | None = None) -> Identity:
        """Whose words these are."""
        if webhook is not None:
            return self._webhook(webhook, is_self=is_self)
        if is_self:
            return Identity(
                author_id=author.user_id,
                name=self.persona,
                kind="persona",
                type="persona",
                persona_name=self.persona,
            )
        known = self._identities.get(id(author))
        if known is None:
            known = Identity(author_id=author.user_id, name=self.name_of(author), person=author)
            self._identities[id(author)] = known
        return known

    def _webhook(self, webhook: WebhookIdentity, *, is_self: bool) -> Identity:
        """A webhook is one of our personas only where the platform says that it is ours: anyone may take a name."""
        name = speaker_name(webhook.name)
        persona = self._personas.get(fold_name(name)) if is_self else None
        if persona is not None:
            return Identity(author_id=persona, name=persona, kind="persona", type="persona", persona_name=persona)
        if webhook.imitates is not None:
            person = webhook.imitates
            return Identity(author_id=person.user_id, name=self.name_of(person), person=person)
        if webhook.bridge_user is not None:
            person = webhook.bridge_user
            shown = self.name_of(person)
            others = set(self._speakers.owners(shown)) - {person.canonical_key}
            if others or self._speakers.is_own_name(shown):
                shown = f"{shown} (webhook)"
            return Identity(author_id=person.canonical_key, name=shown, kind="bridge", person=person)
        if self._speakers.owners(name) or self._speakers.is_own_name(name):
            name = f"{name} (webhook)"
        return Identity(author_id=webhook.webhook_id, name=name, kind="webhook")
