"""Secrets: found by name, shown nowhere."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from familiar_connect.config.secrets import Secrets, read_secret
from familiar_connect.errors import ConfigError

VALUE = "sk-very-secret-0123456789"


def kept(home: Path, text: str, *, mode: int = 0o600) -> Secrets:
    (home / "secrets.env").write_text(text, encoding="utf-8")
    (home / "secrets.env").chmod(mode)
    return Secrets(home, environ={})


def test_the_environment_comes_before_the_file(tmp_path: Path) -> None:
    """An empty variable counts as none."""
    kept(tmp_path, "A=from file\nB=from file\n")
    secrets = Secrets(tmp_path, environ={"A": "from environment", "B": "  "})

    assert (secrets.get("A"), secrets.get("B"), secrets.get("C")) == ("from environment", "from file", None)


def test_a_secret_is_read_without_ceremony(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the home given, else from the one the environment names."""
    kept(tmp_path, f"MY_KEY={VALUE}\n")
    monkeypatch.delenv("MY_KEY", raising=False)
    monkeypatch.setenv("FAMILIAR_HOME", str(tmp_path))

    assert (read_secret("MY_KEY"), read_secret("MY_KEY", home=tmp_path)) == (VALUE, VALUE)


def test_lines_may_be_written_as_a_shell_would(tmp_path: Path) -> None:
    """`export`, quotes, comments and blank lines are understood; `#` and `=` inside a value are its own."""
    secrets = kept(tmp_path, "# keys\n\nexport A=1\nB = \"two words\"\r\nC='3'\nD=a#b=c\n")

    assert [secrets.get(name) for name in "ABCD"] == ["1", "two words", "3", "a#b=c"]
    assert secrets.names() == ["A", "B", "C", "D"]


def test_no_home_and_no_file_mean_no_secrets(tmp_path: Path) -> None:
    """Nothing is required until something asks for it."""
    assert [Secrets(home, environ={}).get("A") for home in (None, tmp_path)] == [None, None]


def test_putting_a_secret_keeps_every_other_line(tmp_path: Path) -> None:
    """The last word on a name stands once, and the file is its owner's alone."""
    secrets = kept(tmp_path, "# mine\nA=1\nB=2\nexport A=3\n", mode=0o644)

    secrets.put("A", f" {VALUE}\n")

    path = tmp_path / "secrets.env"
    assert f"# mine\nB=2\nA={VALUE}\n" == path.read_text(encoding="utf-8")
    if os.name != "nt":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=st.text(st.characters(min_codepoint=32, exclude_categories=["C", "Z"]), min_size=1))
def test_what_is_put_is_what_is_found(tmp_path: Path, value: str) -> None:
    """Whatever quotes or signs the value holds."""
    secrets = Secrets(tmp_path, environ={})

    secrets.put("A", value)

    assert value == secrets.get("A")


@pytest.mark.parametrize(
    ("name", "value"), [("A", f"{VALUE}\nB=1"), ("A", ""), ("A", "\x00"), ("A B", VALUE), ("", VALUE)]
)
def test_a_secret_that_would_break_the_file_is_refused(tmp_path: Path, name: str, value: str) -> None:
    """Without repeating it."""
    with pytest.raises(ConfigError) as caught:
        Secrets(tmp_path, environ={}).put(name, value)

    assert VALUE not in str(caught.value)
    assert not (tmp_path / "secrets.env").exists()


def test_a_file_open_to_others_is_warned_about_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One WARNING, however often it is read."""
    if os.name == "nt":
        pytest.skip("this system has no such rights")
    secrets = kept(tmp_path, f"A={VALUE}\n", mode=0o640)

    for _ in range(3):
        secrets.get("A")

    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "chmod 600" in caplog.text


def test_no_value_is_ever_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Not by repr, not by names, not when a line or the file cannot be read."""
    caplog.set_level(logging.DEBUG)
    secrets = kept(tmp_path, f"A={VALUE}\nno pair {VALUE}\n")
    seen = [repr(secrets), str(vars(secrets)), str(secrets.names())]
    (tmp_path / "secrets.env").write_bytes(b"A=" + VALUE.encode() + b"\xff\n")
    with pytest.raises(ConfigError, match=r"secrets\.env: line 1 is not UTF-8") as caught:
        secrets.get("A")

    assert VALUE not in "".join([*seen, str(caught.value), *(str(vars(record)) for record in caplog.records)])
    assert "not NAME=value" in caplog.text
