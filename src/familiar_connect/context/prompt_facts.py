"""Facts about a prompt and a reply: whose words, whose names, which blocks at what cost, what was cut."""

from __future__ import annotations

import re
from collections.abc import Iterable

from familiar_connect.chat.types import Directives
from familiar_connect.context.generate import Generation
from familiar_connect.context.messages import items_for_model, message_places
from familiar_connect.context.types import (
    ContextRequest,
    Contribution,
    DroppedNote,
    PipelineOutput,
    Prompt,
    WithheldNote,
)
from familiar_connect.presets.types import RegexScript
from familiar_connect.support.system_notes import strip_note_frame
from familiar_connect.support.tokens import estimate_tokens

_NO_DIRECTIVES = Contribution.directives
"""What a contribution has that brings none; nearly all share it, which is quick to tell."""
_TAG_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def collect_directives(found: Iterable[Contribution], request: ContextRequest) -> Directives:
    """The last words that contributions bring, then the turn's own; a cut block keeps its directive."""
    total = Directives()
    for contribution in found:
        if contribution.directives is not _NO_DIRECTIVES:
            total += contribution.directives
    if operator := strip_note_frame(request.settings.operator_directive or ""):
        total += Directives(uncensor=operator)
    return total + request.turn.directives if request.turn is not None else total


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


def blocks_of(generation: Generation, output: PipelineOutput) -> list[dict[str, object]]:
    """Each item the model was shown, for the trace: where it came from, its message and what it costs; no text."""
    payers = {contribution.source: contribution.layer.value for contribution in output.budget.kept}
    shown = items_for_model(generation.prompt.items, generation.capabilities)
    places = message_places(shown, generation.capabilities, squash=generation.prompt.squash)
    return [
        {
            "source": item.source,
            "tag": item.tag.value if item.tag else None,
            "layer": payers.get(item.source, "reserved"),
            "role": item.role,
            "message": message,
            "tokens": estimate_tokens(item.text, generation.model_name),
        }
        for item, message in zip(shown, places, strict=True)
    ]


def note_facts(note: DroppedNote) -> dict[str, object]:
    """A cut, for the trace."""
    return {
        "layer": note.layer.value,
        "source": note.source,
        "reason": note.reason,
        "tokens_dropped": note.tokens_dropped,
        "full": note.full,
    }


def withheld_facts(note: WithheldNote) -> dict[str, object]:
    """What was kept back from this place, for the owner's eyes."""
    return {"layer": note.layer.value, "source": note.source, "said_to": list(note.audiences)}


def call_facts(generation: Generation, output: PipelineOutput) -> dict[str, object]:
    """How a model answered, for the trace: what it was shown, what failed before, and what the call cost."""
    facts: dict[str, object] = {"failures": [list(pair) for pair in generation.failures]}
    facts["tokens_by_block"] = blocks_of(generation, output)
    facts["dropped"] = [note_facts(n) for n in generation.prompt.dropped if n not in generation.base.dropped]
    if generation.tool_turns:
        facts["tools"] = generation.tools_used
    if generation.ended_by is not None:
        facts["ended_by"] = generation.ended_by
    if (done := generation.completion) is not None:
        facts |= {
            "model": done.model,
            "provider": done.provider,
            "first_token_s": done.first_token_s,
            "prompt_tokens": done.usage.prompt_tokens,
            "cached_tokens": done.usage.cached_tokens,
            "completion_tokens": done.usage.completion_tokens,
            "finish_reason": done.finish_reason,
            "attempts": done.attempts,
            "timings": done.timings,
            **({"cost": done.usage.cost} if done.usage.cost is not None else {}),
        }
    return facts
