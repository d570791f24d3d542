"""OwnerConsent: what the owner allowed one familiar's files beyond the ordinary.

A familiar's folder is data that anybody may have written. Two things in it count only together with the owner's word,
which is kept in the home: regex scripts, by what they do, and settings that let the familiar do or tell more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from familiar_connect.audience import parse_share_target
from familiar_connect.config.built_in_settings import PLATFORM_SECTIONS
from familiar_connect.config.settings import keys_of
from familiar_connect.config.trust_file import SCRIPT, SETTING, TrustFile
from familiar_connect.errors import ConfigError


@dataclass(frozen=True)
class WideningSetting:
    """A setting that, with some values, lets a familiar do or tell more than it does by itself."""

    key: str
    is_ordinary: Callable[[object], bool]
    """Whether nobody need be asked about a value."""
    effect: str
    """What the familiar then does, behind its name."""


@dataclass(frozen=True)
class SettingRequest:
    """A setting in a familiar's files that the owner has not allowed yet."""

    key: str
    value: object
    effect: str

    def __str__(self) -> str:
        return f"{self.key} = {json.dumps(self.value, ensure_ascii=False, default=str)}"


WIDENING_OF_PLATFORMS = {
    "dms": "answers everyone's direct messages",
    "groups": "listens in every group that someone adds it to",
    "controls": "lets everyone change and take back its replies",
}
"""Keys that a platform's section may have, and what each lets the familiar do when it is `everyone`."""
WIDENING = (
    WideningSetting("confidence", lambda value: value == "strict", "may tell people what others said elsewhere"),
    WideningSetting("owner_hears_all", lambda value: not value, "shows you other people's direct messages"),
    WideningSetting("recall_across_servers", lambda value: not value, "tells what people said on one server on others"),
    WideningSetting("shares_with", lambda value: not value, "tells what is said in one place in others as well"),
    WideningSetting(
        "private_channels_bypass", lambda value: not value, "tells in open channels what is said in hidden ones"
    ),
    WideningSetting("tools", lambda value: not value, "uses tools during a reply, and changes its memory with some"),
    *(
        WideningSetting(f"{platform}.{key.name}", lambda value: value != "everyone", WIDENING_OF_PLATFORMS[key.name])
        for platform, kind in PLATFORM_SECTIONS.items()
        for key in keys_of(kind)
        if key.name in WIDENING_OF_PLATFORMS
    ),
)
CHANNEL_KEYS_ASKED = ("shares_with", "private_channels_bypass")
"""Those of them that a channel's own file may hold."""
_BY_KEY = {each.key: each for each in WIDENING}


class OwnerConsent:
    """What was allowed to the familiar *familiar_id* of *home*. Nothing is cached: each call reads the file."""

    def __init__(self, home: Path, familiar_id: str) -> None:
        self._file = TrustFile(home)
        self._familiar_id = familiar_id

    # Scripts

    def allows_script(self, fingerprint: str) -> bool:
        """Whether the owner allowed the script that does exactly this."""
        return any(row.get("sha256") == fingerprint for row in self._own(SCRIPT))

    def allow_scripts(self, names: Mapping[str, str]) -> None:
        """From now on the scripts with these fingerprints may run; each with its name."""
        kept = [row for row in self._own(SCRIPT) if row.get("sha256") not in names]
        added = [{"familiar": self._familiar_id, "name": name, "sha256": mark} for mark, name in names.items()]
        self._write(SCRIPT, [*kept, *added])

    # Settings

    def allows_setting(self, key: str, value: object) -> bool:
        """Whether the owner allowed *key* to be *value*."""
        wanted = _encode(key, value)
        return any(row.get("key") == key and row.get("value") == wanted for row in self._own(SETTING))

    def allow_setting(self, key: str, value: object) -> None:
        """From now on *key* may be *value*, in place of any value that was allowed before."""
        kept = [row for row in self._own(SETTING) if row.get("key") != key]
        self._write(SETTING, [*kept, {"familiar": self._familiar_id, "key": key, "value": _encode(key, value)}])

    def allows_in_channel(self, channel_id: int, key: str, value: object) -> bool:
        """Whether the owner allowed *key* to be *value* in the file of one channel."""
        return self.allows_setting(channel_key(channel_id, key), value)

    def missing_settings(self, values: Mapping[str, object]) -> list[SettingRequest]:
        """Those of *values*, by dotted key, that widen what the familiar does and that the owner has not allowed."""
        asked = [
            SettingRequest(each.key, plain, each.effect)
            for each in WIDENING
            if each.key in values and not each.is_ordinary(plain := _plain(values[each.key]))
        ]
        return [each for each in asked if not self.allows_setting(each.key, each.value)]

    def missing_in_channel(self, channel_id: int, values: Mapping[str, object]) -> list[SettingRequest]:
        """As `missing_settings`, for the file of one channel."""
        found = []
        for name in CHANNEL_KEYS_ASKED:
            value = _plain(values.get(name, ()))
            if not _BY_KEY[name].is_ordinary(value) and not self.allows_in_channel(channel_id, name, value):
                found.append(SettingRequest(channel_key(channel_id, name), value, _BY_KEY[name].effect))
        return found

    # Rows

    def copy_to(self, home: Path, familiar_id: str) -> None:
        """Let the copy *familiar_id* in another *home* have what was allowed here."""
        other = OwnerConsent(home, familiar_id)
        for table in (SCRIPT, SETTING):
            if rows := self._own(table):
                other._write(table, [{**row, "familiar": familiar_id} for row in rows])

    def _own(self, table: str) -> list[Mapping[str, object]]:
        return [row for row in self._file.rows(table) if row.get("familiar") == self._familiar_id]

    def _write(self, table: str, rows: Iterable[Mapping[str, object]]) -> None:
        others = [row for row in self._file.rows(table) if row.get("familiar") != self._familiar_id]
        self._file.write(table, [*others, *rows])


def channel_key(channel_id: int, key: str) -> str:
    """How a setting in the file of one channel is named."""
    return f"channels/{channel_id}.toml: {key}"


def _encode(key: str, value: object) -> str:
    """*value* as it is compared: places that a file and the program name differently are the same."""
    plain = _plain(value)
    if key.endswith("shares_with") and isinstance(plain, list):
        plain = [parse_share_target(str(each)) or each for each in plain]
    try:
        return json.dumps(plain, ensure_ascii=False, sort_keys=True)
    except (TypeError, ValueError):
        raise ConfigError(f"{value!r} cannot be written into a settings file; choose another value") from None


def _plain(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    return list(value) if isinstance(value, tuple) else value
