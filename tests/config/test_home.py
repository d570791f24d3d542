"""Where data lives, which familiars there are, and which is meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.config.home import (
    familiar_root,
    find_home,
    home_nearby,
    is_valid_familiar_id,
    list_familiars,
    pick_familiar,
    profile_path,
)
from familiar_connect.errors import HomeError


def home_with(home: Path, *names: str) -> Path:
    for name in names:
        (home / "familiars" / name).mkdir(parents=True)
    return home


def never(_root: Path) -> float:
    return 0.0


def test_the_first_that_applies_is_the_home(tmp_path: Path) -> None:
    """Flag, variable, then the user's own folder."""
    flag, named = tmp_path / "flag", {"FAMILIAR_HOME": str(tmp_path / "named")}

    assert flag == find_home(flag, environ=named)
    assert tmp_path / "named" == find_home(environ=named)
    assert find_home(environ={"FAMILIAR_HOME": " "}).name == "familiar-connect"


def test_a_folder_in_the_working_directory_is_never_silently_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is noticed, so that somebody can be told, and not used."""
    monkeypatch.chdir(tmp_path)
    assert home_nearby() is None

    home_with(tmp_path / "data", "a")

    assert home_nearby() == tmp_path / "data"
    assert find_home(environ={}).name == "familiar-connect"


def test_a_file_cannot_be_a_home(tmp_path: Path) -> None:
    """The sentence says how to name another."""
    (tmp_path / "file").write_text("", encoding="utf-8")

    with pytest.raises(HomeError, match="--home"):
        find_home(tmp_path / "file")


def test_familiars_are_folders_with_plain_names(tmp_path: Path) -> None:
    """Profiles, hidden folders and files are none."""
    home = home_with(tmp_path, "zoe", "aria", "_default", ".trash")
    (home / "familiars" / "notes.txt").write_text("", encoding="utf-8")

    assert list_familiars(home) == ["aria", "zoe"]
    assert list_familiars(tmp_path / "nowhere") == []


def test_the_profile_is_used_only_if_it_is_there(tmp_path: Path) -> None:
    """`_default/character.toml` is optional."""
    home = home_with(tmp_path, "_default")
    before = profile_path(home)
    (home / "familiars" / "_default" / "character.toml").write_text("", encoding="utf-8")

    assert (None, home / "familiars" / "_default" / "character.toml") == (before, profile_path(home))


def test_the_one_that_is_meant_is_picked(tmp_path: Path) -> None:
    """Asked for, named by the environment or the secrets file, the only one, or the default one."""
    home = home_with(tmp_path / "two", "aria", "zoe")
    alone = home_with(tmp_path / "one", "zoe")
    three = home_with(tmp_path / "three", "aria", "default")
    (three / "secrets.env").touch(mode=0o600)

    assert pick_familiar(home, "zoe", last_talk=never, environ={"FAMILIAR_ID": "aria"}) == "zoe"
    assert pick_familiar(home, last_talk=never, environ={"FAMILIAR_ID": "aria"}) == "aria"
    assert pick_familiar(alone, last_talk=never, environ={}) == "zoe"
    assert pick_familiar(three, last_talk=never, environ={}) == "default"


@pytest.mark.parametrize(
    ("names", "wanted", "fragments"),
    [
        ((), None, ["no familiar here yet", "familiar init"]),
        (("aria", "zoe"), None, ["aria, zoe", "--familiar", "FAMILIAR_ID"]),
        (("aria", "zoe"), "ria", ["'ria'", "did you mean 'aria'?"]),
        (("aria",), "bob", ["there are: aria", "familiar init bob"]),
        (("aria",), "../aria", ["did you mean 'aria'?"]),
        (("aria",), "../bo", ["a-z, A-Z, 0-9, - and _"]),
    ],
)
def test_when_nobody_can_be_picked_the_sentence_says_what_to_do(
    tmp_path: Path, names: tuple[str, ...], wanted: str | None, fragments: list[str]
) -> None:
    """What is there, and the command that helps."""
    home_with(tmp_path, *names)

    with pytest.raises(HomeError) as caught:
        pick_familiar(tmp_path, wanted, last_talk=never, environ={})

    assert [fragment for fragment in fragments if fragment not in str(caught.value)] == []


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "/etc", "a\0b", "c:x"])
def test_no_name_leads_out_of_the_home(tmp_path: Path, name: str) -> None:
    """A familiar's folder lies in the home."""
    with pytest.raises(HomeError):
        familiar_root(tmp_path, name)

    assert not is_valid_familiar_id(name)


@pytest.mark.parametrize(
    ("name", "fits"),
    [("aria", True), ("Aria-2_b", True), ("7", True), ("a" * 64, True), ("a" * 65, False)]
    + [(name, False) for name in ("_default", "-v", ".x", "a b", "aria\n", "ärger", "NUL", "com1")],
)
def test_a_new_name_is_plain(name: str, fits: bool) -> None:
    """Letters, digits, - and _, on any system."""
    assert fits == is_valid_familiar_id(name)


@given(st.text())
def test_a_valid_name_is_one_folder(name: str) -> None:
    """Whatever is typed, what is valid stays inside."""
    if is_valid_familiar_id(name):
        assert Path("home") / "familiars" == familiar_root(Path("home"), name).parent


def test_of_several_the_one_talked_with_last_is_meant(tmp_path: Path) -> None:
    """Nobody has to name a familiar to go on where they left off."""
    home = home_with(tmp_path, "aria", "mira", "zoe")
    when = {"aria": 100.0, "mira": 300.0, "zoe": 200.0}

    assert pick_familiar(home, last_talk=lambda root: when[root.name], environ={}) == "mira"
