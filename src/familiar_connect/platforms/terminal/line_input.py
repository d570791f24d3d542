"""Reading lines: an editor with history on a real terminal, a plain reader on a pipe."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TextIO

from familiar_connect.platforms.terminal.completion import Suggestion
from familiar_connect.platforms.terminal.screen import Screen
from familiar_connect.support.files import atomic_write
from familiar_connect.support.no_follow import load_bytes, make_folder, open_to_append
from familiar_connect.support.word_wrap import is_dumb_terminal

logger = logging.getLogger(__name__)

MAX_LINE_CHARS = 16 * 1024 * 1024
"""A longer line is taken in pieces, so that no input can fill the memory."""


MAX_HISTORY_BYTES = 512 * 1024
"""Lines typed before are kept up to this; beyond it the older half goes."""


QUOTES = '"""'
"""A text that begins so ends only where they stand again."""

Suggest = Callable[[str], Awaitable[list[Suggestion]]]
"""What the text before the cursor may become."""


class Interrupted(Exception):
    """Ctrl-C was typed instead of a line. Not a KeyboardInterrupt: that would tear down the event loop."""

    def __init__(self, *, had_text: bool = False) -> None:
        super().__init__()
        self.had_text = had_text
        """Whether a line had been begun, which is given up."""


class LineReader(Protocol):
    async def line(self) -> str | None:
        """The next line, or None at the end. Raises Interrupted when Ctrl-C was typed."""

    def set_prompt(self, prompt: str) -> None:
        """What stands before the lines from now on, where anything does."""

    def set_draft(self, text: str) -> None:
        """What the next line holds already, where lines are edited."""

    def drop_waiting(self) -> bool:
        """Give up lines that were typed ahead; says whether there were any."""

    def close(self) -> None: ...


@contextmanager
def unseen_typing(stream: TextIO) -> Iterator[None]:
    """What is typed while no line is asked for waits unseen for the next prompt, instead of standing in a reply.

    Ctrl-D waits there too, as the key it is, and is read by that prompt.
    """
    if sys.platform == "win32" or not stream.isatty():
        yield
        return
    import termios

    descriptor = stream.fileno()
    before = termios.tcgetattr(descriptor)
    quiet = [*before[:3], before[3] & ~(termios.ECHO | termios.ICANON), *before[4:]]
    termios.tcsetattr(descriptor, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


class PipeReader:
    """Lines of a stream, read by a thread of its own that never keeps the program from ending."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._wanted = threading.Semaphore(0)
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._thread: threading.Thread | None = None
        self._ended = False

    async def line(self) -> str | None:
        if self._ended:
            return None
        if self._thread is None:
            loop = asyncio.get_running_loop()
            self._thread = threading.Thread(target=self._read, args=(loop,), name="stdin", daemon=True)
            self._thread.start()
        self._wanted.release()  # one line is read for each that is asked for
        line = await self._lines.get()
        self._ended = line is None
        return line

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            self._wanted.acquire()
            try:
                text = self._stream.readline(MAX_LINE_CHARS)
            except (OSError, ValueError):
                text = ""
            try:
                loop.call_soon_threadsafe(self._lines.put_nowait, text.rstrip("\r\n") if text else None)
            except RuntimeError:  # the loop has closed: nobody listens any more
                return
            if not text:
                return

    def set_prompt(self, prompt: str) -> None:
        """A pipe shows none."""

    def set_draft(self, text: str) -> None:
        """A pipe types for itself."""

    def drop_waiting(self) -> bool:
        """A line is read when it is asked for: none waits."""
        return False

    def close(self) -> None:
        self._ended = True


class EditorReader:
    """prompt_toolkit's line editor: arrows, history across runs, completion, several lines.

    Enter sends. Alt-Enter begins a new line, and so does Enter behind a backslash or in a text begun with three quotes.
    """

    def __init__(
        self,
        prompt: str,
        history_file: Path | None,
        *,
        screen: Screen,
        suggest: Suggest | None = None,
    ) -> None:
        self._prompt = prompt
        self._history_file = history_file
        self._screen = screen
        self._suggest = suggest
        self._keys: dict[str, Callable[[], None]] = {}
        self._status = ""
        self._session: Any = None
        self._draft = ""

    async def line(self) -> str | None:
        session = self._session or self._open()
        if _is_interrupted_ahead(session.app.input):
            raise Interrupted
        above = _AbovePrompt(self._screen)
        try:
            with self._screen.typing(above.write):
                draft, self._draft = self._draft, ""
                return read_typed(str(await session.prompt_async(default=draft)))
        except EOFError:
            return None
        except KeyboardInterrupt:
            raise Interrupted(had_text=bool(session.default_buffer.text)) from None
        finally:
            above.close()

    def _open(self) -> Any:
        from prompt_toolkit import PromptSession  # heavy: only where someone really types
        from prompt_toolkit.formatted_text import ANSI
        from prompt_toolkit.history import FileHistory, InMemoryHistory

        history: Any = InMemoryHistory()
        if self._history_file is not None and prepare_history_file(self._history_file):
            history = FileHistory(str(self._history_file))
        self._session = PromptSession(
            ANSI(self._prompt),
            history=history,
            multiline=True,
            prompt_continuation=lambda width, _number, _is_wrapped: " " * width,
            key_bindings=_key_bindings(self._keys),
            completer=None if self._suggest is None else _make_completer(self._suggest),
            complete_while_typing=False,
            enable_open_in_editor=True,
            tempfile_suffix=".md",
        )
        self._session.bottom_toolbar = self._status_line()
        return self._session

    def bind(self, key: str, act: Callable[[], None]) -> None:
        """Let *key* do *act* whatever is typed at the time; said before the first line is asked for."""
        self._keys[key] = act

    def set_status(self, text: str) -> None:
        """Keep *text* below the line that is typed; without words the line goes away.

        On a terminal that cannot draw over lines it is not shown.
        """
        if text == self._status or is_dumb_terminal():
            return
        self._status = text
        if self._session is not None:
            self._session.bottom_toolbar = self._status_line()
            self._session.app.invalidate()

    def _status_line(self) -> Any:
        if not self._status:
            return None
        from prompt_toolkit.formatted_text import ANSI

        shown = self._status[: max(1, self._screen.width() - 1)]
        return ANSI(self._screen.paint(shown, "dim"))

    def set_prompt(self, prompt: str) -> None:
        self._prompt = prompt
        if self._session is not None:
            from prompt_toolkit.formatted_text import ANSI

            self._session.message = ANSI(prompt)

    def set_draft(self, text: str) -> None:
        self._draft = text

    def drop_waiting(self) -> bool:
        """Keys the editor read behind the line it gave; the terminal forgets those nobody read when Ctrl-C is typed."""
        if self._session is None:
            return False
        from prompt_toolkit.input.typeahead import get_typeahead

        return bool(get_typeahead(self._session.app.input))

    def close(self) -> None:
        self._session = None


class _AbovePrompt:
    """Puts whole lines above the line that is being typed; on a terminal that cannot, behind it."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._waiting = ""
        self._can_move = not is_dumb_terminal()

    def write(self, text: str) -> None:
        self._waiting += text
        if self._can_move and "\n" in self._waiting:
            from prompt_toolkit.application import run_in_terminal

            run_in_terminal(self._show_lines)

    def _show_lines(self) -> None:
        lines, newline, self._waiting = self._waiting.rpartition("\n")
        self._screen.write_now(lines + newline)

    def close(self) -> None:
        """What could not be shown before."""
        rest, self._waiting = self._waiting, ""
        if rest:
            self._screen.write_now(rest)


def _is_interrupted_ahead(source: Any) -> bool:
    """Whether Ctrl-C is among the keys that wait. It counts first, and the lines before it are dropped."""
    from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
    from prompt_toolkit.keys import Keys

    waiting = get_typeahead(source)
    last = max((at for at, each in enumerate(waiting) if each.key is Keys.ControlC), default=-1)
    store_typeahead(source, waiting[last + 1 :])
    return last >= 0


def read_typed(text: str) -> str:
    """What was typed, without the marks that let it have several lines."""
    text = text.replace("\\\n", "\n")
    if text.startswith(QUOTES):
        text = text.removeprefix(QUOTES).strip()
        return text.removesuffix(QUOTES).strip()
    return text


def _goes_on(text: str) -> bool:
    """Whether Enter begins another line of *text* instead of sending it."""
    is_quoted = text.startswith(QUOTES) and (len(text) < 2 * len(QUOTES) or not text.rstrip().endswith(QUOTES))
    return is_quoted or text.endswith("\\")


def _key_bindings(keys: Mapping[str, Callable[[], None]]) -> Any:
    """Keys of the line that is typed, *keys* among them, and of a search in the earlier ones."""
    from prompt_toolkit.filters import is_searching
    from prompt_toolkit.key_binding import KeyBindings, merge_key_bindings

    bindings = KeyBindings()

    @bindings.add("enter", filter=~is_searching)
    def send(event: Any) -> None:
        buffer = event.current_buffer
        if _goes_on(buffer.text) and buffer.document.is_cursor_at_the_end:
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @bindings.add("escape", "enter", filter=~is_searching)
    def begin_line(event: Any) -> None:
        event.current_buffer.insert_text("\n")

    for key, act in keys.items():
        bindings.add(key, filter=~is_searching)(lambda event, act=act: act())
    return merge_key_bindings([bindings, _search_bindings()])


def _search_bindings() -> Any:
    """As in a shell: Enter sends the line that was found, a key that moves the cursor takes it to be edited."""
    from prompt_toolkit import search
    from prompt_toolkit.filters import is_searching
    from prompt_toolkit.key_binding import KeyBindings

    bindings = KeyBindings()

    @bindings.add("tab", filter=is_searching)
    @bindings.add("escape", filter=is_searching, eager=True)
    def take_found(event: Any) -> None:
        if event.current_buffer.text:
            search.accept_search()
        else:  # accepting would look for the words of an earlier search, whose line nobody sees
            search.stop_search()

    @bindings.add("enter", filter=is_searching)
    def send_found(event: Any) -> None:
        take_found(event)
        event.current_buffer.validate_and_handle()

    def take_and_move(event: Any) -> None:
        take_found(event)
        event.app.key_processor.feed_multiple(event.key_sequence, first=True)

    for key in ("left", "right", "home", "end", "c-a", "c-b", "c-e", "c-f"):
        bindings.add(key, filter=is_searching)(take_and_move)
    return bindings


def _make_completer(suggest: Suggest) -> Any:
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    class LineCompleter(Completer):
        """Asks for suggestions without holding up the event loop."""

        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
            return iter(())

        async def get_completions_async(
            self, document: Document, complete_event: CompleteEvent
        ) -> AsyncGenerator[Completion, None]:
            for each in await suggest(document.text_before_cursor):
                yield Completion(each.text, -each.replaces, display_meta=each.meaning)

    return LineCompleter()


def prepare_history_file(history_file: Path) -> bool:
    """The file of typed lines, there, readable by its owner alone and not too long; False when it cannot be had."""
    try:
        make_folder(history_file.parent)
        open_to_append(history_file).close()
        if history_file.stat().st_size > MAX_HISTORY_BYTES:
            lines = load_bytes(history_file)[-MAX_HISTORY_BYTES // 2 :]
            atomic_write(history_file, lines[lines.find(b"\n# ") + 1 :])  # an entry begins with a comment
    except OSError as error:
        logger.warning("typed lines are not kept", extra={"file": str(history_file), "error": str(error)})
        return False
    return True
