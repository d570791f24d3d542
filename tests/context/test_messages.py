"""Items as the messages a model is sent."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.types import Sender
from familiar_connect.context.messages import message_places, to_messages, with_alternating_roles
from familiar_connect.context.types import ContextItem, ItemTag
from familiar_connect.llm.types import Capabilities, ImagePart, Message, TextPart
from tests.fakes.context import contents, said

STRICT = Capabilities(strict_roles=True)


def system(text: str, *, apart: bool = False) -> ContextItem:
    return ContextItem.of("system", text, apart=apart)


def roles(messages: list[Message]) -> str:
    return "".join(message.role[0] for message in messages)


def test_system_items_on_top_are_one_message() -> None:
    """A blank line between them; those further down stay where they are."""
    messages = to_messages([system("a\n"), system("\nb"), said("user", "c"), system("d")])

    assert [(m.role, m.content) for m in messages] == [("system", "a\n\nb"), ("user", "c"), ("system", "d")]


def test_what_stands_apart_is_not_joined_into_the_top() -> None:
    """A note directly below the system message stays a message of its own; so does a turn of the dialogue."""
    messages = to_messages([system("a"), system("note", apart=True), system("b")])
    turns = to_messages([system("a"), said("system", "someone joined")])

    assert (contents(messages), contents(turns)) == (["a", "note", "b"], ["a", "someone joined"])


def test_nothing_blank_is_sent() -> None:
    """Endpoints refuse empty messages; a picture without words is not empty."""
    picture = ContextItem(role="user", parts=(ImagePart("u", "image/png"), TextPart("")))
    messages = to_messages([system("a"), system(" "), said("user", " "), picture])

    assert [(m.role, m.content, len(m.media)) for m in messages] == [("system", "a", 0), ("user", "", 1)]


def test_names_travel_beside_the_words() -> None:
    """Only where there is one."""
    assert [m.to_dict() for m in to_messages([said("user", "Ada: hi", name="Ada"), said("assistant", "hello")])] == [
        {"role": "user", "content": "Ada: hi", "name": "Ada"},
        {"role": "assistant", "content": "hello"},
    ]


def test_strict_models_get_turns_in_turn() -> None:
    """Same roles are merged, a note further down becomes a System line of a user's turn."""
    messages = to_messages(
        [system("top"), said("user", "a"), said("user", "b"), said("assistant", "c"), system("n"), said("user", "d")],
        STRICT,
    )

    assert [(m.role, m.content) for m in messages] == [
        ("system", "top"),
        ("user", "a\nb"),
        ("assistant", "c"),
        ("user", "[System: n]\nd"),
    ]


def test_strict_models_never_hear_the_assistant_first() -> None:
    """A user's turn is put before it."""
    assert roles(to_messages([system("top"), said("assistant", "hello")], STRICT)) == "sua"
    assert roles(to_messages([said("assistant", "hello")], STRICT)) == "ua"


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text("ab", min_size=1, max_size=3))))
def test_alternation_holds_whatever_came(turns: list[tuple[str, str]]) -> None:
    """One system message at most, on top; then user and assistant in turn; every word is still there."""
    given_ = [Message(role, text) for role, text in turns]
    result = with_alternating_roles(given_)
    below = roles(result).lstrip("s") if roles(result).startswith("s") else roles(result)

    assert "uu" not in below
    assert "aa" not in below
    assert not below.startswith("a")
    assert all(text in "\n".join(contents(result)) for _, text in turns)


def _said(label: str, words: str, mark: str = "") -> ContextItem:
    item = ContextItem.of("user", f"{mark}{label}: {words}", tag=ItemTag.DIALOGUE, name=label)
    return replace(item, sender=Sender(name=label), words=words)


def test_a_tiny_model_is_shown_one_persons_words_without_name_or_mark() -> None:
    """With one speaker, names, marks and the sentence about names are left off for a model that they confuse."""
    items = [
        ContextItem.of("system", "about names", tag=ItemTag.PREAMBLE),
        ContextItem.of("system", "You are Ember."),
        _said("Sam", "hi", "[12:00] "),
        ContextItem.of("assistant", "Hello!", tag=ItemTag.DIALOGUE),
        _said("Sam", "how are you?"),
    ]

    messages = to_messages(items, Capabilities(bare_single_speaker=True))

    assert [(m.role, m.content, m.name) for m in messages] == [
        ("system", "You are Ember.", None),
        ("user", "hi", None),
        ("assistant", "Hello!", None),
        ("user", "how are you?", None),
    ]


def test_names_stay_where_several_people_speak() -> None:
    """Who said what matters more than style."""
    items = [_said("Sam", "hi"), _said("Bo", "hello")]

    messages = to_messages(items, Capabilities(bare_single_speaker=True))

    assert [m.content for m in messages] == ["Sam: hi", "Bo: hello"]


def test_each_item_knows_the_message_it_is_sent_in() -> None:
    """What is joined on top is one message; what is blank is in none; merged turns share theirs."""
    items = [system("a"), system("b"), said("user", "c"), said("user", " "), said("user", "d"), said("assistant", "e")]

    assert message_places(items, None) == [0, 0, 1, None, 2, 3]
    assert message_places(items, STRICT) == [0, 0, 1, None, 1, 2]


def test_places_point_at_messages_that_hold_the_words() -> None:
    """Also where a strict model is given an opening that nobody said."""
    items = [system("top"), said("assistant", "first"), system("note", apart=True), said("user", "hi")]
    messages = to_messages(items, STRICT)

    for item, place in zip(items, message_places(items, STRICT), strict=True):
        assert place is not None
        assert item.text in messages[place].content


def at_depth(text: str, depth: int) -> ContextItem:
    return ContextItem.of("system", text, depth=depth, apart=True, source="preset:p:x")


def test_squashing_joins_runs_of_system_messages_but_no_separator() -> None:
    """C38: unnamed ones, by a newline, as the last step; a preset's separators stay alone."""
    items = [
        system("top"),
        system("a", apart=True),
        ContextItem.of("system", "[new chat]", source="preset:p:newMainChat", apart=True),
        said("user", "hi"),
        system("b", apart=True),
        ContextItem.of("system", "named", name="n", apart=True),
        system("c", apart=True),
        system("d", apart=True),
    ]

    messages = to_messages(items, squash=True)

    assert contents(messages) == ["top\na", "[new chat]", "hi", "b", "named", "c\nd"]
    assert message_places(items, None, squash=True) == [0, 0, 1, 2, 3, 4, 5, 5]
    assert len(to_messages(items)) == 8


def test_depth_after_the_assistants_last_word_is_a_turn_of_its_own() -> None:
    """C34: the assistant never says a System line."""
    items = [said("user", "a"), said("assistant", "b"), at_depth("end", 0)]

    assert [(m.role, m.content) for m in to_messages(items, STRICT)] == [
        ("user", "a"),
        ("assistant", "b"),
        ("user", "[System: end]"),
    ]


def test_depth_with_nothing_said_is_one_line_at_the_end() -> None:
    """C34: in the sequence of their depths."""
    messages = to_messages([system("top"), at_depth("far", 4), at_depth("near", 0)], STRICT)

    assert [(m.role, m.content) for m in messages] == [("system", "top"), ("user", "[System: near\nfar]")]


def test_merged_texts_are_found_in_the_message_that_holds_them() -> None:
    """C34: the inspector can say where each text went."""
    items = [at_depth("far", 9), said("user", "a"), said("assistant", "b"), at_depth("x", 1), said("user", "c")]

    assert message_places(items, STRICT) == [0, 0, 1, 2, 2]


def test_first_words_are_sent_only_to_a_model_that_goes_on_from_them() -> None:
    """E62: another would take them for an answer already given."""
    items = [said("user", "hi"), ContextItem.of("assistant", "Well,", tag=ItemTag.PREFILL)]

    assert contents(to_messages(items, Capabilities())) == ["hi", "Well,"]
    assert contents(to_messages(items, Capabilities(prefill=False))) == ["hi"]


def test_what_is_recalled_for_a_message_opens_that_message() -> None:
    """A small model talks past it where it stands alone; with nobody to say something after it, it stays."""
    found = ContextItem.of("system", "<memory>Ada bakes</memory>", tag=ItemTag.FOUND, apart=True)
    now = ContextItem.of("user", "[System: noon]", tag=ItemTag.NOW, apart=True)
    items = [system("a"), said("assistant", "hm"), found, now, said("user", "what do I bake?")]

    assert contents(to_messages(items)) == [
        "a",
        "hm",
        "[System: noon]",
        "<memory>Ada bakes</memory>\n\nwhat do I bake?",
    ]
    assert message_places(items, None) == [0, 1, 3, 2, 3]
    assert contents(to_messages([system("a"), found, said("assistant", "hm")])) == ["a", found.text, "hm"]
    assert contents(to_messages([system("a"), replace(found, apart=False), said("user", "b")]))[1] == "b"
