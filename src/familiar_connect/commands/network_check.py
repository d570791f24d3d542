"""ask_network: what a platform's network says of the set-up, for `familiar doctor`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from familiar_connect.commands.common import spinner
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import FamiliarError
from familiar_connect.extensions.parts import Extension, Finding, PlatformPart, PlatformQuestion
from familiar_connect.extensions.setup import PartSetup
from familiar_connect.subscriptions import SubscriptionKind, SubscriptionRegistry
from familiar_connect.voice.backends import libraries_for
from familiar_connect.voice.service_access import ServiceAccess

WITHIN_S = 60.0
"""How long a network may take for all of it."""
MOST_FINDINGS = 100


def ask_network(extension: Extension, part: PlatformPart, setup: PartSetup) -> Sequence[Finding]:
    """Let the platform ask; whatever goes wrong meanwhile is a finding."""
    if part.ask_network is None:
        return ()
    question = _question(extension, part, setup)
    asks, name = part.ask_network, extension.name.title()

    async def ask() -> Sequence[Finding]:
        async with asyncio.timeout(WITHIN_S):
            return await asks(question)

    try:
        with spinner(f"asking {name}"):
            return list(asyncio.run(ask()))[:MOST_FINDINGS]
    except FamiliarError as error:
        return [Finding("bad", str(error))]
    except TimeoutError:
        return [Finding("bad", f"{name} did not answer within {WITHIN_S:g} seconds: look at the connection")]
    except Exception as error:  # isolation: a check that fails is a finding
        return [Finding("bad", f"asking {name} failed: {type(error).__name__}: {error}")]


def _question(extension: Extension, part: PlatformPart, setup: PartSetup) -> PlatformQuestion:
    """What the platform is told: where the familiar listens and talks, and what it takes there."""
    folder = FamiliarFolder(setup.root)
    on_servers = [each for each in SubscriptionRegistry(folder.subscriptions_file).all() if each.guild_id is not None]
    channels = {
        kind: [each.channel_id for each in on_servers if each.kind is kind and part.keeps_numbers]
        for kind in SubscriptionKind
    }
    return PlatformQuestion(
        part=setup.context_for(part, extension),
        channels=channels[SubscriptionKind.text],
        voice_channels=channels[SubscriptionKind.voice],
        has_alters=bool(setup.config.alters),
        speech_libraries=libraries_for(setup.config, ServiceAccess.of_home(folder.home.root)),
    )
