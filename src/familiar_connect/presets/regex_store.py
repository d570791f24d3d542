"""RegexStore: a familiar's own regex scripts and the owner's switches, in one file beside its settings.

`regex.json` holds `scripts`, in SillyTavern's own form, and `switched`: which scripts of the card, of presets or of
the owner are on or off whatever they say themselves, as `"card: NAME": false`. The file travels with the folder, so
what it switches on runs only if the owner allowed it besides. Calls block: async code runs them in a thread.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from familiar_connect.errors import ConfigError, PresetError
from familiar_connect.presets.regex_scripts import MAX_SCRIPTS, read_scripts
from familiar_connect.presets.types import RegexScript
from familiar_connect.support.files import atomic_write
from familiar_connect.support.no_follow import load_bytes

logger = logging.getLogger(__name__)

MAX_BYTES = 4 * 1024 * 1024


class ScriptConsent(Protocol):
    """Knows which scripts the owner allowed."""

    def allows_script(self, fingerprint: str) -> bool: ...


@lru_cache(maxsize=MAX_SCRIPTS * 2)
def script_fingerprint(script: RegexScript) -> str:
    """What *script* does, whatever it is called and wherever it comes from: another one is to be allowed anew."""
    does = (
        script.find,
        script.replacement,
        script.trims,
        sorted(script.placements),
        script.is_display_only,
        script.is_prompt_only,
        script.substitution,
        script.min_depth,
        script.max_depth,
    )
    return hashlib.sha256(json.dumps(does).encode("utf-8")).hexdigest()


def script_key(script: RegexScript) -> str:
    """How a script is named among the switches."""
    return f"{script.origin}: {script.name}"


class RegexStore:
    """The file at *path*; one that is not there says nothing. No script runs that *consent* does not allow."""

    def __init__(self, path: Path, consent: ScriptConsent) -> None:
        self._path = path
        self._consent = consent
        self._known: tuple[tuple[int, ...], Mapping[str, object]] = ((), {})

    def in_force(self, card: Sequence[RegexScript], preset: Sequence[RegexScript] = ()) -> tuple[RegexScript, ...]:
        """The owner's scripts, the card's and the preset's, in this order, switched as the owner wants.

        A file that cannot be read costs what it says, and is logged.
        """
        try:
            return self.list(card, preset)
        except PresetError as error:
            logger.warning("regex scripts of the owner are left out", extra={"reason": str(error)})
            return tuple(map(self._hold_back, (*card, *preset)))

    def list(self, card: Sequence[RegexScript], preset: Sequence[RegexScript] = ()) -> tuple[RegexScript, ...]:
        """As `in_force`; `PresetError` where the file cannot be read."""
        found = self._read()
        switched = found.get("switched")
        switches = switched if isinstance(switched, dict) else {}
        scripts = (*read_scripts(found.get("scripts"), origin="own"), *card, *preset)
        return tuple(self._hold_back(_switch(script, switches.get(script_key(script)))) for script in scripts)

    def add(self, listed: Iterable[Mapping[str, object]]) -> int:
        """Keep these scripts as the owner's own, behind those there are; how many."""
        found = dict(self._read())
        before = found.get("scripts")
        scripts = before if isinstance(before, list) else []
        new = list(listed)
        if len(scripts) + len(new) > MAX_SCRIPTS:
            raise PresetError(f"{self._path} would hold more than {MAX_SCRIPTS} regex scripts; remove some first")
        self._write({**found, "scripts": [*scripts, *new]})
        return len(new)

    def own(self) -> Sequence[dict[str, Any]]:
        """The owner's own scripts, as the file has them."""
        found = self._read().get("scripts")
        return [dict(each) for each in found if isinstance(each, dict)] if isinstance(found, list) else []

    def replace_own(self, scripts: Sequence[Mapping[str, Any]], *, before: Sequence[Mapping[str, Any]]) -> bool:
        """Let the owner's own scripts be *scripts*, unless they are no more as *before*; whether they are."""
        if self.own() != list(before):
            return False
        if len(scripts) > MAX_SCRIPTS:
            raise PresetError(f"{self._path} would hold more than {MAX_SCRIPTS} regex scripts; remove some first")
        self._write({**self._read(), "scripts": list(scripts)})
        return True

    def switch(self, script: RegexScript, *, on: bool) -> None:
        """From the next message on *script* is on, or off."""
        found = dict(self._read())
        switched = found.get("switched")
        switches = dict(switched) if isinstance(switched, dict) else {}
        self._write({**found, "switched": {**switches, script_key(script): on}})

    def _hold_back(self, script: RegexScript) -> RegexScript:
        """*script*, off where it is on and the owner has not allowed it."""
        if script.is_off or self._is_allowed(script):
            return script
        return replace(script, is_off=True, is_waiting=True)

    def _is_allowed(self, script: RegexScript) -> bool:
        try:
            return self._consent.allows_script(script_fingerprint(script))
        except ConfigError as error:
            logger.warning("what the owner allowed cannot be read", extra={"reason": str(error)})
            return False

    def _read(self) -> Mapping[str, object]:
        try:
            facts = os.lstat(self._path)
            stamp = facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size
            known, parsed = self._known
            if known == stamp:
                return parsed
            data = load_bytes(self._path, MAX_BYTES)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise PresetError(f"{self._path} cannot be read ({type(error).__name__}); fix it or move it away") from None
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            raise PresetError(f"{self._path} is not valid JSON; fix it or move it away") from None
        if not isinstance(found, dict):
            raise PresetError(f"{self._path} holds no object with `scripts`; fix it or move it away")
        self._known = (stamp, found)
        return found

    def _write(self, content: Mapping[str, object]) -> None:
        atomic_write(self._path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def _switch(script: RegexScript, on: object) -> RegexScript:
    return replace(script, is_off=not on) if isinstance(on, bool) else script
