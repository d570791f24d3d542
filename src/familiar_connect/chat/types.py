"""Values of the chat room: inbound messages, simplified messages, settings, turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Literal

from familiar_connect.chat.message_parts import (
    Attachment,
    Embed,
    ForwardedMessage,
    ImageAttachment,
    MessagePiece,
    Poll,
    Reaction,
    ReferencedMessage,
    Sticker,
    VideoAttachment,
    WebhookIdentity,
)
from familiar_connect.identity import Author
from familiar_connect.presets.types import GenerationKind

AuthorKind = Literal["user", "persona", "webhook", "bridge", "system"]
"""Ids are only unique within their kind."""


@dataclass(frozen=True, kw_only=True)
class LineFacts:
    """What a roleplay chat says of one message besides who said what."""

    name: str = ""
    """What its speaker is called in the story; empty: as the author is."""
    is_narrator: bool = False
    """Told by nobody in the story."""
    is_hidden: bool = False
    """Kept, and never shown to a model."""
    is_other: bool = False
    """Spoken under a name and picture of its own."""
    is_character: bool = False
    """Said by another character of the story, not by somebody who talks with the familiar."""
    is_undated: bool = False
    """Nobody knows when it was said."""
    swipes: tuple[str, ...] = ()
    """The versions there are of it."""
    swipe: int = 0
    """Which of them it shows."""


PLAIN_LINE = LineFacts()


@dataclass(frozen=True, kw_only=True)
class InboundMessage:
    """Someone said this, here, now. A platform fills what it knows."""

    platform: str
    channel_id: int
    author: Author
    text: str
    timestamp: datetime
    message_id: str | None = None
    """The platform's own id; the same message delivered twice is stored once."""
    guild_id: int | None = None
    server_name: str | None = None
    author_roles: tuple[str, ...] | None = None
    """The roles of its author where it was said, by name or by the platform's id; None: it does not say. Not stored."""
    is_mention: bool = False
    is_reply_to_us: bool = False
    is_bot: bool = False
    is_voice: bool = False
    is_dm: bool = False
    channel_name: str | None = None
    is_self: bool = False
    """We said it ourselves; other bots are bots and not us."""
    kind: Literal["default", "join"] = "default"
    edited_at: datetime | None = None
    is_debug: bool = False
    reply_to: ReferencedMessage | None = None
    reactions: tuple[Reaction, ...] = ()
    forwards: tuple[ForwardedMessage, ...] = ()
    embeds: tuple[Embed, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    stickers: tuple[Sticker, ...] = ()
    poll: Poll | None = None
    mentions: tuple[Author, ...] = ()
    """Whom the platform says the text mentions."""
    webhook: WebhookIdentity | None = None
    history_id: int | None = None
    """Its row in the history, where it has one."""
    mode: str | None = None
    """The channel mode it was stored under; None: not from the store."""
    wants_answer: bool = False
    """Answered at once, whoever would decide otherwise."""
    line: LineFacts = PLAIN_LINE
    parent_channel_id: int | None = None
    """The channel that its thread or post belongs to."""
    is_past: bool = False
    """Said before the familiar listened here."""
    said_under: str | None = None
    """A fingerprint of the rules that its channel had when it was said, where they let not everybody in; None: open
    then, or as now."""
    pieces: tuple[MessagePiece, ...] = ()
    """The messages of our own that it stands in, where there are several."""
    view: str | None = None
    """What prompts show in place of the words, which stay as they were said; None: the words themselves."""

    @property
    def display_text(self) -> str:
        """The words as prompts have them."""
        return self.text if self.view is None else self.view


@dataclass(frozen=True, kw_only=True)
class Directives:
    """The last words of a prompt, by kind; `place_tail` alone decides where each stands."""

    lower: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    queued_reply: str | None = None
    uncensor: str | None = None
    prefill: str | None = None

    def __add__(self, other: Directives) -> Directives:
        return Directives(
            lower=self.lower + other.lower,
            tail=self.tail + other.tail,
            queued_reply=other.queued_reply or self.queued_reply,
            uncensor=other.uncensor or self.uncensor,
            prefill=other.prefill or self.prefill,
        )


@dataclass(frozen=True, kw_only=True)
class MediaDescriptor:
    """A picture or film that was sent, whatever the answering model can see."""

    kind: Literal["image", "video"]
    uri: str
    mime: str | None = None
    fallback_uri: str | None = None
    media_id: str | None = None
    within_window: bool = True
    extend_by: int = 0
    """How many more entries the media window would have to hold for this to lie within it."""
    filename: str | None = None
    is_youtube: bool = False


@dataclass(frozen=True, kw_only=True)
class Sender:
    name: str
    kind: Literal["user", "persona"] = "user"


@dataclass(frozen=True, kw_only=True)
class ListedUser:
    """Somebody whom the model may mention, under the names it knows them by."""

    target_id: str
    display_label: str
    aliases: tuple[str, ...] = ()
    mentionable: bool = True


@dataclass(frozen=True, kw_only=True)
class SimplifiedMessage:
    """One entry of the dialogue as it will be shown."""

    id: str
    author_id: str
    author_name: str
    author_type: Literal["user", "persona"]
    author_kind: AuthorKind = "user"
    persona_name: str | None = None
    content: str | None = None
    created_at: datetime | None = None
    image_attachments: tuple[ImageAttachment, ...] = ()
    video_attachments: tuple[VideoAttachment, ...] = ()
    media_source_message_ids: tuple[str, ...] = ()
    """Messages other than this one that its media came from."""
    remote_media_source_kind: Literal["reply", "forwarded"] | None = None
    is_debug: bool = False
    combined_message_ids: tuple[str, ...] = ()
    """Of a merged entry: every message it was made of, this one first. The next two run parallel to it."""
    individual_contents: tuple[str, ...] = ()
    combined_created_ats: tuple[datetime | None, ...] = ()
    history_id: int | None = None
    """Row of its newest message in the history."""
    ordinal: int | None = None
    """How many stored turns of the channel lie before it; good places to cut are counted by it."""
    in_exchange: bool = False
    """It holds a message being answered."""
    line: LineFacts = PLAIN_LINE

    @property
    def author_key(self) -> tuple[AuthorKind, str]:
        """Who it is by: ids of different kinds never meet."""
        return self.author_kind, self.author_id

    @property
    def has_media(self) -> bool:
        """Whether a picture or film belongs to it; a custom emoji is none."""
        pictures = any(not image.is_emoji for image in self.image_attachments)
        return pictures or bool(self.video_attachments or self.media_source_message_ids)


@dataclass(frozen=True, kw_only=True)
class Imitated:
    """The person this turn speaks for, and how they write."""

    author: Author
    name: str
    avatar_url: str | None = None
    style: str = ""


@dataclass(frozen=True, kw_only=True)
class Reminder:
    """Something the familiar was to remember, now due."""

    purpose: str
    recipient: Author | None = None
    """None: a task of its own."""
    is_bridge_user: bool = False
    due_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class TurnRevision:
    """A reply that is no new turn: it becomes part of one that is stored, or of none."""

    asker: Author
    """Who asked for it, and is answered."""
    turn_id: int | None = None
    """The turn it becomes another version of; None: it is a draft that nobody keeps."""
    continues: bool = False
    """It goes on where the turn ends."""


@dataclass(frozen=True, kw_only=True)
class TurnOptions:
    """What else is asked of a turn, besides answering what was said."""

    alter: str | None = None
    """The persona that answers, where it is not the main one."""
    imitate: Author | None = None
    imitate_style: str = ""
    stop: bool = False
    reasoning: bool = False
    manual: bool = False
    manual_prompt: str = ""
    prefill: str = ""
    kind: GenerationKind | None = None
    """What SillyTavern calls this turn, where somebody says so."""
    reminder: Reminder | None = None
    scene_turn: bool = False
    suppress_user_errors: bool = False
    revises: TurnRevision | None = None
    """What the reply is kept as, where it is no turn of its own."""


@dataclass(frozen=True, kw_only=True)
class TurnFlags:
    """What this turn is."""

    impersonation: bool = False
    from_queue: bool = False
    stop: bool = False
    may_stay_silent: bool = False
    """The reply may be none."""
    reasoning: bool = False
    manual: bool = False
    manual_prompt: str = ""
    alter: str | None = None
    """The persona that answers, where it is not the main one."""
    continuation: bool = False
    """The familiar is asked to go on with its own last message."""
    kind: GenerationKind | None = None
    """What SillyTavern calls this turn, where somebody says so."""
    reminder: Reminder | None = None
    forced_mentions: tuple[Author, ...] = ()
    explicit_long_term_memory_intent: bool = False
    disable_all_tools: bool = False
    disable_task_creation: bool = False
    disable_short_term_memory_update: bool = False
    disable_message_metadata: bool = False
    suppress_user_errors: bool = False


@dataclass(frozen=True, kw_only=True)
class TurnSettings:
    """What the owner set about reading a channel."""

    message_fetch_limit: int = 80
    window_size: int = 20
    window_step: int = 0
    mode: str | None = None
    """The channel's mode; stored messages of another one are not shown."""
    persona: str = ""
    alters: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    """Words people address the familiar by; an `@` before one is dropped."""
    zone: tzinfo = UTC
    time_awareness: bool = False
    include_timestamps: bool = False
    show_reactions: bool = True
    chat_only: bool = False
    """Voice messages are passed over in silence."""
    self_debug: bool = False
    """The familiar is shown its own error notices."""
    tools_available: bool = True
    verbatim: bool = False
    """Each message is shown as it was typed, one by one, without notes of ours."""


@dataclass(frozen=True, kw_only=True)
class Showing:
    """How a turn's messages are laid out as dialogue."""

    time_awareness: bool = False
    include_timestamps: bool = False
    own_names: bool = False
    """The familiar's own turns begin with its name, too."""
    media_window: int = 10
    """Entries, counted from the newest, whose media may be rendered."""
    now: datetime | None = None
    verbatim: bool = False
    """As they were typed, without marks."""


@dataclass(frozen=True, kw_only=True)
class SaidMessage:
    """One message of the exchange as it was heard, with its row in the history."""

    author: Author
    text: str
    timestamp: datetime
    history_id: int | None = None


Prefix = Literal["ref", "media"]
"""What a short handle stands for: a message, or a picture or film."""


class MessageIdMap:
    """Two independent counters, `ref_N` and `media_N`; raw platform ids never reach the model."""

    def __init__(self) -> None:
        self._handles: dict[tuple[str, Prefix], str] = {}
        self._real: dict[str, str] = {}
        self._given: dict[Prefix, int] = {"ref": 0, "media": 0}

    def register(self, real_id: str, prefix: Prefix = "ref") -> str:
        """The handle of *real_id*; the same one each time it is asked for."""
        known = self._handles.get((real_id, prefix))
        if known is None:
            self._given[prefix] += 1
            known = self._handles[real_id, prefix] = f"{prefix}_{self._given[prefix]}"
            self._real[known] = real_id
        return known

    def resolve(self, handle: str) -> str | None:
        return self._real.get(handle)


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One exchange made ready to be answered."""

    familiar_id: str
    channel_id: int
    guild_id: int | None = None
    is_voice: bool = False
    said: tuple[SaidMessage, ...]
    """The originals, newest last."""
    messages: tuple[SimplifiedMessage, ...] = ()
    """Simplified and merged, for showing. Empty: the stored turns before the exchange are shown as they are."""
    speaker: Author | None = None
    persona: str = ""
    """Who answers; empty: the familiar under whatever name it has."""
    imitated: Imitated | None = None
    flags: TurnFlags = TurnFlags()
    directives: Directives = Directives()
    showing: Showing = Showing()
    message_ids: MessageIdMap = field(default_factory=MessageIdMap, compare=False)
    reset_at: datetime | None = None
    """When the conversation was last begun anew, if that is among what was looked at."""


EMPTY_MENTIONS: Mapping[str, str] = {}
