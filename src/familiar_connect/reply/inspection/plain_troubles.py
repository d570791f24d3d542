"""What failed in a turn, in plain words: a trace keeps the name of what was raised."""

from __future__ import annotations

import re

STOPPED = "stopped"
"""What a person ended is no failure."""
PLAIN = {
    "CancelledError": STOPPED,
    "TimeoutError": "took too long",
    "ModelTimeoutError": "the model did not answer in time",
    "TurnDeadlineError": "the turn took too long",
    "ModelError": "the model failed",
    "ModelSetupError": "the model is set up wrong",
    "MissingKeyError": "a key is missing",
    "SpendingLimitError": "a spending limit is reached",
    "PromptTooLongError": "the prompt is longer than the model can hold",
    "EmptyReplyError": "the model answered with nothing",
    "SilentReplyError": "the model only said that it stays silent",
    "DeliveryError": "the reply could not be delivered",
    "MemoryError": "there is not enough memory",
    "OSError": "the disk or the network failed",
}
_NAMED = re.compile(r"^([A-Z]\w*(?:Error|Exception))(?:: ?(.*))?$", re.DOTALL)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def describe_trouble(raised: str) -> str:
    """*raised*, a name with or without a sentence, as people say it; a sentence alone stays as it is."""
    found = _NAMED.match(raised)
    if found is None:
        return raised
    plain = PLAIN.get(found[1]) or _HUMP.sub(" ", found[1].removesuffix("Exception").removesuffix("Error")).lower()
    plain = plain or "something failed"
    return f"{plain}: {found[2]}" if found[2] and plain != STOPPED else plain
