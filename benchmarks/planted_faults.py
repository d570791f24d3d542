"""Faults planted in the code that works out who can read a channel: the random rooms must find every one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from familiar_connect.extensions.discord import channel_readers, guild_rules
from familiar_connect.extensions.discord.permissions import CONNECT, ReadRules

RulesOf = Callable[[Any, Any], ReadRules | None]


def _changed(change: Callable[[ReadRules], ReadRules]) -> RulesOf:
    """The rules of a channel, changed before anybody looks at them."""
    right = guild_rules.read_guild_rules

    def rules_of(channel: Any, guild: Any) -> ReadRules | None:
        rules = right(channel, guild)
        return change(rules) if rules is not None else None

    return rules_of


def _without_denials(rules: ReadRules) -> ReadRules:
    kept = (replace(each, deny=0) for each in rules.role_overwrites if each.allow)
    return replace(rules, role_overwrites=tuple(kept))


class _Forgetful(ReadRules):
    """Rules that leave no fingerprint."""

    fingerprint = ""


def _forget(rules: ReadRules) -> ReadRules:
    return _Forgetful(**{name: getattr(rules, name) for name in ReadRules.__dataclass_fields__})


FAULTS: dict[str, Callable[[ReadRules], ReadRules]] = {
    "everyone-alone": lambda rules: replace(rules, role_overwrites=(), member_overwrites=(), role_rights=()),
    "no-member-overwrites": lambda rules: replace(rules, member_overwrites=()),
    "no-role-deny": _without_denials,
    "no-connect": lambda rules: replace(rules, needed=rules.needed & ~CONNECT),
    "no-age": lambda rules: replace(rules, is_age_restricted=False),
    "no-fingerprint": _forget,
}
"""Looks at @everyone alone; ignores overwrites of members; ignores what roles are denied; ignores CONNECT; takes an
age-restricted channel for an open one; forgets under which rules something was said."""


@contextmanager
def plant(name: str) -> Iterator[None]:
    """The fault *name* while the block runs."""
    with patch.object(channel_readers, "read_guild_rules", _changed(FAULTS[name])):
        yield
