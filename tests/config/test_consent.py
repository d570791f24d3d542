"""Settings that let a familiar do or tell more count only with the owner's yes to exactly this value."""

from __future__ import annotations

from pathlib import Path

import pytest

from familiar_connect.config.consent import WIDENING, OwnerConsent

WIDE: dict[str, tuple[object, object]] = {
    "confidence": ("server", "open"),
    "shares_with": (["twitch"], ["twitch", "server:7"]),
    **{each.key: ("everyone", "everyone") for each in WIDENING if each.key.endswith((".dms", ".controls", ".groups"))},
}
"""For each setting two values that widen it; True where it is not named."""


@pytest.mark.parametrize("key", [each.key for each in WIDENING])
def test_each_setting_that_widens_waits_for_exactly_its_value(tmp_path: Path, key: str) -> None:
    """The yes is in the home, for one familiar and one value; another value waits again."""
    home, (value, other) = tmp_path / "home", WIDE.get(key, (True, True))
    home.mkdir()
    consent = OwnerConsent(home, "ember")
    assert [each.key for each in consent.missing_settings({key: value})] == [key]

    consent.allow_setting(key, value)

    assert consent.missing_settings({key: value}) == []
    assert [each.value for each in consent.missing_settings({key: other})] == ([other] if other != value else [])
    assert OwnerConsent(home, "wren").missing_settings({key: value}) != []
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["trust.toml"]
