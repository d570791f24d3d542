"""What people may do on our own Discord: bits, roles, overwrites, and Discord's documented way from them to a right.

Written from Discord's documentation alone and on nothing of the product, so that it can be held against the product.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

EVERYTHING = (1 << 53) - 1
ADMINISTRATOR, MANAGE_CHANNELS, MANAGE_GUILD, VIEW_CHANNEL, SEND_MESSAGES = 1 << 3, 1 << 4, 1 << 5, 1 << 10, 1 << 11
MANAGE_MESSAGES, EMBED_LINKS, ATTACH_FILES, READ_MESSAGE_HISTORY = 1 << 13, 1 << 14, 1 << 15, 1 << 16
CONNECT, SPEAK = 1 << 20, 1 << 21
MANAGE_WEBHOOKS, MANAGE_THREADS, SEND_IN_THREADS = 1 << 29, 1 << 34, 1 << 38
ORDINARY = VIEW_CHANNEL | SEND_MESSAGES | SEND_IN_THREADS | EMBED_LINKS | ATTACH_FILES | (1 << 6)
ORDINARY |= READ_MESSAGE_HISTORY | CONNECT | SPEAK


@dataclass
class FakeRole:
    """A role of a server; what it allows is added to what everybody may do."""

    id: int
    name: str
    permissions: int = ORDINARY
    position: int = 1


@dataclass(frozen=True)
class Overwrite:
    """What a channel allows or denies one role, or one member."""

    allow: int = 0
    deny: int = 0
    is_member: bool = False


def permissions_in_channel(
    member_id: int,
    role_ids: Iterable[int],
    *,
    guild_id: int,
    owner_id: int,
    role_permissions: Mapping[int, int],
    overwrites: Mapping[int, Overwrite],
) -> int:
    """What a member may do in a channel; *role_permissions* holds @everyone's under the server's own id."""
    if member_id == owner_id:
        return EVERYTHING
    held = [each for each in role_ids if each in role_permissions]
    permissions = role_permissions[guild_id]
    for each in held:
        permissions |= role_permissions[each]
    if permissions & ADMINISTRATOR:
        return EVERYTHING
    everyone = overwrites.get(guild_id, Overwrite())
    permissions &= ~everyone.deny
    permissions |= everyone.allow
    allow = deny = 0
    for each in held:
        found = overwrites.get(each)
        if found is not None and not found.is_member:
            allow |= found.allow
            deny |= found.deny
    permissions &= ~deny
    permissions |= allow
    own = overwrites.get(member_id)
    if own is not None and own.is_member:
        permissions &= ~own.deny
        permissions |= own.allow
    return permissions
