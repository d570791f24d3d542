"""Loaders: settings from a file, merged over an optional profile and the defaults in code.

Each file is checked by itself, so an error names its file. Checks that need the merged values come last.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from familiar_connect.config.budgets import TurnBudgets
from familiar_connect.config.channel import (
    CHANNEL_KEYS,
    TYPING_KEYS,
    ChannelConfig,
    channel_config_for_mode,
    check_typing_delays,
    merge_typing_settings,
)
from familiar_connect.config.character import CHARACTER_KEYS, PLAIN_KEYS, CharacterConfig
from familiar_connect.config.extension_list import ExtensionList, find_extensions, is_extension_name
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.limits import NamedLimits, list_given
from familiar_connect.config.llm import (
    DEFAULT_REPLY_TIMEOUT_S,
    DEFAULT_SLOT,
    DEFAULT_TIMEOUT_S,
    SLOT_KEYS,
    SLOT_TEMPERATURES,
    LLMSlotConfig,
    SlotSource,
    resolve_slot,
)
from familiar_connect.config.settings import Key, KeyPath, field_value, fill_fields, keys_of
from familiar_connect.config.toml import check_document, parse_toml, read_text, read_toml, write_text
from familiar_connect.config.types import ChannelMode, PlaceSettings, StepSettings, TurnDeadlines
from familiar_connect.config.voice import OLDER_SPELLINGS
from familiar_connect.errors import ConfigError

if TYPE_CHECKING:
    from familiar_connect.config.consent import OwnerConsent, SettingRequest

_log = logging.getLogger(__name__)

_NOUNS: Mapping[KeyPath, str] = {("llm",): "LLM slot"}


@dataclass(frozen=True, kw_only=True)
class EffectiveSetting:
    """One effective setting and where it comes from: `default`, `profile` or `familiar`."""

    key: str
    value: object
    source: str


@dataclass(frozen=True, kw_only=True)
class _FileLayer:
    label: str
    file: Path
    values: Mapping[KeyPath, object]
    extension_tables: Mapping[str, Mapping[str, object]]


def load_character_config(
    path: Path, *, defaults_path: Path | None = None, zone: str | None = None, without: Collection[str] = ()
) -> CharacterConfig:
    """The settings in *path*, over those in *defaults_path*, over the defaults. A missing *path* means none.

    *zone* stands where no file sets `display_tz`. The keys *without* do not count where *path* sets them.
    """
    layers = [_leave_out(layer, without) for layer in _layers(path, defaults_path)]
    config = _build(layers)
    is_set = any(("display_tz",) in layer.values for layer in layers)
    return config if zone is None or is_set else replace(config, display_tz=zone)


def load_allowed_config(
    path: Path, consent: OwnerConsent, *, defaults_path: Path | None = None, zone: str | None = None
) -> CharacterConfig:
    """As `load_character_config`, without the settings that let a familiar do or tell more and that nobody allowed."""
    asked = consent.missing_settings(own_settings(path, defaults_path=defaults_path))
    return load_character_config(path, defaults_path=defaults_path, zone=zone, without=[each.key for each in asked])


def find_unallowed_settings(
    folder: FamiliarFolder, consent: OwnerConsent, *, defaults_path: Path | None = None
) -> list[SettingRequest]:
    """The settings in a familiar's files that let it do or tell more, and that the owner has not allowed."""
    found = consent.missing_settings(own_settings(folder.settings_file, defaults_path=defaults_path))
    for file in folder.channel_files():
        if file.stem.isdigit():
            found += consent.missing_in_channel(int(file.stem), read_toml(file) or {})
    return found


def own_settings(path: Path, *, defaults_path: Path | None = None) -> dict[str, object]:
    """What the file at *path* sets otherwise than *defaults_path*, by dotted key."""
    layers = {layer.label: layer.values for layer in _layers(path, defaults_path)}
    below = layers.get("profile", {})
    return {".".join(key): value for key, value in layers.get("familiar", {}).items() if below.get(key) != value}


def _leave_out(layer: _FileLayer, keys: Collection[str]) -> _FileLayer:
    if not keys or layer.label != "familiar":
        return layer
    return replace(layer, values={key: value for key, value in layer.values.items() if ".".join(key) not in keys})


def check_settings(document: Mapping[str, object], path: Path, *, defaults_path: Path | None = None) -> None:
    """Check *document* as the text of the file at *path*, by itself and together with what lies under it."""
    profile = [layer for layer in _layers(path, defaults_path) if layer.label == "profile"]
    _build([_layer("familiar", Path(path), document), *profile])


def explain_character_config(path: Path, *, defaults_path: Path | None = None) -> list[EffectiveSetting]:
    """Every effective setting, in the order of the reference, with the place it comes from."""
    return _explained(_layers(path, defaults_path))


def default_settings() -> list[EffectiveSetting]:
    """Every setting with its default."""
    return _explained([])


def explain_channel_config(path: Path, config: CharacterConfig, *, origin: Mapping[str, str]) -> list[EffectiveSetting]:
    """Every setting of one channel: from its file, else from the familiar as *origin* tells, else from the mode."""
    own = read_toml(Path(path)) or {}
    values = check_document(own, CHANNEL_KEYS, Path(path))
    channel = channel_config_from(
        {"mode": config.default_mode.value, **own},
        Path(path),
        character_overrides=config.typing_simulation_overrides,
        place=config.place,
        deadlines=config.deadlines,
    )
    deadlines = _effective_deadlines(channel)
    return [
        EffectiveSetting(
            key=key.name,
            value=_plain(deadlines.get(key.name, field_value(channel, key))),
            source="channel" if key.path in values else _channel_source(key, origin),
        )
        for key in CHANNEL_KEYS
    ]


def _channel_source(key: Key, origin: Mapping[str, str]) -> str:
    source = origin.get("default_mode" if key.name == "mode" else key.name, "default")
    by_mode = key.path[0] == "typing_simulation" or key.path[-1] == "deadline_s"
    return "mode" if by_mode and source == "default" else source


def _effective_deadlines(channel: ChannelConfig) -> dict[str, object]:
    """What the deadlines come to, by key."""
    written, spoken = channel.deadline_for(is_voice=False), channel.deadline_for(is_voice=True)
    whole = channel.deadlines.all_s
    return {
        "deadline_s": channel.deadline_s if whole is None else whole,
        "text.deadline_s": written,
        "voice.deadline_s": spoken,
    }


def _explained(layers: Sequence[_FileLayer]) -> list[EffectiveSetting]:
    config = _build(layers)
    deadlines = _effective_deadlines(replace(channel_config_for_mode(config.default_mode), deadlines=config.deadlines))
    settings = [
        EffectiveSetting(
            key=key.name,
            value=_plain(deadlines.get(key.name, field_value(config, key))),
            source=_source(key.path, layers),
        )
        for key in PLAIN_KEYS
    ]
    typing = fill_fields(
        channel_config_for_mode(config.default_mode).typing_simulation, config.typing_simulation_overrides
    )
    settings += [
        EffectiveSetting(key=key.name, value=field_value(typing, key), source=_source(key.path, layers))
        for key in TYPING_KEYS
    ]
    for slot in SLOT_TEMPERATURES:
        resolved, labels = resolve_slot(slot, _slot_sources(slot, layers))
        settings += [
            EffectiveSetting(
                key=f"llm.{slot}.{key.name}",
                value=_plain(_effective_times(resolved).get(key.name, field_value(resolved, key))),
                source=labels.get(key.field, "default"),
            )
            for key in SLOT_KEYS
        ]
    return settings


def _effective_times(slot: LLMSlotConfig) -> dict[str, float]:
    """What a slot's limits of time come to, by key."""
    return {
        "first_token_s": slot.first_token_limit_s,
        "timeout_s": DEFAULT_TIMEOUT_S if slot.timeout_s is None else slot.timeout_s,
        "reply_timeout_s": DEFAULT_REPLY_TIMEOUT_S if slot.reply_timeout_s is None else slot.reply_timeout_s,
    }


def load_channel_config(
    path: Path,
    *,
    character_overrides: Mapping[str, object] | None = None,
    place: PlaceSettings | None = None,
    budgets: TurnBudgets | None = None,
    deadlines: TurnDeadlines | None = None,
    steps: StepSettings | None = None,
    default_mode: ChannelMode | None = None,
) -> ChannelConfig | None:
    """The channel's settings in *path*, over the familiar's own; None when there are none.

    *default_mode* is the mode of a file that names none; without it that is an error.
    """
    document = read_toml(Path(path))
    if document is None:
        return None
    return channel_config_from(
        document,
        Path(path),
        character_overrides=character_overrides,
        place=place,
        budgets=budgets,
        deadlines=deadlines,
        steps=steps,
        default_mode=default_mode,
    )


def channel_config_from(
    document: Mapping[str, object],
    file: Path,
    *,
    character_overrides: Mapping[str, object] | None = None,
    place: PlaceSettings | None = None,
    budgets: TurnBudgets | None = None,
    deadlines: TurnDeadlines | None = None,
    steps: StepSettings | None = None,
    default_mode: ChannelMode | None = None,
    strict: bool = True,
) -> ChannelConfig:
    """The channel's settings in *document*; keys nobody knows are an error only when *strict*."""
    values = check_document(document, CHANNEL_KEYS, file, strict=strict)
    mode = values.get(("mode",), default_mode)
    if not isinstance(mode, ChannelMode):
        raise ConfigError(f"{file}: mode is missing; add one of {', '.join(mode.value for mode in ChannelMode)}")
    base = channel_config_for_mode(mode).with_step_changes(steps or StepSettings())
    familiars = replace(
        base,
        place=place or PlaceSettings(),
        typing_simulation=fill_fields(base.typing_simulation, character_overrides or {}),
    )
    config = fill_fields(familiars, _given(CHANNEL_KEYS, values))
    config = replace(config, budgets=config.budgets.over(budgets or TurnBudgets()))
    config = replace(config, deadlines=config.deadlines.over(deadlines or TurnDeadlines()))
    check_typing_delays(config.typing_simulation, file)
    return config.with_step_changes(config.steps)


def write_default_model(path: Path, *, model: str, base_url: str | None = None, api_key_env: str | None = None) -> None:
    """Set the model of `[llm.default]` in the owner's file; everything else in it stays."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    text = read_text(path) or ""
    wanted = {"model": model, "base_url": base_url, "api_key_env": api_key_env}
    expected = parse_toml(text, path)
    _layer("familiar", path, expected)
    try:
        document = tomlkit.parse(text)
        for tables in (expected, document):
            _set_default_model(tables, wanted, tomlkit.table)
        result = tomlkit.dumps(document)
    except TOMLKitError as exc:
        raise ConfigError(f"{path}: [llm.default] could not be changed; write it there yourself") from exc
    reread = parse_toml(result, path)
    if reread != expected:
        raise ConfigError(f"{path}: [llm.default] could not be changed; write it there yourself")
    _layer("familiar", path, reread)
    write_text(path, result)


def write_user_name(path: Path, name: str) -> None:
    """Set `user_name` in the owner's file; everything else in it stays."""
    _write_text_key(path, "user_name", name)


def write_user_persona(path: Path, text: str) -> None:
    """Set `user_persona` in the owner's file; everything else in it stays."""
    _write_text_key(path, "user_persona", text)


def _write_text_key(path: Path, key: str, value: str) -> None:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    text = read_text(path) or ""
    expected = {**parse_toml(text, path), key: value}
    try:
        document = tomlkit.parse(text)
        document[key] = value
        result = tomlkit.dumps(document)
    except TOMLKitError as exc:
        raise ConfigError(f"{path}: `{key}` could not be changed; write it there yourself") from exc
    reread = parse_toml(result, path)
    if reread != expected:
        raise ConfigError(f"{path}: `{key}` could not be changed; write it there yourself")
    _layer("familiar", path, reread)
    write_text(path, result)


def _set_default_model(tables: MutableMapping[str, Any], wanted: Mapping[str, str | None], new_table: Any) -> None:
    if "llm" not in tables:
        tables["llm"] = new_table(is_super_table=True)
    if DEFAULT_SLOT not in tables["llm"]:
        tables["llm"][DEFAULT_SLOT] = new_table()
    section = tables["llm"][DEFAULT_SLOT]
    for name, value in wanted.items():
        if value is not None:
            section[name] = value
        elif name in section:
            del section[name]


def _layers(path: Path, defaults_path: Path | None) -> list[_FileLayer]:
    """The checked values of each file, nearest first."""
    layers = []
    own = read_toml(Path(path))
    if own is not None:
        layers.append(_layer("familiar", Path(path), own))
    if defaults_path is not None:
        profile = read_toml(Path(defaults_path))
        if profile is None:
            raise ConfigError(
                f"{defaults_path}: the default character profile named does not exist; create or unset it"
            )
        layers.append(_layer("profile", Path(defaults_path), profile))
    return layers


def _layer(label: str, file: Path, document: Mapping[str, object]) -> _FileLayer:
    for path, sentence in OLDER_SPELLINGS.items():
        section = document.get(path[0])
        if isinstance(section, dict) and path[1] in section:
            _log.warning(sentence, extra={"file": str(file)})
    tables = read_extension_tables(document, file)
    known = {name: value for name, value in document.items() if name not in tables}
    values = check_document(known, CHARACTER_KEYS, file, nouns=_NOUNS, ignored=OLDER_SPELLINGS)
    return _FileLayer(label=label, file=file, values=values, extension_tables=tables)


_OWN_TABLES = frozenset(key.path[0] for key in CHARACTER_KEYS)


def read_extension_tables(document: Mapping[str, object], file: Path) -> dict[str, Mapping[str, object]]:
    """The sections of *document* that are named after an extension which is allowed or at least installed.

    Nothing is looked up where every section is one of ours. Those of an extension that is not allowed count for
    nothing until it is, which `familiar doctor` says.
    """
    unknown = {
        name: value
        for name, value in document.items()
        if name not in _OWN_TABLES and isinstance(value, dict) and is_extension_name(name)
    }
    if not unknown:
        return {}
    names = {each.name for each in ExtensionList(FamiliarFolder(file.parent).home.root).list_allowed()}
    if not names >= unknown.keys():
        names |= {each.name for each in find_extensions()}
    return {name: value for name, value in unknown.items() if name in names}


def _build(layers: Sequence[_FileLayer]) -> CharacterConfig:
    merged: dict[KeyPath, object] = {}
    for layer in reversed(layers):
        merged |= layer.values
    tables: dict[str, Mapping[str, object]] = {}
    for layer in reversed(layers):
        for name, table in layer.extension_tables.items():
            tables[name] = {**tables.get(name, {}), **table}
    config = CharacterConfig(
        typing_simulation_overrides=_given(TYPING_KEYS, merged), llm=_slots(layers), extension_tables=tables
    )
    config = fill_fields(config, _given(PLAIN_KEYS, merged))
    _check_together(config, layers)
    return config


def _slots(layers: Sequence[_FileLayer]) -> dict[str, LLMSlotConfig]:
    return {slot: resolve_slot(slot, _slot_sources(slot, layers))[0] for slot in SLOT_TEMPERATURES}


def _slot_sources(slot: str, layers: Sequence[_FileLayer]) -> list[SlotSource]:
    return [
        SlotSource(
            label=layer.label if section == slot else f"{layer.label} [llm.{DEFAULT_SLOT}]",
            file=layer.file,
            section=f"llm.{section}",
            says=_given(keys_of(LLMSlotConfig, f"llm.{section}"), layer.values),
        )
        for layer in layers
        for section in (slot, DEFAULT_SLOT)
    ]


def _check_together(config: CharacterConfig, layers: Sequence[_FileLayer]) -> None:
    """Check settings against each other."""
    if not layers:
        return
    if config.short_long_boundary_s <= config.min_interruption_s:
        file = _nearest_file(("voice", "interruption"), layers)
        raise ConfigError(
            f"{file}: [voice.interruption] short_long_boundary_s ({config.short_long_boundary_s:g}) must be above "
            f"min_interruption_s ({config.min_interruption_s:g})"
        )
    merge_typing_settings(
        channel_config_for_mode(config.default_mode).typing_simulation,
        config.typing_simulation_overrides,
        file=_nearest_file(("typing_simulation",), layers),
    )


def _nearest_file(section: KeyPath, layers: Sequence[_FileLayer]) -> Path:
    for layer in layers:
        if any(path[: len(section)] == section for path in layer.values):
            return layer.file
    return layers[0].file


def _given(keys: Iterable[Key], values: Mapping[KeyPath, object]) -> dict[str, object]:
    """What *values* say of *keys*, by field."""
    return {key.field: values[key.path] for key in keys if key.path in values}


def _source(path: KeyPath, layers: Sequence[_FileLayer]) -> str:
    return next((layer.label for layer in layers if path in layer.values), "default")


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {name: list_given(each) if isinstance(each, NamedLimits) else each for name, each in value.items()}
    return value.value if isinstance(value, Enum) else value
