"""Which modules an area has, and which tests are asked about it: the likeliest first."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Area:
    """A part of the core: its modules under `src/familiar_connect`, and the tests that must notice a fault there."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


AREAS: dict[str, Area] = {
    "gate": Area(
        (
            "audience",
            "context/confidence_gate",
            "conversation/place_readers",
        ),
        (
            "tests/test_disclosure_rule.py",
            "tests/test_audience.py",
            "tests/test_audience_forms.py",
            "tests/context/test_confidence_gate.py",
            "tests/conversation/test_readers_of_place.py",
            "tests/conversation/test_place_readers.py",
            "tests/conversation/test_owner.py",
            "tests/context/providers/history",
            "tests/history/test_turn_visibility.py",
            "tests/memory/test_visibility.py",
            "tests/memory/test_file_audience.py",
            "tests/chat/test_hostile_channels.py",
            "tests/conversation/test_intake_parts.py",
        ),
    ),
    "outbox": Area(
        ("history/outbox", "reply/outbox"),
        (
            "tests/history/test_outbox_rows.py",
            "tests/reply/test_outbox_states.py",
            "tests/reply/test_outbox_recovery.py",
            "tests/reply/test_outbox.py",
            "tests/reply/test_deliver.py",
        ),
    ),
    "intake": Area(
        ("conversation/intake", "conversation/admission", "conversation/buffer", "conversation/ignored"),
        (
            "tests/conversation/test_intake_parts.py",
            "tests/conversation/test_intake_twins.py",
            "tests/conversation/test_intake.py",
            "tests/conversation/test_admission.py",
            "tests/conversation/test_buffer.py",
            "tests/conversation/test_triggers.py",
            "tests/conversation/test_ignored.py",
            "tests/conversation/test_limits.py",
        ),
    ),
    "history": Area(
        (
            "history/store",
            "history/summaries",
            "history/watermarks",
            "history/turn_visibility",
            "history/rows",
        ),
        ("tests/history",),
    ),
    "grounding": Area(
        ("memory/writing/grounding", "memory/writing/extractive"),
        (
            "tests/memory/writing/test_grounding.py",
            "tests/memory/writing/test_grounding_bounds.py",
            "tests/memory/writing/test_attribution.py",
            "tests/memory/writing/test_extractive.py",
            "tests/memory/test_writer.py",
            "tests/memory/test_owner_lines.py",
        ),
    ),
    "budget": Area(
        ("context/budget", "context/window_fit"),
        (
            "tests/context/test_budget.py",
            "tests/context/test_total_budget.py",
            "tests/context/test_budget_bounds.py",
            "tests/context/test_window_fit.py",
            "tests/context/test_generate.py",
            "tests/context/test_media.py",
            "tests/context/test_media_cache.py",
            "tests/context/test_message_shape.py",
            "tests/context/test_prefill.py",
            "tests/context/test_tool_loop.py",
            "tests/context/test_pipeline.py",
        ),
    ),
    "macros": Area(
        (
            "presets/macros/engine",
            "presets/macros/evaluation",
            "presets/macros/parse",
            "presets/macros/evaluation",
            "presets/macros/random_choice",
            "presets/macros/variables",
        ),
        ("tests/presets/macros",),
    ),
}
