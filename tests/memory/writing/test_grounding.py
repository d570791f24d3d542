"""What a model writes and nobody said is not written."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from familiar_connect.memory.store import MemoryStoreLimits
from familiar_connect.memory.writing.batch import Batch, Bounds, cut_batch
from familiar_connect.memory.writing.grounding import GroundingCheck, keep_supported
from tests.fakes.writer_setup import ALICE, BOB, FAMILIAR, SpokenLine, WriterSetup, writer_answer

PERSON = "people/discord-1.md"
CARD = "Wren is an old raven who guards a tower of lost books. Wren loves silver buttons."
TALK: tuple[SpokenLine, ...] = (
    (ALICE, "I'm a nurse, and I moved to Lyon last week."),
    (None, "I guard the tower and love silver buttons."),
    (BOB, "I have two cats, Miso and Pepper."),
    (ALICE, "I don't have a car. tell me about your tower!"),
    (BOB, "Alice hates ska, you know"),
)


def batch_of(folder: Path, *said: SpokenLine) -> Batch:
    table = WriterSetup(folder)
    table.say(*said)
    batch = cut_batch(table.history.turns_since_watermark(familiar_id=FAMILIAR), zone=UTC, bounds=Bounds())
    assert batch is not None
    return batch


@pytest.mark.parametrize(
    "line",
    [
        "Alice is a nurse.",
        "She is a nurse and moved to Lyon.",
        "Alice moved to Lyon last week.",
        "Alice does not have a car.",
        "Bob says that Alice hates ska.",
        "Bob has 2 cats, Miso and Pepper.",
    ],
)
def test_what_was_said_is_supported(tmp_path: Path, line: str) -> None:
    """In other words too, as long as the telling ones are there."""
    batch = batch_of(tmp_path, *TALK)

    assert GroundingCheck(batch, name="Wren", card=CARD).supports(line, batch.roster[0])


@pytest.mark.parametrize(
    "line",
    [
        "Alice is a talented painter of seascapes.",
        "Alice has a car.",
        "Alice moved to Paris last week.",
        "Alice moved to Lyon 12 weeks ago.",
        "Alice guards the tower.",
        "Alice loves silver buttons.",
        "Alice is an old raven who guards a tower of lost books.",
        "Alice has two cats.",
        "Alice cares for many patients as a nurse in a hospital.",
    ],
)
def test_what_nobody_said_of_a_person_is_not(tmp_path: Path, line: str) -> None:
    """Inventions, opposites, the character's own text, and what another told about themselves."""
    batch = batch_of(tmp_path, *TALK)

    assert not GroundingCheck(batch, name="Wren", card=CARD).supports(line, batch.roster[0])


def test_only_the_sentence_goes_that_nobody_said(tmp_path: Path) -> None:
    """Headings that are left with nothing go with it; what stands in the file stays."""
    batch = batch_of(tmp_path, *TALK)
    text = (
        "# Alice\n\n## Work\n- A nurse. Won prizes for surgery.\n\n## Hobbies\n- Paints seascapes.\n- Rows every day.\n"
    )
    found = keep_supported(
        text, GroundingCheck(batch), person=batch.roster[0], standing="# Alice\n\n- Rows every day.\n"
    )

    assert found.text == "# Alice\n\n## Work\n- A nurse.\n\n## Hobbies\n- Rows every day.\n"
    assert found.refused == ("Won prizes for surgery.", "Paints seascapes.")


@pytest.mark.parametrize("form", ["{}: {}", "- {}: {}", "**{}:** {}"])
def test_a_copied_transcript_is_nobodys_file(tmp_path: Path, form: str) -> None:
    """Lines of all speakers, given back under one person's name, tell nothing of that person."""
    batch = batch_of(tmp_path, *TALK)
    speakers = [(batch.participant(turn), turn.content) for turn in batch.turns]
    copied = [form.format(person.label, said) for person, said in speakers if person is not None]
    copied.append(form.format("Bob", "has cats (as Bob says)"))
    found = keep_supported("\n".join(["# Alice", *copied, "- A nurse."]), GroundingCheck(batch), person=batch.roster[0])

    assert len(found.refused) == len(copied) > 1
    assert found.text.replace("\n", "") == "# Alice- A nurse."


async def test_a_pass_leaves_out_what_nobody_said_and_quotes_what_the_model_left_out(tmp_path: Path) -> None:
    """The refused sentence is kept with the run; facts the model wrote are not quoted a second time."""
    table = WriterSetup(tmp_path)
    table.memory.write_file("self/name.md", "Wren")
    table.memory.write_file("self/description.md", CARD)
    table.say(*TALK)
    people = {"discord-1.md": "# Alice\n- Alice is a nurse who moved to Lyon last week.\n- Alice loves silver buttons."}
    result = await table.scripted_writer(writer_answer("We talked.", people)).run()
    text = table.read(PERSON)

    assert "- Alice is a nurse who moved to Lyon last week.\n" in text
    assert "silver" not in text
    assert "- 2026-04-07, Alice said: I don't have a car." in text
    assert text.count("nurse") == 1
    assert "I have two cats, Miso and Pepper." in table.read("people/discord-2.md")
    assert [(edit.name, edit.text) for edit in result.refused] == [(PERSON, "Alice loves silver buttons.")]


async def test_asides_do_not_make_a_fact_another(tmp_path: Path) -> None:
    """What the model wrote in plain words is not quoted again for a "btw"."""
    table = WriterSetup(tmp_path)
    table.say((ALICE, "I'm allergic to peanuts btw"))
    await table.scripted_writer(writer_answer("", {"discord-1.md": "# Alice\n- Alice is allergic to peanuts."})).run()

    assert table.read(PERSON).count("peanuts") == 1


async def test_a_person_the_model_forgot_gets_their_own_words(tmp_path: Path) -> None:
    """A pass never ends with nothing for somebody who told something."""
    table = WriterSetup(tmp_path)
    table.say((ALICE, "I'm Sam, by the way, and I love tea."))
    result = await table.scripted_writer(writer_answer("We talked.")).run()

    assert (result.state, result.people_files) == ("written", [PERSON])
    assert "Alice said: I'm Sam, by the way\n" in table.read(PERSON)
    assert "Alice said: I love tea." in table.read(PERSON)


async def test_a_pass_that_can_write_nothing_of_a_person_is_not_done(tmp_path: Path) -> None:
    """It is tried again, and after the last attempt put aside, with what the others told kept."""
    table = WriterSetup(tmp_path)
    table.memory.limits = MemoryStoreLimits(max_file_bytes=3_000)
    table.memory.write_file(PERSON, "# Alice\n" + "The owner's line. \n" * 156)
    table.say((ALICE, "I'm a nurse."), (BOB, "I have two cats."))
    states = []
    for _ in range(3):
        states.append((await table.scripted_writer(writer_answer("We talked.")).run()).state)
        if len(states) < 3:
            assert table.watermark == 0

    assert states == ["unparsed", "unparsed", "quarantined"]
    assert table.watermark == 2
    assert "I have two cats." in table.read("people/discord-2.md")


async def test_a_file_that_cannot_be_read_is_left_alone_and_facts_go_beside_it(tmp_path: Path) -> None:
    """The pass goes on."""
    table = WriterSetup(tmp_path)
    table.memory.write_file(PERSON, "# Alice\n")
    (table.memory.root / PERSON).write_bytes(b"\xff\xfe")
    table.say((ALICE, "I'm a nurse."))
    await table.scripted_writer(writer_answer("We talked.")).run()

    assert "I'm a nurse." in table.read("people/discord-1@everyone.md")
    assert (table.memory.root / PERSON).read_bytes() == b"\xff\xfe"


async def test_answers_that_are_none_still_leave_what_people_told(tmp_path: Path) -> None:
    """Quoted in their files, beside the batch that is put aside."""
    table = WriterSetup(tmp_path)
    table.say((ALICE, "I'm a nurse."))
    for _ in range(3):
        await table.scripted_writer("hm").run()

    assert "Alice said: I'm a nurse." in table.read(PERSON)
    assert table.watermark == 1


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=300))
def test_any_text_can_be_checked(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Whatever a model writes; what is left has no new words."""
    batch = batch_of(tmp_path_factory.mktemp("talk"), *TALK)
    found = keep_supported(text, GroundingCheck(batch), person=batch.roster[0])

    assert set(found.text.split()) <= set(text.split())
