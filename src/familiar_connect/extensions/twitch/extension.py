"""The value by which Twitch is found. Making it loads the settings and no more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from familiar_connect.api import Extension, PlatformPart
from familiar_connect.api.stand_in import DemoPart
from familiar_connect.extensions.twitch.secrets import CLIENT_ID, SECRETS, SPEAKER_TOKEN
from familiar_connect.extensions.twitch.settings import Settings

if TYPE_CHECKING:  # whoever only asks what is missing loads no more than the settings
    from familiar_connect.api import ExtensionPlatform, Place, PlatformHost
    from familiar_connect.api.stand_in import PlatformDemo, RehearsedLines, RehearsedPerson, TourStep

HOSTS = ("https://id.twitch.tv", "https://api.twitch.tv", "https://eventsub.wss.twitch.tv")


def create_platform(host: PlatformHost) -> ExtensionPlatform:
    """Called once for each familiar."""
    from familiar_connect.extensions.twitch.account import find_credentials
    from familiar_connect.extensions.twitch.adapter import TwitchPlatform

    speaker, broadcaster = find_credentials(host.secrets)
    return TwitchPlatform(host, speaker=speaker, broadcaster=broadcaster)


def create_rehearsal(channel: str, post: Callable[[str], Awaitable[None]]) -> Place:
    """A chat for `familiar rehearse`."""
    from familiar_connect.extensions.twitch.place import rehearsal_chat

    return rehearsal_chat(channel, post)


def create_lines(host: PlatformHost, channel: str, people: Sequence[RehearsedPerson]) -> RehearsedLines:
    """How the lines of a rehearsed chat are read."""
    from familiar_connect.extensions.twitch.rehearsal import RehearsedChat

    return RehearsedChat(host, channel, people)


def create_demo(host: PlatformHost, say: Callable[[str], None]) -> PlatformDemo:
    """A Twitch of our own on this computer."""
    from familiar_connect.extensions.twitch.demo.demo import TwitchDemo

    return TwitchDemo(host, say)


def list_tour() -> Sequence[Sequence[TourStep]]:
    """What its viewers do by themselves."""
    from familiar_connect.extensions.twitch.demo.tour import AFTER, BEFORE

    return BEFORE, AFTER


extension = Extension(
    name="twitch",
    platforms=(
        PlatformPart(
            create=create_platform,
            settings=Settings,
            secrets=tuple(SECRETS),
            required=("channel", CLIENT_ID, SPEAKER_TOKEN),
            library="twitchAPI",
            hosts=HOSTS,
            keeps_numbers=True,
            rehearse=create_rehearsal,
            rehearse_lines=create_lines,
            demo=DemoPart(create=create_demo, tour=list_tour),
        ),
    ),
)
