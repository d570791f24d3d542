"""How much of a prompt a model has met before."""

from __future__ import annotations

from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.llm.types import ImagePart, Message
from familiar_connect.observe.prompt_diff import PrefixMeter, PrefixShare, common_length, measure_prefix

SYSTEM = Message("system", "s" * 393)  # with its role: a hundred tokens
messages = st.lists(
    st.builds(Message, role=st.sampled_from(["system", "user"]), content=st.text(alphabet="ab", max_size=6)), max_size=4
)


def test_a_first_prompt_shares_nothing() -> None:
    """There is no prompt before."""
    share = measure_prefix(None, [SYSTEM])

    assert (share.ratio, share.shared_tokens, share.ended_by) == (0.0, 0, 0)


def test_the_same_prompt_is_shared_whole() -> None:
    """Nothing ends the sharing."""
    share = measure_prefix([SYSTEM], [Message("system", "s" * 393)])

    assert share == PrefixShare(1.0, share.total_tokens, share.total_tokens, None)


def test_a_new_message_ends_the_sharing_where_it_stands() -> None:
    """What was there before is shared, the new message is not."""
    share = measure_prefix([SYSTEM], [SYSTEM, Message("user", "new")])

    assert (share.ended_by, share.shared_tokens, 0.9 < share.ratio < 1) == (1, 101, True)


def test_sharing_reaches_into_the_first_message_that_differs() -> None:
    """A long message that changes at its end is mostly shared."""
    share = measure_prefix([Message("system", "x" * 400 + "a")], [Message("system", "x" * 400 + "b")])

    assert (share.ended_by, share.ratio > 0.98, share.ratio < 1) == (0, True, True)


def test_another_picture_ends_the_sharing() -> None:
    """Pictures stand before the text of their message."""
    seen = Message("user", "look", media=(ImagePart("a", "image/png"),))
    new = Message("user", "look", media=(ImagePart("b", "image/png"),))

    assert measure_prefix([seen], [new]).shared_tokens == 0


@given(messages, messages)
def test_a_share_is_a_share(before: list[Message], now: list[Message]) -> None:
    """Never below nothing, never above everything; whole exactly when nothing ended it."""
    share = measure_prefix(before, now)

    assert 0 <= share.shared_tokens <= share.total_tokens
    assert (share.ended_by is None) == (now == before[: len(now)])


@given(st.text(alphabet="ab"), st.text(alphabet="ab"))
def test_the_common_length_is_found_by_halving(one: str, other: str) -> None:
    """Halving finds what comparing letter by letter finds."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))

    assert common_length(one, other) == len(list(same))


def test_a_meter_compares_each_channel_with_itself() -> None:
    """Channels do not disturb each other, and a message changed afterwards does not count."""
    meter = PrefixMeter()
    mine = Message("system", "mine")
    meter.measure(1, [mine])
    mine.content = "changed"
    other = meter.measure(2, [Message("system", "other")])

    again = meter.measure(1, [Message("system", "mine")])

    assert (other.ratio, again.ratio) == (0.0, 1.0)


def test_a_meter_forgets_the_channel_silent_longest() -> None:
    """Memory is bounded by the number of channels."""
    meter = PrefixMeter(channels=2)
    for channel in (1, 2, 1, 3):
        meter.measure(channel, [SYSTEM])

    assert [meter.measure(channel, [SYSTEM]).ratio for channel in (1, 2)] == [1.0, 0.0]


def test_the_share_is_noted_under_fixed_names() -> None:
    """A trace and the inspector agree on them."""
    assert PrefixShare(0.91234567, 10, 11, 1).facts() == {
        "prefix_ratio": 0.9123,
        "prefix_shared_tokens": 10,
        "prefix_total_tokens": 11,
        "prefix_ended_by": 1,
    }


def test_without_a_prompt_before_no_share_is_claimed() -> None:
    """A run that has just begun knows nothing of the last one."""
    meter = PrefixMeter()
    first, second = meter.measure(1, [SYSTEM]).facts(), meter.measure(1, [SYSTEM]).facts()

    assert (first.get("prefix_ratio"), first["prefix_compared"]) == (None, False)
    assert second["prefix_ratio"] == 1.0
