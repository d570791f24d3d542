"""A group is a plain file; what is wrong in it is said in one sentence with the fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from familiar_connect.config.groups import GroupConfig, TurnOrder, group_file, list_groups, load_group, write_group
from familiar_connect.errors import ConfigError, HomeError


def write(home: Path, text: str, name: str = "hearth") -> Path:
    path = group_file(home, name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_says_who_and_how(tmp_path: Path) -> None:
    """Every key is read."""
    write(
        tmp_path,
        'members = ["wren", "ember"]\norder = "pooled"\nmax_replies = 3\nallow_self_responses = true\n'
        'muted = ["ember"]\n[talkativeness]\nwren = 1\nember = 0.25\n',
    )

    assert load_group(tmp_path, "hearth") == GroupConfig(
        members=["wren", "ember"],
        order=TurnOrder.pooled,
        max_replies=3,
        allow_self_responses=True,
        muted=["ember"],
        talkativeness={"wren": 1.0, "ember": 0.25},
    )


def test_a_file_that_was_written_here_reads_as_its_members_alone(tmp_path: Path) -> None:
    """It shows every other key without setting it, and each as it could be set."""
    path = write_group(tmp_path, "hearth", ["wren", "ember"])

    assert load_group(tmp_path, "hearth") == GroupConfig(members=["wren", "ember"])
    shown = path.read_text(encoding="utf-8")
    assert all(f"#{key}" in shown for key in ("order", "max_replies", "allow_self_responses", "muted", "[talk"))

    lines = shown.splitlines()
    path.write_text("\n".join(line[1:] if line[:1] == "#" and line[1:2] != " " else line for line in lines))
    assert load_group(tmp_path, "hearth").talkativeness == {"wren": 0.5, "ember": 0.5}
    assert list_groups(tmp_path) == ["hearth"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('members = ["wren"]', "members must name 2 to 20 familiars"),
        ('members = ["wren", "wren"]', "members names 'wren' twice"),
        ('members = ["wren", "ember"]\nmuted = ["mira"]', "muted names 'mira', who is not among members"),
        ('members = ["wren", "ember"]\n[talkativeness]\nwren = 2', "number from 0 to 1"),
        ('members = ["wren", "ember"]\norder = "naturl"', "did you mean 'natural'?"),
        ('members = ["wren", "ember"]\nordr = "list"', "did you mean 'order'?"),
        ('members = ["wren", "ember"]\nmax_replies = 0', "max_replies must be a whole number above 0"),
    ],
)
def test_what_is_wrong_names_the_file_and_the_key(tmp_path: Path, text: str, sentence: str) -> None:
    """One sentence that can be mended by."""
    path = write(tmp_path, text)

    with pytest.raises(ConfigError) as told:
        load_group(tmp_path, "hearth")
    assert str(told.value).startswith(str(path))
    assert sentence in str(told.value)


def test_a_group_that_is_not_there_is_named_with_its_nearest(tmp_path: Path) -> None:
    """And, where none is near, how to make it."""
    write_group(tmp_path, "hearth", ["wren", "ember"])

    with pytest.raises(HomeError, match=r"there is no group called 'heart'; did you mean 'hearth'\?$"):
        load_group(tmp_path, "heart")
    with pytest.raises(HomeError, match="there are: hearth; make it with `familiar chat --group attic --with ONE"):
        load_group(tmp_path, "attic")
    with pytest.raises(HomeError, match="cannot name a group"):
        load_group(tmp_path, "../secrets")
