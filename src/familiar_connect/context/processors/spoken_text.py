"""SpokenTextPostProcessor: takes out of a reply, by rule, what cannot be spoken.

Markup, actions between asterisks, emojis, links, code blocks, list marks and tables go or become plain words. No model
is asked, so it costs nothing and cannot change what was meant; where nothing would be left, the reply stays as it is.
"""

from __future__ import annotations

import re

from familiar_connect.context.types import ContextRequest

_CODE_BLOCK = re.compile(r"(?:```|~~~).*?(?:```|~~~|\Z)", re.DOTALL)
_IMAGE = re.compile(r"!\[([^\]\n]*)\]\([^)\n]*\)")
_LINK = re.compile(r"\[([^\]\n]+)\]\([^)\n]*\)")
_ADDRESS = re.compile(r"<?\b(?:https?://|www\.)[^\s>]+>?", re.IGNORECASE)
_CUSTOM_EMOJI = re.compile(r"<a?:\w+:[0-9]+>|(?<!\w):[a-z][a-z0-9_+-]{1,40}:(?!\w)", re.IGNORECASE)
_STRONG = re.compile(r"(\*\*\*?|__)(?=\S)(.+?)(?<=\S)\1")
_ACTION = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]*[^\s*])\*(?![\w*])")
_EMPHASIS = re.compile(r"(?<!\w)_(?=\S)([^_\n]+)(?<=\S)_(?!\w)")
_STRUCK = re.compile(r"~~(.+?)~~|\|\|(.+?)\|\|")
_LINE_MARK = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>+[ \t]?|[-*+•][ \t]+|[0-9]{1,3}[.)][ \t]+)", re.MULTILINE)
_RULE_LINE = re.compile(r"^[ \t]*(?:[-*_=][ \t]*){3,}$|^[ \t|:-]*\|[ \t|:-]*$", re.MULTILINE)
_EMOJI = re.compile(
    "[\U0001f000-\U0001faff\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d"
    "\ufe0e\ufe0f\u20e3\U000e0020-\U000e007f]"
)
_JOINER = "\u200d"
_EMOTICON = re.compile(r"(?<!\S)(?:[:;=8xX][-'^]?[)(DPpOo/\\|3]|<3|\^_*\^|[xX]D|T_T|-_-)(?!\S)")
MOST_EMPHASIZED_WORDS = 1
"""Between single asterisks so much is a stressed word; more is something done, not said."""


class SpokenTextPostProcessor:
    """A reply as it can be said aloud."""

    id = "spoken_text"

    async def process(self, reply_text: str, request: ContextRequest) -> str:
        return to_spoken_text(reply_text) or reply_text


def to_spoken_text(text: str) -> str:
    """*text* without markup, actions and emojis; empty where nothing else was in it."""
    text = _CODE_BLOCK.sub(" ", text)
    text = _IMAGE.sub(" ", text)
    text = _LINK.sub(r"\1", text)
    text = _ADDRESS.sub(" ", text)
    text = _CUSTOM_EMOJI.sub("", text)
    text = _RULE_LINE.sub("", text)
    text = _LINE_MARK.sub("", text)
    text = _STRONG.sub(r"\2", text)
    text = _ACTION.sub(lambda found: _keep_stressed(found[1]), text)
    text = _EMPHASIS.sub(r"\1", text)
    text = _STRUCK.sub(lambda found: found[2] or "", text)
    text = _EMOJI.sub("", text).replace(_JOINER, "")
    text = _EMOTICON.sub("", text)
    text = text.replace("`", "").replace("*", "").replace("|", " ")
    lines = (re.sub(r"[ \t]+([,.!?;:])", r"\1", re.sub(r"[ \t]{2,}", " ", line)).strip() for line in text.splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _keep_stressed(words: str) -> str:
    return words if len(words.split()) <= MOST_EMPHASIZED_WORDS and not words.endswith(("s", "ing")) else ""
