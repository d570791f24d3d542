"""Calls to a speech service over HTTP: bounded in time and size, every failure one plain sentence.

Keys travel in headers only, never to another address than the one they are for, and are in no sentence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from familiar_connect.config.command import command_name
from familiar_connect.llm.connection import Connections, url_without_secrets
from familiar_connect.llm.retry import Endpoint, detail_of, safe_detail
from familiar_connect.llm.types import Message
from familiar_connect.support.web_origin import may_carry_key

if TYPE_CHECKING:
    import httpx2

CALL_TIMEOUT_S = 20.0
"""Longest a whole call may take, a second try included."""
MAX_ANSWER_BYTES = 16 * 1024 * 1024
MAX_ERROR_BYTES = 8 * 1024
PAUSE_S = 0.25
"""Before the second try of a call that failed in passing."""
MAX_TEXT_CHARS = 4_000
"""Longest text that is sent to be spoken; a sentence is far shorter."""


class SpeechServiceError(RuntimeError):
    """A speech service failed: the sentence says which one, and what can be done."""

    def __init__(self, says: str, *, is_final: bool = False) -> None:
        """*is_final*: asking again would fail the same way, a key that is refused for example."""
        super().__init__(says)
        self.is_final = is_final


@dataclass(frozen=True, kw_only=True)
class SpeechService:
    """Who is asked: where it is, and with which key."""

    name: str
    """As people call it."""
    base_url: str
    api_key: str | None = field(default=None, repr=False)
    key_name: str | None = None
    """The variable the key came from."""

    @property
    def safe_url(self) -> str:
        return url_without_secrets(self.base_url)

    def url(self, path: str) -> str:
        return f"{self.base_url.rstrip('/')}/{path}"

    def check_key(self) -> None:
        """Refuse a key that cannot be sent, before anything is."""
        if self.api_key is None:
            return
        if not may_carry_key(self.base_url):
            raise SpeechServiceError(
                f"{self.safe_url} is another machine and the address is not https://, so no key is sent there: "
                "use https:// in `base_url`.",
                is_final=True,
            )
        if not (self.api_key.isascii() and self.api_key.isprintable()):
            raise SpeechServiceError(
                f"The key of {self.name} holds characters no key has: {self._how_to_set_key()}.", is_final=True
            )

    def error_of_status(self, status: int, body: bytes, said: str = "") -> SpeechServiceError:
        """The error that an HTTP status stands for, with the service's own words where they are safe to show."""
        endpoint = Endpoint(base_url=self.base_url, model="", api_key=self.api_key)
        detail = safe_detail(detail_of(body), endpoint, [Message("user", said)] if said else [])
        told = f": {detail.rstrip('.')}" if detail else ""
        if status in (401, 403):
            sent = "refused the key" if self.api_key else "wants a key"
            return SpeechServiceError(f"{self.name} {sent} ({status}): {self._how_to_set_key()}.", is_final=True)
        if status == 402:
            return SpeechServiceError(f"{self.name} asks for payment (402): add credit to the account.", is_final=True)
        if status == 429:
            return SpeechServiceError(f"{self.name} is asking for fewer calls (429){told}.")
        if status >= 500:
            return SpeechServiceError(f"{self.name} failed ({status}){told}.")
        if 300 <= status < 400:
            return SpeechServiceError(
                f"{self.name} at {self.safe_url} answered with a redirect ({status}): set `base_url` to the address "
                "that answers itself.",
                is_final=True,
            )
        return SpeechServiceError(
            f"{self.name} at {self.safe_url} refused what it was asked ({status}){told}; check model, voice and "
            "address in the settings.",
            is_final=True,
        )

    def error_of_transport(self, error: BaseException) -> SpeechServiceError:
        """The error that a connection which failed stands for."""
        if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
            return SpeechServiceError(f"{self.name} at {self.safe_url} gave no answer in time.")
        return SpeechServiceError(f"{self.name} at {self.safe_url} cannot be reached ({type(error).__name__}).")

    def _how_to_set_key(self) -> str:
        if self.key_name is None:
            return "name the variable of one by `api_key_env` in the settings"
        return f"enter it again with `{command_name()} keys set {self.key_name}`"


@dataclass(frozen=True, kw_only=True)
class ServiceAnswer:
    """What a service answered: its bytes, and what kind they are said to be."""

    body: bytes
    kind: str


class ServiceCalls:
    """Asks one service; what fails in passing is asked once more. Bound to no loop before it is used."""

    def __init__(
        self,
        service: SpeechService,
        *,
        timeout_s: float = CALL_TIMEOUT_S,
        max_bytes: int = MAX_ANSWER_BYTES,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.service = service
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._sleep = sleep
        self._connections = Connections()

    async def post(
        self,
        path: str,
        *,
        headers: Mapping[str, str],
        json: object = None,
        content: bytes | None = None,
        form: Mapping[str, str] | None = None,
        file: tuple[str, bytes, str] | None = None,
        said: str = "",
    ) -> ServiceAnswer:
        """The answer to a POST. *file* is a name, its bytes and their kind, beside the fields of *form*.

        *said* is what people said in it: no sentence about a failure repeats it.
        """
        self.service.check_key()
        body: dict[str, object] = {"json": json} if json is not None else {"content": content}
        if file is not None:
            body = {"data": dict(form or {}), "files": {"file": file}}
        try:
            async with asyncio.timeout(self._timeout_s):
                try:
                    return await self._ask(path, headers, body, said)
                except SpeechServiceError as error:
                    if error.is_final:
                        raise
                await self._sleep(PAUSE_S)
                return await self._ask(path, headers, body, said)
        except TimeoutError as error:
            raise SpeechServiceError(
                f"{self.service.name} at {self.service.safe_url} gave no answer within {self._timeout_s:g} seconds."
            ) from error

    async def aclose(self) -> None:
        await self._connections.close()

    async def _ask(self, path: str, headers: Mapping[str, str], body: Mapping[str, object], said: str) -> ServiceAnswer:
        http = await self._connections.client_for(self.service.base_url)
        import httpx2  # loaded in a thread by the line above

        try:
            asked = http.stream("POST", self.service.url(path), headers=dict(headers), **body)  # type: ignore[arg-type]
            async with asked as response:
                if not response.is_success:
                    found = await self._read(response, MAX_ERROR_BYTES)
                    raise self.service.error_of_status(response.status_code, found, said)
                found = await self._read(response, self._max_bytes + 1)
                if len(found) > self._max_bytes:
                    raise SpeechServiceError(
                        f"{self.service.name} sent more than {self._max_bytes / 1e6:.0f} MB, "
                        "more than one call may bring.",
                        is_final=True,
                    )
                return ServiceAnswer(body=found, kind=response.headers.get("content-type", "").lower())
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, OSError, UnicodeError) as error:
            if isinstance(error, TimeoutError):
                raise
            raise self.service.error_of_transport(error) from error

    async def _read(self, response: httpx2.Response, limit: int) -> bytes:
        """At most *limit* bytes of the answer."""
        found = bytearray()
        async with aclosing(response.aiter_raw()) as chunks:
            async for chunk in chunks:
                found += chunk
                if len(found) >= limit:
                    break
        return bytes(found[:limit])


def check_speech_length(text: str, service: str) -> None:
    """Refuse what is too long to be one sentence."""
    if len(text) > MAX_TEXT_CHARS:
        raise SpeechServiceError(f"{service} is given at most {MAX_TEXT_CHARS} characters at once.", is_final=True)
