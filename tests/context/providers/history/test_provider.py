"""Recent turns, the rolling summary, and news from elsewhere."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest

from familiar_connect.config.types import ChannelMode
from familiar_connect.context.providers import history
from familiar_connect.context.providers.history import HistoryProvider
from familiar_connect.context.providers.history.provider import NEWS_EVERY_TURNS, HistoryOptions
from familiar_connect.context.providers.history.summaries import MAX_NEWS_CHARS, MAX_PARAGRAPH_CHARS, MAX_SUMMARY_CHARS
from familiar_connect.context.types import Contribution, Layer
from familiar_connect.errors import ModelError
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author, FixedPrivacy, PrivacyLevel
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities, Message
from familiar_connect.support.aio import IdleGate
from familiar_connect.support.clock import ManualClock
from familiar_connect.support.tokens import estimate_tokens
from tests.fakes.context import ADA, BO, a_request

CHAT = ChannelMode.text_conversation_rp


class World:
    """A store with a clock, and short ways to fill it."""

    def __init__(self) -> None:
        self.clock = ManualClock(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
        self.store = HistoryStore(":memory:", clock=self.clock)

    def say(self, content: str, channel: int = 7, author: Author | None = ADA, mode: Any = None) -> HistoryTurn:
        role = "user" if author else "assistant"
        return self.store.append_turn(
            familiar_id="wren", channel_id=channel, role=role, content=content, author=author, mode=mode
        )

    def fill(self, turns: int, channel: int = 7, first: int = 0) -> None:
        for number in range(first, first + turns):
            self.say(f"<{number}>", channel)

    def provider(self, *answers: Any, **more: Any) -> tuple[HistoryProvider, ScriptedModel]:
        model = ScriptedModel(answers)
        return HistoryProvider(store=self.store, llm_client=model, **more), model


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.store.close()


async def told(provider: HistoryProvider, **request: Any) -> dict[str, Contribution]:
    return {c.source: c for c in await provider.contribute(a_request(**request))}


def asked(model: ScriptedModel, call: int = -1) -> str:
    (message,) = model.calls[call]
    assert message.role == "user"
    return message.content


def test_names_and_defaults_are_as_promised() -> None:
    """Others rank by them."""
    assert [
        history.HISTORY_RECENT_PRIORITY,
        history.HISTORY_SUMMARY_PRIORITY,
        history.CROSS_CONTEXT_PRIORITY,
        history.DEFAULT_WINDOW_SIZE,
        history.DEFAULT_DEADLINE_S,
        history.DEFAULT_SUMMARY_TIMEOUT_S,
    ] == [80, 60, 55, 20, 15.0, 12.0]
    assert (HistoryProvider.id, HistoryProvider.deadline_s) == ("history", 15.0)


@pytest.mark.parametrize("size", [0, -1])
def test_a_window_needs_a_size(world: World, size: int) -> None:
    """Nought or less is refused."""
    with pytest.raises(ValueError, match="window_size"):
        world.provider(window_size=size)


# Recent turns


async def test_an_empty_history_gives_nothing(world: World) -> None:
    """And asks nobody."""
    provider, model = world.provider()

    assert (await provider.contribute(a_request()), model.calls) == ([], [])


async def test_the_last_turns_of_the_channel_come_as_items(world: World) -> None:
    """The text holds the same turns as a transcript; the tokens are those of the items as sent."""
    world.fill(3)
    world.say("hm", author=None)
    world.say("elsewhere", channel=9)
    provider, _ = world.provider(window_size=3, summary_lag=99)
    recent = (await told(provider))["history:recent"]

    assert [item.text for item in recent.items] == ["Ada: <1>", "Ada: <2>", "hm"]
    assert recent.text == "user (Ada): <1>\nuser (Ada): <2>\nassistant: hm"
    assert (recent.layer, recent.priority) == (Layer.recent_history, 80)
    assert recent.estimated_tokens == sum(estimate_tokens(item.text) for item in recent.items)


async def test_only_turns_before_the_exchange_are_told(world: World) -> None:
    """What is being answered comes with the request; a channel without earlier turns gets nothing."""
    world.fill(2)
    first = world.say("being answered")
    provider, _ = world.provider()

    assert len((await told(provider, before_id=first.id))["history:recent"].items) == 2
    assert await told(provider, before_id=1) == {}


async def test_a_mode_sees_its_own_turns(world: World) -> None:
    """The request's mode, else the provider's; the marks follow it."""
    world.say("chatted", mode=CHAT)
    world.say("played", mode=ChannelMode.full_rp)
    provider, _ = world.provider(mode=ChannelMode.full_rp)

    assert [i.text for i in (await told(provider))["history:recent"].items] == ["Ada: played"]
    assert [i.text for i in (await told(provider, mode=CHAT))["history:recent"].items] == ["[12:00] Ada: chatted"]


async def test_a_stepped_window_holds_its_start(world: World) -> None:
    """It grows to two windows less one, then falls back to one."""
    provider, _ = world.provider(window_size=4, options=HistoryOptions(step=4), summary_lag=1000)
    shown = []
    for number in range(13):
        world.say(f"<{number}>")
        items = (await told(provider))["history:recent"].items
        shown.append((items[0].text, len(items)))

    assert [length for _, length in shown] == [1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5]
    assert {text for text, _ in shown} == {"Ada: <0>", "Ada: <4>", "Ada: <8>"}


# The rolling summary


async def test_the_summary_is_there_next_turn(world: World) -> None:
    """Twenty-five turns, a window of ten: one call in the background reads turns 0 to 14, and no more."""
    world.fill(25)
    provider, model = world.provider("  The story so far. ", window_size=10)
    first = await told(provider)
    await provider.refresher.background.wait_until_idle()
    second = await told(provider)
    await provider.refresher.background.wait_until_idle()

    assert list(first) == ["history:recent"]
    assert [f"<{n}>" in asked(model) for n in (0, 14, 15)] == [True, True, False]
    assert "Summarise the following" in asked(model)
    assert second["history:summary"].text == "2026-03-01: The story so far."
    assert (second["history:summary"].layer, second["history:summary"].priority) == (Layer.history_summary, 60)
    assert len(model.calls) == 1


async def test_no_summary_is_wanted_while_everything_is_shown(world: World) -> None:
    """Not before the familiar has more turns than the lag."""
    world.fill(10)
    provider, model = world.provider(window_size=10)
    await told(provider)
    await provider.refresher.background.wait_until_idle()

    assert model.calls == []


async def test_a_refresh_reads_only_what_is_new_and_adds_a_paragraph(world: World) -> None:
    """Oldest first; and only when enough has happened since."""
    world.fill(12)
    provider, model = world.provider("First.", "Second.", window_size=10, options=HistoryOptions(refresh_every_turns=5))
    for first, turns in ((12, 0), (12, 4), (16, 1)):
        world.fill(turns, first=first)
        await told(provider)
        await provider.refresher.background.wait_until_idle()
    prompt = asked(model)

    assert len(model.calls) == 2
    assert "First." not in prompt
    assert [f"<{n}>" in prompt for n in (1, 2, 6, 7)] == [False, True, True, False]
    assert (await told(provider))["history:summary"].text == "2026-03-01: First.\n\n2026-03-01: Second."


async def test_a_long_backlog_is_worked_off_in_bounded_steps(world: World) -> None:
    """Each moves the watermark and adds its paragraph."""
    world.fill(30)
    provider, model = world.provider(
        "one", "two", "three", window_size=10, options=HistoryOptions(max_turns_per_refresh=8)
    )
    await told(provider)
    await provider.refresher.background.wait_until_idle()
    entry = world.store.get_summary(familiar_id="wren")

    assert [[f"<{n}>" in asked(model, call) for n in (0, 7, 8, 15, 16, 19)] for call in range(3)] == [
        [True, True, False, False, False, False],
        [False, False, True, True, False, False],
        [False, False, False, False, True, True],
    ]
    assert entry is not None
    assert entry.summary_text.split("\n\n") == ["2026-03-01: one", "2026-03-01: two", "2026-03-01: three"]
    assert entry.last_summarised_id == 20


async def test_a_prompt_is_bounded_in_characters_too(world: World) -> None:
    """Whatever people post."""
    for _ in range(12):
        world.say("y" * 100_000)
    provider, model = world.provider(*["s"] * 12, window_size=2, options=HistoryOptions(max_chars_per_refresh=9_000))
    await told(provider)
    await provider.refresher.background.wait_until_idle()

    assert all(len(call[0].content) < 12_000 for call in model.calls)


async def test_the_summary_is_the_familiars_in_every_channel(world: World) -> None:
    """A channel without a word of its own is told it too."""
    world.fill(25)
    provider, _ = world.provider("All of it.", window_size=10)
    await told(provider)
    await provider.refresher.background.wait_until_idle()

    assert (await told(provider, channel_id=99))["history:summary"].text == "2026-03-01: All of it."


async def test_no_model_is_asked_while_a_reply_is_made(world: World) -> None:
    """A summary waits until the reply is out: it never takes the model from it."""
    world.fill(25)
    gate = IdleGate()
    provider, model = world.provider("Later.", window_size=10, options=HistoryOptions(wait_until_quiet=gate.wait))
    with gate.busy():
        await told(provider)
        for _ in range(200):
            await asyncio.sleep(0)
        during = len(model.calls)
    await provider.refresher.background.wait_until_idle()

    assert (during, len(model.calls)) == (0, 1)


async def test_what_stands_in_a_summary_stays_there_while_it_grows(world: World) -> None:
    """The prompt's start is the same from one refresh to the next; rarely are older paragraphs condensed."""
    world.fill(12)
    answers = [f"Paragraph {n}. " + "They talked at length. " * 15 for n in range(40)]
    provider, model = world.provider(*answers, window_size=10, options=HistoryOptions(refresh_every_turns=2))
    texts: list[str] = []
    for first in range(12, 80, 2):
        world.fill(2, first=first)
        await told(provider)
        await provider.refresher.background.wait_until_idle()
        texts.append((await told(provider))["history:summary"].text)
    condensed = [call for call in model.calls if "Condense the notes" in call[0].content]

    assert all(len(text) <= MAX_SUMMARY_CHARS for text in texts)
    grew = sum(later.startswith(earlier) for earlier, later in pairwise(texts))
    assert grew >= len(texts) - 1 - len(condensed)
    assert 0 < len(condensed) <= len(texts) // 3


async def test_an_endless_answer_is_cut_before_it_is_kept(world: World) -> None:
    """Whatever a model returns."""
    world.fill(25)
    provider, _ = world.provider("word " * 5_000, window_size=10)
    await told(provider)
    await provider.refresher.background.wait_until_idle()
    entry = world.store.get_summary(familiar_id="wren")

    assert entry is not None
    assert len(entry.summary_text) <= MAX_PARAGRAPH_CHARS + 20


async def test_an_older_summary_without_bounds_is_sent_within_them(world: World) -> None:
    """One kept by an earlier version."""
    world.fill(3)
    world.store.put_summary(familiar_id="wren", last_summarised_id=1, summary_text="old " * 5_000)
    provider, _ = world.provider(window_size=10)

    assert len((await told(provider))["history:summary"].text) <= MAX_SUMMARY_CHARS


async def test_one_flight_at_a_time(world: World) -> None:
    """Across turns and channels."""
    world.fill(25)
    go = asyncio.Event()

    class Slow(ScriptedModel):
        async def chat(self, messages: list[Message]) -> Message:
            self.calls.append(messages)
            await go.wait()
            return Message("assistant", "done")

    model = Slow()
    provider = HistoryProvider(store=world.store, llm_client=model, window_size=10)
    for channel in (7, 8, 7):
        await told(provider, channel_id=channel)
    go.set()
    await provider.refresher.background.wait_until_idle()

    assert len(model.calls) == 1


class Mute(ScriptedModel):
    """A model that never answers."""

    async def chat(self, messages: list[Message]) -> Message:
        await asyncio.Event().wait()
        raise AssertionError("never")


@pytest.mark.parametrize("model", [ScriptedModel([ModelError("down")]), ScriptedModel([" "]), Mute()])
async def test_a_failed_refresh_costs_nothing_but_itself(
    world: World, model: ScriptedModel, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is cached, the recent turns come, and the log has a warning without a word of what was said."""
    world.fill(25)
    provider = HistoryProvider(store=world.store, llm_client=model, window_size=10, summary_timeout_s=0.02)
    with caplog.at_level(logging.WARNING):
        await told(provider)
        await provider.refresher.background.wait_until_idle()

    assert (world.store.get_summary(familiar_id="wren"), list(await told(provider))) == (None, ["history:recent"])
    assert caplog.records[0].levelno == logging.WARNING
    assert "<0>" not in str([r.__dict__ for r in caplog.records])
    await provider.aclose()


async def test_a_small_model_is_not_asked(world: World) -> None:
    """What people told is kept in their own words instead."""
    world.say("The harbour festival starts next week.")
    world.fill(20)
    model = ScriptedModel(capabilities=Capabilities(side_tasks=False))
    provider = HistoryProvider(store=world.store, llm_client=model, window_size=10)
    await told(provider)
    await provider.refresher.background.wait_until_idle()

    assert (await told(provider))[
        "history:summary"
    ].text == "2026-03-01: Ada said: The harbour festival starts next week."
    assert model.calls == []


# Meanwhile elsewhere


async def test_news_from_elsewhere_is_there_next_turn(world: World) -> None:
    """Told for the viewer's kind of channel, from the source's new turns, in a sentence or two."""
    world.say("here", mode=CHAT)
    world.say("in the scene", channel=9, mode=ChannelMode.full_rp)
    provider, model = world.provider("Something happened.")
    first = await told(provider, mode=CHAT)
    await provider.refresher.background.wait_until_idle()
    second = await told(provider, mode=CHAT)
    news = second["history:cross_channel:9"]

    assert list(first) == ["history:recent"]
    assert (news.text, news.layer, news.priority) == ("Something happened.", Layer.history_summary, 55)
    assert all(w in asked(model).lower() for w in ("meanwhile", "text chat", "live role-play scene", "in the scene"))
    assert len(model.calls) == 1


@pytest.mark.parametrize(("turns", "minutes"), [(NEWS_EVERY_TURNS, 0), (1, 30)])
async def test_news_are_refreshed_when_much_was_said_there_or_some_time_after(
    world: World, turns: int, minutes: int
) -> None:
    """Only the new turns are read, beside what was told before."""
    world.say("old turn", channel=9)
    model = ScriptedModel(lambda messages: "New news." if "Told before" in messages[0].content else "Old news.")
    provider = HistoryProvider(store=world.store, llm_client=model)
    for _ in range(2):
        await told(provider, mode=CHAT)
        await provider.refresher.background.wait_until_idle()
    world.clock.advance(60 * minutes)
    for _ in range(turns):
        world.say("new turn", channel=9)
    stale = await told(provider, mode=CHAT)
    await provider.refresher.background.wait_until_idle()

    assert stale["history:cross_channel:9"].text == "Old news."
    (again,) = [message.content for (message,) in model.calls if "Told before" in message.content]
    assert [word in again for word in ("old turn", "Old news.", "new turn")] == [False, True, True]
    assert (await told(provider, mode=CHAT))["history:cross_channel:9"].text == "New news."


async def test_a_few_new_lines_elsewhere_are_not_worth_a_call(world: World) -> None:
    """Two busy channels would otherwise cost one for each reply."""
    world.say("old turn", channel=9)
    provider, model = world.provider(*["Old news."] * 9)
    await told(provider, mode=CHAT)
    await provider.refresher.background.wait_until_idle()
    for _ in range(NEWS_EVERY_TURNS - 1):
        world.say("new turn", channel=9)
        await told(provider, mode=CHAT)
        await provider.refresher.background.wait_until_idle()

    assert len([1 for (message,) in model.calls if "Meanwhile" in message.content]) == 1


async def test_news_stay_short_whatever_a_model_makes_of_them(world: World) -> None:
    """One that repeats all it was told would make them longer each time; what is stored from before is cut too."""
    world.say("a turn", channel=9)
    provider, model = world.provider(*["And so it went on and on. " * 500] * 3)
    lengths = []
    for _ in range(3):
        await told(provider, mode=CHAT)
        await provider.refresher.background.wait_until_idle()
        world.clock.advance(3600)
        world.say("another turn", channel=9)
        lengths.append(len((await told(provider, mode=CHAT))["history:cross_channel:9"].text))
    world.store.put_cross_context(
        familiar_id="wren", viewer_mode=CHAT.value, source_channel_id=9, source_last_id=99, summary_text="old " * 9_999
    )

    assert max(lengths) <= MAX_NEWS_CHARS
    assert all(len(asked(model, call)) < 2 * MAX_NEWS_CHARS for call in range(len(model.calls)))
    assert len((await told(provider, mode=CHAT))["history:cross_channel:9"].text) <= MAX_NEWS_CHARS


async def test_at_most_two_other_channels_are_looked_at(world: World) -> None:
    """The most recently active."""
    for channel in (10, 11, 12):
        world.say("x", channel=channel)
    provider, _ = world.provider("a", "b")
    await told(provider, mode=CHAT)
    await provider.refresher.background.wait_until_idle()

    assert sorted(await told(provider, mode=CHAT)) == ["history:cross_channel:11", "history:cross_channel:12"]


async def test_without_a_mode_nothing_is_heard_from_elsewhere(world: World) -> None:
    """Nobody is asked either."""
    world.say("x", channel=9)
    provider, model = world.provider()
    await told(provider)
    await provider.refresher.background.wait_until_idle()

    assert model.calls == []


async def test_in_a_scene_news_stand_where_it_resumes(world: World) -> None:
    """After a pause in which something happened elsewhere; not as a block of its own."""
    scene = ChannelMode.full_rp
    world.say("before", mode=scene)
    world.clock.advance(200)
    world.say("in another room", channel=9, author=BO)
    world.clock.advance(150)
    world.say("after", mode=scene)
    world.clock.advance(10)
    world.say("soon after", mode=scene)
    provider, _ = world.provider("Bo was busy.")
    await told(provider, mode=scene)
    await provider.refresher.background.wait_until_idle()
    found = await told(provider, mode=scene)

    assert list(found) == ["history:recent"]
    assert [(i.role, i.text) for i in found["history:recent"].items] == [
        ("user", "Ada: before"),
        ("system", "Bo was busy."),
        ("user", "Ada: after"),
        ("user", "Ada: soon after"),
    ]


async def test_in_a_scene_a_short_pause_tells_nothing(world: World) -> None:
    """Under five minutes nobody went away."""
    scene = ChannelMode.full_rp
    world.say("before", mode=scene)
    world.clock.advance(100)
    world.say("in another room", channel=9)
    world.clock.advance(100)
    world.say("after", mode=scene)
    provider, _ = world.provider("Bo was busy.")
    await told(provider, mode=scene)
    await provider.refresher.background.wait_until_idle()

    assert len((await told(provider, mode=scene))["history:recent"].items) == 2


# Private people


async def test_private_people_are_neither_shown_nor_summarised(world: World) -> None:
    """Not in the dialogue, the summary or the news; the familiar's own words stay."""
    levels = {ADA.canonical_key: PrivacyLevel.FULL}
    for channel in (7, 8):
        for number in range(6):
            world.say(f"secret {number}", channel, ADA, CHAT)
            world.say(f"plain {number}", channel, BO, CHAT)
        world.say("my own", channel, None, CHAT)
    provider, model = world.provider("the summary", "the news", window_size=3, privacy=FixedPrivacy(levels))
    first = await told(provider, mode=CHAT)
    await provider.refresher.background.wait_until_idle()

    assert [item.words for item in first["history:recent"].items] == ["plain 5", "my own"]
    assert len(model.calls) == 2
    prompts = [asked(model, call) for call in (0, 1)]
    assert [("secret" in prompt, "plain" in prompt, "my own" in prompt) for prompt in prompts] == [
        (False, True, True)
    ] * 2


async def test_where_only_private_people_spoke_no_model_is_asked(world: World) -> None:
    """And nothing is told; the next look does not begin again."""
    levels = {ADA.canonical_key: PrivacyLevel.FULL}
    for channel in (7, 8):
        for number in range(12):
            world.say(f"secret {number}", channel, ADA, CHAT)
    provider, model = world.provider(window_size=2, privacy=FixedPrivacy(levels))
    for _ in range(2):
        assert await told(provider, mode=CHAT) == {}
        await provider.refresher.background.wait_until_idle()
    summary = world.store.get_summary(familiar_id="wren")

    assert model.calls == []
    assert summary is not None
    assert (summary.summary_text, summary.last_summarised_id) == ("", 22)


async def test_what_was_summarised_before_someone_became_private_is_gone_at_once(world: World) -> None:
    """The next summary is made from the rest, not from the one before."""
    levels: dict[str, PrivacyLevel] = {}
    for number in range(12):
        world.say(f"secret {number}", author=ADA)
        world.say(f"plain {number}", author=BO)
    provider, model = world.provider("Ada's secret", "Bo was plain", window_size=4, privacy=FixedPrivacy(levels))
    await told(provider)
    await provider.refresher.background.wait_until_idle()
    assert (await told(provider))["history:summary"].text == "2026-03-01: Ada's secret"
    levels[ADA.canonical_key] = PrivacyLevel.FULL
    after = await told(provider)
    await provider.refresher.background.wait_until_idle()

    assert "history:summary" not in after
    assert "secret" not in asked(model)
    assert (await told(provider))["history:summary"].text == "2026-03-01: Bo was plain"


async def test_a_summary_under_way_when_someone_becomes_private_is_thrown_away(world: World) -> None:
    """It holds their words."""
    levels: dict[str, PrivacyLevel] = {}
    world.fill(12)

    class Overtaken(ScriptedModel):
        async def chat(self, messages: list[Message]) -> Message:
            levels[ADA.canonical_key] = PrivacyLevel.FULL
            return await super().chat(messages)

    model = Overtaken(["Ada's secret"])
    provider = HistoryProvider(store=world.store, llm_client=model, window_size=2, privacy=FixedPrivacy(levels))
    await told(provider)
    await provider.refresher.background.wait_until_idle()

    assert len(model.calls) == 1
    assert world.store.get_summary(familiar_id="wren") is None
