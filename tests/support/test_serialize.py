"""Values survive the way to plain data and back."""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from familiar_connect.audience import Readers, RuledChannel, whole_server
from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.chat.types import (
    Directives,
    ListedUser,
    MediaDescriptor,
    MessageIdMap,
    SaidMessage,
    Sender,
    SimplifiedMessage,
    Turn,
    TurnFlags,
)
from familiar_connect.config.types import ChannelMode
from familiar_connect.context.types import (
    ContextItem,
    ContextRequest,
    Contribution,
    DroppedNote,
    ItemTag,
    Layer,
    Modality,
    PendingTurn,
    Priority,
    Prompt,
)
from familiar_connect.identity import Author
from familiar_connect.llm.types import ImagePart, TextPart, VideoPart
from familiar_connect.support.serialize import PlainDataError, content_hash, from_plain, to_plain

words = st.text(max_size=12)
maybe = st.none() | words
numbers = st.integers(min_value=-(2**53), max_value=2**53)
moments = st.datetimes(
    min_value=datetime(1990, 1, 1),
    max_value=datetime(2100, 1, 1),
    timezones=st.just(UTC) | st.just(timezone(timedelta(hours=5, minutes=30))),
)
texts = st.lists(words, max_size=2).map(tuple)


def several(one: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(one, max_size=2).map(tuple)


authors = st.builds(
    Author,
    platform=words,
    user_id=words,
    username=maybe,
    display_name=maybe,
    aliases=st.frozensets(words, max_size=3),
)
directives = st.builds(Directives, lower=texts, tail=texts, queued_reply=maybe, uncensor=maybe, prefill=maybe)
parts = st.one_of(
    st.builds(TextPart, words),
    st.builds(ImagePart, words, words, maybe),
    st.builds(VideoPart, words, words, st.booleans()),
)
items = st.builds(
    ContextItem,
    role=st.sampled_from(["system", "user", "assistant"]),
    parts=several(parts),
    tag=st.none() | st.sampled_from(ItemTag),
    depth=st.none() | numbers,
    name=maybe,
    history_id=st.none() | numbers,
    timestamp=st.none() | moments,
    source=words,
    anchor=st.booleans(),
    media=several(st.builds(MediaDescriptor, kind=st.sampled_from(["image", "video"]), uri=words, mime=maybe)),
    sender=st.none() | st.builds(Sender, name=words, kind=st.sampled_from(["user", "persona"])),
    users=several(st.builds(ListedUser, target_id=words, display_label=words, aliases=texts)),
    persona_mentions=st.dictionaries(words, words, max_size=2),
)
contributions = st.builds(
    Contribution,
    layer=st.sampled_from(Layer),
    priority=numbers,
    text=words,
    estimated_tokens=numbers,
    source=words,
    tag=st.none() | st.sampled_from(ItemTag),
    depth=st.none() | numbers,
    key=words,
    volatile=st.booleans(),
    items=several(items),
    directives=directives,
)
turns = st.builds(
    Turn,
    familiar_id=words,
    channel_id=numbers,
    said=several(st.builds(SaidMessage, author=authors, text=words, timestamp=moments, history_id=st.none() | numbers)),
    messages=several(
        st.builds(
            SimplifiedMessage,
            id=words,
            author_id=words,
            author_name=words,
            author_type=st.sampled_from(["user", "persona"]),
            content=maybe,
            created_at=st.none() | moments,
        )
    ),
    flags=st.builds(TurnFlags, stop=st.booleans()),
    directives=directives,
)
requests = st.builds(
    ContextRequest,
    familiar_id=words,
    channel_id=numbers,
    guild_id=st.none() | numbers,
    author=st.none() | authors,
    utterance=words,
    modality=st.sampled_from(Modality),
    budget_tokens=numbers,
    deadline_s=st.floats(allow_nan=False),
    pending_turns=several(st.builds(PendingTurn, st.none() | authors, words, st.none() | numbers)),
    preprocessor_contributions=several(contributions),
    interruption_context=maybe,
    mode=st.none() | st.sampled_from(ChannelMode),
    before_id=st.none() | numbers,
    turn=st.none() | turns,
    scene=st.none()
    | st.builds(
        Scene,
        server_name=maybe,
        channel=st.none() | st.builds(ChannelContext, words, st.sampled_from(ChannelKind), maybe),
        participants=several(authors),
    ),
)
notes = st.builds(DroppedNote, st.sampled_from(Layer), words, st.sampled_from(["dropped", "truncated"]), numbers, words)
prompts = st.builds(Prompt, items=several(items), directives=directives, dropped=several(notes))


@given(st.one_of(requests, contributions, items, turns, notes, prompts, authors))
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    """Every value a turn is made of survives plain data, JSON and the way back."""
    there = json.loads(json.dumps(to_plain(value)))

    assert value == from_plain(type(value), there)


@settings(max_examples=30, deadline=None)
@given(contributions)
def test_equal_values_have_one_hash(value: Contribution) -> None:
    """A content hash depends on the content alone, also after a round trip."""
    plain = to_plain(value)

    assert content_hash(plain) == content_hash(to_plain(from_plain(Contribution, plain)))


def test_a_hash_does_not_depend_on_the_order_of_keys_or_set_members() -> None:
    """Dicts and sets have no order that a hash could see."""
    one = to_plain({"a": 1, "b": frozenset(["x", "y", "z"])})
    other = to_plain({"b": frozenset(["z", "y", "x"]), "a": 1})

    assert content_hash(one) == content_hash(other)


def test_fields_left_out_of_comparison_come_back_as_their_default() -> None:
    """Run-time state beside a value does not travel."""
    ids = MessageIdMap()
    ids.register("987")
    turn = Turn(familiar_id="wren", channel_id=1, said=(), message_ids=ids)

    back = from_plain(Turn, to_plain(turn))

    assert "message_ids" not in to_plain(turn)
    assert back.message_ids.resolve("ref_1") is None


def test_an_enum_of_numbers_becomes_its_number() -> None:
    """A priority given by name is kept as what it is worth."""
    value = Contribution(Layer.core, Priority.CHARACTER, "x", 1, "s")

    assert to_plain(value)["priority"] == 100
    assert from_plain(Contribution, to_plain(value)) == value


class Colour(Enum):
    red = "red"


@dataclass(frozen=True)
class Box:
    size: int
    label: str | int | None = None
    kind: Literal["wood", "tin"] = "wood"
    by_colour: dict[Colour, list[float]] = field(default_factory=dict)
    by_number: dict[int, str] = field(default_factory=dict)
    pair: tuple[int, str] = (0, "")
    tags: set[str] = field(default_factory=set)


def test_keys_pairs_and_sets_come_back_typed() -> None:
    """Enum and number keys, fixed tuples and sets are read by their hints."""
    box = Box(1, 5, "tin", {Colour.red: [0.5]}, {3: "three"}, (7, "x"), {"a", "b"})

    assert box == from_plain(Box, json.loads(json.dumps(to_plain(box))))


def test_data_of_another_version_is_read_as_far_as_it_goes() -> None:
    """Unknown fields are passed over, missing ones take their default."""
    assert Box(2) == from_plain(Box, {"size": 2, "shine": "bright"})


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ({}, "Box: size missing"),
        ({"size": "big"}, "Box.size: str where int was expected"),
        ({"size": True}, "Box.size: bool where int was expected"),
        ({"size": 1, "kind": "gold"}, "Box.kind"),
        ({"size": 1, "label": [1]}, "Box.label"),
        ({"size": 1, "pair": [1]}, "Box.pair: list where 2 entries was expected"),
        ({"size": 1, "by_colour": {"blue": []}}, "Box.by_colour: 'blue' is no Colour"),
        ({"_type": "Crate", "size": 1}, "Box: tagged Crate where a Box was expected"),
        ([], "Box: list where a Box was expected"),
    ],
)
def test_data_that_does_not_fit_is_named_by_its_place(data: Any, place: str) -> None:
    """The error says where, and never what the data said."""
    with pytest.raises(PlainDataError) as caught:
        from_plain(Box, data)

    assert str(caught.value).startswith(place)


def test_a_value_without_plain_form_is_refused() -> None:
    """What JSON cannot hold is an error here, not a surprise later."""
    with pytest.raises(TypeError, match="MessageIdMap has no plain form"):
        to_plain(MessageIdMap())


def classes_in(hint: object) -> Iterator[type]:
    """Every class that a value of the type *hint* may be made of, fields and all."""
    seen: set[object] = set()
    waiting = [hint]
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        waiting += [inner for inner in typing.get_args(each) if typing.get_origin(each) is not Literal]
        if isinstance(each, type) and typing.get_origin(each) is None:
            yield each
            if dataclasses.is_dataclass(each):
                hints = typing.get_type_hints(each)
                waiting += [hints[field.name] for field in dataclasses.fields(each) if field.init and field.compare]
            elif hasattr(each, "_fields"):
                waiting += typing.get_type_hints(each).values()


@pytest.mark.parametrize("kind", [ContextRequest, Contribution])
def test_whatever_a_turn_is_kept_as_can_be_read_again(kind: type) -> None:
    """A class that is written and cannot be read makes every turn that holds one unreadable; none is among them."""
    readable = (Enum, tuple, str, int, float, bool, datetime, dict, list, type(None))
    found = {each for each in classes_in(kind) if not dataclasses.is_dataclass(each)}

    assert RuledChannel in found or kind is Contribution
    assert [each for each in found if each is not object and not issubclass(each, readable)] == []
    assert [each for each in found if issubclass(each, tuple) and not hasattr(each, "_fields")] == []


def test_a_named_tuple_comes_back_as_itself() -> None:
    """Who can read a hidden channel is told by one."""
    here = Readers(
        audience=whole_server("discord", 7), platform="discord", channels=frozenset({RuledChannel("discord", 5, "ab")})
    )

    assert from_plain(Readers, json.loads(json.dumps(to_plain(here)))) == here
