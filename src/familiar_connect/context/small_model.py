"""What a model needs that is too small for an ordinary prompt: `retell_earlier` and `quote_memory`.

`retell_earlier` says with whom it talks, and leaves its own replies out: shown three of them, the smallest model says a
fourth like them, and within ten messages nothing else. What people said before stands as a few lines beside who it is,
and the newest message alone is a turn.

`quote_memory` answers a question about something told with the words in which it was told: asked what somebody's dog is
called, such a model makes a name up. The words come from this prompt alone, so nobody hears what may not be told here,
and they are marked as a quotation. The rules know questions in English; any other is left to the model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from familiar_connect.chat.types import Turn
from familiar_connect.context.budget import COMPLETION_SHARE, OWN_REPLIES, cost
from familiar_connect.context.types import ContextItem, Contribution, DroppedNote, ItemTag, Layer
from familiar_connect.identity import UNNAMED
from familiar_connect.memory.index.query import (
    SearchQuery,
    all_words,
    concerns_speaker,
    content_words,
    count_places_told,
    parse_query,
)
from familiar_connect.memory.index.time_expressions import tells_number, tells_time
from familiar_connect.memory.weighing.answers import replaces
from familiar_connect.memory.weighing.first_person import IMPERATIVE
from familiar_connect.memory.weighing.lasting_words import MONTH, RELATION
from familiar_connect.support.system_notes import extract_notes
from familiar_connect.support.text import join_names, one_line
from familiar_connect.support.tokens import MESSAGE_OVERHEAD, estimate_tokens

SPARE_TOKENS = 80
"""Tokens of a prompt that belong to no layer: notes at its end, and what estimates miss."""
MAX_LINE_CHARS = 300
SOURCE = "history:earlier"
SENTENCE_ENDS = (*".!?…。！？｡؟।", "")

Retold = tuple[list[Contribution], Mapping[Layer, int], list[DroppedNote]]


def retell_earlier(
    found: Sequence[Contribution],
    budget_by_layer: Mapping[Layer, int],
    total: int,
    model: str | None = None,
    *,
    is_preview: bool = False,
) -> Retold:
    """*found* with its dialogue retold, the budgets that make room for the lines, and what was left out.

    The lines take what the other layers leave of *total*, the newest first. In a preview nobody has said the next
    message yet, so all that was said is earlier.
    """
    at = next((i for i, each in enumerate(found) if each.layer is Layer.recent_history and each.items), None)
    if at is None or total <= 0:
        return list(found), budget_by_layer, []
    dialogue = found[at]
    start = len(dialogue.items) if is_preview else _find_answered_from(dialogue.items)
    earlier, newest = dialogue.items[:start], dialogue.items[start:]
    text = "\n".join(item.text for item in newest)
    kept = replace(dialogue, items=newest, text=text, estimated_tokens=_tokens(newest, model))
    others = [*found[:at], *found[at + 1 :]]
    room = total - math.ceil(total * COMPLETION_SHARE) - SPARE_TOKENS - cost(kept, model)
    room -= _tokens_of_layers(others, budget_by_layer, model)
    said = [item for item in earlier if item.role == "user"]
    company = _name_company(newest or said[-1:])
    room -= estimate_tokens(company, model)
    lines = _newest_within(said, room, model)
    retold = [kept]
    budgets = dict(budget_by_layer)
    if lines or (company and room >= MESSAGE_OVERHEAD):
        told = f"Earlier in this talk {_whose(said)}: {' '.join(lines)}" if lines else ""
        words = " ".join(filter(None, (company, told)))
        size = estimate_tokens(words, model)
        budgets[Layer.character] = budgets.get(Layer.character, 0) + size + MESSAGE_OVERHEAD
        retold.append(Contribution(Layer.character, 10, words, size, SOURCE, order=999, audiences=dialogue.audiences))
    notes = [_note(earlier, "assistant", 0, OWN_REPLIES, model), _note(earlier, "user", len(lines), "total", model)]
    return [*found[:at], *retold, *found[at + 1 :]], budgets, [note for note in notes if note is not None]


def _find_answered_from(items: Sequence[ContextItem]) -> int:
    """Where what is answered begins: behind the last reply before the newest words of a user."""
    newest = max((i for i, item in enumerate(items) if item.role == "user"), default=0)
    fresh = min((i for i, item in enumerate(items) if item.fresh), default=newest)
    return max((i + 1 for i, item in enumerate(items[: min(newest, fresh)]) if item.role == "assistant"), default=0)


def _tokens(items: Sequence[ContextItem], model: str | None) -> int:
    return sum(estimate_tokens(item.text, model) for item in items)


def _tokens_of_layers(found: Sequence[Contribution], budget_by_layer: Mapping[Layer, int], model: str | None) -> int:
    """What *found* takes, each layer no more than its budget."""
    wanted: dict[Layer, int] = {}
    for each in found:
        wanted[each.layer] = wanted.get(each.layer, 0) + cost(each, model)
    return sum(min(tokens, budget_by_layer.get(layer, 0)) for layer, tokens in wanted.items())


def _newest_within(said: Sequence[ContextItem], room: int, model: str | None) -> list[str]:
    """The lines of *said*, oldest first, as many of the newest as *room* holds."""
    names = _names_of(said)
    lines: list[str] = []
    for item in reversed(said):
        bare = len(names) == 1 and item.words is not None
        line = one_line((item.words or "") if bare else item.text)[:MAX_LINE_CHARS]
        line = line if line[-1:] in SENTENCE_ENDS else f"{line}."
        room -= estimate_tokens(line, model) + 1
        if room < MESSAGE_OVERHEAD + 10:
            break
        lines.insert(0, line)
    return lines


def _name_company(newest: Sequence[ContextItem]) -> str:
    """With whom it talks; empty where nobody gave a name."""
    names = dict.fromkeys(item.name for item in newest if item.role == "user" and item.name)
    known = [name for name in names if name != UNNAMED]
    return f"You are talking with {join_names(known)}." if known else ""


def _whose(said: Sequence[ContextItem]) -> str:
    names = _names_of(said)
    name = next(iter(names)) if len(names) == 1 else ""
    return f"{name} said" if name else "people said"


def _names_of(said: Sequence[ContextItem]) -> set[str]:
    """Who said something; whoever had no name yet has the one that was given since."""
    names = {item.name or "" for item in said}
    return names - {UNNAMED} or names


def _note(items: Sequence[ContextItem], role: str, shown: int, full: str, model: str | None) -> DroppedNote | None:
    """What of *items* with *role* is not shown, where any is: all but the newest *shown*."""
    of_role = [item for item in items if item.role == role]
    gone = of_role[: len(of_role) - shown]
    if not gone:
        return None
    text = "\n".join(item.text for item in gone)
    return DroppedNote(Layer.recent_history, "history:recent", "dropped", max(1, _tokens(gone, model)), full, text)


MAX_QUESTION_CHARS = 200
MAX_QUOTED_CHARS = 240
MAX_LINES = 200
"""Lines that are compared: more do not fit the prompt of so small a model."""
LEAST_SHARE, SURE_SHARE = 0.2, 0.3
"""Of the question's words, how many a line holds to be quoted, and to be quoted without a word of doubt."""
ADVICE_SHARE = 0.6
"""How many it holds where somebody may want advice: "what should I cook?"."""
LEAST_PREFIX = 3

NOTHING_TOLD = "I can't find that in what you have told me."

_QUESTION = re.compile(
    r"(?:(?:hey|hi|so|and|but|ok|okay|well|oh|hm+)\b[ ,]*)*"
    r"(?:what(?:['’]s)?|who(?:['’]s)?|where(?:['’]s)?|when(?:['’]s)?|which|why"
    r"|how (?:old|many|much|long|often|tall|far)"
    r"|(?:do|can) you (?:still )?(?:know|remember|recall|tell me)|remember|(?:am|did|do|have|was) i)\b",
    re.IGNORECASE,
)
_ASKS_MEMORY = re.compile(r"\b(?:do|can) you (?:still )?(?:know|remember|recall|tell me)\b", re.IGNORECASE)
_ABOUT_YOU = re.compile(r"\b(?:you|your|yours|yourself|you['’]\w+)\b", re.IGNORECASE)
_ADVICE = re.compile(
    r"\b(?:should|could|would|shall|will|can|may|might|must|if|now|next)\b|\bdo i (?:do|get|make|say)\b|\bto do\b",
    re.IGNORECASE,
)
_OWN_NAME = re.compile(r"(?:what(?:['’]s| is) my name|who am i)\W*(?:again\W*)?$", re.IGNORECASE)
_WHO_ARE_YOU = re.compile(
    r"(?:(?:and|so|hello|hi|hey)\b[ ,!.]*)*(?:who are you|what(?:['’]s| is) your name|what are you called)\W*$",
    re.IGNORECASE,
)
_IS_SOMEBODY = r"(?:you are|you['’]re|i am|i['’]m|{name} is) (?P<who>(?:{name}\b)?[^.!?\n]{{3,160}}[.!?])"
_WHO = r"(?P<who>[^\W_][^:\n(\[]{0,40}?)(?: \([^)\n]{1,40}\))?: "
_NOTE_LINE = re.compile(rf"- (?:{_WHO})?(?P<words>\S.*)")
_SAID_LINE = re.compile(rf"(?:- )?(?:\[[^\]\n]{{1,40}}\] )?{_WHO}(?P<words>\S.*)")
_TITLE = re.compile(r"# (?P<who>\S.*)")
_WEAK = frozenset(
    (
        *("name", "named", "called", "call", "number", "kind", "sort", "thing", "date", "day", "place"),
        *("made", "make", "like", "do", "go", "old", "live", "work", "play", "drink", "eat", "drive", "favourite"),
    )
)
"""Words that stand in many lines: alone they tell nothing."""
_PRESENT = {
    past: present
    for present, pasts in {
        "break": "broke broken",
        "buy": "bought",
        "drive": "drove driven",
        "find": "found",
        "grow": "grew grown",
        "lose": "lost",
        "meet": "met",
        "ride": "rode ridden",
        "sell": "sold",
        "teach": "taught",
        "win": "won",
        "write": "wrote written",
    }.items()
    for past in pasts.split()
}
_SENTENCE = re.compile(r"[^.!?？…]+[.!?？…]*[\"'”’»)*_]*\s*")
_CLOSERS = " \t\n\"'”’»)*_"
_FOUND_AT = re.compile(r"\[(?P<at>\d{4}-\d\d-\d\d(?: \d\d:\d\d)?)[^\]\n]{0,40}\]\s*$")
_DATED = re.compile(r"(?:- )?(?:\[|[^:\n(\[]{1,60}\()(?P<at>\d{4}-\d\d-\d\d(?: \d\d:\d\d)?)")
_RELATION = re.compile(rf"\b(?:my|our) (?:[\w-]+ ){{0,2}}?{RELATION}\b", re.IGNORECASE)
_IN_A_PLACE = re.compile(r"\b(?:in|at|to|from|near|into|around|behind|under|beside) (?:(?:the|a|an|my|our) )?\w")
_A_DATE = re.compile(rf"\d|\b{MONTH}\b", re.IGNORECASE)
_ANY_RELATION = re.compile(rf"\b{RELATION}\b", re.IGNORECASE)
_TO_REMEMBER = re.compile(
    r"\W*(?:please |and |also )*(?:remember|remind|note|don['’]?t forget|never forget)\b", re.IGNORECASE
)
_ALIKE = tuple(
    frozenset(group.split())
    for group in (
        "work job living profession occupation career employed",
        "name named called call",
        "live lives home moved move city town",
        "birthday born birth",
        "afraid scared scares scare fear",
        "like likes love loves favourite favorite enjoy prefer",
        "wife husband partner married spouse",
        "car drive drives",
        "eat eats food diet vegetarian vegan allergic",
    )
)

_KINDS = {
    kind: frozenset(members.split())
    for kind, members in {
        "instrument": "piano guitar violin viola cello bass drums flute clarinet oboe bassoon trumpet trombone horn"
        " saxophone sax harp organ accordion banjo ukulele mandolin harmonica recorder keyboard fiddle",
        "pet": "dog cat puppy kitten hamster rabbit parrot budgie tortoise turtle goldfish snake horse pony ferret",
        "sibling": "brother sister twin",
        "colour": "red blue green yellow orange purple pink black white grey gray brown turquoise violet beige",
        "language": "english german french spanish italian portuguese dutch polish russian turkish arabic kurdish"
        " hindi japanese chinese korean swedish danish norwegian finnish greek welsh irish latin",
    }.items()
}
"""What a question asks for by its kind: a line that names one of the kind holds it. The other way round it does not."""


NOTED, JUST_SAID = 1, 2


@dataclass(frozen=True)
class _ToldLine:
    """Something told, and by whom; None: the familiar's own note."""

    who: str | None
    about: str
    """Whose notes it stands in."""
    words: str
    at: str = ""
    """When it was said, where that is known: an ISO date, and the time of day where that is known too."""
    standing: int = 0
    """Of two of which one has no date the one with more is the later: what was found, a note, what was just said."""

    def is_later(self, other: _ToldLine) -> bool:
        """Whether it was said after *other*, as far as that can be told."""
        return self.at > other.at if self.at and other.at else self.standing > other.standing


def quote_memory(items: Sequence[ContextItem], quotable: Sequence[str], turn: Turn | None) -> str | None:
    """The answer to the last message, quoted from *items*, from *quotable* or from the talk; None: ask the model."""
    entry = next((each for each in reversed(turn.messages) if each.in_exchange), None) if turn is not None else None
    if turn is None or entry is None or entry.author_kind != "user":
        return None
    said = entry.individual_contents[-1] if entry.individual_contents else entry.content
    question = _strip_call(" ".join(extract_notes(said or "")[1].split()), turn.persona)
    if turn.persona and _WHO_ARE_YOU.match(question):
        return _introduce(items, turn.persona)
    if not _asks_for_something_told(question):
        return None
    asker = entry.author_name
    if _OWN_NAME.match(question):
        return f"You are {asker}."
    told = _list_told([*_lines_of_items(items), *_lines_said(quotable), *_lines_of_talk(turn)], turn, said or "")
    if concerns_speaker(question):
        told = [line for line in told if asker in (line.who, line.about)]
    query = parse_query(question, names=[], now=entry.created_at or datetime.now(UTC))
    best, share = _find_holding(query, told)
    wants_advice = _ADVICE.search(question) is not None
    if best is not None and share >= (ADVICE_SHARE if wants_advice else LEAST_SHARE):
        return _say(best, asker, query, "I am not sure, but " if share < SURE_SHARE else "")
    is_about_asker = concerns_speaker(question) and not wants_advice and not question.lower().startswith("why")
    return NOTHING_TOLD if is_about_asker else None


def _introduce(items: Sequence[ContextItem], persona: str) -> str:
    """Who the familiar is, by the first sentence of its description where that says so."""
    pattern = _IS_SOMEBODY.format(name=re.escape(persona))
    for item in items:
        found = re.match(pattern, item.text.strip(), re.IGNORECASE) if item.tag is ItemTag.PERSONA else None
        if found is not None and not _ABOUT_YOU.search(found["who"]):
            who = found["who"]
            return f"I'm {who}" if who.lower().startswith(persona.lower()) else f"I'm {persona}. I'm {who}"
    return f"I'm {persona}."


def _strip_call(text: str, persona: str) -> str:
    """*text* without the familiar's name at its start or end."""
    name = re.escape(persona) if persona else r"(?!)"
    return re.sub(rf"^(?:hey |hi )?{name}\s*[,:]?\s+|\s*,?\s+{name}(?=\W*$)", "", text, flags=re.IGNORECASE)


def _asks_for_something_told(question: str) -> bool:
    """Whether *question* may be answered by what somebody said, and not by the familiar about itself."""
    if len(question) > MAX_QUESTION_CHARS or not _QUESTION.match(question):
        return False
    return not _ABOUT_YOU.search(_ASKS_MEMORY.sub("", question))


def _list_told(lines: Sequence[_ToldLine], turn: Turn, asked: str) -> list[_ToldLine]:
    """What people told, the talk last, each once."""
    found: dict[str, _ToldLine] = {}
    for line in lines:
        words = _without_questions(line.words)
        if line.who != turn.persona and line.words != asked and _tells_something(words):
            known = found.pop(words, None)
            found[words] = known if known is not None and known.is_later(line) else replace(line, words=words)
    return list(found.values())[-MAX_LINES:]


def _without_questions(words: str) -> str:
    """*words* without what only asks: a question that holds the words of another is no answer to it."""
    sentences = _SENTENCE.findall(words)
    told = [each for each in sentences if not each.rstrip(_CLOSERS).endswith(("?", "？"))]
    return words if len(told) == len(sentences) else "".join(told).strip()


def _tells_something(words: str) -> bool:
    """Whether one sentence of *words* is no request."""
    for sentence in map(str.strip, _SENTENCE.findall(words)):
        if not IMPERATIVE.search(sentence) or _TO_REMEMBER.match(sentence):
            return True
    return False


def _lines_of_items(items: Sequence[ContextItem]) -> Iterator[_ToldLine]:
    for item in items:
        if item.tag is ItemTag.FOUND:
            yield from _lines_said([item.text])
        about = ""
        for text in item.text.splitlines() if item.tag is ItemTag.PEOPLE else ():
            if title := _TITLE.fullmatch(text):
                about = title["who"].strip()
            elif match := _NOTE_LINE.fullmatch(text):
                yield _ToldLine(match["who"], about, match["words"], _date_of(text), NOTED)


def _lines_said(texts: Sequence[str]) -> Iterator[_ToldLine]:
    for text in texts:
        at = ""
        for line in text.splitlines():
            if (head := _FOUND_AT.match(line)) is not None:
                at = head["at"]
            elif (match := _SAID_LINE.fullmatch(line)) is not None:
                yield _ToldLine(match["who"], "", match["words"], _date_of(line) or at)


def _date_of(line: str) -> str:
    found = _DATED.match(line)
    return found["at"] if found is not None else ""


def _lines_of_talk(turn: Turn) -> Iterator[_ToldLine]:
    for entry in turn.messages:
        if entry.author_kind == "user" and entry.author_type == "user" and not entry.in_exchange and entry.content:
            at = entry.created_at.strftime("%Y-%m-%d %H:%M") if entry.created_at is not None else ""
            for text in extract_notes(entry.content)[1].splitlines():
                yield _ToldLine(entry.author_name, entry.author_name, text.strip(), at, JUST_SAID)


def _find_holding(query: SearchQuery, told: Sequence[_ToldLine]) -> tuple[_ToldLine | None, float]:
    """As `_find_best`, among what still holds: what its speaker later said otherwise is not quoted."""
    left = list(told)
    while True:
        best, share = _find_best(query, left)
        if best is None or not any(
            each.who == best.who and each.is_later(best) and replaces(each.words, best.words)
            for each in told
            if each is not best
        ):
            return best, share
        left.remove(best)


def _find_best(query: SearchQuery, told: Sequence[_ToldLine]) -> tuple[_ToldLine | None, float]:
    """The line that holds most of what is asked for, and the share of its words that it holds; of two the later."""
    wanted = [
        word for word in dict.fromkeys(query.words) if word not in ("again", "remember", "know", "tell", "recall")
    ]
    best, best_score, best_share = None, 0.0, 0.0
    words_of = [list(content_words(f"{line.words} {line.about}")) for line in told]
    spread = {word: 1 + sum(_holds(words, word) for words in words_of) for word in wanted}
    for line, words in zip(told, words_of, strict=True):
        held = [word for word in wanted if _holds(words, word)]
        is_all_held = len(held) == len(wanted)
        if not is_all_held and all(word in _WEAK or not _holds(words, word, exactly=True) for word in held):
            continue
        if _is_of_another(query, line.words) or not (is_all_held or _may_answer(query, line.words)):
            continue
        share = len(held) / max(1, len(wanted))
        score = sum(1 / spread[word] for word in held) + (0.25 if held and _is_of_kind(query, line.words) else 0.0)
        if score > 0 and score >= best_score:
            best, best_score, best_share = line, score, share
    return best, best_share


def _is_of_another(query: SearchQuery, text: str) -> bool:
    """Whether *text* tells of one of somebody's people, and nobody's people were asked for."""
    return _RELATION.search(text) is not None and _ANY_RELATION.search(query.text) is None


def _may_answer(query: SearchQuery, text: str) -> bool:
    """Whether *text*, which holds a part of what is asked for, tells a time, number or place where one is asked for."""
    if query.asks_where:
        return _IN_A_PLACE.search(text) is not None
    if query.asks_when and _A_DATE.search(text):
        return True
    return _is_of_kind(query, text) or not (query.asks_when or query.asks_number)


def _is_of_kind(query: SearchQuery, text: str) -> bool:
    """Whether *text* tells a time, a number or a place, as is asked for."""
    words = all_words(text)
    return (
        (query.asks_when and tells_time(text, words))
        or (query.asks_number and tells_number(text, words))
        or (query.asks_where and count_places_told(text) > 0)
    )


def _names_one_of_kind(words: Sequence[str], wanted: str) -> bool:
    kind = _KINDS.get(wanted.removesuffix("s").replace("color", "colour"))
    return kind is not None and not kind.isdisjoint(words)


def _holds(words: Sequence[str], wanted: str, *, exactly: bool = False) -> bool:
    """Whether one of *words* is the *wanted* one or one of its kind, or, unless *exactly*, means much the same."""
    if any(_is_same(word, wanted) for word in words) or _names_one_of_kind(words, wanted):
        return True
    return not exactly and any(wanted in group and not group.isdisjoint(words) for group in _ALIKE)


def _is_same(one: str, other: str) -> bool:
    """Whether two words are one, but for their endings."""
    one, other = _PRESENT.get(one, one), _PRESENT.get(other, other)
    if one == other:
        return True
    shorter = min(len(one), len(other))
    prefix = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    return prefix >= LEAST_PREFIX and prefix >= 0.75 * shorter and max(len(one), len(other)) - prefix <= LEAST_PREFIX


def _say(line: _ToldLine, asker: str, query: SearchQuery, doubt: str) -> str:
    words = _choose_sentences(line.words, query)
    if line.who is None:
        opening = "I noted this" if not doubt else "I noted this once"
    else:
        opening = ("you" if doubt else "You") + " told me" if line.who == asker else f"{line.who} told me"
    return f"{doubt}{opening}: “{words.strip()}”"


def _choose_sentences(text: str, query: SearchQuery) -> str:
    """*text* from the first sentence on that holds something asked for; of a long one the sentence that holds most."""
    sentences = _SENTENCE.findall(text) or [text]
    held = [sum(_holds(list(content_words(each)), word) for word in query.words) for each in sentences]
    rest = "".join(sentences[next((at for at, count in enumerate(held) if count), 0) :])
    if len(rest) <= MAX_QUOTED_CHARS:
        return rest
    best = sentences[held.index(max(held))]
    return best if len(best) <= MAX_QUOTED_CHARS else f"{best[:MAX_QUOTED_CHARS].rstrip()}…"
