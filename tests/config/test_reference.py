"""The settings as the program writes them down itself."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import familiar_connect.config as config
from familiar_connect.config import CharacterConfig, load_character_config
from familiar_connect.config.channel import CHANNEL_KEYS
from familiar_connect.config.character import CHARACTER_KEYS, PLAIN_KEYS
from familiar_connect.config.reference import config_reference_markdown, starter_toml


def test_the_starter_file_changes_nothing(tmp_path: Path) -> None:
    """A new familiar has the defaults, with every one of them in sight."""
    path = tmp_path / "character.toml"
    path.write_text(starter_toml(), encoding="utf-8")

    assert CharacterConfig() == load_character_config(path)
    for key in PLAIN_KEYS:
        assert f"\n#{key.path[-1]} = " in starter_toml()


def test_the_defaults_shown_in_the_starter_file_are_the_defaults(tmp_path: Path) -> None:
    """Taking away the # of everything that is not an example changes nothing but what modes decide."""
    path = tmp_path / "character.toml"
    lines = [
        line.removeprefix("#") if "an example" not in line and re.match(r"#\w", line) else line
        for line in starter_toml().splitlines()
    ]
    path.write_text("\n".join(lines), encoding="utf-8")

    found = load_character_config(path)

    typing = found.typing_simulation_overrides
    assert CharacterConfig(typing_simulation_overrides=typing) == found
    assert len(typing) == 6


def test_the_examples_in_the_starter_file_are_valid(tmp_path: Path) -> None:
    """Once a model is named, every example loads as it stands."""
    path = tmp_path / "character.toml"
    text = re.sub(r"(?m)^#(?=\w)", "", starter_toml()).replace('model = "embedded"', 'model = "m"', 1)
    path.write_text(text, encoding="utf-8")

    assert load_character_config(path).llm["main_prose"].model == "m"


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.text(st.characters(exclude_categories=["Cs"])), alias=st.text(st.characters(exclude_categories=["Cs"])))
def test_names_given_to_the_starter_file_arrive(tmp_path: Path, name: str, alias: str) -> None:
    """Whatever signs they are made of."""
    path = tmp_path / "character.toml"
    aliases = [alias] if alias.strip() else []
    path.write_text(starter_toml(user_name=name, aliases=aliases), encoding="utf-8", newline="")

    found = load_character_config(path)

    assert (name.strip() or None, [alias.strip() for alias in aliases]) == (found.user_name, found.aliases)


def test_the_reference_names_every_key() -> None:
    """Nothing can be set that the page does not show."""
    page = config_reference_markdown()

    assert [key.name for key in (*CHARACTER_KEYS, *CHANNEL_KEYS) if f"| `{key.path[-1]}` |" not in page] == []
    assert page.endswith("|\n")


def test_every_field_has_a_default_and_every_plain_key_a_field() -> None:
    """The table of keys and the settings cannot drift apart."""
    names = {one.name for one in fields(CharacterConfig())}

    assert names == {key.field.split(".")[0] for key in PLAIN_KEYS} | {
        "llm",
        "typing_simulation_overrides",
        "extension_tables",
    }


def test_the_room_offers_its_names_and_no_others() -> None:
    """Every promised name is there; a wrong one fails as it would anywhere."""
    assert set(config.__all__) <= set(dir(config))
    assert all(getattr(config, name) is not None for name in config.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        config.nonsense  # noqa: B018


def test_importing_the_values_runs_no_loader() -> None:
    """`config.types` needs the declaring of settings only, neither files nor TOML."""
    code = (
        "import sys, familiar_connect.config.types; "
        "print([m for m in sys.modules if m.startswith('familiar_connect.config.') or m in ('tomllib', 'tomlkit')])"
    )
    source = Path(config.__file__).parents[2]

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=source)

    loaded = {name.removeprefix("familiar_connect.config.") for name in ast.literal_eval(done.stdout)}
    assert loaded == {"rules", "settings", "types", "built_in"}
