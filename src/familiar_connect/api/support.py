"""Small tools that a platform needs whatever its network is: work beside, bounded memories, names, long texts."""

from __future__ import annotations

from familiar_connect.config.extras import how_to_install
from familiar_connect.reply.chunks import pack_reply
from familiar_connect.reply.deliver import send_with_retry
from familiar_connect.support.aio import BackgroundTasks, KeyedLocks, LoopBreak, cancel_and_wait, off_loop
from familiar_connect.support.lru import LruCache
from familiar_connect.support.names import fold_name, has_visible
from familiar_connect.support.text import truncate_chars

__all__ = [
    "BackgroundTasks",
    "KeyedLocks",
    "LoopBreak",
    "LruCache",
    "cancel_and_wait",
    "fold_name",
    "has_visible",
    "how_to_install",
    "off_loop",
    "pack_reply",
    "send_with_retry",
    "truncate_chars",
]
