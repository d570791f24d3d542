"""A month that is over becomes a short page for each person and each place, and loses what is taken back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from familiar_connect.audience import Audience, parse_audience
from familiar_connect.history.message_edits import MessageEdits
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from tests.fakes.program import make_home, run_program

SAM = Author("discord", "41", "sam_w", "Sam")
SERVER = parse_audience("server:discord:5")
LETTER = parse_audience("people:discord:41")
FACTS = (
    "I live in Graz.",
    "My sister is called Ida.",
    "I work as a nurse.",
    "My cat is called zqPixel.",
    "I'm allergic to nuts.",
    "I got married in 2019.",
    "My brother is called Tom.",
    "I play the cello.",
    "My father died in 2011.",
    "I moved here from Lyon.",
    "I have two daughters.",
    "My mother is a teacher.",
    "I'm afraid of heights.",
    "My birthday is on 5 May.",
)


def last_month() -> datetime:
    """Noon of the second day of the month before this one."""
    return (datetime.now(UTC).replace(day=1) - timedelta(days=1)).replace(day=2, hour=12)


def say(root: Path, *lines: str, to: Audience = SERVER, at: datetime | None = None) -> None:
    history = HistoryStore(root / "history.db")
    for number, words in enumerate(lines):
        history.append_turn(
            familiar_id="ember",
            channel_id=5 if to == SERVER else 6,
            role="user",
            content=words,
            author=SAM,
            guild_id=5 if to == SERVER else None,
            audience=to,
            timestamp=(at or last_month()) + timedelta(minutes=number),
            platform_message_id=f"{'s' if to == SERVER else 'd'}{number}",
        )
    history.close()


def write_now(home: Path) -> None:
    done = run_program(home, "memory", "write-now")
    assert done.returncode == 0, done.stderr


def pages(root: Path) -> dict[str, str]:
    memory = root / "memory"
    found = [*memory.glob("people/*.month-*.md"), *memory.glob("sessions/*-month*.md")]
    return {path.relative_to(memory).as_posix(): path.read_text() for path in sorted(found)}


def test_each_person_and_each_place_gets_a_short_page(tmp_path: Path) -> None:
    """For the same ears as the lines it is made of, at most ten of them, and written once."""
    root = make_home(tmp_path)
    say(root, *FACTS)
    say(root, "My husband is called zqJonas.", "My daughter is called zqLina.", to=LETTER)
    say(root, "I moved to Berlin.", at=datetime.now(UTC))
    write_now(tmp_path)
    found = pages(root)
    month = f"{last_month():%Y-%m}"
    edited = root / "memory" / f"people/discord-41.month-{month}.md"
    edited.write_text("mine\n")
    deleted = root / "memory" / f"people/discord-41@dm-discord-41.month-{month}.md"
    deleted.unlink()
    write_now(tmp_path)

    open_page, letter = f"people/discord-41.month-{month}.md", f"people/discord-41@dm-discord-41.month-{month}.md"
    places = [path for path in found if path.startswith("sessions/")]
    assert {open_page, letter} < set(found)
    assert len(places) == 2
    for path, text in found.items():
        is_private = "dm-discord-41" in path
        assert text.startswith(f"---\naudience: {LETTER if is_private else SERVER}\n---\n")
        assert ("zqJonas" in text) == is_private
        assert "Berlin" not in text
        assert text.count(" said: ") <= 10
    assert "said: I'm allergic to nuts." in found[open_page]
    assert edited.read_text() == "mine\n"
    assert not deleted.exists()


def test_what_is_taken_back_leaves_every_page(tmp_path: Path) -> None:
    """A deleted message goes from the pages, a direct message takes its pages along, forgetting takes the rest."""
    root = make_home(tmp_path)
    say(root, *FACTS[:5])
    say(root, "My husband is called zqJonas.", "My daughter is called zqLina.", to=LETTER)
    write_now(tmp_path)
    before = pages(root)
    history = HistoryStore(root / "history.db")
    MessageEdits(history, "ember").record_deletions(channel_id=5, message_ids=["s3"])
    MessageEdits(history, "ember").record_deletions(channel_id=6, message_ids=["d0", "d1"])
    history.close()
    started = run_program(tmp_path, "chat", "--plain")
    after = pages(root)
    forgotten = run_program(tmp_path, "memory", "forget", "discord:41", "--yes")

    assert started.returncode == 0, started.stderr
    assert sum("zqPixel" in text for text in before.values()) == 2
    assert len(before) - len(after) == 2
    for word in (b"zqPixel", b"zqJonas", b"zqLina"):
        assert [path.name for path in (root / "memory").rglob("*.md") if word in path.read_bytes()] == []
    assert all("Ida" in text for text in after.values())
    assert forgotten.returncode == 0, forgotten.stderr
    assert all("said: " not in text and not path.startswith("people/") for path, text in pages(root).items())
