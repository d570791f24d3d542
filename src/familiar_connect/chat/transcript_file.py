"""A channel read from a JSON file (people and messages), for trying out prompts.

    {
      "server":   {"name": "Tea House", "description": "…", "id": 5},
      "channel":  {"name": "lounge", "kind": "text", "topic": "…", "parent": "…", "id": 7},
      "me":       "wren",
      "members":  [{"id": "ada", "name": "Ada", "username": "ada_l", "nickname": "…", "saved_nickname": "…",
                    "presence": "online", "activity": "…", "roles": ["keeper"], "bot": false, "privacy": "minimal"}],
      "roles":    [{"id": "keeper", "name": "Keeper", "position": 3}],
      "channels": [{"id": 8, "name": "garden"}],
      "emojis":   [{"name": "tea", "id": "11", "url": "…", "note": "…"}],
      "stickers": [{"name": "wave", "id": "12", "url": "…", "description": "…"}],
      "messages": [{"id": "1", "author": "ada", "text": "hi", "at": "2026-03-01T12:00:00+00:00",
                    "reply_to": "0", "reactions": [{"emoji": "👍", "by": ["bo"], "count": 2}],
                    "forwards": [{"author": "bo", "text": "…", "channel": "garden"}],
                    "embeds": [{"title": "…", "description": "…", "url": "…", "image": "…"}],
                    "attachments": [{"url": "…", "filename": "cat.png", "mime": "image/png"}],
                    "stickers": ["wave"], "kind": "join"},
                   {"author": "narrator", "text": "…", "narrator": true, "hidden": false}],
      "answer": 1,
      "user":     "Ada",
      "asked":    {"manual": true, "manual_prompt": "…", "prefill": "…", "imitate": "bo", "imitate_style": "…",
                   "alter": "Moss", "stop": false, "reasoning": false, "kind": "swipe"}
    }

Only `messages` is needed, and of each an `author`. Authors are members by `id`; anyone else is a person of that
name. A member's `platform` says whose notes are theirs. In a channel of the kind `voice` all is spoken. `answer` says
how many of the newest messages are being answered; without it all since `me` last spoke. A file that cannot be read so
is a `ConfigError` that names the place. For prompts as in SillyTavern, `user` says whose name `{{user}}` is, `kind`
under `asked` what kind of answer is wanted, and a message may be told by a narrator or hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

from familiar_connect.chat.message_parts import (
    Attachment,
    Embed,
    EmbedField,
    Emoji,
    ForwardedMessage,
    Reaction,
    ReferencedMessage,
    Sticker,
)
from familiar_connect.chat.place import Surroundings
from familiar_connect.chat.scene import ChannelContext, ChannelKind, ChannelRef, Member, Role, Scene
from familiar_connect.chat.types import InboundMessage, LineFacts, TurnOptions
from familiar_connect.conversation.types import BufferedMessage, Exchange, ResponseTrigger
from familiar_connect.errors import ConfigError
from familiar_connect.identity import Author, FixedPrivacy, Privacy, PrivacyLevel
from familiar_connect.presets.story.types import ChatFacts, Story
from familiar_connect.presets.types import GenerationKind
from familiar_connect.support.json_object import JsonObject, read_json

PLATFORM = "transcript"
MAX_BYTES = 16 * 1024 * 1024
FIRST_MOMENT = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
"""When the first message was written, in a file that does not say; each later one a minute after."""
MOST_ANSWERED = 200
"""As many messages as can wait for an answer in a channel."""
MOST_NESTED = 20
SPOKEN = (ChannelKind.voice, ChannelKind.stage)


@dataclass(frozen=True, kw_only=True)
class Transcript(Surroundings):
    """The channel of one file; it can be looked at like any other."""

    messages: tuple[InboundMessage, ...]
    seen: Scene
    answered: int
    """How many of the newest messages are being answered."""
    channel_id: int = 7
    levels: tuple[tuple[Author, PrivacyLevel], ...] = ()
    """What each member allows, where the file says so."""
    asked: TurnOptions = TurnOptions()
    facts: ChatFacts = ChatFacts()
    """What the file says of its story."""

    def tell_story(self, story: Story) -> Story:
        return self.facts.add_to(story)

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return self.messages[-limit:] if limit > 0 else ()

    async def scene(self) -> Scene:
        return self.seen

    @property
    def privacy(self) -> Privacy:
        strictest_last = sorted(self.levels, key=lambda each: each[1] is PrivacyLevel.FULL)
        return FixedPrivacy({author.canonical_key: level for author, level in strictest_last})

    def exchange(self, familiar_id: str, asked: TurnOptions | None = None) -> Exchange:
        """The newest messages, as what is being answered."""
        newest = self.messages[len(self.messages) - self.answered :]
        return Exchange(
            familiar_id=familiar_id,
            channel_id=self.channel_id,
            guild_id=self.seen.server_id,
            messages=tuple(BufferedMessage(m.author, m.text, m.timestamp, None, m) for m in newest),
            trigger=ResponseTrigger.direct_address,
            is_voice=self.seen.channel is not None and self.seen.channel.kind in SPOKEN,
            asked=asked or self.asked,
        )


def read_transcript(path: Path) -> Transcript:
    """The transcript in the file at *path*. It reads a file: callers on an event loop run it in a thread."""
    data = read_json(path, limit=MAX_BYTES, what="a transcript is a few messages")
    return parse_transcript(data, str(path))


def parse_transcript(data: object, name: str = "transcript") -> Transcript:
    """The transcript in *data*; *name* is what it is called in an error."""
    top = JsonObject(data, name)
    members = [_member(each) for each in top.parts("members")]
    people = {member.author.user_id: member.author for member, _ in members}
    me = people.get(top.text("me") or "")
    scene = _scene(top, tuple(member for member, _ in members), me)
    stickers = {sticker.name: sticker for sticker in scene.stickers}
    server, channel = top.part("server"), top.part("channel")
    messages: list[InboundMessage] = []
    for place, each in enumerate(top.parts("messages")):
        at = FIRST_MOMENT + timedelta(minutes=place)
        messages.append(_message(each, people, me, stickers, at, str(place + 1)))
    if not messages:
        raise ConfigError(f"{name}: holds no messages; list at least one under `messages`")
    newest = next((back for back, m in enumerate(reversed(messages)) if m.is_self), len(messages))
    answered = top.number("answer")
    return Transcript(
        messages=tuple(messages),
        seen=scene,
        answered=max(1, min(len(messages), MOST_ANSWERED, newest if answered is None else answered)),
        channel_id=(channel.number("id") if channel else None) or (server.number("id") if server else None) or 7,
        levels=tuple((member.author, level) for member, level in members if level is not PrivacyLevel.MINIMAL),
        asked=_asked(top.part("asked"), people),
        facts=ChatFacts(user=top.text("user") or ""),
    )


def _asked(part: JsonObject | None, people: dict[str, Author]) -> TurnOptions:
    if part is None:
        return TurnOptions()
    imitated = part.text("imitate")
    return TurnOptions(
        alter=part.text("alter"),
        imitate=_who(imitated, people) if imitated else None,
        imitate_style=part.text("imitate_style") or "",
        stop=part.flag("stop"),
        reasoning=part.flag("reasoning"),
        manual=part.flag("manual"),
        manual_prompt=part.text("manual_prompt") or "",
        prefill=part.text("prefill") or "",
        kind=part.one_of("kind", {kind: kind for kind in get_args(GenerationKind)}, None),
    )


def _scene(top: JsonObject, members: tuple[Member, ...], me: Author | None) -> Scene:
    server, channel = top.part("server"), top.part("channel")
    kinds = {kind.value: kind for kind in ChannelKind}
    kind = channel.one_of("kind", kinds, ChannelKind.text) if channel else ChannelKind.text
    roles = tuple(
        Role(role_id=each.require_text("id"), name=each.require_text("name"), position=each.number("position") or 0)
        for each in top.parts("roles")
    )
    return Scene(
        server_name=server.text("name") if server else None,
        server_description=server.text("description") if server else None,
        server_id=server.number("id") if server else None,
        channel=ChannelContext(channel.text("name") or "channel", kind, channel.text("parent")) if channel else None,
        channel_topic=channel.text("topic") if channel else None,
        is_dm=kind in (ChannelKind.dm, ChannelKind.group_dm),
        participants=tuple(member.author for member in members),
        members=tuple(_with_roles(member, roles) for member in members),
        roles=roles,
        channels=tuple(
            ChannelRef(channel_id=each.number("id") or 0, name=each.require_text("name"))
            for each in top.parts("channels")
        ),
        emojis=tuple(
            Emoji(
                name=each.require_text("name"), emoji_id=each.text("id"), url=each.text("url"), note=each.text("note")
            )
            for each in top.parts("emojis")
        ),
        stickers=tuple(_sticker(each) for each in top.parts("stickers")),
        me=me,
        own_name=me.display_name if me is not None else None,
    )


def _sticker(part: JsonObject) -> Sticker:
    return Sticker(
        name=part.require_text("name"),
        sticker_id=part.text("id"),
        url=part.text("url"),
        description=part.text("description"),
    )


def _member(part: JsonObject) -> tuple[Member, PrivacyLevel]:
    id_ = part.require_text("id")
    platform = part.text("platform") or PLATFORM
    author = Author(platform, id_, part.text("username"), part.text("name") or id_)
    member = Member(
        author=author,
        saved_nickname=part.text("saved_nickname"),
        server_nickname=part.text("nickname"),
        presence=part.text("presence"),
        activity=part.text("activity"),
        roles=tuple(Role(role_id=str(role), name=str(role)) for role in part.entries("roles")),
        is_bot=part.flag("bot"),
    )
    return member, part.one_of("privacy", {level.value: level for level in PrivacyLevel}, PrivacyLevel.MINIMAL)


def _with_roles(member: Member, roles: Sequence[Role]) -> Member:
    known = {role.role_id: role for role in roles}
    return replace(member, roles=tuple(known.get(role.role_id, role) for role in member.roles))


def _who(name: str, people: dict[str, Author]) -> Author:
    return people.get(name) or Author(PLATFORM, name, name, name)


def _message(
    part: JsonObject,
    people: dict[str, Author],
    me: Author | None,
    stickers: dict[str, Sticker],
    at: datetime,
    id_: str,
) -> InboundMessage:
    author = _who(part.require_text("author"), people)
    ours = me is not None and author == me
    target = part.text("reply_to")
    return InboundMessage(
        platform=PLATFORM,
        channel_id=7,
        author=author,
        text=part.text("text") or "",
        timestamp=part.moment("at") or at,
        message_id=part.text("id") or id_,
        is_self=ours,
        is_bot=ours or part.flag("bot"),
        kind="join" if part.one_of("kind", {"default": False, "join": True}, False) else "default",
        reply_to=ReferencedMessage(message_id=target) if target else None,
        reactions=tuple(_reaction(each, people) for each in part.parts("reactions")),
        forwards=tuple(parse_forward(each, people) for each in part.parts("forwards")),
        embeds=tuple(_embed(each) for each in part.parts("embeds")),
        attachments=tuple(parse_attachment(each) for each in part.parts("attachments")),
        stickers=tuple(stickers.get(str(name), Sticker(name=str(name))) for name in part.entries("stickers")),
        line=LineFacts(is_narrator=part.flag("narrator"), is_hidden=part.flag("hidden")),
    )


def _reaction(part: JsonObject, people: dict[str, Author]) -> Reaction:
    users = tuple(_who(str(name), people) for name in part.entries("by"))
    label = part.require_text("emoji")
    return Reaction(
        label=label.strip(":") or label,
        is_custom=len(label) > 2 and label.startswith(":") and label.endswith(":"),
        count=max(part.number("count") or 0, len(users), 1),
        users=users,
    )


def parse_forward(part: JsonObject, people: dict[str, Author], depth: int = 0) -> ForwardedMessage:
    if depth > MOST_NESTED:
        raise ConfigError(f"{part.where}: forwards lie more than {MOST_NESTED} deep")
    author = part.text("author")
    return ForwardedMessage(
        author=_who(author, people) if author else None,
        text=part.text("text") or "",
        channel_name=part.text("channel"),
        attachments=tuple(parse_attachment(each) for each in part.parts("attachments")),
        forwards=tuple(parse_forward(each, people, depth + 1) for each in part.parts("forwards")),
        is_reachable=not part.flag("unreachable"),
    )


def parse_attachment(part: JsonObject) -> Attachment:
    return Attachment(
        url=part.require_text("url"),
        filename=part.text("filename"),
        mime=part.text("mime"),
        is_voice=part.flag("voice"),
        transcript=part.text("transcript"),
    )


def _embed(part: JsonObject) -> Embed:
    return Embed(
        author=part.text("author"),
        title=part.text("title"),
        description=part.text("description"),
        url=part.text("url"),
        image_url=part.text("image"),
        thumbnail_url=part.text("thumbnail"),
        fields=tuple(
            EmbedField(name=each.text("name") or "", value=each.text("value") or "") for each in part.parts("fields")
        ),
    )
