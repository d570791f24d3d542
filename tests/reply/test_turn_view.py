"""A past turn as it is drawn: blocks in order, neighbours as one, what was cut and withheld, the time."""

from __future__ import annotations

from familiar_connect.audience import EVERYONE, OWNER, between, hidden_channel, whole_server
from familiar_connect.context.types import ContextItem, DroppedNote, Layer
from familiar_connect.observe.trace import StageSpan
from familiar_connect.reply.inspection.turn_view import describe_audience, view_turn
from tests.fakes.traces import a_record, a_trace

BLOCKS = [
    {"source": "character:description", "tag": "PERSONA", "layer": "character", "message": 0, "tokens": 40},
    {"source": "history:recent", "tag": "DIALOGUE", "layer": "recent_history", "message": 1, "tokens": 5},
    {"source": "history:recent", "tag": "DIALOGUE", "layer": "recent_history", "message": 2, "tokens": 7},
    {"source": "participants:now", "tag": "NOW", "layer": "scene", "message": 3, "tokens": 9},
    {"source": "history:recent", "tag": "DIALOGUE", "layer": "recent_history", "message": 4, "tokens": 3},
]
ASSEMBLE = {
    "provider_outcomes": [
        {"id": "history", "duration_s": 0.01, "status": "ok", "error": None},
        {"id": "content_search", "duration_s": 2.0, "status": "timeout", "error": "late"},
    ],
    "withheld": [{"layer": "content", "source": "people/bo.md", "said_to": ["people:discord:7"]}],
}
RENDER = {
    "dropped": [
        {"layer": "content", "source": "content_search", "reason": "dropped", "tokens_dropped": 220, "full": "layer"}
    ]
}
TURN = a_trace(
    stages=(
        StageSpan("assemble", 0.0, 2.1, ASSEMBLE),
        StageSpan("render", 2.1, 0.0, RENDER),
        StageSpan("model", 2.1, 0.9, {"model": "m", "first_token_s": 0.4, "tokens_by_block": BLOCKS}),
        StageSpan("observe", 3.0, 0.0, {}),
    ),
    total_duration_s=3.0,
)


def test_blocks_stand_in_the_order_sent_and_neighbours_of_one_kind_are_one() -> None:
    """In plain words, with what each costs."""
    view = view_turn(TURN)

    assert [(block.name, block.count, block.tokens) for block in view.blocks_sent] == [
        ("character", 1, 40),
        ("dialogue", 2, 12),
        ("now", 1, 9),
        ("dialogue", 1, 3),
    ]
    assert (view.tokens, view.layers) == (64, (("character", 40), ("recent_history", 15), ("scene", 9)))


def test_what_was_cut_or_withheld_says_why() -> None:
    """And is not counted."""
    view = view_turn(TURN)

    assert [(block.source, block.tokens, block.fate) for block in view.blocks_cut] == [
        ("content_search", 220, "cut: layer content is full")
    ]
    assert [(piece.source, piece.said_to) for piece in view.withheld] == [
        ("people/bo.md", "the people of a direct message")
    ]


def test_the_time_line_has_stages_and_the_providers_of_the_assembly() -> None:
    """Trouble is named; watching the turn is no part of it."""
    view = view_turn(TURN)

    assert [(span.name, span.kind, span.trouble) for span in view.spans] == [
        ("assemble", "stage", ""),
        ("history", "provider", ""),
        ("content_search", "provider", "timeout late"),
        ("render", "stage", ""),
        ("model", "stage", ""),
    ]
    assert view.first_token_s == 0.4


def test_a_turn_of_which_little_is_kept_is_still_a_turn() -> None:
    """No blocks, no texts, no prompt; and with a record that another version wrote, what it does tell."""
    bare, told = view_turn(a_trace()), view_turn(TURN, a_record())

    assert (bare.blocks, bare.prompt, bare.budget, bare.utterance) == ((), None, None, "")
    assert (told.budget, told.utterance) == (1000, "hello there")
    assert all(block.text is None for block in told.blocks)


def test_audiences_are_told_in_words() -> None:
    """Each kind, and several together."""
    assert describe_audience([OWNER]) == "you alone"
    assert describe_audience([EVERYONE]) == "everyone"
    assert describe_audience([whole_server("discord", 1)]) == "everyone on its server"
    assert describe_audience([hidden_channel("discord", 1), between(["discord:7"])]) == (
        "the people of a direct message, those of a hidden channel"
    )


def test_what_was_cut_is_told_in_words() -> None:
    """Of a shortened block what followed, of a dialogue what stood before; nothing of one that is kept."""
    blocks = [
        {"source": "people", "tag": "PEOPLE", "layer": "content", "message": 0, "tokens": 9},
        {"source": "history:recent", "tag": "DIALOGUE", "layer": "recent_history", "message": 1, "tokens": 5},
    ]
    notes = (
        DroppedNote(Layer.content, "people", "truncated", 6, "layer", "and later."),
        DroppedNote(Layer.content, "people", "truncated", 3, "total", "and then"),
        DroppedNote(Layer.recent_history, "history:recent", "truncated", 8, "layer", "an old line"),
        DroppedNote(Layer.content, "search", "dropped", 20, "layer", "a whole note"),
    )
    dropped = [
        {
            "layer": each.layer.value,
            "source": each.source,
            "reason": each.reason,
            "full": each.full,
            "tokens_dropped": 5,
        }
        for each in notes
    ]
    trace = a_trace(stages=(StageSpan("model", 0.0, 1.0, {"tokens_by_block": blocks, "dropped": dropped}),))
    view = view_turn(trace, a_record(dropped=notes))

    assert [(block.cut_text, block.is_cut_before) for block in view.blocks_sent] == [
        ("and then\nand later.", False),
        ("an old line", True),
    ]
    assert [block.cut_text for block in view.blocks_cut if block.source == "search"] == ["a whole note"]


def test_the_block_that_broke_the_shared_prefix_is_marked() -> None:
    """By the place in the message where it began to differ; without that, every block of the message."""
    blocks = [
        {"source": name, "tag": "", "layer": "core", "message": 0, "tokens": 2} for name in ("one", "two", "three")
    ]
    items = [
        ContextItem.of("system", text, source=name) for name, text in zip(("one", "two", "three"), "abc", strict=True)
    ]

    def marked(**facts: int) -> list[str]:
        stages = (StageSpan("model", 0.0, 1.0, {"tokens_by_block": blocks}), StageSpan("observe", 1.0, 0.0, facts))
        view = view_turn(a_trace(stages=stages), items=items)
        return [block.name for block in view.blocks if block.breaks_prefix]

    assert marked(prefix_ended_by=0, prefix_ended_at=4) == ["two"]
    assert marked(prefix_ended_by=0) == ["one", "two", "three"]
    assert marked(prefix_ended_by=3, prefix_ended_at=0) == []
