"""The section [irc] of character.toml: what the owner says, and what is still missing in it."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass

from familiar_connect.api import PartContext
from familiar_connect.api.settings import FLAG, TEXT, TEXTS, choice_rule, integer_rule, number_rule, setting

MAX_CHANNELS = 20
CONNECT_LIMIT_S = 5.0
ROOM = re.compile(r"[#&+!][^\s,\x00-\x20\x7f:]{1,63}(?: [^\s,:\x00-\x20\x7f][^\s,\x00-\x20\x7f]{0,30})?")
"""A room, and the key of one that has a key."""
NICK = re.compile(r"[A-Za-z\[\]\\`_^{|}][A-Za-z0-9\[\]\\`_^{|}-]{0,29}")


@dataclass(frozen=True)
class IrcSettings:
    """The section [irc] of character.toml."""

    host: str = setting("", TEXT, "The server to connect to.", example='"irc.libera.chat"')
    port: int = setting(6697, integer_rule(least=1), "Its port.")
    tls: bool = setting(True, FLAG, "Whether the connection is encrypted; else a password can be read on its way.")
    nick: str = setting("", TEXT, "What the familiar is called there; empty: by its name.")
    channels: list[str] = setting(
        [], TEXTS, "The rooms it joins, each with its key if it has one.", example='["#tea", "#garden sesame"]'
    )
    owner: str = setting(
        "",
        TEXT,
        "Who is the owner, as the server shows them: nick!user@host, with * and ? for what may differ. The host says "
        "who somebody is, so it may not be left open.",
        example='"*!*@user/ada"',
    )
    dms: str = setting("everyone", choice_rule("everyone", "owner", "off"), "Whose direct messages are heard.")
    known_by: str = setting(
        "address",
        choice_rule("address", "nick"),
        "What people are told apart by: nick and host, or the nick alone, where the network guards nicks.",
    )
    pause_s: float = setting(1.5, number_rule(least=0.0, most=60.0), "Seconds between two lines, after the first five.")


def why_not_set_up(context: PartContext) -> str | None:
    """What the owner has still to write; None: nothing."""
    settings: IrcSettings = context.settings
    if not settings.host:
        return "write the server as `host` under [irc] in character.toml"
    if re.search(r"[\s\x00-\x1f]", settings.host) or settings.port > 65535:
        return "`host` and `port` under [irc] name no server"
    if settings.nick and not NICK.fullmatch(settings.nick):
        return "`nick` under [irc] is no nick: letters, digits and -_[]{}\\|^` only, and no digit first"
    if len(settings.channels) > MAX_CHANNELS:
        return f"`channels` under [irc] names more than {MAX_CHANNELS} rooms"
    wrong = [name for name in settings.channels if not ROOM.fullmatch(name)]
    if wrong:
        return f"`channels` under [irc] has {wrong[0]!r}, which is no room: write it with its #, and its key behind it"
    if settings.owner and not names_a_host(settings.owner):
        return '`owner` under [irc] must be nick!user@host with a host, such as "*!*@user/ada"'
    return None


def names_a_host(mask: str) -> bool:
    """Whether *mask* is nick!user@host and says something about the host, which is what a server vouches for."""
    found = re.fullmatch(r"[^\s!@]+![^\s!@]+@([^\s!@]+)", mask)
    return found is not None and re.search(r"[^*?.:]", found[1]) is not None


def check_server(context: PartContext) -> str | None:
    """For `familiar doctor`: whether somebody listens where the server should be."""
    settings: IrcSettings = context.settings
    if why_not_set_up(context) is not None:
        return None  # told already
    try:
        socket.create_connection((settings.host, settings.port), timeout=CONNECT_LIMIT_S).close()
    except OSError as error:
        return f"{settings.host} does not answer on port {settings.port}: {error.strerror or type(error).__name__}"
    return None
