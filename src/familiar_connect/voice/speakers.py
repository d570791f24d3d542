"""Speakers: who is in a voice channel, who of them speaks, and whose words are still on their way."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass

from familiar_connect.identity import Author
from familiar_connect.voice.interruption import ResponseState

MAX_KNOWN = 1_000
"""People who are known by their number; of those who left, the first are forgotten first."""


@dataclass
class VoiceParticipant:
    """One person in the channel."""

    author: Author
    is_here: bool = True
    is_speaking: bool = False
    awaits_words: bool = False
    """They have stopped, and what they said is not recognised yet."""
    spoke_over: bool = False
    """From beginning to end of what they said last, the familiar spoke."""


class Speakers:
    """Everybody who is or was in one voice channel."""

    def __init__(self) -> None:
        self._known: dict[int, VoiceParticipant] = {}

    def join(self, author: Author) -> int:
        """Somebody is here; the number they go by."""
        uid = uid_of(author)
        known = self._known.get(uid)
        if known is None:
            self._known[uid] = VoiceParticipant(author)
            self._forget_some()
        else:
            known.author, known.is_here = author, True
        return uid

    def leave(self, author: Author) -> VoiceParticipant | None:
        """Somebody goes; None where nobody knew them."""
        known = self._known.get(uid_of(author))
        if known is not None:
            known.is_here = False
        return known

    def find(self, uid: int) -> VoiceParticipant | None:
        return self._known.get(uid)

    def present(self) -> tuple[Author, ...]:
        """Everybody who is here."""
        return tuple(each.author for each in self._known.values() if each.is_here)

    def speaking(self) -> list[int]:
        """Who speaks now."""
        return [uid for uid, each in self._known.items() if each.is_speaking]

    def is_anybody_busy(self) -> bool:
        """Whether anybody speaks, or has words on their way."""
        return any(each.is_speaking or each.awaits_words for each in self._known.values())

    def on_speech_start(self, uid: int, state: ResponseState) -> None:
        known = self._known.get(uid)
        if known is not None and not known.is_speaking:
            known.is_speaking, known.spoke_over = True, state is ResponseState.SPEAKING

    def on_speech_end(self, uid: int, state: ResponseState) -> None:
        known = self._known.get(uid)
        if known is not None and known.is_speaking:
            known.is_speaking, known.awaits_words = False, True
            known.spoke_over = known.spoke_over and state is ResponseState.SPEAKING

    def on_words(self, uid: int) -> VoiceParticipant | None:
        """What somebody said last is there."""
        known = self._known.get(uid)
        if known is not None:
            known.awaits_words = False
        return known

    def await_words(self, uids: Collection[int]) -> bool:
        """Whether words of any of *uids* are still on their way."""
        return any(self._known[uid].awaits_words for uid in uids if uid in self._known)

    def clear_speech(self) -> None:
        """Nobody speaks, and no words are on their way."""
        for each in self._known.values():
            each.is_speaking = each.awaits_words = each.spoke_over = False

    def _forget_some(self) -> None:
        for uid in [uid for uid, each in self._known.items() if not each.is_here][: len(self._known) - MAX_KNOWN]:
            del self._known[uid]


def uid_of(author: Author) -> int:
    """A number for *author*: the platform's own where it is one."""
    if author.user_id.isascii() and author.user_id.isdecimal():
        return int(author.user_id)
    return int.from_bytes(hashlib.sha256(author.canonical_key.encode()).digest()[:7])
