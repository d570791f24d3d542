"""channel_config_for_mode: the one table of what each mode gives a channel.

A mode enables the providers and processors whose ids are listed here; a familiar's and a channel's settings add to
them and take away. No side model stands before or after a reply unless one of those asks for it: measured on real
models, thinking first and rewriting afterwards made replies worse. What is spoken is freed of markup by rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from familiar_connect.config.channel import ChannelConfig, TypingSimulationConfig
from familiar_connect.config.types import ChannelMode, EnabledSteps
from familiar_connect.context.layers import Layer

_PROVIDERS = frozenset({"character", "history", "content_search", "mode_instructions"})
_PLACE = frozenset({"channel_notes", "server_info", "server_memories", "participants"})
_NOTES = frozenset({"short_term_memory", "documents", "conditioning", "pinned"})
_EVERYTHING = _PROVIDERS | _PLACE | _NOTES | {"assets", "sample_dialogues"}

_TABLE: Mapping[ChannelMode, ChannelConfig] = MappingProxyType(
    {
        ChannelMode.full_rp: ChannelConfig(
            mode=ChannelMode.full_rp,
            budget_tokens=8000,
            budget_cap=32_000,
            deadline_s=30.0,
            budget_by_layer={
                Layer.core: 400,
                Layer.character: 2000,
                Layer.content: 2000,
                Layer.history_summary: 1000,
                Layer.recent_history: 2000,
                Layer.author_note: 400,
                Layer.depth_inject: 400,
                Layer.scene: 600,
                Layer.examples: 600,
                Layer.pinned: 800,
                Layer.extensions: 600,
            },
            providers_enabled=_EVERYTHING,
        ),
        ChannelMode.text_conversation_rp: ChannelConfig(
            mode=ChannelMode.text_conversation_rp,
            budget_tokens=6000,
            budget_cap=32_000,
            deadline_s=24.0,
            budget_by_layer={
                Layer.core: 400,
                Layer.character: 1200,
                Layer.content: 2000,
                Layer.history_summary: 600,
                Layer.recent_history: 2200,
                Layer.author_note: 300,
                Layer.depth_inject: 400,
                Layer.scene: 500,
                Layer.examples: 400,
                Layer.pinned: 600,
                Layer.extensions: 500,
            },
            providers_enabled=_EVERYTHING,
            typing_simulation=TypingSimulationConfig(enabled=True),
        ),
        # Small and fast: no examples at all, and in writing content search gives its first tier only.
        ChannelMode.imitate_voice: ChannelConfig(
            mode=ChannelMode.imitate_voice,
            budget_tokens=2000,
            budget_cap=4000,
            deadline_s=9.0,
            budget_by_layer={
                Layer.core: 300,
                Layer.character: 700,
                Layer.content: 300,
                Layer.history_summary: 200,
                Layer.recent_history: 900,
                Layer.author_note: 150,
                Layer.depth_inject: 100,
                Layer.scene: 150,
                Layer.pinned: 150,
                Layer.extensions: 150,
            },
            providers_enabled=_PROVIDERS | _PLACE | _NOTES,
            postprocessors_enabled=frozenset({"spoken_text"}),
        ),
    }
)

SMALL_MODEL_SHARES: Mapping[Layer, float] = MappingProxyType(
    {
        Layer.character: 0.21,
        Layer.examples: 0.13,
        Layer.recent_history: 0.24,
        Layer.content: 0.14,
        Layer.history_summary: 0.05,
        Layer.author_note: 0.02,
        Layer.core: 0.02,
        Layer.pinned: 0.03,
        Layer.extensions: 0.05,
    }
)
"""How the small prompt of a small model is divided among the layers. The shares stay below what is left after the
reply's part and the new message, so that no layer is cut a second time and the prompt's start stays the same."""


def channel_config_for_mode(mode: ChannelMode) -> ChannelConfig:
    """The defaults of a channel in *mode*."""
    row = _TABLE[mode]
    spoken = EnabledSteps(providers=row.providers_enabled, post_processors=frozenset({"spoken_text"}))
    return replace(row, budget_by_layer=dict(row.budget_by_layer), on_voice=spoken)
