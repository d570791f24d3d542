"""What a script is told by the exit code: one number for one fault, whichever verb meets it.

The numbers are kept from version to version.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from familiar_connect.errors import FamiliarError, ModelError, NoReplyError

OK = 0
FAILED = 1
USAGE = 2
NO_REPLY = 3
INTERRUPTED = 130

EXIT_CODES = {
    OK: "Done; also when Ctrl-C or Ctrl-D ends a chat, or a pipe closes.",
    FAILED: "It failed, or a check found a problem; the message says what to do.",
    USAGE: (
        "There is no such verb or option, it was mistyped, or a rehearsal or recording cannot be read; nothing was "
        "done."
    ),
    NO_REPLY: "No reply came: the model has no key, cannot be reached, or gave none; the message says why.",
    INTERRUPTED: "Ctrl-C stopped it before it was done.",
}


def code_of(error: FamiliarError) -> int:
    """The exit code of a verb that ends with *error*."""
    return NO_REPLY if isinstance(error, NoReplyError) else FAILED


@contextmanager
def asking_a_model(then: str = "") -> Iterator[None]:
    """Around a question to a model: a failure of it is a missing reply. *then* ends the sentence of any failure."""
    try:
        yield
    except FamiliarError as error:
        says = f"{str(error).rstrip('.')}. {then}" if then else str(error)
        if isinstance(error, ModelError | NoReplyError):
            raise NoReplyError(says) from error
        if not then:
            raise
        raise FamiliarError(says) from error
