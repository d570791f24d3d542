"""How many files this process may have open at once, and whether that is enough to begin."""

from __future__ import annotations

import errno
from importlib.util import find_spec

from familiar_connect.errors import HomeError

LEAST_FILES = 128
"""Databases, sockets, pipes and the libraries of the small models take some sixty; the rest is for guests."""
ENOUGH_FILES = 4_096
OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)


def check_open_files() -> None:
    """Take as many as the system gives, and refuse to begin with too few: everything would fail in the middle."""
    if find_spec("resource") is None:  # Windows has no such limit
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = ENOUGH_FILES if hard == resource.RLIM_INFINITY else min(ENOUGH_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
        except (OSError, ValueError):
            pass  # the limit stays what it was, and is looked at below
    if soft != resource.RLIM_INFINITY and soft < LEAST_FILES:
        raise HomeError(
            f"this process may have only {soft} files open at once, and needs {LEAST_FILES}: "
            "raise the limit, `ulimit -n 1024` in the same shell or LimitNOFILE=1024 for a service, and start again."
        )
