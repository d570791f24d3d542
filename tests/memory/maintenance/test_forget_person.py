"""A person who is forgotten is gone from every file, row, version and free page; everyone else stays."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from familiar_connect.identity import Author
from familiar_connect.llm.types import Message
from familiar_connect.memory.maintenance.forget_person import ErasureResult, PersonEraser, PersonRecords
from familiar_connect.memory.maintenance.person_lookup import Person, PersonNotFound, find_person
from familiar_connect.memory.maintenance.review import Review
from familiar_connect.memory.people import read_aliases
from familiar_connect.memory.versioning.provenance import Provenance, part_hash
from familiar_connect.memory.versioning.versions import Versions
from familiar_connect.memory.writing.plan import PartSource, Plan, PlannedWrite
from familiar_connect.observe.last_context import LastContextCache
from familiar_connect.observe.replay_store import ReplayStore
from tests.fakes.program import run_program
from tests.fakes.sample_week import ALICE_FILE, BOB_FILE, copy_week, history_of, memory_of
from tests.fakes.traces import a_record

HER_WORDS = ("I quit coffee!", "My cat Pixel", "looked proud", "nurse at St. Anna")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A week, and everything else that may keep words: prompts, traces, summaries, proposals, caches."""
    root = copy_week(tmp_path)
    alice = Author("discord", "1001", "alice_n", "Alice")
    pages = LastContextCache(channels_root=root / "channels")
    pages.put(channel_id=10, messages=[Message("user", "I quit coffee!", name="Alice")], modality="text")
    pages.put(channel_id=20, messages=[Message("user", "Stream time!", name="Cleo")], modality="text")
    ReplayStore(root / "traces").save("t1", a_record("t1", author=alice))
    ReplayStore(root / "traces").save("t2", a_record("t2"))
    history = history_of(root)
    history.put_summary(familiar_id="mira", last_summarised_id=25, summary_text="She told me: I quit coffee!")
    history.close()
    store = memory_of(root)
    proposed = PlannedWrite(rel_path=ALICE_FILE, content="# Alice\n\nI quit coffee!\n", before=None)
    Review(store).propose(
        Plan(run_id="p1", familiar_id="mira", turn_range=(15, 17), created_at="2026-04-12", writes=(proposed,))
    )
    store.write_file("sessions/.pending/q1/quarantine.json", '{"turns": [1, 3], "reply": "I quit coffee!"}')
    (root / "memory" / ".index").mkdir()
    (root / "memory" / ".index" / "embeddings.sqlite").write_text("I quit coffee!")
    assert store.audit is not None
    store.audit.keep(b"Alice: I quit coffee! (kept by a run that was cut)")
    store.audit.close()
    return root


def forget(root: Path, words: str = "Alice", *, also_mentions: bool = False) -> ErasureResult:
    store, history = memory_of(root), history_of(root)
    try:
        who = find_person(words, familiar_id="mira", history=history, store=store)
        return PersonEraser(root, store=store, history=history).forget(who, also_mentions=also_mentions)
    finally:
        history.close()
        assert store.audit is not None
        store.audit.close()


def look_up(root: Path, person: Person | None = None) -> PersonRecords:
    store, history = memory_of(root), history_of(root)
    try:
        who = person or find_person("Alice", familiar_id="mira", history=history, store=store)
        return PersonEraser(root, store=store, history=history).look_up(who)
    finally:
        history.close()


def words_left(root: Path, *words: str) -> list[tuple[str, str]]:
    """Files that hold any of *words*, as bytes or compressed."""
    found = []
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        data = path.read_bytes()
        found += [(str(path.relative_to(root)), word) for word in words if word.encode() in data]
    store = memory_of(root)
    assert store.audit is not None
    for name, data in store.audit.objects.orphans(()):
        found += [(f"object {name[:8]}", word) for word in words if word.encode() in data]
    store.audit.close()
    return found


def test_everything_there_is_is_listed_first(root: Path) -> None:
    """Rows, file, versions, aliases, proposals, prompts, traces, summaries, caches, and who else speaks of them."""
    found = look_up(root)

    assert (found.turns, found.files, found.versions) == (5, (ALICE_FILE,), 3)
    assert found.aliases == ("alice", "alice_n")
    assert found.pending == ("q1", "p1")
    assert found.pages == ("10.last-context.md",)
    assert (found.replays, found.summaries) == (1, 1)
    assert found.caches == ("embeddings.sqlite",)
    assert BOB_FILE in found.mention_paths
    assert memory_of(root).exists(ALICE_FILE)


def test_what_they_said_is_gone_down_to_the_bytes(root: Path) -> None:
    """No database page, log, version, page or cache still holds it, and no session or file about others quotes it."""
    done = forget(root)
    left = words_left(root, *HER_WORDS)

    assert (done.turns, done.replays, done.complete) == (5, 1, True)
    assert left == []
    assert not memory_of(root).exists(ALICE_FILE)
    assert [path for path in root.rglob("*") if "discord-1001" in path.name] == []
    assert b"discord-1001" not in (root / "audit" / "log.jsonl").read_bytes()
    assert not (root / "audit" / "forgetting.json").exists()


def test_with_mentions_nothing_speaks_of_them_any_more(root: Path) -> None:
    """Parts of other files that name them or came from their words go, with earlier versions of those files.

    What others said aloud is theirs and stays in the history.
    """
    done = forget(root, also_mentions=True)
    left = words_left(root, "Alice", "alice_n", "discord-1001", *HER_WORDS)

    assert BOB_FILE in done.edited
    assert left == [("history.db", "Alice")]
    assert "larch" in memory_of(root).read_file(BOB_FILE)


def test_everyone_else_stays_as_they_were(root: Path) -> None:
    """Rows, files, versions, aliases, provenance and the log of others."""
    before = memory_of(root)
    bob, versions = before.read_file(BOB_FILE), Versions(before.audit).log(BOB_FILE)  # type: ignore[arg-type]
    sources = Provenance(root / "audit").sources_of(BOB_FILE)
    forget(root)
    store, history = memory_of(root), history_of(root)

    assert store.read_file(BOB_FILE) == bob
    assert store.audit is not None
    assert Versions(store.audit).log(BOB_FILE) == versions
    assert Versions(store.audit).show(BOB_FILE, 1)
    assert Provenance(root / "audit").sources_of(BOB_FILE) == sources
    assert read_aliases(store) == {
        "bob": ["discord-1002"],
        "bobby": ["discord-1002"],
        "cleo": ["twitch-77"],
        "cleo_draws": ["twitch-77"],
    }
    assert history.count(familiar_id="mira") == 20
    assert [speaker.author.label for speaker in history.authors.speakers(familiar_id="mira")] == ["Cleo", "Bob"]
    assert history.check() == []
    assert store.audit.reconcile(store) == []
    history.close()


def test_a_line_made_of_several_turns_goes_if_it_has_words_only_they_said(root: Path) -> None:
    """One that others could have said as well stays, and so does what others said of them."""
    store, history = memory_of(root), history_of(root)
    hers = history.authors.ids_of(familiar_id="mira", author=Author("discord", "1001", "alice_n", "Alice"))
    said = {turn: history.turn_by_id(familiar_id="mira", turn_id=turn) for turn in (1, *hers)}
    coffee = next(turn for turn, found in said.items() if found is not None and "quit coffee" in found.content)
    bobs = history.authors.ids_of(familiar_id="mira", author=Author("discord", "1002", "bobby", "Bob"))
    boat = next(iter(bobs))
    store.write_file("topics/mixed.md", "# Mixed\n\n- Somebody quit coffee.\n- The rowing boat.\n- Alice rows.\n")
    sources = [
        PartSource(part=part_hash(text), turns=(coffee, boat)) for text in ("Somebody quit coffee.", "The rowing boat.")
    ]
    Provenance(root / "audit").record("topics/mixed.md", sources, "r9")
    history.close()
    found = look_up(root)
    forget(root)

    assert ("topics/mixed.md", "Somebody quit coffee.") in [(q.rel_path, q.part.text) for q in found.quotes]
    assert memory_of(root).read_file("topics/mixed.md") == "# Mixed\n\n- The rowing boat.\n- Alice rows.\n"


def test_their_archive_goes_with_their_file(root: Path) -> None:
    """And its versions; nobody is called after it."""
    store = memory_of(root)
    store.write_file("people/discord-1001.archive.md", "# Alice: archive\n\n- I quit coffee!\n", source="memory_writer")
    found = look_up(root)
    forget(root)

    assert found.files == (ALICE_FILE, "people/discord-1001.archive.md")
    assert words_left(root, "discord-1001", "quit coffee") == []


KILLED = """
import os, signal, sys
from pathlib import Path
from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.maintenance.forget_person import PersonEraser
from familiar_connect.memory.maintenance.person_lookup import find_person

root, step, seen = Path(sys.argv[1]), int(sys.argv[2]), 0
store = MemoryStore(root / "memory", audit_dir=root / "audit")
history = HistoryStore(root / "history.db")

def watch(what):
    global seen
    seen += 1
    if seen == step:
        os.kill(os.getpid(), signal.SIGKILL)

who = find_person("discord:1001", familiar_id="mira", history=history, store=store)
PersonEraser(root, store=store, history=history, progress=watch).forget(who)
"""


def test_a_run_that_was_cut_is_finished_by_the_next(root: Path, tmp_path: Path) -> None:
    """Killed at each step, the next run still knows whom and finishes."""
    for step in range(1, 10):
        again = copy_week(tmp_path / str(step))
        run = run_program(tmp_path, str(again), str(step), code=KILLED)
        if run.returncode == 0:
            break
        assert run.returncode == -signal.SIGKILL, run.stderr
        store, history = memory_of(again), history_of(again)
        forgetting = PersonEraser(again, store=store, history=history)
        order = forgetting.pending_order()
        assert order is not None
        assert order.person.author.canonical_key == "discord:1001"
        assert forgetting.forget(order.person).complete
        history.close()
        assert store.audit is not None
        store.audit.close()

        assert forgetting.pending_order() is None
        assert words_left(again, *HER_WORDS) == []
    assert step > 4


def test_a_person_is_found_by_any_name_and_never_guessed(root: Path) -> None:
    """Slug, platform and id, alias, display name; a name of several lists them all."""
    store, history = memory_of(root), history_of(root)
    for words in ("discord-1001", "discord:1001", "alice_n", "ALICE", "people/discord-1001.md"):
        person = find_person(words, familiar_id="mira", history=history, store=store)
        assert person.author.canonical_key == "discord:1001"
    history.append_turn(
        familiar_id="mira", channel_id=1, role="user", content="hi", author=Author("twitch", "5", "alice", "Alice")
    )

    with pytest.raises(PersonNotFound, match=r"2 people: twitch:5 \(Alice\); discord:1001 \(Alice\)"):
        find_person("Alice", familiar_id="mira", history=history, store=store)
    with pytest.raises(PersonNotFound, match="no one called 'Zoe'"):
        find_person("Zoe", familiar_id="mira", history=history, store=store)
    assert find_person("discord:99", familiar_id="mira", history=history, store=store).turns == 0
    history.close()
