"""The tables of `history.db` and the ordered steps that bring an older file up to them.

`turns` is the archive. `channel_stats` and `channel_authors` are caches of its older part, described in
`side_tables`. Everything one person said is found without an index of its own: `channel_authors` names the
channels, (familiar, channel, id) holds their turns. `short_term_notes` and `conditioning` belong to
`memory/notes`.

Turn views: what prompts, the chat as it is shown, and exports have in place of a turn's words.

Scripts make a view once, when something is heard or said. `turns.content` stays as it was heard or written, and so does
`turn_versions.content`; the view stands beside it in the same row and goes with it. Whatever changes the words clears
the view, which was made of the old ones; a new view is set in a step of its own.

The tables of `ReminderBook`, and how they grew; what taking back needs, for a file made before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from familiar_connect.audience import EVERYONE, OWNER, Audience, between, whole_server
from familiar_connect.history.channel_keys import KEYS_TABLE
from familiar_connect.history.channel_readers import READERS_TABLE, add_channel_parents
from familiar_connect.history.channel_stats import add_channel_stats
from familiar_connect.history.dialogue_starts import MARK_TABLES
from familiar_connect.history.own_name import NAME_TABLE
from familiar_connect.history.pending_speech import SPEECH_TABLE
from familiar_connect.identity import LOCAL_PLATFORMS
from familiar_connect.support.sqlite import Migration

_TRIGGERS = (
    "DROP TRIGGER IF EXISTS turn_with_versions_changed",
    """
    CREATE TRIGGER turn_with_versions_changed AFTER UPDATE OF content ON turns BEGIN
        UPDATE turn_versions SET content = NEW.content, view = NULL WHERE turn_id = NEW.id AND is_chosen = 1;
    END
    """,
    """
    CREATE TRIGGER IF NOT EXISTS view_with_versions_changed AFTER UPDATE OF view ON turns BEGIN
        UPDATE turn_versions SET view = NEW.view WHERE turn_id = NEW.id AND is_chosen = 1;
    END
    """,
    """
    CREATE TRIGGER IF NOT EXISTS turn_with_view_changed AFTER UPDATE OF content ON turns WHEN OLD.view IS NOT NULL BEGIN
        UPDATE turns SET view = NULL WHERE id = NEW.id;
    END
    """,
)


def add_turn_views(connection: sqlite3.Connection) -> None:
    """Give turns and their versions a place for a view."""
    for table in ("turns", "turn_versions"):
        columns = [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")]
        if "view" not in columns:
            connection.execute(f"ALTER TABLE {table} ADD COLUMN view TEXT")
    for statement in _TRIGGERS:
        connection.execute(statement)


REMINDER_TABLES = (
    """
    CREATE TABLE IF NOT EXISTS reminders (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        familiar_id TEXT NOT NULL,
        channel_id INTEGER NOT NULL,
        guild_id INTEGER,
        author_platform TEXT NOT NULL,
        author_user_id TEXT NOT NULL,
        author_username TEXT,
        author_display_name TEXT,
        purpose TEXT NOT NULL,
        due_at TEXT NOT NULL,
        made_at TEXT NOT NULL
    )
    """,
    "CREATE INDEX IF NOT EXISTS reminders_by_time ON reminders (familiar_id, due_at)",
)


def add_reminder_repeats(connection: sqlite3.Connection) -> None:
    """How a reminder comes again, in words; nothing: it comes once."""
    if "repeats" not in [str(row[1]) for row in connection.execute("PRAGMA table_info(reminders)")]:
        connection.execute("ALTER TABLE reminders ADD COLUMN repeats TEXT")


def add_withdrawals(connection: sqlite3.Connection) -> None:
    """What came with the words that a turn read before, who or what took them back, and how far a channel was heard.

    The last is for channels whose newest turn was erased: what was erased is not read again.
    """
    present = [str(row[1]) for row in connection.execute("PRAGMA table_info(turn_revisions)")]
    for column in ("facts_before", "removed_by"):
        if column not in present:
            connection.execute(f"ALTER TABLE turn_revisions ADD COLUMN {column} TEXT")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS heard_up_to (familiar_id TEXT NOT NULL, channel_id INTEGER NOT NULL,"
        " platform_message_id TEXT NOT NULL, PRIMARY KEY (familiar_id, channel_id)) WITHOUT ROWID"
    )


def add_withdrawn_views(connection: sqlite3.Connection) -> None:
    """What prompts had in place of the words that a turn read before."""
    if "view_before" not in [str(row[1]) for row in connection.execute("PRAGMA table_info(turn_revisions)")]:
        connection.execute("ALTER TABLE turn_revisions ADD COLUMN view_before TEXT")


LEGACY_PLATFORM = "legacy-discord"
"""Platform of people known only by the name an old file kept."""

TURNS_COLUMNS = """
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    familiar_id TEXT NOT NULL,
    channel_id INTEGER NOT NULL,
    guild_id INTEGER,
    role TEXT NOT NULL,
    author_platform TEXT,
    author_user_id TEXT,
    author_username TEXT,
    author_display_name TEXT,
    content TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    mode TEXT
"""

TURNS_INDEXES = (
    "CREATE INDEX IF NOT EXISTS turns_by_channel ON turns (familiar_id, channel_id, id)",
    "CREATE INDEX IF NOT EXISTS turns_by_familiar ON turns (familiar_id, id)",
    "CREATE INDEX IF NOT EXISTS turns_by_channel_mode ON turns (familiar_id, channel_id, mode, id)",
)

_SUMMARIES = """
CREATE TABLE IF NOT EXISTS summaries (
    familiar_id TEXT NOT NULL,
    channel_id INTEGER NOT NULL DEFAULT 0,
    last_summarised_id INTEGER NOT NULL,
    summary_text TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (familiar_id, channel_id)
)
"""

_CROSS_CONTEXT = """
CREATE TABLE IF NOT EXISTS cross_context_summaries (
    familiar_id TEXT NOT NULL,
    viewer_mode TEXT NOT NULL,
    source_channel_id INTEGER NOT NULL,
    source_last_id INTEGER NOT NULL,
    summary_text TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (familiar_id, viewer_mode, source_channel_id)
)
"""

# Whose words a familiar's summaries were made without: canonical keys, a JSON list.
_LEFT_OUT = """
CREATE TABLE IF NOT EXISTS summaries_without (
    familiar_id TEXT PRIMARY KEY,
    people TEXT NOT NULL
)
"""

_WATERMARK = """
CREATE TABLE IF NOT EXISTS memory_writer_watermark (
    familiar_id TEXT PRIMARY KEY,
    last_written_id INTEGER NOT NULL,
    created_at TEXT NOT NULL
)
"""

# How far the turns of one audience are written up; the table above says up to where all of them are.
_AUDIENCE_WATERMARKS = """
CREATE TABLE IF NOT EXISTS writer_watermarks (
    familiar_id TEXT NOT NULL,
    audience TEXT NOT NULL,
    last_written_id INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (familiar_id, audience)
) WITHOUT ROWID
"""

# One row per persona, channel and owner: a person (`user:…`) or, where everybody reads along, a server (`server:…`).
_SHORT_TERM = """
CREATE TABLE IF NOT EXISTS short_term_notes (
    familiar_id TEXT NOT NULL,
    persona TEXT NOT NULL,
    channel_id INTEGER NOT NULL,
    owner TEXT NOT NULL,
    guild_id INTEGER,
    parent_id INTEGER,
    channel_name TEXT,
    owner_name TEXT,
    lines TEXT NOT NULL,
    people TEXT NOT NULL,
    summary TEXT,
    updated_at REAL NOT NULL,
    PRIMARY KEY (familiar_id, persona, channel_id, owner)
) WITHOUT ROWID
"""

_CONDITIONING = """
CREATE TABLE IF NOT EXISTS conditioning (
    familiar_id TEXT NOT NULL,
    guild_id INTEGER NOT NULL,
    persona TEXT NOT NULL,
    kind TEXT NOT NULL,
    action TEXT NOT NULL,
    reason_key TEXT NOT NULL,
    author_platform TEXT NOT NULL,
    author_user_id TEXT NOT NULL,
    author_name TEXT NOT NULL,
    reason TEXT NOT NULL,
    times INTEGER NOT NULL,
    updated_at REAL NOT NULL,
    PRIMARY KEY (familiar_id, guild_id, persona, kind, action, reason_key, author_platform, author_user_id)
) WITHOUT ROWID
"""


def _tables(connection: sqlite3.Connection) -> None:
    connection.execute(f"CREATE TABLE IF NOT EXISTS turns ({TURNS_COLUMNS})")
    for statement in (_SUMMARIES, _CROSS_CONTEXT, _WATERMARK):
        connection.execute(statement)


def _turn_columns(connection: sqlite3.Connection) -> None:
    """An older `turns` gains the columns it lacks."""
    present = _columns(connection, "turns")
    for column in ("author_platform", "author_user_id", "author_username", "author_display_name", "mode"):
        if column not in present:
            connection.execute(f"ALTER TABLE turns ADD COLUMN {column} TEXT")
    if "guild_id" not in present:
        connection.execute("ALTER TABLE turns ADD COLUMN guild_id INTEGER")


def _speaker_becomes_author(connection: sqlite3.Connection) -> None:
    """A bare name becomes an author of the legacy platform; then the column goes, by way of a new table."""
    present = _columns(connection, "turns")
    if "speaker" not in present:
        return
    connection.execute(
        "UPDATE turns SET author_platform = ?, author_user_id = speaker, author_display_name = speaker"
        " WHERE speaker IS NOT NULL AND author_platform IS NULL",
        (LEGACY_PLATFORM,),
    )
    last_given = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'turns'").fetchone()
    connection.execute(f"CREATE TABLE turns_without_speaker ({TURNS_COLUMNS})")
    kept = [column for column in present if column != "speaker"]
    for column in set(kept) - set(_columns(connection, "turns_without_speaker")):
        connection.execute(f'ALTER TABLE turns_without_speaker ADD COLUMN "{column}"')
    names = ", ".join(f'"{column}"' for column in kept)
    connection.execute(f"INSERT INTO turns_without_speaker ({names}) SELECT {names} FROM turns ORDER BY id")
    connection.execute("DROP TABLE turns")
    connection.execute("ALTER TABLE turns_without_speaker RENAME TO turns")
    if last_given is not None:  # an id once given is never given again, even if its turn was deleted
        connection.execute("UPDATE sqlite_sequence SET seq = MAX(seq, ?) WHERE name = 'turns'", last_given)


def _turn_indexes(connection: sqlite3.Connection) -> None:
    for statement in TURNS_INDEXES:
        connection.execute(statement)


def _summaries_by_channel(connection: sqlite3.Connection) -> None:
    """Summaries are a cache: an older table is made anew."""
    if "channel_id" not in _columns(connection, "summaries"):
        connection.execute("DROP TABLE summaries")
        connection.execute(_SUMMARIES)


def _platform_message_ids(connection: sqlite3.Connection) -> None:
    """A platform's own message id, so that a message delivered twice is stored once."""
    if "platform_message_id" not in _columns(connection, "turns"):
        connection.execute("ALTER TABLE turns ADD COLUMN platform_message_id TEXT")
    connection.execute(
        "CREATE UNIQUE INDEX IF NOT EXISTS turns_by_platform_message"
        " ON turns (familiar_id, channel_id, platform_message_id) WHERE platform_message_id IS NOT NULL"
    )


def _turn_facts(connection: sqlite3.Connection) -> None:
    """What a message held besides its words, as JSON; most hold nothing."""
    if "facts" not in _columns(connection, "turns"):
        connection.execute("ALTER TABLE turns ADD COLUMN facts TEXT")


def _notes(connection: sqlite3.Connection) -> None:
    for statement in (_SHORT_TERM, _CONDITIONING):
        connection.execute(statement)


# What a message read before it was changed or taken back; goes when its turn goes.
_REVISIONS = (
    """
    CREATE TABLE IF NOT EXISTS turn_revisions (
        turn_id INTEGER NOT NULL,
        said_before TEXT NOT NULL,
        changed_at TEXT NOT NULL,
        was_deleted INTEGER NOT NULL
    )
    """,
    "CREATE INDEX IF NOT EXISTS turn_revisions_by_turn ON turn_revisions (turn_id)",
    """
    CREATE TRIGGER IF NOT EXISTS revised_turn_removed AFTER DELETE ON turns BEGIN
        DELETE FROM turn_revisions WHERE turn_id = OLD.id;
    END
    """,
)


def _turn_audiences(connection: sqlite3.Connection) -> None:
    """Who each turn was said to, as `audience` writes it; older turns get what their channel tells."""
    if "audience" not in _columns(connection, "turns"):
        connection.execute("ALTER TABLE turns ADD COLUMN audience TEXT")
    channels = connection.execute(
        "SELECT DISTINCT familiar_id, channel_id FROM turns WHERE audience IS NULL"
    ).fetchall()
    for familiar_id, channel_id in channels:
        people = connection.execute(
            "SELECT DISTINCT author_platform, author_user_id FROM turns"
            " WHERE familiar_id = ? AND channel_id = ? AND author_platform IS NOT NULL AND author_user_id IS NOT NULL",
            (familiar_id, channel_id),
        ).fetchall()
        servers = connection.execute(
            "SELECT DISTINCT guild_id FROM turns WHERE familiar_id = ? AND channel_id = ?", (familiar_id, channel_id)
        ).fetchall()
        for (guild_id,) in servers:
            audience = infer_audience([(str(where), str(who)) for where, who in people], guild_id)
            connection.execute(
                "UPDATE turns SET audience = ? WHERE familiar_id = ? AND channel_id = ? AND guild_id IS ?"
                " AND audience IS NULL",
                (str(audience), familiar_id, channel_id, guild_id),
            )


def _summaries_by_audience(connection: sqlite3.Connection) -> None:
    """A number for each audience that has a summary: its row in `summaries` has that number, negated, for a channel.

    Summaries made before were made of everything that was said anywhere, so they go.
    """
    connection.execute("CREATE TABLE IF NOT EXISTS audiences (id INTEGER PRIMARY KEY, audience TEXT NOT NULL UNIQUE)")
    connection.execute("CREATE INDEX IF NOT EXISTS turns_by_audience ON turns (familiar_id, audience, id)")
    for table in ("summaries", "cross_context_summaries"):
        connection.execute(f"DELETE FROM {table}")


def _writer_watermarks(connection: sqlite3.Connection) -> None:
    connection.execute(_AUDIENCE_WATERMARKS)


# Replies on their way out, and messages that still wait for one; `history.outbox` tells how they are used.
_OUTBOX = (
    """
    CREATE TABLE IF NOT EXISTS outbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        familiar_id TEXT NOT NULL,
        channel_id INTEGER NOT NULL,
        guild_id INTEGER,
        reply_id TEXT NOT NULL,
        piece INTEGER NOT NULL,
        text TEXT NOT NULL,
        nonce TEXT NOT NULL UNIQUE,
        state TEXT NOT NULL,
        platform_message_id TEXT,
        answers TEXT NOT NULL,
        mode TEXT,
        facts TEXT,
        audience TEXT,
        created_at TEXT NOT NULL
    )
    """,
    "CREATE INDEX IF NOT EXISTS outbox_by_reply ON outbox (reply_id)",
    """
    CREATE TABLE IF NOT EXISTS owed_replies (
        turn_id INTEGER PRIMARY KEY,
        familiar_id TEXT NOT NULL,
        channel_id INTEGER NOT NULL,
        is_for_us INTEGER NOT NULL,
        heard_at TEXT NOT NULL
    )
    """,
    """
    CREATE TRIGGER IF NOT EXISTS owed_turn_removed AFTER DELETE ON turns BEGIN
        DELETE FROM owed_replies WHERE turn_id = OLD.id;
    END
    """,
)


# The versions of a turn that has several: answers made anew, swipes, greetings. `turns.content` is the chosen one,
# which follows whatever changes the turn.
_VERSIONS = (
    """
    CREATE TABLE IF NOT EXISTS turn_versions (
        turn_id INTEGER NOT NULL,
        number INTEGER NOT NULL,
        content TEXT NOT NULL,
        is_chosen INTEGER NOT NULL,
        PRIMARY KEY (turn_id, number)
    ) WITHOUT ROWID
    """,
    """
    CREATE TRIGGER IF NOT EXISTS turn_with_versions_changed AFTER UPDATE OF content ON turns BEGIN
        UPDATE turn_versions SET content = NEW.content WHERE turn_id = NEW.id AND is_chosen = 1;
    END
    """,
    """
    CREATE TRIGGER IF NOT EXISTS turn_with_versions_removed AFTER DELETE ON turns BEGIN
        DELETE FROM turn_versions WHERE turn_id = OLD.id;
    END
    """,
)


def _turn_versions(connection: sqlite3.Connection) -> None:
    """Versions of turns, turns that are in no prompt, and turns that repeat another in a chat branched off."""
    present = _columns(connection, "turns")
    for column, kind in (("mark", "TEXT"), ("copy_of", "INTEGER")):
        if column not in present:
            connection.execute(f"ALTER TABLE turns ADD COLUMN {column} {kind}")
    for statement in _VERSIONS:
        connection.execute(statement)


def _memory_corrections(connection: sqlite3.Connection) -> None:
    """Up to which change of a turn memory has been corrected; changes from before there was this count as such."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS memory_corrections (familiar_id TEXT PRIMARY KEY, last_change INTEGER NOT NULL)"
    )
    connection.execute(
        "INSERT OR IGNORE INTO memory_corrections"
        " SELECT DISTINCT familiar_id, (SELECT COALESCE(MAX(rowid), 0) FROM turn_revisions) FROM turns"
    )


PUBLIC_BEFORE = frozenset({"twitch"})
"""Platforms of older homes whose chats everybody could read, though their rows do not say so."""


def infer_audience(people: Sequence[tuple[str, str]], guild_id: int | None) -> Audience:
    """Whom a channel's talk was said to, from who spoke there (platform and user id) and its server alone.

    A channel on a server is taken to be open; one without a server is between the people who spoke in it, the
    owner's where that is a local door, and public on a platform whose chats everybody reads.
    """
    platforms = {platform for platform, _ in people}
    if guild_id is not None:
        return whole_server(min(platforms, default="discord"), guild_id)
    if not people or platforms & LOCAL_PLATFORMS:
        return OWNER
    if platforms <= PUBLIC_BEFORE:
        return EVERYONE
    return between(f"{platform}:{user_id}" for platform, user_id in people)


def _run(statements: Sequence[str]) -> Callable[[sqlite3.Connection], None]:
    """A step that only runs *statements*."""

    def step(connection: sqlite3.Connection) -> None:
        for statement in statements:
            connection.execute(statement)

    return step


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")]


MIGRATIONS = (
    Migration("tables", _tables),
    Migration("turn_columns", _turn_columns),
    Migration("speaker_becomes_author", _speaker_becomes_author),
    Migration("turn_indexes", _turn_indexes),
    Migration("summaries_by_channel", _summaries_by_channel),
    Migration("platform_message_ids", _platform_message_ids),
    Migration("side_tables", add_channel_stats),
    Migration("people_left_out", _run((_LEFT_OUT,))),
    Migration("turn_facts", _turn_facts),
    Migration("notes", _notes),
    Migration("turn_revisions", _run(_REVISIONS)),
    Migration("turn_audiences", _turn_audiences),
    Migration("summaries_by_audience", _summaries_by_audience),
    Migration("writer_watermarks", _writer_watermarks),
    Migration("outbox", _run(_OUTBOX)),
    Migration("turn_versions", _turn_versions),
    Migration("memory_corrections", _memory_corrections),
    Migration("channel_marks", _run(MARK_TABLES)),
    Migration("reminders", _run(REMINDER_TABLES)),
    Migration("pending_speech", _run((SPEECH_TABLE,))),
    Migration("turn_views", add_turn_views),
    Migration("channel_readers", _run((READERS_TABLE,))),
    Migration("withdrawals", add_withdrawals),
    Migration("channel_parents", add_channel_parents),
    Migration("withdrawn_views", add_withdrawn_views),
    Migration("channel_keys", _run((KEYS_TABLE,))),
    Migration("reminder_repeats", add_reminder_repeats),
    Migration("history_name", _run(NAME_TABLE)),
)
