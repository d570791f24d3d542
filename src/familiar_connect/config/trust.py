"""TrustedOrigins: where the familiars of a home may send what they see, and which key may go where.

A familiar's settings are data that anybody may have written, so what they name counts only together with the owner's
word, kept in the home: an origin the owner allowed, and for each key the one origin it was given for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from familiar_connect.config.command import command_name
from familiar_connect.config.llm import (
    KEY_VARIABLE_NAME,
    OPENROUTER_BASE_URL,
    OPENROUTER_KEY_VARIABLE,
    SLOT_TEMPERATURES,
    is_platform_token,
)
from familiar_connect.config.toml import format_value
from familiar_connect.config.trust_file import ORIGIN, TrustFile
from familiar_connect.errors import ConfigError
from familiar_connect.support.web_origin import is_this_machine, may_carry_key, origin_of

OPENROUTER_ORIGIN = origin_of(OPENROUTER_BASE_URL)


class EndpointSettings(Protocol):
    """Settings that name an address, and the variable of the key that goes there."""

    @property
    def address(self) -> str | None: ...

    @property
    def key_variable(self) -> str | None: ...


@dataclass(frozen=True)
class TrustedOrigin:
    """One origin the owner allowed, and the keys that were given for it."""

    origin: str
    keys: tuple[str, ...] = ()
    is_built_in: bool = False


@dataclass(frozen=True)
class EndpointRequest:
    """What a familiar's settings ask of the home: to send what it sees to *origin*, with the key *key* if any."""

    origin: str
    key: str | None
    slots: tuple[str, ...] = field(default=(), compare=False)
    """The slots of models, or the sections, that ask for it."""

    @property
    def command(self) -> str:
        """What the owner types to allow it."""
        return f"{command_name()} trust add {self.origin}" + (f" --key {self.key}" if self.key else "")


class TrustedOrigins:
    """The origins of one home. Nothing is cached: each call reads the file."""

    def __init__(self, home: Path) -> None:
        self._file = TrustFile(home)

    @property
    def file(self) -> Path:
        return self._file.path

    def origins(self) -> list[TrustedOrigin]:
        """Every origin off this machine that is allowed, and every one that has a key; built-in ones first."""
        kept = self._kept()
        taken = {key for each in kept for key in each.keys}
        own = () if OPENROUTER_KEY_VARIABLE in taken else (OPENROUTER_KEY_VARIABLE,)
        also = tuple(key for each in kept if each.origin == OPENROUTER_ORIGIN for key in each.keys)
        first = TrustedOrigin(OPENROUTER_ORIGIN, (*own, *also), is_built_in=True)
        return [first, *(each for each in kept if each.origin != OPENROUTER_ORIGIN)]

    def is_trusted(self, url: str) -> bool:
        """Whether a familiar may send what it sees to *url*: on this machine always, elsewhere where allowed."""
        return is_this_machine(url) or _readable_origin(url) in {each.origin for each in self.origins()}

    def origin_for(self, key: str) -> str | None:
        """The one origin that the key *key* was given for."""
        return next((each.origin for each in self.origins() if key in each.keys), None)

    def may_send(self, key: str, url: str) -> bool:
        """Whether the key *key* may go to *url*."""
        return not is_platform_token(key) and may_carry_key(url) and self.origin_for(key) == _readable_origin(url)

    def add(self, url: str, key: str | None = None) -> str:
        """Allow the origin of *url*, with the key *key* if one is named; the origin as it is kept."""
        origin = _readable_origin(url)
        if key is not None:
            self.check_binding(origin, key)
        kept = {each.origin: each.keys for each in self._kept()}
        keys = kept.get(origin, ())
        kept[origin] = keys if key is None or key in keys or self.origin_for(key) == origin else (*keys, key)
        self._write(kept)
        return origin

    def remove(self, url: str) -> bool:
        """Take the word back for the origin of *url* and the keys bound to it; False when it was not kept here."""
        origin = _readable_origin(url)
        kept = {each.origin: each.keys for each in self._kept()}
        if kept.pop(origin, None) is None:
            return False
        self._write(kept)
        return True

    def missing(self, slots: Mapping[str, EndpointSettings], *, file: Path | None = None) -> list[EndpointRequest]:
        """What the settings *slots* ask for that the owner has not allowed yet.

        What may never be allowed is a `ConfigError`; *file* is the settings file it names.
        """
        wanted: dict[EndpointRequest, list[str]] = {}
        for slot, config in slots.items():
            address, key = config.address, config.key_variable
            if address is None:
                continue
            if key is not None:
                self._check_key(_where(slot, file), key, address)
            if not self.is_trusted(address) or (key is not None and not self.may_send(key, address)):
                wanted.setdefault(EndpointRequest(_readable_origin(address), key), []).append(slot)
            for replica in getattr(config, "replica_addresses", ()):
                if not self.is_trusted(replica):
                    wanted.setdefault(EndpointRequest(_readable_origin(replica), None), []).append(slot)
        return [EndpointRequest(each.origin, each.key, tuple(names)) for each, names in wanted.items()]

    def check(self, slots: Mapping[str, EndpointSettings], *, file: Path | None = None) -> None:
        """A sentence for the first thing the settings *slots* ask for that the owner has not allowed."""
        for each in self.missing(slots, file=file):
            where = _where(each.slots[0], file)
            wants = f"wants the key {each.key} sent" if each.key else "wants what this familiar sees sent"
            raise ConfigError(
                f"{where} {wants} to {each.origin}, which you have not allowed: if that is meant, run `{each.command}`"
            )

    def _check_key(self, where: str, key: str, address: str) -> None:
        """Refuse what no question can allow."""
        if is_platform_token(key):
            raise ConfigError(f"{where} api_key_env names {key}, a platform's token, which is never lent to a model")
        if not may_carry_key(address):
            raise ConfigError(
                f"{where} would send the key {key} over plain http:// to another machine: use https://, "
                "or take api_key_env out"
            )
        bound = self.origin_for(key)
        if bound is not None and bound != _readable_origin(address):
            raise ConfigError(
                f"{where} wants the key {key} sent to {_readable_origin(address)}, but it was given for {bound} and "
                f"goes nowhere else: give that endpoint a key of its own with `{command_name()} connect`"
            )

    def check_binding(self, url: str, key: str) -> None:
        """Refuse a key that may not go to *url*: a platform's token, plain http, one given for another origin."""
        if not KEY_VARIABLE_NAME.fullmatch(key):
            raise ConfigError("a key is named by its variable in capitals, such as MY_KEY, never by the key itself")
        self._check_key(f"{command_name()}:", key, url)

    def _kept(self) -> list[TrustedOrigin]:
        found: dict[str, tuple[str, ...]] = {}
        for row in self._file.rows(ORIGIN):
            origin, keys = row.get("origin"), row.get("keys", [])
            if not isinstance(origin, str) or not isinstance(keys, list) or not all(isinstance(k, str) for k in keys):
                raise ConfigError(
                    f'{self.file}: each [[{ORIGIN}]] row needs origin = "https://host" and may have '
                    'keys = ["MY_KEY"]; fix that row'
                )
            found[_readable_origin(origin)] = tuple(keys)
        return [TrustedOrigin(origin, keys) for origin, keys in found.items()]

    def _write(self, kept: Mapping[str, tuple[str, ...]]) -> None:
        rows = [{"origin": origin, "keys": list(keys) or None} for origin, keys in sorted(kept.items())]
        self._file.write(ORIGIN, rows)


def _where(slot: str, file: Path | None) -> str:
    """The section that *slot* is, and the file it stands in; what is no slot of a model is a section of its own."""
    section = f"[llm.{slot}]" if slot in SLOT_TEMPERATURES else f"[{slot}]"
    return f"{file}: {section}" if file else section


def _readable_origin(url: str) -> str:
    try:
        return origin_of(url)
    except ValueError:
        raise ConfigError(
            f"{format_value(url)} is not an origin: write http:// or https:// and a host, such as https://api.example.com"
        ) from None
