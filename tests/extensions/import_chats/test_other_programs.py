"""Chats as other programs export them, in the public shape of each: what is kept of them, and what is left out."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.errors import UnreadableFileError
from familiar_connect.extensions.import_chats.archive_log import read_archive
from familiar_connect.extensions.import_chats.extension import extension, is_table
from familiar_connect.extensions.import_chats.json_list import MAX_DEPTH, split_list
from familiar_connect.extensions.import_chats.json_log import read_json_log
from familiar_connect.extensions.imported import ImportedChat, ImportedItem, ImportedLine, ImportRemark


def lines_of(found: Iterable[ImportedItem]) -> list[tuple[str, str]]:
    """Who says what: `U` the user, `C` the character, `?` whom only a name tells; a hidden line in brackets."""
    said = []
    for each in found:
        if isinstance(each, ImportedLine):
            who = "U" if each.is_user else "C" if each.is_character else "?"
            said.append((f"({who})" if each.is_hidden else who, each.text))
    return said


def heads_of(found: Iterable[ImportedItem]) -> list[tuple[str, str]]:
    return [(each.title, each.key) for each in found if isinstance(each, ImportedChat)]


def remarks_of(found: Iterable[ImportedItem]) -> list[str]:
    return [each.text for each in found if isinstance(each, ImportRemark)]


def read(value: object) -> list[ImportedItem]:
    return list(read_json_log(json.dumps(value).encode()))


def gpt_node(parent: str | None, role: str, text: object, *, at: float = 0.0, **more: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]} if isinstance(text, str) else text
    message = {"author": {"role": role}, "create_time": at or None, "content": content, "recipient": "all", **more}
    return {"parent": parent, "children": [], "message": message}


CHATGPT: dict[str, Any] = {
    "title": "Trip to  Skye",
    "create_time": 1772388300.5,
    "conversation_id": "68a1",
    "current_node": "f",
    "mapping": {
        "root": {"id": "root", "message": None, "parent": None, "children": ["s"]},
        "s": gpt_node("root", "system", "", metadata={"is_visually_hidden_from_conversation": True}),
        "a": gpt_node("s", "user", "Where is the ferry?", at=1772388300.5),
        "b": gpt_node("a", "assistant", "In Mallaig.", at=1772388310.0),
        "c": gpt_node("a", "assistant", "It leaves from Mallaig.", at=1772388320.0),
        "t": gpt_node("c", "assistant", "search('ferry')", recipient="browser"),
        "r": gpt_node("t", "tool", "found it"),
        "k": gpt_node("r", "assistant", {"content_type": "thoughts", "thoughts": []}),
        "x": gpt_node("c", "user", "An edited question"),
        "e": gpt_node(
            "k",
            "user",
            {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer"}, "And this?"]},
        ),
        "f": gpt_node("e", "assistant", "A puffin.", at=1772388400.0),
    },
}
CLAUDE: dict[str, Any] = {
    "uuid": "0b-1",
    "name": "Tea",
    "summary": "",
    "created_at": "2026-03-01T18:05:00.000000Z",
    "account": {"uuid": "9"},
    "chat_messages": [
        {
            "uuid": "m1",
            "sender": "human",
            "text": "Which tea?",
            "content": [{"type": "text", "text": "Which tea?"}],
            "created_at": "2026-03-01T18:05:00.000000Z",
            "attachments": [{"file_name": "list.txt", "extracted_content": "green"}],
            "files": [],
            "parent_message_uuid": "00000000-0000-4000-8000-000000000000",
        },
        {
            "uuid": "m2",
            "sender": "assistant",
            "text": "",
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Assam."}],
            "created_at": "2026-03-01T18:05:10.000000Z",
            "attachments": [],
            "files": [],
            "parent_message_uuid": "m1",
        },
        {
            "uuid": "m3",
            "sender": "assistant",
            "text": "Darjeeling.",
            "content": [{"type": "tool_use", "name": "shop"}, {"type": "text", "text": "Darjeeling."}],
            "created_at": "2026-03-01T18:06:00.000000Z",
            "attachments": [],
            "files": [],
            "parent_message_uuid": "m1",
        },
    ],
}


def test_chatgpt_gives_the_path_that_was_open_with_its_other_answers() -> None:
    """Answers to one question are versions; thoughts, tools, pictures and other branches are counted."""
    found = read([CHATGPT, {**CHATGPT, "conversation_id": "68a2", "title": None, "current_node": "gone"}])

    assert heads_of(found) == [("Trip to Skye", "chatgpt:68a1"), ("ChatGPT", "chatgpt:68a2")]
    assert lines_of(found)[:4] == [
        ("U", "Where is the ferry?"),
        ("C", "It leaves from Mallaig."),
        ("U", "And this?"),
        ("C", "A puffin."),
    ]
    answer = [each for each in found if isinstance(each, ImportedLine)][1]
    assert answer.versions == ("In Mallaig.", "It leaves from Mallaig.")
    assert answer.sent == datetime(2026, 3, 1, 18, 5, 20, tzinfo=UTC)
    assert remarks_of(found)[0] == (
        "Left out: 1 call of a tool, 1 result of a tool, 1 note of what the model thought, 1 picture or file, "
        "1 message of another branch."
    )


def test_claude_gives_the_branch_that_was_written_last() -> None:
    """Its text stands in parts; an older export without parents is one path."""
    found = read([CLAUDE])
    old = {key: value for key, value in CLAUDE.items() if key != "uuid"}
    old["chat_messages"] = [{"sender": "human", "text": "Hi."}, {"sender": "assistant", "text": "Hello."}]

    assert heads_of(found) == [("Tea", "claude:0b-1")]
    assert lines_of(found) == [("U", "Which tea?"), ("C", "Darjeeling.")]
    assert next(each for each in found if isinstance(each, ImportedLine) and each.versions).versions == (
        "Assam.",
        "Darjeeling.",
    )
    assert remarks_of(found) == [
        "Left out: 1 picture or file, 1 note of what the model thought, 1 call of a tool or its result."
    ]
    assert lines_of(read(old)) == [("U", "Hi."), ("C", "Hello.")]


AGNAI = {
    "name": "Exported",
    "greeting": "Good evening.",
    "scenario": "",
    "messages": [
        {
            "_id": "1",
            "characterId": "imported",
            "handle": "Wren",
            "msg": "Good evening.",
            "createdAt": "2026-03-01T18:05",
        },
        {"_id": "2", "userId": "anon", "handle": "Sam", "msg": "Is it late?", "createdAt": "2026-03-01T18:06:00.000Z"},
        {"_id": "3", "characterId": "imported", "handle": "Wren", "msg": "Always.", "retries": ["No.", "Yes."]},
        {"_id": "4", "userId": "anon", "handle": "Sam", "msg": "(brb)", "ooc": True},
    ],
}
CAI_OLD = {
    "character": {"name": "Wren"},
    "histories": {
        "histories": [
            {
                "external_id": "h-1",
                "created": "2026-03-01T18:05:00Z",
                "msgs": [
                    {
                        "text": "Good evening.",
                        "src": {"is_human": False, "name": "Wren"},
                        "created": "2026-03-01T18:05:00Z",
                    },
                    {"text": "Hi.", "src": {"is_human": True, "name": "Sam"}},
                    {"text": "", "src": {"is_human": False, "name": "Wren"}, "image_rel_path": "a.webp"},
                ],
            },
            {"external_id": "h-2", "msgs": [{"text": "Again?", "src": {"is_human": False, "name": "Wren"}}]},
        ]
    },
}
CAI_NEW = {
    "turns": [
        {
            "create_time": "2026-03-01T18:06:00.123456789Z",
            "author": {"is_human": False, "name": "Wren"},
            "candidates": [
                {"candidate_id": "c1", "raw_content": "Always."},
                {"candidate_id": "c2", "raw_content": "Never."},
            ],
            "primary_candidate_id": "c2",
        },
        {
            "create_time": "2026-03-01T18:05:00.5Z",
            "author": {"is_human": True, "name": "Sam"},
            "candidates": [{"candidate_id": "c0", "raw_content": "Is it late?"}],
        },
    ]
}
OOBA = {
    "internal": [["<|BEGIN-VISIBLE-CHAT|>", "Good evening."], ["Is it <late>?", "Never."]],
    "visible": [["", "Good evening."], ["Is it &lt;late&gt;?", "Never."]],
    "metadata": {
        "user_1": {"timestamp": "2026-03-01 18:05"},
        "assistant_1": {
            "timestamp": "2026-03-01 18:06",
            "versions": [{"content": "Always."}, {"content": "Never."}],
            "current_version_index": 1,
        },
    },
}
OOBA_OLD = {"data_visible": [["Is it &lt;late&gt;?", "Never."]]}
RISU = {
    "type": "risuChat",
    "ver": 1,
    "data": {
        "name": "Evening",
        "note": "[short]",
        "localLore": [{}, {}],
        "message": [
            {"role": "char", "data": "Good evening.", "time": 1772388300000},
            {"role": "user", "data": "Is it late?", "time": 1772388310000},
            {"role": "char", "data": "Never.", "disabled": True},
        ],
    },
}
KOBOLD_CHAT = {
    "gamestarted": True,
    "prompt": "\nWren: Good evening.",
    "memory": "Wren is a ferryman.",
    "authorsnote": "",
    "actions": ["\nSam: Is it late?\n", "Wren: Always.\nNote: he coughs.\nSam: Oh."],
    "worldinfo": [{"key": "bell"}],
    "savedsettings": {"opmode": 3, "chatname": "Sam", "chatopponent": "Wren||$||Mira"},
}
KOBOLD_INSTRUCT = {
    "prompt": "\n{{[INPUT]}}\nIs it late?\n{{[OUTPUT]}}\n",
    "actions": ["Always.", "\n{{[INPUT]}}\nOh.\n{{[OUTPUT]}}\n", "Sit down."],
    "savedsettings": {"opmode": 4, "chatname": "Sam", "chatopponent": "Wren"},
}
KOBOLD_STORY = {"prompt": "The ferry came.", "actions": ["It was late."], "savedsettings": {"opmode": 1}}


@pytest.mark.parametrize(
    ("value", "said", "remarks"),
    [
        (
            AGNAI,
            [("C", "Good evening."), ("U", "Is it late?"), ("C", "Always."), ("(U)", "(brb)")],
            ["Left out: 1 text of the character beside the chat."],
        ),
        (
            CAI_OLD,
            [("C", "Good evening."), ("U", "Hi."), ("C", "Again?")],
            ["Left out: 1 picture, 1 message without words."],
        ),
        (CAI_NEW, [("U", "Is it late?"), ("C", "Never.")], []),
        (OOBA, [("C", "Good evening."), ("U", "Is it <late>?"), ("C", "Never.")], []),
        (OOBA_OLD, [("U", "Is it <late>?"), ("C", "Never.")], []),
        (
            RISU,
            [("C", "Good evening."), ("U", "Is it late?"), ("(C)", "Never.")],
            ["Left out: 1 note of the chat, 2 lorebook entries."],
        ),
        (
            KOBOLD_CHAT,
            [("C", "Good evening."), ("U", "Is it late?"), ("C", "Always.\nNote: he coughs."), ("U", "Oh.")],
            ["Left out: 1 memory, 1 World Info entry."],
        ),
        (KOBOLD_INSTRUCT, [("U", "Is it late?"), ("C", "Always."), ("U", "Oh."), ("C", "Sit down.")], []),
        (
            KOBOLD_STORY,
            [("C", "The ferry came."), ("C", "It was late.")],
            ["It is a story without speakers, so nobody says its lines."],
        ),
    ],
)
def test_programs_for_characters_keep_who_said_what(
    value: object, said: list[tuple[str, str]], remarks: list[str]
) -> None:
    """Agnai, Character.AI old and new, text-generation-webui, RisuAI, and KoboldAI Lite in three modes."""
    found = read(value)

    assert lines_of(found) == said
    assert remarks_of(found) == remarks


def test_other_answers_become_versions_and_names_and_dates_are_kept() -> None:
    """As far as a format has them; each history of Character.AI's is a chat of its own."""
    versions = {
        each.text: each.versions
        for value in (AGNAI, CAI_NEW, OOBA)
        for each in read(value)
        if isinstance(each, ImportedLine) and each.versions
    }
    wren = next(each for each in read(AGNAI) if isinstance(each, ImportedLine))

    assert versions == {"Always.": ("No.", "Yes.", "Always."), "Never.": ("Always.", "Never.")}
    assert (wren.name, wren.sent) == ("Wren", datetime(2026, 3, 1, 18, 5))
    assert heads_of(read(CAI_OLD)) == [("Wren", "character.ai:h-1"), ("Wren", "character.ai:h-2")]
    assert heads_of(read({**RISU, "type": "risuAllChats", "data": [RISU["data"], RISU["data"]]})) == [
        ("Evening", ""),
        ("Evening", ""),
    ]
    assert all(each.is_narrator for each in read(KOBOLD_STORY) if isinstance(each, ImportedLine))


def pack(files: dict[str, object]) -> bytes:
    """A zip with *files*: text as it is, anything else as JSON."""
    room = io.BytesIO()
    with zipfile.ZipFile(room, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in files.items():
            archive.writestr(name, value if isinstance(value, str) else json.dumps(value))
    return room.getvalue()


def discord_row(number: int, text: str, attached: str = "") -> dict[str, object]:
    return {"ID": number, "Timestamp": f"2026-03-01 18:0{number}:00", "Contents": text, "Attachments": attached}


def test_discords_package_gives_a_chat_a_channel_oldest_first() -> None:
    """Lists and the tables of older packages; a channel without words is left out, and whose words they are is said."""
    found = list(
        read_archive(
            pack(
                {
                    "Account/user.json": {"username": "sam_x", "global_name": "Sam"},
                    "Servers/index.json": {"77777": "The Harbour"},
                    "Messages/index.json": {"11111": "Direct Message with ada#0", "22222": None},
                    "Messages/c11111/messages.json": [discord_row(2, "Late again."), discord_row(1, "Hi.")],
                    "Messages/c22222/channel.json": {"id": "22222", "name": "general", "guild": {"name": "Harbour"}},
                    "Messages/c22222/messages.csv": "ID,Timestamp,Contents,Attachments\n5,2026-03-01 18:05:00,Look,http://x\n",
                    "Messages/c33333/messages.json": [discord_row(3, "", "http://x http://y")],
                }
            )
        )
    )

    assert heads_of(found) == [("Direct Message with ada#0", "discord:11111"), ("general in Harbour", "discord:22222")]
    assert lines_of(found) == [("U", "Hi."), ("U", "Late again."), ("U", "Look")]
    first = next(each for each in found if isinstance(each, ImportedLine))
    assert (first.name, first.sent) == ("Sam", datetime(2026, 3, 1, 18, 1, tzinfo=UTC))
    assert remarks_of(found) == [
        "Left out: 1 picture or file.",
        "Discord's data holds what you wrote, not what others answered; every line is yours.",
        "1 channel without words was left out.",
    ]
    assert lines_of(read([discord_row(1, "Hi.")])) == [("U", "Hi.")]


def test_a_table_of_discords_is_known_by_its_head() -> None:
    """And an export of a channel, as tools for chats write it, by who wrote each line."""
    head = b"\xef\xbb\xbfID,Timestamp,Contents,Attachments\r\n1,2026-03-01 18:05:00,Hi.,\r\n"
    part = next(each for each in extension.importers if each.recognizes(head, "messages.csv"))
    exported = {
        "channel": {"name": "general"},
        "messages": [{"content": "Hi.", "timestamp": "2026-03-01T18:05:00+00:00", "author": {"nickname": "Sam"}}],
    }

    assert is_table(head, "any")
    assert lines_of(part.read(head, "messages.csv")) == [("U", "Hi.")]  # type: ignore[arg-type]
    assert lines_of(read(exported)) == [("?", "Hi.")]


def test_an_archive_of_conversations_may_be_split_over_several_files() -> None:
    """ChatGPT and Claude both send one; what is wrong is told with the file it is in."""
    found = list(
        read_archive(pack({"conversations-000.json": [CHATGPT], "a/conversations-001.json": [CLAUDE], "chat.html": ""}))
    )

    assert [title for title, _ in heads_of(found)] == ["Tea", "Trip to Skye"]
    with pytest.raises(UnreadableFileError) as refused:
        list(read_archive(pack({"conversations.json": "[{"})))
    assert (refused.value.where, str(refused.value)) == (
        "conversations.json, entry 1",
        "is cut off; fetch the file again",
    )


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ([{"mapping": {"a": []}}], "conversation 1, message 1"),
        ([CHATGPT, {"title": "x"}], "conversation 2"),
        ([{"chat_messages": [1]}], "conversation 1, message 1"),
        ({"messages": [{"msg": "x"}, 2]}, "message 2"),
        ({"histories": {"histories": [{"msgs": 1}]}}, "history 1"),
        ({"turns": [{"candidates": {}}]}, "turn 1"),
        ({"internal": [["a", "b"], ["c"]]}, "exchange 2"),
        ({"internal": 3}, "history"),
        ({"type": "risuChat", "data": {}}, "chat 1"),
        ({"savedsettings": {}, "actions": 3}, "actions"),
        ([discord_row(1, "x"), 3], "list, message 2"),
        ({"messages": [{"msg": "x" * 1_000_001}]}, "message 1"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(value: object, where: str) -> None:
    """One sentence that says which conversation and message is meant."""
    with pytest.raises(UnreadableFileError) as refused:
        read(value)
    assert refused.value.where == where
    assert "\n" not in str(refused.value)


def test_depth_and_size_are_bounded() -> None:
    """A list nested deeper than anybody writes, a tree that bites its tail, a bomb and a locked archive."""
    deep = b'[{"mapping":' + b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1) + b"}]"
    circle = {**CHATGPT, "mapping": {"f": gpt_node("g", "user", "Hi."), "g": gpt_node("f", "assistant", "Oh.")}}
    with pytest.raises(UnreadableFileError, match="nested too deeply"):
        list(split_list(deep))
    with pytest.raises(UnreadableFileError, match="nested too deeply"):
        list(read_json_log(b'{"a":' * 100_000))
    with pytest.raises(UnreadableFileError, match="damaged archive"):
        list(read_archive(b"PK\x03\x04 no"))
    with pytest.raises(UnreadableFileError, match="holds no chats that are known"):
        list(read_archive(pack({"readme.txt": "hi"})))

    assert lines_of(read([circle])) == [("C", "Oh."), ("U", "Hi.")]


KEYS = [
    *("mapping", "chat_messages", "messages", "msg", "turns", "candidates", "histories", "internal", "data", "type"),
    *("savedsettings", "actions", "prompt", "message", "author", "content", "parts", "src", "Contents"),
]
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS) | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(_JSON)
def test_any_json_is_a_chat_or_a_sentence(value: object) -> None:
    """Whatever stands under the names that programs use, reading it ends well or in one error."""
    with suppress(UnreadableFileError):
        read(value)
