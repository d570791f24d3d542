"""Prompt replay: rebuilds a past turn's messages from what its trace kept.

No provider, store or model is asked. What the answering model's window and template made of the prompt
is kept as a `Fitting`, so that the messages come out byte for byte.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from familiar_connect.chat.directives import place_tail
from familiar_connect.context.messages import to_messages
from familiar_connect.context.render import RenderOptions, native_prompt
from familiar_connect.context.types import BudgetResult, ContextItem, ItemTag, PipelineOutput
from familiar_connect.errors import FamiliarError
from familiar_connect.llm.types import Capabilities, Message, TextPart
from familiar_connect.observe.last_context import is_of_turn, page_of
from familiar_connect.observe.replay_store import ReplayRecord, hash_messages
from familiar_connect.support.serialize import PlainDataError, from_plain


@dataclass(frozen=True, kw_only=True)
class Shortened:
    """An item of which a model was shown less."""

    place: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Instead:
    """What a model was shown in the stead of one item: media as it can see them, first words as it can take them."""

    place: int
    items: tuple[ContextItem, ...]


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """What one model was shown of a prompt: which items went, which became less or other, in which roles."""

    strict_roles: bool = False
    bare: bool = False
    squash: bool = False
    prefill: bool = True
    single_system: bool = False
    gone: tuple[int, ...] = ()
    shortened: tuple[Shortened, ...] = ()
    instead: tuple[Instead, ...] = ()

    def fit_items(self, items: Sequence[ContextItem]) -> list[ContextItem]:
        less = {each.place: each.text for each in self.shortened}
        other = {each.place: each.items for each in self.instead}
        shown: list[ContextItem] = []
        for place, item in enumerate(items):
            if place in other:
                shown += other[place]
            elif place not in self.gone:
                shown.append(replace(item, parts=(TextPart(less[place]),)) if place in less else item)
        return shown

    def apply(self, items: Sequence[ContextItem]) -> list[Message]:
        shown = self.fit_items(items)
        way = Capabilities(
            strict_roles=self.strict_roles,
            bare_single_speaker=self.bare,
            prefill=self.prefill,
            single_system=self.single_system,
        )
        return to_messages(shown, way, squash=self.squash)


def full_prompt(output: PipelineOutput, options: RenderOptions) -> tuple[ContextItem, ...]:
    """Every item of a turn's prompt, before any model's window is looked at."""
    from familiar_connect.presets.arranger import PresetArranger  # heavy: a prompt that is on disk is not made anew

    return place_tail(PresetArranger().arrange(native_prompt(output, options), output.request)).items


def infer_fitting(whole: Sequence[ContextItem], shown: Sequence[ContextItem], sent: Sequence[Message]) -> Fitting:
    """How *shown*, which went out as *sent*, came from *whole*. The newest items match first: only old ones go."""
    gone: list[int] = []
    shortened: list[Shortened] = []
    instead: list[Instead] = []
    left = list(shown)
    for place in range(len(whole) - 1, -1, -1):
        item = whole[place]
        if left and left[-1] == item:
            left.pop()
        elif left and not shortened and replace(item, parts=left[-1].parts) == left[-1]:
            shortened.append(Shortened(place=place, text=left.pop().text))
        elif stands := _items_made_of(item, left):
            instead.append(Instead(place=place, items=tuple(stands)))
            del left[-len(stands) :]
        else:
            gone.append(place)
    left_out = Fitting(gone=tuple(reversed(gone)), shortened=tuple(shortened), instead=tuple(reversed(instead)))
    ways = (
        replace(left_out, single_system=single, prefill=prefill, squash=squash, strict_roles=strict, bare=bare)
        for single, prefill, squash, strict, bare in itertools.product(
            (False, True), (True, False), *[(False, True)] * 3
        )
    )
    return next((way for way in ways if way.apply(whole) == list(sent)), Fitting())


def _items_made_of(item: ContextItem, shown: Sequence[ContextItem]) -> Sequence[ContextItem]:
    """The last of *shown*, as many as were made of *item* for one model; none where it was not changed."""
    count = 0
    while count < len(shown) and _is_made_of(shown[-1 - count], item):
        count += 1
    return shown[len(shown) - count :]


def _is_made_of(shown: ContextItem, item: ContextItem) -> bool:
    if item.tag is ItemTag.PREFILL:
        return shown.source == item.source and shown.tag in (ItemTag.PREFILL, ItemTag.TAIL)
    if not item.media:
        return False
    notice = shown.tag is ItemTag.DATE_SPACER and shown.message_id == f"media_notes_{item.message_id}"
    return notice or replace(item, parts=shown.parts, media=()) == shown


def replay_messages(record: ReplayRecord) -> list[Message]:
    """The messages of that turn, as they were sent."""
    fitting, whole = _unpack_record(record)
    return fitting.apply(whole)


def replay_items(record: ReplayRecord) -> list[ContextItem]:
    """What those messages were made of, item by item."""
    fitting, whole = _unpack_record(record)
    return fitting.fit_items(whole)


def _unpack_record(record: ReplayRecord) -> tuple[Fitting, tuple[ContextItem, ...]]:
    try:
        options = from_plain(RenderOptions, record.settings["render"])
        fitting = from_plain(Fitting, record.settings["fitting"])
    except (KeyError, TypeError, PlainDataError) as failure:
        raise FamiliarError(
            f"turn {record.trace_id} was kept by a different version of the program and cannot be replayed;"
            " newer turns can: `familiar inspect --list`"
        ) from failure
    budget = BudgetResult(dropped=list(record.dropped), kept=list(record.kept))
    output = PipelineOutput(record.request, budget, [], record.directives)
    return fitting, full_prompt(output, options)


def prompt_page(trace_id: str, page: bytes | None, record: ReplayRecord | None) -> bytes | None:
    """The prompt of one turn as a page: *page* where it is that turn's, else made anew from what was kept."""
    if page is not None and is_of_turn(page, trace_id):
        return page
    if record is None:
        return None
    try:
        messages = replay_messages(record)
    except FamiliarError:
        return None
    same = hash_messages(messages) == record.messages_hash
    how = "the same as was sent, byte for byte" if same else "NOT the same as was sent"
    return page_of(messages, header=f"# rebuilt from the replay record, {how}; {len(messages)} messages")
