"""QuickReplyStore: sets of quick replies, each the file that was imported, byte for byte, in the familiar's folder.

SillyTavern's files of both kinds are read: `qrList` of today, `quickReplySlots` of old.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from familiar_connect.errors import ScriptError
from familiar_connect.presets.scripts.parse import parse_script
from familiar_connect.support.files import atomic_write
from familiar_connect.support.no_follow import load_bytes, make_folder, remove_file
from familiar_connect.support.text import one_line, without_surrogates

MAX_FILE_BYTES = 2 * 1024 * 1024
MAX_SETS = 100
MAX_REPLIES = 500
MAX_LABEL_CHARS = 60
SUFFIX = ".json"
WHERE_FROM = "choose a set of SillyTavern's, from its QuickReplies folder"
BY_ITSELF = (
    *("executeOnStartup", "executeOnUser", "executeOnAi", "executeOnChatChange", "executeOnNewChat"),
    *("autoExecute_userMessage", "autoExecute_botMessage", "autoExecute_chatLoad", "autoExecute_appStartup"),
)
"""What says of a reply that SillyTavern runs it by itself."""


@dataclass(frozen=True, kw_only=True)
class QuickReply:
    """One button: what it is called, and what it does."""

    set_name: str
    label: str
    title: str = ""
    """What it says of itself."""
    text: str = ""
    is_hidden: bool = False
    """It is no button, but may be called by its name."""
    is_draft: bool = False
    """Its text is written into the field, not said."""

    @property
    def is_script(self) -> bool:
        return self.text.lstrip().startswith("/")

    def why_not_run(self) -> str:
        """Why it cannot be run here; empty: it can."""
        try:
            if self.is_script:
                parse_script(self.text)
        except ScriptError as error:
            return str(error)
        return ""


@dataclass(frozen=True, kw_only=True)
class QuickReplySet:
    """The replies of one file."""

    name: str
    replies: tuple[QuickReply, ...]
    begins_by_itself: int = 0
    """How many of them SillyTavern would run by themselves: at its start, at a message, at a new chat."""


class QuickReplyStore:
    """The sets in *folder*."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        """The sets there are, by the names of their files."""
        if not self._folder.is_dir():
            return []
        found = (path.stem for path in self._folder.iterdir() if path.suffix == SUFFIX and path.is_file())
        return sorted(found, key=str.casefold)[:MAX_SETS]

    def all(self) -> list[QuickReplySet]:
        """Every set that can be read."""
        found = []
        for name in self.names():
            try:
                found.append(read_quick_replies(self.raw(name), name))
            except ScriptError:
                continue
        return found

    def raw(self, name: str) -> bytes:
        """The set's file as it was imported."""
        try:
            return load_bytes(self._path(name), MAX_FILE_BYTES)
        except OSError:
            raise ScriptError(f"there is no set of quick replies called {name!r}") from None

    def find(self, label: str) -> QuickReply | None:
        """The reply called so, or `SET.LABEL` where several are."""
        wanted = label.strip().casefold()
        replies = [reply for each in self.all() for reply in each.replies]
        exact = (reply for reply in replies if f"{reply.set_name}.{reply.label}".casefold() == wanted)
        return next(exact, next((reply for reply in replies if reply.label.casefold() == wanted), None))

    def add(self, content: bytes, name: str) -> QuickReplySet:
        """Keep the set in *content*, called as it says or as its file is; one of that name is replaced."""
        found = read_quick_replies(content, name)
        if found.name not in self.names() and len(self.names()) >= MAX_SETS:
            raise ScriptError(f"there are {MAX_SETS} sets of quick replies already; remove one")
        make_folder(self._folder)
        atomic_write(self._path(found.name), content)
        return found

    def remove(self, name: str) -> None:
        self.raw(name)
        remove_file(self._path(name))

    def _path(self, name: str) -> Path:
        return self._folder / f"{name_as_file(name)}{SUFFIX}"


def read_set_file(path: Path) -> bytes:
    """What is in a file of quick replies; a `ScriptError` names the file."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ScriptError(f"{path}: is larger than the {MAX_FILE_BYTES:,} bytes a set of quick replies may have")
        return path.read_bytes()
    except OSError as error:
        raise ScriptError(f"{path}: cannot be read ({error.strerror})") from None


def name_as_file(name: str) -> str:
    """*name* without what a file cannot be called."""
    kept = "".join(each if each.isalnum() or each in " -_.()'" else "_" for each in one_line(name))
    return kept.strip(" .")[:MAX_LABEL_CHARS] or "quick replies"


def read_quick_replies(content: bytes, name: str) -> QuickReplySet:
    """The set that a file holds; *name* is what the file is called."""
    if len(content) > MAX_FILE_BYTES:
        raise ScriptError(f"{name}: is larger than the {MAX_FILE_BYTES:,} bytes a set of quick replies may have")
    try:
        found = json.loads(content.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        raise ScriptError(f"{name}: is not JSON; {WHERE_FROM}") from None
    found = found if isinstance(found, dict) else {}
    rows = next((found[key] for key in ("qrList", "quickReplySlots") if isinstance(found.get(key), list)), None)
    if rows is None:
        raise ScriptError(
            f"{name}: holds no quick replies; choose a set of SillyTavern's, from its QuickReplies folder"
        )
    if len(rows) > MAX_REPLIES:
        raise ScriptError(f"{name}: holds more than {MAX_REPLIES} quick replies")
    called = name_as_file(str(found.get("name") or name))
    replies = tuple(_reply(row, called, found) for row in rows if isinstance(row, dict))
    by_itself = sum(any(row.get(key) is True for key in BY_ITSELF) for row in rows if isinstance(row, dict))
    kept = tuple(each for each in replies if each.label and each.text)
    return QuickReplySet(name=called, replies=kept, begins_by_itself=by_itself)


def _reply(row: Mapping[str, Any], set_name: str, whole: Mapping[str, Any]) -> QuickReply:
    def text(*keys: str) -> str:
        found = next((row[key] for key in keys if isinstance(row.get(key), str)), "")
        return without_surrogates(found)

    return QuickReply(
        set_name=set_name,
        label=one_line(text("label"))[:MAX_LABEL_CHARS],
        title=one_line(text("title"))[:200],
        text=text("message", "mes"),
        is_hidden=row.get("isHidden") is True or row.get("hidden") is True,
        is_draft=whole.get("disableSend") is True,
    )
