"""What the Telegram library raises, as sentences for the owner and as delivery errors for the reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.api import DeliveryError
from familiar_connect.extensions.telegram.secrets import TOKEN

if TYPE_CHECKING:  # the library is loaded when a bot is opened
    from telegram.error import RetryAfter

WRONG_TOKEN = (
    f"Telegram does not accept the token in {TOKEN}. Ask @BotFather for it with /mybots → your bot → API Token, and"
    " keep it with `familiar keys set telegram`"
)
BLOCKED = "whoever this was for has blocked the bot, or it may not write there"
_NOTHING_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout")
"""What the library's own library calls a connection that never was."""


class ChatMoved(DeliveryError):
    """A group has become a supergroup, which has another id."""

    def __init__(self, chat_id: int) -> None:
        super().__init__("the group has another id now", retryable=True)
        self.chat_id = chat_id


def is_wrong_token(error: Exception) -> bool:
    import telegram.error

    return isinstance(error, telegram.error.InvalidToken)


def is_conflict(error: Exception) -> bool:
    """Whether another program reads what is said to this bot."""
    import telegram.error

    return isinstance(error, telegram.error.Conflict)


def is_unchanged(error: DeliveryError) -> bool:
    """Whether a message of ours already read as it was to read."""
    return "not modified" in str(error)


def delivery_error(error: Exception) -> DeliveryError:
    """Why something could not be done, and whether it is worth another try."""
    import telegram.error as of_library

    if isinstance(error, DeliveryError):
        return error
    if isinstance(error, of_library.ChatMigrated):
        return ChatMoved(error.new_chat_id)
    if isinstance(error, of_library.RetryAfter):
        wait_s = _seconds_to_wait(error)
        return DeliveryError(f"Telegram asks us to wait {wait_s:g} s", retryable=True, retry_after_s=wait_s)
    if isinstance(error, of_library.Forbidden):
        return DeliveryError(BLOCKED)
    if isinstance(error, of_library.InvalidToken):
        return DeliveryError(f"Telegram does not accept the token in {TOKEN} any more")
    if isinstance(error, of_library.BadRequest):
        return DeliveryError(f"Telegram refused it: {error.message}")
    sent = type(error.__cause__).__name__ not in _NOTHING_SENT and not isinstance(error, ConnectionError)
    if isinstance(error, of_library.TimedOut | TimeoutError):
        return DeliveryError("Telegram did not answer in time", retryable=not sent, may_have_arrived=sent)
    return DeliveryError(
        f"Telegram could not be reached ({type(error).__name__})", retryable=not sent, may_have_arrived=sent
    )


def _seconds_to_wait(error: RetryAfter) -> float:
    """How long Telegram wants us to wait; the library gives it as a number or a timedelta, by its environment."""
    return float(error.__reduce__()[1][0])  # the one form that neither warns nor depends on it
