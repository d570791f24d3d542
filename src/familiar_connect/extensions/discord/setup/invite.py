"""What a bot of ours needs on Discord, each thing with its reason: intents, permissions, scopes; and its invite link.

Nothing of the library is loaded, so that the link can be made before it is installed.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

SCOPES = ("bot", "applications.commands")
AUTHORIZE = "https://discord.com/oauth2/authorize"


@dataclass(frozen=True)
class BotPermission:
    """A right on a server: Discord's name for people, its bit, its name in the library, and what it is for."""

    title: str
    bit: int
    attribute: str
    reason: str


@dataclass(frozen=True)
class BotIntent:
    """Something that Discord tells a bot of only where its owner has switched it on."""

    title: str
    reason: str
    is_needed: bool = False


PERMISSIONS = (
    BotPermission("View Channels", 10, "view_channel", "to see that a channel is there, and what is said in it"),
    BotPermission("Send Messages", 11, "send_messages", "to answer"),
    BotPermission("Send Messages in Threads", 38, "send_messages_in_threads", "to answer in threads and forum posts"),
    BotPermission(
        "Read Message History",
        16,
        "read_message_history",
        "to read what was said before it joined and while it was away, and to reply to a message",
    ),
    BotPermission("Embed Links", 14, "embed_links", "to say in a frame of its own why there is no reply"),
    BotPermission("Attach Files", 15, "attach_files", "to hand out what is too long for a message, such as `/context`"),
)
WITH_ALTERS = BotPermission(
    "Manage Webhooks",
    29,
    "manage_webhooks",
    "with further personas and for `/impersonate say`: to post under the name and picture of each",
)
WITH_VOICE = (
    BotPermission("Connect", 20, "connect", "with voice channels only: to come to the one you are in"),
    BotPermission("Speak", 21, "speak", "with voice channels only: to answer aloud"),
)
INTENTS = (
    BotIntent(
        "Message Content Intent",
        "without it the bot only learns that someone spoke, not what they said",
        is_needed=True,
    ),
    BotIntent("Server Members Intent", "nicknames and roles, and who of a direct message is on which server"),
    BotIntent("Presence Intent", "who is online, and what they do"),
)


def list_permissions(*, has_alters: bool, has_voice: bool = False) -> tuple[BotPermission, ...]:
    """What the bot of a familiar needs, with further personas and voice channels or without."""
    return (*PERMISSIONS, *(WITH_VOICE if has_voice else ()), *((WITH_ALTERS,) if has_alters else ()))


def permission_number(permissions: Iterable[BotPermission]) -> int:
    """The permissions as Discord's links count them."""
    return sum(1 << each.bit for each in permissions)


def invite_url(application_id: str, permissions: Iterable[BotPermission] = PERMISSIONS) -> str:
    """The link by which somebody lets the bot of that application onto a server of theirs."""
    number = str(permission_number(permissions))
    asked = {"client_id": application_id, "scope": " ".join(SCOPES), "permissions": number}
    return f"{AUTHORIZE}?{urlencode(asked)}"


def application_id_of(token: str) -> str | None:
    """The application a bot's token is of, which its first part says; None: it says nothing of the kind."""
    first, dot, _ = token.partition(".")
    try:
        found = base64.urlsafe_b64decode(first + "=" * (-len(first) % 4)).decode("ascii")
    except (binascii.Error, ValueError):
        return None
    return found if dot and is_application_id(found) else None


def is_application_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and 1 <= len(text) <= 20
