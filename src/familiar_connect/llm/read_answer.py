"""What an endpoint answered: the words of a stream or of a whole answer, without what the model thought to itself.

Models that reason mark it in their own ways: `<think>…</think>` and its like, `[THINK]…[/THINK]`, channels as in
`<|channel|>analysis<|message|>…`. Marks may come split over pieces, and the end mark may be missing: then all that
follows is thought. Some servers swallow the opening mark, so that a reply begins in the middle of a thought; for
models that are known to do so the beginning is held until the end mark comes, or the reply ends without one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache

from familiar_connect.errors import ModelError, NoChoicesError
from familiar_connect.llm import sse
from familiar_connect.llm.retry import Endpoint, error_of_object, no_completion
from familiar_connect.llm.types import Completion, Message
from familiar_connect.support.text import without_surrogates

_TAG = r"<(?P<close>/?)(?:think|thinking|thought|thoughts|reasoning)\s{0,4}>"
_TOKEN = r"<\|(?P<token>start|end|message|channel|return|call|constrain)\|>"
_MARKS = rf"{_TAG}|(?-i:\[(?P<close2>/?)THINK\])|◁(?P<close3>/?)think▷|{_TOKEN}"
_BEGUN = re.compile(r"<(?:\|[a-z]{0,9}\|?|/?[a-z]{0,9}\s{0,4})|\[/?[A-Z]{0,5}|◁/?[a-z]{0,5}", re.IGNORECASE)
"""What may still become a mark; a wider net only waits a little longer."""

_BARE_CHANNELS = ("analysis", "commentary")
"""Channels whose marks a server may swallow: the name then runs into the first word of the thought."""
_BARE_CHANNEL = re.compile(rf"(?:{'|'.join(_BARE_CHANNELS)})(?=[A-Z])")
_BARE_END = "assistantfinal"
_SHOWN_CHANNELS = ("final", "assistant")

_STARTS_INSIDE = re.compile(r"deepseek-?r1|\br1\b|qwq|thinking|magistral|reasoner", re.IGNORECASE)
"""Models whose template opens the thought itself, so that only its end is ever sent."""


class WordReader:
    """The words of a stream: halves of characters joined, thoughts left out."""

    def __init__(self, reasoning: ReasoningFilter) -> None:
        self._halves = sse.SurrogateJoiner()
        self._reasoning = reasoning

    @classmethod
    def for_model(cls, model: str, *, starts_inside: bool, tags: Sequence[str]) -> WordReader:
        """For a reply of *model*; *tags* and *starts_inside* as of `ReasoningFilter`."""
        filtered = ReasoningFilter(starts_inside=starts_inside, bare_channels=may_lose_channel_marks(model), tags=tags)
        return cls(filtered)

    @property
    def has_stray_end(self) -> bool:
        return self._reasoning.has_stray_end

    def feed(self, delta: sse.Delta) -> str:
        held = self._reasoning.stop_holding() if delta.has_reasoning else ""
        return held + self._reasoning.feed(self._halves.feed(delta.text))

    def close(self) -> str:
        return self._reasoning.feed(self._halves.close()) + self._reasoning.close()


def read_whole_answer(
    completion: Completion, endpoint: Endpoint, body: bytes, messages: Sequence[Message], tags: Sequence[str] = ()
) -> str:
    """The text of an unstreamed answer; its facts go into *completion*. *tags*: as of `ReasoningFilter`."""
    answer = sse.parse_json_object(body)
    if answer is None:
        raise ModelError(no_completion(endpoint, body))
    choice = sse.first_choice(answer)
    if choice is None:
        if answer.get("error"):
            raise error_of_object(endpoint, answer["error"], messages)
        raise NoChoicesError(f"{endpoint.safe_url} answered with no choices for {completion.model!r}.")
    sse.copy_metadata(completion, answer)
    completion.finish_reason = sse.short_text(choice.get("finish_reason"), sse.MAX_REASON_CHARS)
    calls = sse.ToolCallReader()
    calls.feed(choice.get("message"))
    completion.tool_calls = calls.calls
    said = sse.text_of(choice.get("message")) or sse.text_of({"text": choice.get("text")})
    return without_reasoning(without_surrogates(said), tags)[: sse.MAX_REPLY_CHARS]


def may_lose_channel_marks(model: str) -> bool:
    """Whether servers are known to swallow the marks of *model*'s channels."""
    return "gpt-oss" in model.lower()


def may_start_in_thought(model: str) -> bool:
    """Whether replies of *model* may begin in the middle of a thought, without a mark that opens it."""
    return _STARTS_INSIDE.search(model) is not None


class _State(Enum):
    words = "words"
    thought = "thought"
    """Until a closing tag."""
    channel = "channel"
    """A channel that nobody is to see, until the next token."""
    header = "header"
    """The name of a channel or a role, until its message begins."""
    bare_channel = "bare channel"
    """A channel without marks, until the words that end it."""


class ReasoningFilter:
    """One reply's filter: feed it pieces, show what it returns, `close` it at the end."""

    def __init__(self, *, starts_inside: bool = False, bare_channels: bool = False, tags: Sequence[str] = ()) -> None:
        """*starts_inside*: hold the beginning until it is known not to be a thought that lost its opening mark.

        *bare_channels*: look for channels whose marks were swallowed. *tags*: what stands before and behind a thought
        beside the usual marks, as the owner wrote it.
        """
        self._tags = tuple(tags)
        self._mark = _mark_with(self._tags)
        self._state = _State.words
        self._looks_for_channels = bare_channels
        self._is_holding = starts_inside
        self._beginning: list[str] = []
        """What is held because it may turn out to be a thought."""
        self._unread = ""
        self._header = ""
        self._has_spoken = False
        self._has_closed = False
        self.has_stray_end = False
        """Whether a closing mark came that nothing had opened: what stood before it was thought."""

    def feed(self, piece: str) -> str:
        """The part of what came so far that is surely said and not thought."""
        self._unread += piece
        return self._advance(final=False)

    def close(self) -> str:
        """What was held back and turns out to be words."""
        rest = self._advance(final=True)
        return rest + self._release()

    def stop_holding(self) -> str:
        """The server sends thoughts apart from words, so the beginning is none: what was held of it."""
        return self._release()

    def _advance(self, *, final: bool) -> str:
        out: list[str] = []
        while self._unread and (taken := self._take(final=final)) is not None:
            out.append(taken)
        return "".join(out)

    def _take(self, *, final: bool) -> str | None:
        """Words to show, nothing when something was cut, None when more has to come first."""
        if self._looks_for_channels and not self._open_bare_channel(final=final):
            return None
        if self._state is _State.bare_channel:
            return self._take_bare_channel()
        found = self._mark.search(self._unread)
        if found is not None:
            before, self._unread = self._unread[: found.start()], self._unread[found.end() :]
            return self._pass_mark(before, found)
        unsure = 0 if final else max(_unsure_chars(self._unread), _begun_chars(self._unread, self._tags))
        ready = self._unread[: len(self._unread) - unsure]
        self._unread = self._unread[len(ready) :]
        if not ready:
            return None
        if self._state is _State.header:
            self._header = (self._header + ready)[:64]
        return self._say(ready) if self._state is _State.words else ""

    def _say(self, words: str) -> str:
        """*words* as they are shown; held at a beginning that may be a thought, and without the space before it."""
        if not self._has_spoken:
            words = words if self._beginning else words.lstrip()
            if self._is_holding:
                self._beginning += [words] if words else []
                return ""
            self._has_spoken = bool(words)
        return words

    def _release(self) -> str:
        words, self._beginning, self._is_holding = "".join(self._beginning), [], False
        self._has_spoken = self._has_spoken or bool(words)
        return words

    def _pass_mark(self, before: str, mark: re.Match[str]) -> str:
        """What is shown of what stood before *mark*; and on to the state it opens."""
        is_words = self._state is _State.words
        if (token := mark["token"]) is not None:
            shown = self._say(before) if is_words else ""
            self._pass_token(before, token.lower())
            return shown
        if not (mark["close"] or mark["close2"] or mark["close3"] or mark["own_end"]):
            if not is_words:
                return ""
            self._state = _State.thought
            return self._say(before) + self._release()
        self._state = _State.words
        if not is_words:
            self._has_closed = True
            return ""
        self.has_stray_end = self.has_stray_end or not self._has_closed
        if self._has_closed:
            return self._say(before)
        self._has_closed = True
        self._beginning, self._is_holding = [], False
        return ""

    def _pass_token(self, before: str, token: str) -> None:
        if self._state is _State.thought:
            return
        if token in ("start", "channel"):
            self._state, self._header = _State.header, ""
        elif self._state is _State.header:
            self._header = (self._header + before)[:64]
            if token == "message":
                name = [*self._header.lower().split(), ""][0]
                self._state = _State.words if not name or name in _SHOWN_CHANNELS else _State.channel
        elif token in ("end", "return", "call"):
            self._state = _State.words

    def _open_bare_channel(self, *, final: bool) -> bool:
        """Look whether such a channel begins the reply; False: more has to come to tell."""
        text = self._unread.lstrip()
        if not text and not final:
            return False
        if (found := _BARE_CHANNEL.match(text)) is not None:
            self._unread, self._state = text[found.end() :], _State.bare_channel
        elif not final and any(name.startswith(text) for name in _BARE_CHANNELS):
            return False
        self._looks_for_channels = False
        return True

    def _take_bare_channel(self) -> str | None:
        at = self._unread.find(_BARE_END)
        if at < 0:
            self._unread = self._unread[-(len(_BARE_END) - 1) :]
            return None
        self._unread, self._state, self._has_closed = self._unread[at + len(_BARE_END) :], _State.words, True
        self._is_holding = False
        return ""


def _unsure_chars(text: str) -> int:
    """How many characters at the end of *text* may still become a mark."""
    at = max(text.rfind(char) for char in "<[◁")
    return len(text) - at if at >= 0 and _BEGUN.fullmatch(text, at) else 0


def _begun_chars(text: str, tags: Sequence[str]) -> int:
    """How many characters at the end of *text* are the beginning of one of *tags*."""
    lengths = (size for tag in tags for size in range(len(tag) - 1, 0, -1) if text.endswith(tag[:size]))
    return max(lengths, default=0)


@lru_cache(maxsize=16)
def _mark_with(tags: tuple[str, ...]) -> re.Pattern[str]:
    """The usual marks, and the two *tags* where there are some."""
    begin, end = map(re.escape, tags or ("", ""))
    own = rf"(?P<own>{begin})|(?P<own_end>{end})" if tags else r"(?P<own>(?!))|(?P<own_end>(?!))"
    return re.compile(rf"{_MARKS}|(?-i:{own})", re.IGNORECASE)


def without_reasoning(text: str, tags: Sequence[str] = ()) -> str:
    """The whole of *text* without what the model thought to itself."""
    reasoning = ReasoningFilter(starts_inside=True, bare_channels=True, tags=tags)
    return reasoning.feed(text) + reasoning.close()
