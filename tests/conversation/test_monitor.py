"""When the familiar speaks among others."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.config.types import DecideWith, Interjection
from familiar_connect.conversation.monitor import ConversationMonitor
from familiar_connect.conversation.types import ResponseTrigger
from familiar_connect.errors import ModelError
from familiar_connect.identity import Author, FixedPrivacy, PrivacyLevel
from familiar_connect.llm.types import Capabilities, Message
from tests.fakes.monitored_channel import NO, YES, MonitoredChannel
from tests.fakes.scripted_familiar import ANA, BEN, CHANNEL
from tests.fakes.waiting import until

DIRECT, UNASKED, LULL = ResponseTrigger.direct_address, ResponseTrigger.interjection, ResponseTrigger.lull


def ask_about(number: int) -> str:
    """A question to whoever is there, about which a model may be asked."""
    return f"what of the number {number}?"


class Weak:
    """A model that is too small to be asked."""

    capabilities = Capabilities(side_tasks=False)

    async def chat(self, messages: list[Any]) -> None:
        raise AssertionError("a weak model was asked")


class Strong:
    capabilities = Capabilities()


async def test_being_named_is_answered_at_once_with_everything_said_since() -> None:
    """The talk before the name belongs to the answer."""
    company = MonitoredChannel([YES])
    await company.say("It is cold.")
    await company.say("Ember, warm us!", author=BEN)

    assert company.decisions == [("respond", ["It is cold.", "Ember, warm us!"], DIRECT)]
    assert company.timers.waiting == []


async def test_a_no_to_a_direct_address_is_told_and_forgets_the_talk() -> None:
    """What was judged is not judged again."""
    company = MonitoredChannel([NO, YES])
    await company.say("I told Ember yesterday.")
    await company.pass_quiet_time()
    await company.say("Our Ember?")

    assert company.decisions == [
        ("silence", ["I told Ember yesterday."], DIRECT),
        ("respond", ["Our Ember?"], DIRECT),
    ]
    assert len(company.judge.asked) == 2


async def test_after_so_many_messages_it_looks_at_joining_in() -> None:
    """The third message of a very eager one."""
    company = MonitoredChannel([YES])
    for number in range(1, 5):
        await company.say(ask_about(number))

    assert company.decisions == [("respond", [ask_about(number) for number in range(1, 4)], UNASKED)]


async def test_what_was_said_while_we_were_away_is_no_occasion_to_join_in() -> None:
    """It counts, and is looked at when somebody calls, all falls quiet, or the talk goes on."""
    company = MonitoredChannel([YES])
    for number in range(1, 10):
        await company.say(str(number), is_old_news=True)
    unasked = list(company.decisions)
    await company.say("and what comes now?")

    assert unasked == []
    assert company.decisions == [("respond", [*map(str, range(1, 10)), "and what comes now?"], UNASKED)]


async def test_a_no_brings_the_next_look_sooner() -> None:
    """Nine messages, then six, then three and never fewer."""
    company = MonitoredChannel([NO], interjection=Interjection.average)
    for number in range(1, 25):
        await company.say(ask_about(number))

    assert [texts[-1] for _, texts, _ in company.decisions] == [ask_about(number) for number in (9, 15, 18, 21, 24)]
    assert {trigger for _, _, trigger in company.decisions} == {UNASKED}


async def test_a_yes_begins_the_count_anew() -> None:
    """After it spoke the first interval counts again."""
    company = MonitoredChannel([NO, YES], interjection=Interjection.eager)
    for number in range(1, 16):
        await company.say(ask_about(number))

    assert [(kind, texts[-1]) for kind, texts, _ in company.decisions] == [
        ("silence", ask_about(6)),
        ("respond", ask_about(9)),
        ("respond", ask_about(15)),
    ]


async def test_a_lull_is_a_quiet_after_the_last_message() -> None:
    """Each message starts the wait anew."""
    company = MonitoredChannel([YES])
    await company.say("hm")
    await company.pass_quiet_time(9)
    await company.say("what is that sound?")
    await company.pass_quiet_time(9)
    assert company.decisions == []
    await company.pass_quiet_time(1)

    assert company.decisions == [("respond", ["hm", "what is that sound?"], LULL)]


async def test_the_end_of_an_utterance_is_a_lull_of_its_own() -> None:
    """Nobody waits for a timer where speech says when it ended."""
    company = MonitoredChannel([NO])
    await company.say("so I said", is_lull_endpoint=True)

    assert company.decisions == [("silence", ["so I said"], LULL)]
    assert company.timers.waiting == []


async def test_a_lull_that_is_let_pass_keeps_the_count() -> None:
    """Three messages are three messages, however slowly they come."""
    company = MonitoredChannel([NO])
    for text in ("one", "two", "three"):
        await company.say(text)
        await company.pass_quiet_time()

    assert [(texts, trigger) for _, texts, trigger in company.decisions] == [
        (["one"], LULL),
        (["two"], LULL),
        (["three"], UNASKED),
    ]


@pytest.mark.parametrize(
    ("text", "is_mention"),
    [
        ("Ember, warm us!", False),
        ("ember?", False),
        ("Hey Ember, are you there", False),
        ("good morning, Ember!", False),
        ("**Ember** look", False),
        ("warm us", True),
    ],
)
async def test_whoever_calls_it_by_name_is_answered_without_asking_anybody(text: str, is_mention: bool) -> None:
    """A name that opens a message, or a mention, is never voted away."""
    company = MonitoredChannel([NO])
    await company.say(text, is_mention=is_mention)

    assert company.decisions == [("respond", [text], DIRECT)]
    assert company.judge.asked == []


async def test_what_comes_while_it_thinks_stays_after_a_no() -> None:
    """Only what was judged is let pass."""
    company = MonitoredChannel([NO, YES])
    company.judge.held = asyncio.Event()
    looking = asyncio.create_task(company.say("Our Ember left."))
    await until(lambda: company.judge.asked)
    await company.say("and what came then?")
    company.judge.held.set()
    await looking
    await company.pass_quiet_time()

    assert company.decisions == [
        ("silence", ["Our Ember left."], DIRECT),
        ("respond", ["and what came then?"], LULL),
    ]


async def test_a_mention_is_never_voted_away() -> None:
    """Whoever mentions the familiar waits for it: no model is asked, however slow or unwilling."""
    company = MonitoredChannel([NO])
    await company.say("are you there?", is_mention=True)

    assert company.decisions == [("respond", ["are you there?"], DIRECT)]
    assert company.judge.asked == []


async def test_what_comes_while_it_thinks_is_answered_with_a_yes() -> None:
    """Once, and in one piece."""
    company = MonitoredChannel([YES])
    company.judge.held = asyncio.Event()
    first = asyncio.create_task(company.say("Our Ember!"))
    await until(lambda: company.judge.asked)
    others = [asyncio.create_task(company.say(f"Our Ember {number}")) for number in range(5)]
    await asyncio.sleep(0)
    company.judge.held.set()
    await asyncio.gather(first, *others)

    assert company.decisions == [("respond", ["Our Ember!", *(f"Our Ember {number}" for number in range(5))], DIRECT)]
    assert len(company.judge.asked) == 1


async def test_looks_of_one_channel_come_one_after_another_those_of_two_do_not_wait() -> None:
    """A slow judge in one channel keeps no other waiting."""
    company = MonitoredChannel([NO])
    company.judge.held = asyncio.Event()
    here = [asyncio.create_task(company.say("Our Ember")) for _ in range(3)]
    await until(lambda: company.judge.under_way == 1)
    there = asyncio.create_task(company.say("Our Ember", channel_id=CHANNEL + 1))
    await until(lambda: company.judge.under_way == 2)
    company.judge.held.set()
    await asyncio.gather(*here, there)

    assert company.judge.most_under_way == 2


async def test_a_cleared_channel_waits_for_nothing_and_a_verdict_on_it_is_void() -> None:
    """Unknown channels can be cleared too."""
    company = MonitoredChannel([YES])
    company.monitor.clear_channel(99)
    await company.say("hm")
    company.monitor.clear_channel(CHANNEL)
    assert company.timers.waiting == []
    company.judge.held = asyncio.Event()
    looking = asyncio.create_task(company.say("Our Ember!"))
    await until(lambda: company.judge.asked)
    company.monitor.clear_channel(CHANNEL)
    company.judge.held.set()
    await looking

    assert company.decisions == []


async def test_an_error_counts_as_no_and_a_direct_address_gets_a_second_look(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is logged as an error, not as a decision, and without what was said."""
    company = MonitoredChannel([ModelError("no xylophones"), YES])
    await company.say("Our Ember, my xylophone?")
    assert company.decisions == [("silence", ["Our Ember, my xylophone?"], DIRECT)]
    await company.pass_quiet_time()

    assert company.decisions[1:] == [("respond", ["Our Ember, my xylophone?"], LULL)]
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.message for record in errors] == ["whether to speak could not be decided"]
    assert "xylophone" not in str([record.__dict__ for record in errors])


async def test_a_second_look_that_fails_too_is_the_last() -> None:
    """A judge that is ill is not asked for ever."""
    company = MonitoredChannel([ModelError("ill")])
    await company.say("Our Ember?")
    await company.pass_quiet_time()
    await company.pass_quiet_time()

    assert len(company.judge.asked) == 2


async def test_the_judge_sees_who_it_is_the_last_five_turns_and_what_is_new() -> None:
    """New messages are in the history already and are not shown twice."""
    company = MonitoredChannel([YES])
    for number in range(8):
        company.history.append_turn(
            familiar_id="ember", channel_id=CHANNEL, role="user", content=f"old {number}", author=BEN
        )
    row = company.history.append_turn(
        familiar_id="ember", channel_id=CHANNEL, role="user", content="Our Ember, look", author=ANA
    )
    await company.say("Our Ember, look", history_id=row.id)
    system, user = company.judge.asked[0]

    assert (system.role, user.role) == ("system", "user")
    assert all(words in system.content for words in ("YES or NO", "Ember", "A small fire spirit.", "speaks rarely"))
    assert "Recent conversation:" in user.content
    assert [f"old {number}" in user.content for number in range(8)] == [False] * 3 + [True] * 5
    assert user.content.count("Our Ember, look") == 1
    assert "Ana: Our Ember, look" in user.content


async def test_without_row_numbers_stored_messages_are_not_shown_twice_either() -> None:
    """They are known by who said what, last."""
    company = MonitoredChannel([YES])
    for text in ("old", "Our Ember, look"):
        company.history.append_turn(familiar_id="ember", channel_id=CHANNEL, role="user", content=text, author=ANA)
    await company.say("Our Ember, look")

    shown = company.judge.asked[0][1].content
    assert shown.count("Our Ember, look") == 1
    assert "user (Ana): old" in shown


async def test_a_weak_side_model_is_never_asked_and_rules_decide() -> None:
    """Answer whoever speaks to it, and a question left hanging; join in unasked never."""
    company = MonitoredChannel(llm_client=Weak())
    for text in ("one", "two", "three"):
        await company.say(text)
    await company.say("Does anyone know?")
    await company.pass_quiet_time()
    await company.say("Ember!")

    assert [(kind, texts[-1], trigger) for kind, texts, trigger in company.decisions] == [
        ("silence", "three", UNASKED),
        ("respond", "Does anyone know?", LULL),
        ("respond", "Ember!", DIRECT),
    ]


class Small:
    """A model that may be asked, and that tells a call worse than the rules."""

    capabilities = Capabilities(repeats_itself=True)

    def __init__(self) -> None:
        self.asked = 0

    async def chat(self, messages: list[Any]) -> Message:
        self.asked += 1
        return Message(role="assistant", content=YES)


@pytest.mark.parametrize(("how", "votes"), [("auto", 0), ("side_model", 2)])
async def test_a_small_model_votes_on_uses_of_the_name_only_where_the_owner_says_so(how: str, votes: int) -> None:
    """Of itself the likelier of the two readings counts, as by rules; on joining in the model is still asked."""
    small = Small()
    company = MonitoredChannel(llm_client=small, decide_with=DecideWith(how), interjection=Interjection.very_eager)
    await company.say("I told Ember yesterday.")
    await company.say("Our Ember?")
    voted = small.asked
    for number in range(1, 4):
        await company.say(ask_about(number))

    assert voted == votes
    assert small.asked == votes + 1
    assert company.decisions[0][0] == ("respond" if votes else "silence")


@pytest.mark.parametrize(
    ("wanted", "side", "main", "how"),
    [
        ("auto", Strong, Strong, "side_model"),
        ("auto", Weak, Strong, "reply"),
        ("auto", Weak, Weak, "rules"),
        ("side_model", Weak, Strong, "rules"),
        ("reply", Strong, Strong, "reply"),
        ("reply", Strong, Weak, "rules"),
        ("rules", Strong, Strong, "rules"),
    ],
)
def test_a_model_too_small_for_its_way_leaves_the_next(wanted: str, side: type, main: type, how: str) -> None:
    """No setting asks more of a model than it can do."""
    company = MonitoredChannel(llm_client=side(), reply_model=main(), decide_with=DecideWith(wanted))

    assert company.monitor.decision_mode() is DecideWith(how)


async def test_where_the_reply_decides_silence_keeps_the_count_and_speaking_begins_it_anew() -> None:
    """A look that led to nothing brings the next one sooner."""
    company = MonitoredChannel(llm_client=Weak(), reply_model=Strong(), interjection=Interjection.eager)
    for number in range(1, 10):
        await company.say(ask_about(number))
    first, second = company.decisions
    assert (first[1][-1], second[1][-1]) == (ask_about(6), ask_about(9))
    await company.monitor.on_reply_done(CHANNEL, [], UNASKED, spoke=False)
    assert company.decisions[-1] == ("silence", [], UNASKED)
    await company.monitor.on_reply_done(CHANNEL, [], UNASKED, spoke=True)
    for number in range(10, 16):
        await company.say(ask_about(number))

    assert company.decisions[-1][1][-1] == ask_about(15)


async def test_a_mention_is_owed_an_answer_a_name_is_not() -> None:
    """Where the reply may be silence, it may not be towards someone who surely waits."""
    company = MonitoredChannel(llm_client=Weak(), reply_model=Strong())
    owed: list[bool] = []

    async def respond(channel_id: int, messages: Any, trigger: Any) -> None:
        owed.append(not company.monitor.may_stay_silent(messages))

    company.monitor.on_respond = respond
    await company.say("I met Ember.")
    await company.say("hello", is_mention=True)
    await company.say("hello", is_private=True)

    assert owed == [False, True, True]


async def test_between_two_every_message_is_answered_and_nobody_is_asked() -> None:
    """A question of whether would be an insult."""
    company = MonitoredChannel([NO])
    await company.say("hm", is_private=True)

    assert company.decisions == [("respond", ["hm"], DIRECT)]
    assert company.judge.asked == []


async def test_someone_who_asks_not_to_be_heard_is_left_out_of_what_waits() -> None:
    """What they said a moment ago is neither judged nor answered."""
    levels: dict[str, PrivacyLevel] = {}
    company = MonitoredChannel([YES], privacy=FixedPrivacy(levels))
    await company.say("my secret")
    levels[ANA.canonical_key] = PrivacyLevel.FULL
    await company.say("Ember?", author=BEN)

    assert company.decisions == [("respond", ["Ember?"], DIRECT)]
    assert "secret" not in str(company.judge.asked)


def test_a_monitor_outlives_its_loops() -> None:
    """Built outside of any, used in one after another; a timer left behind can be cancelled."""
    company = MonitoredChannel([YES])
    monitor = ConversationMonitor(
        "Ember", [], "", Interjection.quiet, 60.0, company.judge, "", company.history, company.monitor.on_respond
    )
    asyncio.run(monitor.on_message(1, ANA, "hm", is_mention=False))
    asyncio.run(monitor.on_message(1, ANA, "Ember", is_mention=False))
    asyncio.run(monitor.on_message(2, ANA, "hm", is_mention=False))
    asyncio.run(monitor.aclose())

    assert company.decisions == [("respond", ["hm", "Ember"], DIRECT)]


async def test_a_real_lull_goes_off_by_itself() -> None:
    """Without timers of ours the loop's are used."""
    answered = asyncio.Event()

    async def respond(*facts: Any) -> None:
        answered.set()

    company = MonitoredChannel([YES])
    monitor = ConversationMonitor("Ember", [], "", Interjection.quiet, 0.0, company.judge, "", None, respond)
    await monitor.on_message(1, ANA, ask_about(1), is_mention=False)
    await asyncio.wait_for(answered.wait(), 100)
    await monitor.aclose()


async def test_channels_are_labelled_as_people_name_them() -> None:
    """And an unknown one by its number."""
    monitor = MonitoredChannel().monitor
    monitor.register_channel_name(1, "general")
    monitor.register_channel_context(2, name="ideas", kind="thread", parent_name="general")

    assert [monitor.format_channel_context(id_) for id_ in (1, 2, 3)] == ["#general", "#general -> ideas", "3"]
    assert monitor.channel_context(3) is None


EVENT = st.one_of(
    st.tuples(st.just("say"), st.integers(1, 2), st.sampled_from(["hm", "Ember", "so?"])),
    st.tuples(st.just("quiet"), st.sampled_from([4.0, 11.0]), st.just("")),
    st.tuples(st.just("let go"), st.just(0), st.just("")),
)


@given(st.lists(EVENT, max_size=30), st.lists(st.sampled_from([YES, NO]), min_size=1, max_size=12))
async def test_whatever_happens_each_message_is_told_of_once_and_in_order(
    events: list[tuple[str, Any, str]], answers: list[str]
) -> None:
    """Messages, lulls and slow verdicts in any order: none lost, none doubled."""
    company = MonitoredChannel([*answers, NO])
    told: dict[int, list[str]] = {1: [], 2: []}

    async def tell(channel_id: int, messages: Any, trigger: Any) -> None:
        told[channel_id] += [message.text for message in messages]

    company.monitor.on_respond = company.monitor.on_silence = tell
    company.judge.held = asyncio.Event()
    said: dict[int, list[str]] = {1: [], 2: []}
    talking: list[asyncio.Task[None]] = []
    for number, (what, argument, text) in enumerate(events):
        if what == "say":
            said[argument].append(f"{text} {number}")
            talking.append(asyncio.create_task(company.say(said[argument][-1], channel_id=argument)))
        elif what == "quiet":
            company.timers.pass_time(argument)
        else:
            company.judge.held.set()
            company.judge.held = asyncio.Event()
        await asyncio.sleep(0)
    company.judge.held.set()
    company.judge.held = None
    await asyncio.gather(*talking)
    await company.monitor.wait_until_idle()
    await company.pass_quiet_time(20)

    assert told == said
    company.history.close()


async def test_a_mention_that_comes_while_another_look_waits_is_not_voted_away() -> None:
    """Whatever began the look that sees it: it is answered, and nobody is asked."""
    company = MonitoredChannel([NO, NO])
    await company.say("one")
    await company.say("two")
    channel = company.monitor._channels.get(CHANNEL)
    async with channel.lock:
        unasked = asyncio.create_task(company.say("three"))
        await until(lambda: UNASKED in channel.queued_triggers)
        called = asyncio.create_task(company.say("you there?", is_mention=True))
        await until(lambda: DIRECT in channel.queued_triggers)
    await asyncio.gather(unasked, called)

    assert company.decisions == [("respond", ["one", "two", "three", "you there?"], DIRECT)]
    assert company.judge.asked == []


@pytest.mark.parametrize(
    "talk",
    [
        [(ANA, "the bus was late again today")],
        [(ANA, "really?")],
        [(ANA, "does anybody have a spare key?"), (BEN, "yes, in the drawer")],
        [(BEN, "morning"), (ANA, "Ben, do we have any bread left?")],
        [(ANA, "i am home"), (BEN, "good"), (ANA, "how was your day?")],
    ],
)
async def test_where_rules_can_tell_nobody_is_asked(talk: list[tuple[Author, str]]) -> None:
    """No question, two words, one that was taken up, one to somebody else, a talk among others: a lull passes."""
    company = MonitoredChannel([YES], interjection=Interjection.very_quiet)
    for author, text in talk:
        await company.say(text, author=author)
    await company.pass_quiet_time()

    assert [(kind, trigger) for kind, _, trigger in company.decisions] == [("silence", LULL)]
    assert company.judge.asked == []


async def test_a_question_to_the_room_is_put_to_the_model_also_in_a_talk_of_others() -> None:
    """With a question mark or without one."""
    company = MonitoredChannel([YES], interjection=Interjection.very_quiet)
    await company.say("i am home", author=BEN)
    await company.say("what was the name of that film with the lighthouse")
    await company.pass_quiet_time()

    assert [(kind, trigger) for kind, _, trigger in company.decisions] == [("respond", LULL)]
    assert len(company.judge.asked) == 1
