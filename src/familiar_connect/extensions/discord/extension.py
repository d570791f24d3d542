"""The value by which Discord is found. Making it loads the settings and no more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from familiar_connect.api import Extension, PlatformPart, VerbPart
from familiar_connect.api.stand_in import DemoPart
from familiar_connect.extensions.discord.secrets import ADDRESS, SECRETS, TOKEN
from familiar_connect.extensions.discord.settings import Settings
from familiar_connect.extensions.discord.setup.addresses import list_hosts, why_not_sent
from familiar_connect.extensions.discord.verbs import VERBS

if TYPE_CHECKING:  # whoever only asks what is missing loads no more than the settings
    import click

    from familiar_connect.api import ExtensionPlatform, Place, PlatformHost
    from familiar_connect.api.checks import Finding, PlatformQuestion
    from familiar_connect.api.stand_in import PlatformDemo, RehearsedServers, TourStep


def create_platform(host: PlatformHost) -> ExtensionPlatform:
    """Called once for each familiar."""
    from familiar_connect.extensions.discord.adapter import DiscordPlatform
    from familiar_connect.extensions.discord.voice.parts import why_no_voice

    missing = why_no_voice(host.calls.libraries)
    return DiscordPlatform(
        host,
        token=host.secrets[TOKEN],
        api_url=host.secrets.get(ADDRESS),
        make_voice=host.calls.make_voice if missing is None else None,
        why_no_voice=missing,
    )


async def ask_discord(question: PlatformQuestion) -> Sequence[Finding]:
    """For `familiar doctor`."""
    from familiar_connect.extensions.discord.setup.questions import ask_discord

    return await ask_discord(question)


def create_discord_verb() -> click.Command:
    """For `familiar discord`."""
    from familiar_connect.extensions.discord.setup.command import discord

    return discord


def create_rehearsal(channel: str, post: Callable[[str], Awaitable[None]]) -> Place:
    """A channel for `familiar rehearse`."""
    from familiar_connect.extensions.discord.rehearsal import RehearsedChat

    return RehearsedChat(post)


def create_servers() -> RehearsedServers:
    """The servers of a rehearsal."""
    from familiar_connect.extensions.discord.rehearsal import RehearsedDiscord

    return RehearsedDiscord()


def create_demo(host: PlatformHost, say: Callable[[str], None]) -> PlatformDemo:
    """A Discord of our own on this computer."""
    from familiar_connect.extensions.discord.demo.demo import DiscordDemo

    return DiscordDemo(host, say)


def list_tour() -> Sequence[Sequence[TourStep]]:
    """What its people do by themselves."""
    from familiar_connect.extensions.discord.demo.tour import list_steps

    return list_steps()


extension = Extension(
    name="discord",
    platforms=(
        PlatformPart(
            create=create_platform,
            settings=Settings,
            secrets=tuple(SECRETS),
            secrets_of_each=(TOKEN,),
            required=(TOKEN,),
            library="discord",
            hosts=list_hosts,
            why_not_set_up=why_not_sent,
            keeps_numbers=True,
            ask_network=ask_discord,
            writes_to_owner=True,
            rehearse=create_rehearsal,
            rehearse_servers=create_servers,
            demo=DemoPart(create=create_demo, tour=list_tour),
        ),
    ),
    verbs=tuple(VerbPart(name=name, help=says, create=create_discord_verb) for name, says in VERBS.items()),
)
