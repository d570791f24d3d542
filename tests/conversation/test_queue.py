"""One reply at a time per channel."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from familiar_connect.chat.types import TurnOptions
from familiar_connect.conversation.queue import MAX_WAITING, ReplyQueue
from familiar_connect.conversation.types import BufferedMessage, Exchange, ResponseTrigger
from tests.fakes.scripted_familiar import ANA, BEN, NOON

DIRECT = ResponseTrigger.direct_address


class Answerer:
    """Keeps each exchange and answers when told to."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.began = asyncio.Semaphore(0)
        self.go_on = asyncio.Semaphore(0)
        self.fails = False

    async def __call__(self, exchange: Exchange, place: Any) -> None:
        self.exchanges.append(exchange)
        self.began.release()
        await self.go_on.acquire()
        if self.fails:
            raise RuntimeError("unforeseen")

    def texts(self) -> list[list[str]]:
        return [[message.text for message in exchange.messages] for exchange in self.exchanges]


def put(queue: ReplyQueue, text: str, channel_id: int = 7) -> None:
    queue.put(channel_id, BufferedMessage(ANA, text, NOON, None), None, trigger=DIRECT)


async def test_what_comes_meanwhile_is_answered_next_in_one_exchange() -> None:
    """In order, and marked as having waited."""
    answer = Answerer()
    queue = ReplyQueue("wren", answer)
    put(queue, "one")
    await answer.began.acquire()
    put(queue, "two")
    put(queue, "three")
    answer.go_on.release()
    answer.go_on.release()
    await queue.wait_until_channel_idle(7)

    assert answer.texts() == [["one"], ["two", "three"]]
    assert [exchange.from_queue for exchange in answer.exchanges] == [False, True]


async def test_channels_do_not_wait_for_each_other() -> None:
    """A slow channel keeps nobody else waiting."""
    answer = Answerer()
    queue = ReplyQueue("wren", answer)
    put(queue, "here", 7)
    put(queue, "there", 8)
    await answer.began.acquire()
    await answer.began.acquire()

    assert sorted(exchange.channel_id for exchange in answer.exchanges) == [7, 8]
    await queue.aclose()


async def test_a_stop_ends_the_reply_and_forgets_what_waited() -> None:
    """And says whether there was one."""
    answer = Answerer()
    queue = ReplyQueue("wren", answer)
    assert await queue.stop(7) is False
    put(queue, "one")
    await answer.began.acquire()
    put(queue, "two")

    assert await queue.stop(7) is True
    await queue.wait_until_channel_idle(7)
    assert answer.texts() == [["one"]]
    assert await queue.stop(7) is False


async def test_what_is_said_while_a_stopped_reply_ends_is_answered() -> None:
    """A message that comes between the stop and its end is not forgotten."""
    ended, answered = asyncio.Event(), []

    async def slow_to_end(exchange: Exchange, place: Any) -> None:
        answered.append(exchange.messages[0].text)
        if len(answered) == 1:
            try:
                await asyncio.Event().wait()
            finally:
                await ended.wait()

    queue = ReplyQueue("wren", slow_to_end)
    put(queue, "one")
    await asyncio.sleep(0)
    stopping = asyncio.create_task(queue.stop(7))
    await asyncio.sleep(0)
    put(queue, "two")
    ended.set()
    await stopping
    await queue.wait_until_channel_idle(7)

    assert answered == ["one", "two"]


async def test_a_reply_that_fails_does_not_keep_the_next_from_being_made(caplog: pytest.LogCaptureFixture) -> None:
    """The failure is logged; what waits is answered."""
    answer = Answerer()
    answer.fails = True
    queue = ReplyQueue("wren", answer)
    put(queue, "one")
    await answer.began.acquire()
    put(queue, "two")
    answer.go_on.release()
    answer.go_on.release()
    await queue.wait_until_channel_idle(7)

    assert answer.texts() == [["one"], ["two"]]
    assert [record.message for record in caplog.records] == ["reply failed", "reply failed"]


async def test_a_flood_is_bounded() -> None:
    """The oldest give way; they are in the history all the same."""
    answer = Answerer()
    queue = ReplyQueue("wren", answer)
    put(queue, "first")
    await answer.began.acquire()
    for number in range(MAX_WAITING + 5):
        put(queue, str(number))
    answer.go_on.release()
    answer.go_on.release()
    await queue.wait_until_channel_idle(7)

    assert len(answer.exchanges[1].messages) == MAX_WAITING
    assert answer.exchanges[1].messages[-1].text == str(MAX_WAITING + 4)


def test_a_queue_serves_one_loop_after_another() -> None:
    """Nothing binds to an event loop at construction."""
    answered: list[str] = []

    async def answer(exchange: Exchange, place: Any) -> None:
        answered.append(exchange.messages[0].text)

    queue = ReplyQueue("wren", answer)

    async def once(text: str) -> None:
        put(queue, text)
        await queue.wait_until_channel_idle(7)

    asyncio.run(once("one"))
    asyncio.run(once("two"))

    assert answered == ["one", "two"]


async def test_the_next_reply_goes_to_the_place_met_last() -> None:
    """With what is known of the channel there."""
    places: list[tuple[Any, Exchange]] = []

    async def respond(exchange: Exchange, place: Any) -> None:
        places.append((place, exchange))

    queue = ReplyQueue("wren", respond)
    queue.set_place(7, "old door")
    queue.set_place(7, "new door", guild_id=5, is_voice=True)
    queue.answer(7, [BufferedMessage(ANA, "hi", NOON)], trigger=ResponseTrigger.lull, may_stay_silent=True)
    await queue.wait_until_channel_idle(7)

    ((place, exchange),) = places
    assert (place, exchange.guild_id, exchange.is_voice) == ("new door", 5, True)
    assert (exchange.trigger, exchange.may_stay_silent) == (ResponseTrigger.lull, True)


async def test_one_who_surely_waits_makes_the_whole_exchange_owe_an_answer() -> None:
    """Whatever else waits with them, before or after."""
    answer = Answerer()
    queue = ReplyQueue("wren", answer)
    put(queue, "one")
    await answer.began.acquire()
    lull, said = ResponseTrigger.lull, [BufferedMessage(ANA, "hm", NOON)]
    queue.answer(7, said, trigger=lull, may_stay_silent=True)
    queue.answer(7, said, trigger=DIRECT)
    queue.answer(7, said, trigger=lull, may_stay_silent=True)
    answer.go_on.release()
    await answer.began.acquire()
    queue.answer(7, said, trigger=lull, may_stay_silent=True)
    answer.go_on.release()
    answer.go_on.release()
    await queue.wait_until_channel_idle(7)

    assert [(e.trigger, e.may_stay_silent) for e in answer.exchanges] == [
        (DIRECT, False),
        (DIRECT, False),
        (lull, True),
    ]


async def test_a_channel_nobody_met_is_not_answered() -> None:
    """There is no door to answer at."""
    answer = Answerer()
    queue = ReplyQueue("wren", answer)
    queue.answer(7, [BufferedMessage(ANA, "hi", NOON)], trigger=DIRECT)

    assert answer.exchanges == []


async def test_what_waits_is_answered_as_it_reads_by_then() -> None:
    """Edited, it has its new words; taken back, it is not answered."""
    answer = Answerer()
    queue = ReplyQueue("wren", answer)
    for row, text in enumerate(["one", "two", "three"], start=1):
        queue.put(7, BufferedMessage(ANA, text, NOON, row), None, trigger=DIRECT)
        if row == 1:
            await answer.began.acquire()
    queue.revise(7, 2, "zwei")
    queue.revise(7, 3, None)
    queue.revise(8, 2, "in a channel nobody knows")
    answer.go_on.release()
    answer.go_on.release()
    await queue.wait_until_channel_idle(7)

    assert answer.texts() == [["one"], ["zwei"]]


async def test_what_is_asked_waits_with_its_message() -> None:
    """E71: messages with which something else is asked are answered apart, each as it was asked."""
    answer = Answerer()
    queue = ReplyQueue("wren", answer)
    wish = TurnOptions(prefill="Well,", manual_prompt="Be brief.")
    put(queue, "one")
    await answer.began.acquire()
    put(queue, "two")
    queue.put(7, BufferedMessage(ANA, "three", NOON, asked=wish), None, trigger=DIRECT)
    put(queue, "four")
    for _ in range(4):
        answer.go_on.release()
    await queue.wait_until_channel_idle(7)

    assert answer.texts() == [["one"], ["two"], ["three"], ["four"]]
    assert [exchange.asked for exchange in answer.exchanges] == [TurnOptions(), TurnOptions(), wish, TurnOptions()]


async def test_a_reply_that_never_ends_is_given_up_for_what_waits(caplog: pytest.LogCaptureFixture) -> None:
    """After its time; alone it may take as long as it likes."""
    answer = Answerer()
    queue = ReplyQueue("wren", answer)
    queue.give_up_s = 0.01
    put(queue, "one")
    await answer.began.acquire()
    put(queue, "two")
    await answer.began.acquire()
    answer.go_on.release()
    await queue.wait_until_channel_idle(7)

    assert answer.texts() == [["one"], ["two"]]
    assert [record.message for record in caplog.records] == ["a reply took too long and was given up"]


async def test_who_asked_is_answered_though_the_reply_was_cut_before_its_first_word() -> None:
    """Once more, together with what came since, and that reply is not ended before it has begun."""
    seen: list[Exchange] = []

    async def cut(exchange: Exchange, place: Any) -> bool:
        seen.append(exchange)
        if len(seen) == 1:
            put(queue, "two")
        return False

    queue = ReplyQueue("wren", cut)
    put(queue, "one")
    await queue.wait_until_channel_idle(7)

    assert [[message.text for message in exchange.messages] for exchange in seen] == [["one"], ["one", "two"]]
    assert [exchange.was_cut for exchange in seen] == [False, True]


async def test_joining_in_that_was_cut_is_let_go() -> None:
    """Nobody waits for it, and the moment has passed."""
    seen: list[Exchange] = []

    async def cut(exchange: Exchange, place: Any) -> bool:
        seen.append(exchange)
        return False

    queue = ReplyQueue("wren", cut)
    queue.put(7, BufferedMessage(ANA, "one", NOON, None), None, trigger=ResponseTrigger.interjection)
    await queue.wait_until_channel_idle(7)

    assert len(seen) == 1


async def test_what_is_withdrawn_is_answered_later_together_with_what_follows() -> None:
    """Nothing begins by itself; the next reply is told of the interruption, and only that one."""
    answer = Answerer()
    queue = ReplyQueue("wren", answer)
    assert await queue.withdraw(7) is False
    put(queue, "one")
    await answer.began.acquire()
    assert await queue.withdraw(7) is True
    await queue.wait_until_channel_idle(7)
    queue.note_interruption(7, "You were interrupted.")
    put(queue, "two")
    answer.go_on.release()
    await queue.wait_until_channel_idle(7)
    put(queue, "three")
    answer.go_on.release()
    await queue.wait_until_channel_idle(7)

    assert answer.texts() == [["one"], ["one", "two"], ["three"]]
    notes = [exchange.interruption_context for exchange in answer.exchanges]
    assert notes == [None, "You were interrupted.", None]


async def test_what_is_withdrawn_can_be_answered_alone() -> None:
    """Where nothing follows."""
    answer = Answerer()
    queue = ReplyQueue("wren", answer)
    put(queue, "one")
    await answer.began.acquire()
    await queue.withdraw(7)
    queue.answer_waiting(7)
    queue.answer_waiting(7)
    answer.go_on.release()
    await queue.wait_until_channel_idle(7)

    assert answer.texts() == [["one"], ["one"]]


async def test_each_of_several_who_ask_gets_a_reply_of_their_own() -> None:
    """In order; what others said before a question goes with it, and two questions of one person go together."""
    answer = Answerer()
    queue = ReplyQueue("wren", answer)
    said = [
        (ANA, "one", True),
        (ANA, "two", True),
        (BEN, "chatter", False),
        (BEN, "three", True),
        (ANA, "four", True),
    ]
    queue.set_place(7, "door")
    messages = [BufferedMessage(who, text, NOON, is_for_us=is_for_us) for who, text, is_for_us in said]
    queue.answer(7, messages, trigger=ResponseTrigger.direct_address)
    for _ in range(3):
        answer.go_on.release()
    await queue.wait_until_channel_idle(7)

    assert answer.texts() == [["one", "two"], ["chatter", "three"], ["four"]]


async def test_where_people_talk_they_are_answered_together() -> None:
    """A spoken reply to each would come when nobody remembers what they asked."""
    answer = Answerer()
    queue = ReplyQueue("wren", answer)
    queue.set_place(7, "door", is_voice=True)
    messages = [BufferedMessage(who, "hm?", NOON, is_for_us=True) for who in (ANA, BEN)]
    queue.answer(7, messages, trigger=ResponseTrigger.direct_address)
    answer.go_on.release()
    await queue.wait_until_channel_idle(7)

    assert answer.texts() == [["hm?", "hm?"]]


async def begin_answer(answer: Answerer, *said: BufferedMessage) -> ReplyQueue:
    """A queue in which the reply to the first asker of *said* is being made."""
    queue = ReplyQueue("wren", answer)
    queue.set_place(7, "door")
    queue.answer(7, said, trigger=DIRECT)
    await answer.began.acquire()
    return queue


async def test_a_question_edited_before_its_answer_is_answered_as_it_reads_now() -> None:
    """The reply under way is begun anew; who asked behind it waits on."""
    answer = Answerer()
    one = BufferedMessage(ANA, "when?", NOON, 1, is_for_us=True)
    two = BufferedMessage(BEN, "and me?", NOON, 2, is_for_us=True)
    queue = await begin_answer(answer, one, two)
    queue.revise(7, 1, "where?")
    await answer.began.acquire()
    for _ in range(2):
        answer.go_on.release()
    await queue.wait_until_channel_idle(7)

    assert answer.texts() == [["when?"], ["where?"], ["and me?"]]


async def test_a_question_deleted_before_its_answer_gets_none() -> None:
    """Nor does what others said around it; who asked behind it is answered, and what was dropped is settled."""
    answer, done = Answerer(), list[str]()

    async def settle(messages: Sequence[BufferedMessage]) -> None:
        done.extend(each.text for each in messages)

    chatter = BufferedMessage(BEN, "nice day", NOON, 1)
    one = BufferedMessage(ANA, "when?", NOON, 2, is_for_us=True)
    two = BufferedMessage(BEN, "and me?", NOON, 3, is_for_us=True)
    queue = ReplyQueue("wren", answer, on_done=settle)
    queue.set_place(7, "door")
    queue.answer(7, [chatter, one, two], trigger=DIRECT)
    await answer.began.acquire()
    queue.revise(7, 2, None)
    await answer.began.acquire()
    answer.go_on.release()
    await queue.wait_until_channel_idle(7)

    assert answer.texts() == [["nice day", "when?"], ["and me?"]]
    assert done == ["nice day", "and me?"]


async def test_a_reply_that_is_being_sent_is_ended_by_whoever_sends_it() -> None:
    """And is not made anew where some of it is out."""
    answer, ended = Answerer(), list[int]()

    async def end_delivery(channel_id: int) -> bool:
        ended.append(channel_id)
        return True

    queue = ReplyQueue("wren", answer, end_delivery=end_delivery)
    queue.set_place(7, "door")
    queue.answer(7, [BufferedMessage(ANA, "when?", NOON, 1, is_for_us=True)], trigger=DIRECT)
    await answer.began.acquire()
    queue.revise(7, 1, "where?")
    await asyncio.sleep(0)
    answer.go_on.release()
    await queue.wait_until_channel_idle(7)

    assert (answer.texts(), ended) == ([["when?"]], [7])
