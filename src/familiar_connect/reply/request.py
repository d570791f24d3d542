"""to_request: a turn and its channel's settings become the request that the pipeline answers."""

from __future__ import annotations

from dataclasses import replace

from familiar_connect.chat.types import Turn
from familiar_connect.config import ChannelConfig
from familiar_connect.config.modes import SMALL_MODEL_SHARES
from familiar_connect.context.types import ContextRequest, Modality, PendingTurn
from familiar_connect.llm.types import Capabilities


def suited_to(channel: ChannelConfig, capabilities: Capabilities) -> ChannelConfig:
    """*channel* within what the answering model can work through, and with the time it needs."""
    deadline = max(channel.deadline_s, capabilities.deadline_s or 0.0)
    if capabilities.budget_tokens is None or capabilities.budget_tokens >= channel.budget_tokens:
        return replace(channel, deadline_s=deadline)
    total = capabilities.budget_tokens
    layers = {
        layer: min(budget, int(total * SMALL_MODEL_SHARES.get(layer, 0.0)))
        for layer, budget in channel.budget_by_layer.items()
    }
    return replace(channel, deadline_s=deadline, budget_tokens=total, budget_by_layer=layers)


def to_request(turn: Turn, channel_config: ChannelConfig) -> ContextRequest:
    """Budget, deadline and mode from the channel; every message of the exchange, in order."""
    last = turn.said[-1]
    return ContextRequest(
        familiar_id=turn.familiar_id,
        channel_id=turn.channel_id,
        guild_id=turn.guild_id,
        author=last.author,
        utterance=last.text,
        modality=Modality.voice if turn.is_voice else Modality.text,
        budget_tokens=channel_config.budget_tokens,
        deadline_s=channel_config.deadline_s,
        pending_turns=tuple(PendingTurn(said.author, said.text, said.history_id) for said in turn.said),
        mode=channel_config.mode,
        before_id=next((said.history_id for said in turn.said if said.history_id is not None), None),
        turn=turn,
    )
