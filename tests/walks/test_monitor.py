"""Whole-house stories among many people: when the familiar speaks, and what becomes of what it lets pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from familiar_connect.chat.silence import SILENCE
from familiar_connect.conversation.buffer import LullTimers
from familiar_connect.familiar import Familiar
from familiar_connect.identity import PrivacyLevel
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities
from tests.fakes.monitored_channel import NO, YES, ManualTimers
from tests.fakes.place import EditablePlace
from tests.fakes.scripted_familiar import ANA, BEN, ScriptedFamiliar, model_slots, scripted_familiar
from tests.fakes.waiting import files_holding


def by_hand(house: ScriptedFamiliar) -> ManualTimers:
    """Timers of ours for the lulls of this house."""
    timers, monitor = ManualTimers(), house.familiar.monitor
    monitor._lull_timers = LullTimers(monitor._on_lull, timers.later)
    return timers


async def among(house: ScriptedFamiliar, text: str, **more: Any) -> None:
    """Someone says *text* to everybody."""
    await house.talk(text, is_mention=False, **more)


async def test_what_is_let_pass_is_known_to_the_next_reply(tmp_path: Path) -> None:
    """A no loses nothing."""
    async with scripted_familiar(tmp_path, ["A fox!"]) as house:
        side = ScriptedModel([NO, YES])
        house.familiar.llm_clients["interjection_decision"] = side
        timers = by_hand(house)
        await among(house, "Who of you saw the fox?")
        timers.pass_time(60)
        await house.wait_until_idle()
        assert house.place.sent == []
        await among(house, "Has Ember heard?", author=BEN)
        told = house.roles_and_texts()

    assert [text for _, text in told] == ["Who of you saw the fox?", "Has Ember heard?", "A fox!"]
    assert any("Who of you saw the fox?" in message.content for message in house.model.calls[0])
    assert "Who of you saw the fox?" in side.calls[1][1].content


async def test_with_the_embedded_models_it_answers_whoever_speaks_to_it(tmp_path: Path) -> None:
    """No model is asked whether to speak, and the prompt says nothing of silence."""
    weak = Capabilities(side_tasks=False)
    async with scripted_familiar(tmp_path, ["Yes?", "Rain, I think."], capabilities=weak) as house:
        timers = by_hand(house)
        await among(house, "what a day")
        timers.pass_time(60)
        await house.wait_until_idle()
        assert house.place.sent == []
        await among(house, "Ember!")
        await among(house, "Will it rain?")
        timers.pass_time(60)
        await house.wait_until_idle()

    assert house.place.sent == ["Yes?", "Rain, I think."]
    assert SILENCE not in str(house.model.calls)


@pytest.mark.parametrize("streams", [False, True])
async def test_silence_as_an_answer_is_neither_shown_nor_recorded(tmp_path: Path, streams: bool) -> None:
    """One call decides and answers; the mark is in no file but the prompt's own trace."""
    async with scripted_familiar(
        tmp_path, [SILENCE, "<silence> Sorry, I just listen.", "Hello, both."], streams=streams
    ) as house:
        timers = by_hand(house)
        for text in ("where is my new hat?", "is it on the shelf?", "who took the hat then?"):
            await among(house, text)
            timers.pass_time(60)
            await house.wait_until_idle()
        told = house.roles_and_texts()

    assert "".join(house.place.sent) == "Hello, both."
    assert [role for role, _ in told] == ["user", "user", "user", "assistant"]
    assert all(SILENCE in call[-1].content for call in house.model.calls)
    assert (house.place.notices, house.place.thoughts) == ([], 0)
    assert files_holding(tmp_path, "I just listen") == []


async def test_whoever_surely_waits_is_not_offered_silence(tmp_path: Path) -> None:
    """A mention gets an answer, and the prompt is as ever."""
    async with scripted_familiar(tmp_path, ["Yes?"]) as house:
        await house.talk("hello")

    assert SILENCE not in str(house.model.calls)
    assert house.place.sent == ["Yes?"]


async def test_silence_is_no_reason_to_rewrite_anything(tmp_path: Path) -> None:
    """Where replies are polished afterwards, an empty one is not."""
    async with scripted_familiar(tmp_path, [SILENCE]) as house:
        polish = ScriptedModel(["never"])
        house.familiar.llm_clients["post_process_style"] = polish
        (house.familiar.root / "channels" / "7.toml").write_text('mode = "full_rp"\n', encoding="utf-8")
        timers = by_hand(house)
        await among(house, "where is my new hat?")
        timers.pass_time(60)
        await house.wait_until_idle()

    assert (polish.calls, house.place.sent) == ([], [])


async def test_someone_who_turns_private_while_a_lull_is_awaited_reaches_no_model(tmp_path: Path) -> None:
    """Neither the one that decides nor the one that replies."""
    async with scripted_familiar(tmp_path, ["Hello."]) as house:
        side = ScriptedModel(lambda _: YES)
        house.familiar.llm_clients["interjection_decision"] = side
        by_hand(house)
        await among(house, "my secret is PLUGH")
        house.familiar.stores.privacy.set(ANA, PrivacyLevel.FULL)
        await among(house, "Ember?", author=BEN)

    assert house.place.sent == ["Hello."]
    assert "PLUGH" not in str(side.calls) + str(house.model.calls)


async def test_settings_decide_how_a_reply_arrives_and_who_decides(tmp_path: Path) -> None:
    """`delivery` and `decide_with` of character.toml reach the parts they are about."""
    async with scripted_familiar(tmp_path) as house:
        root = house.familiar.root
    (root / "character.toml").write_text('delivery = "growing"\ndecide_with = "rules"\n', encoding="utf-8")
    model = ScriptedModel(["One two three."])
    familiar = Familiar.load_from_disk(root, llm_clients=model_slots(model))
    place = EditablePlace(edit_interval_s=0.0)
    try:
        grown = ScriptedFamiliar(familiar, model, place)
        assert familiar.monitor.decision_mode().value == "rules"
        await grown.talk("hi")
    finally:
        await familiar.aclose()

    assert place.seen[0] != place.seen[-1] == ("One two three.",)


async def test_the_monitor_knows_the_familiar_by_name_folder_and_card(tmp_path: Path) -> None:
    """And names channels for the memory writer."""
    async with scripted_familiar(tmp_path) as house:
        familiar = house.familiar
        (familiar.root / "character.toml").write_text('aliases = ["Sparky"]\n', encoding="utf-8")
    familiar = Familiar.load_from_disk(familiar.root, llm_clients=model_slots(ScriptedModel()))
    try:
        monitor = familiar.monitor
        assert (monitor.familiar_name, monitor.aliases) == (familiar.name, ["Sparky", "ember"])
        assert "fire spirit" in monitor.character_card
        monitor.register_channel_name(5, "lounge")
        assert familiar.memory_writer.channel_context_lookup is not None
        assert familiar.memory_writer.channel_context_lookup(5) == monitor.format_channel_context(5) != "5"
    finally:
        await familiar.aclose()


async def test_closing_ends_the_waiting_and_keeps_the_words(tmp_path: Path) -> None:
    """A lull that never comes leaves no task behind."""
    async with scripted_familiar(tmp_path) as house:
        timers = by_hand(house)
        await among(house, "so")
        assert len(timers.waiting) == 1
        told = house.roles_and_texts()

    assert timers.waiting == []
    assert told == [("user", "so")]
