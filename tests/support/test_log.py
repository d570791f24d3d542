"""A log line: static words, facts beside them, private ones hidden, keys never."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from familiar_connect.support.log import ROOT, event, log_to_file, redact, set_up_logging

logger = logging.getLogger("familiar_connect.tests.log")


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    roots = [logging.getLogger(name) for name in (ROOT, "")]
    before = [(list(root.handlers), root.level) for root in roots]
    yield
    for root, (handlers, level) in zip(roots, before, strict=True):
        root.handlers[:] = handlers
        root.setLevel(level)


def lines_at(verbosity: int, *, json_lines: bool = False) -> io.StringIO:
    stream = io.StringIO()
    set_up_logging(verbosity, stream=stream, json_lines=json_lines)
    return stream


@pytest.mark.parametrize(("verbosity", "seen"), [(0, 1), (1, 2), (2, 3), (5, 3)])
def test_verbosity_opens_the_levels_one_by_one(verbosity: int, seen: int) -> None:
    """Warnings always, INFO from one, DEBUG from two."""
    stream = lines_at(verbosity)

    for level in (logging.WARNING, logging.INFO, logging.DEBUG):
        event(logger, level, "something happened")

    assert len(stream.getvalue().splitlines()) == seen


def test_facts_follow_the_message_as_key_and_value() -> None:
    """Facts given in `extra` stand after the static text, quoted where they must be."""
    stream = lines_at(1)

    logger.info("turn answered", extra={"channel_id": 7, "total_s": 0.25, "model": "a b"})

    assert stream.getvalue().endswith('turn answered channel_id=7 total_s=0.25 model="a b"\n')


def test_what_people_said_is_shown_to_those_who_ask_for_debug_only() -> None:
    """A private fact is hidden at INFO and shown at DEBUG."""
    quiet = lines_at(1)
    event(logger, logging.INFO, "heard", text="my secret garden", name="Ana")
    loud = lines_at(2)
    event(logger, logging.INFO, "heard", text="my secret garden", name="Ana")

    assert "garden" not in quiet.getvalue()
    assert "Ana" not in quiet.getvalue()
    assert 'text="my secret garden" name=Ana' in loud.getvalue()


def test_a_private_fact_inside_another_is_hidden_too() -> None:
    """Nesting does not uncover what people said."""
    stream = lines_at(1)

    event(logger, logging.INFO, "heard", batch={"count": 2, "text": "garden"}, several=[{"utterance": "garden"}])

    assert "garden" not in stream.getvalue()
    assert '"count": 2' in stream.getvalue()


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abc.def-123456", "abc.def"),
        ("{'Authorization': 'Bearer zzzyyyxxx'}", "zzzyyyxxx"),
        ("key was sk-or-v1-0123456789abcdef", "0123456789"),
        ("OPENROUTER_API_KEY=topsecretvalue", "topsecret"),
        ('{"api_key": "topsecretvalue"}', "topsecret"),
        ("https://example.org/v1?key=topsecretvalue&x=1", "topsecret"),
        ("https://me:topsecretvalue@example.org/v1", "topsecret"),
        ("access_token=topsecretvalue", "topsecret"),
        ("bearer topsecretvalue", "topsecret"),
        ("AIza" + "Sy0123456789abcdefghijklmn", "0123456789"),
        ("MTIzNDU2Nzg5MDEyMzQ1Njc4" + ".GabcdE." + "x" * 38, "GabcdE"),
    ],
)
def test_what_looks_like_a_key_is_struck_out(text: str, secret: str) -> None:
    """Headers, settings, addresses and well-known shapes lose their secret."""
    assert secret not in redact(text)
    assert "<redacted>" in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "prompt_tokens=12",
        "first_token_s=0.25",
        "tokens: 1024 of 4096",
        "the key to the garden",
        "http://localhost:8080/v1",
    ],
)
def test_ordinary_facts_are_not_taken_for_keys(text: str) -> None:
    """Counting tokens is no secret."""
    assert text == redact(text)


def test_a_key_never_shows_even_at_debug() -> None:
    """Not by its name, not in the message, not in an exception."""
    stream = lines_at(2)
    try:
        raise ValueError("401 for Authorization: Bearer topsecretvalue")
    except ValueError:
        logger.exception("call failed with %s", "sk-topsecretvalue", extra={"api_key": "topsecretvalue"})

    assert "topsecret" not in stream.getvalue()
    assert "Traceback" in stream.getvalue()


def test_an_exception_is_one_line_unless_debug_is_asked_for() -> None:
    """Operators read a sentence; developers get the traceback."""
    stream = lines_at(0)
    try:
        raise ValueError("the disk is full")
    except ValueError:
        logger.exception("not written")

    assert stream.getvalue().splitlines()[1:] == ["ValueError: the disk is full"]


def test_a_json_line_holds_the_same_facts() -> None:
    """One object a line, for machines."""
    stream = lines_at(1, json_lines=True)

    event(logger, logging.INFO, "turn answered", channel_id=7, text="garden", message="x")

    line = json.loads(stream.getvalue())
    assert (line["message"], line["level"], line["channel_id"], line["text"]) == (
        "turn answered",
        "INFO",
        7,
        "<private>",
    )


def test_setting_up_twice_does_not_log_twice() -> None:
    """The later set-up takes the place of the earlier."""
    first = lines_at(1)
    second = lines_at(1)

    event(logger, logging.INFO, "once")

    assert (first.getvalue(), second.getvalue().count("once")) == ("", 1)


def test_without_a_stream_lines_go_to_standard_error_of_the_moment(capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output stays free for the conversation."""
    set_up_logging(0)

    event(logger, logging.WARNING, "mind the gap")

    seen = capsys.readouterr()
    assert (seen.out, "mind the gap" in seen.err) == ("", True)


def test_a_line_cannot_be_forged_by_a_line_break() -> None:
    """A fact with line breaks stays on its line."""
    stream = lines_at(2)

    event(logger, logging.INFO, "heard", text="one\nERROR forged")

    assert len(stream.getvalue().splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("hostile", ["a" * 1_000_000, "a." * 500_000, "token" * 200_000, "://a:" * 200_000])
def test_striking_out_stays_quick_on_hostile_text(hostile: str) -> None:
    """The time grows with the length, no faster: this would not end in time otherwise."""
    assert redact(hostile) == hostile


def test_a_fact_too_long_to_read_is_cut() -> None:
    """Ten megabytes said do not become ten megabytes logged."""
    stream = lines_at(2)

    event(logger, logging.DEBUG, "heard", text="x" * 10_000_000)

    assert len(stream.getvalue()) < 5_000


@pytest.mark.parametrize("json_lines", [False, True])
def test_no_line_commands_the_terminal_it_is_shown_on(json_lines: bool) -> None:
    """Neither by its message nor by a fact, a name of a fact or an exception."""
    stream = lines_at(2, json_lines=json_lines)
    bad = "a\x1b]0;x\x07\x9b\x7f\u202e\rb"
    try:
        raise ValueError(bad)
    except ValueError:
        logger.exception("file %s", bad, extra={"provider": bad, "deep": {"list": [bad]}})

    shown = stream.getvalue()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)
    assert "\\u001b]0;x" in shown


def test_a_library_that_fails_writes_one_line_and_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    """asyncio, uvicorn and the platforms' libraries print whole tracebacks where nobody takes their lines."""
    stream = lines_at(0)

    try:
        raise OSError(24, "Too many open files")
    except OSError:
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application")
        logging.getLogger("uvicorn.error").info("started")

    assert [line.split(" ", 1)[-1] for line in stream.getvalue().splitlines()] == [
        "ERROR uvicorn.error Exception in ASGI application",
        "[Errno 24] Too many open files",
    ]
    assert capsys.readouterr().err == ""


def test_our_own_warning_is_written_once() -> None:
    """It passes the place where the libraries' lines are taken."""
    stream = lines_at(0)

    logger.warning("mind the gap")

    assert stream.getvalue().count("mind the gap") == 1


def test_a_log_file_that_cannot_be_opened_costs_its_line_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The library would print a traceback into the conversation."""
    file = tmp_path / "warnings.log"
    log_to_file(file)

    file.mkdir()
    logger.warning("lost")
    file.rmdir()
    logger.warning("kept")
    for handler in logging.getLogger(ROOT).handlers:
        handler.close()

    assert capsys.readouterr().err == ""
    assert [line.rsplit(" ", 1)[-1] for line in file.read_text().splitlines()] == ["kept"]
