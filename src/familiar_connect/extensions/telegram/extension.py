"""The value by which Telegram is found. Making it loads the settings and no more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from familiar_connect.api import Extension, PlatformPart
from familiar_connect.api.stand_in import DemoPart
from familiar_connect.extensions.telegram.addresses import list_hosts, why_not_sent
from familiar_connect.extensions.telegram.secrets import ADDRESS, SECRETS, TOKEN
from familiar_connect.extensions.telegram.settings import Settings

if TYPE_CHECKING:  # whoever only asks what is missing loads no more than the settings
    from familiar_connect.api import ExtensionPlatform, Place, PlatformHost
    from familiar_connect.api.checks import Finding, PlatformQuestion
    from familiar_connect.api.stand_in import PlatformDemo, TourStep


def create_platform(host: PlatformHost) -> ExtensionPlatform:
    """Called once for each familiar."""
    from familiar_connect.extensions.telegram.adapter import TelegramPlatform
    from familiar_connect.extensions.telegram.client import BotClient

    return TelegramPlatform(host, BotClient(host.secrets[TOKEN], host.secrets.get(ADDRESS)))


async def ask_telegram(question: PlatformQuestion) -> Sequence[Finding]:
    """For `familiar doctor`."""
    from familiar_connect.extensions.telegram.setup_check import ask_telegram

    return await ask_telegram(question)


def create_rehearsal(channel: str, post: Callable[[str], Awaitable[None]]) -> Place:
    """A group for `familiar rehearse`."""
    from familiar_connect.extensions.telegram.rehearsal import RehearsedGroup

    return RehearsedGroup(channel, post)


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
            ask_network=ask_telegram,
            writes_to_owner=True,
            rehearse=create_rehearsal,
            demo=DemoPart(create=create_demo, tour=list_tour),
        ),
    ),
)
