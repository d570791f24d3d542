"""to_request: a turn, its scene and its channel's settings become the request that the pipeline answers."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime

from familiar_connect.chat.message_parts import ReferencedMessage
from familiar_connect.chat.scene import ChannelRef, Scene
from familiar_connect.chat.types import Turn
from familiar_connect.config.budgets import LayerAmounts, PromptBudget, budget_for_window, turns_within
from familiar_connect.config.channel import SMALL_MODEL_SHARES, ChannelConfig
from familiar_connect.config.types import PlaceSettings
from familiar_connect.context.types import ContextRequest, Layer, Modality, PendingTurn
from familiar_connect.identity import EVERYTHING_ALLOWED, Privacy
from familiar_connect.llm.types import Capabilities
from familiar_connect.presets.prompt_order import nodes_of
from familiar_connect.presets.story.types import Story
from familiar_connect.presets.types import ActivePreset, CardFields, PresetFidelity
from familiar_connect.support.tokens import estimate_tokens, is_vocabulary_ready

MOST_ASSETS = 500
"""Emojis, stickers, roles and other channels that a request carries."""
MOST_EVENTS = 10
LEAST_SHARE = 0.5
"""Part of a budget that our own blocks keep beside a preset of any length."""


def with_model_limits(channel: ChannelConfig, capabilities: Capabilities, *, is_voice: bool = False) -> ChannelConfig:
    """*channel* with the budgets that fit the answering model and a turn's modality."""
    settings = channel.budgets.for_turn(is_voice=is_voice)
    suits = capabilities.budget_tokens
    if settings.budget_tokens is None and suits is not None and suits < channel.budget_tokens:
        return _for_small_model(channel, suits, settings.layers)
    budget = budget_for_window(
        PromptBudget(total=channel.budget_tokens, by_layer=channel.budget_by_layer),
        settings,
        cap=channel.budget_cap,
        window=capabilities.window,
        max_output=capabilities.max_output,
    )
    turns = (
        turns_within(budget.by_layer.get(Layer.recent_history, 0), 0)
        if budget.is_large and channel.history_grows
        else 0
    )
    return replace(channel, budget_tokens=budget.total, budget_by_layer=dict(budget.by_layer), history_turns=turns)


def _for_small_model(channel: ChannelConfig, total: int, given: LayerAmounts) -> ChannelConfig:
    layers = {
        layer: min(budget, int(total * SMALL_MODEL_SHARES.get(layer, 0.0)))
        for layer, budget in channel.budget_by_layer.items()
    }
    return replace(channel, budget_tokens=total, budget_by_layer=layers | given.resolve(total))


def to_request(
    turn: Turn,
    channel_config: ChannelConfig,
    *,
    scene: Scene | None = None,
    preset: ActivePreset | None = None,
    card: CardFields | None = None,
    persona: str = "",
    story: Story | None = None,
    seed: int = 0,
    now: datetime | None = None,
) -> ContextRequest:
    """Budget, deadline and mode from the channel; every message of the exchange, in order.

    An impersonation speaks without the preset, unless all is to be as in SillyTavern. What a preset says itself is
    taken off the budget that the rest shares.
    """
    if preset is not None and turn.flags.impersonation and preset.fidelity is PresetFidelity.with_memory:
        preset = None
    last = turn.said[-1]
    return ContextRequest(
        familiar_id=turn.familiar_id,
        channel_id=turn.channel_id,
        guild_id=turn.guild_id,
        author=turn.speaker or last.author,
        utterance=last.text,
        modality=Modality.voice if turn.is_voice else Modality.text,
        budget_tokens=_without_preset_tokens(channel_config.budget_tokens, preset, story),
        deadline_s=channel_config.deadline_for(is_voice=turn.is_voice),
        pending_turns=tuple(PendingTurn(said.author, said.text, said.history_id) for said in turn.said),
        mode=channel_config.mode,
        history_turns=channel_config.history_turns,
        before_id=next((said.history_id for said in turn.said if said.history_id is not None), None),
        turn=turn,
        scene=scene,
        settings=channel_config.place,
        preset=preset,
        card=card,
        persona=persona,
        story=replace(story, books=()) if story is not None else Story(),
        books=story.books if story is not None else (),
        seed=seed,
        now=now,
    )


def _without_preset_tokens(total: int, preset: ActivePreset | None, story: Story | None) -> int:
    """*total* without what the preset's own words take; the rest keeps a share whatever its size."""
    if total <= 0 or preset is None or preset.fidelity is PresetFidelity.sillytavern:
        return total
    model = story.model if story is not None and is_vocabulary_ready(story.model) else None
    nodes = nodes_of(preset.preset, preset.fidelity)
    said = sum(
        estimate_tokens(node.content, model)
        for node in nodes
        if node.is_enabled and not node.is_marker and not node.is_comment
    )
    return max(total - said, math.ceil(total * LEAST_SHARE))


def with_place_settings(scene: Scene | None, settings: PlaceSettings) -> Scene | None:
    """*scene* as the owner wants people told of: without the names they asked for, where those are switched off."""
    if scene is None or settings.personal_memories_enabled:
        return scene
    return replace(scene, members=tuple(replace(member, is_personalised=False) for member in scene.members))


def scene_for_turn(turn: Turn, scene: Scene | None, privacy: Privacy = EVERYTHING_ALLOWED) -> Scene | None:
    """What of *scene* bears on *turn*: its own people, none that is not to be heard, and no endless lists."""
    if scene is None:
        return None
    writers = {message.author_id for message in turn.messages} | {said.author.user_id for said in turn.said}
    writers |= {author.user_id for author in (scene.participants if not turn.messages else ())}
    if turn.imitated is not None:
        writers.add(turn.imitated.author.user_id)

    return replace(
        scene,
        members=tuple(
            member
            for member in scene.members
            if {member.author.user_id, member.author.canonical_key} & writers and not privacy.is_full(member.author)
        ),
        participants=tuple(author for author in scene.participants if not privacy.is_full(author)),
        channels=_limit_channels(scene, turn.channel_id),
        thread_starter=_starter_for(turn, scene, privacy),
        events=scene.events[:MOST_EVENTS],
        roles=scene.roles[:MOST_ASSETS],
        emojis=scene.emojis[-MOST_ASSETS:],
        stickers=scene.stickers[-MOST_ASSETS:],
    )


def _starter_for(turn: Turn, scene: Scene, privacy: Privacy) -> ReferencedMessage | None:
    """What the thread began with, unless it stands in the dialogue or is of somebody who is not to be heard."""
    starter = scene.thread_starter
    if starter is None or starter.author is None or (privacy.is_full(starter.author) and not starter.is_self):
        return None
    shown = {each for message in turn.messages for each in (message.id, *message.combined_message_ids)}
    return None if starter.message_id in shown else starter


def _limit_channels(scene: Scene, channel_id: int) -> tuple[ChannelRef, ...]:
    """The channel itself first, for it is looked for; then others, which texts may point at."""
    own = tuple(each for each in scene.channels if each.channel_id == channel_id)
    return (*own, *(each for each in scene.channels if each.channel_id != channel_id))[:MOST_ASSETS]
