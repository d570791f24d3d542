"""Files that are not what they should be: one clear sentence each, and never a raw traceback."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from familiar_connect.config import ConfigError, load_channel_config, load_character_config
from familiar_connect.config.character import CHARACTER_KEYS
from familiar_connect.config.load import explain_character_config
from familiar_connect.config.toml import MAX_FILE_BYTES, format_rows, toml_literal, write_text
from familiar_connect.errors import HomeError

SAME_FOLDER = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

scalars = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.datetimes().map(lambda moment: moment.replace(fold=0)),
    st.sampled_from(["full_rp", "eager", "embedded", "UTC", "http://x/v1", "MY_KEY", "system"]),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("ab.", min_size=1), inner, max_size=3)
    ),
    max_leaves=6,
)
words = st.sampled_from(sorted({part for key in CHARACTER_KEYS for part in key.path}))


@st.composite
def documents(draw: st.DrawFn) -> str:
    """TOML that is valid and made of our own words in any arrangement."""
    keys = draw(
        st.lists(st.one_of(st.sampled_from([key.name for key in CHARACTER_KEYS]), words), unique=True, max_size=5)
    )
    return "".join(f"{name} = {toml_literal(draw(values))}\n" for name in keys)


def broken(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load_character_config(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_broken_toml_is_told_by_line(tmp_path: Path) -> None:
    """The sentence leads to the place."""
    path = tmp_path / "character.toml"

    for text in ('interjection = "quiet"\naliases = [\n\n', 'interjection = "quiet"\naliases = x\n'):
        path.write_text(text, encoding="utf-8")
        assert "not valid TOML" in broken(path)
        assert "line 2" in broken(path)


def test_a_file_that_is_not_utf8_is_told_by_line(tmp_path: Path) -> None:
    """And how to mend it."""
    path = tmp_path / "character.toml"
    path.write_bytes(b'interjection = "quiet"\nchattiness = "caf\xe9"\n')

    assert "line 2 is not UTF-8 text; save the file as UTF-8" in broken(path)


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path: Path) -> None:
    """Nothing is guessed from it."""
    (tmp_path / "character.toml").mkdir()

    assert "is a folder" in broken(tmp_path / "character.toml")


def test_a_pipe_in_the_place_of_a_file_does_not_hang(tmp_path: Path) -> None:
    """Reading one would wait for ever."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no pipes with names")
    os.mkfifo(tmp_path / "character.toml")

    assert "not a plain file" in broken(tmp_path / "character.toml")


def test_a_file_beyond_all_measure_is_refused(tmp_path: Path) -> None:
    """Before it is parsed."""
    path = tmp_path / "character.toml"
    path.write_bytes(b"#" * (MAX_FILE_BYTES + 1))

    assert "larger than" in broken(path)


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a" + ".a" * 5000 + " = 1", "a = " + "[" * 20 + "]" * 20])
def test_a_bottomless_file_is_refused(tmp_path: Path, text: str) -> None:
    """Nesting costs nobody a traceback."""
    path = tmp_path / "character.toml"
    path.write_text(text, encoding="utf-8")

    broken(path)


def test_a_name_beyond_all_measure_is_shown_short(tmp_path: Path) -> None:
    """The sentence stays a sentence."""
    path = tmp_path / "character.toml"
    path.write_text("x" * 100_000 + " = 1", encoding="utf-8")

    assert len(broken(path)) < 1600


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """One sentence with what to look at; the original error is kept as its cause."""
    (tmp_path / "taken").write_text("", encoding="utf-8")

    with pytest.raises(HomeError, match=r"character\.toml: cannot be written .*nothing was changed"):
        write_text(tmp_path / "taken" / "character.toml", "x")


@pytest.mark.slow
@SAME_FOLDER
@given(text=documents())
def test_any_arrangement_of_our_own_words_loads_or_is_refused(tmp_path: Path, text: str) -> None:
    """Whatever is valid TOML ends in settings or in a ConfigError, and both readers agree."""
    path = tmp_path / "any.toml"
    path.write_text(text, encoding="utf-8")

    outcomes = []
    for read in (load_character_config, explain_character_config):
        try:
            outcomes.append(bool(read(path)))
        except ConfigError as exc:
            outcomes.append("\n" in str(exc))

    assert outcomes[0] == outcomes[1]


@SAME_FOLDER
@given(raw=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))))
def test_any_bytes_load_or_are_refused(tmp_path: Path, raw: bytes) -> None:
    """A torn, foreign or empty file raises nothing but a ConfigError."""
    path = tmp_path / "any.toml"
    path.write_bytes(raw)

    complaints = []
    for read in (load_character_config, load_channel_config):
        try:
            read(path)
        except ConfigError as exc:
            complaints.append(str(exc))

    assert all(str(path) in complaint for complaint in complaints)


@given(row=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), values, max_size=4))
def test_rows_are_read_back_as_they_were_written(row: dict[str, Any]) -> None:
    """What the program writes is TOML and says the same."""
    text = format_rows("# head", "row", [row, {}])

    assert repr([row, {}]) == repr(tomllib.loads(text)["row"])
