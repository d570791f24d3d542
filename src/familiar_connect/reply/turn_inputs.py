"""What a turn brings besides its words: the preset in force, the character's card, who the speaker is, the story.

Looked up once per turn, in a thread. What cannot be read costs itself only: the turn goes on without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from familiar_connect.config import ChannelConfig, CharacterConfig
from familiar_connect.llm.types import Role
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

    def _active_preset(self, channel: ChannelConfig) -> ActivePreset | None:
        preset = self._presets.lookup(channel.preset)
        if preset is None:
            return None
        return ActivePreset(
            preset=preset,
            fidelity=PresetFidelity(channel.preset_fidelity or self._config.preset_fidelity),
            has_samplers=self._config.preset_samplers,
        )

    def _exact_story(self, story: Story, channel: ChannelConfig) -> Story:
        """*story* with all that a prompt as in SillyTavern is made from."""
        config = self._config
        return replace(
            story,
            note=_note(channel.place),
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


def _note(place: PlaceSettings) -> AuthorNote | None:
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
