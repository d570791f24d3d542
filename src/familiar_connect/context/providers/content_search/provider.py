"""ContentSearchProvider: the three tiers of finding what memory holds for a message.

Tier 1, the people floor, needs no model and no index and lands in every turn: it has a deadline and
threads of its own, the speaker's file is waited for as long as there is time, and what was read of it is handed over
even where the provider itself is late. Tier 2, retrieval, finds what bears on the message: nothing for small talk,
nothing that the prompt shows anyway, each piece once; it goes in as it was found. Tier 3, a side model that picks, is
asked only where not all of that fits, or where the owner wants it. Tiers 2 and 3 share what time is left and end before
the provider must; whatever they do (hang, fail, ignore being cancelled), the floor is returned. What is spoken is
searched for too, with little time and no model that picks; what is written in `imitate_voice` has the floor alone.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, TypeVar

from familiar_connect.config.types import FILTER_NEVER, FILTER_WHEN_FULL, ChannelMode
from familiar_connect.context.providers.content_search import filter as filter_tier
from familiar_connect.context.providers.content_search import people_lookup
from familiar_connect.context.providers.content_search.linked_files import tell_linked_files
from familiar_connect.context.providers.content_search.people_lookup import DEFAULT_MAX_TOKENS_PER_FILE, LookupResult
from familiar_connect.context.providers.content_search.unfiltered import (
    NO_SIDE_WORK,
    SearchReport,
    as_chunks,
    best_hits_contribution,
    content_budget,
    direct_budget,
    find_first_shown_turn,
    has_small_budget,
    hits_fit,
    holds_more,
    quotable_budget,
    with_lore_macros,
)
from familiar_connect.context.providers.scene.text import persona_of, question_of
from familiar_connect.context.types import (
    ASSEMBLY_SHARE,
    FILES_DEADLINE_S,
    NO_DEADLINE,
    ContextRequest,
    Contribution,
    Modality,
)
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import EVERYTHING_ALLOWED, Author, Privacy
from familiar_connect.llm.protocols import SideModel
from familiar_connect.llm.types import capabilities_of
from familiar_connect.memory.index.protocols import Recollection, Retriever, WakingRetriever
from familiar_connect.memory.index.query import concerns_speaker
from familiar_connect.memory.index.relevance import (
    Hit,
    only_relevant,
    without_known,
    without_neighbours,
    without_others_selves,
    without_padding,
)
from familiar_connect.memory.note_paths import people_path, people_path_prefixes
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.visible_memory import VisibleMemory, only_visible, recall_scope
from familiar_connect.support.aio import BackgroundTasks, LateTasks, off_loop
from familiar_connect.support.thread_pools import ThreadPool

logger = logging.getLogger(__name__)

T = TypeVar("T")

DEFAULT_DEADLINE_S = 15.0
DEFAULT_TOP_K = 8
DEFAULT_RECENT_AUTHORS = 5
DEFAULT_RECENT_TURNS = 20
MAX_TOLD = 120
"""Pieces that go into one prompt at most; what people write to each other is short."""
WEIGHED_FOR_FILTER = 48
"""Of so many pieces all must fit, or a model is asked to pick; the others fill what room is left."""
MOST_WITH_NEIGHBOURS = 4
"""Pieces, best first, that are shown with what stands beside them."""
RECALLED_PER_CHUNK = 15
"""What a recalling retriever finds is a sentence or a turn, so small that so many of them make a chunk."""
CHARACTER_FOLDER = "self/"
FLOOR_DEADLINE_S = FILES_DEADLINE_S
RETRIEVAL_DEADLINE_S = 2.0
SPOKEN_SEARCH_S = 0.6
"""The same between a spoken word and its answer; a search takes a few hundredths of a second."""
MAX_SPOKEN_TOKENS = 120
"""Of what is recalled for something spoken: a small machine reads it before it says a word."""
WAKING_SHARE = 0.8
"""Of the time that is left, what the first question of a process may wait for memory to be loaded, and then for the
search itself."""
LEAST_FILTER_S = 0.3
"""With less time than this no model is asked."""
SPARE_S = 0.1
"""So long, or a tenth, before the granted time is up, the later tiers are over: the floor is never late with them."""
LINKED_SHARE = 3
"""What is linked to what was found gets at most this part of its room, and only what that leaves."""
SMALL_FILE_TOKENS = 150
"""Length of each people file in `imitate_voice`."""
LEAST_FILE_TOKENS = 48


@dataclass(frozen=True, kw_only=True)
class SearchScope:
    """What of memory is searched for a message."""

    recent_turns: int = DEFAULT_RECENT_TURNS
    """Turns of the channel that the prompt shows anyway, where there is room for them."""
    window_step: int = 0
    """Turns that the start of those moves by; 0: there are always exactly as many."""
    exclude_folders: tuple[str, ...] = ()
    """Folders, each with its slash, that have blocks of their own."""
    audiences: PartAudiences | None = None
    """Whom memory was told to; None: only what the files themselves say of it."""
    privacy: Privacy = EVERYTHING_ALLOWED


class ContentSearchProvider:
    """Long-lived: one instance serves every channel of a familiar."""

    id = "content_search"
    deadline_s = DEFAULT_DEADLINE_S

    def __init__(
        self,
        *,
        store: MemoryStore,
        llm_client: SideModel | None,
        history_store: HistoryStore | None = None,
        retriever: Retriever | None = None,
        index_build: Callable[[], Awaitable[None]] | None = None,
        top_k: int = DEFAULT_TOP_K,
        content_cap_tokens: int | None = None,
        max_tokens_per_file: int = DEFAULT_MAX_TOKENS_PER_FILE,
        recent_author_limit: int = DEFAULT_RECENT_AUTHORS,
        scope: SearchScope | None = None,
    ) -> None:
        scope = scope or SearchScope()
        self.llm_client = llm_client
        self._retriever = retriever
        self._history = history_store
        self._index_build = index_build
        self._top_k = top_k
        self._content_cap = content_cap_tokens
        self._max_tokens_per_file = max_tokens_per_file
        self._recent_author_limit = recent_author_limit
        self._recent_turns = scope.recent_turns
        self._window_step = scope.window_step
        self._exclude_folders = scope.exclude_folders
        self._audiences = scope.audiences or PartAudiences(store)
        self._privacy = scope.privacy
        self._build_started = False
        self._floors: dict[int, LookupResult] = {}
        """The people files read so far, by the request they are read for."""
        self._background = BackgroundTasks(self.id)
        self._late = LateTasks("content search tier failed after its deadline")

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        loop = asyncio.get_running_loop()
        ends = loop.time() + time_usable_s(time_granted_s(request, self.deadline_s))
        memory = VisibleMemory.of(self._audiences, request)
        floor = self._floors[id(request)] = LookupResult()
        limit = tier_limit_s(FLOOR_DEADLINE_S, ends - loop.time())
        reading = loop.create_task(self._read_people(request, memory, floor, limit / 3), name=f"{self.id}:people")
        try:
            await self._wait(reading, limit, "people")
            self._start_index_build()
            told = SearchReport()
            found = await self._later_tiers(request, memory, floor.snapshot(), ends, told)
            if not floor.has_speaker:
                await self._wait(reading, ends - loop.time(), "the speaker's file")
            return told.about([*floor.snapshot().contributions, *found])
        finally:
            self._floors.pop(id(request), None)
            if not reading.done():
                self._late.leave_behind(reading)

    def peek_contributions(self, request: ContextRequest) -> list[Contribution]:
        """The people files that are read already, for a turn that cannot wait for the rest."""
        floor = self._floors.get(id(request))
        return floor.snapshot().contributions if floor is not None else []

    async def aclose(self) -> None:
        """End what is still under way."""
        await self._background.aclose()
        self._late.cancel()

    # Tier 1

    async def _read_people(
        self, request: ContextRequest, memory: VisibleMemory, into: LookupResult, company_s: float
    ) -> None:
        """Read the people files, speaker first; who else was here lately is waited for no longer than *company_s*."""
        steps = people_lookup.lookup_in_steps(
            memory,
            request,
            into,
            recent_authors=self._recent_authors(request, company_s),
            content_cap_tokens=self._content_cap,
            max_tokens_per_file=self._tokens_per_file(request),
            closed=self._privacy.slugs_without_notes(),
        )
        loop = asyncio.get_running_loop()
        try:  # the speaker's file never waits in line behind everybody else's of other turns
            await loop.run_in_executor(_threads_of("speaker"), next, steps, None)
            await loop.run_in_executor(_threads_of("people"), tuple, steps)
        except Exception as error:  # isolation: what was read before stands
            logger.warning("content search tier failed", extra={"tier": "people", "error": type(error).__name__})

    def _recent_authors(self, request: ContextRequest, seconds: float) -> Iterator[Author]:
        """Who wrote here lately; asked once the speaker's file, which must not wait for this, is read."""
        if self._history is None or self._recent_author_limit <= 0:
            return
        work = partial(
            self._history.recent_distinct_authors,
            familiar_id=request.familiar_id,
            channel_id=request.channel_id,
            limit=self._recent_author_limit,
        )
        looking = _threads_of("company").submit(work)
        try:
            yield from looking.result(None if seconds == NO_DEADLINE else seconds)
        except Exception as error:  # isolation: the notes on everybody else are still to be read
            looking.cancel()
            logger.warning("content search tier failed", extra={"tier": "company", "error": type(error).__name__})

    def _tokens_per_file(self, request: ContextRequest) -> int:
        """What each file may have here: little in a small prompt, so that the speaker's stays whole in its layer."""
        limit = self._max_tokens_per_file
        if request.mode is ChannelMode.imitate_voice:
            limit = min(limit, SMALL_FILE_TOKENS)
        if has_small_budget(request):
            limit = min(limit, max(LEAST_FILE_TOKENS, content_budget(request) * 2 // 3))
        return limit

    # Tiers 2 and 3

    async def _later_tiers(
        self, request: ContextRequest, memory: VisibleMemory, people: LookupResult, ends: float, told: SearchReport
    ) -> list[Contribution]:
        """What bears on the message besides *people*; nothing where there is the floor alone, or something fails."""
        now = asyncio.get_running_loop().time
        is_spoken = request.modality is Modality.voice
        if request.mode is ChannelMode.imitate_voice and not is_spoken:
            return []
        try:
            limit = await self._wake(ends, told, SPOKEN_SEARCH_S if is_spoken else RETRIEVAL_DEADLINE_S)
            hits = await self._retrieve(request, memory, people, limit, told)
            told.note_hits(hits)
            return await self._choose(request, memory, people, hits, ends - now(), told)
        except Exception as error:  # isolation: whatever came back from the later tiers, the floor stands
            logger.warning("content search fell back to people", extra={"error": type(error).__name__})
            told.fail("error", f"the search of memory failed ({type(error).__name__})")
            return []

    async def _wake(self, ends: float, told: SearchReport, usual_s: float) -> float:
        """Wait for what searches memory, where it is not loaded yet; how long the search may take then.

        The first question of a process waits as long as it can: found late is better than not remembered.
        """
        now = asyncio.get_running_loop().time
        retriever, is_first = self._retriever, False
        if isinstance(retriever, WakingRetriever):
            is_first = not retriever.is_awake
            told.note(await retriever.wait_until_awake((ends - now()) * WAKING_SHARE))
        left = ends - now()
        return left * WAKING_SHARE if is_first else tier_limit_s(usual_s, left / 2)

    async def _retrieve(
        self, request: ContextRequest, memory: VisibleMemory, people: LookupResult, seconds: float, told: SearchReport
    ) -> list[Hit]:
        """What may bear on the message, best first, without what the prompt holds anyway."""
        if self._retriever is None or not request.utterance.strip():
            return []
        work = self._recall if _recalls(self._retriever) else self._query
        searching = work(self._retriever, request, memory, set(people.rel_paths))
        found = await self._in_time(searching, seconds, "retrieval")
        if found is None:
            told.fail("timeout", f"the search of memory did not end well within {seconds:.3g} s")
        elsewhere = (CHARACTER_FOLDER, *self._not_searched())
        hits = [with_lore_macros(hit, request) for hit in found or () if not (hit.rel_path or "").startswith(elsewhere)]
        return await off_loop(pick_worth_telling, request, hits)

    def _not_searched(self) -> tuple[str, ...]:
        """How the paths begin that have blocks of their own, or are about people who want no notes shown."""
        closed = (people_path_prefixes(slug) for slug in self._privacy.slugs_without_notes())
        return (*self._exclude_folders, *(prefix for prefixes in closed for prefix in prefixes))

    async def _query(
        self, retriever: Any, request: ContextRequest, memory: VisibleMemory, known: set[str]
    ) -> list[Hit]:
        known |= {people_path(slug) for slug in self._privacy.slugs_without_notes()}
        found = await retriever.query(question_of(request), top_k=self._top_k, exclude_paths=known)
        if request.readers is not None:
            found = await off_loop(only_visible, memory, found)
        return sorted(found, key=lambda hit: -hit.score)[: self._top_k]

    async def _recall(
        self, retriever: Any, request: ContextRequest, memory: VisibleMemory, known: set[str]
    ) -> list[Hit]:
        scope = recall_scope(
            request,
            memory,
            before_turn_id=await off_loop(
                find_first_shown_turn, self._history, request, self._recent_turns, self._window_step
            ),
            exclude_paths=frozenset(known),
            exclude_folders=self._not_searched(),
            asker=_names_of(request.author),
            answerer=frozenset({persona_of(request).lower()}),
        )
        return list(await retriever.recall(question_of(request), limit=self._top_k * RECALLED_PER_CHUNK, scope=scope))

    async def _choose(
        self,
        request: ContextRequest,
        memory: VisibleMemory,
        people: LookupResult,
        hits: list[Hit],
        seconds: float,
        told: SearchReport,
    ) -> list[Contribution]:
        """*hits* as they are; what the side model makes of them where it is to pick, can, and does so in time."""
        spent = sum(piece.estimated_tokens for piece in people.contributions)
        room = content_budget(request) - spent
        if request.modality is Modality.voice:
            room = min(room, MAX_SPOKEN_TOKENS)
        elif self.llm_client is not None and self._is_to_filter(request, self.llm_client, hits, room, seconds, told):
            if not hits and not await self._holds_more(memory, people, seconds / 4):
                return []
            but = {"exclude_folders": without} if (without := self._not_searched()) else {}
            work = filter_tier.run(
                llm_client=self.llm_client,
                store=memory,
                request=request,
                retrieved=as_chunks(hits, top_k=self._top_k),
                deterministic=people.contributions,
                **but,
            )
            chosen = await self._in_time(work, seconds, "filter")
            if chosen is not None:
                return chosen
            told.skip_filter("it failed or was late")
        asker = _names_of(request.author) if concerns_speaker(question_of(request)) else frozenset()
        room = min(room, direct_budget(request))
        found = best_hits_contribution(hits, max_tokens=room, asker=asker, quotable_tokens=quotable_budget(request))
        if not found or request.modality is Modality.voice:
            return found
        linked = off_loop(
            tell_linked_files,
            memory,
            request,
            hits,
            max_tokens=min(room - sum(piece.estimated_tokens for piece in found), room // LINKED_SHARE),
            known=people.rel_paths,
            closed=(CHARACTER_FOLDER, *self._not_searched()),
        )
        return [*found, *(await self._in_time(linked, seconds / 4, "links") or ())]

    def _is_to_filter(
        self,
        request: ContextRequest,
        model: SideModel,
        hits: Sequence[Hit],
        room: int,
        seconds: float,
        told: SearchReport,
    ) -> bool:
        wanted = request.settings.content_filter
        if wanted == FILTER_NEVER or (wanted == FILTER_WHEN_FULL and hits_fit(hits[:WEIGHED_FOR_FILTER], room)):
            return False
        if not capabilities_of(model).side_tasks:
            told.skip_filter(NO_SIDE_WORK)
        elif seconds < LEAST_FILTER_S:
            told.skip_filter("there was no time left for it")
        else:
            return True
        return False

    async def _holds_more(self, memory: VisibleMemory, people: LookupResult, seconds: float) -> bool:
        """Whether memory holds anything besides the character and what the floor loaded; if unsure, yes."""
        found = await self._in_time(
            off_loop(self._looks_further, memory, {*people.rel_paths, *self._not_searched()}), seconds, "look around"
        )
        return found is not False

    def _looks_further(self, memory: VisibleMemory, known: set[str]) -> bool:
        return holds_more(memory, known, but={folder.rstrip("/") for folder in self._exclude_folders})

    def _start_index_build(self) -> None:
        if self._index_build is None or self._build_started:
            return
        self._build_started = True
        self._background.start(_run(self._index_build), name="index build")

    # Keeping time

    async def _in_time(self, work: Coroutine[Any, Any, T], seconds: float, tier: str) -> T | None:
        """What *work* gives within *seconds*; None when it is late or fails.

        It runs as a task of its own: even work that ignores being cancelled is left behind and cannot hold the turn.
        """
        task = asyncio.get_running_loop().create_task(work, name=f"{self.id}:{tier}")
        try:
            await self._wait(task, seconds, tier)
        finally:
            if not task.done():
                self._late.leave_behind(task)
        if not task.done():
            return None
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is not None:
            logger.warning("content search tier failed", extra={"tier": tier, "error": type(error).__name__})
            return None
        return task.result()

    async def _wait(self, task: asyncio.Task[Any], seconds: float, tier: str) -> None:
        """Wait for *task*, no longer than *seconds*; it goes on."""
        await asyncio.wait({task}, timeout=None if seconds == NO_DEADLINE else max(0.0, seconds))
        if not task.done():
            logger.warning("content search tier was late", extra={"tier": tier, "limit_s": round(seconds, 3)})


def time_granted_s(request: ContextRequest, deadline_s: float) -> float:
    """The time this provider really has: its own deadline, or assembly's share of the turn's if that is less."""
    if request.deadline_s == NO_DEADLINE:
        return NO_DEADLINE
    return min(deadline_s, request.deadline_s * ASSEMBLY_SHARE) if request.deadline_s > 0 else deadline_s


def tier_limit_s(limit: float, left: float) -> float:
    """How long a tier may take of the time that is *left*; as long as it needs where there is no end to it."""
    return left if left == NO_DEADLINE else min(limit, left)


def time_usable_s(granted: float) -> float:
    """How much of the *granted* time the tiers may use."""
    return min(granted * 0.9, max(granted - SPARE_S, granted / 2))


def _names_of(author: Author | None) -> frozenset[str]:
    return frozenset({author.label.lower()}) if author is not None else frozenset()


def pick_worth_telling(request: ContextRequest, hits: list[Hit]) -> list[Hit]:
    """Those of *hits* that bear on the message, each once, without what the message itself says.

    What the notes on people say as well is told again here: a small model that finds only what others said of a thing
    near the question answers with that.
    """
    own = persona_of(request)
    about = re.sub(rf"\b{re.escape(own)}\b", " ", question_of(request), flags=re.IGNORECASE)
    found = only_relevant(about, without_padding(hits, own_name=own))
    found = without_others_selves(about, found, asker=_names_of(request.author))
    told = without_known(found, [turn.text for turn in request.turns_to_answer])[:MAX_TOLD]
    near, others = told[:MOST_WITH_NEIGHBOURS], told[MOST_WITH_NEIGHBOURS:]
    return [_in_zone(hit, request) for hit in (*near, *map(without_neighbours, others))]


def _in_zone(hit: Hit, request: ContextRequest) -> Hit:
    """*hit* with its moment in the zone that the conversation's clock shows."""
    zone = request.now.tzinfo if request.now is not None else None
    if zone is None or not isinstance(hit, Recollection) or hit.when is None:
        return hit
    return replace(hit, when=hit.when.astimezone(zone))


def _recalls(retriever: Retriever) -> bool:
    """Whether *retriever* can also recall turns, and say when and by whom."""
    return inspect.iscoroutinefunction(getattr(type(retriever), "recall", None))


async def _run(build: Callable[[], Awaitable[None]]) -> None:
    await build()


@lru_cache(maxsize=3)
def _threads_of(tier: str) -> ThreadPool:
    """Threads kept for a part of the floor: whoever has blocked all the others cannot hold it up."""
    return ThreadPool(f"familiar-{tier}")
