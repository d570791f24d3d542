"""World Info for one prompt: the chat as the scan sees it, and what the scan found."""

from __future__ import annotations

from dataclasses import replace

from familiar_connect.context.types import DroppedNote, Layer
from familiar_connect.presets.regex_scripts import Placement, rewrite_lore
from familiar_connect.presets.sillytavern.chat_messages import lines_to_send
from familiar_connect.presets.sillytavern.prepare_card import PreparedCard
from familiar_connect.presets.sillytavern.prompt_collection import is_note_due
from familiar_connect.presets.sillytavern.types import SillyTavernInputs, estimate_entry_tokens
from familiar_connect.presets.world_info.place_entries import place_entries, pool_of
from familiar_connect.presets.world_info.scan import ScanInputs, scan_books
from familiar_connect.presets.world_info.types import BookOrder, EntryPosition, WorldBook, WorldEntry, WorldInfo
from familiar_connect.support.lru import LruCache

KEPT = 8
_pools: LruCache[tuple[int, BookOrder], tuple[tuple[WorldBook, ...], tuple[WorldEntry, ...]]] = LruCache(KEPT)


def scan_world(inputs: SillyTavernInputs, opening: PreparedCard) -> WorldInfo:
    """What the books in force say to this chat; nothing where there are none."""
    if not inputs.books:
        _list_injected(inputs, opening)  # they are read all the same, which a variable in them shows
        return WorldInfo(timed=inputs.timed)
    world = scan_books(scan_inputs(inputs, opening))
    return _rewritten(world, inputs) if any(Placement.world_info in each.placements for each in inputs.regex) else world


def scan_inputs(inputs: SillyTavernInputs, opening: PreparedCard) -> ScanInputs:
    """What the books in force are searched with for this chat."""
    lines = [line for _, line in lines_to_send(opening.chat, inputs.kind)]
    named = inputs.scan.include_names
    card = opening.card
    return ScanInputs(
        pool=_pool(inputs.books, inputs.scan.book_order),
        settings=inputs.scan,
        messages=[f"{line.name}: {line.text}" if named else line.text for line in reversed(lines)],
        prompt_tokens=inputs.budget or 0,
        kind=inputs.kind,
        character=card.name,
        tags=inputs.tags,
        card={
            "persona": opening.persona,
            "description": card.description,
            "personality": card.personality,
            "depth_prompt": card.depth_prompt,
            "scenario": card.scenario,
            "creator_notes": card.creator_notes,
        },
        injected=_list_injected(inputs, opening),
        read=opening.reader.read,
        roll=inputs.context.rng.random,
        count=inputs.count_lore,
        timed=inputs.timed,
    )


def _rewritten(world: WorldInfo, inputs: SillyTavernInputs) -> WorldInfo:
    """*world* with its texts as the regex scripts have them."""
    activated = [
        replace(each, text=rewrite_lore(each.text, _depth_of(each.entry), inputs.regex, inputs.context))
        for each in world.activated
    ]
    return replace(
        place_entries(activated), timed=world.timed, dropped=world.dropped, problems=world.problems, limit=world.limit
    )


def _depth_of(entry: WorldEntry) -> int | None:
    return entry.depth if entry.position is EntryPosition.at_depth else None


def _pool(books: tuple[WorldBook, ...], order: BookOrder) -> tuple[WorldEntry, ...]:
    """The entries of *books* in their order, made once as long as the books are the same."""
    kept = _pools.get((id(books), order))
    if kept is None or kept[0] is not books:
        kept = (books, pool_of(books, order))
        _pools.put((id(books), order), kept)
    return kept[1]


def lore_without_room(world: WorldInfo) -> list[DroppedNote]:
    """A note for each entry that was found and had no room in the budget of World Info."""
    return [
        DroppedNote(
            Layer.content,
            f"world_info:{each.name}",
            "dropped",
            estimate_entry_tokens(len(each.content)),
            "the budget of World Info",
            each.content,
        )
        for each in world.dropped
    ]


def _list_injected(inputs: SillyTavernInputs, opening: PreparedCard) -> list[str]:
    """Texts among the chat that are searched too: notes that are to be, the persona at its depth, the quiet words."""
    note, read = inputs.author_note, opening.reader.read
    texts: list[str] = []
    if inputs.scans_notes or (note is not None and note.is_scanned):
        texts.append(opening.card.depth_prompt)
        texts.append(note.text if note is not None and is_note_due(note, inputs.chat) else "")
    if inputs.persona and inputs.persona_position == "chat":
        texts.append(inputs.persona)
    texts.append(inputs.quiet_prompt)
    return [read(text) for text in texts if text]
