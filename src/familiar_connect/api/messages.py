"""For networks whose messages hold more than words: the parts of a message, and of the scene it was said in."""

from __future__ import annotations

from familiar_connect.chat.message_parts import (
    Attachment,
    Embed,
    EmbedField,
    Emoji,
    ForwardedMessage,
    MessagePiece,
    NoticeKind,
    Reaction,
    Sticker,
    WebhookIdentity,
)
from familiar_connect.chat.place import PostedMessage
from familiar_connect.chat.scene import ChannelContext, ChannelKind, ChannelRef, Member, Role

__all__ = [
    "Attachment",
    "ChannelContext",
    "ChannelKind",
    "ChannelRef",
    "Embed",
    "EmbedField",
    "Emoji",
    "ForwardedMessage",
    "Member",
    "MessagePiece",
    "NoticeKind",
    "PostedMessage",
    "Reaction",
    "Role",
    "Sticker",
    "WebhookIdentity",
]
