"""How memory is searched: which embedder finds meaning, how far the index has come, how the latest searches fared."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from familiar_connect.commands.common import profile_of
from familiar_connect.commands.doctor_checks import DoctorFinding
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.support.sqlite import connect_unlinked

FILTER_SKIPPED = "the filter was skipped"
"""How the note begins that a search leaves where no model picked from what it found; nothing is wrong then."""
LATEST_TURNS = 20
"""Replies whose search is looked at."""
LARGE_BACKLOG = 64
"""Messages missing in the index from which on it counts as being built; fewer are taken in at the next question."""
NEWEST_BY_MEANING = 50_000
"""Messages that are found by meaning, as `memory.index.turns` has it; loading that costs as much as all the rest."""


def check_search(root: Path, home: Path) -> Iterator[DoctorFinding]:
    """Which embedder finds meaning and what the wanted one lacks; what the latest searches had to do without."""
    from familiar_connect.config import load_character_config
    from familiar_connect.memory.index.embedders.choice import choose_embedder, lacks_embedder

    config = load_character_config(FamiliarFolder(root).settings_file, defaults_path=profile_of(home))
    if not (config.search_files or config.search_turns):
        yield DoctorFinding("search", "ok", "memory search is turned off in the settings")
        return
    model, said = choose_embedder(config.embedder, index=FamiliarFolder(root).index / "embeddings.sqlite")
    is_other = config.embedder not in ("auto", "hashing", getattr(model, "name", ""))
    is_lacking = is_other or lacks_embedder(config.embedder, model)
    yield DoctorFinding("search", "warn" if is_lacking else "ok", said)
    yield from _latest_searches(root)


def _latest_searches(root: Path) -> Iterator[DoctorFinding]:
    """Replies that were made without memory, and what others had to do without; nothing is said where all was well."""
    from familiar_connect.observe.ledger import SQLiteCollector
    from familiar_connect.observe.trace import provider_notes, provider_outcomes

    path = FamiliarFolder(root).metrics_db
    if not path.exists():
        return
    traces = SQLiteCollector(path).recent_traces(familiar_id=root.name, limit=LATEST_TURNS, facts=["provider_outcomes"])
    asleep, late, notes = 0, 0, Counter[str]()
    for trace in traces:
        for outcome in (each for each in provider_outcomes(trace) if each.get("id") == "content_search"):
            asleep += outcome.get("status") == "asleep"
            late += outcome.get("status") in ("timeout", "error")
            notes.update(set(provider_notes(outcome)))
    if asleep:
        says = f"{_replies(asleep, len(traces))} made before memory was ready, so without searching it"
        yield DoctorFinding("search", "warn", f"{says}: `familiar inspect --list` shows the turns")
    if late:
        says = f"{_replies(late, len(traces))} made without memory, because the search was too slow or failed"
        yield DoctorFinding("search", "warn", f"{says}: `familiar metrics` shows how long it takes")
    for note, count in notes.most_common():
        is_usual = note.startswith(FILTER_SKIPPED)
        yield DoctorFinding(
            "search", "ok" if is_usual else "warn", f"in {count} of the last {len(traces)} replies {note}"
        )


def _replies(count: int, of: int) -> str:
    return f"{count} of the last {of} replies {'was' if count == 1 else 'were'}"


def describe_backlog(root: Path) -> tuple[str, int]:
    """What of the talk is not in the index yet, as half a sentence, or nothing; and how many messages that is."""
    folder = FamiliarFolder(root)
    file = folder.index / "turns.sqlite"
    if not (file.is_file() and folder.history_db.is_file()):
        return "", 0
    try:
        with closing(connect_unlinked(file, "mode=ro")) as index:
            seen, units = index.execute("SELECT turns_seen, units FROM totals").fetchone()
            (with_meaning,) = index.execute("SELECT COUNT(*) FROM vectors").fetchone()
        with closing(connect_unlinked(folder.history_db, "mode=ro")) as history:
            (said,) = history.execute("SELECT COUNT(*) FROM turns WHERE familiar_id = ?", (root.name,)).fetchone()
    except (sqlite3.Error, TypeError):
        return "", 0
    unseen = max(0, int(said) - int(seen))
    missing = unseen + max(0, min(int(units), NEWEST_BY_MEANING) - int(with_meaning))
    if not missing:
        return "", 0
    what = "message is" if missing == 1 else "messages are"
    return f"{missing:,} {what} not indexed yet, or not by meaning", missing
