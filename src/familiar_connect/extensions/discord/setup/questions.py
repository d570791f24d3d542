"""ask_discord: what `familiar doctor` tells of a bot: what Discord says of it, and what voice channels lack here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from familiar_connect.api.checks import Finding, PlatformQuestion
from familiar_connect.api.support import how_to_install
from familiar_connect.extensions.discord.secrets import ADDRESS, TOKEN
from familiar_connect.extensions.discord.setup.setup_check import check_setup
from familiar_connect.extensions.discord.voice.parts import missing_extra, why_libraries_fail


async def ask_discord(question: PlatformQuestion) -> Sequence[Finding]:
    """What Discord itself says of the bot: its token, its intents, and its permissions where it listens and talks."""
    secrets, talks_in = question.part.secrets, question.voice_channels
    missing = missing_extra(question.speech_libraries)
    found = await check_setup(
        secrets[TOKEN],
        api_url=secrets.get(ADDRESS),
        subscribed=question.channels,
        voice_channels=talks_in,
        has_alters=question.has_alters,
        has_voice=missing is None or bool(talks_in),
    )
    return [*found, _check_voice(missing, is_wanted=bool(talks_in))]


def _check_voice(missing: str | None, *, is_wanted: bool) -> Finding:
    """What voice channels lack here: the extra that is *missing*, or a library that is broken.

    It *is_wanted* where the bot was asked into one.
    """
    if missing is not None:
        what = "hearing, speaking and Opus" if missing == "voice" else "the encryption of calls"
        state: Literal["ok", "bad"] = "bad" if is_wanted else "ok"
        return Finding(state, f"no voice channels without {what}: {how_to_install(missing)}")
    if (problem := why_libraries_fail()) is not None:
        return Finding("bad" if is_wanted else "warn", f"no voice channels: {problem}")
    return Finding(
        "ok", "what voice channels take is there (Opus, the encryption of calls): `/subscribe-my-voice` brings it"
    )
