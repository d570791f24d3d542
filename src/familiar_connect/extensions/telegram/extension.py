"""The value by which Telegram is found. Making it loads the settings and no more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from familiar_connect.api import Extension, PlatformPart
from familiar_connect.api.stand_in import DemoPart
from familiar_connect.extensions.telegram.addresses import list_hosts, why_not_sent
from familiar_connect.extensions.telegram.secrets import ADDRESS, SECRETS, TOKEN
from familiar_connect.extensions.telegram.settings import Settings

if TYPE_CHECKING:  # whoever only asks what is missing loads no more than the settings
    from familiar_connect.api import ExtensionPlatform, PlatformHost
    from familiar_connect.api.stand_in import PlatformDemo, TourStep


def create_platform(host: PlatformHost) -> ExtensionPlatform:
    """Called once for each familiar."""
    from familiar_connect.extensions.telegram.adapter import TelegramPlatform
    from familiar_connect.extensions.telegram.client import BotClient

    return TelegramPlatform(host, BotClient(host.secrets[TOKEN], host.secrets.get(ADDRESS)))


def create_demo(host: PlatformHost, say: Callable[[str], None]) -> PlatformDemo:
    """A Telegram of our own on this computer."""
    from familiar_connect.extensions.telegram.demo.demo import TelegramDemo

    return TelegramDemo(host, say)


def list_tour() -> Sequence[Sequence[TourStep]]:
    """What its people do by themselves."""
    from familiar_connect.extensions.telegram.demo.tour import AFTER, BEFORE

    return BEFORE, AFTER


extension = Extension(
    name="telegram",
    platforms=(
        PlatformPart(
            create=create_platform,
            settings=Settings,
            secrets=tuple(SECRETS),
            secrets_of_each=(TOKEN,),
            required=(TOKEN,),
            library="telegram",
            hosts=list_hosts,
            why_not_set_up=why_not_sent,
            demo=DemoPart(create=create_demo, tour=list_tour),
        ),
    ),
)
