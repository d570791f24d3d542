"""Cast: who in a chat file is the familiar, who its user, and who is somebody else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from familiar_connect.bootstrap.chat_files.file_message import FileMessage
from familiar_connect.errors import ChatImportError
from familiar_connect.identity import Author
from familiar_connect.presets.macros.identity_macros import name_filler
from familiar_connect.support.text import fold_name

PLATFORM = "import"
"""Of people and characters who are known from a file alone."""
UNNAMED = ("", "unused", "user", "you")
"""Names in a header that name nobody."""


@dataclass(frozen=True, kw_only=True)
class Cast:
    """The speakers of one chat."""

    own_name: str
    """What the familiar is called."""
    character: str
    """What it is called in the file."""
    user: Author
    """Who talks with it."""
    user_name: str = ""
    """What the user is called in a file that tells no more than names."""
    others: tuple[str, ...] = ()
    """Other characters and people."""
    called: str = ""
    """What the user is called in the file: the name that `{{user}}` stands for."""

    def role_of(self, message: FileMessage) -> tuple[str, Author | None]:
        """The role of a message's turn and who says it."""
        name = fold_name(message.name)
        if message.speaker == "user" or (not message.speaker and name == fold_name(self.user_name)):
            return "user", replace(self.user, display_name=message.name or self.user.display_name)
        if self._is_other(message, name):
            return "user", Author(PLATFORM, name, None, message.name)
        return "assistant", None

    def fill_names(self, text: str, message: FileMessage) -> str:
        """*text* of *message* as SillyTavern shows it, with names where `{{char}}` and `{{user}}` stand."""
        char = message.name if message.speaker == "character" and message.name else self.character
        return name_filler(char, self.called)(text) if "{{" in text else text

    def is_other_character(self, message: FileMessage) -> bool:
        """Whether another character of a group says it."""
        return message.speaker == "character" and self._is_other(message, fold_name(message.name))

    def _is_other(self, message: FileMessage, name: str) -> bool:
        if message.is_narrator or message.is_hidden or not name:
            return False
        if message.speaker == "character" and not self.others:
            return False
        return name not in (fold_name(self.character), fold_name(self.own_name))


@dataclass(frozen=True, kw_only=True)
class CastWish:
    """What the owner says of the speakers."""

    character: str | None = None
    user: str | None = None


def choose_cast(
    names: Counter[tuple[str, str]], header: Mapping[str, Any], own_name: str, user: Author, wish: CastWish
) -> Cast:
    """Who is who, from the names in a file and how often each speaks, its header, and what the owner says."""
    by_file = Counter({name: count for (speaker, name), count in names.items() if speaker == "character" and name})
    unknown = Counter({name: count for (speaker, name), count in names.items() if not speaker and name})
    character = _character(by_file or unknown, header, own_name, wish.character, has_user=bool(unknown))
    left = [name for name, _ in unknown.most_common() if fold_name(name) != fold_name(character)]
    user_name = _user(left, user, wish.user) if not by_file else (wish.user or "")
    same = {fold_name(character), fold_name(own_name), fold_name(user_name)}
    others = tuple(name for name, _ in (by_file + unknown).most_common() if fold_name(name) not in same)
    users = Counter({name: count for (speaker, name), count in names.items() if speaker == "user"})
    told = (user_name, str(header.get("user_name") or ""), *(name for name, _ in users.most_common()))
    called = next((name for name in told if fold_name(name) not in UNNAMED), user.display_name or "")
    return Cast(own_name=own_name, character=character, user=user, user_name=user_name, others=others, called=called)


def name_in_file(names: Counter[tuple[str, str]], header: Mapping[str, Any], own_name: str) -> str:
    """Who in a file becomes the familiar *own_name*, where the file itself tells characters from users."""
    by_file = Counter({name: count for (speaker, name), count in names.items() if speaker == "character" and name})
    return _character(by_file, header, own_name, None, has_user=False)


def _character(
    names: Counter[str], header: Mapping[str, Any], own_name: str, wished: str | None, *, has_user: bool
) -> str:
    """The name the familiar has in the file."""
    folded = {fold_name(name): name for name in names}
    if wished is not None:
        if fold_name(wished) not in folded and names:
            raise ChatImportError(f"no one in it is called {wished!r}; there are: {', '.join(list(names)[:20])}")
        return folded.get(fold_name(wished), wished)
    for name in (own_name, str(header.get("character_name") or "")):
        if fold_name(name) in folded and fold_name(name) not in UNNAMED:
            return folded[fold_name(name)]
    if has_user and names:
        raise ChatImportError(
            f"no one in it is called {own_name!r}; say who the familiar is with --character NAME: "
            f"{', '.join(list(names)[:20])}"
        )
    return names.most_common(1)[0][0] if names else own_name


def _user(names: list[str], user: Author, wished: str | None) -> str:
    """Who of those that are not the familiar talks with it."""
    folded = {fold_name(name): name for name in names}
    if wished is not None:
        if fold_name(wished) not in folded:
            raise ChatImportError(f"no one in it is called {wished!r}; there are: {', '.join(names[:20]) or 'none'}")
        return folded[fold_name(wished)]
    if user.display_name and fold_name(user.display_name) in folded:
        return folded[fold_name(user.display_name)]
    return names[0] if names else ""
