"""Memory follows what happens to the words it came from."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.history.message_edits import MessageEdits
from familiar_connect.history.types import TurnMark
from familiar_connect.history.versions import TurnVersionStore
from familiar_connect.memory.versioning.provenance import Provenance, parts_of
from familiar_connect.memory.writing.plan import PartSource
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
    """Also where others said it with them; what came from other lines and from the owner stays."""
    setup = WriterSetup(tmp_path)
    first, second = setup.say((ALICE, "I hate tea."), (ALICE, "Green is fine."))
    remember(
        setup, ("Alice hates tea.", (first,)), ("She drinks.", (first, second)), ("Green.", (second,)), ("Own", ())
    )
    TurnVersionStore(setup.history, FAMILIAR).mark_turns([first], TurnMark.undone)

    assert await setup.scripted_writer().correct() == [FILE]
    assert setup.read(FILE) == "# Tea\n\n- Green.\n- Own\n"
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
