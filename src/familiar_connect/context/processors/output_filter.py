"""OutputFilter: strips what a model should not have written, while it streams, without asking a model.

It takes away what commands a terminal, markup (the program's own, and a model's tags), the familiar's own name echoed
before its words, time
stamps copied from the history, white space at both ends, and everything from the point where the model begins to
speak for someone else. What it has let through is never taken back, so it can stand between the model and a speaker.

MarkupFilter: cuts markup that people should not see out of a reply, while it streams.

A prompt holds blocks that only the program writes: `[System: …]`, `[Hidden note …]`, labelled summaries and fenced
memories. A model that repeats one would show people what it was told in confidence, and the next prompt would hold
a forged one. Such blocks are cut whole, wherever the stream is split.

Tags of a model's own (`<rem>`, `</p>`, `<|im_end|>`) go too, and what stands between them stays: those of web pages
and those that models are known to write, whatever has attributes, and a tag of any name that a line begins with. Code
keeps its tags, and so do those that a regex script of the owner's looks for. Any other text passes unchanged: `<name>`
in the middle of a line is something to fill in, `List<int>` is a type.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from enum import Enum

from familiar_connect.chat.silence import CHOSE_SILENCE, SILENCE, SilenceFilter
from familiar_connect.context.slots import LABELS
from familiar_connect.context.types import ContextRequest, Prompt
from familiar_connect.presets.types import RegexScript
from familiar_connect.support.text import EscapeFilter

BRACKET_OPENERS = ("[system:", "[hidden note", *(f"[{label.lower()}:" for label in LABELS.values()))
"""How blocks in square brackets begin, in lower case."""
FENCES = {"<memory": "</memory>", "<message:": "</message>"}
"""How fenced blocks begin and end, in lower case."""
MARKS = ("</memory>", "<START>")
"""Marks that are cut alone: the end of a fence nobody opened, and what stands between sample dialogues."""
MAX_BLOCK_CHARS = 8_000
"""A block in brackets that is longer is taken to have no end."""

MAX_TAG_CHARS = 400
"""Text between angle brackets that is longer is no tag."""

_MAY_BEGIN = re.compile(r"[\[<`]")
_BACKTICKS = re.compile(r"`+")
_TAG = re.compile(
    r"</?([a-z][a-z0-9_-]*)"
    r"(?:[ \t]+[a-z_:-][a-z0-9_.:-]*(?:[ \t]*=[ \t]*(?:\"[^\"<>\n]*\"|'[^'<>\n]*'|[^\s\"'<>=]+)))*[ \t]*/?>"
    r"|<\|[^|<>\n]{1,80}\|>|<![a-z-][^<>\n]*>",
    re.IGNORECASE | re.ASCII,
)
"""A tag with or without attributes, a mark of a chat template, a comment; no mention, emoji, address or `a < b`."""
_TAG_BEGUN = re.compile(r"<(?:/?[a-z][^<>\n]*|/|!(?:[a-z-][^<>\n]*)?|\|[^<>\n]*)?", re.IGNORECASE | re.ASCII)
_LINE_TAGS = frozenset(("br", "p", "li", "div", "tr"))
"""Tags at which a page begins a new line."""
_INLINE_TAGS = frozenset(("a", "b", "big", "del", "em", "font", "i", "mark", "q", "s", "small", "span", "strong", "u"))
"""Tags that may stand inside a word."""
_MODEL_TAGS = (
    _LINE_TAGS
    | _INLINE_TAGS
    | frozenset(
        """
        article blockquote body center code details dd dl dt footer h1 h2 h3 h4 h5 h6 head header hr html img ins kbd
        main ol pre script section strike style sub summary sup svg table tbody td tfoot th thead tt ul
        assistant bos bot char context dialogue end_of_turn eos eot human instruction instructions narration output pad
        persona prompt reasoning rem reply response scene speech start start_of_turn sys system thinking tool_call
        tool_response unk user
        """.split()  # noqa: SIM905
    )
)
"""Names of web pages' tags and of those that models write around their replies; no word that people put in brackets."""
_FENCE_TICKS = 3
_BRACKET = re.compile(r"[\[\]]")
_BLANK_LINE = "\n\n"
_AFTER_MEMORY = " \t\n:>"
"""`<memory` begins a block only before one of these."""


class MarkupFilter:
    """One reply's filter: feed it pieces, show what it returns, `close` it at the end."""

    def __init__(self, known_tags: Collection[str] = ()) -> None:
        """*known_tags*: names of tags that stay, in lower case."""
        self._known_tags = frozenset(known_tags) | {SILENCE.strip("<>")}
        self._code_ticks = 0
        """How many backticks opened the code that is being shown; 0: it is no code."""
        self._held = ""
        self._last = "\n"
        """The last character that was shown; a reply begins a line."""
        self._until = ""
        """What ends the stretch that is being cut, where one is."""
        self._after_block = False
        self._gap = ""
        """What parts the words on both sides of what was cut, where nothing else does."""
        self._shown_tags: set[str] = set()
        """Names of tags that were taken for words; what closes them stays too."""

    def feed(self, piece: str) -> str:
        """The part of what came so far that is surely no markup."""
        self._held += piece
        return self._advance(final=False)

    def close(self) -> str:
        """What was held back and turns out to be words."""
        rest = self._advance(final=True)
        self._held = ""
        return rest

    def _advance(self, *, final: bool) -> str:
        out: list[str] = []
        while self._held:
            taken = self._take(final=final)
            if taken is None:
                break
            if taken:
                if 0 < self._code_ticks < _FENCE_TICKS and _BLANK_LINE in self._last + taken:
                    self._code_ticks = 0  # a code span ends with its paragraph
                self._last = taken[-1]
                out.append(taken)
        return "".join(out)

    def _take(self, *, final: bool) -> str | None:
        """Words to show, nothing when something was cut, None when more has to come first."""
        if self._until:
            return self._cut_until()
        if self._after_block:
            return self._close_gap()
        found = _MAY_BEGIN.search(self._held)
        if found is None or found.start() > 0:
            return self._shift(len(self._held) if found is None else found.start())
        if self._held[0] == "`":
            return self._take_backticks(final=final)
        start = self._held[:64].lower()
        if any(start.startswith(opener) for opener in BRACKET_OPENERS):
            return self._cut_brackets(final=final)
        for opener, closer in FENCES.items():
            if _begins_fence(start, opener):
                self._shift(len(opener))
                self._until = closer
                return ""
        for mark in MARKS:
            if self._held.startswith(mark):
                return self._cut(len(mark))
        if not final and _may_become_markup(self._held, start):
            return None
        return self._shift(1) if self._code_ticks else self._take_tag(final=final)

    def _take_backticks(self, *, final: bool) -> str | None:
        """The backticks here, which open code or close what as many opened."""
        ticks = len(_BACKTICKS.match(self._held)[0])  # type: ignore[index]
        if ticks == len(self._held) and not final:
            return None
        if not self._code_ticks:
            self._code_ticks = ticks
        elif ticks == self._code_ticks or ticks > self._code_ticks >= _FENCE_TICKS:
            self._code_ticks = 0
        return self._shift(ticks)

    def _take_tag(self, *, final: bool) -> str | None:
        """Cut the tag that begins here, or show its first character where it is none or a known one."""
        head = self._held[:MAX_TAG_CHARS]
        if not final and len(self._held) < MAX_TAG_CHARS and _TAG_BEGUN.fullmatch(self._held):
            return None
        tag = _TAG.match(head)
        name = (tag[1] or "").lower() if tag else ""
        if tag is None or name in self._known_tags:
            return self._shift(1)
        if not final and tag.end() == len(self._held):
            return None  # what follows it tells
        if not self._is_markup(tag, name):
            self._shown_tags.add(name)
            return self._shift(tag.end())
        self._gap = "\n" if name in _LINE_TAGS else "" if name in _INLINE_TAGS else self._gap or " "
        return self._cut(tag.end())

    def _is_markup(self, tag: re.Match[str], name: str) -> bool:
        """Whether *tag* is markup and no word in angle brackets."""
        inside = tag[0][1:-1]
        if not name or name in _MODEL_TAGS or inside.endswith("/") or len(inside.split()) > 1:
            return True
        if inside.startswith("/"):
            return name not in self._shown_tags
        after = self._held[tag.end() : tag.end() + 1]
        return self._last == "\n" and bool(after.strip())

    def _shift(self, size: int) -> str:
        taken, self._held = self._held[:size], self._held[size:]
        return taken

    def _cut(self, size: int) -> str:
        self._shift(size)
        self._after_block = True
        return ""

    def _close_gap(self) -> str | None:
        """Cut the blanks behind a block, and its line end where it had the line to itself."""
        if self._last.isspace():
            self._held = self._held.lstrip(" \t")
            if not self._held:
                return None
            if self._last == "\n" and self._held.startswith("\n"):
                self._shift(1)
        gap, self._gap, self._after_block = self._gap, "", False
        after = self._held[:1]
        is_open = not self._last.isspace() and (after.isalnum() or (gap == "\n" and after not in ("", "\n")))
        return gap if is_open else ""

    def _cut_until(self) -> str | None:
        at = _find(self._held, self._until)
        if at < 0:
            self._held = self._held[-(len(self._until) - 1) :]
            return None
        size = at + len(self._until)
        self._until = ""
        return self._cut(size)

    def _cut_brackets(self, *, final: bool) -> str | None:
        """Cut to the bracket that closes the block; without one, to the last bracket or the end of the paragraph."""
        block = self._held[:MAX_BLOCK_CHARS]
        depth = 0
        for bracket in _BRACKET.finditer(block):
            depth += 1 if bracket[0] == "[" else -1
            if depth == 0:
                return self._cut(bracket.end())
        if not final and len(self._held) < MAX_BLOCK_CHARS:
            return None
        paragraph = block.partition(_BLANK_LINE)[0]
        last = paragraph.rfind("]")
        if last >= 0:
            return self._cut(last + 1)
        self._until = _BLANK_LINE
        return ""


def _begins_fence(start: str, opener: str) -> bool:
    if not start.startswith(opener):
        return False
    return opener.endswith(":") or start[len(opener) : len(opener) + 1] in tuple(_AFTER_MEMORY)


def _may_become_markup(held: str, start: str) -> bool:
    """Whether more text could still make markup of what is held."""
    return any(opener.startswith(start) for opener in (*BRACKET_OPENERS, *FENCES)) or any(
        mark.startswith(held) for mark in MARKS
    )


def _find(text: str, closer: str) -> int:
    """Where *closer* stands in *text*, in any case."""
    found = re.search(re.escape(closer), text, re.IGNORECASE | re.ASCII)
    return -1 if found is None else found.start()


def without_markup(text: str) -> str:
    """The whole of *text* without the program's own markup and a model's tags."""
    markup = MarkupFilter()
    return markup.feed(text) + markup.close()


_STAMP = re.compile(
    r"(?:\[(?:[^\W\d_]{3,12}, )?(?:[0-9]{4}-[0-9]{2}-[0-9]{2},? )?[0-9]{1,2}:[0-9]{2}\]"
    r"|\(about [0-9]{1,6} [a-z]{1,12} later\))\s*"
)
_STAMP_BEGUN = re.compile(r"\[(?:[^\W\d_]{0,12}|[^\W\d_]{3,12}, ?)(?:[0-9:, -]{0,18})|\((?:a[a-z0-9 ]{0,40})?")
"""What may still become a stamp; a wider net only waits a little longer."""
_MARKUP = "*_"
_COLONS = ":："
_TAG_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
MAX_MARKS = 8
"""Marks of bold or italics that may stand between a name and its colon."""


class _Whose(Enum):
    """What the beginning of a line turned out to be."""

    unclear = "unclear"
    other = "other"
    own = "own"
    words = "words"


class OutputFilter:
    """One reply's filter: feed it pieces, print what it returns, stop when `ended`."""

    def __init__(self, own_names: Iterable[str], other_names: Iterable[str], known_tags: Collection[str] = ()) -> None:
        self._known_tags = known_tags
        self._own = _bare(own_names)
        self._others = _bare(other_names) - self._own
        self._escapes = EscapeFilter()
        self._markup = MarkupFilter(known_tags)
        self._held = ""
        self._gap = ""
        self._line_start = True
        self._spoken = False
        self.ended = False

    @property
    def end_reason(self) -> str:
        """Why it `ended` before the model did."""
        return "it started speaking for someone else"

    def fresh(self) -> OutputFilter:
        """The same filter for another attempt at the reply."""
        return OutputFilter(self._own, self._others, self._known_tags)

    def feed(self, piece: str) -> str:
        """The part of what came so far that is surely the familiar's own words."""
        if self.ended:
            return ""
        self._held += self._markup.feed(self._escapes.feed(piece))
        return self._advance(final=False)

    def close(self) -> str:
        """What was held back and turns out to be words; white space at the end is dropped."""
        if self.ended:
            return ""
        self._held += self._markup.feed(self._escapes.close()) + self._markup.close()
        rest = self._advance(final=True)
        self.ended = True
        return rest

    def _advance(self, *, final: bool) -> str:
        out: list[str] = []
        while self._held and not self.ended:
            taken = self._take_line_start(final=final) if self._line_start else self._take_words()
            if taken is None:
                break
            out.append(taken)
        return "".join(out)

    def _take_line_start(self, *, final: bool) -> str | None:
        """Whose line begins here? White space before it is held until there are words to follow it."""
        line = self._held.lstrip()
        self._gap += self._held[: len(self._held) - len(line)]
        self._held = line
        if not line:
            return None
        whose, rest = self._read(line, final=final)
        if whose is _Whose.unclear:
            return None
        if whose is _Whose.other:
            self._held, self.ended = "", True
            return ""
        self._held = rest
        if whose is _Whose.own:
            return ""
        gap, self._gap = (self._gap if self._spoken else ""), ""
        self._line_start, self._spoken = False, True
        return gap

    def _take_words(self) -> str | None:
        """What is left of this line; the white space after it waits."""
        line, newline, rest = self._held.partition("\n")
        words = line.rstrip()
        after = line[len(words) :]
        if newline:
            self._gap, self._held, self._line_start = after, newline + rest, True
            return words
        self._held = after
        return words or None

    def _read(self, line: str, *, final: bool) -> tuple[_Whose, str]:
        """Whose *line* it is, and what of it remains to be read or said."""
        if not final and _STAMP_BEGUN.fullmatch(line):
            return _Whose.unclear, line
        stamp = _STAMP.match(line)
        said = line[stamp.end() :] if stamp else line
        if not said:
            return (_Whose.words, line) if self._spoken and final else (_Whose.own if final else _Whose.unclear, said)
        head = said.lstrip(_MARKUP)
        if _label_end(head, self._others) is not None:
            return _Whose.other, ""
        if (at := _label_end(head, self._own)) is not None:
            return self._after_own_label(said, head, at, final=final)
        if not final and _could_be_label(head, self._own | self._others):
            return _Whose.unclear, line
        return _Whose.words, line if self._spoken else said

    @staticmethod
    def _after_own_label(said: str, head: str, at: int, *, final: bool) -> tuple[_Whose, str]:
        """The words after the label, without the marks that close it (`**Wren:** hello`)."""
        rest = head[at:]
        opened = said[: len(said) - len(head)]
        if opened and head[at - 2] not in _MARKUP:
            if not final and opened.startswith(rest):
                return _Whose.unclear, said
            rest = rest.removeprefix(opened)
        rest = rest.lstrip()
        return (_Whose.own if rest or final else _Whose.unclear), rest


class SilenceAwareOutputFilter(OutputFilter):
    """Also takes out the mark of silence, which may end the reply before a word is shown."""

    def __init__(self, own_names: Iterable[str], other_names: Iterable[str], known_tags: Collection[str] = ()) -> None:
        super().__init__(own_names, other_names, known_tags)
        self._silence = SilenceFilter()

    @property
    def end_reason(self) -> str:
        return CHOSE_SILENCE if self._silence.silent else super().end_reason

    def fresh(self) -> SilenceAwareOutputFilter:
        return SilenceAwareOutputFilter(self._own, self._others, self._known_tags)

    def feed(self, piece: str) -> str:
        shown = self._silence.feed(super().feed(piece))
        if self.ended:  # someone else's words follow: what was held back is the end
            shown += self._silence.close()
        self.ended = self.ended or self._silence.silent
        return shown

    def close(self) -> str:
        return self._silence.feed(super().close()) + self._silence.close()


def own_name(request: ContextRequest) -> str:
    """Whose words are being written, where the turn says so: the one imitated, or an alter."""
    turn = request.turn
    return "" if turn is None else turn.imitated.name if turn.imitated is not None else turn.persona


def speakers_of(prompt: Prompt, request: ContextRequest) -> set[str]:
    """Names that others go by in this prompt: the model must not speak for them."""
    names = {"User"} | {turn.author.label for turn in request.turns_to_answer if turn.author}
    names |= {item.sender.name for item in prompt.items if item.sender is not None}
    return names | set(request.story.group)


def tags_in_scripts(scripts: Iterable[RegexScript]) -> frozenset[str]:
    """Names that may be those of tags which regex scripts look for, in lower case."""
    patterns = (script.find for script in scripts if not script.is_off and "<" in script.find)
    return frozenset(word.lower() for pattern in patterns for word in _TAG_NAME.findall(pattern))


def _bare(names: Iterable[str]) -> frozenset[str]:
    """*names* as they are compared: without case, and without the marks that would make them bold."""
    return frozenset(bare for name in names if (bare := name.casefold().strip(_MARKUP + " ")))


def _label_end(head: str, names: Collection[str]) -> int | None:
    """Where the words begin when *head* opens with one of *names* and a colon, else None."""
    longest = max(map(len, names), default=0) + MAX_MARKS
    ends = (i for i, char in enumerate(head[:longest]) if char in _COLONS)
    return next((i + 1 for i in ends if head[:i].rstrip(_MARKUP).casefold() in names), None)


def _could_be_label(head: str, names: Collection[str]) -> bool:
    """Whether more text could still turn *head* into a speaker's label."""
    start = head.casefold()
    longest = max(map(len, names), default=0) + MAX_MARKS
    return len(head) < longest and any(name.startswith(start) or start.rstrip(_MARKUP) == name for name in names)


def filter_output(text: str, own_names: Iterable[str], other_names: Iterable[str]) -> str:
    """The whole of *text*, tidied at once."""
    filtered = OutputFilter(own_names, other_names)
    return filtered.feed(text) + filtered.close()
