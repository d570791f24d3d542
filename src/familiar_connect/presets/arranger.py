"""Arrangers order a prompt. The native one only resolves random choices; the other applies a preset.

How speech is written is the preset's as well: names before words, beside them or nowhere.

Neither fetches anything. The same prompt and request give the same bytes: random choices are seeded by the
request.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from familiar_connect.chat.directives import CONTINUE
from familiar_connect.chat.types import Directives
from familiar_connect.context.types import ContextItem, ContextRequest, ItemTag, Prompt
from familiar_connect.llm.types import TextPart, TextTemplate
from familiar_connect.presets.macro_context import (
    NativeArranger,
    build_macro_context,
    char_of,
    chat_lines,
    expand_all_macros,
    make_random_choices,
    rng_for,
    speaker_of,
    unescape_braces,
)
from familiar_connect.presets.macros import engine
from familiar_connect.presets.macros.types import MacroContext
from familiar_connect.presets.prompt_order import nodes_of
from familiar_connect.presets.reassemble import PresetLayout, reassemble, resolve_nodes
from familiar_connect.presets.regex_scripts import rewrite_chat
from familiar_connect.presets.sillytavern.arrange import arrange_as_sillytavern, user_of
from familiar_connect.presets.story.types import StoryState
from familiar_connect.presets.types import ActivePreset, Preset, PresetFidelity, PresetSettings


class PresetArranger:
    """Lays the request's preset over the prompt, as true to SillyTavern as the request asks; without one, native."""

    def arrange(self, prompt: Prompt, request: ContextRequest) -> Prompt:
        active = request.preset
        prompt, request = rewrite_chat(prompt, request)
        arranged = self._arrange(prompt, request, active)
        if active is None:
            return arranged
        sampling = active.preset.sampling if active.has_samplers and active.preset.sampling.values_by_name() else None
        template = template_for(active.preset, request)
        if sampling is None and template is None:
            return arranged
        return replace(arranged, sampling=sampling, template=template)

    def _arrange(self, prompt: Prompt, request: ContextRequest, active: ActivePreset | None) -> Prompt:
        if active is not None and active.preset.is_bare:  # it brings samplers or signs around messages alone
            active = None
        if active is not None and active.fidelity is PresetFidelity.sillytavern:
            return arrange_as_sillytavern(prompt, request, active.preset)
        if active is None or is_impersonation(request):
            return NativeArranger().arrange(prompt, request)
        return make_choices_and_unseal(arrange_with_memory(prompt, request, active.preset), request)


def is_impersonation(request: ContextRequest) -> bool:
    return request.turn is not None and request.turn.flags.impersonation


def template_for(preset: Preset, request: ContextRequest) -> TextTemplate | None:
    """The preset's signs around messages as they are in this turn: macros read, names filled in."""
    template = preset.template
    if template is None:
        return None
    char, group = char_of(request), request.story.group
    user = user_of(request) if request.is_exact else speaker_of(request)
    ctx = MacroContext(char=char, user=user, group=group, now=request.now, rng=rng_for(request, "template"))
    is_users = is_impersonation(request)
    is_named = not template.is_instruct or template.names == "always" or (template.names == "force" and bool(group))
    others = [name for name in group if name != char] + [char if is_users else user]
    words = [f"\n{name}:" for name in dict.fromkeys(others)] if template.stops_at_names else []
    read = template.map_texts(lambda text: engine.expand(text, ctx).text)
    return replace(
        read,
        stop=(*words, *read.stop),
        answers_as=(user if is_users else char) if is_named else "",
        is_for_user=is_users,
        user_name=user,
        char_name=char,
    )


def arrange_with_memory(prompt: Prompt, request: ContextRequest, preset: Preset) -> Prompt:
    """*prompt* in the order of *preset*, with all our blocks; quoted text in the preset's words is still sealed."""
    settings = preset.settings
    slug = request.author.slug if request.author else ""
    ctx = _macro_context(prompt, request, slug)
    resolved = resolve_nodes(nodes_of(preset, PresetFidelity.with_memory), ctx)
    layout = PresetLayout(
        preset=preset.name,
        speaker=slug,
        fields={name: getattr(ctx, name) for name in ("description", "personality", "scenario", "persona")},
        new_chat=expand_all_macros(
            settings.new_group_chat_prompt if request.story.group else settings.new_chat_prompt, ctx
        ),
        new_example=expand_all_macros(settings.new_example_chat_prompt, ctx),
    )
    items = reassemble(with_speaker_names(prompt.items, settings, char=ctx.char), resolved, layout)
    directives = _with_prefill(_with_nudges(prompt.directives, request, settings, ctx), preset, ctx)
    return replace(
        prompt,
        items=tuple(items),
        directives=directives,
        squash=settings.squash_system_messages,
        story=_change_state(ctx, request.story.state),
    )


def _change_state(ctx: MacroContext, before: StoryState) -> StoryState | None:
    """What the macros set for the turns to come; None: nothing changed."""
    after = replace(before, variables=dict(ctx.variables.local), shared=dict(ctx.variables.shared))
    return None if after == before else after


def _macro_context(prompt: Prompt, request: ContextRequest, slug: str) -> MacroContext:
    people = [item.text for item in prompt.items if item.tag is ItemTag.PEOPLE and item.key and item.key == slug]
    summary = [item.text for item in prompt.items if item.tag is ItemTag.SUMMARY]
    return build_macro_context(
        request,
        chat_lines(prompt.items, char_of(request)),
        user=speaker_of(request),
        rng=rng_for(request, "preset"),
        persona="\n".join(people) or request.persona,
        summary="\n".join(summary),
    )


def _with_nudges(
    directives: Directives, request: ContextRequest, settings: PresetSettings, ctx: MacroContext
) -> Directives:
    """The preset's own words where a message is to be continued, and where one of several characters answers."""
    flags = request.turn.flags if request.turn is not None else None
    if flags is None:
        return directives
    tail = directives.tail
    if flags.continuation and (nudge := expand_all_macros(settings.continue_nudge_prompt, ctx).strip()):
        tail = tuple(text.replace(CONTINUE, nudge, 1) if text.startswith(CONTINUE) else text for text in tail)
    is_one_of_several = flags.alter is not None or bool(request.story.group)
    if is_one_of_several and (nudge := expand_all_macros(settings.group_nudge_prompt, ctx).strip()):
        tail = (*tail, nudge)
    return directives if tail == directives.tail else replace(directives, tail=tail)


def _with_prefill(directives: Directives, preset: Preset, ctx: MacroContext) -> Directives:
    """The turn's own first words, else the preset's; named where all words are."""
    own = directives.prefill or ""
    words = own.strip() or expand_all_macros(preset.settings.assistant_prefill, ctx).strip()
    if not words:
        return directives
    shown = with_char_prefix(words, ctx.char) if names_behavior(preset.settings) == NAMES_CONTENT else words
    return directives if shown == own else replace(directives, prefill=shown)


def make_choices_and_unseal(prompt: Prompt, request: ContextRequest) -> Prompt:
    """The last pass: resolve random choices, then restore the braces of quoted text."""
    chosen = make_random_choices(prompt, rng_for(request, "choices"))
    prefill = chosen.directives.prefill
    directives = replace(chosen.directives, prefill=unescape_braces(prefill)) if prefill else chosen.directives
    return replace(chosen, items=tuple(map(_unseal_item, chosen.items)), directives=directives)


def _unseal_item(item: ContextItem) -> ContextItem:
    if not item.source.startswith("preset:"):
        return item
    text = unescape_braces(item.text)
    return item if text == item.text else replace(item, parts=(TextPart(text),))


# Random choices


NAMES_NONE, NAMES_DEFAULT, NAMES_API, NAMES_CONTENT = -1, 0, 1, 2
"""No names · before words only in company · in the message's own name field · before all words."""
MAX_NAME = 64
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")
_SPOKEN = (ItemTag.DIALOGUE, ItemTag.SAMPLE)


def names_behavior(settings: PresetSettings) -> int:
    """What the preset says of names; where it is silent, names stand before all words."""
    said = settings.names_behavior
    return said if said in (NAMES_NONE, NAMES_DEFAULT, NAMES_API, NAMES_CONTENT) else NAMES_CONTENT


def with_speaker_names(items: Sequence[ContextItem], settings: PresetSettings, *, char: str) -> list[ContextItem]:
    """*items* with turns and samples as the preset wants speech written."""
    behavior = names_behavior(settings)
    speakers = {item.sender.name for item in items if item.tag is ItemTag.DIALOGUE and item.sender is not None}
    in_front = behavior == NAMES_CONTENT or (behavior == NAMES_DEFAULT and len(speakers) > 1)
    done = []
    for item in items:
        if item.tag not in _SPOKEN or item.role == "system":
            done.append(item)
        elif item.role == "assistant":
            done.append(_own(item, behavior, char))
        else:
            quotes = settings.wrap_in_quotes and item.tag is ItemTag.DIALOGUE
            done.append(_others(item, behavior, in_front=in_front, quotes=quotes))
    return done


def with_char_prefix(text: str, char: str) -> str:
    """*text* with the familiar's name before it, once."""
    return text if text.lstrip().startswith((f"{char}:", f"{char}：")) else f"{char}: {text}"


def _own(item: ContextItem, behavior: int, char: str) -> ContextItem:
    if behavior == NAMES_API:
        return replace(item, name=_NOT_IN_NAMES.sub("_", char)[:MAX_NAME] or None)
    if behavior != NAMES_CONTENT:
        return item
    parts = list(item.parts)
    at = next((i for i, part in enumerate(parts) if isinstance(part, TextPart)), None)
    first = parts[at] if at is not None else None
    if at is None or not isinstance(first, TextPart):
        return item
    parts[at] = TextPart(with_char_prefix(first.text, char))
    return replace(item, parts=tuple(parts))


def _others(item: ContextItem, behavior: int, *, in_front: bool, quotes: bool) -> ContextItem:
    name = item.name if behavior in (NAMES_API, NAMES_CONTENT) else None
    words = item.words
    if words is None or not item.text.endswith(words) or len(item.parts) != 1:
        return item if name == item.name else replace(item, name=name)
    before = item.text[: len(item.text) - len(words)]
    if not in_front:
        before = before[: len(before) - len(label)] if before.endswith(label := _label(item, before)) else before
    said = f'"{words}"' if quotes and words.strip() else words
    if before + said == item.text and name == item.name:
        return item
    return replace(item, parts=(TextPart(before + said),), words=said, name=name)


def _label(item: ContextItem, before: str) -> str:
    """The speaker's name as it stands right before the words."""
    if item.sender is not None:
        return f"{item.sender.name}: "
    return before if item.tag is ItemTag.SAMPLE else ""
