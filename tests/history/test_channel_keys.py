"""A channel that its platform knows by a name has one number, and keeps it."""

from __future__ import annotations

import sqlite3
import tarfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.errors import HistoryError
from familiar_connect.history.channel_keys import FIRST_NUMBER, LAST_NUMBER, MAX_ID_CHARS
from familiar_connect.history.chats import HIGHEST_OWN_ID
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author, ChannelKey

TEA = ChannelKey("irc", "#tea")
SNOWFLAKE = 41771983423143937
"""One of the first that Discord gave."""
OLD_HOME = Path(__file__).parent.parent / "fixtures" / "home_0_1_0.tar.gz"


def test_a_name_has_one_number_and_keeps_it_after_a_restart(tmp_path: Path) -> None:
    """Another name has another, and the same name on another platform too."""
    with closing(HistoryStore(tmp_path / "history.db")) as history:
        tea = history.channel_keys.number_of(TEA)
        others = {
            history.channel_keys.number_of(each) for each in (ChannelKey("irc", "#Tea"), ChannelKey("xmpp", "#tea"))
        }
    with closing(HistoryStore(tmp_path / "history.db")) as again:
        assert again.channel_keys.number_of(TEA) == tea
        assert again.channel_keys.key_of(tea) == TEA
        assert again.channel_keys.key_of(1) is None
    assert len({tea, *others}) == 3


def test_numbers_are_given_where_no_chat_and_no_discord_channel_has_one() -> None:
    """Chats lie below, Discord above."""
    assert HIGHEST_OWN_ID <= FIRST_NUMBER < LAST_NUMBER < SNOWFLAKE


@pytest.mark.parametrize("name", ["7", "0", "-100123", "007", "١٢٣", str(FIRST_NUMBER + 1), str(2**63), "9" * 200])
def test_a_small_or_strange_number_is_a_name_like_any_other(tmp_path: Path, name: str) -> None:
    """The terminal is 1, and chats have the middle."""
    with closing(HistoryStore(tmp_path / "history.db")) as history:
        assert FIRST_NUMBER < history.channel_keys.number_of(ChannelKey("telegram", name)) < LAST_NUMBER


def test_a_snowflake_keeps_its_number_unless_another_platform_has_it(tmp_path: Path) -> None:
    """What was stored under it before is found."""
    with closing(HistoryStore(tmp_path / "history.db")) as history:
        assert history.channel_keys.number_of(ChannelKey("discord", str(SNOWFLAKE))) == SNOWFLAKE
        assert history.channel_keys.number_of(ChannelKey("other", str(SNOWFLAKE))) == FIRST_NUMBER + 2
        assert history.channel_keys.number_of(TEA) == FIRST_NUMBER + 3


def test_a_name_that_is_none_or_too_long_is_refused(tmp_path: Path) -> None:
    """Strangers choose names."""
    with closing(HistoryStore(tmp_path / "history.db")) as history:
        for key in (ChannelKey("irc", ""), ChannelKey("", "#tea"), ChannelKey("irc", "x" * (MAX_ID_CHARS + 1))):
            with pytest.raises(HistoryError):
                history.channel_keys.number_of(key)


def test_many_who_ask_at_once_get_the_same_number(tmp_path: Path) -> None:
    """Messages of one channel come in several threads."""
    with closing(HistoryStore(tmp_path / "history.db")) as history, ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(history.channel_keys.number_of, [TEA] * 64))) == 1


def test_who_is_forgotten_is_named_by_no_channel_and_their_number_is_not_given_again(tmp_path: Path) -> None:
    """A direct message is called by their id; rooms stay."""
    nick = Author("irc", "marvin-the-quiet", "marvin", None)
    path = tmp_path / "history.db"
    with closing(HistoryStore(path)) as history:
        room = history.channel_keys.number_of(TEA)
        direct = history.channel_keys.number_of(ChannelKey("irc", nick.user_id))
        history.append_turn(familiar_id="wren", channel_id=direct, role="user", content="hello", author=nick)
        history.erase_author(familiar_id="wren", author=nick)

        assert history.channel_keys.key_of(direct) is None
        assert history.channel_keys.key_of(room) == TEA
        assert history.channel_keys.number_of(ChannelKey("irc", nick.user_id)) not in (direct, room)


def test_a_home_of_the_first_version_gets_the_table_and_its_turns_stay(tmp_path: Path) -> None:
    """The channels it has keep the numbers they have."""
    with tarfile.open(OLD_HOME) as archive:
        safely: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # since Python 3.11.4
        archive.extractall(tmp_path, **safely)
    (path,) = tmp_path.rglob("history.db")
    rows = "SELECT id, channel_id, content FROM turns ORDER BY id"
    with closing(sqlite3.connect(path)) as before:
        turns = before.execute(rows).fetchall()
        assert not before.execute("SELECT 1 FROM sqlite_master WHERE name = 'channel_keys'").fetchall()

    with closing(HistoryStore(path)) as history:
        assert [tuple(row) for row in history.database.read(rows)] == turns
        assert history.channel_keys.number_of(TEA) == FIRST_NUMBER + 1
        assert len(turns) == 6


def test_a_platform_that_keeps_its_small_numbers_finds_what_was_stored_under_them(tmp_path: Path) -> None:
    """A number that another platform, a chat or a door of ours has is none of its own."""
    with closing(HistoryStore(tmp_path / "history.db")) as history:
        for number, platform in ((500, "stream"), (600, "elsewhere")):
            author = Author(platform, "5", "eve", "Eve")
            history.append_turn(familiar_id="wren", channel_id=number, role="user", content="hello", author=author)
        keys = history.channel_keys

        assert keys.number_of(ChannelKey("stream", "500"), keeps_number=True) == 500
        assert keys.key_of(500) == ChannelKey("stream", "500")
        for taken in ("600", "1", str(10**12)):
            assert keys.number_of(ChannelKey("stream", taken), keeps_number=True) > FIRST_NUMBER
        assert keys.number_of(ChannelKey("telegram", "500"), keeps_number=True) > FIRST_NUMBER
