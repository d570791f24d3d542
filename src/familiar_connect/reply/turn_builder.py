"""TurnBuilder: an exchange becomes a turn, and the request that is answered; nothing is said or kept here.

What a turn brings besides its words: the preset in force, the character's card, who the speaker is, the story.

Looked up once per turn, in a thread. What cannot be read costs itself only: the turn goes on without it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, cast

from familiar_connect.audience import Readers, may_still_tell
from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.chat.annotate.fetch import TranscriptCache
from familiar_connect.chat.build import build_turn
from familiar_connect.chat.place import Surroundings, fetch_scene
from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import SaidMessage, Turn, TurnSettings
from familiar_connect.chat.window import MOST_FETCHED
from familiar_connect.config.budgets import turns_within
from familiar_connect.config.channel import ChannelConfig
from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.llm import MAIN_SLOT
from familiar_connect.context.providers.history.summaries import SummaryPrivacy
from familiar_connect.context.types import ContextRequest, Layer, Modality
from familiar_connect.conversation.place_readers import PlaceReaders, note_hidden_channels
from familiar_connect.conversation.types import Exchange
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.stored_messages import StoredWindow
from familiar_connect.history.turn_visibility import only_since_opened
from familiar_connect.identity import Author
from familiar_connect.llm.model_slots import ModelSlots
from familiar_connect.llm.types import Role, capabilities_of
from familiar_connect.memory.card_fields import CardReader
from familiar_connect.memory.lorebooks.book_shelf import BookShelf
from familiar_connect.presets.regex_store import RegexStore
from familiar_connect.presets.story.state_store import StoryStateStore
from familiar_connect.presets.story.types import (
    AuthorNote,
    NotePosition,
    PersonaPlace,
    PersonaPosition,
    Story,
    StoryState,
)
from familiar_connect.presets.types import ActivePreset, CardFields, PresetFidelity, RegexScript
from familiar_connect.reply.request import scene_for_turn, to_request, with_model_limits, with_place_settings
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.tokens import estimate_tokens, is_vocabulary_ready, load_vocabulary

if TYPE_CHECKING:
    from familiar_connect.config.character import NamedPersona
    from familiar_connect.config.types import PlaceSettings
    from familiar_connect.presets.store import PresetStore
    from familiar_connect.presets.world_info.types import WorldBook


@dataclass(frozen=True, kw_only=True)
class TurnInputs:
    preset: ActivePreset | None = None
    card: CardFields | None = None
    persona: str = ""
    story: Story = Story()
    personas: tuple[NamedPersona, ...] = ()
    """Those a speaker may be, where the settings do not say who."""
    books_for: Callable[[str], tuple[WorldBook, ...]] | None = None
    """The books in force with that of a persona among them."""

    @property
    def is_exact(self) -> bool:
        return self.preset is not None and self.preset.fidelity is PresetFidelity.sillytavern

    def for_speaker(self, name: str) -> TurnInputs:
        """The same with the persona that is called like whoever speaks."""
        found = next((each for each in self.personas if each.name == name), None)
        return self if found is None else self.with_persona(found)

    def with_persona(self, persona: NamedPersona) -> TurnInputs:
        place = PersonaPlace(
            position=cast(PersonaPosition, persona.position), depth=persona.depth, role=cast(Role, persona.role)
        )
        books = self.story.books if self.books_for is None else self.books_for(persona.lorebook)
        story = replace(self.story, persona=persona.text, place=place, books=books)
        return replace(self, persona=persona.text, story=story, personas=())


class UserPersona:
    """Who the owner is to the familiar, in their own words; they may change it while it runs."""

    def __init__(self, text: str = "") -> None:
        self._text = text

    def read(self) -> str:
        """The words; empty: they said nothing about it."""
        return self._text

    def change(self, text: str) -> None:
        """From the next turn on it is *text*."""
        self._text = text


class TurnInputsLookup:
    """Looks up what a channel's turns bring."""

    def __init__(
        self,
        *,
        presets: PresetStore,
        card: CardReader,
        config: CharacterConfig,
        shelf: BookShelf,
        states: StoryStateStore,
        persona: UserPersona | None = None,
        regex: RegexStore | None = None,
    ) -> None:
        self._presets = presets
        self._card = card
        self._config = config
        self._shelf = shelf
        self._states = states
        self._persona = persona or UserPersona(config.user_persona)
        self._regex = regex

    def lookup(self, channel: ChannelConfig, channel_id: int) -> TurnInputs:
        """For a turn in *channel*. Blocks."""
        config, preset = self._config, self._active_preset(channel)
        inputs = TurnInputs(
            preset=preset,
            card=self._card.read(),
            persona=self._persona.read(),
            personas=tuple(config.personas),
            story=Story(
                owner=config.user_name or "",
                persona=self._persona.read(),
                place=PersonaPlace(
                    position=cast(PersonaPosition, config.user_persona_position),
                    depth=config.user_persona_depth,
                    role=cast(Role, config.user_persona_role),
                ),
                regex=self.regex_scripts(channel),
                state=StoryState() if preset is None else self._states.load(channel_id),
            ),
        )
        if inputs.is_exact:
            story = self._exact_story(inputs.story, channel)
            inputs = replace(inputs, story=story, books_for=self._books_for(channel))
        chosen = next((each for each in config.personas if each.name == channel.place.persona), None)
        return inputs if chosen is None else inputs.with_persona(chosen)

    def regex_scripts(self, channel: ChannelConfig) -> tuple[RegexScript, ...]:
        """The scripts in force in *channel*. Blocks."""
        if self._regex is None:
            return ()
        preset = self._presets.lookup(channel.preset)
        return self._regex.in_force(self._card.regex_scripts(), preset.scripts if preset is not None else ())

    def is_exact(self, channel: ChannelConfig) -> bool:
        """Whether prompts in *channel* are as in SillyTavern. Blocks."""
        fidelity = PresetFidelity(channel.preset_fidelity or self._config.preset_fidelity)
        preset = self._presets.lookup(channel.preset)
        return fidelity is PresetFidelity.sillytavern and preset is not None and not preset.is_bare

    def _active_preset(self, channel: ChannelConfig) -> ActivePreset | None:
        preset = self._presets.lookup(channel.preset)
        if preset is None:
            return None
        return ActivePreset(
            preset=preset,
            fidelity=PresetFidelity.with_memory
            if preset.is_bare
            else PresetFidelity(channel.preset_fidelity or self._config.preset_fidelity),
            has_samplers=self._config.preset_samplers,
        )

    def _exact_story(self, story: Story, channel: ChannelConfig) -> Story:
        """*story* with all that a prompt as in SillyTavern is made from."""
        config = self._config
        return replace(
            story,
            note=author_note_of(channel.place),
            tags=self._card.tags(),
            books=self._books_for(channel)(""),
            scan=config.world_info,
            switches=config.sillytavern,
            notes=self._shelf.read().problems,
        )

    def _books_for(self, channel: ChannelConfig) -> Callable[[str], tuple[WorldBook, ...]]:
        settings = self._config.books

        def books(persona: str) -> tuple[WorldBook, ...]:
            return self._shelf.in_force(
                off=settings.books_off, card_book=settings.card_book, chat=channel.chat_book, persona=persona
            )

        return books


def author_note_of(place: PlaceSettings) -> AuthorNote | None:
    """The channel's note, else the familiar's."""
    own = place.channel_note is not None
    text = place.channel_note if own else place.global_note
    if text is None:
        return None
    return AuthorNote(
        text=text,
        position=cast(NotePosition, place.note_position),
        depth=place.channel_note_depth if own else place.global_note_depth,
        role=cast(Role, place.note_role),
        interval=place.note_interval,
        is_scanned=place.note_scanned,
    )


MEASURED_TURNS = 200
"""Turns of a channel whose length is looked at, to know how many have room."""
MEASURED_STEP = 20
UNKNOWN_AUTHOR = Author(platform="history", user_id="unknown", username=None, display_name=None)


@dataclass(frozen=True)
class ChannelSetup:
    """What a channel's turns are made with: its settings, and the preset and card in force."""

    channel: ChannelConfig
    inputs: TurnInputs


class TurnBuilder:
    """Makes turns and requests. Whatever they are made of is looked at anew for each."""

    def __init__(
        self,
        *,
        history: HistoryStore,
        channels: ChannelConfigStore,
        models: ModelSlots,
        turn_inputs: Callable[[ChannelConfig, int], TurnInputs] | None = None,
        turn_settings: Callable[[ChannelConfig], TurnSettings] | None = None,
        zone: tzinfo = UTC,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        readers: PlaceReaders | None = None,
        transcripts: TranscriptCache | None = None,
    ) -> None:
        self._history = history
        self._readers = readers or PlaceReaders()
        self._channels = channels
        self._models = models
        self._turn_inputs = turn_inputs
        self._turn_settings = turn_settings or _settings_of
        self._zone = zone
        self._clock = clock or SystemClock()
        self._rng = rng or random.Random()
        self._stored = StoredWindow(history)
        self._summary_privacy = SummaryPrivacy(history, self._readers.privacy)
        self._transcripts = transcripts or TranscriptCache()

    def channel(self, channel_id: int, *, is_voice: bool = False) -> ChannelConfig:
        """The channel's settings, with the budgets that fit the reply's model. May read its file."""
        channel = self._channels.get(channel_id=channel_id)
        model = self._models.get(MAIN_SLOT, model=channel.model)
        return with_model_limits(channel, capabilities_of(model), is_voice=is_voice)

    async def channel_setup(
        self,
        channel_id: int,
        *,
        is_voice: bool = False,
        changed: Callable[[ChannelConfig], ChannelConfig] | None = None,
    ) -> ChannelSetup:
        """What the channel's next turn is made with. ConfigError: its settings cannot be read."""
        named = (await off_loop(self._channels.get, channel_id)).model
        await self._models.learn_limits(MAIN_SLOT, model=named)
        model = getattr(self._models.get(MAIN_SLOT, model=named), "model", None)
        if not is_vocabulary_ready(model):
            await off_loop(load_vocabulary, model)
        return await off_loop(self._read_setup, channel_id, is_voice, changed)

    async def build(
        self, exchange: Exchange, place: Surroundings, setup: ChannelSetup, *, seed: int | None = None
    ) -> tuple[Turn, ContextRequest]:
        """What was said and where, as a turn and as the request that is answered."""
        setup, scene = await asyncio.gather(
            off_loop(self._with_turns, setup, exchange.familiar_id, exchange.channel_id), fetch_scene(place)
        )
        settings = await off_loop(self._turn_settings, setup.channel)
        if setup.inputs.is_exact:
            settings = replace(
                settings, verbatim=True, window_size=MOST_FETCHED, window_step=0, message_fetch_limit=MOST_FETCHED
            )
        # Before anything that was said here is read: it is told to those who can read it now.
        here = await off_loop(self._readers_now, exchange, scene)
        exchange = await off_loop(self._only_told, exchange, here)
        scene = with_place_settings(scene, setup.channel.place)
        turn = await build_turn(
            exchange,
            place,
            settings=settings,
            privacy=self._readers.privacy,
            stored=self._stored,
            scene=scene or Scene(),
            transcribe=self._transcripts.transcribe,
            transcripts=self._transcripts,
            now=self._clock.now(),
            is_owner=self._readers.is_owner,
        )
        setup = replace(setup, inputs=replace(setup.inputs, story=place.tell_story(setup.inputs.story)))
        seen = scene_for_turn(turn, scene, self._readers.privacy)
        request = self._request(turn, setup, here, scene=seen, seed=seed)
        return turn, replace(request, interruption_context=exchange.interruption_context)

    def _readers_now(self, exchange: Exchange, scene: Scene | None) -> Readers:
        """Who can read the place now; channels that were hidden meanwhile take their old turns along first."""
        last = exchange.messages[-1]
        here = self._readers.at(
            scene,
            channel_id=exchange.channel_id,
            guild_id=exchange.guild_id,
            author=exchange.speaker,
            is_dm=last.message is not None and last.message.is_dm,
        )
        note_hidden_channels(self._history, exchange.familiar_id, scene, here)
        if scene is not None:
            self._history.channel_readers.now.put(exchange.channel_id, here)
        return here

    def _only_told(self, exchange: Exchange, here: Readers) -> Exchange:
        """*exchange* without what waited in it and may not be told any more: the channel let others in meanwhile.

        What was said to us is answered all the same.
        """
        ids = [each.history_id for each in exchange.messages[:-1] if each.history_id is not None and not each.is_for_us]
        if not ids:
            return exchange
        turns = self._history.turns_without_words(familiar_id=exchange.familiar_id, turn_ids=ids)
        gone = {turn_id for turn_id, turn in turns.items() if not only_since_opened([turn], here)}
        kept = tuple(each for each in exchange.messages if each.history_id is None or each.history_id not in gone)
        return replace(exchange, messages=kept) if gone else exchange

    async def may_still_tell(self, request: ContextRequest, exchange: Exchange, place: Surroundings) -> bool:
        """Whether what was gathered for *request* may be told to everybody who can read the place by now."""
        if request.readers is None:
            return True
        scene = await fetch_scene(place)
        here = await off_loop(self._readers_now, exchange, scene)
        return may_still_tell(request.readers, here, request.telling)

    # Requests that nobody answers

    async def preview_request(
        self, familiar_id: str, channel_id: int, author: Author
    ) -> tuple[ChannelConfig, ContextRequest]:
        """The channel and the request of a turn nobody has begun yet: what a model can work ahead of."""
        setup = await self.channel_setup(channel_id)
        setup = await off_loop(self._with_turns, setup, familiar_id, channel_id)
        blank = Turn(
            familiar_id=familiar_id,
            channel_id=channel_id,
            said=(SaidMessage(author=author, text="", timestamp=self._clock.now()),),
        )
        here = await off_loop(self._readers.at, None, channel_id=channel_id, guild_id=None, author=author)
        return setup.channel, replace(self._request(blank, setup, here), turn=None)

    async def request_for(
        self,
        exchange: Exchange,
        place: Surroundings,
        *,
        seed: int,
        changed: Callable[[ChannelConfig], ChannelConfig] | None = None,
    ) -> tuple[ChannelConfig, ContextRequest]:
        """The channel and the request that an exchange would be answered with; nothing is said or kept."""
        setup = await self.channel_setup(exchange.channel_id, is_voice=exchange.is_voice, changed=changed)
        _, request = await self.build(exchange, place, setup, seed=seed)
        return setup.channel, request

    async def request_again(self, request: ContextRequest) -> tuple[ChannelConfig, ContextRequest]:
        """The request of a past turn as it would be made today: what was said then, with the settings of now."""
        setup = await self.channel_setup(request.channel_id, is_voice=request.modality is Modality.voice)
        setup = await off_loop(self._with_turns, setup, request.familiar_id, request.channel_id)
        blank = SaidMessage(
            author=request.author or UNKNOWN_AUTHOR, text=request.utterance, timestamp=self._clock.now()
        )
        turn = request.turn or Turn(familiar_id=request.familiar_id, channel_id=request.channel_id, said=(blank,))
        inputs, then = setup.inputs, request.story
        if then.group:
            inputs = replace(inputs, story=replace(inputs.story, user=then.user, group=then.group, muted=then.muted))
        inputs = inputs.for_speaker(then.user if then.group else turn.said[-1].author.label)
        today = to_request(
            turn,
            setup.channel,
            scene=request.scene,
            preset=inputs.preset,
            card=inputs.card,
            persona=inputs.persona,
            story=inputs.story,
            seed=request.seed,
            now=request.now,
        )
        return setup.channel, replace(
            today,
            turn=request.turn,
            author=request.author,
            utterance=request.utterance,
            pending_turns=request.pending_turns,
            before_id=request.before_id,
            interruption_context=request.interruption_context,
            readers=request.readers,
            telling=request.telling,
        )

    def _with_turns(self, setup: ChannelSetup, familiar_id: str, channel_id: int) -> ChannelSetup:
        """*setup* with the number of turns that its share for dialogue holds, by how long turns here are.

        The average is taken up to the last full step, so that it changes no more often than a window that moves.
        """
        self._summary_privacy.drop_stale_summaries(familiar_id)
        channel = setup.channel
        if channel.history_turns == 0:
            return setup
        stored = self._history.count_before(familiar_id=familiar_id, channel_id=channel_id, before_id=None)
        turns = self._history.recent(familiar_id=familiar_id, channel_id=channel_id, limit=MEASURED_TURNS)
        turns = turns[: len(turns) - stored % MEASURED_STEP]
        average = sum(estimate_tokens(turn.display_text) for turn in turns) / max(1, len(turns))
        room = turns_within(channel.budget_by_layer.get(Layer.recent_history, 0), average)
        return replace(setup, channel=replace(channel, history_turns=room))

    def _read_setup(
        self, channel_id: int, is_voice: bool, changed: Callable[[ChannelConfig], ChannelConfig] | None
    ) -> ChannelSetup:
        channel = self.channel(channel_id, is_voice=is_voice)
        channel = changed(channel) if changed is not None else channel
        return ChannelSetup(
            channel, self._turn_inputs(channel, channel_id) if self._turn_inputs is not None else TurnInputs()
        )

    def _request(
        self, turn: Turn, setup: ChannelSetup, here: Readers, *, scene: Scene | None = None, seed: int | None = None
    ) -> ContextRequest:
        story, speaker = setup.inputs.story, turn.speaker or turn.said[-1].author
        inputs = setup.inputs.for_speaker(story.user if story.group else speaker.label)
        request = to_request(
            turn,
            setup.channel,
            scene=scene,
            preset=inputs.preset,
            card=inputs.card,
            persona=inputs.persona,
            story=self._with_model(inputs.story, setup.channel.model),
            seed=self._rng.getrandbits(32) if seed is None else seed,
            now=self._clock.now().astimezone(self._zone),
        )
        return replace(request, readers=here, telling=self._readers.policy_for(setup.channel.place))

    def _with_model(self, story: Story, named: str | None) -> Story:
        if story.model:
            return story
        return replace(story, model=getattr(self._models.get(MAIN_SLOT, model=named), "model", "") or "")


def _settings_of(channel: ChannelConfig) -> TurnSettings:
    return TurnSettings(mode=channel.mode.value)
