"""Memory follows what happens to the words it came from."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.history.message_edits import MessageEdits
from familiar_connect.history.types import TurnMark
from familiar_connect.history.versions import TurnVersionStore
from familiar_connect.memory.maintenance.review import Review
from familiar_connect.memory.versioning.provenance import Provenance, part_hash, parts_of
from familiar_connect.memory.writing.plan import PartSource, Plan, PlannedWrite
from tests.fakes.writer_setup import ALICE, FAMILIAR, WriterSetup, writer_answer

FILE = "topics/tea.md"


def remember(setup: WriterSetup, *facts: tuple[str, tuple[int, ...]]) -> None:
    """Put lines into a file, with the turns each came from."""
    text = "# Tea\n\n" + "".join(f"- {words}\n" for words, _ in facts)
    setup.memory.write_file(FILE, text, source="writer")
    assert setup.memory.audit is not None
    parts = {part.text: part.hash for part in parts_of(text)}
    Provenance(setup.memory.audit.folder).record(
        FILE, [PartSource(part=parts[words], turns=turns) for words, turns in facts], "run"
    )


async def test_what_came_from_an_undone_line_goes(tmp_path: Path) -> None:
    """What others said with it, what came from other lines and what the owner wrote stays."""
    setup = WriterSetup(tmp_path)
    first, second = setup.say((ALICE, "I hate tea."), (ALICE, "Green is fine."))
    remember(
        setup, ("Alice hates tea.", (first,)), ("She drinks.", (first, second)), ("Green.", (second,)), ("Own", ())
    )
    TurnVersionStore(setup.history, FAMILIAR).mark_turns([first], TurnMark.undone)

    assert await setup.scripted_writer().correct() == [FILE]
    assert setup.read(FILE) == "# Tea\n\n- She drinks.\n- Green.\n- Own\n"
    assert await setup.scripted_writer().correct() == []


async def test_what_came_from_an_edited_line_alone_goes(tmp_path: Path) -> None:
    """What others bear out stays."""
    setup = WriterSetup(tmp_path)
    first, second = setup.say((ALICE, "I hate tea."), (ALICE, "Green is fine."))
    remember(setup, ("Alice hates tea.", (first,)), ("She drinks.", (first, second)))
    MessageEdits(setup.history, FAMILIAR).record_edit_of_turn(first, "I love tea.")

    await setup.scripted_writer().correct()
    assert setup.read(FILE) == "# Tea\n\n- She drinks.\n"


async def test_what_is_written_after_a_change_stays(tmp_path: Path) -> None:
    """It was made of the new words; a pass corrects first and writes then."""
    setup = WriterSetup(tmp_path)
    [first] = setup.say((ALICE, "I hate tea."))
    MessageEdits(setup.history, FAMILIAR).record_edit_of_turn(first, "I love tea.")
    await setup.scripted_writer(writer_answer(topics={"tea": "# Tea\n\n- Alice loves tea."})).run()
    await setup.scripted_writer().correct()

    assert "Alice loves tea." in setup.read(FILE)


async def test_a_file_that_held_nothing_else_goes_with_the_links_to_it(tmp_path: Path) -> None:
    """As when an imported chat is taken back."""
    setup = WriterSetup(tmp_path)
    [first] = setup.say((ALICE, "I hate tea."))
    remember(setup, ("Alice hates tea.", (first,)))
    setup.memory.write_file("notes.md", "# Notes\n\n- Mine.\n- [Tea](topics/tea.md)\n", source="owner")
    TurnVersionStore(setup.history, FAMILIAR).mark_turns([first], TurnMark.undone)

    assert await setup.scripted_writer().correct() == [FILE, "notes.md"]
    assert not setup.memory.exists(FILE)
    assert setup.read("notes.md") == "# Notes\n\n- Mine.\n"


async def test_a_file_in_which_a_sentence_stands_among_links_stays(tmp_path: Path) -> None:
    """A line that was added below the links says something, though nobody knows where it came from."""
    setup = WriterSetup(tmp_path)
    [first] = setup.say((ALICE, "I hate tea."))
    remember(setup, ("Alice hates tea.", (first,)))
    links = "\n## Links\n- [Notes](../notes.md)\n- Green is fine.\n"
    setup.memory.write_file(FILE, setup.read(FILE) + links, source="writer")
    TurnVersionStore(setup.history, FAMILIAR).mark_turns([first], TurnMark.undone)

    assert await setup.scripted_writer().correct() == [FILE]
    assert setup.read(FILE) == f"# Tea\n\n{links}"


async def test_what_was_moved_to_another_file_goes_there(tmp_path: Path) -> None:
    """The owner renamed the file; the line is known by its text."""
    setup = WriterSetup(tmp_path)
    [first] = setup.say((ALICE, "I hate tea."))
    remember(setup, ("Alice hates tea.", (first,)))
    setup.memory.write_file("topics/drinks.md", setup.read(FILE) + "- Own\n", source="owner")
    setup.memory.delete_file(FILE, source="owner")
    TurnVersionStore(setup.history, FAMILIAR).mark_turns([first], TurnMark.undone)

    assert await setup.scripted_writer().correct() == ["topics/drinks.md"]
    assert setup.read("topics/drinks.md") == "# Tea\n\n- Own\n"


async def test_proposals_of_undone_lines_go_and_those_of_other_lines_of_the_same_talk_stay(tmp_path: Path) -> None:
    """What waits for the owner is not lost because one line of the talk was undone."""
    setup = WriterSetup(tmp_path)
    first, second = setup.say((ALICE, "I hate tea."), (ALICE, "Green is fine."))
    review = Review(setup.memory)
    for name, turn in (("hates", first), ("green", second)):
        part = PartSource(part=part_hash(name), turns=(turn,))
        write = PlannedWrite(rel_path=f"topics/{name}.md", content=f"- {name}", before=None, parts=(part,))
        review.propose(
            Plan(
                run_id=name, familiar_id=FAMILIAR, turn_range=(first, second), created_at="2026-01-01", writes=(write,)
            )
        )
    TurnVersionStore(setup.history, FAMILIAR).mark_turns([first], TurnMark.undone)

    await setup.scripted_writer().correct()
    assert [each.id for each in review.list()] == ["green"]
