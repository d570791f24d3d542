"""Several files of one folder changed together, so that they wait for the disk once and not each for itself.

The order is that of a single change: texts kept, lines logged, files replaced, each step flushed before the next. A
crash in between leaves every file as it was or as it was to be, and the log finds out which at its next look.
"""

from __future__ import annotations

import contextlib
from collections.abc import MutableSequence, Sequence
from typing import NamedTuple

from familiar_connect.memory.audit import AuditLog
from familiar_connect.memory.paths import Folder
from familiar_connect.memory.types import AuditEntry
from familiar_connect.support.files import temporary_name, write_new


class FileState(NamedTuple):
    """A file as a change found it."""

    data: bytes
    mode: int


class FileChange(NamedTuple):
    """One file to be replaced or created: what stands there, and what shall."""

    name: str
    entry: AuditEntry
    old: FileState | None
    new: bytes


def write_batch(
    folder: Folder, audit: AuditLog | None, changes: Sequence[FileChange], *, made: MutableSequence[AuditEntry]
) -> None:
    """Make every change, or, where the system refuses one, those before it; *made* gets the entry of each."""
    temporaries = [temporary_name() for _ in changes]
    count = 0
    announced = False
    try:
        for change, temporary in zip(changes, temporaries, strict=True):
            write_new(folder.at(temporary), change.new, mode=change.old.mode if change.old else None, dir_fd=folder.fd)
        if audit is not None:
            _announce(audit, changes)
            announced = True
        for change, temporary in zip(changes, temporaries, strict=True):
            folder.replace(temporary, change.name)
            count += 1
            made.append(change.entry)
    except BaseException as error:
        for temporary in temporaries[count:]:
            with contextlib.suppress(OSError):
                folder.unlink(temporary)
        if audit is not None and announced and isinstance(error, OSError):
            _end(audit, folder, changes, count)
        raise
    _end(audit, folder, changes, count)


def _announce(audit: AuditLog, changes: Sequence[FileChange]) -> None:
    audit.keep_all([text for each in changes for text in ((each.old.data, each.new) if each.old else (each.new,))])
    for each in changes:
        audit.reconcile_file(each.entry.rel_path, each.entry.hash_before, len(each.old.data) if each.old else 0)
    audit.announce_all([each.entry for each in changes])


def _end(audit: AuditLog | None, folder: Folder, changes: Sequence[FileChange], made: int) -> None:
    """Say which changes were made and which were not; what cannot be said is found out at the next look."""
    folder.sync()
    if audit is None:
        return
    with contextlib.suppress(OSError):
        audit.finish_all([change.entry for change in changes[:made]])
        for change in changes[made:]:
            audit.withdraw(change.entry)
