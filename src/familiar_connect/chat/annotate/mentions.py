"""Replaces platform marks in a text by names: `<@id>`, `<#id>`, `<@&id>`, links to channels, custom emojis.

What nobody can resolve stays as it is. The work is linear in the text, however many marks it holds.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

from familiar_connect.chat.annotate.identity import People
from familiar_connect.chat.scene import Scene
from familiar_connect.support.system_notes import speaker_name

logger = logging.getLogger(__name__)

_CHANNEL_LINK = re.compile(r"https?://[\w.-]{1,100}/channels/(?:\d{1,20}|@me)/(\d{1,20})(?:/\d{1,20})?(?!\d)")
"""A network's own address of a channel or message; a copy of the network has another host."""
_MARK = re.compile(r"<(@[!&]?|#)(\d{1,20})>")
_EMOJI = re.compile(r"<a?:(\w{1,64}):\d{1,20}>")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


class MentionResolver:
    """Turns platform marks into names, for one turn."""

    def __init__(self, scene: Scene, people: People) -> None:
        self._people = people
        self._warned = False
        self._channels = {str(each.channel_id): speaker_name(each.name) for each in scene.channels}
        self._roles = {each.role_id: speaker_name(each.name) for each in scene.roles}

    def readable(self, text: str) -> str:
        """*text* with every mark that can be resolved as a name, and emojis by theirs outside of code."""
        if "://" in text and "/channels/" in text:
            text = _CHANNEL_LINK.sub(r"<#\1>", text)
        return emoji_names(self._named(text)) if "<" in text else text

    def _named(self, text: str) -> str:
        unknown = 0

        def name(found: re.Match[str]) -> str:
            nonlocal unknown
            kind, number = found[1], found[2]
            if kind == "#":
                known = self._channels.get(number)
                shown = known and f"#{known}"
            elif kind == "@&":
                known = self._roles.get(number)
                shown = known and f"@{known}"
            else:
                shown = self._people.name_for_id(number)
            unknown += shown is None
            return found[0] if shown is None else shown

        named = _MARK.sub(name, text)
        if unknown:
            # The first of a turn is worth a warning; a channel full of old ones is not worth a hundred.
            logger.log(
                logging.DEBUG if self._warned else logging.WARNING,
                "mentions could not be resolved",
                extra={"count": unknown},
            )
            self._warned = True
        return named


def emoji_names(text: str) -> str:
    """Custom emojis as `:name:`, except inside code."""
    if "<" not in text:
        return text
    if "`" not in text:
        return _EMOJI.sub(_emoji_name, text)
    pieces: list[str] = []
    at = 0
    for code in _CODE.finditer(text):
        pieces += [_EMOJI.sub(_emoji_name, text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*pieces, _EMOJI.sub(_emoji_name, text[at:])])


def _emoji_name(found: re.Match[str]) -> str:
    return f":{found[1]}:"


def emoji_uses(text: str) -> list[str]:
    """Names of the custom emojis in *text*, each once."""
    return list(dict.fromkeys(_EMOJI.findall(text))) if "<" in text else []


def without_at(text: str, triggers: Iterable[str]) -> str:
    """*text* with the `@` dropped before the words the familiar is addressed by."""
    words = sorted({word.strip() for word in triggers if word.strip()}, key=len, reverse=True) if "@" in text else ()
    if not words:
        return text
    return re.sub(rf"(?<!\w)@({'|'.join(map(re.escape, words))})(?!\w)", r"\1", text, flags=re.IGNORECASE)
