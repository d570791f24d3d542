"""TwitchAccount: one Twitch account, known by its token: who it is, what it may do, and its voice.

A token that has run out is renewed and handed to its keeper; one that was taken back ends in a sentence for the owner.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
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
            async with asyncio.timeout(CALL_S), ClientSession() as http:
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
                async with asyncio.timeout(CALL_S), ClientSession() as http:
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
        return f"Twitch does not accept {self._credentials.name} (it has run out or was taken back): {MAKE_A_TOKEN}"

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
        from aiohttp import ClientSession, ClientTimeout
        from twitchAPI.type import UnauthorizedException

        wish = {
            "type": topic.kind.value,
            "version": topic.version,
            "condition": dict(topic.condition),
            "transport": {"method": "websocket", "session_id": session_id},
        }

        async def ask() -> tuple[int, str]:
            headers = {"Client-ID": self._credentials.client_id, "Authorization": f"Bearer {self._token}"}
            url = f"{self._twitch.base_url}eventsub/subscriptions"
            async with (
                ClientSession(timeout=ClientTimeout(total=CALL_S)) as http,
                http.post(url, json=wish, headers=headers) as answer,
            ):
                if answer.status == 401:
                    raise UnauthorizedException("the token")
                return answer.status, (await answer.text())[:300]

        status, words = await self._call(ask)
        if status in (202, 409):  # 409: asked for already
            return None
        if status == 403:
            return f"this account lacks the right {topic.scope}"
        if status in (400, 404, 410):
            return f"Twitch answered {status}"
        raise ConnectionError(f"Twitch answered {status} ({len(words)} characters)")

    async def send_message(self, broadcaster_id: str, text: str, *, parent_id: str | None = None) -> str:
        """Write into a channel's chat, as the reply to the message *parent_id* where one is named; the message's id."""
        from aiohttp import ClientConnectorError
        from twitchAPI.type import TwitchAPIException, TwitchBackendException

        async def ask() -> Any:
            return await self._twitch.send_chat_message(
                broadcaster_id, self.user_id, text, reply_parent_message_id=parent_id
            )

        try:
            outcome = await self._call(ask)
        except ClientConnectorError as error:
            raise DeliveryError("Twitch cannot be reached", retryable=True) from error
        except TwitchBackendException as error:
            raise DeliveryError("Twitch has trouble of its own", retryable=True) from error
        except (TwitchAPIException, KeyError) as error:  # KeyError: an answer without the promised data
            raise DeliveryError(f"Twitch refused the message ({type(error).__name__})") from error
        if outcome is None or not outcome.is_sent:
            reason = getattr(getattr(outcome, "drop_reason", None), "code", None) or "no reason given"
            raise DeliveryError(f"Twitch did not show the message ({reason})")
        return str(outcome.message_id)


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
