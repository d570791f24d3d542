"""IgnoreList: people who are not answered, in a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from familiar_connect.conversation.ignored import IgnoreList, find_author
from familiar_connect.errors import FamiliarError
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.memory.store import MemoryStore
from tests.fakes.scripted_familiar import ANA, BEN


def test_a_list_survives_a_restart_and_knows_people_by_id_alone(tmp_path: Path) -> None:
    """Another name is the same person; the same name on another platform is not."""
    assert str(IgnoreList(tmp_path / "ignored.toml").add(BEN)) == "Ben (discord:222)"
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


def test_whoever_cannot_be_taken_off_the_list_stays_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is said, and the next start would ignore them again."""
    running = IgnoreList(tmp_path / "ignored.toml")
    running.add(ANA)

    def refuse(*_: object) -> None:
        raise FamiliarError("the disk is full")

    monkeypatch.setattr("familiar_connect.conversation.ignored.write_text", refuse)
    with pytest.raises(FamiliarError):
        running.remove(ANA)

    assert running.is_ignored(ANA)


def test_a_file_broken_by_hand_keeps_what_was_read_before(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nobody is answered by a slip of the pen, which is told of once; mended, it is read again."""
    path = tmp_path / "ignored.toml"
    running = IgnoreList(path)
    running.add(ANA)
    row = path.read_text(encoding="utf-8")
    path.write_text("[[person", encoding="utf-8")
    os.utime(path, ns=(1, 1))

    assert [running.is_ignored(ANA) for _ in range(3)] == [True] * 3
    assert [each.message for each in caplog.records] == ["the list of ignored people cannot be read"]
    path.write_text(row.replace("111", "222"), encoding="utf-8")
    assert [running.is_ignored(each) for each in (ANA, BEN)] == [False, True]


def test_a_list_that_cannot_be_read_at_the_start_is_said(tmp_path: Path) -> None:
    """Nothing was read before that could hold, and those on it would be answered."""
    path = tmp_path / "ignored.toml"
    path.write_text("[[person", encoding="utf-8")

    with pytest.raises(FamiliarError):
        IgnoreList(path)


@pytest.mark.parametrize("use", ["all", "is_ignored", "add", "remove"])
def test_whatever_is_asked_of_the_list_it_is_asked_as_the_file_is_now(tmp_path: Path, use: str) -> None:
    """What another program wrote is not written over, either; a file that is gone names nobody."""
    path = tmp_path / "ignored.toml"
    running, other = IgnoreList(path), IgnoreList(path)
    other.add(BEN)
    seen = {
        "all": lambda: [one.key for one in running.all()] == ["discord:222"],
        "is_ignored": lambda: running.is_ignored(BEN),
        "add": lambda: running.add(ANA).key == "discord:111",
        "remove": lambda: running.remove(BEN),
    }[use]()

    assert seen
    left = {"add": ["discord:222", "discord:111"], "remove": []}.get(use, ["discord:222"])
    assert [one.key for one in IgnoreList(path).all()] == left
    path.unlink()
    assert running.all() == []


def test_whoever_is_meant_is_found_by_mention_id_and_name_on_the_list_or_off_it(tmp_path: Path) -> None:
    """Somebody without a name has none; two of one name are not told apart, and nobody is nobody."""
    ignored, history = IgnoreList(tmp_path / "ignored.toml"), HistoryStore(tmp_path / "history.db")
    for author in (BEN, Author("twitch", "9", None, None), Author("discord", "7", "cy", "Cy")):
        ignored.add(author)
    history.append_turn(familiar_id="wren", channel_id=1, role="user", content="hello", author=ANA)

    def found(words: str) -> tuple[str, str | None, str | None]:
        author = find_author(
            words, ignored, familiar_id="wren", history=history, store=MemoryStore(tmp_path / "memory")
        )
        return author.canonical_key, author.username, author.display_name

    assert {found(words) for words in (" <@222> ", "<@!222>", "discord:222", "ben", "@BEN", "Ben (discord:222)")} == {
        ("discord:222", "Ben", "Ben")
    }
    assert found("twitch:9") == ("twitch:9", None, None)
    assert found(ANA.canonical_key)[0] == ANA.canonical_key
    with pytest.raises(FamiliarError):
        found("nobody at all")
    history.close()


def test_rows_written_by_hand_name_people_or_are_skipped(tmp_path: Path) -> None:
    """A number is an id as well; blanks and letters of the platform do not matter; what names nobody is passed over."""
    path = tmp_path / "ignored.toml"
    rows = [
        'platform = " Discord "\nuser_id = 222',
        'platform = "twitch"\nuser_id = true',
        'platform = ""\nuser_id = "1"',
    ]
    rows += [
        'user_id = "3"',
        'platform = "twitch"',
        'platform = "twitch"\nuser_id = " "',
        'platform = "twitch"\nuser_id = "5"\nname = 7',
    ]
    rows.append('platform = "twitch"')
    path.write_text("".join(f"[[person]]\n{row}\n" for row in rows), encoding="utf-8")

    assert [(one.key, one.name) for one in IgnoreList(path).all()] == [("discord:222", ""), ("twitch:5", "")]
