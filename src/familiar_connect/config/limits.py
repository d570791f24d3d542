"""[limits]: how much the familiar may spend in a day, and how much of it on one person, one server or one channel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeVar

from familiar_connect.config.rules import InvalidValue, Rule, integer_rule, number_rule
from familiar_connect.config.settings import keys_of, setting

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

D = TypeVar("D", bound="DataclassInstance")
N = TypeVar("N", int, float)

MOST_NAMED = 200
"""Servers or roles that one file may name."""
_COUNT, _MONEY = integer_rule(least=0), number_rule(least=0)


@dataclass(frozen=True, kw_only=True)
class PersonLimits:
    """What one person gets; 0 means no limit. It never binds the owner."""

    replies_per_person_per_minute: int = setting(
        10,
        _COUNT,
        "Replies one person other than you gets in a minute; further messages are heard and not answered. 0: no limit.",
    )
    replies_per_person_per_hour: int = setting(0, _COUNT, "The same in an hour. 0: no limit.")
    tokens_per_person_per_day: int = setting(
        1_000_000,
        _COUNT,
        "Most tokens used in a day on answering one person other than you. 0: no limit.",
    )
    money_per_person_per_day: float = setting(
        1.0,
        _MONEY,
        "Most money spent in a day on answering one person other than you. 0: no limit.",
    )


@dataclass(frozen=True, kw_only=True)
class NamedLimits:
    """Limits in a table of their own, under the id or the name of what they hold for."""


@dataclass(frozen=True, kw_only=True)
class RoleLimits(NamedLimits):
    """What everyone with a role gets in place of what others get; None: the same as they."""

    replies_per_person_per_minute: int | None = setting(None, _COUNT, "Replies in a minute.")
    replies_per_person_per_hour: int | None = setting(None, _COUNT, "Replies in an hour.")
    tokens_per_person_per_day: int | None = setting(None, _COUNT, "Tokens in a day.")
    money_per_person_per_day: float | None = setting(None, _MONEY, "Money in a day.")


@dataclass(frozen=True, kw_only=True)
class PlaceLimits(NamedLimits):
    """What everybody in one channel, or on one server, gets together; 0 means no limit."""

    replies_per_hour: int = setting(
        0, _COUNT, "Replies here in an hour, to everybody together; further ones only you get. 0: no limit."
    )
    tokens_per_day: int = setting(
        0, _COUNT, "Tokens used here in a day on replies; then only you are answered. 0: no limit."
    )
    money_per_day: float = setting(
        0.0, _MONEY, "Money spent here in a day on replies; then only you are answered. 0: no limit."
    )

    @property
    def has_any(self) -> bool:
        return bool(self.replies_per_hour or self.tokens_per_day or self.money_per_day)

    def narrow(self, other: PlaceLimits) -> PlaceLimits:
        """Of each limit the smaller of two, where 0 is none."""
        return PlaceLimits(
            replies_per_hour=_smaller(self.replies_per_hour, other.replies_per_hour),
            tokens_per_day=_smaller(self.tokens_per_day, other.tokens_per_day),
            money_per_day=_smaller(self.money_per_day, other.money_per_day),
        )


@dataclass(frozen=True, kw_only=True)
class ManagersLimits(NamedLimits):
    """What whoever manages a channel set there by `/limits`; of two limits the smaller one counts."""

    replies_per_hour: int = setting(
        0,
        _COUNT,
        "As `replies_per_hour`, set by the people who manage the channel; the smaller one counts. 0: no limit.",
    )
    tokens_per_day: int = setting(
        0, _COUNT, "As `tokens_per_day`, set by the people who manage the channel; the smaller one counts. 0: no limit."
    )


def _smaller(one: N, other: N) -> N:
    return min(one, other) if one and other else one or other


def _tables_of(kind: type[D]) -> Rule[dict[str, D]]:
    """Tables, each under the id or the name of something, with the settings of *kind*."""
    known = {key.name: key for key in keys_of(kind)}
    make: Callable[..., D] = kind

    def read(value: object) -> dict[str, D]:
        if not isinstance(value, Mapping) or len(value) > MOST_NAMED:
            raise InvalidValue
        return {str(name): make(**_read_row(row)) for name, row in value.items()}

    def _read_row(row: object) -> dict[str, object]:
        if not isinstance(row, Mapping) or not row.keys() <= known.keys():
            raise InvalidValue
        return {name: known[name].rule.read(given) for name, given in row.items()}

    return Rule(f"tables named by an id or a name, each with numbers for any of {', '.join(known)}", read)


def list_given(limits: NamedLimits) -> dict[str, object]:
    """What a table of limits sets, for whoever shows it."""
    values = {one.name: (getattr(limits, one.name), one.default) for one in fields(limits)}
    return {name: value for name, (value, default) in values.items() if value != default}


@dataclass(frozen=True, kw_only=True)
class LimitsConfig(PersonLimits):
    """Caps and rates; 0 means none. A day begins at midnight in `display_tz`."""

    tokens_per_day: int = setting(
        0,
        _COUNT,
        "Most tokens, read and written, that replies, side tasks and memory together use in a day; it holds for you"
        " too. 0: no limit.",
    )
    money_per_day: float = setting(
        0.0,
        _MONEY,
        "Most money spent in a day, in the currency of your prices, where prices are known; it holds for you too. 0:"
        " no limit.",
    )
    servers: dict[str, PlaceLimits] = setting(
        {},
        _tables_of(PlaceLimits),
        'What a server gets, in a table `[limits.servers.ID]` or `[limits.servers."NAME"]` with `replies_per_hour`,'
        " `tokens_per_day` and `money_per_day`; it binds everybody but you.",
        example='{ "7" = { replies_per_hour = 60 } }',
    )
    roles: dict[str, RoleLimits] = setting(
        {},
        _tables_of(RoleLimits),
        "What people with a role get in place of the limits for each person, in a table `[limits.roles.ID]` or"
        ' `[limits.roles."NAME"]`. Of several roles the most generous counts.',
        example='{ "Regular" = { replies_per_person_per_minute = 20 } }',
    )
