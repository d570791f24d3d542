"""KeyGuard: what every request is asked first: a name of ours, no page of another site, not too often, and its key."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from familiar_connect.api import Clock
from familiar_connect.api.answering import PageAddress, RequestRate, Scope, client_of, why_other_site
from familiar_connect.extensions.serve.chat_request import RefusedRequest
from familiar_connect.extensions.serve.keys import AccessKey, KeyBook

MAX_BODY_BYTES = 10_000_000
REQUESTS_PER_S, REQUESTS_AT_ONCE = 20.0, 100
WRONG_PER_S, WRONG_AT_ONCE = 0.2, 10
"""How often one address may come with a key that is none."""


class KeyGuard:
    """Lets in who has a key."""

    def __init__(self, keys: KeyBook, address: PageAddress, clock: Clock) -> None:
        self._keys = keys
        self._address = address
        self._rate = RequestRate(REQUESTS_PER_S, REQUESTS_AT_ONCE, clock)
        self._wrong = RequestRate(WRONG_PER_S, WRONG_AT_ONCE, clock)

    async def let_in(self, scope: Scope, headers: Mapping[str, str]) -> AccessKey:
        """The key of a request; a `RefusedRequest` says why there is none."""
        self._check(scope, headers)
        return await self._find_key(scope, headers)

    def _check(self, scope: Scope, headers: Mapping[str, str]) -> None:
        """Refuse names that are not ours, pages of other sites, and too much of anything."""
        if not self._address.is_own_name(headers.get("host")):
            raise RefusedRequest("this address is not one of this endpoint's", status=421, code="wrong_host")
        if (reason := why_other_site(str(scope["method"]), headers)) is not None:
            raise RefusedRequest(f"refused: {reason}", status=403, code="wrong_origin")
        if not self._rate.may_ask(client_of(scope)):
            raise RefusedRequest("too many requests; wait a moment", status=429, code="rate_limit_exceeded")
        length = headers.get("content-length", "0")
        if length.isdigit() and (len(length) > 12 or int(length) > MAX_BODY_BYTES):
            raise RefusedRequest(f"that is more than {MAX_BODY_BYTES:,} bytes", status=413, code="too_large")

    async def _find_key(self, scope: Scope, headers: Mapping[str, str]) -> AccessKey:
        given = headers.get("authorization", "")
        kind, _, value = given.partition(" ")
        client = client_of(scope)
        if not self._wrong.has_left(client):
            raise RefusedRequest("too many wrong keys; wait a minute", status=429, code="rate_limit_exceeded")
        key = await asyncio.to_thread(self._keys.find, value.strip()) if kind.lower() == "bearer" else None
        if key is None:
            self._wrong.may_ask(client)
            raise RefusedRequest(
                "that key is none of this endpoint's, or was revoked: `familiar serve key add NAME` makes one",
                status=401,
                code="invalid_api_key",
            )
        return key
