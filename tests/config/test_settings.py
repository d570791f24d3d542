"""Settings declared on their fields: each is shown, checked and used, and a new one is one field."""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import familiar_connect.config as config
from familiar_connect.config import CharacterConfig, ConfigError, load_channel_config, load_character_config
from familiar_connect.config.channel import CHANNEL_KEYS
from familiar_connect.config.character import CHARACTER_KEYS, PLAIN_KEYS
from familiar_connect.config.llm import SLOT_KEYS
from familiar_connect.config.reference import config_reference_markdown, starter_toml
from familiar_connect.config.rules import FLAG, TEXTS, InvalidValue, integer_rule
from familiar_connect.config.settings import Key, field_value, fill_fields, keys_of, section, setting
from familiar_connect.config.toml import check_document, key_label, toml_literal

PACKAGE = Path(config.__file__).parents[1]
EVERY_KEY = [("familiar", key) for key in CHARACTER_KEYS] + [("channel", key) for key in CHANNEL_KEYS]
IDS = [f"{file}: {key.name}" for file, key in EVERY_KEY]

FOR_THE_OWNER = {"channel_name"}
"""Written by the program for whoever reads the file; nothing depends on it."""


def attributes_read() -> set[str]:
    """Every name read as an attribute, outside the loaders; the settings themselves make values of several."""
    return {
        node.attr
        for path in PACKAGE.rglob("*.py")
        if path.parent.name != "config" or path.name in ("types.py", "character.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }


@pytest.mark.slow
def test_a_wrong_value_is_refused_with_file_and_key(tmp_path: Path) -> None:
    """No setting is a time of day, so each must refuse one and say where it stands."""
    path = tmp_path / "settings.toml"
    told = {}
    for name, (file, key) in zip(IDS, EVERY_KEY, strict=True):
        first = 'mode = "full_rp"\n' if file == "channel" and key.name != "mode" else ""
        path.write_text(f"{first}{key.name} = 07:32:00\n", encoding="utf-8")
        with pytest.raises(ConfigError) as caught:
            (load_channel_config if file == "channel" else load_character_config)(path)
        if not str(caught.value).startswith(f"{path}: {key_label(key.path)} must be {key.rule.says}"):
            told[name] = str(caught.value)

    assert told == {}


def test_every_setting_is_documented() -> None:
    """The page has its row, the starter file its line, and where nothing is set an example."""
    page, starter = config_reference_markdown(), starter_toml()

    assert [key.name for _, key in EVERY_KEY if not key.meaning.endswith(".")] == []
    assert [key.name for _, key in EVERY_KEY if f"| {key.rule.says} | {key.meaning} |" not in page] == []
    own = [key for file, key in EVERY_KEY if file == "familiar"]
    assert [key.name for key in own if f"\n# {key.meaning}" not in starter] == []
    assert [key.name for key in own if f"\n#{key.path[-1]} = " not in starter] == []


def test_every_default_meets_its_own_rule() -> None:
    """What the starter file shows can be written as it stands."""
    plain = CharacterConfig()
    shown = {key.name: (key, field_value(plain, key)) for key in PLAIN_KEYS}

    for key, default in shown.values():
        if default is not None:
            text = f"value = {toml_literal(default)}\n"
            assert key.rule.read(tomllib.loads(text)["value"]) == default, key.name


@pytest.mark.slow
def test_a_setting_has_an_effect() -> None:
    """Some code outside the loaders reads the field; those without a reader are listed above."""
    read = attributes_read()
    unread = {key.name for _, key in EVERY_KEY if key.field.split(".")[-1] not in read}

    assert unread - FOR_THE_OWNER == set()


@given(
    key=st.sampled_from([*PLAIN_KEYS, *SLOT_KEYS, *CHANNEL_KEYS]),
    value=st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=30), st.binary(max_size=3)),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
        max_leaves=5,
    ),
)
def test_a_rule_reads_a_value_or_refuses_it(key: Key, value: object) -> None:
    """Whatever the value is, nothing else comes out of a rule."""
    try:
        key.rule.read(value)
    except InvalidValue:
        assert key.rule.says


@dataclass(frozen=True)
class Shed:
    """A table inside a table."""

    locked: bool = setting(True, FLAG, "Whether it is locked.")
    tools: list[str] = setting([], TEXTS, "What is in it.", key="inventory.tools")


@dataclass(frozen=True)
class Garden:
    """Settings nobody but this test has."""

    beds: int = setting(3, integer_rule(least=1), "How many beds.", key="size.beds")
    shed: Shed = section(Shed, "shed")
    visits: int = 0


def test_a_field_is_all_a_setting_needs() -> None:
    """Its key, its place and its rule follow from the declaration; a field without one is no key."""
    keys = keys_of(Garden)

    assert [(key.name, key.field) for key in keys] == [
        ("size.beds", "beds"),
        ("shed.locked", "shed.locked"),
        ("shed.inventory.tools", "shed.tools"),
    ]
    document = {"size": {"beds": 5}, "shed": {"inventory": {"tools": [" rake "]}}}
    values = check_document(document, keys, Path("garden.toml"))
    filled = fill_fields(Garden(), {key.field: values[key.path] for key in keys if key.path in values})
    assert filled == Garden(beds=5, shed=Shed(tools=["rake"]))


def test_a_list_is_nobody_elses() -> None:
    """Two sets of settings do not share one list."""
    Shed().tools.append("rake")

    assert Shed().tools == []


def test_a_key_may_belong_to_one_file_alone() -> None:
    """`author_note` is another setting in a channel's file than in the familiar's."""
    fields = {
        file: [key.field for key in keys if key.name == "author_note"]
        for file, keys in (("familiar", PLAIN_KEYS), ("channel", CHANNEL_KEYS))
    }

    assert fields == {"familiar": ["place.global_note"], "channel": ["place.channel_note"]}


def test_no_two_settings_share_a_key_or_a_field() -> None:
    """Within one file."""
    for keys in (CHARACTER_KEYS, CHANNEL_KEYS):
        assert len({key.name for key in keys}) == len(keys)
    assert len({key.field for key in PLAIN_KEYS}) == len(PLAIN_KEYS)
