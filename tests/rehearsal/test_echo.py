"""Echo: the most careless of models, in the form each slot asks for."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.llm.types import Message
from familiar_connect.memory.writing.reply_parser import parse_reply
from familiar_connect.rehearsal.models import echo_answer, echo_memory
from tests.fakes.rehearsal import rehearse

PROMPT = """\
<character>
A small fire.
</character>

People in the transcript:
- Ada (canonical slug: discord-101; known names: Ada, ada_l)
- Bo (canonical slug: discord-102; known names: Bo)

<file category="people" name="discord-101.md">
# Ada

Likes rain.
</file>

<file category="people" name="discord-102.md" cut="yes; write only what is new, it will be added">
# Bo
</file>

New conversation of 2026-03-01 morning:
<transcript>
## Context
- #lounge

[1] 2026-03-01 09:00 user (Ada): The word is swordfish.
  And it stays so.
[2] 2026-03-01 09:01 assistant: Mm.
[3] 2026-03-01 09:02 user (Bo): Good morning.
</transcript>"""


def test_the_writer_gets_every_line_in_its_speakers_file_and_in_the_session() -> None:
    """Well-formed; what a file held stays, and one that was cut is only added to."""
    answer = parse_reply(echo_memory(PROMPT))

    assert answer is not None
    files = {file.name: file.text for file in answer.files}
    assert files["discord-101.md"] == "# Ada\n\nLikes rain.\n\n- The word is swordfish. And it stays so."
    assert files["discord-102.md"] == "# Bo\n\n- Good morning."
    assert "user (Ada): The word is swordfish." in answer.session
    assert "assistant: Mm." in answer.session


def test_any_other_slot_gets_back_all_it_was_given_and_a_decision_is_yes() -> None:
    """Whoever asks."""
    given = [Message("system", "Sum up."), Message("user", "Ada: swordfish")]

    assert echo_answer("history_summary", given) == "Sum up.\n\nAda: swordfish"
    assert echo_answer("interjection_decision", given).endswith("\nYES")


def test_an_echoing_writer_fills_real_files_again_and_again(tmp_path: Path) -> None:
    """A second pass keeps what the first wrote."""
    path = "memory/people/discord-101.md"
    played = rehearse(
        tmp_path,
        {"in": "tea", "by": "ada", "say": "Ember, I planted tomatoes.", "mention": True},
        {"write_up": True},
        {"in": "tea", "by": "ada", "say": "Ember, and beans.", "mention": True},
        {"write_up": True},
        {"expect": {"calls": {"memory_writer": 2}, "file_has": {path: ["planted tomatoes", "and beans"]}}},
        models={"main_prose": {}, "memory_writer": "echo"},
    )

    assert played.failed == []
