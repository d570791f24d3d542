"""The settings written down from the code: the reference page, and the starter file of a new familiar."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from familiar_connect.config.channel import CHANNEL_KEYS, TYPING_KEYS, TypingSimulationConfig, channel_config_for_mode
from familiar_connect.config.character import PLAIN_KEYS, CharacterConfig
from familiar_connect.config.groups import GROUP_KEYS, GroupConfig
from familiar_connect.config.llm import DEFAULT_SLOT, MAIN_SLOT, SLOT_KEYS, SLOT_TEMPERATURES, default_slots
from familiar_connect.config.secrets import list_variables
from familiar_connect.config.settings import Key, KeyPath, field_value
from familiar_connect.config.toml import toml_literal
from familiar_connect.config.types import ChannelMode
from familiar_connect.context.layers import Layer

_CHARACTER = CharacterConfig()
_TOP_KEYS = tuple(key for key in PLAIN_KEYS if len(key.path) == 1)
_SECTION_KEYS = tuple(key for key in PLAIN_KEYS if len(key.path) > 1)
_NO_SECTION = "At the top of the file"


def config_reference_markdown() -> str:
    """Every key with its default, its check and its meaning, as a page of the docs."""
    parts = [
        "# Settings",
        "Written from the code; the defaults below are the program's own. An unknown key or section is an error that "
        "names the nearest known one.",
        "## `familiars/<id>/character.toml`",
        "Optional, as is every key in it. `familiars/_default/character.toml`, where it exists, lies under every "
        "familiar's own file, key by key.",
    ]
    for section, keys in _by_section((*_TOP_KEYS, *_SECTION_KEYS)):
        parts += [_heading(section), _key_table(keys, {key.path: field_value(_CHARACTER, key) for key in keys})]
    typing = {key.path: field_value(TypingSimulationConfig(), key) for key in TYPING_KEYS}
    parts += [_heading(("typing_simulation",)), _key_table(TYPING_KEYS, typing), *_model_parts()]
    parts += [
        "## `familiars/<id>/channels/<channel_id>.toml`",
        "One channel's own settings. They lie over those of the familiar, which lie over those of the mode.",
        _table(
            ("key", "must be", "what it does"), [(f"`{key.name}`", key.rule.says, key.meaning) for key in CHANNEL_KEYS]
        ),
        "## What each mode gives a channel",
        _mode_table(),
        "## `groups/<name>.toml`",
        "A group of familiars, for `familiar chat --group NAME`. `members` is needed, everything else optional.",
        _key_table(GROUP_KEYS, {key.path: field_value(GroupConfig(), key) for key in GROUP_KEYS}),
        "## Environment",
        "Looked up in the environment first, then in `<home>/secrets.env` (`NAME=value` lines, readable by you alone). "
        "A name is needed only by the part that uses it.",
        _table(("name", "what it is for"), [(f"`{name}`", meaning) for name, meaning in list_variables().items()]),
    ]
    return "\n\n".join(parts) + "\n"


def starter_toml(*, user_name: str | None = None, aliases: Sequence[str] = ()) -> str:
    """A `character.toml` that shows every setting and changes none but those given."""
    live: dict[KeyPath, object] = {("user_name",): user_name, ("aliases",): list(aliases)}
    lines = [
        "# Settings of this familiar. Each shows its default: take away the # in front of a key to change it.",
        "# Who the familiar is goes into memory/self/, not here. Keys of models go into secrets.env, never here.",
        "",
    ]
    for key in _TOP_KEYS:
        lines += _starter_lines(key, field_value(_CHARACTER, key), live.get(key.path))
    lines += [
        f"[llm.{DEFAULT_SLOT}]",
        "# One model for everything. A kind of work may have its own, in a section named for it:",
        *(f"# [llm.{slot}]" for slot in SLOT_TEMPERATURES),
        "",
    ]
    slot = default_slots()[MAIN_SLOT]
    for key in SLOT_KEYS:
        default = field_value(slot, key)
        lines += _starter_lines(key, None if key.name == "temperature" else default)
    for section, keys in _by_section(_SECTION_KEYS):
        lines += [f"[{'.'.join(section)}]"]
        for key in keys:
            lines += _starter_lines(key, field_value(_CHARACTER, key))
    lines += ["[typing_simulation]"]
    typing = channel_config_for_mode(_CHARACTER.default_mode).typing_simulation
    for key in TYPING_KEYS:
        lines += _starter_lines(key, field_value(typing, key))
    return "\n".join(lines)


def _starter_lines(key: Key, default: object, live: object = None) -> list[str]:
    comment = f"# {key.meaning}" + (f" One of: {', '.join(key.rule.choices)}." if key.rule.choices else "")
    if live:
        return [comment, f"{key.path[-1]} = {toml_literal(live)}", ""]
    note = "" if default is not None else "  # an example; nothing is set"
    return [comment, f"#{key.path[-1]} = {toml_literal(default) or key.example}{note}", ""]


def _by_section(keys: Iterable[Key]) -> list[tuple[KeyPath, list[Key]]]:
    """Each section with its keys, wherever their fields are declared."""
    sections: dict[KeyPath, list[Key]] = {}
    for key in keys:
        sections.setdefault(key.path[:-1], []).append(key)
    return list(sections.items())


def _heading(section: KeyPath) -> str:
    return f"### `[{'.'.join(section)}]`" if section else f"### {_NO_SECTION}"


def _key_table(keys: Sequence[Key], defaults: Mapping[KeyPath, object]) -> str:
    rows = []
    for key in keys:
        default = toml_literal(defaults[key.path])
        rows.append((f"`{key.path[-1]}`", f"`{default}`" if default else "none", key.rule.says, key.meaning))
    return _table(("key", "default", "must be", "what it does"), rows)


def _model_parts() -> list[str]:
    slot = default_slots()[MAIN_SLOT]
    defaults: dict[KeyPath, object] = {key.path: field_value(slot, key) for key in SLOT_KEYS}
    defaults[("temperature",)] = None  # each slot has its own, listed below
    return [
        "### `[llm.<slot>]`",
        f"Which model does which work. `[llm.{DEFAULT_SLOT}]` fills whatever a slot does not say, so that one section "
        "can move all of them. The familiar's file comes before the profile, and within a file the slot before "
        f"`[llm.{DEFAULT_SLOT}]`. A key named for one address is not handed on to another.",
        _key_table(SLOT_KEYS, defaults),
        _table(
            ("slot", "temperature until told otherwise"),
            [(f"`{name}`", toml_literal(heat)) for name, heat in SLOT_TEMPERATURES.items()],
        ),
    ]


def _mode_table() -> str:
    modes = [channel_config_for_mode(mode) for mode in ChannelMode]
    rows = [
        ("prompt, tokens", *(str(mode.budget_tokens) for mode in modes)),
        ("deadline, seconds", *(f"{mode.deadline_s:g}" for mode in modes)),
        *((f"{layer.value}, tokens", *(str(m.budget_by_layer.get(layer, "none")) for m in modes)) for layer in Layer),
        ("providers", *(_ids(mode.providers_enabled) for mode in modes)),
        ("before the reply", *(_ids(mode.preprocessors_enabled) for mode in modes)),
        ("after the reply", *(_ids(mode.postprocessors_enabled) for mode in modes)),
        ("typing simulation", *("on" if mode.typing_simulation.enabled else "off" for mode in modes)),
    ]
    return _table(("", *(f"`{mode.value}`" for mode in ChannelMode)), rows)


def _ids(ids: frozenset[str]) -> str:
    return ", ".join(sorted(ids)) or "none"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
