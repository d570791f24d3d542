"""IgnoreList: people who are not answered, in a file."""

from __future__ import annotations

import os
from pathlib import Path

from familiar_connect.conversation.ignored import IgnoreList
from familiar_connect.identity import Author
from tests.fakes.scripted_familiar import ANA, BEN


def test_a_list_survives_a_restart_and_knows_people_by_id_alone(tmp_path: Path) -> None:
    """Another name is the same person; the same name on another platform is not."""
    IgnoreList(tmp_path / "ignored.toml").add(BEN)
    again = IgnoreList(tmp_path / "ignored.toml")

    assert again.is_ignored(Author("discord", "222", "renamed", "Renamed"))
    assert not again.is_ignored(Author("twitch", "222", "ben", "Ben"))
    assert [str(one) for one in again.all()] == ["Ben (discord:222)"]
    assert again.remove(BEN)
    assert not again.remove(BEN)
    assert not IgnoreList(tmp_path / "ignored.toml").is_ignored(BEN)


def test_what_another_program_writes_is_seen(tmp_path: Path) -> None:
    """The command line reaches a familiar that runs."""
    running = IgnoreList(tmp_path / "ignored.toml")
    IgnoreList(tmp_path / "ignored.toml").add(ANA)

    assert running.is_ignored(ANA)
    assert not running.is_ignored(BEN)


def test_a_file_broken_by_hand_keeps_what_was_read_before(tmp_path: Path) -> None:
    """Nobody is answered by a slip of the pen."""
    path = tmp_path / "ignored.toml"
    running = IgnoreList(path)
    running.add(ANA)
    path.write_text("[[person", encoding="utf-8")
    os.utime(path, ns=(1, 1))

    assert running.is_ignored(ANA)
