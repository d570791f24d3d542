"""What the Discord library raises, as sentences for the owner and as delivery errors for the reply."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from familiar_connect.api import DeliveryError, SetupError

PORTAL = "https://discord.com/developers/applications"
WRONG_TOKEN = (
    "Discord does not accept the token in DISCORD_BOT. Copy it again at"
    f" {PORTAL} → your application → Bot → Reset Token."
)
NO_CONTENT_INTENT = (
    "Discord does not let this bot read messages. Switch on MESSAGE CONTENT INTENT at"
    f" {PORTAL} → your application → Bot → Privileged Gateway Intents, then start again."
)
_UNAUTHORIZED = 401
_UNKNOWN_MESSAGE = 10008
_WRONG_TOKEN_CODE = 4004
_INTENT_CODES = (4013, 4014)


def setup_error(error: Exception) -> SetupError | None:
    """The owner's mistake that *error* tells of; None: something else went wrong."""
    import discord

    if isinstance(error, discord.LoginFailure):
        return SetupError(WRONG_TOKEN)
    if isinstance(error, discord.PrivilegedIntentsRequired):
        return SetupError(NO_CONTENT_INTENT)
    if isinstance(error, discord.ConnectionClosed):
        if error.code == _WRONG_TOKEN_CODE:
            return SetupError(WRONG_TOKEN)
        if error.code in _INTENT_CODES:
            return SetupError(NO_CONTENT_INTENT)
    return None


@contextmanager
def translate_errors() -> Iterator[None]:
    """What ends a run: the owner's mistake as a SetupError, and a Discord that is out of reach in words."""
    try:
        yield
    except Exception as error:
        told = setup_error(error) or (delivery_error(error) if _is_out_of_reach(error) else None)
        if told is None:
            raise
        raise told from error


def _is_out_of_reach(error: Exception) -> bool:
    import aiohttp
    import discord

    return isinstance(error, (OSError, TimeoutError, aiohttp.ClientError, discord.HTTPException))


def delivery_error(error: Exception) -> DeliveryError:
    """Why something could not be sent, and whether it is worth another try."""
    import discord

    if isinstance(error, DeliveryError):
        return error
    if isinstance(error, discord.Forbidden):
        return DeliveryError("Discord forbids writing there; give the bot the right to send messages")
    if isinstance(error, discord.NotFound):
        return DeliveryError("the message is gone" if error.code == _UNKNOWN_MESSAGE else "the channel is gone")
    if isinstance(error, discord.HTTPException):
        if error.status == _UNAUTHORIZED:
            return DeliveryError("Discord does not accept the token in DISCORD_BOT any more")
        late = error.status >= 500 or error.status == 429
        return DeliveryError(
            f"Discord answered {error.status}",
            retryable=late,
            retry_after_s=_asked_to_wait(error.response),
            may_have_arrived=error.status >= 500,
        )
    if isinstance(error, TimeoutError):
        return DeliveryError("Discord did not answer in time", retryable=True, may_have_arrived=True)
    return DeliveryError(
        f"Discord could not be reached ({type(error).__name__})", retryable=True, may_have_arrived=True
    )


def _asked_to_wait(response: Any) -> float | None:
    try:
        return float(response.headers["Retry-After"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
