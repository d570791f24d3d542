"""Small tools that a platform needs whatever its network is: work beside, bounded memories, names, addresses.

A name is loaded when it is first asked for: whoever only looks at an address loads no event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.support.lazy_names import load_lazily

if TYPE_CHECKING:
    from familiar_connect.config.extras import how_to_install
    from familiar_connect.support.aio import BackgroundTasks, KeyedLocks, LoopBreak, cancel_and_wait, off_loop
    from familiar_connect.support.files import atomic_write
    from familiar_connect.support.lru import LruCache
    from familiar_connect.support.no_follow import load_bytes
    from familiar_connect.support.text import fold_name, has_visible, truncate_chars
    from familiar_connect.support.web_origin import is_this_machine, may_carry_key, origin_of

__all__ = [
    "BackgroundTasks",
    "KeyedLocks",
    "LoopBreak",
    "LruCache",
    "atomic_write",
    "cancel_and_wait",
    "fold_name",
    "has_visible",
    "how_to_install",
    "is_this_machine",
    "load_bytes",
    "may_carry_key",
    "off_loop",
    "origin_of",
    "truncate_chars",
]

__getattr__ = load_lazily(
    __name__,
    {
        "config.extras": ("how_to_install",),
        "support.aio": ("BackgroundTasks", "KeyedLocks", "LoopBreak", "cancel_and_wait", "off_loop"),
        "support.files": ("atomic_write",),
        "support.lru": ("LruCache",),
        "support.no_follow": ("load_bytes",),
        "support.text": ("fold_name", "has_visible", "truncate_chars"),
        "support.web_origin": ("is_this_machine", "may_carry_key", "origin_of"),
    },
)
