"""IRC: the familiar in the rooms of a network, and in direct messages.

Making the value loads the settings and no more; the rest is loaded when the platform is made.
"""

from __future__ import annotations

from familiar_connect.api import Extension, ExtensionPlatform, PlatformHost, PlatformPart
from familiar_irc.settings import IrcSettings, check_server, why_not_set_up


def create_platform(host: PlatformHost) -> ExtensionPlatform:
    """Called once for each familiar."""
    from familiar_irc.platform import IrcPlatform

    return IrcPlatform(host)


extension = Extension(
    name="irc",
    platforms=(
        PlatformPart(
            create=create_platform,
            settings=IrcSettings,
            secrets=("IRC_PASSWORD",),
            why_not_set_up=why_not_set_up,
            check=check_server,
        ),
    ),
)
