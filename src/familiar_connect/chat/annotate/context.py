"""AnnotationContext: what simplifying one message needs to know of the turn around it: people, marks, handles.

Who wrote an entry is a person, a persona of ours, a webhook, or someone behind a bridge. Names come out fit to stand
before somebody's words. Ids are only unique within their kind.

Platform marks in a text (`<@id>`, `<#id>`, `<@&id>`, links to channels, custom emojis) become names. What nobody can
resolve stays as it is. The work is linear in the text, however many marks it holds.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from familiar_connect.chat.message_parts import WebhookIdentity
from familiar_connect.chat.scene import NO_USERNAME, Member, Roster, RosterEntry, Scene, distinct_label
from familiar_connect.chat.types import AuthorKind, MessageIdMap, TurnSettings
from familiar_connect.identity import EVERYTHING_ALLOWED, Author, Privacy
from familiar_connect.support.system_notes import speaker_name
from familiar_connect.support.text import fold_name

logger = logging.getLogger(__name__)

FAMILIAR = "the familiar"
_IN_BRACKETS = re.compile(r"\(([^()]*)\)$")

_CHANNEL_LINK = re.compile(r"https?://[\w.-]{1,100}/channels/(?:\d{1,20}|@me)/(\d{1,20})(?:/\d{1,20})?(?!\d)")
"""A network's own address of a channel or message; a copy of the network has another host."""
_MARK = re.compile(r"<(@[!&]?|#)(\d{1,20})>")
_EMOJI = re.compile(r"<a?:(\w{1,64}):\d{1,20}>")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


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


class MentionResolver:
    """Turns platform marks into names, for one turn."""

    def __init__(self, scene: Scene, people: People) -> None:
        self._people = people
        self._warned = False
        self._channels = {str(each.channel_id): speaker_name(each.name) for each in scene.channels}
        self._roles = {each.role_id: speaker_name(each.name) for each in scene.roles}

    def readable(self, text: str) -> str:
        """*text* with every mark that can be resolved as a name, and emojis by theirs outside of code."""
        if "://" in text and "/channels/" in text:
            text = _CHANNEL_LINK.sub(r"<#\1>", text)
        return emoji_names(self._name(text)) if "<" in text else text

    def _name(self, text: str) -> str:
        unknown = 0

        def name(found: re.Match[str]) -> str:
            nonlocal unknown
            kind, number = found[1], found[2]
            if kind == "#":
                known = self._channels.get(number)
                shown = known and f"#{known}"
            elif kind == "@&":
                known = self._roles.get(number)
                shown = known and f"@{known}"
            else:
                shown = self._people.name_for_id(number)
            unknown += shown is None
            return found[0] if shown is None else shown

        named = _MARK.sub(name, text)
        if unknown:
            # The first of a turn is worth a warning; a channel full of old ones is not worth a hundred.
            logger.log(
                logging.DEBUG if self._warned else logging.WARNING,
                "mentions could not be resolved",
                extra={"count": unknown},
            )
            self._warned = True
        return named


def emoji_names(text: str) -> str:
    """Custom emojis as `:name:`, except inside code."""
    if "<" not in text:
        return text
    if "`" not in text:
        return _EMOJI.sub(_emoji_name, text)
    pieces: list[str] = []
    at = 0
    for code in _CODE.finditer(text):
        pieces += [_EMOJI.sub(_emoji_name, text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*pieces, _EMOJI.sub(_emoji_name, text[at:])])


def _emoji_name(found: re.Match[str]) -> str:
    return f":{found[1]}:"


def emoji_uses(text: str) -> list[str]:
    """Names of the custom emojis in *text*, each once."""
    return list(dict.fromkeys(_EMOJI.findall(text))) if "<" in text else []


def without_at(text: str, triggers: Iterable[str]) -> str:
    """*text* with the `@` dropped before the words the familiar is addressed by."""
    words = sorted({word.strip() for word in triggers if word.strip()}, key=len, reverse=True) if "@" in text else ()
    if not words:
        return text
    return re.sub(rf"(?<!\w)@({'|'.join(map(re.escape, words))})(?!\w)", r"\1", text, flags=re.IGNORECASE)


def nobody(author: Author) -> bool:
    """Takes no one for the owner."""
    return False


@dataclass(frozen=True, kw_only=True)
class AnnotationContext:
    """One per turn; the handles it gives out are those of the turn."""

    scene: Scene
    people: People
    marks: MentionResolver
    ids: MessageIdMap
    settings: TurnSettings
    blocked: frozenset[str] = frozenset()
    """Canonical keys of the people the persona does not want to hear."""
    is_owner: Callable[[Author], bool] = nobody
    """Who may speak in the persona's name."""
    is_voice: bool = False
    """Spoken: no handles."""

    @cached_property
    def emoji_urls(self) -> dict[str, str]:
        """Where the pictures of the server's emojis are, by name."""
        return {emoji.name: emoji.url for emoji in self.scene.emojis if emoji.url}

    def is_hidden(self, author: Author | None) -> bool:
        """Whether nothing *author* said may be quoted or passed on."""
        if author is None:
            return False
        return (bool(self.blocked) and author.canonical_key in self.blocked) or self.people.is_private(author)

    def visible_name(self, author: Author) -> str | None:
        """What *author* is called; None where nothing of them may be passed on."""
        known = self._visible_names.get(id(author))
        if known is None:
            name = None if self.is_hidden(author) else self.people.name_of(author)
            known = self._visible_names[id(author)] = author, name
        return known[1]

    def visible_names(self, authors: Iterable[Author]) -> list[str | None]:
        """`visible_name` of each of *authors*."""
        known = self._visible_names
        return [
            held[1] if (held := known.get(id(author))) is not None else self.visible_name(author) for author in authors
        ]

    @cached_property
    def _visible_names(self) -> dict[int, tuple[Author, str | None]]:
        """By identity: many react to many messages."""
        return {}

    def readable(self, text: str) -> str:
        return self.marks.readable(text)
