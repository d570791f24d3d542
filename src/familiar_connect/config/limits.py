"""[limits]: how much the familiar may spend in a day, and how much of it on one person."""

from __future__ import annotations

from dataclasses import dataclass

from familiar_connect.config.rules import integer_rule, number_rule
from familiar_connect.config.settings import setting


@dataclass(frozen=True, kw_only=True)
class LimitsConfig:
    """Caps and a rate; 0 means none. A day begins at midnight in `display_tz`."""

    tokens_per_day: int = setting(
        0,
        integer_rule(least=0),
        "Most tokens, read and written, that replies, side tasks and memory together use in a day; it holds for you"
        " too. 0: no limit.",
    )
    tokens_per_person_per_day: int = setting(
        1_000_000,
        integer_rule(least=0),
        "Most tokens used in a day on answering one person other than you. 0: no limit.",
    )
    money_per_day: float = setting(
        0.0,
        number_rule(least=0),
        "Most money spent in a day, in the currency of your prices, where prices are known; it holds for you too. 0:"
        " no limit.",
    )
    money_per_person_per_day: float = setting(
        1.0,
        number_rule(least=0),
        "Most money spent in a day on answering one person other than you. 0: no limit.",
    )
    replies_per_person_per_minute: int = setting(
        10,
        integer_rule(least=0),
        "Replies one person other than you gets in a minute; further messages are heard and not answered. 0: no limit.",
    )
