"""What a model thinks to itself is taken out of what it says, however it is marked and cut into pieces."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from familiar_connect.llm.read_answer import ReasoningFilter, may_start_in_thought, without_reasoning
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program

SECRET = "SECRET"
HARMONY = (
    "<|channel|>analysis<|message|>SECRET plan<|end|><|start|>assistant<|channel|>final<|message|>Hello Ada.<|return|>"
)
MARKS = (
    "<think>",
    "</think>",
    "<thinking>",
    "</thinking >",
    "[THINK]",
    "[/THINK]",
    "◁think▷",
    "◁/think▷",
    "<|channel|>",
    "<|message|>",
    "<|start|>",
    "<|end|>",
    "<|return|>",
    "analysis",
    "assistantfinal",
    "final",
)
BLOCKS = (
    f"<think>{SECRET}</think>",
    f"<THINK>\n{SECRET} <b> [x]\n</Think>",
    f"<thinking>{SECRET} a < b</thinking>",
    f"<thought>{SECRET}</thought>",
    f"<reasoning>{SECRET}</reasoning>",
    f"[THINK]{SECRET}[/THINK]",
    f"◁think▷{SECRET}◁/think▷",
    f"<|channel|>analysis<|message|>{SECRET}<|end|><|start|>assistant<|channel|>final<|message|>",
    f"<|channel|>commentary to=functions.x <|constrain|>json<|message|>{SECRET}<|call|>",
)
PLAIN = st.text(st.sampled_from("abc Ü.!\n<>[]|/*☕"), min_size=1, max_size=12)


def cut(text: str, sizes: list[int]) -> list[str]:
    """*text* in pieces of *sizes*, again and again."""
    pieces, at, turn = [], 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        pieces.append(text[at : at + size])
        at, turn = at + size, turn + 1
    return pieces


def stream(pieces: list[str], *, starts_inside: bool = False) -> str:
    reasoning = ReasoningFilter(starts_inside=starts_inside, bare_channels=starts_inside)
    return "".join([*(reasoning.feed(piece) for piece in pieces), reasoning.close()])


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("<think>SECRET</think>\n\nHello Ada.", "Hello Ada."),
        ("Hello <think>SECRET</think>Ada.", "Hello Ada."),
        ("<think>SECRET without an end", ""),
        ("Hello. <thinking>SECRET without an end", "Hello. "),
        ("SECRET</think>Hello Ada.", "Hello Ada."),
        (HARMONY, "Hello Ada."),
        ("<|channel|>analysis<|message|>SECRET", ""),
        ("analysisWe think SECRET.assistantfinalHello Ada.", "Hello Ada."),
        ("analysis of a poem", "analysis of a poem"),
        ("I <b>love</b> [brackets], 1 < 2 and <|pipes|>.", "I <b>love</b> [brackets], 1 < 2 and <|pipes|>."),
        ("[think] she thinks", "[think] she thinks"),
        ("", ""),
        ("  Hello", "Hello"),
    ],
)
def test_thoughts_are_cut_and_words_stay(said: str, shown: str) -> None:
    """Closed or not, in every form that models use; text that only looks like it stays."""
    assert without_reasoning(said) == shown


@given(
    parts=st.lists(st.sampled_from(MARKS) | PLAIN, max_size=12),
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=6),
)
@example(parts=["analysis", "A"], sizes=[1])
@example(parts=["</think>"], sizes=[1])
def test_it_does_not_matter_where_a_stream_is_cut(parts: list[str], sizes: list[int]) -> None:
    """The same words come out of one piece and of many, whatever marks stand in whatever order."""
    text = "".join(parts)

    assert stream(cut(text, sizes), starts_inside=True) == without_reasoning(text)


@given(
    said=st.lists(st.tuples(PLAIN, st.sampled_from(BLOCKS)), max_size=5),
    last=PLAIN,
    unclosed=st.sampled_from(("", f"<think>{SECRET}", f"[THINK] {SECRET}", f"<|channel|>analysis<|message|>{SECRET}")),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6),
)
def test_no_thought_is_ever_shown(said: list[tuple[str, str]], last: str, unclosed: str, sizes: list[int]) -> None:
    """Thoughts before, between and after words, the last perhaps without an end, in pieces of any size."""
    said = [(words.replace("<", "").replace("[", ""), block) for words, block in said]
    last = last.replace("<", "").replace("[", "")
    text = "".join(words + block for words, block in said) + last + unclosed
    words = "".join(each for each, _ in said) + last

    shown = stream(cut(text, sizes))

    assert SECRET not in shown
    assert "".join(shown.split()) == "".join(words.split())


@given(text=st.text(max_size=60).filter(lambda text: not any(char in text for char in "<[◁")))
def test_plain_words_pass_as_they_come(text: str) -> None:
    """Every piece is let through at once, but for space before the first word."""
    reasoning = ReasoningFilter()
    shown = "".join(reasoning.feed(char) for char in text)

    assert shown + reasoning.close() == text.lstrip()


def test_a_beginning_without_its_mark_is_held_for_models_known_for_it() -> None:
    """Until the mark that ends the thought, or the end of the reply; thoughts sent apart end the holding."""
    assert may_start_in_thought("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B")
    assert may_start_in_thought("qwq:32b")
    assert not may_start_in_thought("llama3.2")
    held = ReasoningFilter(starts_inside=True)
    assert [held.feed("SECRET "), held.feed("more</thi"), held.feed("nk> Hi"), held.close()] == ["", "", "Hi", ""]
    plain = ReasoningFilter(starts_inside=True)
    assert [plain.feed("Hello "), plain.feed("Ada"), plain.close()] == ["", "", "Hello Ada"]
    apart = ReasoningFilter(starts_inside=True)
    assert [apart.stop_holding(), apart.feed("Hello "), apart.feed("Ada"), apart.close()] == ["", "Hello ", "Ada", ""]


def test_a_mark_that_ends_a_thought_nobody_opened_is_noticed() -> None:
    """So that the next reply of that model is held from its beginning."""
    reasoning = ReasoningFilter()
    reasoning.feed("Let me see.</think>Hello.")

    assert reasoning.has_stray_end


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_tags_of_the_owners_own_are_cut_beside_the_usual_ones(size: int) -> None:
    """However the pieces come; what only begins like one is said."""
    said = "<mull>they like tea</mull>Tea? <think>or not</think>3 <mu 4 </mul"
    reasoning = ReasoningFilter(tags=("<mull>", "</mull>"))
    pieces = [said[at : at + size] for at in range(0, len(said), size)]

    assert "".join(map(reasoning.feed, pieces)) + reasoning.close() == "Tea? 3 <mu 4 </mul"
    assert without_reasoning(said, ("<mull>", "</mull>")) == "Tea? 3 <mu 4 </mul"


def test_a_model_with_tags_of_its_own_is_read_by_a_setting(tmp_path: Path) -> None:
    """Its thoughts are neither shown nor kept; a template of them is no preset, and what to write is said."""
    with model_endpoint(stream_answer("[mull]They like tea.[/mull] ", "Tea is ready.")) as model:
        root = make_home(tmp_path, model)
        with (root / "character.toml").open("a", encoding="utf-8") as file:
            file.write('reasoning_tags = ["[mull]", "[/mull]"]\n')
        asked = run_program(tmp_path, "ask", "Tea?")
    (tmp_path / "mull.json").write_text('{"name": "Mull", "prefix": "[mull]", "suffix": "[/mull]", "separator": ""}')
    refused = run_program(tmp_path, "preset", "import", str(tmp_path / "mull.json"))

    assert asked.stdout.strip() == "Tea is ready."
    assert refused.returncode != 0
    assert "reasoning_tags" in refused.stderr
