"""Who the owner is, and how to reach them."""

from __future__ import annotations

from familiar_connect.conversation.place_readers import OwnerContact
from tests.fakes.scripted_familiar import ANA, BEN


async def test_without_a_platform_nobody_is_the_owner_and_nobody_is_told() -> None:
    """Nothing is known yet."""
    owner = OwnerContact()

    assert not owner.is_owner(ANA)
    assert await owner.tell("a sentence") is False
    assert not owner.is_reachable


async def test_each_platform_knows_the_owner_while_it_is_connected() -> None:
    """Several at once; one that has gone is asked no more."""
    owner = OwnerContact()
    with owner.connect(is_owner=lambda author: author == ANA):
        with owner.connect(is_owner=lambda author: author == BEN):
            assert [owner.is_owner(each) for each in (ANA, BEN)] == [True, True]
        assert [owner.is_owner(each) for each in (ANA, BEN)] == [True, False]

    assert not owner.is_owner(ANA)


async def test_the_first_way_to_reach_the_owner_is_taken() -> None:
    """A sentence is told once, whatever else is connected."""
    owner, told = OwnerContact(), list[str]()

    async def first(sentence: str) -> None:
        told.append(f"first: {sentence}")

    async def second(sentence: str) -> None:
        told.append(f"second: {sentence}")

    with owner.connect(is_owner=lambda author: False), owner.connect(tell=first), owner.connect(tell=second):
        assert await owner.tell("one") is True
        assert owner.is_reachable
    with owner.connect(tell=second):
        await owner.tell("two")

    assert told == ["first: one", "second: two"]
    assert not owner.is_reachable
