"""Arrangers: what lays a prompt out. The native one only makes its random choices; the other lays a preset over it.

Neither fetches anything. The same prompt and request give the same bytes, chance included: its dice come from the
request's seed.
"""

from __future__ import annotations

import random
from dataclasses import replace

from familiar_connect.chat.directives import CONTINUE
from familiar_connect.chat.types import Directives
from familiar_connect.context.types import ContextItem, ContextRequest, ItemTag, Layer, Prompt
from familiar_connect.llm.types import Part, TextPart
from familiar_connect.presets.macros import chance
from familiar_connect.presets.macros.types import MacroContext
from familiar_connect.presets.orders import nodes_of
from familiar_connect.presets.reassemble import Layout, reassemble
from familiar_connect.presets.resolve import resolve
from familiar_connect.presets.silly.assemble import assemble
from familiar_connect.presets.silly.types import SillyInputs
from familiar_connect.presets.turn.speech import BEFORE, named, names_behavior, spoken
from familiar_connect.presets.turn.values import (
    chance_of,
    char_of,
    chat_lines,
    generation_of,
    macro_values,
    read,
    speaker_of,
    unsealed,
)
from familiar_connect.presets.types import CardFields, Preset, PresetFidelity, PresetSettings

QUOTING = frozenset(
    {
        ItemTag.DIALOGUE,
        ItemTag.SHORT_TERM,
        ItemTag.SUMMARY,
        ItemTag.PEOPLE,
        ItemTag.PARTICIPANTS,
        ItemTag.FOUND,
        ItemTag.DOCUMENTS,
        ItemTag.SERVER_MEMORIES,
        ItemTag.CONDITIONING,
        ItemTag.THINKING,
    }
)
"""Blocks made of what people said or what is remembered of it."""
QUOTING_SOURCES = ("history:", "interruption")


class NativeArranger:
    """Leaves every block where it stands; random choices are made last."""

    def arrange(self, prompt: Prompt, request: ContextRequest) -> Prompt:
        return choose(prompt, chance_of(request, "choices"))


class PresetArranger:
    """Lays the request's preset over the prompt, as true to SillyTavern as the request asks; without one, native."""

    def arrange(self, prompt: Prompt, request: ContextRequest) -> Prompt:
        active = request.preset
        if active is not None and active.fidelity is PresetFidelity.sillytavern:
            return as_sillytavern(prompt, request, active.preset)
        if active is None or is_impersonation(request):
            return NativeArranger().arrange(prompt, request)
        return choose_and_unseal(with_memory(prompt, request, active.preset), request)


def is_impersonation(request: ContextRequest) -> bool:
    return request.turn is not None and request.turn.flags.impersonation


def with_memory(prompt: Prompt, request: ContextRequest, preset: Preset) -> Prompt:
    """*prompt* in the order of *preset*, with all our blocks; quoted text in the preset's words is still sealed."""
    settings = preset.settings
    slug = request.author.slug if request.author else ""
    ctx = _values(prompt, request, slug)
    resolved = resolve(nodes_of(preset, PresetFidelity.with_memory), ctx)
    layout = Layout(
        preset=preset.name,
        speaker=slug,
        fields={name: getattr(ctx, name) for name in ("description", "personality", "scenario", "persona")},
        new_chat=read(settings.new_chat_prompt, ctx),
        new_example=read(settings.new_example_chat_prompt, ctx),
    )
    items = reassemble(spoken(prompt.items, settings, char=ctx.char), resolved, layout)
    directives = _with_prefill(_with_nudges(prompt.directives, request, settings, ctx), preset, ctx)
    return replace(prompt, items=tuple(items), directives=directives, squash=settings.squash_system_messages)


def _values(prompt: Prompt, request: ContextRequest, slug: str) -> MacroContext:
    people = [item.text for item in prompt.items if item.tag is ItemTag.PEOPLE and item.key and item.key == slug]
    summary = [item.text for item in prompt.items if item.tag is ItemTag.SUMMARY]
    return macro_values(
        request,
        chat_lines(prompt.items, char_of(request)),
        user=speaker_of(request),
        rng=chance_of(request, "preset"),
        persona="\n".join(people) or request.persona,
        summary="\n".join(summary),
    )


def _with_nudges(
    directives: Directives, request: ContextRequest, settings: PresetSettings, ctx: MacroContext
) -> Directives:
    """The preset's own words where a message is to be continued, and where a further persona answers."""
    flags = request.turn.flags if request.turn is not None else None
    if flags is None:
        return directives
    tail = directives.tail
    if flags.continuation and (nudge := read(settings.continue_nudge_prompt, ctx).strip()):
        tail = tuple(text.replace(CONTINUE, nudge, 1) if text.startswith(CONTINUE) else text for text in tail)
    if flags.alter is not None and (nudge := read(settings.group_nudge_prompt, ctx).strip()):
        tail = (*tail, nudge)
    return directives if tail == directives.tail else replace(directives, tail=tail)


def _with_prefill(directives: Directives, preset: Preset, ctx: MacroContext) -> Directives:
    """The turn's own first words, else the preset's; named where all words are."""
    own = directives.prefill or ""
    words = own.strip() or read(preset.settings.assistant_prefill, ctx).strip()
    if not words:
        return directives
    shown = named(words, ctx.char) if names_behavior(preset.settings) == BEFORE else words
    return directives if shown == own else replace(directives, prefill=shown)


def as_sillytavern(prompt: Prompt, request: ContextRequest, preset: Preset) -> Prompt:
    """What SillyTavern itself would send for this turn: card, preset, persona and chat, none of our words."""
    card = replace(request.card or CardFields(), name=char_of(request))
    user = speaker_of(request)
    kind = generation_of(request)
    turns = [item for item in prompt.items if item.tag is ItemTag.DIALOGUE]
    inputs = SillyInputs(
        preset_name=preset.name,
        nodes=nodes_of(preset, PresetFidelity.sillytavern),
        settings=preset.settings,
        card=card,
        persona=request.persona,
        chat=tuple(
            replace(line, forced_name=line.is_user and line.name != user) for line in chat_lines(turns, card.name)
        ),
        context=MacroContext(
            char=card.name,
            user=user,
            now=request.now,
            rng=chance_of(request, "preset"),
            chat_id=f"{request.familiar_id}/{request.channel_id}",
            generation=kind,
            ours=False,
        ),
        kind=kind,
        quiet_prompt=request.turn.flags.manual_prompt if kind == "quiet" and request.turn is not None else "",
        takes_prefill=True,
        budget=_room(preset.settings),
    )
    made = assemble(inputs)
    items = tuple(
        replace(turns[line], role=item.role, parts=item.parts, name=item.name, words=None, apart=True)
        if line is not None
        else replace(item, apart=True)
        for item, line in zip(made.items, made.lines, strict=True)
    )
    missed = tuple(note for note in prompt.dropped if note.layer is Layer.recent_history)  # the card is whole here
    return replace(prompt, items=items, directives=Directives(), dropped=(*missed, *made.dropped))


def _room(settings: PresetSettings) -> int | None:
    """Tokens a prompt may take by what the preset says of its window."""
    if not settings.max_context:
        return None
    return max(1, settings.max_context - (settings.max_tokens or 0))


def choose_and_unseal(prompt: Prompt, request: ContextRequest) -> Prompt:
    """The last pass: chances are taken, then quoted text gets its braces back."""
    chosen = choose(prompt, chance_of(request, "choices"))
    prefill = chosen.directives.prefill
    directives = replace(chosen.directives, prefill=unsealed(prefill)) if prefill else chosen.directives
    return replace(chosen, items=tuple(map(_unsealed, chosen.items)), directives=directives)


def _unsealed(item: ContextItem) -> ContextItem:
    if not item.source.startswith("preset:"):
        return item
    text = unsealed(item.text)
    return item if text == item.text else replace(item, parts=(TextPart(text),))


# Random choices


def choose(prompt: Prompt, rng: random.Random) -> Prompt:
    """*prompt* with every random choice made in authored text; an item in which nothing is chosen stays the same."""
    items = tuple(_chosen(item, rng) for item in prompt.items)
    directives = _last_words(prompt.directives, rng)
    if directives == prompt.directives and all(new is old for new, old in zip(items, prompt.items, strict=True)):
        return prompt
    return replace(prompt, items=items, directives=directives)


def _chosen(item: ContextItem, rng: random.Random) -> ContextItem:
    if item.tag in QUOTING or item.source.startswith(QUOTING_SOURCES) or not chance.has_choice(item.text):
        return item
    parts: tuple[Part, ...] = tuple(
        TextPart(chance.roll_choices(part.text, rng)) if isinstance(part, TextPart) else part for part in item.parts
    )
    words = None
    if item.words is not None:  # what was said is the end of what is shown
        before = item.text[: len(item.text) - len(item.words)] if item.text.endswith(item.words) else ""
        shown = "".join(part.text for part in parts if isinstance(part, TextPart))
        words = shown[len(before) :] if shown.startswith(before) else shown
    return replace(item, parts=parts, words=words)


def _last_words(directives: Directives, rng: random.Random) -> Directives:
    """The directives, but for the queued reply, which quotes."""
    return replace(
        directives,
        lower=tuple(chance.roll_choices(text, rng) for text in directives.lower),
        tail=tuple(chance.roll_choices(text, rng) for text in directives.tail),
        uncensor=chance.roll_choices(directives.uncensor, rng) if directives.uncensor else directives.uncensor,
        prefill=chance.roll_choices(directives.prefill, rng) if directives.prefill else directives.prefill,
    )
