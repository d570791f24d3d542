"""Chats of other programs, as the extension that comes with the program reads them: plain text and JSON."""

from __future__ import annotations

import json
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.bootstrap.chat_files.chat_file import read_chat_files
from familiar_connect.bootstrap.chat_files.file_message import FileMessage
from familiar_connect.errors import ChatImportError, UnreadableFileError
from familiar_connect.extensions.import_chats.extension import extension, is_json
from familiar_connect.extensions.import_chats.json_log import read_json_log
from familiar_connect.extensions.import_chats.text_log import read_text_log
from familiar_connect.extensions.importing import find_importer

pytestmark = pytest.mark.process


def messages_of(path: Path) -> list[FileMessage]:
    """As `familiar import chat` reads them, in a process of its own."""
    with closing(read_chat_files(path, home=path.parent, zone=ZoneInfo("Asia/Tokyo"))[0]) as file:
        list(file.messages())
        return list(file.messages())


@pytest.mark.parametrize(
    ("line", "when"),
    [
        ("[2026-03-01 18:05] Wren: Hello: there.", datetime(2026, 3, 1, 18, 5)),
        ("2026-03-01T18:05:00Z Wren: Hello: there.", datetime(2026, 3, 1, 18, 5, tzinfo=UTC)),
        ("01.03.2026, 18:05 - Wren: Hello: there.", datetime(2026, 3, 1, 18, 5)),
        ("3/1/26, 6:05 PM - Wren: Hello: there.", datetime(2026, 3, 1, 18, 5)),
        ("Wren: Hello: there.", None),
    ],
)
def test_lines_of_a_text_log_begin_with_a_date_or_a_name(line: str, when: datetime | None) -> None:
    """Further lines belong to the message above, also where a colon stands in them."""
    found = list(read_text_log(f"{line}\nOne thing: listen.\n\nEnd.\n".encode()))

    assert [(each.name, each.text, each.sent) for each in found] == [
        ("Wren", "Hello: there.\nOne thing: listen.\n\nEnd.", when)
    ]


def test_a_time_without_a_zone_is_meant_where_the_familiar_is(tmp_path: Path) -> None:
    """And one with a zone in its own; a chat can be walked through again."""
    path = tmp_path / "talk.txt"
    path.write_text("[2026-03-01 18:05] Wren: Hello.\n[2026-03-01T18:06:00Z] Sam: Oh.\n", encoding="utf-8")

    assert [(each.name, each.sent) for each in messages_of(path)] == [
        ("Wren", datetime(2026, 3, 1, 18, 5, tzinfo=ZoneInfo("Asia/Tokyo"))),
        ("Sam", datetime(2026, 3, 1, 18, 6, tzinfo=UTC)),
    ]


def test_a_text_that_is_no_log_names_its_line(tmp_path: Path) -> None:
    """A novel is no chat."""
    path = tmp_path / "novel.txt"
    path.write_text("It was a dark night.\n", encoding="utf-8")

    with pytest.raises(ChatImportError, match=r"novel\.txt, line 1: does not start with a name and a colon"):
        messages_of(path)


@pytest.mark.parametrize(
    "entries",
    [
        [{"name": "Wren", "text": "Hi.", "timestamp": 1772388300}],
        {"messages": [{"sender": "Wren", "message": "Hi.", "created_at": "2026-03-01T18:05:00Z"}]},
        {"user_name": "Sam", "messages": [{"sender": "Wren", "message": "Hi.", "date": "2026-03-01T18:05:00Z"}]},
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_json_logs_have_names_texts_and_dates_under_usual_words(
    tmp_path: Path, entries: object, indent: int | None
) -> None:
    """A list, or an object that holds one, in one line or in many."""
    path = tmp_path / "log.json"
    path.write_text(json.dumps(entries, indent=indent), encoding="utf-8")

    assert [(each.name, each.text, each.sent) for each in messages_of(path)] == [
        ("Wren", "Hi.", datetime(2026, 3, 1, 18, 5, tzinfo=UTC))
    ]


def test_an_object_a_line_says_who_wrote_it_and_what_was_never_said(tmp_path: Path) -> None:
    """A person, a model, and what a model was told; half of a character becomes a mark for one."""
    path = tmp_path / "log.jsonl"
    roles = ("user", "assistant", "system")
    path.write_text("".join(json.dumps({"role": role, "content": f"{role} \ud800"}) + "\n" for role in roles))

    assert [(each.speaker, each.text, each.is_hidden) for each in messages_of(path)] == [
        ("user", "user \ufffd", False),
        ("character", "assistant \ufffd", False),
        ("", "system \ufffd", True),
    ]


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        (
            "deep.jsonl",
            '{"role": "user", "content": "x"}\n' + '{"a":' * 101 + "1" + "}" * 101,
            "line 2: is not a JSON object",
        ),
        ("broken.json", '{"messages": [', "line 1: is neither a line of SillyTavern's chats nor a list of messages"),
        ("cut.json", '[{"role": "user"', "entry 1: is cut off; fetch the file again"),
        ("odd.json", "[[1]]", "message 1: must be an object with a `role` or `name`"),
        ("mute.json", '[{"role": "user"}]', "message 1: needs a `role` or `name`, and a text"),
        ("long.json", json.dumps([{"name": "A", "text": "x" * 1_000_001}]), "message 1: holds 1,000,001 characters"),
        ("long.txt", "A: " + "x" * 1_000_001, "line 1: a message may have 1,000,000 characters at most"),
        ("latin.txt", b"A: caf\xe9", "line 1: is not UTF-8 text; save the file as UTF-8"),
        ("wide.txt", b"A: hi\n" + b"x" * (16 * 1024 * 1024 + 1), "line 2: is longer than 16,777,216 bytes"),
    ],
)
def test_a_bad_log_is_refused_in_one_sentence(tmp_path: Path, name: str, data: str | bytes, words: str) -> None:
    """It names the file, and the line or message that is wrong."""
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)

    with pytest.raises(ChatImportError) as refused:
        messages_of(path)
    assert str(refused.value).startswith(f"{path}, {words}")
    assert "\n" not in str(refused.value)


def test_a_log_that_needs_too_much_is_given_up(tmp_path: Path) -> None:
    """Its reader is ended, and the sentence says of what it took too much; a large file is not even begun."""
    path = tmp_path / "talk.txt"
    path.write_text("A: hi\n" * 300_000, encoding="utf-8")
    importer = find_importer(tmp_path, path, "chat")
    slow, small, long = (
        replace(importer, limits=replace(importer.limits, **changes))
        for changes in ({"cpu_s": 0.3}, {"file_bytes": 100}, {"output_bytes": 1 << 20})
    )

    with pytest.raises(ChatImportError, match=r"talk\.txt: takes more than 0\.3 s of work to read: split it$"):
        slow.read_chat(path)
    with pytest.raises(ChatImportError, match=r"talk\.txt: is larger than the 100 bytes a chat may have; split it$"):
        small.read_chat(path)
    with pytest.raises(ChatImportError, match=r"talk\.txt: unpacks to more than 1 MB: split it$"):
        long.read_chat(path)


@pytest.mark.parametrize(
    ("head", "form"),
    [
        (b"[2026-03-01 18:05] Wren: Hi.", "text"),
        (b"[12:01:05] Wren: Hi.", "text"),
        (b'\xef\xbb\xbf \n[\n {"role"', "json"),
        (b"[]", "json"),
        (b'{"role": "user"}', "json"),
        (b"Wren: {hi}", "text"),
    ],
)
def test_a_bracket_begins_a_list_or_a_date(head: bytes, form: str) -> None:
    """The first importer that knows a file reads it."""
    assert next(each.name for each in extension.importers if each.recognizes(head, "any")) == form


@given(st.binary(max_size=300))
def test_any_bytes_are_a_log_or_a_sentence(data: bytes) -> None:
    """Whatever a file holds, reading it ends well or in one error."""
    with suppress(UnreadableFileError):
        list(read_json_log(data) if is_json(data, "any") else read_text_log(data))
