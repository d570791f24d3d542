"""Why there is no reply: in a few words that anybody in a channel may read, or whole for whoever can mend it."""

from __future__ import annotations

from familiar_connect.errors import (
    ConfigError,
    EmptyReplyError,
    FamiliarError,
    HistoryError,
    ModelError,
    ModelSetupError,
    ModelTimeoutError,
    PromptTooLongError,
    SpendingLimitError,
    TurnDeadlineError,
)
from familiar_connect.support.free_memory import is_out_of_memory, reply_memory_sentence

_KINDS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    ((TurnDeadlineError, ModelTimeoutError), "the model took too long"),
    (EmptyReplyError, "the model answered with nothing, twice"),
    (SpendingLimitError, "today's limit is reached"),
    (PromptTooLongError, "this is more than the model can take in"),
    (ConfigError, "a settings file of mine is wrong"),
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
    return "there is no memory left for it" if is_out_of_memory(error) else "something of mine failed"


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
