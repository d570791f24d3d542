"""Deterministic people lookup: the floor of content search.

Loads the notes on everyone in the exchange, speaker first: no model, no index, nothing that can be
offline. Each file is cut to a token cap; when the total grows too large the tail is dropped, never the
speaker. Everything found so far is there at any moment, so a deadline costs only what comes later.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

from familiar_connect.audience import Audience
from familiar_connect.context.providers.content_search.mentions import find_mentions
from familiar_connect.context.types import ContextRequest, Contribution, ItemTag, Layer, Priority
from familiar_connect.errors import MemoryStoreError
from familiar_connect.identity import Author
from familiar_connect.memory.note_paths import people_path
from familiar_connect.memory.people import read_aliases
from familiar_connect.memory.store import DEFAULT_MAX_RESULTS_PER_OP, MemoryStore
from familiar_connect.memory.visible_memory import VisibleMemory
from familiar_connect.memory.weighing.answers import replaces
from familiar_connect.memory.weighing.statements import weigh_line
from familiar_connect.support.markdown import document_title, find_section, read_headings
from familiar_connect.support.text import one_line, truncate_chars
from familiar_connect.support.tokens import chars_within, estimate_tokens, truncate

PEOPLE_LOOKUP_PRIORITY = int(Priority.PEOPLE)
PEOPLE_LOOKUP_SOURCE = "content_search.people"
DEFAULT_MAX_TOKENS_PER_FILE = 800
"""Enough for a page of notes; the rest of the file is reachable by search."""
MAX_PEOPLE = 64
"""Files looked for in one turn, whoever is in the room."""
KEPT_TEXTS = 128
"""Files whose shown text is kept from turn to turn."""
MAX_COMPARED = 60
"""Quotes of each file of a person that are compared with those of their other files, the newest."""
LEFT_OUT = "\n[… the rest of these notes is left out]"

KEPT_FOR_THE_PROGRAM = ("Aliases", "Sessions", "Links")
"""Sections of a people file whose lists no model needs to read."""
_LIST_ITEM = re.compile(r"\s*[-*] (?P<text>.*)")
TERMINAL_FILES = "people/terminal-"
_NAME_CHARS = 64
_QUOTE = re.compile(
    r"^(?P<mark>[ \t]*[-*] )(?P<day>\d{4}-\d\d-\d\d), (?P<name>[^:\n]{1,80}) said: (?P<words>.*)$", re.MULTILINE
)
_NEEDS_ITS_DAY = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|now|currently|this|last|next|ago|soon|since|week|month|year|until|just|"
    r"recently|gestern|heute|morgen|hier|demain|ayer|hoy|mañana)\b",
    re.IGNORECASE,
)
"""Words that mean another time with every day they are said on."""


@dataclass
class LookupResult:
    """What the lookup found: one contribution for each file, and the files."""

    contributions: list[Contribution] = field(default_factory=list)
    rel_paths: list[str] = field(default_factory=list)
    has_speaker: bool = field(default=False, compare=False)
    """Whether all that is kept on the speaker was read, if there is any."""

    def snapshot(self) -> LookupResult:
        """What is here now; a lookup still under way in another thread no longer changes it."""
        paths = self.rel_paths.copy()
        return LookupResult(self.contributions[: len(paths)], paths, self.has_speaker)


def lookup(
    store: MemoryStore | VisibleMemory,
    request: ContextRequest,
    *,
    recent_authors: Iterable[Author] = (),
    content_cap_tokens: int | None = None,
    max_tokens_per_file: int = DEFAULT_MAX_TOKENS_PER_FILE,
) -> list[Contribution]:
    """The notes on everyone this exchange is about, most concerned first."""
    return lookup_with_paths(
        store,
        request,
        recent_authors=recent_authors,
        content_cap_tokens=content_cap_tokens,
        max_tokens_per_file=max_tokens_per_file,
    ).contributions


def lookup_with_paths(
    store: MemoryStore | VisibleMemory,
    request: ContextRequest,
    *,
    recent_authors: Iterable[Author] = (),
    content_cap_tokens: int | None = None,
    max_tokens_per_file: int = DEFAULT_MAX_TOKENS_PER_FILE,
    into: LookupResult | None = None,
    closed: Collection[str] = (),
) -> LookupResult:
    """As `lookup`, with the paths; *into* is filled file by file, for whoever cannot wait for the end.

    *closed* are the slugs of people who want no notes shown.
    """
    result = LookupResult() if into is None else into
    steps = lookup_in_steps(
        store,
        request,
        result,
        recent_authors=recent_authors,
        content_cap_tokens=content_cap_tokens,
        max_tokens_per_file=max_tokens_per_file,
        closed=closed,
    )
    for _ in steps:
        pass
    return result


def lookup_in_steps(
    store: MemoryStore | VisibleMemory,
    request: ContextRequest,
    into: LookupResult,
    *,
    recent_authors: Iterable[Author] = (),
    content_cap_tokens: int | None = None,
    max_tokens_per_file: int = DEFAULT_MAX_TOKENS_PER_FILE,
    closed: Collection[str] = (),
) -> Iterator[None]:
    """Fill *into* file by file; stops once on the way, when all that is kept on the speaker was read."""
    visible = store if isinstance(store, VisibleMemory) else VisibleMemory.of(store, request)
    files = _PeopleFiles(visible)
    used = 0
    if request.author is None:
        into.has_speaker = True
        yield
    for person in _people(visible.store, request, recent_authors):
        for notes in files.read(person.slug) if person.slug not in closed else ():
            found = _contribution(person, notes, max_tokens_per_file)
            if not found.text:
                into.rel_paths.append(notes.rel_path)
                continue
            too_much = content_cap_tokens is not None and used + found.estimated_tokens > content_cap_tokens
            if too_much and not person.speaks:
                into.has_speaker = True
                return
            used += found.estimated_tokens
            into.contributions.append(found)
            into.rel_paths.append(notes.rel_path)
        if person.speaks:
            into.has_speaker = True
            yield
    into.has_speaker = True


@dataclass(frozen=True)
class _Person:
    """Somebody whose notes may matter, and how much: the speaker has rank 0."""

    slug: str
    rank: int
    name: str = ""
    mentioned: bool = False

    @property
    def speaks(self) -> bool:
        return self.rank == 0


@dataclass(frozen=True)
class _Notes:
    rel_path: str
    text: str
    audiences: frozenset[Audience]


def _people(store: MemoryStore, request: ContextRequest, recent_authors: Iterable[Author]) -> Iterator[_Person]:
    """Each person once, most concerned first. The alias index is read only when everyone present has been named."""
    seen: set[str] = set()
    if request.author is not None:
        seen.add(request.author.slug)
        yield _Person(request.author.slug, 0, request.author.label)
    present = [turn.author for turn in request.pending_turns if turn.author is not None]
    for author in chain(present, recent_authors):
        if author.slug not in seen and len(seen) < MAX_PEOPLE:
            seen.add(author.slug)
            yield _Person(author.slug, len(seen), author.label)
    utterances = dict.fromkeys((request.utterance, *(turn.text for turn in request.pending_turns)))
    for written, name in find_mentions("\n".join(utterances), read_aliases(store)).items():
        slug = written.lower()
        if _is_plain_name(slug) and slug not in seen and len(seen) < MAX_PEOPLE:
            seen.add(slug)
            yield _Person(slug, len(seen), name, mentioned=True)


def _is_plain_name(slug: str) -> bool:
    """Whether *slug* can only be a file of the people folder, whatever a hand wrote into the index."""
    return not slug.startswith((".", "_")) and not any(char in slug for char in "/\\\0")


class _PeopleFiles:
    """The people folder as one lookup sees it."""

    def __init__(self, memory: VisibleMemory) -> None:
        self._memory = memory
        self._listed: dict[str, str] | None = None

    def read(self, slug: str) -> Iterator[_Notes]:
        """The notes on *slug*; an open file whose name differs in letter case only is found too."""
        path = people_path(slug)
        paths = self._memory.files_of(path)
        if path not in paths and not self._memory.store.exists(path):
            paths = [*filter(None, [self._variant(path)]), *paths]
        looks = [(each, self._memory.look(each)) for each in paths]
        told = [(each, shown) for each, shown in looks if shown.text.strip()]
        texts = without_replaced(tuple(shown.text for _, shown in told))
        for (each, shown), text in zip(told, texts, strict=True):
            yield _Notes(each, text, shown.audiences)

    def _variant(self, path: str) -> str | None:
        if self._listed is None:
            self._listed = {found.casefold(): found for found in self._glob("people/*.md")}
        found = self._listed.get(path.casefold())
        if found is None and len(self._listed) >= DEFAULT_MAX_RESULTS_PER_OP:  # the listing was cut short
            pattern = "".join(f"[{c.lower()}{c.upper()}]" if c.isascii() and c.isalpha() else c for c in path)
            found = next(iter(self._glob(pattern)), None)
        return found

    def _glob(self, pattern: str) -> list[str]:
        try:
            return self._memory.store.glob(pattern)
        except MemoryStoreError:
            return []


def _contribution(person: _Person, notes: _Notes, max_tokens: int) -> Contribution:
    text = _show_text(notes.text, max_tokens)
    return Contribution(
        Layer.content,
        PEOPLE_LOOKUP_PRIORITY,
        text,
        estimate_tokens(text),
        PEOPLE_LOOKUP_SOURCE,
        tag=ItemTag.PEOPLE,
        order=person.rank,
        key=person.slug,
        volatile=person.mentioned,
        label=f"notes about {_show_name(person, notes)}{_show_path(notes)}",
        audiences=notes.audiences,
    )


@lru_cache(maxsize=KEPT_TEXTS)
def without_replaced(texts: tuple[str, ...]) -> tuple[str, ...]:
    """*texts*, the files of one person, without quotes that a later one in another of them takes the place of.

    Somebody tells everyone that they moved to Graz, and later in a direct message that they live in Vienna: the file
    for everyone goes on saying Graz, but who may hear both is told what holds.
    """
    files = [text.split("\n") for text in texts]
    quotes = [{at: found for at, line in enumerate(lines) if (found := _QUOTE.match(line))} for lines in files]
    newest = [list(each.values())[-MAX_COMPARED:] for each in quotes] if len(texts) > 1 else []
    for number, lines in enumerate(files) if newest else ():
        later = [quote for other, each in enumerate(newest) if other != number for quote in each]
        for at, quote in reversed(list(quotes[number].items())[-MAX_COMPARED:]):
            if any(each["day"] > quote["day"] and replaces(each["words"], quote["words"]) for each in later):
                del lines[at]
    return tuple("\n".join(lines) for lines in files)


@lru_cache(maxsize=KEPT_TEXTS)
def _show_text(text: str, max_tokens: int) -> str:
    """What a prompt shows of notes; the same people are in a conversation for long, and their notes change seldom."""
    return fit_quotes(without_lists_of_links(text), max_tokens)


def fit_quotes(text: str, max_tokens: int) -> str:
    """*text* with short quotes, within *max_tokens*: those that weigh least are left out first, the older of equals.

    A list that was cut at its end would show the first weeks for ever, and never what was told since.
    """
    shown = with_short_quotes(text)
    over = estimate_tokens(shown) - max_tokens
    if over <= 0:
        return shown
    lines = text.splitlines()
    quotes = {at: weigh_line(found["words"]) for at, line in enumerate(lines) if (found := _QUOTE.match(line))}
    lightest = sorted(quotes, key=lambda at: (quotes[at], at))
    dropped: set[int] = set()
    while over > 0 and len(dropped) < len(lightest):
        for at in lightest[len(dropped) :]:
            over -= estimate_tokens(with_short_quotes(lines[at]))
            dropped.add(at)
            if over <= 0:
                break
        kept = with_short_quotes("\n".join(line for at, line in enumerate(lines) if at not in dropped)).rstrip()
        shown = kept + LEFT_OUT
        over = estimate_tokens(shown) - max_tokens  # line by line the count is a little less than of the whole
    return cut_near_line_end(shown, max_tokens)


def without_lists_of_links(text: str) -> str:
    """*text* without what a file keeps for the program: names to be found by, and links to other files.

    Empty where nothing but headings would be left; as it is where it holds none of these.
    """
    lines = text.splitlines()
    found = [span for title in KEPT_FOR_THE_PROGRAM if (span := find_section(lines, title, levels=(2,))) is not None]
    if not found:
        return text
    for start, end in sorted(found, reverse=True):
        title = lines[start].strip("# ")
        lines[start:end] = [line for line in lines[start + 1 : end] if not _is_for_the_program(line, title)]
    headings = {heading.line for heading in read_headings(lines)}
    if not any(line.strip() for number, line in enumerate(lines) if number not in headings):
        return ""
    return "\n".join(lines).rstrip() + "\n"


def with_short_quotes(text: str) -> str:
    """*text* with who said it before each quote, and the day only where the words need it to be understood.

    A list of forty quotes would otherwise spend more tokens on dates than on what was said.
    """
    return _QUOTE.sub(_short_quote, text)


def _short_quote(found: re.Match[str]) -> str:
    day = f" ({found['day']})" if _NEEDS_ITS_DAY.search(found["words"]) else ""
    return f"{found['mark']}{found['name']}{day}: {found['words']}"


def _is_for_the_program(line: str, title: str) -> bool:
    """Whether *line* of the section *title* is part of its list; a person's own words below it are not."""
    item = _LIST_ITEM.match(line)
    return not line.strip() or (item is not None and (title == "Aliases" or item["text"].startswith("[")))


def _show_path(notes: _Notes) -> str:
    """Where the notes are kept; not of somebody in a terminal, whose file is named after an account."""
    return "" if notes.rel_path.startswith(TERMINAL_FILES) else f" ({notes.rel_path})"


def _show_name(person: _Person, notes: _Notes) -> str:
    """What people call them; for somebody merely mentioned, what their file does."""
    title = document_title(notes.text[:1000]) if person.mentioned else None
    name = title or person.name
    return one_line(name)[:_NAME_CHARS].strip() or person.slug


def cut_near_line_end(text: str, max_tokens: int) -> str:
    """*text* within *max_tokens*: up to a line end where one is near, and saying that something is missing."""
    if estimate_tokens(text) <= max_tokens:
        return text
    room = chars_within(text, max_tokens - estimate_tokens(LEFT_OUT))
    if room < len(LEFT_OUT):
        return truncate(text, max_tokens)
    line_end = text.rfind("\n", 0, room + 1)
    kept = text[:line_end] if line_end > room * 2 // 3 else truncate_chars(text, room)
    return kept.rstrip() + LEFT_OUT
