"""OwnProgram: verbs of the command line, run for the page in a process of their own.

What the page asks for this way is done by the same code as in a terminal, in another home where the verb says so, and
a verb that takes much memory or time harms no reply. Its last sentence is the error.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from familiar_connect.errors import FamiliarError, HomeError
from familiar_connect.support.text import one_line

MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_OUTPUT_BYTES = 32 * 1024 * 1024
MAX_ERROR_BYTES = 64 * 1024
DEFAULT_TIMEOUT_S = 120.0
MAX_AT_ONCE = 2


@dataclass(frozen=True)
class OwnProgram:
    """How the program is started on the home of the page: *command* and the words of a verb."""

    command: tuple[str, ...]
    _running: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_AT_ONCE), repr=False)

    async def read_text(self, *words: str, timeout_s: float = DEFAULT_TIMEOUT_S) -> str:
        """What a verb says to people, its remarks first; its last sentence is the error where it fails."""
        try:
            async with asyncio.timeout(timeout_s), self._start(words, None) as process:
                output, remarks = await process.communicate()
        except TimeoutError:
            raise HomeError(f"`{words[0]}` took longer than {timeout_s:.0f} seconds and was stopped") from None
        if process.returncode != 0:
            raise FamiliarError(self._without_home(_last_sentence(remarks)))
        said = remarks[:MAX_ERROR_BYTES] + output[:MAX_ERROR_BYTES]
        return self._without_home(said.decode("utf-8", "replace").strip())

    def _without_home(self, said: str) -> str:
        """*said*, with paths as they are called from within the home: where that is, is nothing for a page."""
        at = self.command.index("--home") + 1 if "--home" in self.command else len(self.command)
        home = self.command[at : at + 1]
        return said.replace(f"{home[0].rstrip(os.sep)}{os.sep}", "") if home and home[0].strip(os.sep) else said

    async def read_json(
        self,
        *words: str,
        given: str = "",
        variables: Mapping[str, str] | None = None,
        may_end: Sequence[int] = (0,),
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> object:
        """What a verb prints as JSON; None where it prints nothing. *given* is what it reads, *variables* its own."""
        try:
            async with asyncio.timeout(timeout_s), self._start(words, variables) as process:
                output, trouble = await process.communicate(given.encode())
        except TimeoutError:
            raise HomeError(f"`{words[0]}` took longer than {timeout_s:.0f} seconds and was stopped") from None
        if process.returncode not in may_end:
            raise FamiliarError(_last_sentence(trouble))
        text = output[:MAX_OUTPUT_BYTES].decode("utf-8", "replace").strip()
        try:
            return json.loads(text) if text else None
        except ValueError:
            return None

    async def stream_json(self, *words: str, timeout_s: float, unreadable: Sequence[int] = ()) -> AsyncIterator[object]:
        """Each line of JSON that a verb prints, as it comes; the sentence of one that ends in *unreadable*."""
        async with asyncio.timeout(timeout_s), self._start(words, None) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            errors = asyncio.ensure_future(process.stderr.read(MAX_ERROR_BYTES))
            try:
                while line := await process.stdout.readline():
                    with suppress(ValueError):
                        yield json.loads(line)
                code = await process.wait()
                trouble = await errors
            finally:
                errors.cancel()
        if code in unreadable or code < 0 or code > 2:
            raise FamiliarError(_last_sentence(trouble))

    @asynccontextmanager
    async def _start(
        self, words: Sequence[str], variables: Mapping[str, str] | None
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        async with self._running:
            process = await asyncio.create_subprocess_exec(
                *self.command,
                *words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=MAX_LINE_BYTES,
                env={**os.environ, **(variables or {}), "NO_COLOR": "1", "COLUMNS": "1000"},
            )
            try:
                yield process
            finally:
                if process.returncode is None:
                    with suppress(ProcessLookupError):
                        process.kill()
                    await process.wait()


def _last_sentence(trouble: bytes) -> str:
    """What the program said about a mistake, without its own name before it."""
    lines = [line for line in trouble.decode("utf-8", "replace").splitlines() if line.strip()]
    said = one_line(lines[-1]) if lines else "it ended without a word; the terminal of the page may say why"
    return said.removeprefix("familiar: ").removeprefix("Error: ").rstrip(".")
