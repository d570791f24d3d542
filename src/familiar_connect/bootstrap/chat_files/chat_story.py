"""What a chat file says besides its messages, in and out: the author's note, variables, timed effects of World Info.

The note becomes settings of the chat's own channel, variables and effects its story state. On the way out they stand in
`chat_metadata` again: as they came, unless they were changed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from familiar_connect.bootstrap.chat_files.sillytavern_chat import NOTE_POSITIONS, OWN_FIELDS, ROLES, chat_facts
from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.presets.story.state_store import StoryStateStore, plain_timed_effects
from familiar_connect.presets.story.types import AuthorNote, ChatFacts
from familiar_connect.presets.world_info.types import TimedEffects
from familiar_connect.support.text import pluralize

NOTE_KEYS = ("note_prompt", "note_interval", "note_position", "note_depth", "note_role")


def keep_story(
    header: Mapping[str, Any],
    before: Mapping[str, Any],
    *,
    folder: FamiliarFolder,
    channel_id: int,
    channels: ChannelConfigStore,
) -> tuple[str, ...]:
    """Take over what *header* says; *before* is what it said last time, so that changes made here since stay.

    Returns sentences: what was taken, and what has no effect here.
    """
    metadata = metadata_of(header)
    if metadata == metadata_of(before):
        return ()
    facts = chat_facts(header, "", "")
    told = []
    if facts.note is not None and facts.note.text.strip() and facts.note != chat_facts(before, "", "").note:
        channels.set_author_note(channel_id, _settings_of(facts.note))
        told.append(f"Its author's note is in {folder.channel_file(channel_id)}.")
    if facts.state.variables or facts.state.timed != TimedEffects():
        store = StoryStateStore(folder.story)
        state = store.load(channel_id)
        variables = {**state.variables, **facts.state.variables}
        timed = facts.state.timed if facts.state.timed != TimedEffects() else state.timed
        store.save(channel_id, replace(state, variables=variables, timed=timed))
        if facts.state.variables:
            told.append(f"{pluralize(len(facts.state.variables), 'variable')} came with it.")
    return (*told, *_without_effect(facts))


def _without_effect(facts: ChatFacts) -> tuple[str, ...]:
    told = []
    if facts.book:
        told.append(
            f"Its own lorebook {facts.book!r} is not bound to one chat here: `familiar import lorebook` imports it."
        )
    if own := [name for name in OWN_FIELDS if name in facts.card_fields]:
        told.append(
            f"It has {', '.join(own)} of its own, unlike the card's; that has no effect here and is kept for export."
        )
    return tuple(told)


def _settings_of(note: AuthorNote) -> dict[str, str | int]:
    return {
        "author_note": note.text.strip(),  # as a settings file is read: blanks around a text say nothing
        "author_note_depth": max(0, note.depth),
        "author_note_position": note.position,
        "author_note_role": note.role,
        "author_note_interval": max(0, note.interval),
    }


def metadata_of(header: Mapping[str, Any]) -> Mapping[str, Any]:
    found = header.get("chat_metadata")
    return found if isinstance(found, Mapping) else {}


def story_metadata(
    header: Mapping[str, Any], *, folder: FamiliarFolder, channel_id: int, channels: ChannelConfigStore
) -> dict[str, Any]:
    """`chat_metadata` of a chat: what its file had, with the note and the variables as they are here now."""
    metadata = dict(metadata_of(header))
    came = chat_facts(header, "", "")
    note = _note_here(channels, channel_id)
    came_settings = _settings_of(came.note) if came.note is not None and came.note.text.strip() else None
    if note != came_settings:
        if note is None:
            metadata = {name: value for name, value in metadata.items() if name not in NOTE_KEYS}
        else:
            metadata |= _note_metadata(note)
    state = StoryStateStore(folder.story).load(channel_id)
    if dict(state.variables) != dict(came.state.variables):
        metadata["variables"] = dict(state.variables)
    if state.timed != came.state.timed:
        metadata["timedWorldInfo"] = plain_timed_effects(state.timed)
    return metadata


def _note_here(channels: ChannelConfigStore, channel_id: int) -> dict[str, str | int] | None:
    place = channels.get(channel_id).place
    if not (place.channel_note or "").strip():
        return None
    return {
        "author_note": place.channel_note or "",
        "author_note_depth": place.channel_note_depth,
        "author_note_position": place.note_position,
        "author_note_role": place.note_role,
        "author_note_interval": place.note_interval,
    }


def _note_metadata(note: Mapping[str, str | int]) -> dict[str, Any]:
    positions: dict[str, int] = {name: number for number, name in NOTE_POSITIONS.items()}
    return {
        "note_prompt": note["author_note"],
        "note_interval": note["author_note_interval"],
        "note_position": positions[str(note["author_note_position"])],
        "note_depth": note["author_note_depth"],
        "note_role": list[str](ROLES).index(str(note["author_note_role"])),
    }
