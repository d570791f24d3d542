"""Items as a kind of API takes them."""

from __future__ import annotations

from familiar_connect.chat.types import Sender
from familiar_connect.context.messages import (
    items_for_model,
    message_places,
    to_messages,
    with_alternating_roles,
    with_media_in_user_turns,
)
from familiar_connect.context.types import ContextItem
from familiar_connect.llm.types import Capabilities, ImagePart, Message, TextPart, ToolCall, VideoPart
from tests.fakes.context import said

PICTURE = ImagePart("http://x/a.png", "image/png")


def test_media_of_an_assistants_turn_moves_behind_it() -> None:
    """F32: into a user's turn that names the sender; a turn without words goes."""
    spoken = ContextItem(
        role="assistant", parts=(PICTURE, VideoPart("v", "video/mp4"), TextPart("Here.")), sender=Sender(name="Wren")
    )
    silent = ContextItem(role="assistant", parts=(PICTURE,))
    sent = to_messages([said("user", "show me"), spoken, silent])

    assert [(message.role, message.content, len(message.media)) for message in sent] == [
        ("user", "show me", 0),
        ("assistant", "Here.", 0),
        ("user", "[System: 1 image and 1 video sent by Wren]", 2),
        ("user", "[System: 1 image sent by you]", 1),
    ]


def test_items_without_such_media_are_the_same_ones() -> None:
    """F32: nothing to do is nothing done."""
    items = [said("user", "hi")]

    assert with_media_in_user_turns(items) is items


def test_every_item_shown_has_its_message() -> None:
    """Moved ones too, so that what each costs can be told."""
    items = [ContextItem(role="assistant", parts=(PICTURE, TextPart("Here."))), said("user", "nice")]
    shown = items_for_model(items, None)

    assert message_places(shown, None) == [0, 1, 2]


def test_all_system_text_is_one_message_where_only_one_may_be() -> None:
    """F33: on top, joined with blank lines, in its order."""
    items = [
        ContextItem.of("system", "one"),
        said("user", "hi"),
        ContextItem.of("system", "two", apart=True),
        said("system", "three"),
        said("assistant", "yes"),
    ]
    sent = to_messages(items, Capabilities(single_system=True))

    assert [(message.role, message.content) for message in sent] == [
        ("system", "one\n\ntwo\n\nthree"),
        ("user", "hi"),
        ("assistant", "yes"),
    ]


def test_system_items_at_the_top_are_joined_for_everyone() -> None:
    """F33: those below stay where they are."""
    items = [ContextItem.of("system", "a"), ContextItem.of("system", "b"), said("user", "hi"), said("system", "c")]

    assert [message.content for message in to_messages(items)] == ["a\n\nb", "hi", "c"]


def test_tool_turns_are_boundaries_of_alternation() -> None:
    """F30: nothing is merged into them or across them, and they are not changed."""
    call = Message("assistant", "", tool_calls=(ToolCall("a", "look"),))
    result = Message("tool", "seen", tool_call_id="a")
    sent = with_alternating_roles(
        [Message("user", "a"), Message("user", "b"), call, result, Message("assistant", "done")]
    )

    assert [(message.role, message.content) for message in sent] == [
        ("user", "a\nb"),
        ("assistant", ""),
        ("tool", "seen"),
        ("assistant", "done"),
    ]
    assert (sent[1], sent[2]) == (call, result)
