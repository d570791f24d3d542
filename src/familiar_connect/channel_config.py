"""ChannelConfigStore: what each channel gets, read from its sidecar file and changed through it.

A sidecar belongs to its owner too: a change keeps every other key and comment in it, a file that cannot be
understood is reported, never overwritten, and one that was edited meanwhile is read anew.
"""

from __future__ import annotations

import threading
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from familiar_connect.config.channel import NO_PRESET, ChannelConfig, channel_config_for_mode, merge_typing_settings
from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.consent import CHANNEL_KEYS_ASKED
from familiar_connect.config.folders import channel_file
from familiar_connect.config.limits import list_given
from familiar_connect.config.load import channel_config_from, load_channel_config
from familiar_connect.config.toml import parse_toml, read_text, write_text
from familiar_connect.config.types import ChannelMode
from familiar_connect.errors import ConfigError
from familiar_connect.support.lru import LruCache

CACHED_CHANNELS = 4096
"""More channels than one familiar lives in; beyond it the longest unused is read anew."""

AUTHOR_NOTE_KEYS = (
    "author_note",
    "author_note_depth",
    "author_note_position",
    "author_note_role",
    "author_note_interval",
    "author_note_scanned",
)
FileVersion = tuple[int, int, int] | None
_FIRST_ON_DISK = ("channel_name", "mode", "backdrop")
MANAGERS_LIMITS = "limits_by_managers"
"""The table of a channel's file in which its managers set limits; what stands above it is the owner's."""
_CHANGED_BY_COMMAND = ("preset", "model", "persona", "replies_per_hour", "tokens_per_day", MANAGERS_LIMITS)


class ChannelConfigStore:
    """Per-channel settings under *root*, over the character's."""

    def __init__(
        self,
        *,
        root: Path,
        character: CharacterConfig,
        may_widen: Callable[[int, str, object], bool] | None = None,
    ) -> None:
        """*may_widen* says whether a channel may set a key that lets its talk go further; None: every one may."""
        self._may_widen = may_widen
        self._root = Path(root)
        self._character = character
        self._known: LruCache[int, tuple[FileVersion, ChannelConfig]] = LruCache(CACHED_CHANNELS)
        self._parents: LruCache[int, int] = LruCache(CACHED_CHANNELS)
        self._lock = threading.Lock()

    def follow(self, channel_id: int, parent_id: int) -> None:
        """Know that a thread belongs to a channel: without settings of its own it has that channel's."""
        self._parents.put(channel_id, parent_id)

    def settings_channel(self, channel_id: int) -> int:
        """The channel whose settings count: a thread without a file of its own has those of its parent."""
        parent = self._parents.get(channel_id)
        return parent if parent is not None and _version_of(self._path(channel_id)) is None else channel_id

    def get(self, channel_id: int) -> ChannelConfig:
        """What the channel gets: by its sidecar as it is now, else its parent's, else the default mode."""
        channel_id = self.settings_channel(channel_id)
        with self._lock:
            version = _version_of(self._path(channel_id))
            known = self._known.get(channel_id)
            if known is not None and version in (known[0], None):  # one that is gone counts as it was read last
                return known[1]
            self._known.pop(channel_id)
            found = load_channel_config(self._path(channel_id), **self._familiars)
            known_as = self._copy_settings(channel_id) if found is None else self._narrow(channel_id, found)
            return self._remember(channel_id, known_as, version)

    def _narrow(self, channel_id: int, config: ChannelConfig) -> ChannelConfig:
        """*config* without what its file lets go further and the owner has not allowed."""
        own, familiars = config.place, self._character.place
        refused: dict[str, Any] = {}
        for name in CHANNEL_KEYS_ASKED if self._may_widen is not None else ():
            value, usual = getattr(own, name), getattr(familiars, name)
            if value and value != usual and self._may_widen is not None:
                refused |= {} if self._may_widen(channel_id, name, value) else {name: usual}
        return replace(config, place=replace(own, **refused)) if refused else config

    def get_backdrop(self, channel_id: int) -> str | None:
        return self.get(channel_id).backdrop_override

    def set_mode(self, channel_id: int, mode: ChannelMode) -> ChannelConfig:
        return self._change(channel_id, {"mode": mode.value})

    def set_backdrop(self, channel_id: int, backdrop: str | None, channel_name: str | None = None) -> ChannelConfig:
        """Set where the conversation takes place; a blank *backdrop* clears it."""
        changes: dict[str, str | int | None] = {"backdrop": (backdrop or "").strip() or None}
        if channel_name and channel_name.strip():
            changes["channel_name"] = channel_name.strip()
        return self._change(channel_id, changes)

    def set_preset(self, channel_id: int, name: str | None) -> ChannelConfig:
        """Give the channel a preset of its own, or none at all whatever the familiar's is."""
        return self._change(channel_id, {"preset": name or NO_PRESET})

    def clear_preset(self, channel_id: int) -> ChannelConfig:
        """Let the channel have the familiar's preset again."""
        return self._change(channel_id, {"preset": None})

    def set_model(self, channel_id: int, model: str | None) -> ChannelConfig:
        """Have another model of the familiar's server answer in the channel; None: the familiar's own."""
        return self._change(channel_id, {"model": model})

    def parent_channel(self, channel_id: int) -> int:
        """The channel that a thread belongs to; of any other channel itself."""
        return self._parents.get(channel_id) or channel_id

    def set_persona(self, channel_id: int, name: str | None) -> ChannelConfig:
        """Say which of the owner's personas speaks in the channel; None: whichever the familiar's settings name."""
        return self._change(channel_id, {"persona": name})

    def set_limits(self, channel_id: int, changes: Mapping[str, int | None]) -> ChannelConfig:
        """Bound, as the owner, what everybody in the channel gets together; None lifts a setting.

        What managers had set of it gives way.
        """
        return self._change(
            channel_id, {**changes, MANAGERS_LIMITS: self._managers_limits(channel_id, dict.fromkeys(changes))}
        )

    def set_managers_limits(self, channel_id: int, changes: Mapping[str, int | None]) -> ChannelConfig:
        """The same as somebody who manages the channel: what the owner set stays."""
        return self._change(channel_id, {MANAGERS_LIMITS: self._managers_limits(channel_id, changes)})

    def _managers_limits(self, channel_id: int, changes: Mapping[str, int | None]) -> dict[str, int] | None:
        """The managers' table with *changes*; None: nothing is left in it."""
        wanted = {**list_given(self.get(channel_id).limits_by_managers), **changes}
        return {name: value for name, value in wanted.items() if isinstance(value, int) and value} or None

    def set_author_note(self, channel_id: int, note: Mapping[str, str | int]) -> ChannelConfig:
        """Give the channel a note of its own; *note* holds the settings that say what, where and how often."""
        return self._change(channel_id, {name: note.get(name) for name in AUTHOR_NOTE_KEYS})

    def set_sealed(self, channel_id: int, *, is_sealed: bool) -> ChannelConfig:
        """Make a chat of the owner's a world of its own, or part of everything else again."""
        return self._change(channel_id, {"sealed": True if is_sealed else None})

    @property
    def _overrides(self) -> Mapping[str, object]:
        return self._character.typing_simulation_overrides

    @property
    def _familiars(self) -> dict[str, Any]:
        """What the familiar says that a channel may say otherwise."""
        return {
            "character_overrides": self._overrides,
            "place": self._character.place,
            "budgets": self._character.budgets,
            "deadlines": self._character.deadlines,
            "steps": self._character.steps,
            "default_mode": self._character.default_mode,
        }

    def _path(self, channel_id: int) -> Path:
        return channel_file(self._root, channel_id)

    def _copy_settings(self, channel_id: int) -> ChannelConfig:
        base = channel_config_for_mode(self._character.default_mode).with_step_changes(self._character.steps)
        typing = merge_typing_settings(base.typing_simulation, self._overrides, file=self._path(channel_id))
        return replace(
            base,
            typing_simulation=typing,
            place=self._character.place,
            budgets=self._character.budgets,
            deadlines=self._character.deadlines,
        )

    def _remember(self, channel_id: int, config: ChannelConfig, version: FileVersion) -> ChannelConfig:
        config = replace(config, history_grows=self._character.history_grows)
        self._known.put(channel_id, (version, config))
        return config

    def _change(self, channel_id: int, changes: Mapping[str, str | int | dict[str, int] | None]) -> ChannelConfig:
        with self._lock:
            path = self._path(channel_id)
            text = read_text(path) or ""
            wanted = parse_toml(text, path)
            wanted.setdefault("mode", self._character.default_mode.value)
            for name, value in changes.items():
                if value is not None:
                    wanted[name] = value
                else:
                    wanted.pop(name, None)
            config = channel_config_from(wanted, path, **self._familiars, strict=False)
            write_text(path, _rewritten(text, wanted))
            try:
                channel_config_from(wanted, path, **self._familiars)
            except ConfigError:  # a key nobody knows: kept, and told at the next look as it was before
                self._known.pop(channel_id)
                return config
            return self._remember(channel_id, config, _version_of(path))


def _version_of(path: Path) -> FileVersion:
    """What changes whenever the file does; None where there is none that can be looked at."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _rewritten(text: str, wanted: Mapping[str, object]) -> str:
    """*text* changed to say *wanted*, comments kept; only where that cannot be done, *wanted* afresh."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        result = _edit(text, wanted)
        if tomllib.loads(result) == wanted:
            return result
    except (TOMLKitError, ValueError):
        pass  # what cannot be edited in place is written anew below, and loses its comments only
    return tomlkit.dumps({name: wanted[name] for name in sorted(wanted, key=lambda name: _rank(name, wanted[name]))})


def _edit(text: str, wanted: Mapping[str, Any]) -> str:
    import tomlkit

    document = tomlkit.parse(f"{text}\n" if text and not text.endswith("\n") else text)
    for name in [name for name in document if name not in wanted]:
        del document[name]
    for name in (*_FIRST_ON_DISK, *_CHANGED_BY_COMMAND, *AUTHOR_NOTE_KEYS):
        if name in wanted and document.get(name) != wanted[name]:
            document[name] = wanted[name]
    header, blocks, rest = _blocks(document.body)
    ordered = tomlkit.TOMLDocument(True)  # as if parsed: blank lines stay where they are
    for block in [header, *sorted(blocks, key=lambda block: _rank(block[-1][0].key, block[-1][1])), rest]:
        for key, item in block:
            ordered.append(key, item)
    return tomlkit.dumps(ordered)


def _blocks(body: list[tuple[Any, Any]]) -> tuple[list[Any], list[list[Any]], list[Any]]:
    """The document's head comment, each key with the comments above it, and what trails behind."""
    header: list[Any] = []
    blocks: list[list[Any]] = []
    waiting: list[Any] = []
    for key, item in body:
        waiting.append((key, item))
        if key is not None:
            blocks.append(waiting)
            waiting = []
        elif not blocks and not header and len(waiting) > 1 and not item.as_string().strip():
            header, waiting = waiting, []
    return header, blocks, waiting


def _rank(name: str, value: object) -> int:
    if name in _FIRST_ON_DISK:
        return _FIRST_ON_DISK.index(name)
    is_table = isinstance(value, Mapping) or (
        isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)
    )
    return len(_FIRST_ON_DISK) + is_table
