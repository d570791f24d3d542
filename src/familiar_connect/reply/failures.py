"""Why there is no reply: in a few words that anybody in a channel may read, or whole for whoever can mend it."""

from __future__ import annotations

import logging

from familiar_connect.chat.place import Place
from familiar_connect.conversation.channels import ChannelLabels
from familiar_connect.conversation.place_readers import OwnerContact
from familiar_connect.conversation.types import Exchange
from familiar_connect.errors import (
    ConfigError,
    EmptyReplyError,
    FamiliarError,
    HistoryError,
    ModelError,
    ModelSetupError,
    ModelTimeoutError,
    PromptTooLongError,
    SilentReplyError,
    SpendingLimitError,
    TurnDeadlineError,
)
from familiar_connect.identity import LOCAL_PLATFORMS
from familiar_connect.support.free_memory import is_out_of_memory, reply_memory_sentence

logger = logging.getLogger(__name__)

_KINDS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    ((TurnDeadlineError, ModelTimeoutError), "the model took too long"),
    (SilentReplyError, "the model chose to say nothing, twice"),
    (EmptyReplyError, "the model answered with nothing, twice"),
    (SpendingLimitError, "today's limit is reached"),
    (PromptTooLongError, "this is more than the model can take in"),
    (ConfigError, "one of my settings files is wrong"),
    (HistoryError, "my history cannot be read"),
)
_STATUS = {
    401: "the model's server does not accept my key (401)",
    402: "the model's server wants to be paid (402)",
    403: "the model's server refuses me (403)",
    404: "the model is not known to its server (404)",
    429: "the model's server is busy (429)",
}
_SERVER_FAILED = 500
_NAMES_NO_FILE = (
    ModelError,
    ModelTimeoutError,
    TurnDeadlineError,
    EmptyReplyError,
    SpendingLimitError,
    PromptTooLongError,
)
"""Errors whose sentences are about models and settings, never about where the owner's files lie."""


def short_reason(error: Exception) -> str:
    """A few words without names of files, addresses or settings."""
    for kind, words in _KINDS:
        if isinstance(error, kind):
            return words
    if isinstance(error, ModelError) and error.status is not None:
        failed = f"the model's server failed ({error.status})" if error.status >= _SERVER_FAILED else ""
        return _STATUS.get(error.status) or failed or f"the model's server refused ({error.status})"
    if isinstance(error, ModelSetupError):
        return "the model cannot be reached"
    if isinstance(error, ModelError):
        return "the model failed"
    return "there is no memory left for it" if is_out_of_memory(error) else "something went wrong on my side"


def room_reason(error: Exception) -> str:
    """What a room is told where nobody can be told apart: all of a model's trouble, of the rest no name of a file."""
    if isinstance(error, _NAMES_NO_FILE) or not isinstance(error, FamiliarError):
        return full_reason(error)
    return f"{short_reason(error)}. `familiar doctor` says more."


def full_reason(error: Exception) -> str:
    """The whole sentence for whoever can mend it: the program's own, or, for what it did not foresee, by name only."""
    if isinstance(error, FamiliarError):
        return str(error)
    if is_out_of_memory(error):
        return reply_memory_sentence()
    return f"the model failed ({type(error).__name__}). `familiar doctor` looks for the cause."


class FailureReports:
    """Tells the owner, and whoever waits, why there is no reply or not all of one."""

    def __init__(self, owner: OwnerContact, labels: ChannelLabels) -> None:
        self._owner = owner
        self._labels = labels

    async def report_undelivered(self, exchange: Exchange, reason: str) -> None:
        logger.error("reply could not be delivered", extra={"channel_id": exchange.channel_id, "reason": reason})
        await self._tell_owner(f"A reply in {self._labels.describe(exchange.channel_id)} could not be sent: {reason}.")

    async def report_failure(self, exchange: Exchange, place: Place, error: Exception) -> None:
        """Say why there is no reply: to whoever can mend it in full, to whoever waits in a few words.

        Where the owner cannot be written to, a room is told what may be read there; the owner's own place everything.
        """
        logger.warning("main reply failed", extra={"error": type(error).__name__})
        logger.debug("why the main reply failed", exc_info=error)
        words = full_reason(error)
        if exchange.asked.reminder is not None:  # it is told in plain words instead
            await self._tell_owner(
                f"A reminder in {self._labels.describe(exchange.channel_id)} was sent without a model: {words}"
            )
            return
        if self._is_owners_door(exchange):
            await place.notice(f"No reply: {words}")
            return
        if not self._owner.is_reachable:
            await place.notice(f"No reply: {room_reason(error)}")
            return
        await self._tell_owner(f"No reply in {self._labels.describe(exchange.channel_id)}: {words}")
        if exchange.is_awaited:
            await place.notice(f"No reply: {short_reason(error)}. My owner gets the details.")

    def _is_owners_door(self, exchange: Exchange) -> bool:
        """Whether only the owner reads what is told there."""
        author = exchange.messages[-1].author if exchange.messages else None
        is_own_door = exchange.guild_id is None if author is None else author.platform in LOCAL_PLATFORMS
        is_between_us = exchange.guild_id is None and author is not None and self._owner.is_owner(author)
        return is_own_door or is_between_us

    async def _tell_owner(self, sentence: str) -> None:
        try:
            await self._owner.tell(sentence)
        except Exception as error:  # isolation: whoever is to be told may be out of reach too
            logger.warning("the owner could not be told", extra={"error": type(error).__name__})
