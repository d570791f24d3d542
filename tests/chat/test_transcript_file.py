"""A channel written down in a file."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.build import build_turn
from familiar_connect.chat.place import Surroundings
from familiar_connect.chat.scene import ChannelKind
from familiar_connect.chat.transcript_file import MOST_ANSWERED, parse_transcript, read_transcript
from familiar_connect.conversation.buffer import MAX_BUFFERED
from familiar_connect.errors import ConfigError
from tests.fakes.chat import PERSONA

LOUNGE: dict[str, Any] = {
    "server": {"name": "Tea House", "description": "Tea and talk", "id": 5},
    "channel": {"name": "lounge", "kind": "text", "topic": "Tea"},
    "me": "wren",
    "members": [
        {"id": "wren", "name": "Wren", "bot": True},
        {"id": "ada", "name": "Ada", "roles": ["keeper"], "presence": "online"},
        {"id": "bo", "name": "Bo"},
        {"id": "dee", "name": "Dee", "privacy": "full"},
    ],
    "roles": [{"id": "keeper", "name": "Keeper", "position": 3}],
    "emojis": [{"name": "tea", "id": "11", "url": "https://x/tea.png"}],
    "stickers": [{"name": "wave", "url": "https://x/wave.png"}],
    "messages": [
        {"id": "1", "author": "bo", "text": "see you at nine"},
        {"author": "wren", "text": "Nine it is."},
        {"author": "dee", "text": "psst"},
        {
            "author": "ada",
            "text": "works for me",
            "at": "2026-03-01T12:00:00+00:00",
            "reply_to": "1",
            "reactions": [{"emoji": ":tea:", "by": ["bo"], "count": 3}],
            "attachments": [{"url": "https://x/cat.png"}],
            "forwards": [],
            "stickers": ["wave"],
        },
    ],
}


async def test_a_transcript_can_be_looked_at_like_a_channel(tmp_path: Path) -> None:
    """Server, channel and people; what was said since we last spoke is what is answered."""
    path = tmp_path / "lounge.json"
    path.write_text(json.dumps(LOUNGE), encoding="utf-8")
    transcript = read_transcript(path)
    turn = await build_turn(transcript.exchange("wren"), transcript, settings=PERSONA, privacy=transcript.privacy)

    assert isinstance(transcript, Surroundings)
    assert (transcript.seen.server_name, transcript.seen.channel and transcript.seen.channel.kind) == (
        "Tea House",
        ChannelKind.text,
    )
    assert transcript.seen.members[1].roles[0].name == "Keeper"
    assert [(entry.author_type, entry.content) for entry in turn.messages] == [
        ("user", "see you at nine"),
        ("persona", "Nine it is."),
        (
            "user",
            '[System: ref_1 (Ada) answers ref_2 (Bo): "see you at nine"]\nworks for me\n'
            '[System: reactions: :tea: x3 by Bo (+2 more)]\n[System: Ada sent the sticker "wave"]',
        ),
    ]


def test_how_much_is_answered_can_be_said() -> None:
    """At least one message, at most all."""
    assert [parse_transcript({**LOUNGE, "answer": n}).answered for n in (0, 1, 3, 99)] == [1, 1, 3, 4]
    assert parse_transcript(LOUNGE).answered == 2


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ([], "must be an object"),
        ({}, "holds no messages"),
        ({"messages": [{}]}, "messages[0]: has no `author`"),
        ({"messages": [{"author": "a", "at": "noon"}]}, "`at` must be a time"),
        ({"messages": {"author": "a"}}, "`messages` must be a list"),
        ({"messages": [{"author": "a", "text": []}]}, "`text` must be a text"),
        ({"messages": [{"author": "a"}], "channel": {"kind": "cellar"}}, "`kind` must be one of text"),
        ({"messages": [{"author": "a"}], "members": [{"id": "a", "privacy": "none"}]}, "must be one of minimal"),
    ],
)
def test_a_mistake_is_told_with_its_place(broken: Any, told: str) -> None:
    """One sentence that names it."""
    with pytest.raises(ConfigError) as failure:
        parse_transcript(broken, "lounge.json")

    assert told in str(failure.value)
    assert str(failure.value).startswith("lounge.json")


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '"\\ud800"'])
def test_a_file_that_is_no_transcript_is_refused(tmp_path: Path, text: str) -> None:
    """So is one that is not there."""
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError):
        read_transcript(path)
    with pytest.raises(ConfigError):
        read_transcript(tmp_path / "missing.json")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list(LOUNGE)), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from([*LOUNGE, "answer"]), values))
def test_any_json_is_a_transcript_or_a_clear_mistake(data: dict[str, Any]) -> None:
    """Nothing else is raised."""
    with contextlib.suppress(ConfigError):
        assert parse_transcript(data).messages


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"channel": {"id": 10**25}}, "channel: `id` must be a whole number"),
        ({"server": {"name": "x", "id": -3}}, "server: `id` must be a whole number"),
        ({"messages": [{"author": "a", "at": "0001-01-01T00:00:00+14:00"}]}, "between the years 1970 and 9000"),
        ({"messages": [{"author": "a", "at": "9999-12-31T23:59:59-14:00"}]}, "between the years 1970 and 9000"),
    ],
    ids=["a large id", "a negative id", "long ago", "far ahead"],
)
def test_numbers_and_times_nobody_can_keep_are_refused(changed: dict[str, Any], told: str) -> None:
    """By the place in the file."""
    with pytest.raises(ConfigError, match=told):
        parse_transcript({"messages": [{"author": "a", "text": "x"}], **changed})


def test_a_file_that_begins_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    """Some editors write one; and halves of letters become a mark of their own."""
    path = tmp_path / "t.json"
    path.write_text('\ufeff{"messages": [{"author": "a", "text": "hi \\ud800"}]}', encoding="utf-8")

    assert read_transcript(path).messages[0].text == "hi \ufffd"


def test_no_more_is_answered_than_can_wait_to_be_answered() -> None:
    """As in a channel, where older messages leave the buffer."""
    many = parse_transcript({"messages": [{"author": "a", "text": str(number)} for number in range(1_000)]})

    assert many.answered == MOST_ANSWERED == MAX_BUFFERED


def test_what_is_written_down_of_a_voice_channel_was_spoken() -> None:
    """B6: so its turn has no handles, emojis, stickers or presence."""
    spoken = parse_transcript({"channel": {"kind": "voice"}, "messages": [{"author": "a", "text": "x"}]})
    typed = parse_transcript({"channel": {"kind": "text"}, "messages": [{"author": "a", "text": "x"}]})

    assert (spoken.exchange("wren").is_voice, typed.exchange("wren").is_voice) == (True, False)


@pytest.mark.parametrize("others", [[], [{"author": "bo", "text": "morning"}]], ids=["alone", "among others"])
async def test_nothing_of_who_is_not_to_be_heard_is_said(others: list[dict[str, str]]) -> None:
    """E4: not even where they alone are being answered."""
    data = {
        "members": [{"id": "dee", "name": "Dee", "privacy": "full"}],
        "messages": [*others, {"author": "dee", "text": "remember: psst"}],
    }
    hushed = parse_transcript(data)
    turn = await build_turn(hushed.exchange("wren"), hushed, settings=PERSONA, privacy=hushed.privacy)

    assert [said.text for said in turn.said] == [each["text"] for each in others] or [""]
    assert "psst" not in repr(turn)
    assert not turn.flags.explicit_long_term_memory_intent
