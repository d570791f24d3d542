"""A turn and its channel's settings become a request."""

from __future__ import annotations

from familiar_connect.chat.types import SaidMessage, Turn
from familiar_connect.config import ChannelMode, channel_config_for_mode
from familiar_connect.context.types import Layer, Modality, PendingTurn
from familiar_connect.llm.types import Capabilities
from familiar_connect.reply.request import suited_to, to_request
from tests.fakes.house import ANA, BEN, NOON

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


def test_a_channel_suits_a_model_that_says_nothing_of_itself() -> None:
    """Nothing is taken away without a reason."""
    assert suited_to(CHANNEL, Capabilities()) == CHANNEL


def test_a_small_model_gets_small_budgets_and_the_time_it_needs() -> None:
    """No layer gets more than before, and together less than the whole."""
    small = suited_to(CHANNEL, Capabilities(budget_tokens=800, deadline_s=90.0))

    assert (small.budget_tokens, small.deadline_s) == (800, 90.0)
    assert small.mode is CHANNEL.mode
    assert set(small.budget_by_layer) == set(CHANNEL.budget_by_layer)
    assert all(small.budget_by_layer[layer] <= CHANNEL.budget_by_layer[layer] for layer in small.budget_by_layer)
    assert 0 < sum(small.budget_by_layer.values()) <= 800
    assert small.budget_by_layer[Layer.character] > 0


def test_a_large_model_changes_no_budget() -> None:
    """A window is not a reason to spend more."""
    assert suited_to(CHANNEL, Capabilities(budget_tokens=100_000, deadline_s=1.0)) == CHANNEL
