"""What the memory writer promises of one pass: what it reads, what it lets pass, how it fails."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.errors import ModelError
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author, FixedPrivacy, PrivacyLevel
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Message
from familiar_connect.memory.store import MemoryStore, MemoryStoreError
from familiar_connect.memory.writer import MemoryWriter, MemoryWriterResult
from familiar_connect.memory.writing.batch import Bounds
from familiar_connect.memory.writing.journal import list_quarantined, writer_lock
from familiar_connect.memory.writing.plan import Plan
from tests.fakes.writer_setup import ALICE, BOB, CONVERSATION, EVENING, FixedModel, WriterSetup, writer_answer

SESSION = "sessions/2026-04-07-evening.md"
PERSON = "people/discord-1.md"


@pytest.fixture
def table(tmp_path: Path) -> WriterSetup:
    return WriterSetup(tmp_path)


# What a pass does


async def test_a_pass_writes_session_people_and_topics(table: WriterSetup) -> None:
    """Each under its name, linked with the others, and the watermark moves behind the last turn read."""
    ids = table.say(*CONVERSATION)
    reply = writer_answer(
        "We talked about Lyon.", {"discord-1.md": "# Alice\nMoved to Lyon."}, {"lyon.md": "# Lyon\nA city."}
    )
    result = await table.scripted_writer(reply).run()

    assert (result.session_file, result.people_files, result.topic_files) == (SESSION, [PERSON], ["topics/lyon.md"])
    assert (result.turns_summarized, result.watermark_id, result.state) == (4, ids[-1], "written")
    assert table.watermark == ids[-1]
    assert "We talked about Lyon." in table.read(SESSION)
    assert "[Alice](../people/discord-1.md)" in table.read(SESSION)
    assert "[Lyon](../topics/lyon.md)" in table.read(SESSION)
    assert "[2026-04-07 evening](../sessions/2026-04-07-evening.md)" in table.read(PERSON)
    assert "[2026-04-07 evening](../sessions/2026-04-07-evening.md)" in table.read("topics/lyon.md")


async def test_one_call_with_system_and_user(table: WriterSetup) -> None:
    """One pass asks once."""
    table.say(*CONVERSATION)
    model = ScriptedModel([writer_answer("s")])
    await table.writer(model).run()

    assert [[message.role for message in call] for call in model.calls] == [["system", "user"]]


async def test_nothing_new_asks_nobody(table: WriterSetup) -> None:
    """An empty result, no call, no file."""
    assert await table.scripted_writer().run() == MemoryWriterResult()
    assert table.files() == []


async def test_a_bare_client_and_a_bare_store_will_do(tmp_path: Path) -> None:
    """A model that is only `chat`, a history in memory, a store without an audit: nothing else appears in it."""
    memory, history = MemoryStore(tmp_path / "m"), HistoryStore(":memory:")
    history.append_turn(familiar_id="f", channel_id=1, role="user", content="I like tea.", author=ALICE, guild_id=5)
    client = FixedModel(lambda: Message("assistant", writer_answer("Tea.")))
    writer = MemoryWriter(memory_store=memory, history_store=history, llm_client=client, familiar_id="f")
    result = await writer.run()
    history.close()

    assert result.session_file is not None
    assert [entry.name for entry in memory.list_dir()] == ["people", "sessions"]


async def test_every_write_is_told_with_source_run_and_turns(table: WriterSetup) -> None:
    """The alias index too."""
    table.say(*CONVERSATION)
    result = await table.scripted_writer(writer_answer("s", {"discord-1.md": "x"})).run()
    entries = table.memory.audit_entries

    assert [entry.rel_path for entry in entries] == [SESSION, PERSON, "people/_aliases.json"]
    assert {(entry.source, entry.run_id, entry.turn_range) for entry in entries} == {
        ("memory_writer", result.run_id, (1, 4))
    }


async def test_a_long_backlog_is_read_in_batches(table: WriterSetup) -> None:
    """The oldest first; the watermark stands behind what was read."""
    table.say(*[(ALICE, f"line {n}") for n in range(250)], at=EVENING - timedelta(hours=1))
    writer = table.scripted_writer(writer_answer("one"), writer_answer("two"), writer_answer("three"))
    first = await writer.run()

    assert first.turns_summarized < 250
    assert first.watermark_id == first.turns_summarized == table.watermark


async def test_the_zone_of_the_familiar_decides_date_and_slot(table: WriterSetup) -> None:
    """By the time of the turns, not of the pass."""
    table.say((ALICE, "hello"))
    table.clock.advance(86_400)
    result = await table.scripted_writer(writer_answer("s"), zone="Pacific/Auckland").run()

    assert result.session_file == "sessions/2026-04-08-morning.md"


async def test_the_same_slot_merges_into_one_file(table: WriterSetup) -> None:
    """The second pass is shown the earlier text and replaces it; there is no second file."""
    table.say((ALICE, "part one"))
    await table.scripted_writer(writer_answer("Part one.")).run()
    table.say((ALICE, "part two"), at=EVENING + timedelta(hours=1))
    model = ScriptedModel([writer_answer("Part one, and part two.")])
    await table.writer(model).run()

    assert "Part one." in model.calls[0][1].content
    assert [path for path in table.files() if path.startswith("sessions/")] == [SESSION]
    assert "Part one, and part two." in table.read(SESSION)


# The model proposes, code decides


@pytest.mark.parametrize(
    ("section", "name"),
    [
        ("people", "discord-9.md"),
        ("people", "alice.md"),
        ("people", "_aliases.json"),
        ("people", "_aliases.md"),
        ("people", "discord-1.txt"),
        ("topics", "notes.json"),
        ("topics", "evil.py"),
        ("topics", ".hidden.md"),
        ("topics", "nul.md"),
        ("topics", "???.md"),
        ("topics", "a\x07b.md"),
    ],
)
async def test_names_off_the_list_are_refused(table: WriterSetup, section: str, name: str) -> None:
    """Nothing is written for them; they are reported and do not hold the rest back."""
    table.say((ALICE, "hi"))
    result = await table.scripted_writer(writer_answer("s", **{section: {name: "forged"}})).run()

    assert [edit.text for edit in result.refused] == ["forged"]
    assert table.watermark == 1
    assert set(table.files()) <= {SESSION, "people/_aliases.json"}


@pytest.mark.parametrize("name", ["../self/name.md", "..\\..\\lore\\x.md", "/etc/passwd.md", "people/../../x.md"])
async def test_paths_in_names_lead_nowhere(table: WriterSetup, name: str) -> None:
    """A name is its last component, so it stays among the topics."""
    table.say((ALICE, "hi"))
    await table.scripted_writer(writer_answer("s", topics={name: "text"})).run()

    assert all(path.startswith(("sessions/", "topics/", "people/_aliases")) for path in table.files())
    assert {path.name for path in table.folder.iterdir()} <= {
        "audit",
        "memory",
        "history.db",
        "history.db-wal",
        "history.db-shm",
    }


async def test_topic_names_are_made_lower_case_with_hyphens(table: WriterSetup) -> None:
    """Whatever the model wrote."""
    table.say((ALICE, "hi"))
    result = await table.scripted_writer(
        writer_answer("s", topics={"Elden Ring.md": "A game.", "Ölbilder": "Painted."})
    ).run()

    assert result.topic_files == ["topics/elden-ring.md", "topics/ölbilder.md"]


async def test_a_file_is_replaced_only_if_the_model_saw_it_as_it_is(table: WriterSetup) -> None:
    """An edit over a change made meanwhile is added, and both stay."""
    table.memory.write_file(PERSON, "# Alice\nLikes ska.\n")
    table.say((ALICE, "they say she sings well"))

    def edit_meanwhile(_: list[Message]) -> str:
        table.memory.write_file(PERSON, "# Alice\nHates ska, says her sister.\n", source="owner")
        return writer_answer("s", {"discord-1.md": "# Alice\nLikes ska.\nSings well."})

    await table.writer(ScriptedModel([edit_meanwhile])).run()
    text = table.read(PERSON)

    assert text.startswith("# Alice\nHates ska, says her sister.\n")
    assert "Sings well." in text.partition("## Added 2026-04-07")[2]


async def test_a_file_the_model_was_not_shown_is_only_added_to(table: WriterSetup) -> None:
    """Here one too long to show whole, and a topic for which there was no room."""
    long = "# Alice\n" + "\n".join(f"- fact number {n} about her long life" for n in range(400))
    table.memory.write_file(PERSON, long)
    table.memory.write_file("topics/chess.md", "# Chess\nOld notes.\n")
    table.say((ALICE, "a new fact"))
    reply = writer_answer("s", {"discord-1.md": "# Alice\nNew fact."}, {"chess.md": "New notes."})
    await table.scripted_writer(reply, bounds=Bounds(topics=0)).run()

    assert table.read(PERSON).startswith(long)
    assert "New fact." in table.read(PERSON)
    assert table.read("topics/chess.md").startswith("# Chess\nOld notes.\n")
    assert "New notes." in table.read("topics/chess.md")


async def test_strong_shrinkage_is_refused(table: WriterSetup) -> None:
    """The old text stays as it is."""
    old = "# Alice\n" + "She told me many things. " * 40
    table.memory.write_file(PERSON, old)
    table.say((ALICE, "hi"))
    result = await table.scripted_writer(writer_answer("s", {"discord-1.md": "# Alice\nHm."})).run()

    assert table.read(PERSON) == old
    assert "shrink" in result.refused[0].reason


async def test_a_short_file_may_shrink(table: WriterSetup) -> None:
    """Small notes are rewritten freely; the version before is kept."""
    table.memory.write_file(PERSON, "# Alice\n" + "word " * 20)
    table.say((ALICE, "hi"))
    await table.scripted_writer(writer_answer("s", {"discord-1.md": "# Alice\nHm."})).run()

    assert "Hm." in table.read(PERSON)


async def test_files_and_bytes_of_a_pass_are_capped(table: WriterSetup) -> None:
    """Twelve files, and none of them giant."""
    table.say((ALICE, "hi"))
    topics = {f"topic-{n}.md": "text" for n in range(20)}
    many = await table.scripted_writer(writer_answer("s", topics=topics)).run()
    table.say((ALICE, "hi again"))
    giant = await table.scripted_writer(writer_answer("more of s", topics={"giant.md": "x " * 100_000})).run()

    assert 1 + len(many.topic_files) == 12
    assert len(many.refused) == 9
    assert "larger" in giant.refused[0].reason


@pytest.mark.parametrize("text", ["bell \x07", "escape \x1b[2J", "turned \u202e around", "nul \x00", "half \ud800"])
async def test_control_characters_are_refused(table: WriterSetup, text: str) -> None:
    """In the session as anywhere else."""
    table.say((ALICE, "hi"))
    result = await table.scripted_writer(writer_answer(text, {"discord-1.md": "hi"})).run()

    assert result.people_files == [PERSON]
    assert result.session_file is None
    assert "control characters" in result.refused[0].reason


async def test_what_others_say_about_a_person_is_a_claim(table: WriterSetup) -> None:
    """Written as theirs, though the model wrote it as a fact."""
    table.say(*CONVERSATION)
    await table.scripted_writer(
        writer_answer("s", {"discord-1.md": "# Alice\n- Secretly hates ska music.\n- Moved to Lyon."})
    ).run()

    assert "- Secretly hates ska music (according to Bob).\n- Moved to Lyon.\n" in table.read(PERSON)


async def test_seen_names_are_listed_and_indexed(table: WriterSetup) -> None:
    """A rename keeps the file; old names stay."""
    table.say((ALICE, "hi"))
    await table.scripted_writer(writer_answer("s", {"discord-1.md": "# Alice\nHi.\n\n## Aliases\n- Lys"})).run()
    table.say((Author(platform="discord", user_id="1", username="alice_w", display_name="Alicia"), "new name"))
    await table.scripted_writer(writer_answer("s2 is new")).run()

    for name in ("Lys", "Alice", "alice_w", "Alicia"):
        assert f"- {name}\n" in table.read(PERSON)
    index = json.loads(table.read("people/_aliases.json"))
    assert index == {"alice": "discord-1", "alice_w": "discord-1", "alicia": "discord-1", "lys": "discord-1"}


async def test_what_code_keeps_survives_a_model_that_leaves_it_out(table: WriterSetup) -> None:
    """Aliases and links of before are still there after a rewrite."""
    table.memory.write_file(PERSON, "# Alice\nTea.\n\n## Aliases\n- Lys\n\n## Sessions\n- [old](../sessions/old.md)\n")
    table.say((ALICE, "hi"))
    await table.scripted_writer(writer_answer("s", {"discord-1.md": "# Alice\nTea and cake."})).run()

    assert "- Lys\n" in table.read(PERSON)
    assert "- [old](../sessions/old.md)\n" in table.read(PERSON)


async def test_the_wish_for_privacy_holds(table: WriterSetup) -> None:
    """Whoever is not to be heard is not read; whoever wants no notes gets none."""
    levels = {ALICE.canonical_key: PrivacyLevel.FULL, BOB.canonical_key: PrivacyLevel.PARTIAL}
    table.say(*CONVERSATION)
    model = ScriptedModel([writer_answer("s", {"discord-1.md": "forged", "discord-2.md": "noted"})])
    result = await table.writer(model, privacy=FixedPrivacy(levels)).run()

    assert "Lyon" not in model.calls[0][1].content
    assert result.people_files == []
    assert len(result.refused) == 2
    assert table.watermark == 4


async def test_turns_of_people_not_to_be_heard_are_passed_by(table: WriterSetup) -> None:
    """No call is made for them alone."""
    table.say((ALICE, "secret"))
    result = await table.scripted_writer(privacy=FixedPrivacy({ALICE.canonical_key: PrivacyLevel.FULL})).run()

    assert (result.state, table.watermark, table.files()) == ("skipped", 1, [])


# Failing


async def test_a_failing_model_is_raised_and_nothing_moves(table: WriterSetup) -> None:
    """The exception leaves the pass."""
    table.say(*CONVERSATION)

    with pytest.raises(ModelError, match="overloaded"):
        await table.scripted_writer(ModelError("overloaded")).run()
    assert (table.watermark, table.files()) == (0, [])


async def test_a_model_that_hangs_is_given_up(table: WriterSetup) -> None:
    """In bounded time, as a failing model."""

    class Hanging:
        async def chat(self, messages: list[Message]) -> Message:
            await asyncio.Event().wait()
            raise AssertionError

    table.say(*CONVERSATION)

    with pytest.raises(ModelError, match="silent"):
        await table.writer(Hanging(), timeout_s=0.01).run()
    assert table.watermark == 0


def echo(messages: list[Message]) -> str:
    return "\n\n".join(message.content for message in messages)


BAD: list[Any] = [
    "",
    "   \n",
    "I'm sorry, but I can't help with that.",
    "x" * 1_000_000,
    writer_answer("a" * 1_000_000),
    echo,
    lambda messages: messages[0].content,
    lambda messages: messages[1].content,
    writer_answer(),
]


@pytest.mark.parametrize("reply", BAD)
async def test_what_is_no_answer_is_no_success(table: WriterSetup, reply: Any) -> None:
    """Empty, refused, flooding or echoing replies write nothing; the watermark stays and a pause is asked for."""
    table.say(*CONVERSATION)
    result = await table.scripted_writer(reply).run()

    assert (result.session_file, result.people_files, result.topic_files) == (None, [], [])
    assert (result.turns_summarized, result.watermark_id, result.state) == (0, 0, "unparsed")
    assert result.retry_after_s > 0
    assert (table.watermark, table.files()) == (0, [])


async def test_null_is_no_answer(table: WriterSetup) -> None:
    """A client may hand over nothing at all."""
    table.say(*CONVERSATION)

    for reply in (None, Message("assistant", None)):  # type: ignore[arg-type]
        assert (await table.writer(FixedModel(lambda reply=reply: reply)).run()).state == "unparsed"  # type: ignore[misc]


async def test_after_the_last_attempt_the_batch_is_put_aside(
    table: WriterSetup, caplog: pytest.LogCaptureFixture
) -> None:
    """With its turns, the reason and the raw replies; it is reported, and the world goes on."""
    table.say(*CONVERSATION)
    results = []
    for n in range(3):  # a new writer each time: attempts are counted across restarts
        results.append(await table.scripted_writer(f"nonsense {n}").run())
    pages = [path for path in table.files() if path.startswith("sessions/.pending/")]
    record = json.loads(table.read(next(path for path in pages if path.endswith(".json"))))

    assert [result.state for result in results] == ["unparsed", "unparsed", "quarantined"]
    assert results[0].retry_after_s < results[1].retry_after_s
    assert record["turns"] == [1, 4]
    assert [attempt["reply"] for attempt in record["attempts"]] == ["nonsense 0", "nonsense 1", "nonsense 2"]
    assert "no section" in record["reason"]
    assert table.watermark == 4
    assert [r.levelno for r in caplog.records if "put it aside" in r.message] == [logging.ERROR]
    assert not [path for path in table.memory.glob("**/*") if ".pending" in path]
    assert list_quarantined(table.memory) == [results[2].run_id]


async def test_kept_replies_are_bounded(table: WriterSetup) -> None:
    """A flood is not kept whole."""
    table.say(*CONVERSATION)
    for _ in range(3):
        await table.scripted_writer("x" * 300_000).run()

    assert sum(len(table.read(path)) for path in table.files()) < 80_000


async def test_a_batch_put_aside_can_be_tried_again(table: WriterSetup) -> None:
    """It is written, its pages go, and the watermark stays where it was."""
    table.say(*CONVERSATION)
    for _ in range(2):
        await table.scripted_writer("nonsense").run()
    aside = await table.scripted_writer("nonsense").run()
    table.say((ALICE, "later"))
    again = await table.scripted_writer(writer_answer("We met after all.")).replay(str(aside.run_id))

    assert again.state == "written"
    assert "We met after all." in table.read(SESSION)
    assert not [path for path in table.files() if ".pending" in path]
    assert table.watermark == 4


async def test_trying_again_what_was_never_put_aside_says_so(table: WriterSetup) -> None:
    """One sentence, no traceback of another kind."""
    for run_id in ("", "../x", "20260101-000000-abcdef"):
        with pytest.raises(MemoryStoreError, match="no batch"):
            await table.scripted_writer().replay(run_id)


async def test_success_forgets_earlier_failures(table: WriterSetup) -> None:
    """The next batch has all its attempts."""
    table.say(*CONVERSATION)
    await table.scripted_writer("nonsense").run()
    await table.scripted_writer("nonsense").run()
    await table.scripted_writer(writer_answer("s")).run()
    table.say((ALICE, "next"))

    assert (await table.scripted_writer("nonsense").run()).state == "unparsed"


async def test_refused_edits_are_kept_with_the_run(table: WriterSetup) -> None:
    """Name, reason and words, in the audit folder."""
    table.say((ALICE, "hi"))
    writer = table.scripted_writer(writer_answer("s", {"discord-9.md": "forged"}))
    result = await writer.run()
    kept = writer.runs.all()[-1]

    assert (kept["run"], kept["state"], kept["turns"]) == (result.run_id, "written", [1, 1])
    assert kept["refused"][0]["text"] == "forged"


async def test_what_people_said_stays_out_of_the_log(table: WriterSetup, caplog: pytest.LogCaptureFixture) -> None:
    """At every level above DEBUG."""
    caplog.set_level(logging.INFO)
    table.say((ALICE, "my secret is plum"))
    for reply in ("plum", writer_answer("plum plum", {"plum.md": "plum"})):
        await table.scripted_writer(reply).run()

    assert not [r for r in caplog.records if "plum" in f"{r.getMessage()} {vars(r)}" and r.levelno > logging.DEBUG]


# Review


class Tray:
    """Keeps what is proposed."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []

    def propose(self, plan: Plan) -> str:
        self.plans.append(plan)
        return plan.run_id


async def test_in_review_nothing_is_written_and_the_watermark_moves(table: WriterSetup) -> None:
    """The plan waits, complete, with what was refused."""
    table.say(*CONVERSATION)
    tray = Tray()
    reply = writer_answer("s", {"discord-1.md": "x", "discord-9.md": "y"})
    result = await table.scripted_writer(reply, review=True, pending=tray).run()

    assert table.files() == []
    assert [write.rel_path for write in tray.plans[0].writes] == [SESSION, PERSON]
    assert [edit.name for edit in tray.plans[0].refused] == ["people/discord-9.md"]
    assert (result.state, result.session_file, table.watermark) == ("proposed", None, 4)


def test_review_needs_a_place_for_proposals(table: WriterSetup) -> None:
    """Said when the writer is built, not when the first pass is lost."""
    with pytest.raises(ValueError, match="pending"):
        table.scripted_writer(review=True)


# One at a time


async def test_two_passes_at_once_take_turns(table: WriterSetup) -> None:
    """The second finds nothing left."""
    table.say(*CONVERSATION)
    writer = table.scripted_writer(writer_answer("s"))
    first, second = await asyncio.gather(writer.run(), writer.run())

    assert {first.state, second.state} == {"written", "nothing"}


async def test_another_process_is_told_to_wait(table: WriterSetup) -> None:
    """The memory of one familiar has one writer."""
    pytest.importorskip("fcntl")
    table.say(*CONVERSATION)
    with writer_lock(table.folder / "audit"), pytest.raises(MemoryStoreError, match="another process"):
        await table.scripted_writer(writer_answer("s")).run()

    assert table.watermark == 0


def test_a_writer_outlives_event_loops(table: WriterSetup) -> None:
    """Built outside of any, used from one after another."""
    writer = table.scripted_writer(writer_answer("one"), writer_answer("two is more"))
    table.say((ALICE, "hi"))
    asyncio.run(writer.run())
    table.say((ALICE, "hi again"))
    asyncio.run(writer.run())

    assert table.watermark == 2


async def test_cancelling_leaves_files_and_watermark_in_one_state(table: WriterSetup) -> None:
    """A pass cut off while it writes is finished first."""
    table.say(*CONVERSATION)
    reached = asyncio.Event()
    loop = asyncio.get_running_loop()

    def step(name: str) -> None:
        if name == "file 1: written":
            loop.call_soon_threadsafe(reached.set)

    task = asyncio.create_task(table.scripted_writer(writer_answer("s", {"discord-1.md": "x"}), step=step).run())
    await reached.wait()
    task.cancel()
    await asyncio.wait([task])

    assert task.cancelled()
    assert table.watermark == 4
    assert PERSON in table.files()
