"""People on file: which names point at their notes.

`people/_aliases.json` maps a lower-cased name to a slug, or to several, most recently active first. It
is derived: rebuilt from those who took part in open talk and from the `## Aliases` list of every open people
file, so that it holds nothing that was said to some only. Names only ever point at a file; a file is found
by the slug alone.
"""

from __future__ import annotations

import json
import logging
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from familiar_connect.audience import parse_audience
from familiar_connect.errors import MemoryStoreError
from familiar_connect.identity import Author
from familiar_connect.memory.file_audience import CLOSE_KINDS, is_marked, read_audience
from familiar_connect.memory.note_paths import PEOPLE, is_archive, people_path
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.types import WRITER_SOURCE
from familiar_connect.memory.writing.markdown_sections import bullets_under
from familiar_connect.support.text import one_line

ALIASES_PATH = "people/_aliases.json"
ALIASES_HEADING = "Aliases"
MAX_ALIAS_CHARS = 64
MAX_SLUGS_PER_ALIAS = 20
MAX_ALIAS_FILES = 8
"""Alias indexes that are taken apart once, as long as they read the same."""

STOP_WORDS = frozenset(
    """
    a about above actually admin after again against ago ah ain't all almost alone along already also although
    always am among an and anonymous another any anybody anyone anything anyway are aren't around as ask
    assistant at auf avec away back bad be because been before behind being below best better between big bot
    both boy bro but by bye call came can can't cannot ce channel chat che come coming con cool could couldn't
    dad dans das day de dear der des di did didn't die do does doesn't doing don't done down du dude during each
    ein eine either el ella elle else en enough er es est et even ever every everybody everyone everything
    except far few fine first for friend from fun game get gets getting girl give gli go god goes going gone
    good got great group guy guys had hadn't haha hahaha half happy hard has hasn't have haven't having he he'd
    he'll he's hello help her here hers herself hey hi him himself his hm hmm home how however i i'd i'll i'm
    i've ich if ihr il in instead into io is isn't ist it it's its itself ja je just keep kind knew know la las
    last late later le least leave left les less let let's life like little lmao lo lol long look looking loro
    los lot love made make makes man many may maybe me mean might mine mit mod moderator mom moment more morning
    most mother much mum must my myself name near need nein never new next nice nicht night no nobody noi non
    none noon nope nor nosotros not nothing nous now null of off often oh ok okay old omg on once one ones only
    onto or other others oui our ours ourselves out over own para pas people per perhaps person play please por
    pour pretty probably put que quite rather read ready real really right said same saw say says see seem seen
    self server several shall she she'd she'll she's should shouldn't si sie since sir sister so some somebody
    someone something sometimes sono soon sorry still stop such sure system take talk tell than thank thanks
    that that's the their theirs them themselves then there there's these they they'd they'll they're they've
    thing things think this those though thought three through till time to today together tomorrow tonight too
    took toward try tu two uh um un una und under une unknown unless until up upon us use used user very voi von
    vous wait want was wasn't way we we'd we'll we're we've well went were weren't what what's when where
    whether which while who who's whoever whole whom whose why will wir with without woman won't word words work
    world would wouldn't wow y yeah year yep yes yesterday yet yo you you'd you'll you're you've your yours
    yourself yourselves zu für sí tú è él
    """.split()  # noqa: SIM905
)
"""Words so common that, as a name, they would point at somebody in every sentence."""

ALSO_NAMES = frozenset({"an", "che", "di", "ella", "elle", "long", "may", "per", "will"})
"""Those of them that people are called: meant where they are written as a name, in the middle of a sentence."""

_DECORATION = "*_`~\"'“”‘’«»()[]<>.,:;!? \t"
_EXPLANATION = re.compile(r"\s+(?:\(.*|[—–-]\s.*)$")

_log = logging.getLogger(__name__)


def alias_key(name: str) -> str | None:
    """*name* as the index knows it; None for what may never be an alias."""
    key = one_line(unicodedata.normalize("NFC", name)).lower()
    if len(key) < 2 or len(key) > MAX_ALIAS_CHARS or not key.isprintable():
        return None
    if (key in STOP_WORDS and key not in ALSO_NAMES) or not any(character.isalnum() for character in key):
        return None
    return key


def harvest_aliases(markdown: str) -> list[str]:
    """The names listed under `## Aliases`."""
    found = (_EXPLANATION.sub("", words).strip(_DECORATION) for words in bullets_under(markdown, ALIASES_HEADING))
    return [name for name in found if name]


def read_aliases(store: MemoryStore) -> dict[str, list[str]]:
    """Lower-cased name → slugs, most recently active first; {} when the file is missing or malformed."""
    try:
        text = store.read_if_present(ALIASES_PATH) or "{}"
    except MemoryStoreError:
        text = ""
    return dict(_parse_aliases(text))


@lru_cache(maxsize=MAX_ALIAS_FILES)
def _parse_aliases(text: str) -> dict[str, list[str]]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        _log.warning("the alias index cannot be read; it is rebuilt by the next pass")
        return {}
    if not isinstance(data, dict):
        return {}
    found: dict[str, list[str]] = {}
    for name, value in data.items():
        slugs = [slug for slug in (value if isinstance(value, list) else [value]) if isinstance(slug, str) and slug]
        if slugs and (key := alias_key(name)) is not None:
            found[key] = slugs
    return found


def may_name_publicly(audience: str) -> bool:
    """Whether the names of those who spoke to *audience*, as `audience` writes it, may stand in the index."""
    return not audience or parse_audience(audience).kind not in CLOSE_KINDS


def rebuild_aliases(
    store: MemoryStore,
    roster: Sequence[Author],
    *,
    source: str = WRITER_SOURCE,
    run_id: str | None = None,
    turn_range: tuple[int, int] | None = None,
) -> dict[str, list[str]]:
    """Make the index anew from *roster* (most recently active first) and every people file; what it now says.

    Written only when it changed, and not at all when there is nothing to say.
    """
    claims: dict[str, list[str]] = {}
    for author in roster:
        _claim(claims, author.all_known_names, author.slug)
    for slug, names in _on_file(store).items():
        _claim(claims, names, slug)
    index = _order(claims, [author.slug for author in roster], read_aliases(store))
    shown = {name: slugs[0] if len(slugs) == 1 else slugs for name, slugs in sorted(index.items())}
    text = json.dumps(shown, ensure_ascii=False, indent=2) + "\n"
    if not index:
        if store.exists(ALIASES_PATH):
            store.delete_file(ALIASES_PATH, source=source)
    elif _current_text(store) != text:
        store.write_file(ALIASES_PATH, text, source=source, run_id=run_id, turn_range=turn_range)
    return index


def _current_text(store: MemoryStore) -> str | None:
    try:
        return store.read_if_present(ALIASES_PATH)
    except MemoryStoreError:
        return None


def _on_file(store: MemoryStore) -> dict[str, list[str]]:
    """Slug → names in the open files, of the file changed last first. One that cannot be read costs its names only."""
    try:
        entries = store.list_dir(PEOPLE)
    except MemoryStoreError:
        return {}
    found: dict[str, list[str]] = {}
    for entry in sorted(entries, key=lambda entry: (-entry.modified.timestamp(), entry.name)):
        path = PurePosixPath(entry.name)
        is_kept_apart = is_archive(path.name) or is_marked(path.name)
        if entry.is_dir or path.suffix != ".md" or path.name.startswith(("_", ".")) or is_kept_apart:
            continue
        try:
            text = store.read_file(people_path(path.stem))
            said_to = read_audience(text)
            if said_to is None or said_to.kind not in CLOSE_KINDS:
                found[path.stem] = harvest_aliases(text)
        except MemoryStoreError as error:
            _log.warning("a people file was passed over for aliases", extra={"error": type(error).__name__})
    return found


def _claim(claims: dict[str, list[str]], names: Iterable[str], slug: str) -> None:
    for name in names:
        key = alias_key(name)
        if key is not None and slug and slug not in claims.setdefault(key, []):
            claims[key].append(slug)


def _order(
    claims: Mapping[str, list[str]], active: Sequence[str], before: Mapping[str, list[str]]
) -> dict[str, list[str]]:
    """Whoever was active now first, then in the order known before, then as found."""
    now = {slug: rank for rank, slug in enumerate(dict.fromkeys(active))}
    last = len(now)

    def rank(name: str, slug: str, found_at: int) -> tuple[int, int, int]:
        known = before.get(name, [])
        return now.get(slug, last), known.index(slug) if slug in known else len(known), found_at

    return {
        name: [slug for _, slug in sorted((rank(name, slug, found_at), slug) for found_at, slug in enumerate(slugs))][
            :MAX_SLUGS_PER_ALIAS
        ]
        for name, slugs in claims.items()
        if slugs
    }
