"""SpendingMeter: what calls use, for whom, on which day, and when a cap is reached."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.config.limits import LimitsConfig
from familiar_connect.config.llm import EMBEDDED_MODEL, LLMSlotConfig
from familiar_connect.conversation.spending import FIRST_TURN, SpendingMeter, TokenPrice, token_prices
from familiar_connect.errors import SpendingLimitError
from familiar_connect.llm.types import Usage
from familiar_connect.observe.spending import NOBODY, SpendingStore
from familiar_connect.support.clock import ManualClock

EVENING = datetime(2026, 3, 1, 22, 30, tzinfo=UTC)


def make_meter(
    path: Path,
    limits: LimitsConfig | None = None,
    *,
    clock: ManualClock | None = None,
    prices: dict[str, TokenPrice] | None = None,
    zone: str = "Europe/Berlin",
) -> SpendingMeter:
    return SpendingMeter(
        SpendingStore(path / "metrics.db", "ember"),
        limits=limits or LimitsConfig(),
        prices=prices or {},
        zone=ZoneInfo(zone),
        clock=clock or ManualClock(EVENING),
    )


async def test_calls_are_counted_for_whoever_the_turn_is_for_and_side_work_for_the_house(tmp_path: Path) -> None:
    """A memory pass, a summary or a decision to join in that a turn set off is not that person's."""
    meter = make_meter(tmp_path)
    with meter.reserve_turn("discord:1"):
        meter.record_call("main_prose", Usage(100, 20))
        await asyncio.create_task(_record(meter, "memory_search", Usage(50, 5)))
        await asyncio.create_task(_record(meter, "history_summary", Usage(200, 5)))
        meter.record_call("interjection_decision", Usage(80, 5))
        meter.record_call("memory_writer", Usage(1000, 10))
    await meter.aclose()

    spent = meter.today().spending
    assert (spent["discord:1"].tokens, spent[NOBODY].tokens) == (175, 1300)
    assert meter.today().total.calls == 5


async def _record(meter: SpendingMeter, slot: str, usage: Usage) -> None:
    meter.record_call(slot, usage)


async def test_counters_survive_a_restart_and_another_programs_calls_are_seen(tmp_path: Path) -> None:
    """The ledger is the one place."""
    first, second = make_meter(tmp_path), make_meter(tmp_path)
    await second.load()
    with first.charge("discord:1"):
        first.record_call("main_prose", Usage(10, 1))
    await first.aclose()
    await second.sync()
    third = make_meter(tmp_path)
    await third.load()

    assert [meter.today().spending["discord:1"].tokens for meter in (first, second, third)] == [11, 11, 11]


async def test_a_day_begins_at_midnight_where_the_familiar_is(tmp_path: Path) -> None:
    """22:30 UTC is 23:30 in Berlin; an hour later it is tomorrow there."""
    clock = ManualClock(EVENING)
    meter = make_meter(tmp_path, LimitsConfig(tokens_per_day=10), clock=clock)
    meter.record_call("main_prose", Usage(10, 1))
    reached = meter.day_cap_reached()
    clock.advance(3600)
    later = meter.day_cap_reached()
    await meter.aclose()
    kept = SpendingStore(tmp_path / "metrics.db", "ember")

    assert reached is not None
    assert str(reached) == "11 of 10 tokens used today ([limits] tokens_per_day)"
    assert later is None
    yesterday, today = kept.read("2026-03-01"), kept.read("2026-03-02")
    assert yesterday is not None
    assert today is not None
    assert (yesterday.total.tokens, today.total.tokens) == (11, 0)


async def test_a_call_outside_of_a_turn_is_refused_once_the_day_is_spent(tmp_path: Path) -> None:
    """A turn that was let in is finished; the memory writer waits for tomorrow, also within it."""
    meter = make_meter(tmp_path, LimitsConfig(tokens_per_day=10))
    with meter.reserve_turn("discord:1"):
        meter.record_call("main_prose", Usage(10, 1))
        meter.check_call("main_prose")
        with pytest.raises(SpendingLimitError, match="tokens_per_day"):
            meter.check_call("memory_writer")
    with pytest.raises(SpendingLimitError):
        meter.check_call("main_prose")
    await meter.aclose()


async def test_money_is_what_the_provider_says_or_else_by_the_price_and_the_embedded_model_is_free(
    tmp_path: Path,
) -> None:
    """A local model counts tokens and costs nothing."""
    slots = {
        "main_prose": LLMSlotConfig("m", price_per_million_input=2.0, price_per_million_output=10.0),
        "mood_eval": LLMSlotConfig(EMBEDDED_MODEL, price_per_million_input=2.0),
    }
    meter = make_meter(tmp_path, prices=token_prices(slots))
    meter.record_call("main_prose", Usage(1_000_000, 100_000))
    meter.record_call("main_prose", Usage(1_000_000, 100_000, cost=0.25))
    meter.record_call("mood_eval", Usage(1_000_000, 0))
    await meter.aclose()

    assert meter.today().total.money == pytest.approx(3.25)


async def test_a_ledger_that_cannot_be_written_costs_no_count(tmp_path: Path) -> None:
    """What is known stays known until the program ends."""
    (tmp_path / "metrics.db").write_bytes(b"no database at all" * 99)
    meter = make_meter(tmp_path, LimitsConfig(tokens_per_day=10))
    await meter.load()
    meter.record_call("main_prose", Usage(10, 1))
    await meter.sync()
    await meter.sync()

    assert meter.today().total.tokens == 11
    assert meter.day_cap_reached() is not None


@given(
    cap=st.integers(1, 50_000),
    turns=st.lists(st.integers(1, FIRST_TURN.tokens), min_size=1, max_size=40),
    abreast=st.integers(1, 8),
)
def test_turns_side_by_side_pass_a_cap_by_one_turn_at_most(
    tmp_path_factory: pytest.TempPathFactory, cap: int, turns: list[int], abreast: int
) -> None:
    """A turn is let in only where what is used and what is under way leave room."""

    async def play() -> int:
        meter = make_meter(tmp_path_factory.mktemp("home"), LimitsConfig(tokens_per_day=cap))
        for at in range(0, len(turns), abreast):
            admitted: list[tuple[ExitStack, int]] = []
            for size in turns[at : at + abreast]:
                if meter.day_cap_reached(with_open_turns=True) is None:
                    with ExitStack() as stack:
                        stack.enter_context(meter.reserve_turn("discord:1"))
                        admitted.append((stack.pop_all(), size))
            for stack, size in reversed(admitted):
                meter.record_call("main_prose", Usage(size, 0))
                stack.close()
        await meter.aclose()
        return meter.today().total.tokens

    assert asyncio.run(play()) < cap + FIRST_TURN.tokens


@pytest.mark.parametrize(
    ("limits", "is_owner", "has_caps"),
    [
        (LimitsConfig(), True, False),
        (LimitsConfig(), False, True),
        (LimitsConfig(tokens_per_day=5), True, True),
        (LimitsConfig(money_per_day=0.5), True, True),
        (LimitsConfig(tokens_per_person_per_day=0, money_per_person_per_day=0.0), False, False),
    ],
)
def test_what_other_programs_used_is_asked_for_only_where_somebody_may_be_refused_for_it(
    tmp_path: Path, limits: LimitsConfig, is_owner: bool, has_caps: bool
) -> None:
    """The owner is bound by the limits of the day alone."""
    assert make_meter(tmp_path, limits).has_caps(None if is_owner else limits) is has_caps
