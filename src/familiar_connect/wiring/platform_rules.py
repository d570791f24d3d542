"""PlatformRules: whom the sections of the platforms let be heard. A key means the same in every section that has it."""

from __future__ import annotations

from dataclasses import dataclass

from familiar_connect.config.character import CharacterConfig

ANSWER_LATE_S = 900.0
"""Where no section says how late a question is still answered."""


@dataclass(frozen=True, kw_only=True)
class PlatformRules:
    """What the sections say together."""

    dms: dict[str, str]
    """Platform → whose direct messages are heard: key `dms`."""
    bots: frozenset[str]
    """Canonical keys of bots that are heard as people are: key `hears_bots`, by their ids."""
    bot_reply_limit: int
    """Key `bot_reply_limit`; where several have it, the strictest."""
    answer_late_s: float
    """Key `answer_late_s`; where several have it, the longest."""


def read_platform_rules(config: CharacterConfig) -> PlatformRules:
    """The rules in the sections of the extensions that come with the program."""
    sections: dict[str, object] = vars(config.built_in)
    limits = [each.bot_reply_limit for each in sections.values() if hasattr(each, "bot_reply_limit")]
    waits = [each.answer_late_s for each in sections.values() if hasattr(each, "answer_late_s")]
    bots = {platform: each.hears_bots for platform, each in sections.items() if hasattr(each, "hears_bots")}
    return PlatformRules(
        dms={platform: each.dms for platform, each in sections.items() if hasattr(each, "dms")},
        bots=frozenset(f"{platform}:{user_id}" for platform, ids in bots.items() for user_id in ids),
        bot_reply_limit=min(limits, default=0),
        answer_late_s=max(waits, default=ANSWER_LATE_S),
    )
