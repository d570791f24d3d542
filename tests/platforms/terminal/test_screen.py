"""What the terminal shows."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.place import Place
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.platforms.terminal.line_input import MAX_HISTORY_BYTES, PipeReader, prepare_history_file
from familiar_connect.platforms.terminal.place import TerminalPlace
from familiar_connect.platforms.terminal.screen import Screen
from familiar_connect.support.simulated_time import SimulatedLoop, run_simulated
from familiar_connect.support.text import printable
from tests.fakes.scripted_familiar import ANA


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@given(st.text())
def test_nothing_printable_commands_a_terminal(text: str) -> None:
    """No control character but tab and newline, no override of direction."""
    shown = printable(text)

    assert all(c in "\t\n" or not (ord(c) < 32 or 127 <= ord(c) < 160) for c in shown)
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def test_ordinary_text_is_left_alone() -> None:
    """Also emoji and right-to-left letters."""
    text = "tab\there\nשלום 👨‍👩‍👧 مرحبا é"

    assert printable(text) == text
    assert printable("a\r\nb\rc") == "a\nb\nc"


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for pipes, not where people ask for none."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert Screen(Terminal(), io.StringIO(), plain=False).coloured
    assert not Screen(Terminal(), io.StringIO(), plain=True).coloured
    assert not Screen(io.StringIO(), io.StringIO(), plain=False).coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert not Screen(Terminal(), io.StringIO(), plain=False).coloured
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not Screen(Terminal(), io.StringIO(), plain=False).coloured


def test_on_a_pipe_notes_stay_out_of_the_conversation() -> None:
    """Replies on one stream, everything else on the other."""
    out, aside = io.StringIO(), io.StringIO()
    screen = Screen(out, aside, plain=True)
    screen.line("Hello.")
    screen.note("about\x1b[31m it")

    assert (out.getvalue(), aside.getvalue()) == ("Hello.\n", "about[31m it\n")


async def test_a_spinner_is_gone_before_the_first_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line is cleared, and nothing spins after it; it takes no colours."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    screen = Screen(out, io.StringIO(), plain=False)
    async with screen.spinner(lambda: "thinking…"):
        await asyncio.sleep(0)
        screen.write("Hello")
        await asyncio.sleep(0)

    shown = out.getvalue()
    assert "thinking…" in shown
    assert shown.endswith("\r\x1b[2KHello")


async def test_the_place_prints_the_name_once_per_reply() -> None:
    """On a terminal before the first piece; on a pipe never."""
    store = HistoryStore(":memory:")
    for plain, expected in ((False, "Ember: Hello\nEmber: Bye\n"), (True, "Hello\nBye\n")):
        out = io.StringIO()
        screen = Screen(out, io.StringIO(), plain=plain)
        place = TerminalPlace(screen, "Ember", ANA, StoredMessages(store, "ember", 1), lambda: "")
        assert isinstance(place, Place)
        assert place.end() is False
        await place.send("Hel")
        await place.send("lo")
        assert place.end() is True
        await place.send("Bye")
        place.end()
        assert out.getvalue() == expected
        assert (await place.scene()).participants == (ANA,)
    store.close()


async def test_a_pipe_is_read_line_by_line_to_its_end() -> None:
    """Only as far as asked; afterwards there is nothing more."""
    reader = PipeReader(io.StringIO("one\r\ntwo\n\nlast"))

    assert [await reader.line() for _ in range(6)] == ["one", "two", "", "last", None, None]


def test_the_file_of_typed_lines_is_kept_short(tmp_path: Path) -> None:
    """The older half goes, and what is left begins with a whole entry."""
    file = tmp_path / "cache" / "chat-lines"
    assert prepare_history_file(file)
    entry = "\n# 2025-01-01 12:00:00.000000\n+a line of words\n"
    file.write_text(entry * (MAX_HISTORY_BYTES // len(entry) + 10), encoding="utf-8")
    assert prepare_history_file(file)

    kept = file.read_text(encoding="utf-8")
    assert MAX_HISTORY_BYTES // 3 < len(kept) <= MAX_HISTORY_BYTES // 2
    assert kept.startswith("# 2025")
    assert file.stat().st_mode & 0o777 == 0o600


def test_where_typed_lines_cannot_be_kept_the_chat_goes_on(tmp_path: Path) -> None:
    """A file stands in the way."""
    (tmp_path / "cache").write_text("", encoding="utf-8")

    assert prepare_history_file(tmp_path / "cache" / "chat-lines") is False


def test_where_lines_cannot_move_news_is_noted_once() -> None:
    """What the reply waits for goes beside the conversation; that it is thought about is no news."""

    async def story(loop: SimulatedLoop) -> None:
        states = {"now": "thinking…"}
        screen = Screen(out, aside, plain=True)
        async with screen.spinner(lambda: states["now"]):
            await asyncio.sleep(3)
            states["now"] = "waiting for the server…"
            await asyncio.sleep(10)
            states["now"] = "thinking…"
            await asyncio.sleep(3)

    out, aside = io.StringIO(), io.StringIO()
    run_simulated(story)

    assert (out.getvalue(), aside.getvalue()) == ("", "waiting for the server…\n")


def test_a_long_wait_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """From some seconds on the moving line says how long it has been."""

    async def story(loop: SimulatedLoop) -> None:
        async with Screen(out, io.StringIO(), plain=False).spinner(lambda: "thinking…"):
            await asyncio.sleep(12)

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    run_simulated(story)

    assert "thinking… 11 s" in out.getvalue()
    assert "thinking… 4 s" not in out.getvalue()


def test_a_dumb_terminal_is_told_once_that_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that stays, and no sequence that such a terminal would show as signs."""

    async def story(loop: SimulatedLoop) -> None:
        async with Screen(out, io.StringIO(), plain=False).spinner(lambda: "thinking…"):
            await asyncio.sleep(60)

    monkeypatch.setenv("TERM", "dumb")
    out = Terminal()
    run_simulated(story)

    assert out.getvalue() == "thinking…\n"
