"""LoreCheck: what the lorebooks would say to a chat as it stands, entry by entry, with the reason of each.

It is the scan that a reply makes, over the same books, card and chat; nobody is asked, nothing is kept. Chance counts
in favour of an entry, and is told.
"""

from __future__ import annotations

from dataclasses import dataclass

from familiar_connect.config.character import CharacterConfig
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn
from familiar_connect.memory.card_fields import CardReader
from familiar_connect.memory.lorebooks.book_shelf import BookShelf
from familiar_connect.presets.macros.types import MacroContext, Variables
from familiar_connect.presets.sillytavern.arrange import FixedChance
from familiar_connect.presets.sillytavern.prepare_card import prepare_card
from familiar_connect.presets.sillytavern.scan_world import scan_inputs
from familiar_connect.presets.sillytavern.types import DEFAULT_ANSWER, DEFAULT_CONTEXT, SillyTavernInputs
from familiar_connect.presets.story.state_store import StoryStateStore
from familiar_connect.presets.types import ChatLine, PresetSettings
from familiar_connect.presets.world_info.explain_misses import NO_KEY, explain_misses
from familiar_connect.presets.world_info.scan import ScanInputs, scan_books
from familiar_connect.presets.world_info.types import WorldEntry
from familiar_connect.reply.message_view import lines_of_turns
from familiar_connect.reply.turn_builder import ChannelSetup, TurnInputs, author_note_of
from familiar_connect.support.clock import Clock

MOST_LINES = 1_000
"""A scan looks no further back."""
LUCKY = 1e-9
"""What each chance comes to: as good as it can be, except for an entry that never has one."""


@dataclass(frozen=True, kw_only=True)
class CheckedEntry:
    """One entry, and why it would speak or not."""

    book: str
    name: str
    path: str
    """Its file; empty where it has none."""
    fires: bool
    reason: str

    @property
    def is_far(self) -> bool:
        """Whether nothing of it was found at all, as is so of most entries."""
        return self.reason.startswith(NO_KEY)


@dataclass(frozen=True, kw_only=True)
class LoreFindings:
    """What a check comes to."""

    entries: tuple[CheckedEntry, ...]
    """Those that would speak first, in the order they are found."""
    counts: bool
    """Whether replies here are made with this scan; else memory's own search finds the entries."""
    problems: tuple[str, ...]
    depth: int
    """Messages that are searched where an entry does not say otherwise."""


class LoreCheck:
    """Checks the books of one familiar."""

    def __init__(
        self,
        *,
        familiar_id: str,
        history: HistoryStore,
        config: CharacterConfig,
        card: CardReader,
        shelf: BookShelf,
        states: StoryStateStore,
        clock: Clock,
    ) -> None:
        self._familiar_id = familiar_id
        self._history = history
        self._config = config
        self._card = card
        self._shelf = shelf
        self._states = states
        self._clock = clock

    def check(self, channel_id: int, setup: ChannelSetup, *, typed: str, user: str) -> LoreFindings:
        """For the chat with *typed* behind it, said by *user*; nothing is said. Blocks."""
        inputs = setup.inputs.for_speaker(user)
        turns = self._history.recent(familiar_id=self._familiar_id, channel_id=channel_id, limit=MOST_LINES)
        made = self._inputs(channel_id, setup, inputs, self._lines(turns, typed, user), user)
        asked = scan_inputs(made, prepare_card(made)) if made.books else ScanInputs(pool=(), settings=made.scan)
        world = scan_books(asked)
        paths = self._shelf.entry_paths()

        def tell_entry(entry: WorldEntry, fires: bool, reason: str) -> CheckedEntry:
            path = paths.get((entry.book, entry.name), "")
            name = entry.title or (entry.keys[0] if entry.keys else entry.name)
            return CheckedEntry(book=entry.book, name=name, path=path, fires=fires, reason=reason)

        found = [tell_entry(each.entry, True, each.reason + _chance(each.entry)) for each in world.activated]
        found += [tell_entry(entry, False, reason) for entry, reason in explain_misses(asked, world)]
        problems = (*self._shelf.read().problems, *world.problems, *([world.limit] if world.limit else []))
        return LoreFindings(entries=tuple(found), counts=inputs.is_exact, problems=problems, depth=asked.settings.depth)

    def _lines(self, turns: list[HistoryTurn], typed: str, user: str) -> tuple[ChatLine, ...]:
        lines = lines_of_turns(turns, char=self._card.read().name, user=user)
        return (*lines, ChatLine(name=user, text=typed, is_user=True)) if typed.strip() else lines

    def _inputs(
        self, channel_id: int, setup: ChannelSetup, inputs: TurnInputs, chat: tuple[ChatLine, ...], user: str
    ) -> SillyTavernInputs:
        config, channel, story, card = self._config, setup.channel, inputs.story, self._card.read()
        books = (
            story.books
            if inputs.is_exact
            else self._shelf.in_force(
                off=config.books.books_off, card_book=config.books.card_book, chat=channel.chat_book
            )
        )
        settings = inputs.preset.preset.settings if inputs.preset is not None else PresetSettings()
        state = self._states.load(channel_id)
        window, answer = settings.max_context or DEFAULT_CONTEXT, settings.max_tokens or DEFAULT_ANSWER
        return SillyTavernInputs(
            settings=settings,
            card=card,
            persona=inputs.persona,
            persona_position=story.place.position,
            chat=chat,
            context=MacroContext(
                char=card.name,
                user=user,
                now=self._clock.now(),
                rng=FixedChance(LUCKY),
                chat_id=f"{self._familiar_id}/{channel_id}",
                variables=Variables(local=dict(state.variables), shared=dict(state.shared)),
                max_prompt=window - answer,
                max_context=window,
                max_response=answer,
                ours=False,
            ),
            author_note=author_note_of(channel.place),
            budget=max(1, window - answer),
            books=books,
            scan=config.world_info,
            timed=state.timed,
            tags=self._card.tags(),
        )


def _chance(entry: WorldEntry) -> str:
    """What chance may still do to an entry that would speak."""
    told = ""
    if entry.use_probability and entry.probability < 100:
        told += f"; its chance is {entry.probability:g} %"
    if entry.group:
        told += f"; of the group {entry.group!r} one entry is chosen"
    return told
