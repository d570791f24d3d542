"""read_in_child: files of outside origin, read by a child process with limits of time and memory.

Cards, lorebooks, presets and documents all come in this way when a command names them. The readers themselves can
be called in-process too, where the bytes are trusted.
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
from familiar_connect.support.free_memory import MEGABYTE

FileKind = Literal["card", "lorebook", "preset", "document", "pdf"]

MODULE = "familiar_connect.bootstrap.reader_process"
LIMITS = ProcessLimits()
PDF_LIMITS = ProcessLimits(cpu_s=120.0, memory_bytes=1024 * MEGABYTE, wall_s=240.0)
"""A long PDF takes its reader a minute; its limits end only what would never end."""

_FIXES: dict[FileKind, str] = {
    "card": "no card needs that; export it anew as PNG or JSON from the program it was made in",
    "lorebook": "no lorebook needs that; split it in SillyTavern first",
    "preset": "no preset needs that; export it from SillyTavern again",
    "document": "split it, or save it as plain text",
    "pdf": "split it, or save it as plain text",
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
    chosen = limits or (PDF_LIMITS if kind == "pdf" else LIMITS)
    try:
        return run_bounded(MODULE, (kind, *arguments), data, chosen)
    except ProcessLimitError as refused:
        raise error(f"{shown} {refused}: {_FIXES[kind]}") from None
    except ProcessFailedError:
        raise error(f"{shown} is damaged, its reader gave up: fetch it again") from None
    except OSError as failed:
        raise error(
            f"{shown} cannot be read, no process can be started for it ({failed.strerror}): try again"
        ) from None
