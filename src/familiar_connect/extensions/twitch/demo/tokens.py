"""Tokens: whose each is, what it allows, when it runs out, and what renews it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

CLIENT_ID = "client-1"
CLIENT_SECRET = "secret-1"
CHAT_RIGHTS = ("user:read:chat", "user:write:chat")
STREAMER_RIGHTS = (
    "channel:read:redemptions",
    "channel:read:subscriptions",
    "bits:read",
    "moderator:read:followers",
    "channel:read:ads",
)
EVERYTHING = (*CHAT_RIGHTS, *STREAMER_RIGHTS)
EXPIRES_IN_S = 14_000

Answer = tuple[int, dict[str, Any]]
"""A status and a body."""


def refuse(status: int, error: str, message: str) -> Answer:
    """An answer that says no, as Twitch says it."""
    return status, {"error": error, "status": status, "message": message}


@dataclass
class Token:
    """Whose it is and what it allows."""

    user_id: str
    login: str
    scopes: tuple[str, ...] = EVERYTHING
    client_id: str = CLIENT_ID


@dataclass
class Tokens:
    """Every token that counts now; one that has run out is not here any more."""

    known: dict[str, Token] = field(default_factory=dict)
    renewals: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Refresh token → the token and refresh token that are given for it, once."""
    client_secret: str = ""
    """What a renewal must bring; empty: the application has none."""
    _upcoming: dict[str, Token] = field(default_factory=dict)
    _made: int = 0

    def issue(self, user_id: str, login: str, scopes: Iterable[str] = EVERYTHING) -> tuple[str, str]:
        """A token for somebody, and what renews it."""
        text, refresh = self._make_names()
        self.known[text] = Token(user_id, login, tuple(scopes))
        self._foresee(refresh, self.known[text])
        return text, refresh

    def _make_names(self) -> tuple[str, str]:
        self._made += 1
        return f"token-{self._made}", f"refresh-{self._made}"

    def _foresee(self, refresh: str, token: Token) -> None:
        self.renewals[refresh] = self._make_names()
        self._upcoming[self.renewals[refresh][0]] = token

    def expire(self, text: str) -> None:
        """The token has run out; what renews it still does."""
        self.known.pop(text, None)

    def take_back(self, user_id: str) -> None:
        """Somebody disconnects the application: no token of theirs counts, and none can be renewed."""
        gone = {text for text, token in {**self.known, **self._upcoming}.items() if token.user_id == user_id}
        self.known = {text: token for text, token in self.known.items() if text not in gone}
        self.renewals = {refresh: given for refresh, given in self.renewals.items() if given[0] not in gone}

    def find(self, header: str) -> tuple[str, Token] | None:
        """The token that a request shows, if it counts."""
        text = header.partition(" ")[2]
        token = self.known.get(text)
        return (text, token) if token is not None else None

    def validate(self, header: str) -> Answer:
        found = self.find(header)
        if found is None:
            return 401, {"status": 401, "message": "invalid access token"}
        token = found[1]
        facts = {"client_id": token.client_id, "login": token.login, "user_id": token.user_id}
        return 200, {**facts, "scopes": list(token.scopes), "expires_in": EXPIRES_IN_S}

    def renew(self, form: dict[str, str]) -> Answer:
        """A new token for a refresh token, which counts once."""
        if self.client_secret and form.get("client_secret") != self.client_secret:
            return 403, {"status": 403, "message": "invalid client secret"}
        given = self.renewals.pop(form.get("refresh_token", ""), None)
        if given is None:
            return 400, {"error": "Bad Request", "status": 400, "message": "Invalid refresh token"}
        text, refresh = given
        if (token := self._upcoming.pop(text, None)) is not None:
            self.known[text] = token
            self._foresee(refresh, token)
        scopes = list(self.known[text].scopes) if text in self.known else []
        body = {"access_token": text, "refresh_token": refresh, "scope": scopes, "expires_in": EXPIRES_IN_S}
        return 200, body | {"token_type": "bearer"}
