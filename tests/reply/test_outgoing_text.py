"""A reply's words as the platform writes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.place import PlaceFeatures, PostedMessage, ReplyTarget
from familiar_connect.chat.types import Directives, ListedUser, MessageIdMap
from familiar_connect.context.types import ContextItem, ItemTag, Prompt
from familiar_connect.extensions.discord.mentions import MOST_MENTIONED, DiscordMentions, ids_in_mentions
from familiar_connect.reply.outgoing_text import OutgoingText
from tests.fakes.place import RecordingPlace

PEOPLE = (
    ListedUser(target_id="11", display_label="Ada", aliases=("Ada", "Ada Lowe")),
    ListedUser(target_id="12", display_label="Bo", aliases=("Bo",)),
    ListedUser(target_id="webhook:9", display_label="Hook", aliases=("Hook",), mentionable=False),
)
EMOJIS: tuple[Any, ...] = (
    SimpleNamespace(name="tea", id=7, animated=False),
    SimpleNamespace(name="Tea", id=9, animated=True),
)


class MarkingPlace(RecordingPlace):
    """A place with Discord's spelling that posts once."""

    @property
    def features(self) -> PlaceFeatures:
        return replace(super().features, edits=True, edit_interval_s=1.0, posts_once=True)

    def text_marks(self, users: Sequence[ListedUser]) -> DiscordMentions:
        return DiscordMentions(users, EMOJIS)

    async def post(self, text: str) -> object:
        return text

    async def edit(self, posted: object, text: str) -> None:
        raise NotImplementedError

    async def post_once(self, text: str, nonce: str, *, target: ReplyTarget | None = None) -> PostedMessage:
        return PostedMessage(message_id="1", text=text)

    async def own_posts(self, after: str) -> Sequence[PostedMessage]:
        return ()


def text_at(place: RecordingPlace) -> OutgoingText:
    """Words for *place*, of a model that was shown PEOPLE and one message as `ref_1`."""
    ids = MessageIdMap()
    ids.register("555")
    told = ContextItem.of("user", "People here", tag=ItemTag.PARTICIPANTS, source="participants")
    items = (ContextItem(role="user", parts=told.parts, tag=told.tag, source=told.source, users=PEOPLE),)
    text = OutgoingText(place)
    text.prepare(Prompt(items=items, directives=Directives(), message_ids=ids, dropped=()))
    return text


def test_people_and_emojis_are_marked_outside_of_code() -> None:
    """By any of a person's handles, in any case; of two emojis of one name the later made."""
    text = text_at(MarkingPlace())

    assert text.encode("@{ada lowe} :TEA: `:tea:` @{Hook} <:tea:1> <:cup:2>") == (
        "<@11> <a:Tea:9> `:tea:` Hook <a:Tea:9> :cup:"
    )
    assert text.decode("<@11> <a:Tea:9> `<@11>` <@77>") == "@{Ada} :Tea: `<@11>` <@77>"


def test_one_reply_pings_only_so_many() -> None:
    """The rest are named."""
    many = [ListedUser(target_id=str(n), display_label=f"P{n}", aliases=(f"P{n}",)) for n in range(100, 110)]
    said = DiscordMentions(many, ()).encode(" ".join(f"@{{P{n}}}" for n in range(100, 110)))

    assert len(ids_in_mentions(said)) == MOST_MENTIONED
    assert said.endswith("P108 P109")


def test_a_handle_at_the_beginning_aims_the_reply() -> None:
    """In the forms models write it; one that nobody knows is taken off all the same."""
    for written in ("[ref_1] Yes.", "(ref_1) Yes.", "ref_1: Yes.", " @ref_1: Yes.", "[Ref_1] Yes.", "REF_1: Yes."):
        text = text_at(MarkingPlace())
        assert text.encode(written) == "Yes."
        assert text.target() == ReplyTarget(message_id="555", newest_id="555", is_aimed=True)
    text = text_at(MarkingPlace())
    assert text.encode("[ref_2] Yes.") == "Yes."
    assert text.target() is None


def test_a_place_without_a_spelling_gets_the_words() -> None:
    """The terminal, say; without handles, which are for the model alone."""
    assert text_at(RecordingPlace()).encode("[ref_1] @{Ada} :tea:") == "@{Ada} :tea:"


def test_a_handle_in_the_midst_of_words_is_taken_out() -> None:
    """Whoever it stands for."""
    assert text_at(MarkingPlace()).encode("Yes (ref_7), and [media_2] no [ref_1].") == "Yes , and no ."
    assert text_at(MarkingPlace()).encode("Yes (Ref_7), and [MEDIA_2] no [Ref_1].") == "Yes , and no ."


WRITTEN = st.lists(
    st.sampled_from(
        [
            "@{Ada}",
            "@{",
            "@",
            "{Bo}",
            ":tea:",
            ":",
            "tea",
            "`",
            "```",
            "\n",
            " ",
            "<@11>",
            "<",
            ">",
            "a",
            "[ref_1]",
            "(ref_9)",
        ]
    ),
    max_size=30,
).map("".join)


@pytest.mark.parametrize("make_place", [MarkingPlace, RecordingPlace])
@given(written=WRITTEN, sizes=st.lists(st.integers(1, 5), min_size=1, max_size=10))
async def test_words_that_come_in_pieces_are_marked_as_if_they_came_at_once(
    make_place: Callable[[], Any], written: str, sizes: list[int]
) -> None:
    """Nothing is shown that would have to be taken back."""

    async def pieces() -> AsyncIterator[str]:
        rest = written
        for size in sizes * (len(written) + 1):
            if not rest:
                return
            yield rest[:size]
            rest = rest[size:]

    whole = text_at(make_place()).encode(written)
    came = "".join([piece async for piece in text_at(make_place()).encode_stream(pieces())])

    assert came == whole
