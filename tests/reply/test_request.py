"""A turn and its channel's settings become a request."""

from __future__ import annotations

from dataclasses import replace

from familiar_connect.chat.types import SaidMessage, Turn, TurnFlags
from familiar_connect.config import ChannelMode, channel_config_for_mode
from familiar_connect.config.types import TurnDeadlines
from familiar_connect.context.types import Layer, Modality, PendingTurn
from familiar_connect.llm.types import Capabilities
from familiar_connect.presets.types import ActivePreset, CardFields, Preset, PresetFidelity, PresetNode
from familiar_connect.reply.request import to_request, with_model_limits
from familiar_connect.support.tokens import estimate_tokens
from tests.fakes.scripted_familiar import ANA, BEN, NOON

CHANNEL = channel_config_for_mode(ChannelMode.full_rp)
SAID = (
    SaidMessage(author=ANA, text="hi", timestamp=NOON, history_id=4),
    SaidMessage(author=BEN, text="hello?", timestamp=NOON, history_id=5),
)


def test_the_request_carries_the_whole_exchange_in_order() -> None:
    """The last to speak is its author; its first row bounds what counts as earlier."""
    turn = Turn(familiar_id="wren", channel_id=7, guild_id=9, said=SAID)

    request = to_request(turn, CHANNEL)

    assert request.pending_turns == (PendingTurn(ANA, "hi", 4), PendingTurn(BEN, "hello?", 5))
    assert (request.author, request.utterance, request.before_id) == (BEN, "hello?", 4)
    assert (request.budget_tokens, request.deadline_s, request.mode) == (8000, 30.0, ChannelMode.full_rp)
    assert (request.familiar_id, request.channel_id, request.guild_id) == ("wren", 7, 9)
    assert request.modality is Modality.text
    assert request.turn is turn


def test_what_was_spoken_is_answered_as_voice() -> None:
    """The modality of the turn is that of the request."""
    assert to_request(Turn(familiar_id="w", channel_id=7, is_voice=True, said=SAID), CHANNEL).modality is Modality.voice


def test_written_and_spoken_turns_may_have_deadlines_of_their_own() -> None:
    """What the files say goes over the mode's; what is said of one modality, over what is said of all."""
    written, spoken = (Turn(familiar_id="w", channel_id=7, is_voice=voice, said=SAID) for voice in (False, True))
    channel = replace(CHANNEL, deadlines=TurnDeadlines(all_s=50.0, voice_s=7.0))

    assert [to_request(turn, channel).deadline_s for turn in (written, spoken)] == [50.0, 7.0]
    assert to_request(spoken, CHANNEL).deadline_s == CHANNEL.deadline_s


def test_a_channel_suits_a_model_that_says_nothing_of_itself() -> None:
    """Nothing is taken away without a reason."""
    assert with_model_limits(CHANNEL, Capabilities()) == CHANNEL


def test_a_small_model_gets_small_budgets() -> None:
    """No layer gets more than before, and together less than the whole; the deadline stays."""
    small = with_model_limits(CHANNEL, Capabilities(budget_tokens=800))

    assert (small.budget_tokens, small.deadline_s) == (800, CHANNEL.deadline_s)
    assert small.mode is CHANNEL.mode
    assert set(small.budget_by_layer) == set(CHANNEL.budget_by_layer)
    assert all(small.budget_by_layer[layer] <= CHANNEL.budget_by_layer[layer] for layer in small.budget_by_layer)
    assert 0 < sum(small.budget_by_layer.values()) <= 800
    assert small.budget_by_layer[Layer.character] > 0


def test_a_large_model_changes_no_budget() -> None:
    """A window is not a reason to spend more."""
    assert with_model_limits(CHANNEL, Capabilities(budget_tokens=100_000)) == CHANNEL


def a_preset(text: str, fidelity: PresetFidelity = PresetFidelity.with_memory) -> ActivePreset:
    nodes = (PresetNode(identifier="a", content=text), PresetNode(identifier="b", content=text, is_enabled=False))
    return ActivePreset(preset=Preset(name="p", prompts=nodes), fidelity=fidelity)


def test_the_request_carries_preset_card_and_chance() -> None:
    """A5: looked up once, before the turn."""
    turn, preset, card = Turn(familiar_id="wren", channel_id=7, said=SAID), a_preset("x"), CardFields(name="Wren")

    request = to_request(turn, CHANNEL, preset=preset, card=card, persona="A sailor.", seed=9, now=NOON)

    assert (request.preset, request.card, request.persona) == (preset, card, "A sailor.")
    assert (request.seed, request.now) == (9, NOON)


def test_an_impersonation_leaves_the_preset_out_unless_all_is_as_in_sillytavern() -> None:
    """A4, C64: the imitation is framed by us alone."""
    turn = Turn(familiar_id="wren", channel_id=7, said=SAID, flags=TurnFlags(impersonation=True))
    there = a_preset("x", PresetFidelity.sillytavern)

    assert to_request(turn, CHANNEL, preset=a_preset("x")).preset is None
    assert to_request(turn, CHANNEL, preset=there).preset == there


def test_what_a_preset_says_is_taken_off_the_budget() -> None:
    """What is switched on, that is; our own blocks keep their share beside a preset of any length."""
    turn = Turn(familiar_id="wren", channel_id=7, said=SAID)
    some, much = a_preset("word " * 1000), a_preset("word " * 100_000)

    left = to_request(turn, CHANNEL, preset=some).budget_tokens

    assert left == CHANNEL.budget_tokens - estimate_tokens("word " * 1000)
    assert to_request(turn, CHANNEL, preset=much).budget_tokens == CHANNEL.budget_tokens // 2
    assert to_request(turn, replace(CHANNEL, budget_tokens=0), preset=much).budget_tokens == 0
