"""Integrity: rows of `history.db` that another program wrote and ours would not, listed for the owner.

They are read as well as they can be and break nothing, so nothing here changes them.
"""

from __future__ import annotations

from familiar_connect.support.sqlite import Database

_TEXTS = ("role", "content", "timestamp")
_TEXTS_OR_NONE = (
    "author_platform",
    "author_user_id",
    "author_username",
    "author_display_name",
    "mode",
    "platform_message_id",
)
_ODD_TURN = " OR ".join(
    [
        *(f"typeof({column}) <> 'text'" for column in _TEXTS),
        *(f"typeof({column}) NOT IN ('text', 'null')" for column in _TEXTS_OR_NONE),
        "typeof(channel_id) <> 'integer'",
        "datetime(timestamp) IS NULL",
        "timestamp NOT BETWEEN '0002' AND '9999'",
    ]
)
_ODD_SUMMARIES = {
    "summaries": "typeof(summary_text) <> 'text' OR typeof(last_summarised_id) <> 'integer'",
    "cross_context_summaries": "typeof(summary_text) <> 'text' OR typeof(source_last_id) <> 'integer'",
}


def find_malformed_rows(database: Database) -> list[str]:
    """One sentence for each table with such rows; reads all of them."""
    found = []
    count, first = database.read(f"SELECT COUNT(*), MIN(id) FROM turns WHERE {_ODD_TURN}")[0]
    if count:
        found.append(f"{count} of the turns hold bytes for text or an impossible time, first the one with id {first}")
    for table, odd in _ODD_SUMMARIES.items():
        count = database.read(f"SELECT COUNT(*) FROM {table} WHERE {odd}")[0][0]
        if count:
            found.append(f"{count} rows of {table} are no summaries and count as absent")
    return found
