"""Which stored turns may be told in a place, and what older turns are taken to be."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from familiar_connect.audience import EVERYONE, OWNER, Audience, Readers, between, hidden_channel, whole_server
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.turn_visibility import only_tellable
from familiar_connect.identity import Author

ME, ADA, BO = "mira", Author("discord", "101", "ada", "Ada"), Author("discord", "102", "bo", "Bo")
SERVER, HIDDEN = whole_server("discord", 2001), hidden_channel("discord", 3002, 2001)


def say(
    store: HistoryStore, channel_id: int, text: str, audience: Audience | None, author: Author | None = ADA
) -> None:
    guild_id = 2001 if channel_id >= 3000 else None
    store.append_turn(
        familiar_id=ME,
        channel_id=channel_id,
        role="user" if author else "assistant",
        content=text,
        author=author,
        guild_id=guild_id,
        audience=audience,
    )


def told(store: HistoryStore, here: Readers) -> list[str]:
    return [turn.content for turn in only_tellable(store.turns_after(familiar_id=ME, after_id=0), here)]


@pytest.fixture
def store(tmp_path: Path) -> HistoryStore:
    return HistoryStore(tmp_path / "history.db")


def test_a_channel_that_becomes_hidden_takes_its_old_turns_along(store: HistoryStore) -> None:
    """And the rest of the server no longer hears them."""
    say(store, 3002, "before", SERVER)
    say(store, 3001, "elsewhere", SERVER)
    lounge = Readers(SERVER, platform="discord", channel_id=3001, server_id=2001)
    assert told(store, lounge) == ["before", "elsewhere"]

    store.change_audience(familiar_id=ME, channel_id=3002, audience=HIDDEN)

    assert told(store, lounge) == ["elsewhere"]
    assert told(store, Readers(HIDDEN, platform="discord", channel_id=3002, server_id=2001)) == ["before", "elsewhere"]


def test_a_channel_that_is_opened_keeps_what_was_said_while_it_was_hidden(store: HistoryStore) -> None:
    """Even from its own readers of now."""
    say(store, 3002, "secret", HIDDEN)
    say(store, 3002, "open", SERVER)

    assert told(store, Readers(SERVER, platform="discord", channel_id=3002, server_id=2001)) == ["open"]


def test_a_reply_has_the_audience_of_what_it_answers(store: HistoryStore) -> None:
    """Where the caller does not say."""
    say(store, 7, "a secret", between([ADA.canonical_key]))
    say(store, 7, "I keep it", None, author=None)

    assert told(store, Readers(between([BO.canonical_key]), platform="discord", channel_id=8)) == []
    assert told(store, Readers(between([ADA.canonical_key]), platform="discord", channel_id=9)) == [
        "a secret",
        "I keep it",
    ]


def test_turns_of_an_older_file_get_the_audience_their_channel_tells(tmp_path: Path) -> None:
    """Direct messages are between their people, servers their own, the terminal the owner's; a copy is kept."""
    path = tmp_path / "history.db"
    with closing(HistoryStore(path)) as store:
        say(store, 7, "dm", None)
        say(store, 7, "reply", None, author=None)
        say(store, 3001, "server", None)
        say(store, 1, "home", None, author=Author("terminal", "sam", "sam", "Sam"))
        say(store, 44, "stream", None, author=Author("twitch", "5", "eve", "Eve"))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DROP INDEX turns_by_audience")
        database.execute("ALTER TABLE turns DROP COLUMN audience")
        database.execute("DELETE FROM migrations WHERE name IN ('turn_audiences', 'summaries_by_audience')")

    with closing(HistoryStore(path)) as store:
        turns = store.turns_after(familiar_id=ME, after_id=0)

    dm = between([ADA.canonical_key])
    assert [turn.audience for turn in turns] == [dm, dm, SERVER, OWNER, EVERYONE]
    assert (tmp_path / "history.db.before-turn_audiences").exists()


def test_every_audience_is_known_once(store: HistoryStore) -> None:
    """However many turns each has."""
    for audience in (SERVER, OWNER, SERVER, HIDDEN, OWNER):
        say(store, 3001, "x", audience)

    assert set(store.audiences(familiar_id=ME)) == {SERVER, OWNER, HIDDEN}
    assert len(store.audiences(familiar_id=ME)) == 3
    assert store.audiences(familiar_id="nobody") == []


def test_a_walk_and_a_summary_can_keep_to_one_audience(store: HistoryStore) -> None:
    """Each audience has a summary of its own."""
    for text, audience in (("a", SERVER), ("b", OWNER), ("c", SERVER)):
        say(store, 3001, text, audience)

    assert [turn.content for turn in store.turns_after(familiar_id=ME, after_id=0, audience=SERVER)] == ["a", "c"]
    assert store.nth_newest_id(familiar_id=ME, back=1, audience=SERVER) == 1
    rows = [store.summaries.row_of(each) for each in (SERVER, OWNER, SERVER)]
    assert rows[0] == rows[2] != rows[1]
    assert all(row < 0 for row in rows)
