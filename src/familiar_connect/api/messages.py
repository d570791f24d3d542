"""For networks whose messages hold more than words: the parts of a message and of a scene, and how one is sent."""

from __future__ import annotations

from familiar_connect.chat.annotate.file_texts import FileTextLimits
from familiar_connect.chat.message_parts import (
    Attachment,
    Embed,
    EmbedField,
    Emoji,
    ForwardedMessage,
    MessagePiece,
    NoticeKind,
    Poll,
    PollAnswer,
    Reaction,
    Sticker,
    WebhookIdentity,
)
from familiar_connect.chat.place import PostedMessage
from familiar_connect.chat.scene import ChannelContext, ChannelKind, ChannelRef, Member, Role, ServerEvent
from familiar_connect.reply.chunks import pack_reply
from familiar_connect.reply.deliver import send_with_retry

__all__ = [
    "Attachment",
    "ChannelContext",
    "ChannelKind",
    "ChannelRef",
    "Embed",
    "EmbedField",
    "Emoji",
    "FileTextLimits",
    "ForwardedMessage",
    "Member",
    "MessagePiece",
    "NoticeKind",
    "Poll",
    "PollAnswer",
    "PostedMessage",
    "Reaction",
    "Role",
    "ServerEvent",
    "Sticker",
    "WebhookIdentity",
    "pack_reply",
    "send_with_retry",
]
