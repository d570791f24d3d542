"""Failures of a model call: what each means to the operator, which to try again, how long to wait.

Tried again: 429, 5xx, timeouts, connections cut or reset. Everything else would fail the same way.
No sentence made here holds a key, and none repeats what people said.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from familiar_connect.errors import ModelError, ModelSetupError, PromptTooLongError
from familiar_connect.llm.connection import url_without_secrets
from familiar_connect.llm.sse import is_web_page

if TYPE_CHECKING:
    from familiar_connect.llm.types import Message

MAX_RETRIES = 4
MAX_WAIT_S = 30.0
JITTER = 0.25
"""Share of a wait that is added at random, so that many callers do not return at once."""
MAX_DETAIL_CHARS = 200
QUOTE_CHARS = 24
"""A server's words that share this many characters in a row with the prompt are taken to quote it."""
KEY_CHARS = 8
"""Words that share this many in a row with the key, in capitals or not, are taken to show it."""

Sleep = Callable[[float], Awaitable[None]]


@dataclass
class RetryPolicy:
    """How often and how patiently a call is repeated."""

    max_retries: int = MAX_RETRIES
    sleep: Sleep | None = None
    """None: `asyncio.sleep`, looked up when called."""
    waits_for_server: bool = False
    """Whether a server that only comes up is waited for, as long as the first token may take."""
    rng: random.Random = field(default_factory=random.Random)

    def should_retry(self, error: ModelError, attempt: int) -> bool:
        """Whether a call whose *attempt* (counted from 0) ended in *error* is made once more."""
        return error.retryable and attempt < self.max_retries

    async def wait(self, error: ModelError, attempt: int) -> None:
        await self.pause(self.wait_s(error, attempt))

    async def pause(self, seconds: float) -> None:
        await (asyncio.sleep if self.sleep is None else self.sleep)(seconds)

    def wait_s(self, error: ModelError, attempt: int) -> float:
        """The server's wish, or 1, 2, 4, 8 … seconds; a little more at random; at most 30 in all."""
        wanted = error.retry_after_s if error.retry_after_s is not None else 2.0 ** min(attempt, 10)
        return min(MAX_WAIT_S, max(0.0, wanted) * (1 + JITTER * self.rng.random()))


def read_retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds asked for by a `Retry-After` header: a number, or an HTTP date."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
            when = when if when.tzinfo else when.replace(tzinfo=UTC)
            seconds = (when - (now or datetime.now(UTC))).total_seconds()
        except (ValueError, OverflowError):  # no date, or one beyond every calendar
            return None
    return max(0.0, seconds) if seconds == seconds else None


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Who was asked, in words an error may use."""

    base_url: str
    model: str
    api_key: str | None = None
    key_name: str | None = None
    """The environment variable the key came from, or should have come from."""

    @property
    def safe_url(self) -> str:
        return url_without_secrets(self.base_url)

    @property
    def key_description(self) -> str:
        return f"the key in {self.key_name}" if self.key_name else "the key"


def error_of_status(
    endpoint: Endpoint, status: int, body: bytes, retry_after: str | None = None, said: Sequence[Message] = ()
) -> ModelError:
    """The error an HTTP status stands for, with the server's own words where they are safe to show."""
    where, model = endpoint.safe_url, endpoint.model
    told = _in_brackets(safe_detail(detail_of(body), endpoint, said))
    if status in (401, 403):
        missing = "no key was sent; " if not endpoint.api_key else ""
        return ModelSetupError(
            f"{where} refused {endpoint.key_description} ({status}): {missing}"
            "check it, or enter it again with `familiar connect`.",
            status=status,
        )
    if status == 402:
        return ModelSetupError(f"{where} asks for payment (402){told}: add credit to the account.", status=status)
    if status == 404 and is_web_page(body):
        return ModelSetupError(
            f"{where} answered with a web page (404): check `base_url` under [llm]; it usually ends in /v1.",
            status=status,
        )
    if status == 404:
        return ModelSetupError(
            f"The model {model!r} was not found at {where} (404){told}: check `model` and `base_url` under [llm].",
            status=status,
        )
    if 300 <= status < 400:
        return ModelSetupError(
            f"{where} answered with a redirect ({status}): set `base_url` to the address that answers itself.",
            status=status,
        )
    if _is_overflow(status, body):
        return PromptTooLongError(
            f"The prompt is longer than the window of {model!r} at {where}{told}: "
            "set `window` under [llm] to what it takes, or choose one with more room by `familiar connect`.",
            status=status,
        )
    if _is_loading(status, body):
        return ModelError(
            f"{where} is still loading {model!r} ({status}): ask again in a moment, or raise `first_token_s` under "
            "[llm] to wait longer.",
            retryable=True,
            status=status,
            waiting_for=f"waiting for {_host_of(where)}: it is loading {model}…",
        )
    retryable = status == 429 or status >= 500
    wish = read_retry_after(retry_after) if retryable else None
    words = "is asking for fewer calls" if status == 429 else "answered"
    page = " and a web page" if is_web_page(body) else ""
    return ModelError(
        f"{where} {words} with status {status}{page} for {model!r}{told}{_advice(status, page)}.",
        retryable=retryable,
        status=status,
        retry_after_s=wish,
    )


def error_of_object(endpoint: Endpoint, error: object, said: Sequence[Message] = ()) -> ModelError:
    """The error an `error` object inside an answer stands for."""
    code = error.get("code") if isinstance(error, dict) else None
    try:
        body = json.dumps({"error": error}).encode()
    except RecursionError:
        body = b""
    if isinstance(code, str) and len(code) == 3 and code.isdecimal():
        code = int(code)
    if isinstance(code, int) and not isinstance(code, bool) and 300 <= code < 600:
        return error_of_status(endpoint, code, body, said=said)
    told = _in_brackets(safe_detail(detail_of(body), endpoint, said))
    return ModelError(f"{endpoint.safe_url} reported an error for {endpoint.model!r}{told}.")


def error_of_transport(endpoint: Endpoint, error: Exception) -> ModelError:
    """The error a failed connection stands for."""
    import ssl  # both loaded already by the call that failed

    import httpx2

    where = endpoint.safe_url
    causes = _causes(error)
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.InvalidURL | UnicodeError):
        return ModelSetupError(f"`base_url` is not an http or https address: {where}.")
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return ModelSetupError(
            f"No server answers at {where}: is it running? Start it, or choose another with `familiar connect`.",
            waiting_for=f"waiting for {_host_of(where)}: nothing answers there yet…",
        )
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return ModelSetupError(
            f"The address {where} cannot be found: check `base_url` and whether this machine is online."
        )
    untrusted = next((cause for cause in causes if isinstance(cause, ssl.SSLCertVerificationError)), None)
    if untrusted is not None:
        fault = str(getattr(untrusted, "verify_message", "") or "not valid")[:MAX_DETAIL_CHARS]
        return ModelSetupError(
            f"The certificate of {where} cannot be trusted ({fault}): fix it there, or name the certificate that "
            "signed it in the variable SSL_CERT_FILE."
        )
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return ModelSetupError(f"{where} does not speak https as it should: check whether `base_url` wants http://.")
    if isinstance(error, httpx2.TimeoutException | TimeoutError):
        return ModelError(
            f"{where} was silent for too long ({endpoint.model!r}): ask again, or raise `timeout_s` under [llm].",
            retryable=True,
        )
    return ModelError(f"The connection to {where} broke off ({type(error).__name__}).", retryable=True)


def no_completion(endpoint: Endpoint, body: bytes) -> str:
    """What is wrong with an answer that is no chat completion."""
    what = "a web page" if is_web_page(body) else "something" if body.strip() else "an empty page"
    return (
        f"{endpoint.safe_url} answered with {what} that is not a chat completion: check `base_url` under [llm]; "
        "it usually ends in /v1."
    )


def _advice(status: int, page: str) -> str:
    """What can be done about a status that will not pass by itself."""
    if status == 429:
        return ": wait a while, or choose another model with `familiar connect`"
    if page:
        return ": something between here and the model answered; check `base_url` under [llm]"
    return ": its own log says why" if status >= 500 else ""


def _is_loading(status: int, body: bytes) -> bool:
    """Whether a server says that it has not read its model yet: llama.cpp, Ollama and others do."""
    return status in (500, 502, 503) and b"loading" in body[:4096].lower()


def _host_of(url: str) -> str:
    return urlsplit(url).netloc or url


def detail_of(body: bytes) -> str:
    """The human words of an error body, or nothing."""
    try:
        found: object = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    for key in ("error", "message", "detail"):
        if isinstance(found, dict) and key in found:
            found = found[key]
    return found if isinstance(found, str) else ""


def safe_detail(detail: str, endpoint: Endpoint, said: Sequence[Message] = ()) -> str:
    """*detail* on one short line; empty when it would show a key or repeat the conversation."""
    line = " ".join(detail.split())[:MAX_DETAIL_CHARS]
    if endpoint.api_key and (endpoint.api_key in detail or _shows_key(line, endpoint.api_key)):
        return ""
    runs = _runs(line, QUOTE_CHARS)
    for message in said:
        spoken = " ".join(message.content.split())
        if (len(spoken) >= 8 and spoken in line) or any(run in spoken for run in runs):
            return ""
    return line


def _shows_key(line: str, key: str) -> bool:
    """Whether *line* holds *key* or enough of it in a row to be worth hiding."""
    shown, hidden = line.casefold(), key.casefold()
    return any(run in shown for run in _runs(hidden, min(KEY_CHARS, len(hidden))))


def _runs(text: str, length: int) -> list[str]:
    """Every stretch of *text* that is *length* characters long."""
    return [text[at : at + length] for at in range(max(0, len(text) - length + 1))]


def _in_brackets(detail: str) -> str:
    return f" (it says: {detail.rstrip('.')})" if detail else ""


def _is_overflow(status: int, body: bytes) -> bool:
    if status not in (400, 413, 422):
        return False
    text = body[:4096].decode("utf-8", "replace").lower()
    return any(sign in text for sign in ("context length", "context_length", "context size", "context window"))


def _causes(error: BaseException) -> list[BaseException]:
    """*error* and what lies behind it, groups opened."""
    found: list[BaseException] = []
    open_ends: list[BaseException | None] = [error]
    while open_ends and len(found) < 32:
        current = open_ends.pop()
        if current is None or current in found:
            continue
        found.append(current)
        open_ends += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            open_ends += current.exceptions
    return found
