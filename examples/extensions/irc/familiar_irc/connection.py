"""IrcConnection: one connection to a server. It reads lines of bounded length and writes at a pace servers like."""

from __future__ import annotations

import asyncio
import ssl

from familiar_connect.api import DeliveryError
from familiar_irc.lines import IrcLine, parse_line

LONGEST_READ = 16_384
"""Bytes of a line with everything a server may put before it. A longer one ends the connection."""
CONNECT_LIMIT_S = 30.0
WRITE_LIMIT_S = 30.0
SILENT_AFTER_S = 180.0
"""So long nothing is heard before we ask whether the server is still there; as long again, and it is not."""
FIRST_LINES = 5
"""Lines that go out at once; from then on each waits its turn."""
MAX_WAITING = 64
"""Lines that may wait. More are refused: whoever makes us talk that much is not helped to."""


class ConnectionLost(DeliveryError):
    """The connection is no more; the platform is started again."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, retryable=True)


class IrcConnection:
    """Reads and writes lines."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, pause_s: float) -> None:
        self._reader = reader
        self._writer = writer
        self._pause_s = pause_s
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._next_at = 0.0
        """On the loop's clock: when the next line would go out, were there no lines that may go at once."""

    @classmethod
    async def open(cls, host: str, port: int, *, tls: bool, pause_s: float) -> IrcConnection:
        secure = ssl.create_default_context() if tls else None
        try:
            async with asyncio.timeout(CONNECT_LIMIT_S):
                reader, writer = await asyncio.open_connection(host, port, ssl=secure, limit=LONGEST_READ)
        except (OSError, TimeoutError) as error:
            raise ConnectionLost(f"{host} cannot be reached: {type(error).__name__}") from error
        return cls(reader, writer, pause_s=pause_s)

    async def read(self) -> IrcLine:
        """The next line that says something; a server that is silent for long is asked once."""
        asked = False
        while True:
            try:
                async with asyncio.timeout(SILENT_AFTER_S):
                    raw = await self._reader.readuntil(b"\n")
            except TimeoutError:
                if asked:
                    raise ConnectionLost("the server says nothing any more") from None
                asked = True
                await self.send_now(b"PING :still there\r\n")
                continue
            except asyncio.LimitOverrunError:
                raise ConnectionLost("the server sent a line without an end") from None
            except (asyncio.IncompleteReadError, OSError):
                raise ConnectionLost("the server hung up") from None
            line = parse_line(raw)
            if line is not None:
                return line

    async def send(self, line: bytes) -> None:
        """Write *line* when its turn comes; `DeliveryError` where too many wait, or nobody is there."""
        if self._waiting >= MAX_WAITING:
            raise DeliveryError("too many lines are waiting to be sent", retryable=True, retry_after_s=self._pause_s)
        self._waiting += 1
        try:
            async with self._turn:
                loop = asyncio.get_running_loop()
                self._next_at = max(self._next_at, loop.time() - FIRST_LINES * self._pause_s) + self._pause_s
                await asyncio.sleep(self._next_at - loop.time())
                await self.send_now(line)
        finally:
            self._waiting -= 1

    async def send_now(self, line: bytes) -> None:
        """Write *line* before all that wait: what the server asks for, or it hangs up."""
        if self._writer.is_closing():
            raise ConnectionLost("there is no connection")
        try:
            async with asyncio.timeout(WRITE_LIMIT_S):
                self._writer.write(line)
                await self._writer.drain()
        except (OSError, TimeoutError):
            raise ConnectionLost("the server took nothing") from None

    def close(self) -> None:
        self._writer.close()
