"""check_expectation: what of an expectation does not hold, one sentence for each thing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from familiar_connect.observe.trace import TurnTrace
from familiar_connect.rehearsal.models import ModelCall
from familiar_connect.rehearsal.said_pattern import explain_no_match
from familiar_connect.rehearsal.types import Expectation
from familiar_connect.rehearsal.world import Reply
from familiar_connect.support.no_follow import load_bytes

MAX_SHOWN_CHARS = 120


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What happened since the expectation before."""

    replies: tuple[Reply, ...]
    calls: tuple[ModelCall, ...]
    answers: tuple[str, ...]
    withheld: tuple[str, ...]
    calls_for: Callable[[int], list[ModelCall]]
    """Every call made for a reply, by its turn."""
    root: Path
    """The familiar's folder."""

    @property
    def last_reply(self) -> Reply | None:
        return self.replies[-1] if self.replies else None

    def prompt(self) -> list[ModelCall]:
        """The calls made for the last reply; where nothing was said, those of the last turn, or whatever was asked."""
        last = self.last_reply
        turns = [call.turn for call in self.calls if call.turn is not None]
        # One that was said anew, as `/regenerate` does, is told apart from its turn: that turn is the last.
        turn = last.turn if last is not None and last.turn is not None else turns[-1] if turns else None
        return self.calls_for(turn) if turn is not None else list(self.calls)


def check_expectation(expected: Expectation, evidence: Evidence) -> list[str]:
    """Everything that is not as expected. It reads files."""
    return [
        *_check_reply(expected, evidence),
        *_check_words(expected, evidence),
        *_check_calls(expected, evidence),
        *_check_withheld(expected, evidence),
        *_check_files(expected, evidence),
    ]


def _check_reply(expected: Expectation, evidence: Evidence) -> Iterable[str]:
    last = evidence.last_reply
    if expected.no_reply and last is not None:
        yield f"no_reply: there was one in {last.place}: {_short(last.text)!r}"
    if expected.reply_in is not None and last is None:
        yield f"reply_in: nothing was said in {expected.reply_in}"
    elif expected.reply_in is not None and last is not None and last.place != expected.reply_in:
        yield f"reply_in: the last reply is in {last.place}, not in {expected.reply_in}"
    if expected.said_matches is None:
        return
    if last is None:
        yield "said_matches: nothing was said"
    elif (problem := explain_no_match(expected.said_matches, last.text)) is not None:
        yield f"said_matches: {expected.said_matches!r} {problem} {_short(last.text)!r}"


def _check_words(expected: Expectation, evidence: Evidence) -> Iterable[str]:
    last = evidence.last_reply
    asked = [(call.slot, message) for call in evidence.prompt() for message in call.messages]
    texts: dict[str, tuple[list[tuple[str, str]], str]] = {
        "said": ([(last.place, last.text)] if last is not None else [], "nothing was said"),
        "prompt": ([(f"the {m.role} message of {slot}", m.content) for slot, m in asked], "no model was asked"),
        "tool": ([("the tool's result", m.content) for _, m in asked if m.role == "tool"], "no tool was used"),
        "answer": ([("the answer", answer) for answer in evidence.answers[-1:]], "no slash command was used"),
    }
    for key, words in expected.words.items():
        about, _, how = key.partition("_")
        found, none = texts[about]
        if not found:
            yield f"{key}: {none}"
        else:
            yield from _check_text(key, found, words, has=how == "has")


def _check_text(key: str, texts: Sequence[tuple[str, str]], words: Sequence[str], *, has: bool) -> Iterable[str]:
    """Whether each of *words* stands in one of *texts*, each with what it is called; or in none."""
    for word in words:
        holding = next(((where, text) for where, text in texts if word in text), None)
        if has and holding is None:
            yield f"{key}: {word!r} is not there"
        elif not has and holding is not None:
            yield f"{key}: {word!r} is in {holding[0]}: {_around(holding[1], word)!r}"


def _check_calls(expected: Expectation, evidence: Evidence) -> Iterable[str]:
    made = Counter(call.slot for call in evidence.calls)
    for slot, count in expected.calls.items():
        if made[slot] != count:
            yield f"calls: {slot} was asked {made[slot]} times, not {count}"


def _check_withheld(expected: Expectation, evidence: Evidence) -> Iterable[str]:
    for source in expected.withheld:
        if not any(source in kept_back for kept_back in evidence.withheld):
            yield f"withheld: {source!r} was not kept back; kept back: {', '.join(evidence.withheld) or 'nothing'}"


def _check_files(expected: Expectation, evidence: Evidence) -> Iterable[str]:
    for key, files in expected.files.items():
        has = key == "file_has"
        for path, words in files.items():
            try:
                text = load_bytes(evidence.root / path).decode("utf-8", "replace")
            except (OSError, ValueError):
                if has:
                    yield f"{key}: there is no file {path}"
                continue
            yield from _check_text(f"{key} {path}", [(path, text)], words, has=has)


def _around(text: str, word: str) -> str:
    """*word* in *text* with a little of what stands beside it."""
    at = text.index(word)
    return _short(text[max(0, at - 40) : at + len(word) + 40].replace("\n", " "))


def _short(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…"


def withheld_sources(trace: TurnTrace) -> list[str]:
    """Sources that the place of a turn was not to hear."""
    notes = trace.fact("withheld") or ()
    return [str(note["source"]) if isinstance(note, Mapping) else str(note) for note in notes]
