"""Later values replace earlier ones in a person's file; the versions show both."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities
from familiar_connect.memory.versioning.versions import Versions
from familiar_connect.memory.writing.extractive import ABOUT_HEADING
from familiar_connect.memory.writing.markdown_sections import bullets_under
from tests.fakes.writer_setup import ALICE, EVENING, WriterSetup

FILE = "people/discord-1.md"


async def write_up(table: WriterSetup, *messages: str, day: int) -> None:
    table.say(*[(ALICE, words) for words in messages], at=EVENING + timedelta(days=day))
    await table.writer(ScriptedModel([], capabilities=Capabilities(side_tasks=False))).run()


async def test_one_home_stands_in_the_file_and_both_in_its_versions(tmp_path: Path) -> None:
    """With the turn that replaced the first as the reason."""
    table = WriterSetup(tmp_path)
    await write_up(table, "I moved to Graz.", "I'm allergic to nuts.", day=0)
    await write_up(table, "I live in Vienna now.", day=1)

    assert bullets_under(table.read(FILE), ABOUT_HEADING) == [
        "2026-04-07, Alice said: I'm allergic to nuts.",
        "2026-04-08, Alice said: I live in Vienna now.",
    ]
    assert table.memory.audit is not None
    versions = Versions(table.memory.audit)
    first, second = versions.log(FILE)
    assert "I moved to Graz." in versions.text(first)
    assert [(text, gone.reason, gone.turn) for text, gone in versions.removals_of(second)] == [
        ("- 2026-04-07, Alice said: I moved to Graz.", "outdated", 3)
    ]


async def test_a_value_taken_back_in_the_same_sitting_is_not_written(tmp_path: Path) -> None:
    """Slips of the tongue stand in the session, not in the file."""
    table = WriterSetup(tmp_path)
    await write_up(table, "My sister lives in Basel.", "sorry, I meant my sister lives in Bern, not Basel", day=0)

    assert bullets_under(table.read(FILE), ABOUT_HEADING) == [
        "2026-04-07, Alice said: sorry, I meant my sister lives in Bern, not Basel"
    ]


async def test_what_a_message_rules_out_goes_though_another_sentence_of_it_is_kept(tmp_path: Path) -> None:
    """The place of a wedding is another one now; only where it is was kept, not that it is not the mill."""
    table = WriterSetup(tmp_path)
    await write_up(table, "The wedding is at the old mill.", day=0)
    await write_up(table, "Not the mill though. We're getting married in my aunt's garden.", day=3)

    assert bullets_under(table.read(FILE), ABOUT_HEADING) == [
        "2026-04-10, Alice said: We're getting married in my aunt's garden."
    ]


async def test_a_line_of_the_owners_stays(tmp_path: Path) -> None:
    """Only what the program wrote may go without asking."""
    table = WriterSetup(tmp_path)
    line = "2026-04-01, Alice said: I live in Graz."
    table.memory.write_file(FILE, f"# Alice\n\n## {ABOUT_HEADING}\n- {line}\n", source="owner")
    await write_up(table, "I live in Vienna now.", day=0)

    assert bullets_under(table.read(FILE), ABOUT_HEADING) == [line, "2026-04-07, Alice said: I live in Vienna now."]
