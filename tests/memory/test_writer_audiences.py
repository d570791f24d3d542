"""The memory writer keeps audiences apart: batches, watermarks, what its model sees, where it writes, names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from familiar_connect.audience import EVERYONE, OWNER, Audience, between, hidden_channel, whole_server
from familiar_connect.identity import FixedPrivacy, PrivacyLevel
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Message
from familiar_connect.memory.file_audience import read_audience, with_audience
from familiar_connect.memory.maintenance.review import Review
from familiar_connect.memory.people import read_aliases
from familiar_connect.memory.versioning.provenance import Provenance
from familiar_connect.memory.writing.journal import Entry, Journal, list_quarantined
from familiar_connect.memory.writing.plan import Plan
from tests.fakes.writer_setup import ALICE, BOB, FAMILIAR, WriterSetup, writer_answer

SERVER, OTHER = whole_server("discord", 5), whole_server("discord", 6)
STAFF = hidden_channel("discord", 9, 5)
ALICES_DM = between([ALICE.canonical_key])
SESSION = "sessions/2026-04-07-evening"


@pytest.fixture
def table(tmp_path: Path) -> WriterSetup:
    return WriterSetup(tmp_path)


def careless(table: WriterSetup) -> ScriptedModel:
    """A model that copies all it is shown into every file it may write."""

    def copy(messages: list[Message]) -> str:
        shown = str(messages[-1].content).partition("Now write the notes")[0].replace("\n", " ")
        return writer_answer(shown, {"discord-1.md": shown, "discord-2.md": shown}, {"tea.md": shown})

    return ScriptedModel([copy] * 20)


async def write_all(table: WriterSetup, model: object, **changes: object) -> None:
    writer = table.writer(model, **changes)
    while (await writer.run()).state != "nothing":
        pass


async def test_a_careless_model_cannot_carry_a_word_from_one_audience_to_another(table: WriterSetup) -> None:
    """Whatever order they spoke in; every file says whose it is and holds only theirs."""
    said: dict[str, Audience] = {}
    for round_ in range(2):
        for audience in (ALICES_DM, SERVER, STAFF, OTHER, OWNER):
            word = f"zq{len(said)}x"
            said[word] = audience
            channel = 100 + list(dict.fromkeys(said.values())).index(audience)
            table.say((ALICE, f"My cat number {round_} is called {word}."), to=audience, channel_id=channel)
    await write_all(table, careless(table))

    for path in table.files():
        text = table.read(path)
        held = {said[word] for word in said if word in text}
        assert held <= {read_audience(text)}, path
    assert all(any(word in table.read(path) for path in table.files()) for word in said)


async def test_each_audience_has_its_watermark_and_the_whole_follows(table: WriterSetup) -> None:
    """A batch never mixes; the watermark of all stands just before the oldest turn that waits."""
    open_ids = table.say((ALICE, "one"), to=SERVER)
    (secret,) = table.say((ALICE, "two"), to=ALICES_DM)
    open_ids += table.say((BOB, "three"), to=SERVER)
    writer = table.scripted_writer(writer_answer("s"), writer_answer("s"))

    first = await writer.run()
    marks = [table.history.watermarks.get_for(familiar_id=FAMILIAR, audience=each) for each in (SERVER, ALICES_DM)]
    assert (first.turns_summarized, first.watermark_id, marks) == (2, open_ids[-1], [open_ids[-1], 0])
    assert table.watermark == secret - 1
    assert [turn.id for turn in table.history.turns_since_watermark(familiar_id=FAMILIAR)] == [secret]
    second = await writer.run()
    assert (second.turns_summarized, second.session_file) == (1, f"{SESSION}@dm-discord-1.md")
    assert table.watermark == open_ids[-1]


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([OWNER, EVERYONE, SERVER, STAFF, ALICES_DM]), max_size=12), st.integers(1, 4))
def test_every_turn_is_written_once_whatever_the_order(
    tmp_path_factory: pytest.TempPathFactory, order: list[Audience], at_once: int
) -> None:
    """And the watermark of the whole never lies beyond one that waits."""
    history = WriterSetup(tmp_path_factory.mktemp("w"), audited=False).history
    for number, audience in enumerate(order):
        history.append_turn(
            familiar_id=FAMILIAR, channel_id=1, role="user", content=str(number), author=ALICE, audience=audience
        )
    done: list[int] = []
    while batch := history.watermarks.next_unwritten(familiar_id=FAMILIAR, limit=at_once):
        assert len({turn.audience for turn in batch}) == 1
        done += [turn.id for turn in batch]
        ends = (batch[0].id, batch[-1].id)
        history.watermarks.put_for(familiar_id=FAMILIAR, audience=batch[0].audience, turn_range=ends)
        mark = history.get_writer_watermark(familiar_id=FAMILIAR)
        assert mark is not None
        assert set(range(1, mark.last_written_id + 1)) <= set(done)
    history.close()

    assert sorted(done) == list(range(1, len(order) + 1))


async def test_its_model_sees_only_what_the_audience_was_told(table: WriterSetup) -> None:
    """And what is everyone's; not what another circle was told, be it wider."""
    files = {
        "people/discord-1.md": ("by hand", None),
        "people/discord-1@server-discord-5.md": ("of the server", SERVER),
        "people/discord-1@dm-discord-1.md": ("of the two", ALICES_DM),
        "topics/tea@channel-discord-9.md": ("of the staff", STAFF),
        "topics/tea@server-discord-5.md": ("tea of the server", SERVER),
    }
    for path, (text, audience) in files.items():
        table.memory.write_file(path, with_audience(text, audience) if audience else text, source="owner")
    table.say((ALICE, "tea?"), to=STAFF)
    model = ScriptedModel([writer_answer("s")])
    await table.writer(model).run()

    shown = str(model.calls[0][-1].content)
    assert "by hand" in shown
    assert "of the staff" in shown
    assert not any(words in shown for words in ("of the two", "of the server", "audience:", "@channel"))


async def test_nothing_a_model_says_chooses_whom_a_file_is_told_to(table: WriterSetup) -> None:
    """Neither a name with a mark nor front matter of its own."""
    table.say((ALICE, "secret"), to=ALICES_DM)
    wide = "---\naudience: everyone\n---\n# Alice\nsecret"
    people = {"discord-1.md": wide, "discord-1@everyone.md": "secret", "discord-1@dm-discord-1.md": "secret"}
    result = await table.scripted_writer(writer_answer(wide, people, {"tea@everyone.md": wide})).run()

    assert {path for path in table.files() if path.endswith(".md")} == {
        f"{SESSION}@dm-discord-1.md",
        "people/discord-1@dm-discord-1.md",
        "topics/tea-everyone@dm-discord-1.md",
    }
    assert all(read_audience(table.read(path)) == ALICES_DM for path in table.files() if path.endswith(".md"))
    assert len(result.refused) == 2


async def test_a_second_pass_keeps_whose_a_file_is(table: WriterSetup) -> None:
    """A whole new text keeps the first lines, and other keys the owner put there."""
    table.say((ALICE, "tea"), to=SERVER)
    await table.scripted_writer(writer_answer("s", {"discord-1.md": "# Alice\n- tea"})).run()
    text = table.read("people/discord-1.md")
    (table.memory.root / "people/discord-1.md").write_text(text.replace("---\naud", "---\ntags: x\naud", 1))
    table.say((ALICE, "bees"), to=SERVER)
    await table.scripted_writer(writer_answer("s", {"discord-1.md": "# Alice\n- tea\n- bees"})).run()

    assert read_audience(table.read("people/discord-1.md")) == SERVER
    assert "- bees" in table.read("people/discord-1.md")


async def test_everyones_files_say_so_only_where_nothing_else_tells(table: WriterSetup) -> None:
    """Known sources tell; without any the first lines do."""
    table.say((ALICE, "I keep seventeen bees"), to=EVERYONE)
    await table.scripted_writer(writer_answer("Bla bla", {"discord-1.md": "She keeps seventeen bees."})).run()

    assert table.read("people/discord-1.md").startswith("# Alice")
    assert table.read(f"{SESSION}.md").startswith("---\naudience: everyone\n---\n")


async def test_the_alias_file_holds_only_what_is_public(table: WriterSetup) -> None:
    """No names from direct messages and hidden channels, and none out of their files."""
    table.say((ALICE, "hi"), to=ALICES_DM)
    table.say((BOB, "hi"), to=SERVER, channel_id=8)
    secret = "# Alice\n## Aliases\n- Moonbeam"
    await write_all(
        table,
        ScriptedModel([writer_answer("s", {"discord-1.md": secret}), writer_answer("s", {"discord-2.md": "# B"})]),
    )

    assert set(read_aliases(table.memory)) == {"bob", "bobby"}


async def test_a_proposal_of_a_hidden_channel_names_nobody_publicly_when_approved(table: WriterSetup) -> None:
    """Approved by its owner with the roster at hand."""
    table.say((ALICE, "hi"), to=STAFF)
    review = Review(table.memory)
    writer = table.scripted_writer(writer_answer("s", {"discord-1.md": "# A"}), review=True, pending=review)
    await writer.run()
    (waiting,) = review.list()
    review.approve(waiting.id, roster=(ALICE,))

    assert waiting.plan is not None
    assert waiting.plan.audience == str(STAFF)
    assert read_aliases(table.memory) == {}
    assert read_audience(table.read("people/discord-1@channel-discord-9.md")) == STAFF


async def test_a_batch_put_aside_is_tried_again_for_its_own_audience(table: WriterSetup) -> None:
    """Turns of others in between stay out."""
    table.say((ALICE, "secret one"), to=ALICES_DM)
    table.say((BOB, "open"), to=SERVER, channel_id=8)
    table.say((ALICE, "secret two"), to=ALICES_DM)
    await table.scripted_writer("?", max_attempts=1).run()
    (run_id,) = list_quarantined(table.memory)
    model = ScriptedModel([writer_answer("secret one and two")])
    result = await table.writer(model).replay(run_id)

    assert (result.state, result.session_file) == ("written", f"{SESSION}@dm-discord-1.md")
    assert "open" not in str(model.calls[0][-1].content).split("<transcript>")[1]
    assert list_quarantined(table.memory) == []


async def test_a_plan_from_before_audiences_is_finished_as_it_was(table: WriterSetup) -> None:
    """Its journal has no audience; everything up to its last turn is written."""
    table.say((ALICE, "one"), to=SERVER)
    (last,) = table.say((ALICE, "two"), to=ALICES_DM)
    assert table.memory.audit is not None
    plan = Plan(run_id="old", familiar_id=FAMILIAR, turn_range=(1, last), created_at="2026-04-07T19:00:00+00:00")
    journal = Journal(table.memory.audit.folder)
    journal.write(Entry(plan=plan))
    plain = json.loads(journal.path.read_bytes())
    plain["plan"].pop("audience")
    journal.path.write_text(json.dumps(plain))
    result = await table.scripted_writer().recover()

    assert result is not None
    assert table.watermark == last


async def test_a_file_that_the_owner_opened_meanwhile_gets_nothing_added(table: WriterSetup) -> None:
    """What was planned for some must not reach everyone; it is told among the refused."""
    table.say((ALICE, "tea"), to=SERVER)
    review = Review(table.memory)
    writer = table.scripted_writer(writer_answer("s", {"discord-1.md": "tea"}), review=True, pending=review)
    await writer.run()
    table.memory.write_file("people/discord-1.md", "by hand", source="owner")
    (waiting,) = review.list()
    applied = review.approve(waiting.id)

    assert table.read("people/discord-1.md") == "by hand"
    assert [edit.name for edit in applied.conflicts] == ["people/discord-1.md"]


async def test_whoever_asks_for_full_privacy_later_leaves_the_files_at_the_next_pass(table: WriterSetup) -> None:
    """By the sources of each part."""
    table.say((ALICE, "I keep seventeen bees"), (BOB, "I paint nine boats"), to=SERVER)
    notes = "Alice keeps seventeen bees.\n\nBob paints nine boats."
    await table.scripted_writer(writer_answer(notes)).run()
    assert table.memory.audit is not None
    assert Provenance(table.memory.audit.folder).sources_of(f"{SESSION}.md")
    await table.scripted_writer(privacy=FixedPrivacy({ALICE.canonical_key: PrivacyLevel.FULL})).run()

    assert "bees" not in table.read(f"{SESSION}.md")
    assert "boats" in table.read(f"{SESSION}.md")
