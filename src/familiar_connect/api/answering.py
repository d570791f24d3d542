"""For what other programs ask over HTTP: the server, what each request is asked first, and chats that they keep.

A name is loaded when it is first asked for: whoever only keeps keys loads no server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.support.lazy_names import load_lazily

if TYPE_CHECKING:
    from familiar_connect.extensions.hosts.chat_host import ChatDoor, KeptLine
    from familiar_connect.extensions.hosts.follow_host import FollowedEvent, FollowHost, FollowPosition
    from familiar_connect.support.http_server.checks import (
        PageAddress,
        Receive,
        RequestRate,
        Scope,
        Send,
        client_of,
        is_loopback,
        limit_body,
        read_headers,
        why_other_site,
    )
    from familiar_connect.support.http_server.server import listen_on, make_server

__all__ = [
    "ChatDoor",
    "FollowHost",
    "FollowPosition",
    "FollowedEvent",
    "KeptLine",
    "PageAddress",
    "Receive",
    "RequestRate",
    "Scope",
    "Send",
    "client_of",
    "is_loopback",
    "limit_body",
    "listen_on",
    "make_server",
    "read_headers",
    "why_other_site",
]

__getattr__ = load_lazily(
    __name__,
    {
        "extensions.hosts.chat_host": ("ChatDoor", "KeptLine"),
        "extensions.hosts.follow_host": ("FollowHost", "FollowPosition", "FollowedEvent"),
        "support.http_server.checks": (
            "PageAddress",
            "Receive",
            "RequestRate",
            "Scope",
            "Send",
            "client_of",
            "is_loopback",
            "limit_body",
            "read_headers",
            "why_other_site",
        ),
        "support.http_server.server": ("listen_on", "make_server"),
    },
)
