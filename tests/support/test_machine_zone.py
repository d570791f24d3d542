"""The time zone of this computer."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from familiar_connect.support.clock import machine_zone

NOWHERE = Path("/no/such/file")


@pytest.mark.parametrize("told", ["Europe/Berlin", ":Europe/Berlin", "/usr/share/zoneinfo/Europe/Berlin"])
def test_the_environment_says_it(told: str) -> None:
    """`TZ`, in each of its spellings."""
    assert machine_zone({"TZ": told}, localtime=NOWHERE) == "Europe/Berlin"


def test_the_systems_link_says_it(tmp_path: Path) -> None:
    """Where `TZ` says nothing, or nothing that is known."""
    zone = tmp_path / "zoneinfo" / "Asia" / "Tokyo"
    zone.parent.mkdir(parents=True)
    zone.write_text("", encoding="utf-8")
    link = tmp_path / "localtime"
    link.symlink_to(zone)

    assert machine_zone({}, localtime=link) == "Asia/Tokyo"
    assert machine_zone({"TZ": "CEST-2"}, localtime=link) == "Asia/Tokyo"


@pytest.mark.parametrize(
    ("hours", "zone"), [(2, "Etc/GMT-2"), (-5, "Etc/GMT+5"), (0, "UTC"), (5.5, "UTC"), (99, "UTC")]
)
def test_else_the_offset_of_now(hours: float, zone: str) -> None:
    """A zone without a name of its own still has its hours."""
    found = machine_zone({}, localtime=NOWHERE, offset=timedelta(hours=hours))

    assert found == zone
    ZoneInfo(found)
