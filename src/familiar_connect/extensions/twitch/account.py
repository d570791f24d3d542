"""TwitchAccount: one Twitch account, known by its token: who it is, what it may do, and its voice.

A token that has run out is renewed and handed to its keeper; one that was taken back ends in a sentence for the owner.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from familiar_connect.api import DeliveryError, SetupError
from familiar_connect.extensions.twitch.event_types import Topic
from familiar_connect.extensions.twitch.secrets import (
    BROADCASTER_TOKEN,
    CLIENT_ID,
    CLIENT_SECRET,
    SPEAKER_TOKEN,
    refresh_name,
)

T = TypeVar("T")

CALL_S = 30.0
"""How long one question to Twitch may take."""
LATER_S = 30.0
"""How long Twitch keeps up its limits on lines, where it does not say."""
WAIT_AND_TRY = frozenset({"msg_slowmode", "msg_ratelimit", "msg_duplicate"})
"""Reasons for not showing a line that are none any more after a while."""
LONGEST_ANSWER = 64 * 1024
NOT_ALLOWED = "Twitch does not let this account listen there"
OWN_TROUBLE = "Twitch has trouble of its own"
MAKE_A_TOKEN = "make a new one as docs/guides/twitch.md describes and put it into secrets.env"


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """Where Twitch is; None: where it always is."""

    api: str | None = None
    auth: str | None = None
    eventsub: str | None = None


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """A token and what it takes to renew it."""

    client_id: str
    token: str
    name: str
    """The variable the token comes from."""
    refresh_token: str | None = None
    client_secret: str | None = None

    def __repr__(self) -> str:
        return f"Credentials({self.name!r})"


def find_credentials(secrets: Mapping[str, str]) -> tuple[Credentials, Credentials | None]:
    """Those of the account that speaks, and of the streamer, where another account speaks and there are any."""
    found = [
        Credentials(
            client_id=secrets[CLIENT_ID],
            client_secret=secrets.get(CLIENT_SECRET),
            token=secrets[name],
            name=name,
            refresh_token=secrets.get(refresh_name(name)),
        )
        for name in (SPEAKER_TOKEN, BROADCASTER_TOKEN)
        if name in secrets
    ]
    return found[0], found[1] if found[1:] else None


@dataclass(frozen=True, kw_only=True)
class TwitchUser:
    user_id: str
    login: str
    name: str


OnTokenRenewed = Callable[[str, str], Awaitable[None]]


class TwitchAccount:
    """Made by `open_account`."""

    def __init__(self, twitch: Any, credentials: Credentials, renewed: OnTokenRenewed) -> None:
        self._twitch = twitch
        self._credentials = credentials
        self._renewed = renewed
        self._token = credentials.token
        self._refresh_token = credentials.refresh_token
        self._renewing = asyncio.Lock()
        self.user_id = ""
        self.login = ""
        self.scopes: frozenset[str] = frozenset()

    @property
    def token_name(self) -> str:
        return self._credentials.name

    async def authenticate(self) -> None:
        """Learn who the token belongs to and what it allows; renew it first where it has run out."""
        facts = await self._validated()
        if facts is None:
            await self._renew(self._token)
            facts = await self._validated()
        if facts is None or not facts.get("user_id"):
            raise SetupError(self._refused())
        if facts.get("client_id") != self._credentials.client_id:
            raise SetupError(
                f"{self._credentials.name} was made for another application than TWITCH_CLIENT_ID names: use the "
                "client id the token was made with"
            )
        self.user_id, self.login = str(facts["user_id"]), str(facts.get("login") or facts["user_id"])
        self.scopes = frozenset(str(getattr(scope, "value", scope)) for scope in facts.get("scopes") or ())
        await self._apply_token()

    async def _validated(self) -> Mapping[str, Any] | None:
        from aiohttp import ClientConnectorError, ClientSession
        from twitchAPI.oauth import validate_token

        where = self._twitch.auth_base_url
        try:
            # a session of ours: the library leaves its own open when the call fails
            async with asyncio.timeout(CALL_S), ClientSession(raise_for_status=_fail_on_trouble) as http:
                facts: Mapping[str, Any] = await validate_token(self._token, session=http, auth_base_url=where)
        except ClientConnectorError as error:
            raise DeliveryError("Twitch cannot be reached", retryable=True) from error
        return None if facts.get("status", 200) == 401 else facts

    async def _apply_token(self) -> None:
        """Have the library use the token we hold now."""
        from twitchAPI.type import AuthScope

        known = {scope.value for scope in AuthScope}
        scopes = [AuthScope(scope) for scope in sorted(self.scopes & known)]
        await self._twitch.set_user_authentication(self._token, scopes, self._refresh_token, validate=False)

    async def _renew(self, old: str) -> None:
        """A new token for the old one; whoever comes while that happens takes what comes of it."""
        from aiohttp import ClientSession
        from twitchAPI.oauth import refresh_access_token
        from twitchAPI.type import InvalidRefreshTokenException, UnauthorizedException

        async with self._renewing:
            if self._token != old:
                return
            if self._refresh_token is None:
                raise SetupError(self._refused())
            try:
                async with asyncio.timeout(CALL_S), ClientSession(raise_for_status=_fail_on_trouble) as http:
                    self._token, self._refresh_token = await refresh_access_token(
                        self._refresh_token,
                        self._credentials.client_id,
                        self._credentials.client_secret or "",
                        session=http,
                        auth_base_url=self._twitch.auth_base_url,
                    )
            except (InvalidRefreshTokenException, UnauthorizedException, KeyError) as error:
                raise SetupError(self._refused()) from error
            await self._apply_token()
            await self._renewed(self._token, self._refresh_token)

    def _refused(self) -> str:
        return f"Twitch does not accept {self._credentials.name} (it has expired or was revoked): {MAKE_A_TOKEN}"

    async def _call(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask Twitch; with a token that has run out, once more with a new one."""
        from twitchAPI.type import UnauthorizedException

        token = self._token
        try:
            async with asyncio.timeout(CALL_S):
                return await ask()
        except UnauthorizedException:
            await self._renew(token)
        try:
            async with asyncio.timeout(CALL_S):
                return await ask()
        except UnauthorizedException as error:
            raise SetupError(self._refused()) from error

    async def find_user(self, login: str) -> TwitchUser | None:
        """The user of that name."""
        from twitchAPI.helper import first

        async def ask() -> Any:
            return await first(self._twitch.get_users(logins=[login]))

        found = await self._call(ask)
        return None if found is None else TwitchUser(user_id=found.id, login=found.login, name=found.display_name)

    async def subscribe(self, topic: Topic, session_id: str) -> str | None:
        """Place one EventSub subscription; why it was refused, None when it was not."""
        wish = {
            "type": topic.kind.value,
            "version": topic.version,
            "condition": dict(topic.condition),
            "transport": {"method": "websocket", "session_id": session_id},
        }
        answer = await self._call(partial(self._post, "eventsub/subscriptions", wish))
        if answer.status in (202, 409):  # 409: asked for already
            return None
        if answer.status == 403:
            return self._why_not(topic)
        if answer.status in (400, 404, 410):
            return f"Twitch answered {answer.status}"
        raise ConnectionError(f"Twitch answered {answer.status}")

    def _why_not(self, topic: Topic) -> str:
        """Why Twitch forbids a topic: the right is missing, or the account is not the one it is for."""
        if topic.scope not in self.scopes:
            return f"this account lacks the right {topic.scope}"
        if topic.scope.startswith("user:"):
            return NOT_ALLOWED
        owner = "the streamer's or a moderator's" if topic.scope.startswith("moderator:") else "the streamer's"
        return f"it takes {owner} token with the right {topic.scope}"

    async def send_message(self, broadcaster_id: str, text: str, *, parent_id: str | None = None) -> str:
        """Write into a channel's chat, as the reply to the message *parent_id* where one is named; the message's id.

        The library is not asked: it sleeps through a limit, and then takes the refusal for an answer.
        """
        from aiohttp import ClientConnectorError, ClientError

        wish = {"broadcaster_id": broadcaster_id, "sender_id": self.user_id, "message": text}
        wish |= {"reply_parent_message_id": parent_id} if parent_id is not None else {}
        try:
            answer = await self._call(partial(self._post, "chat/messages", wish))
        except ClientConnectorError as error:
            raise DeliveryError("Twitch cannot be reached", retryable=True) from error
        except (ClientError, OSError) as error:  # a time that is up is an OSError too
            raise DeliveryError("Twitch did not answer", retryable=True, may_have_arrived=True) from error
        except SetupError as error:
            raise DeliveryError(str(error)) from error
        return _sent_id(answer)

    async def _post(self, path: str, wish: Mapping[str, Any]) -> _Answer:
        """Ask Helix; a token that has run out is told as the library tells it."""
        from aiohttp import ClientSession, ClientTimeout
        from twitchAPI.type import UnauthorizedException

        headers = {"Client-ID": self._credentials.client_id, "Authorization": f"Bearer {self._token}"}
        async with (
            ClientSession(timeout=ClientTimeout(total=CALL_S)) as http,
            http.post(f"{self._twitch.base_url}{path}", json=wish, headers=headers) as answer,
        ):
            if answer.status == 401:
                raise UnauthorizedException("the token")
            text = (await answer.content.read(LONGEST_ANSWER)).decode(errors="replace")
            return _Answer(answer.status, text, _wait_of(answer.headers))


@dataclass(frozen=True)
class _Answer:
    """What Helix answered."""

    status: int
    text: str
    wait_s: float
    """How long it asks to wait, where it refused because of a limit."""


def _wait_of(headers: Mapping[str, str]) -> float:
    try:
        return min(max(float(headers["Ratelimit-Reset"]) - time.time(), 0.0), LATER_S)
    except (KeyError, ValueError):
        return LATER_S


def _sent_id(answer: _Answer) -> str:
    """The id of the line that was sent; why it was not is raised."""
    if answer.status == 429:
        raise DeliveryError("Twitch asks to write more slowly", retryable=True, retry_after_s=answer.wait_s)
    if answer.status >= 500:
        raise DeliveryError(OWN_TROUBLE, retryable=True, may_have_arrived=True)
    if answer.status == 403:
        raise DeliveryError("Twitch does not let this account write in the chat: it may be banned there")
    try:
        outcome = json.loads(answer.text)["data"][0]
        if outcome["is_sent"]:
            return str(outcome["message_id"])
        reason = outcome.get("drop_reason") or {}
        code, words = str(reason.get("code") or "no reason given"), str(reason.get("message") or "")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DeliveryError(f"Twitch refused the message ({answer.status})") from error
    told = re.search(r"(\d{1,5}) second", words) if code == "msg_slowmode" else None
    raise DeliveryError(
        f"Twitch did not show the message ({code})",
        retryable=code in WAIT_AND_TRY,
        retry_after_s=float(told[1]) if told is not None else LATER_S,
    )


async def _fail_on_trouble(response: Any) -> None:
    """Twitch's own trouble is no word on a token."""
    if response.status >= 500 or response.status == 429:
        raise DeliveryError(OWN_TROUBLE, retryable=True)


async def open_account(credentials: Credentials, addresses: Addresses, renewed: OnTokenRenewed) -> TwitchAccount:
    """The account of a token, ready to be used."""
    from aiohttp import ClientTimeout
    from twitchAPI.twitch import Twitch

    twitch = Twitch(
        credentials.client_id,
        credentials.client_secret,
        authenticate_app=False,
        session_timeout=ClientTimeout(total=CALL_S),
    )
    twitch.base_url = addresses.api or twitch.base_url
    twitch.auth_base_url = addresses.auth or twitch.auth_base_url
    twitch.auto_refresh_auth = False  # we renew: the library's own way waits for ever after a failure
    account = TwitchAccount(twitch, credentials, renewed)
    await account.authenticate()
    return account
