"""StoryStateStore: what lasts in a chat, one JSON file for each, and one for what all chats of a familiar share.

`story/<channel>.json` holds the chat's variables and the timed effects of World Info, under SillyTavern's names;
`story/global.json` the variables of all chats. A file that cannot be read counts as empty and is written anew.
Calls block: async code runs them in a thread.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from familiar_connect.presets.story.types import StoryState
from familiar_connect.presets.world_info.types import TimedEffect, TimedEffects
from familiar_connect.support.files import atomic_write
from familiar_connect.support.no_follow import load_bytes, make_folder, remove_file

logger = logging.getLogger(__name__)

GLOBAL = "global"
MAX_BYTES = 4 * 1024 * 1024
MOST_VARIABLES = 10_000


class StoryStateStore:
    """The states under *folder*."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def load(self, channel_id: int) -> StoryState:
        """What lasts in the chat of *channel_id*."""
        with self._lock:
            own, shared = self._read(str(channel_id)), self._read(GLOBAL)
        return StoryState(
            variables=read_variables(own.get("variables")),
            shared=read_variables(shared.get("variables")),
            timed=read_timed_effects(own.get("timedWorldInfo")),
        )

    def save(self, channel_id: int, state: StoryState) -> None:
        """Keep *state*; files that would say nothing new are left alone."""
        with self._lock:
            own = {"variables": dict(state.variables), "timedWorldInfo": plain_timed_effects(state.timed)}
            self._write(str(channel_id), own)
            self._write(GLOBAL, {"variables": dict(state.shared)})

    def forget(self, channel_id: int) -> None:
        """The chat of *channel_id* is no more."""
        with self._lock:
            remove_file(self._folder / f"{int(channel_id)}.json")

    def _read(self, name: str) -> Mapping[str, Any]:
        path = self._folder / f"{name}.json"
        try:
            found = json.loads(load_bytes(path, MAX_BYTES))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            logger.warning("the state of a chat cannot be read", extra={"file": name, "reason": type(error).__name__})
            return {}
        return found if isinstance(found, dict) else {}

    def _write(self, name: str, content: dict[str, object]) -> None:
        before = self._read(name)
        if before == content or (not before and not _holds_something(content)):
            return
        make_folder(self._folder)
        atomic_write(self._folder / f"{name}.json", json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def read_variables(found: object) -> dict[str, str]:
    """Variables as a chat file has them: texts, numbers and lists, each as text."""
    if not isinstance(found, Mapping):
        return {}
    kept = list(found.items())[:MOST_VARIABLES]
    return {str(name): value if isinstance(value, str) else json.dumps(value) for name, value in kept}


def read_timed_effects(found: object) -> TimedEffects:
    """Timed effects as a chat file has them."""
    plain = found if isinstance(found, Mapping) else {}
    return TimedEffects(sticky=_effects(plain.get("sticky")), cooldown=_effects(plain.get("cooldown")))


def _effects(found: object) -> dict[str, TimedEffect]:
    effects = {}
    for key, value in found.items() if isinstance(found, Mapping) else ():
        if isinstance(value, Mapping) and all(isinstance(value.get(name), int) for name in ("start", "end")):
            effects[str(key)] = TimedEffect(
                fingerprint=str(value.get("hash", "")),
                start=value["start"],
                end=value["end"],
                is_protected=bool(value.get("protected")),
            )
    return effects


def plain_timed_effects(timed: TimedEffects) -> dict[str, object]:
    """*timed* as a chat file has it."""
    return {
        kind: {
            key: {"hash": each.fingerprint, "start": each.start, "end": each.end, "protected": each.is_protected}
            for key, each in effects.items()
        }
        for kind, effects in (("sticky", timed.sticky), ("cooldown", timed.cooldown))
    }


def _holds_something(value: object) -> bool:
    """Whether there is anything in *value* besides empty objects."""
    return any(map(_holds_something, value.values())) if isinstance(value, dict) else True
