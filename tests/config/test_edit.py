"""One setting written into the owner's file: checked as a start would, comments kept, nothing else touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from familiar_connect.config.edit import find_setting, parse_setting, write_setting
from familiar_connect.config.load import explain_character_config, load_character_config
from familiar_connect.config.reference import starter_toml
from familiar_connect.errors import ConfigError

FILE = """# mine
display_tz = "Europe/Berlin"  # where I live

[memory_writer]
# quiet
idle_timeout = 60.0

[llm.main_prose]
model = "m"
max_tokens = 7
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "character.toml"
    file.write_text(FILE)
    return file


def change(path: Path, name: str, words: str) -> None:
    key = find_setting(name)
    write_setting(path, key, parse_setting(key, words, path))


def test_a_setting_is_changed_and_comments_stay(path: Path) -> None:
    """The line changes, its comment and every other line do not."""
    change(path, "display_tz", "Europe/Paris")

    assert path.read_text() == FILE.replace("Berlin", "Paris")


@pytest.mark.parametrize(
    ("name", "words", "value"),
    [
        ("display_tz", '"UTC"', "UTC"),
        ("memory_writer.review", "true", True),
        ("memory_writer.idle_timeout", "90", 90.0),
        ("aliases", '["Em", "Ember"]', ["Em", "Ember"]),
        ("llm.default.model", "llama3.2", "llama3.2"),
        ("llm.reasoning_context.temperature", "0.5", 0.5),
        ("user_persona", 'Tall; says "hm".', 'Tall; says "hm".'),
        ("user_persona", '"""two\nlines"""', "two\nlines"),
    ],
)
def test_a_value_is_typed_as_toml_or_as_bare_words(path: Path, name: str, words: str, value: object) -> None:
    """A text needs no quotes; sections that lack are made."""
    change(path, name, words)
    found = {each.key: each.value for each in explain_character_config(path)}

    assert name.startswith("llm.default") or found[name] == value
    assert "# where I live" in path.read_text()
    assert "# quiet" in path.read_text()


def test_a_starter_file_takes_every_kind_of_key(tmp_path: Path) -> None:
    """Keys of a section, of a new section and at the top; all its explaining comments stay."""
    file = tmp_path / "character.toml"
    file.write_text(starter_toml())
    for name, words in (("user_name", "Sam"), ("memory_writer.review", "true"), ("llm.main_prose.model", "m")):
        change(file, name, words)
    config = load_character_config(file)
    comments = [line for line in starter_toml().splitlines() if line.startswith("# ")]

    assert (config.user_name, config.memory_writer_review, config.llm["main_prose"].model) == ("Sam", True, "m")
    assert [line for line in comments if line not in file.read_text()] == []


def test_a_setting_taken_out_falls_back(path: Path) -> None:
    """Also under its other name."""
    write_setting(path, find_setting("memory_writer.idle_timeout"), None)
    write_setting(path, find_setting("llm.main_prose.max_output_tokens"), None)
    config = load_character_config(path)

    assert config.memory_writer_idle_timeout == 1800.0
    assert config.llm["main_prose"].max_output_tokens is None
    assert "# quiet" in path.read_text()


@pytest.mark.parametrize(
    ("name", "words", "says"),
    [
        ("memory_writer.idle_timeout", "-1", "must be"),
        ("memory_writer.review", "maybe", "must be true or false"),
        ("display_tz", "Nowhere/Land", "must be"),
        ("memory_writer.idle_timeout", "60\nreview = true", "must be"),
        ("voice.interruption.short_long_boundary_s", "1.0", "must be above"),
        ("llm.main_prose.base_url", "http://user:sk-secret@host/v1", "must be"),
        ("llm.main_prose.api_key_env", "sk-secret-123", "must be"),
    ],
)
def test_what_a_start_would_refuse_is_refused_and_nothing_is_written(
    path: Path, name: str, words: str, says: str
) -> None:
    """With the same sentence, in which no key is repeated."""
    with pytest.raises(ConfigError, match=says) as caught:
        change(path, name, words)

    assert "secret" not in str(caught.value).replace("secrets.env", "")
    assert path.read_text() == FILE


def test_an_unknown_setting_is_a_sentence() -> None:
    """And how to see them all."""
    with pytest.raises(ConfigError, match="familiar config show"):
        find_setting("no_such.key")


def test_a_file_that_is_not_there_is_made(tmp_path: Path) -> None:
    """With the one setting in it."""
    change(tmp_path / "character.toml", "memory_writer.review", "true")

    assert load_character_config(tmp_path / "character.toml").memory_writer_review
