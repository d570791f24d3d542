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
from familiar_connect.chat.scene import ChannelKind, Surroundings
from familiar_connect.chat.transcript_file import parse_transcript, read_transcript
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
    turn = await build_turn(transcript.exchange("wren"), transcript, settings=PERSONA, is_private=transcript.is_private)

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
