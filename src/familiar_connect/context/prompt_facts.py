"""Facts about a prompt and a reply, for the trace: which blocks at what cost, what was cut, how a model answered."""

from __future__ import annotations

from familiar_connect.context.generate import Generation
from familiar_connect.context.messages import items_for_model, message_places
from familiar_connect.context.types import (
    DroppedNote,
    PipelineOutput,
    WithheldNote,
)
from familiar_connect.support.tokens import estimate_tokens


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
