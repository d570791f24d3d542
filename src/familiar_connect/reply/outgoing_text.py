"""OutgoingText: a reply on its way from the model's words to the platform's, and back for the history.

A reply may begin with the handle of a message (`ref_2`): then it is aimed at that message. Handles are between the
program and the model, so all of them are taken off, wherever they stand. Mentions and emojis become the platform's own
marks.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, AsyncIterator, Sequence

from familiar_connect.chat.place import Place, ReplyTarget, TextMarks
from familiar_connect.chat.types import MessageIdMap
from familiar_connect.context.types import Prompt
from familiar_connect.conversation.types import Exchange
from familiar_connect.identity import Author
from familiar_connect.support.aio import closing_stream

_AIM = re.compile(r"\s*(?:\[(ref_\d{1,6})\]|\((ref_\d{1,6})\)|@?(ref_\d{1,6})(?=\s*:))\s*:?\s*", re.IGNORECASE)
_MAY_AIM = re.compile(
    r"\s*(?:[\[(@]?(?:r|re|ref|ref_\d{0,6})?|[\[(]ref_\d{0,6}[\])]?\s*:?|@?ref_\d{0,6}\s*:?)\s*\Z", re.IGNORECASE
)
_HANDLE = re.compile(r"(?:\[(?:ref|media)_\d{1,6}\]|\((?:ref|media)_\d{1,6}\))[ \t]?", re.IGNORECASE)
_HANDLE_BEGUN = re.compile(r"[\[(](?:r|re|ref|ref_\d{0,6}|m|me|med|medi|media|media_\d{0,6})?\Z", re.IGNORECASE)
_FINISHED = re.compile(r"@\{[^{}\n]{1,100}\}|<@!?\d{1,20}>|<a?:\w{1,64}:\d{1,20}>|:\w{2,64}:")
"""A mark that whatever follows leaves as it is."""
_UNFINISHED = re.compile(r"(?:@(?:\{[^{}\n]{0,100})?|<[^<>\s]{0,100}|:\w{0,64}:?)\Z")
"""What may still become a mark once more is written."""
_UNFINISHED_CODE = re.compile(r"`[^\n]*\Z")


class OutgoingText:
    """One reply's words at *place*, in answer to *target*."""

    def __init__(self, place: Place, target: ReplyTarget | None = None, *, must_mention: Sequence[Author] = ()) -> None:
        """*must_mention* are pinged whether the model thought of it or not."""
        self._place = place
        self._must_mention = must_mention
        self._answered = target
        self._marks: TextMarks | None = None
        self._ids: MessageIdMap | None = None
        self._aim: str | None = None

    def prepare(self, prompt: Prompt) -> None:
        """Learn what the model was told: whom it may mention, and which handles stand for which message."""
        self._marks = self._place.text_marks(next((item.users for item in prompt.items if item.users), ()))
        if self._place.features.posts_once or self._place.features.posts_answers:
            self._ids = prompt.message_ids

    def target(self) -> ReplyTarget | None:
        """What the reply answers: the message it chose, where it chose one."""
        if self._aim is None:
            return self._answered
        return ReplyTarget(message_id=self._aim, newest_id=self._aim, is_aimed=True)

    def encode(self, text: str) -> str:
        """*text* as the platform takes it, without the handle it is aimed by, or any other."""
        if (found := _AIM.match(text)) is not None:
            handle = next(handle for handle in found.groups() if handle).lower()
            chosen = self._ids.resolve(handle) if self._ids is not None else None
            self._aim = chosen or self._aim
            text = text[found.end() :]
        text = _HANDLE.sub("", text)
        return self._marks.encode(text) if self._marks is not None else text

    def encode_whole(self, text: str) -> str:
        """As `encode`, of a reply that is all written, with those mentioned who must be."""
        encoded = self.encode(text)
        marks = [self._marks.mention(each.user_id) for each in self._must_mention] if self._marks is not None else []
        lacking = [mark for mark in marks if mark and mark not in encoded]
        return " ".join([*lacking, encoded]) if encoded.strip() else encoded

    async def encode_stream(self, pieces: AsyncIterable[str]) -> AsyncIterator[str]:
        """The same for words as they come; what may still become a mark is held back until it is known."""
        written, shown = "", ""
        async with closing_stream(pieces) as stream:
            async for piece in stream:
                written += piece
                if _MAY_AIM.match(written):
                    continue
                settled = _HANDLE_BEGUN.sub("", written)
                has_marks = self._marks is not None or self._ids is not None
                ready = self.encode(_without_unfinished(settled) if has_marks else settled)
                if ready.startswith(shown) and len(ready) > len(shown):
                    yield ready[len(shown) :]
                    shown = ready
        rest = self.encode(written)
        if rest.startswith(shown) and len(rest) > len(shown):
            yield rest[len(shown) :]

    def decode(self, text: str) -> str:
        """What stands on the platform, as the model wrote it."""
        return self._marks.decode(text) if self._marks is not None else text


def _without_unfinished(written: str) -> str:
    """*written* up to where its end may still become a mark or code."""
    settled = _UNFINISHED_CODE.sub("", written)
    at = max((mark.end() for mark in _FINISHED.finditer(settled)), default=0)
    return settled[:at] + _UNFINISHED.sub("", settled[at:])


def target_of(exchange: Exchange) -> ReplyTarget | None:
    """The message that a reply to *exchange* answers: the newest that was said to us, else the newest."""
    known = [each for each in exchange.messages if each.message is not None and each.message.message_id]
    if not known:
        return None
    chosen = next((each for each in reversed(known) if each.is_for_us), known[-1])
    ids = [each.message.message_id for each in (chosen, known[-1]) if each.message and each.message.message_id]
    others = {each.author.canonical_key for each in known} - {chosen.author.canonical_key}
    return ReplyTarget(message_id=ids[0], newest_id=ids[-1], is_aimed=chosen is not known[-1] and bool(others))
