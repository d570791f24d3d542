"""read_in_child: files of outside origin, read by a child process with limits of time and memory.

Cards, lorebooks and presets all come in this way when a command names them. The readers themselves can be called
in-process too, where the bytes are trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from familiar_connect.errors import SetupError
from familiar_connect.support.bounded_process import (
    ProcessFailedError,
    ProcessLimitError,
    ProcessLimits,
    run_bounded,
)

FileKind = Literal["card", "lorebook", "preset"]

MODULE = "familiar_connect.bootstrap.reader_process"
LIMITS = ProcessLimits()

_FIXES: dict[FileKind, str] = {
    "card": "no card needs that; export it again as PNG or JSON from the program it was made in",
    "lorebook": "no lorebook needs that; split it in SillyTavern first",
    "preset": "no preset needs that; export it from SillyTavern again",
}


def read_in_child(
    kind: FileKind,
    data: bytes,
    arguments: Sequence[str] = (),
    *,
    shown: str,
    error: type[SetupError],
    limits: ProcessLimits | None = None,
) -> dict[str, Any]:
    """What the reader of *kind* makes of *data*; *error*, naming the file as *shown*, when that is too costly.

    What the reader itself refuses is an answer too: `problem` holds its words.
    """
    try:
        return run_bounded(MODULE, (kind, *arguments), data, limits or LIMITS)
    except ProcessLimitError as refused:
        raise error(f"{shown} {refused}: {_FIXES[kind]}") from None
    except ProcessFailedError:
        raise error(f"{shown} is damaged, its reader gave up: fetch it again") from None
    except OSError as failed:
        raise error(
            f"{shown} cannot be read, no process can be started for it ({failed.strerror}): try again"
        ) from None
