"""MessageView: what is kept beside the words of a message once it is heard, for prompts, the chat and exports to show.

Regex scripts in force rewrite it. Where prompts are as in SillyTavern, its macros are read as well, once: what it
came to then is what every later prompt has.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo

from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config.channel import ChannelConfig
from familiar_connect.errors import ConfigError
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn
from familiar_connect.memory.card_fields import CardReader
from familiar_connect.presets.macros.types import MacroContext, Variables
from familiar_connect.presets.regex_scripts import Placement, TextUse, rewrite_text, scripts_for
from familiar_connect.presets.story.state_store import StoryStateStore
from familiar_connect.presets.types import ChatLine
from familiar_connect.reply.turn_builder import TurnInputsLookup
from familiar_connect.support.clock import Clock

USER_INPUT = TextUse(placement=Placement.user_input)
MOST_LINES = 1_000
"""Lines of the chat that macros in a message may look at."""
MARKS = ("{", "<", "\\")
"""What a macro has in it, or what keeps one from being read."""


class MessageView:
    """Makes the views of one familiar. Calls read files."""

    def __init__(
        self,
        familiar_id: str,
        history: HistoryStore,
        *,
        channels: ChannelConfigStore,
        card: CardReader,
        lookup: TurnInputsLookup,
        states: StoryStateStore,
        clock: Clock,
        zone: tzinfo,
    ) -> None:
        self._familiar_id = familiar_id
        self._history = history
        self._channels = channels
        self._card = card
        self._lookup = lookup
        self._states = states
        self._clock = clock
        self._zone = zone

    def make(self, message: InboundMessage) -> str | None:
        """What *message* is to be shown as; None: as it was said."""
        try:
            channel = self._channels.get(channel_id=message.channel_id)
        except ConfigError:  # the reply says so
            return None
        view = self._read_macros(self._rewrite(message, channel), message, channel)
        return None if view == message.text else view

    def _rewrite(self, message: InboundMessage, channel: ChannelConfig) -> str:
        scripts = scripts_for(self._lookup.regex_scripts(channel), USER_INPUT)
        if not scripts:
            return message.text
        context = MacroContext(char=self._card.read().name, user=message.author.label, now=self._clock.now())
        return rewrite_text(message.text, scripts, USER_INPUT, context)

    def _read_macros(self, text: str, message: InboundMessage, channel: ChannelConfig) -> str:
        """*text* with its macros read, and what they set kept, where prompts here are as in SillyTavern."""
        if not any(mark in text for mark in MARKS) or not self._lookup.is_exact(channel):
            return text
        user, channel_id = message.author.label, message.channel_id
        found = self._lookup.lookup(channel, channel_id).for_speaker(user)
        if found.preset is None or found.card is None:
            return text
        # Only who types macros waits for what reads them to be loaded.
        from familiar_connect.presets.sillytavern.prepare_card import read_sent
        from familiar_connect.presets.sillytavern.types import DEFAULT_ANSWER, DEFAULT_CONTEXT, SillyTavernInputs

        settings, before = found.preset.preset.settings, found.story.state
        window, answer = settings.max_context or DEFAULT_CONTEXT, settings.max_tokens or DEFAULT_ANSWER
        variables = Variables(local=dict(before.variables), shared=dict(before.shared))
        turns = self._history.recent(familiar_id=self._familiar_id, channel_id=channel_id, limit=MOST_LINES)
        inputs = SillyTavernInputs(
            settings=settings,
            card=found.card,
            persona=found.story.persona,
            chat=lines_of_turns(turns, char=found.card.name, user=user),
            context=MacroContext(
                char=found.card.name,
                user=user,
                now=self._clock.now().astimezone(self._zone),
                rng=random.Random(),
                chat_id=f"{self._familiar_id}/{channel_id}",
                variables=variables,
                max_prompt=window - answer,
                max_context=window,
                max_response=answer,
                ours=False,
            ),
            prefers_card_prompts=found.story.switches.prefer_card_prompt,
            prefers_card_last_words=found.story.switches.prefer_card_last_words,
        )
        shown = read_sent(inputs, text)
        after = replace(before, variables=dict(variables.local), shared=dict(variables.shared))
        if after != before:
            self._states.save(channel_id, after)
        return shown


def lines_of_turns(turns: Sequence[HistoryTurn], *, char: str, user: str) -> tuple[ChatLine, ...]:
    """*turns* as macros see them; who said what nobody's name stands beside is *char* or *user*."""
    return tuple(
        ChatLine(
            name=turn.author.label if turn.author is not None else char if turn.role == "assistant" else user,
            text=turn.display_text,
            is_user=turn.role == "user",
            is_narrator=turn.role == "system",
            is_first=number == 0,
            sent_at=turn.timestamp,
        )
        for number, turn in enumerate(turns)
    )
