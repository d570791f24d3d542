"""What the writer understands of an answer, and what it does not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.writing.reply_parser import MAX_REPLY_CHARS, ProposedFile, WriterAnswer, parse_reply
from tests.fakes.writer_setup import writer_answer


def files(reply: str) -> list[tuple[str, str, str]]:
    found = parse_reply(reply)
    return [] if found is None else [(file.category, file.name, file.text) for file in found.files]


def session(reply: str) -> str | None:
    found = parse_reply(reply)
    return None if found is None else found.session


def test_the_form_asked_for() -> None:
    """Session, people and topics come out as they were put in."""
    reply = writer_answer("We met.", {"discord-1.md": "# Alice\nTea."}, {"tea.md": "# Tea"})

    assert parse_reply(reply) == WriterAnswer(
        session="We met.",
        files=(
            ProposedFile(category="people", name="discord-1.md", text="# Alice\nTea."),
            ProposedFile(category="topics", name="tea.md", text="# Tea"),
        ),
    )


def test_missing_sections_are_empty() -> None:
    """One section is an answer."""
    assert parse_reply("===SESSION_SUMMARY===\nShort.\n===END_SESSION_SUMMARY===") == WriterAnswer(session="Short.")


def test_marks_may_stand_on_one_line() -> None:
    """The marks count, not the line breaks."""
    reply = "===SESSION_SUMMARY=== We met. ===END_SESSION_SUMMARY=== ===PEOPLE=== ---FILE: a-1.md--- x ---END_FILE---"

    assert session(reply) == "We met."
    assert files(reply) == [("people", "a-1.md", "x")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("../../etc/passwd", "passwd"),
        ("people/discord-1.md", "discord-1.md"),
        ("..\\..\\self\\name.md", "name.md"),
        ("`discord-1.md`", "discord-1.md"),
    ],
)
def test_names_are_reduced_to_their_last_component(name: str, expected: str) -> None:
    """A path in a name leads nowhere."""
    assert files(writer_answer("s", {name: "text"})) == [("people", expected, "text")]


@pytest.mark.parametrize("name", ["", ".", "..", "a/..", "  "])
def test_names_that_name_nothing_are_ignored(name: str) -> None:
    """And so are their texts."""
    assert files(writer_answer("s", {name: "text"})) == []


def test_empty_bodies_are_ignored() -> None:
    """A file with nothing in it is no proposal."""
    assert files(writer_answer("s", {"discord-1.md": "  \n "})) == []


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I cannot help with that.",
        "===session_summary===\nlower case\n===end_session_summary===",
        "===SESSION_SUMMARY===\n\n===END_SESSION_SUMMARY===",
        "The SESSION_SUMMARY is that we met.",
        "{}",
        '{"session": 3}',
        "[1, 2]",
        "x" * (MAX_REPLY_CHARS + 1),
    ],
)
def test_anything_else_is_no_answer(reply: str) -> None:
    """Refusals, other letter case, empty shells and floods are not taken for answers."""
    assert parse_reply(reply) is None


@pytest.mark.parametrize(
    "reply",
    [
        "===SESSION_SUMMARY===\nWe met.\n===PEOPLE===\n---FILE: a-1.md---\nTea.\n===TOPICS===\n",
        "```\n===SESSION_SUMMARY===\nWe met.\n===END_SESSION_SUMMARY===\n===PEOPLE===\n---FILE: a-1.md---\nTea.\n"
        "---END_FILE---\n===END_PEOPLE===\n```",
        "**===SESSION_SUMMARY===**\nWe met.\n**===END_SESSION_SUMMARY===**\n**===PEOPLE===**\n"
        "**---FILE: a-1.md---**\nTea.\n**---END_FILE---**\n**===END_PEOPLE===**",
        "## SESSION_SUMMARY\nWe met.\n\n## PEOPLE\n### FILE: a-1.md\nTea.\n\n## TOPICS\n",
        "=== SESSION SUMMARY ===\nWe met.\n=== END SESSION SUMMARY ===\n=== PEOPLE ===\n--- FILE: a-1.md\nTea.\n"
        "--- END FILE ---\n=== END PEOPLE ===",
        "SESSION_SUMMARY:\nWe met.\nPEOPLE:\n**FILE: `a-1.md`**\nTea.\nEND_FILE\nEND_PEOPLE",
        "===SESSION_SUMMARY===\nWe met.\n===END_SESSION_SUMMARY===\n===PEOPLE===\n### a-1.md\nTea.\n===END_PEOPLE===",
        "<think>===PEOPLE=== hm</think>===SESSION_SUMMARY===\nWe met.\n===END_SESSION_SUMMARY===\n===PEOPLE===\n"
        "---FILE: a-1.md---\n```markdown\nTea.\n```\n---END_FILE---\n===END_PEOPLE===\nI hope this helps!",
        '{"session": "We met.", "people": {"a-1.md": "Tea."}}',
        'Sure!\n```json\n{"session_summary": "We met.", "people": [{"slug": "a-1.md", "text": "Tea."}]}\n```',
    ],
)
def test_slips_of_form_are_repaired(reply: str) -> None:
    """Missing ends, dressed marks, fences, thoughts, chatter and JSON all give the same answer."""
    assert session(reply) == "We met."
    assert files(reply) == [("people", "a-1.md", "Tea.")]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"session": "We met.", "people": {"a-1": "Tea an', [("people", "a-1", "Tea an")]),
        ('{"session": "We met.", "people": {"a-1": "Tea",', [("people", "a-1", "Tea")]),
        ('{"session": "We met.", "people": [{"slug": "a-1", "text": "Tea"}', [("people", "a-1", "Tea")]),
        ('```json\n{"session": "We met.",\n```', []),
        ('{"session": "We met.\\', []),
    ],
)
def test_json_cut_short_counts_as_far_as_it_goes(reply: str, expected: list[tuple[str, str, str]]) -> None:
    """Small models run out of words before they run out of brackets."""
    assert session(reply) == "We met."
    assert files(reply) == expected


@pytest.mark.parametrize("reply", ['{"session": ]', "{}}}", '{"session"', '{"session": "x"]'])
def test_json_that_is_wrong_is_no_answer(reply: str) -> None:
    """Cut short is one thing, wrong another."""
    assert parse_reply(reply) is None


def test_labelled_lines_are_an_answer_that_adds() -> None:
    """Lines on one person are gathered; they add to a file and never replace it."""
    reply = "SUMMARY: We met.\n- **PERSON discord-1**: Likes tea.\nPERSON discord-1: Moved.\nTOPIC tea: Hot.\nother"

    assert parse_reply(reply) == WriterAnswer(
        session="We met.",
        files=(
            ProposedFile(category="people", name="discord-1", text="- Likes tea.\n- Moved.", adds=True),
            ProposedFile(category="topics", name="tea", text="- Hot.", adds=True),
        ),
        form="lines",
    )


def test_a_file_outside_every_section_has_no_category() -> None:
    """Unless its own path says one; code then decides."""
    reply = "---FILE: people/a-1.md---\nA\n---END_FILE---\n---FILE: self/b.md---\nB\n---END_FILE---"

    assert files(reply) == [("people", "a-1.md", "A"), ("", "b.md", "B")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "=",
        "-",
        "---FILE:",
        "FILE: ",
        "PERSON ",
        "PERSON*",
        "<think>",
        "{",
        '{"a":',
        "```\n",
        "\n",
        "===PEOPLE===",
        "** ",
    ],
)
def test_an_answer_made_to_stall_costs_no_more(piece: str) -> None:
    """Hundreds of kilobytes of any mark are read in a moment."""
    reply = piece * (200_000 // len(piece))
    began = time.process_time()
    parse_reply(reply)
    parse_reply(f"===PEOPLE===\n{reply} x")

    assert time.process_time() - began < 10


@given(st.text(max_size=300), st.text(max_size=40), st.text(max_size=300))
def test_reading_never_fails(session_text: str, name: str, body: str) -> None:
    """Whatever a model says, reading it ends without an error."""
    parse_reply(session_text)
    found = parse_reply(writer_answer(session_text, {name: body}))

    assert found is None or found.weight > 0
