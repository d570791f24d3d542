"""What a script is told by the exit code. The numbers are kept from version to version."""

from __future__ import annotations

OK = 0
FAILED = 1
USAGE = 2
NO_REPLY = 3
INTERRUPTED = 130

EXIT_CODES = {
    OK: "Done; also a chat that Ctrl-C or Ctrl-D ended, and output that its reader closed.",
    FAILED: "It could not be done, or something looked at is not as it should be; a sentence says what and the fix.",
    USAGE: (
        "There is no such verb or option, it was written wrong, or a rehearsal or recording that is to be played "
        "cannot be read; nothing was done."
    ),
    NO_REPLY: "`ask`: the message was heard and got no reply; a sentence says why. (A chat in a pipe ends with 1.)",
    INTERRUPTED: "Ctrl-C ended it before it was done.",
}
