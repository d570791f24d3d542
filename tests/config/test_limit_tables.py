"""The tables of [limits]: what a file says of a server and a role, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from familiar_connect.config.limits import PlaceLimits, RoleLimits
from familiar_connect.config.load import explain_character_config, load_character_config
from familiar_connect.errors import ConfigError

WRITTEN = """
[limits.servers.7]
replies_per_hour = 60
[limits.servers."The Burrow"]
money_per_day = 0.5
[limits.roles.Guest]
replies_per_person_per_hour = 0
"""


def test_servers_and_roles_are_read_by_id_and_by_name(tmp_path: Path) -> None:
    """What a table does not name stays open for a role, and is no limit for a server."""
    file = tmp_path / "character.toml"
    file.write_text(WRITTEN, encoding="utf-8")
    limits = load_character_config(file).limits
    shown = {each.key: each.value for each in explain_character_config(file)}

    assert limits.servers == {"7": PlaceLimits(replies_per_hour=60), "The Burrow": PlaceLimits(money_per_day=0.5)}
    assert limits.roles == {"Guest": RoleLimits(replies_per_person_per_hour=0)}
    assert shown["limits.servers"] == {"7": {"replies_per_hour": 60}, "The Burrow": {"money_per_day": 0.5}}
    assert shown["limits.roles"] == {"Guest": {"replies_per_person_per_hour": 0}}


@pytest.mark.parametrize(
    "line",
    [
        "[limits.servers.7]\nreplies_per_day = 3",
        "[limits.roles.Guest]\nreplies_per_person_per_hour = -1",
        "[limits]\nroles = 3",
    ],
)
def test_a_table_that_cannot_be_meant_is_told_with_what_belongs_there(tmp_path: Path, line: str) -> None:
    """The sentence names the file, the key and the settings that there are."""
    file = tmp_path / "character.toml"
    file.write_text(line, encoding="utf-8")

    with pytest.raises(ConfigError, match=r"character\.toml: \[limits\] (servers|roles) must be tables named by an id"):
        load_character_config(file)
