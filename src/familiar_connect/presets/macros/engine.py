"""The one macro engine, SillyTavern's own reading: for presets, cards, notes and every other authored text.

Macros are worked out in document order, arguments first. What comes out is never read again, so a text that quotes
`{{user}}` stays a quotation. Unknown names and wrong numbers of arguments stay as they were written. Nothing raises,
and nothing grows beyond its limit: nesting, output and work are bounded, and what was cut is said.
"""

from __future__ import annotations

import contextlib
import functools
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from familiar_connect.presets.macros import builtins, evaluation, random_choice, variables
from familiar_connect.presets.macros.blocks import Blocks, pair_blocks
from familiar_connect.presets.macros.evaluation import MAX_OUTPUT, Evaluation, Invocation, Macro, WorkLimitExceeded
from familiar_connect.presets.macros.parse import COMMENT, NAME, SPACE, VARIABLE, MacroCall, TextSpan, parse_macros
from familiar_connect.presets.macros.types import Expansion, MacroContext

MAX_DEPTH = 32
MAX_CACHED_CHARS = 16_000
_CALL_COST = 256
"""What one macro costs beyond the text it comes to."""

_ANGLED = re.compile(r"<(user|bot|char|group|charifnotgroup)>", re.I)
_ANGLED_NAMES = {"user": "{{user}}", "bot": "{{char}}", "char": "{{char}}"}
_OLD_TIME = re.compile(r"\{\{time_(UTC[+-]\d+)\}\}", re.I)
_ESCAPED = re.compile(r"\\([{}])")
_TRIM = re.compile(re.escape(builtins.TRIM), re.I)
_INDENT = re.compile(r"[ \t]*")
_COMMENTS = (COMMENT, "comment")

_SEAL = str.maketrans("{}<", "\ue000\ue001\ue002")
_UNSEAL = str.maketrans("\ue000\ue001\ue002", "{}<")
"""Quoted text is sealed on its way through, so that no later pass mistakes a brace somebody typed for a macro."""


def substitute(text: str, ctx: MacroContext) -> str:
    """*text* with its macros worked out; random choices are made where they stand."""
    return expand(text, ctx).text


def expand(text: str, ctx: MacroContext, *, original: str | None = None, defer_random: bool = False) -> Expansion:
    """*text* with its macros worked out, and what was noticed on the way.

    *original* is what `{{original}}` stands for, once; None leaves it as written. With *defer_random* a choice that
    stands by itself is left, its options worked out, for the last pass over the whole prompt.
    """
    if "{" not in text and "<" not in text and "\\}" not in text:
        return Expansion(text=text)
    source = _rewritten(text)
    tree = _tree(source) if "{{" in source else None
    if tree is None or not tree.calls:
        return Expansion(text=_finish(source))
    run = Evaluation(ctx, text, original=original, defer_random=defer_random)
    if not tree.complete:
        run.limits["output"] = None
    whole = _finish(_Walk(run, source, tree.open).whole(tree))
    return Expansion(
        text=_cut(whole, run),
        content_macros=frozenset(run.content_macros),
        unknown=tuple(run.unknown),
        unsupported=tuple(run.unsupported),
        limits=tuple(run.limits),
    )


def _tree(source: str) -> TextSpan:
    """The calls of *source*; a preset's texts are the same every turn, so those of usual length are read once."""
    return _parse_cached(source) if len(source) <= MAX_CACHED_CHARS else parse_macros(source)


@functools.lru_cache(maxsize=256)
def _parse_cached(source: str) -> TextSpan:
    return parse_macros(source)


def _rewritten(text: str) -> str:
    """Older spellings in today's."""
    if "<" in text:
        text = _ANGLED.sub(lambda found: _ANGLED_NAMES.get(found[1].lower(), "{{group}}"), text)
    return _OLD_TIME.sub(r"{{time::\1}}", text) if "{{" in text else text


def _finish(text: str) -> str:
    """*text* without its escapes, and with every trim done."""
    if "\\" in text:
        text = _ESCAPED.sub(r"\1", text)
    if "{{" not in text:
        return text
    parts = _TRIM.split(text)
    if len(parts) == 1:
        return text
    ends = len(parts) - 1
    return "".join(_without_line_ends(part, before=index > 0, after=index < ends) for index, part in enumerate(parts))


def _without_line_ends(text: str, *, before: bool, after: bool) -> str:
    start, end = 0, len(text)
    while before and text.startswith(("\n", "\r\n"), start):
        start += 1 if text[start] == "\n" else 2
    while after and end > start and text[end - 1] == "\n":
        end -= 2 if end - 2 >= start and text[end - 2] == "\r" else 1
    return text[start:end]


def _cut(text: str, run: Evaluation) -> str:
    if len(text) * 4 <= MAX_OUTPUT:
        return text
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= MAX_OUTPUT:
        return text
    run.limits["output"] = None
    end = MAX_OUTPUT
    while encoded[end] & 0xC0 == 0x80:  # the middle of a character
        end -= 1
    return encoded[:end].decode("utf-8", "surrogatepass")


@dataclass(slots=True)
class _Stretch:
    """Some calls of a sequence, from *first* up to *last*, with the text from *start* to *end* around them."""

    calls: Sequence[MacroCall]
    blocks: Blocks
    """Which of these calls have blocks. Those within a block are paired anew, without what stands around it."""
    first: int
    last: int
    start: int
    end: int


class _Place(NamedTuple):
    """Where the walk is: how deep, whether inside an argument, and how far offsets are moved."""

    depth: int = 1
    inside: bool = False
    shift: int = 0

    def deeper(self) -> _Place:
        return _Place(self.depth + 1, True, self.shift)


class _Walk:
    """One walk through the tree of a text."""

    def __init__(self, run: Evaluation, text: str, open_: Sequence[int] = ()) -> None:
        """*open_*: where calls begin that nothing closes."""
        self._run = run
        self._text = text
        self._open = open_
        self._wide: list[int] | None = None
        self._found: dict[str, Macro | None] = {}

    def whole(self, tree: TextSpan) -> str:
        out: list[str] = []
        with contextlib.suppress(WorkLimitExceeded):
            self._walk(self._stretch(tree), _Place(), out)
        return "".join(out)

    def _span(self, span: TextSpan, place: _Place) -> str:
        if span.calls:
            return self._inner(self._stretch(span), place)
        return self._bound(self._text[span.start : min(span.end, span.start + MAX_OUTPUT + 1)])

    def _inner(self, stretch: _Stretch, place: _Place) -> str:
        out: list[str] = []
        self._walk(stretch, place, out)
        return self._bound("".join(out))

    def _bound(self, text: str) -> str:
        """*text* within the limit of one text, paid for."""
        if len(text) > MAX_OUTPUT:
            self._run.limits["output"] = None
            text = text[:MAX_OUTPUT]
        self._run.spend(len(text))
        return text

    def _walk(self, stretch: _Stretch, place: _Place, out: list[str]) -> None:
        """Appends what the stretch comes to, up to the limit of one text."""
        text, size, at, index = self._text, 0, stretch.start, stretch.first
        gap = False
        while index < stretch.last:
            call = stretch.calls[index]
            plain = text[at : call.start]
            out.append(_one_gap(out, plain) if gap else plain)
            block = self._block(stretch, index)
            raw = index in stretch.blocks.raw
            value = text[call.start : call.end] if raw else self._value(call, block, place)
            self._run.spend(len(value) + _CALL_COST)
            out.append(value)
            gap = not value and block is not None and self._is_ours(call)
            size += len(plain) + len(value)
            if size > MAX_OUTPUT:
                self._run.limits["output"] = None
                return
            index, at = self._next(stretch, index)
        plain = text[at : stretch.end]
        out.append(_one_gap(out, plain) if gap else plain)

    def _next(self, stretch: _Stretch, index: int) -> tuple[int, int]:
        """The call after this one (after its block, if it has one), and where the text goes on."""
        last = stretch.blocks.ends.get(index, index)
        return last + 1, stretch.calls[last].end

    def _block(self, stretch: _Stretch, index: int) -> _Stretch | None:
        """What stands between `{{name}}` and `{{/name}}`."""
        partner = stretch.blocks.ends.get(index)
        if partner is None:
            return None
        calls = stretch.calls
        return self._part(calls, index + 1, partner, calls[index].end, calls[partner].start)

    def _part(self, calls: Sequence[MacroCall], first: int, last: int, start: int, end: int) -> _Stretch:
        blocks = pair_blocks(calls, first, last, self._takes_block)
        return _Stretch(calls, blocks, first, last, start, end)

    def _stretch(self, span: TextSpan) -> _Stretch:
        return self._part(span.calls, 0, len(span.calls), span.start, span.end)

    def _takes_block(self, call: MacroCall) -> bool:
        """Whether it may have a block; one nobody knows may."""
        macro = self._macro(call.key)
        return macro is None or macro.takes_block(len(call.args))

    def _macro(self, name: str) -> Macro | None:
        if name not in self._found:
            self._found[name] = builtins.find_macro(name, self._run.ctx)
        return self._found[name]

    def _value(self, call: MacroCall, block: _Stretch | None, place: _Place) -> str:
        if call.key not in _COMMENTS:
            return self._work_out(call, block, place)
        run = self._run  # what a comment does is done, what it says is not said
        noticed = dict(run.content_macros), dict(run.unknown), dict(run.unsupported)
        value = self._work_out(call, block, place)
        run.content_macros, run.unknown, run.unsupported = noticed
        return value

    def _work_out(self, call: MacroCall, block: _Stretch | None, place: _Place) -> str:
        if place.depth > MAX_DEPTH:
            self._run.limits["nesting"] = None
            return self._text[call.start : call.end if block is None else self._end_of(block)]
        if call.scope:
            value = self._span(call.args[0], place.deeper()) if call.args else ""
            return variables.evaluate_shorthand(self._run, call.scope, call.name, call.operator, value)
        if call.closing:
            return self._text[call.start : call.end]
        macro = self._macro(call.key)
        if macro is None:
            self._run.note_unknown(call.name)
        elif call.key == "if" and macro.takes(len(call.args) + (block is not None)):
            return self._if(call, block, place)
        if call.key == "if":  # its arguments are only looked at once it is known to be whole
            args = [self._text[arg.start : arg.end] for arg in call.args]
        else:
            args = [self._span(arg, place.deeper()) for arg in call.args]
        inner = "" if block is None else self._inner(block, place.deeper())
        if macro is None:
            return self._left(call, args, block, inner)
        if not (macro.takes(len(args)) if block is None else macro.takes_block(len(args))):
            return self._write(call, args) + self._as_it_was(block, inner)
        if block is not None:
            args.append(inner if "#" in call.flags else _dedent(inner))
        if call.key == "random" and self._run.defer_random and not place.inside:
            left = random_choice.defer_choice(args)
            if left is not None:
                return left
            if not any(random_choice.options_of(args)):
                return self._write(call, args)
        offset = self._offset(call.start) + place.shift if macro.needs_offset else 0
        result = macro.run(self._run, Invocation(args, offset, block is not None))
        return self._left(call, args, block, inner) if result is None else result

    def _left(self, call: MacroCall, args: Sequence[str], block: _Stretch | None, inner: str) -> str:
        """A call nobody could work out. Of the end of its block SillyTavern leaves the last braces alone."""
        if block is None or self._run.ctx.ours:
            return self._write(call, args) + self._as_it_was(block, inner)
        inner = inner if "#" in call.flags else _dedent(inner)
        return self._write(call, args) + (inner + "}}" if block.end > block.start else "")

    def _as_it_was(self, block: _Stretch | None, inner: str) -> str:
        return "" if block is None else inner + self._text[block.end : self._end_of(block)]

    def _end_of(self, block: _Stretch) -> int:
        return block.calls[block.last].end

    def _write(self, call: MacroCall, args: Sequence[str]) -> str:
        """The call as it was written, with what stands in its arguments worked out."""
        at = call.start
        parts: list[str] = []
        for span, value in zip(call.args, args, strict=False):
            parts += (self._text[at : span.start], value)
            at = span.end
        parts.append(self._text[at : call.end])
        return "".join(parts)

    def _if(self, call: MacroCall, block: _Stretch | None, place: _Place) -> str:
        """The branch that is taken; the other is not even looked at."""
        branch = self._stretch(call.args[1]) if block is None else block
        otherwise: _Stretch | None = None
        if (index := self._else_of(branch)) is not None:
            inner, calls = branch.calls[index], branch.calls
            otherwise = self._part(calls, index + 1, branch.last, inner.end, branch.end)
            branch = self._part(calls, branch.first, index, branch.start, inner.start)
        taken = branch if self._holds(call.args[0], place) else otherwise
        if taken is None:
            return ""
        shift = place.shift + self._offset(call.start) - self._offset(taken.start)
        inner_place = _Place(place.depth + 1, place.inside, shift)
        value = _finish(self._inner(taken, inner_place))
        return value if "#" in call.flags else _dedent(value)

    def _else_of(self, branch: _Stretch) -> int | None:
        """Where the `{{else}}` of a branch is: outside every `{{if}}` begun in it, closed or not, and open call."""
        at = bisect_left(self._open, branch.start)
        limit = self._open[at] if at < len(self._open) else branch.end
        depth = 0
        for index in range(branch.first, branch.last):
            call = branch.calls[index]
            if call.start > limit:
                break
            if call.scope:
                continue
            if call.name == "if":
                depth += -1 if call.closing else len(call.args) == 1
            elif call.name == "else" and not call.closing and depth == 0:
                return index
        return None

    def _holds(self, condition: TextSpan, place: _Place) -> bool:
        """A bare macro name, a variable, a predicate of ours, or text; `!` in front turns it around."""
        run, start = self._run, condition.start
        inverted = self._text.startswith("!", start, condition.end)
        if inverted:
            start += 1
            while start < condition.end and self._text[start] in SPACE:
                start += 1
        told, original = dict(run.content_macros), run.original  # asking is not saying
        words = "" if condition.calls else self._text[start : condition.end]
        variable = VARIABLE.fullmatch(words)
        name = NAME.fullmatch(words)
        macro = self._macro(words.lower()) if name is not None else None
        if variable is not None:
            value = variables.read(run, variable[1], variable[2])
        elif macro is not None and macro.takes(0):
            asked = macro.run(run, Invocation())
            value = words if asked is None else asked
        elif run.ctx.ours and evaluation.is_predicate(words):
            return evaluation.is_condition_met(words, run.ctx, inverted=inverted)
        else:
            value = self._span(TextSpan(start, condition.end, condition.calls), place.deeper())
        run.content_macros, run.original = told, original
        return variables.is_false(_finish(value)) is inverted

    def _is_ours(self, call: MacroCall) -> bool:
        """Whether *call* asks for one of our own predicates."""
        if call.key != "if" or not self._run.ctx.ours or not call.args or call.args[0].calls:
            return False
        words = self._text[call.args[0].start : call.args[0].end]
        return evaluation.is_predicate(words.lstrip("!" + SPACE))

    def _offset(self, at: int) -> int:
        """The place *at* counted in UTF-16 units."""
        if self._wide is None:
            wide = max(self._text) > "\uffff"
            self._wide = [index for index, char in enumerate(self._text) if char > "\uffff"] if wide else []
        return at + bisect_left(self._wide, at)


def _one_gap(out: list[str], plain: str) -> str:
    """*plain* after a block of ours that came to nothing: one blank line is left between paragraphs, not two."""
    before = next((part for part in reversed(out) if part), "\n\n")
    return plain.lstrip("\n") if before.endswith("\n\n") and plain.startswith("\n\n") else plain


def _dedent(text: str) -> str:
    """*text* without blanks around it, its lines moved left by the indent of the first."""
    if "\n" in text:
        lines = text.split("\n")
        first = next((line for line in lines if line.strip(SPACE)), "")
        found = _INDENT.match(first)
        width = found.end() if found else 0
        if width:
            lines = [line[min(width, _lead(line)) :] for line in lines]
            text = "\n".join(lines)
    return text.strip(SPACE)


def _lead(line: str) -> int:
    found = _INDENT.match(line)
    return found.end() if found else 0


def escape_braces(text: str) -> str:
    """*text* with its braces replaced by marks that no macro matches."""
    return text.translate(_SEAL)


def unescape_braces(text: str) -> str:
    return text.translate(_UNSEAL)
