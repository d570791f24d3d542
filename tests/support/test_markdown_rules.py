"""Formulas, spoilers and lists of tasks are read as people write them."""

from __future__ import annotations

import time

import pytest

from familiar_connect.support.markdown_html import MAX_FORMULAS, MAX_PARSED_CHARS, markdown_to_html

pytest.importorskip("latex2mathml", reason="the page is an extra")

MOST_S = 2.0
"""Of the processor, for a text that is made to take long; on an idle machine each takes a tenth of it."""


@pytest.mark.parametrize(
    "text",
    [
        *(
            "$x^2$",
            r"\(x^2\)",
            "is $x^2$, or",
            "$$x^2$$",
            r"\[x^2\]",
            "$$\nx^2\n$$",
            "> $$\n> x^2\n> $$",
            "a $$x^2$$ b",
        ),
        "```math\nx^2\n```",
    ],
)
def test_formulas_are_drawn(text: str) -> None:
    """In dollars, in LaTeX's brackets, alone over several lines, and in a fence."""
    assert "<msup><mi>x</mi><mn>2</mn></msup>" in markdown_to_html(text)


def test_a_formula_over_several_lines_holds_no_list() -> None:
    """A line in it that begins with a sign is a part of it."""
    shown = markdown_to_html("So:\n$$\na\n+ b\n- c\n$$\nDone.")

    assert "<li>" not in shown
    assert shown.count("<math") == 1
    assert shown.endswith("<p>Done.</p>\n")


@pytest.mark.parametrize(
    "text",
    [
        *("It costs $5 and $6.", "$HOME and $PATH", "US$5/$6", "between $5-$6", "`$x$`", "a $ b $ c", "5$ or 6$"),
        r"\$x\$",
    ],
)
def test_money_and_programs_are_no_formulas(text: str) -> None:
    """A dollar is mostly a dollar."""
    assert "<math" not in markdown_to_html(text)


def test_a_formula_that_cannot_be_drawn_is_shown_as_it_was_written() -> None:
    """As are those behind the hundredth of one text."""
    assert markdown_to_html("$x^$") == '<p><span class="formula"><code>x^</code></span></p>\n'
    assert markdown_to_html("$x$ " * (MAX_FORMULAS + 7)).count("<code>x</code>") == 7


def test_spoilers_are_covered_until_they_are_ticked() -> None:
    """What stands in them is Markdown, and half of one is none."""
    shown = markdown_to_html("It was ||the *butler*|| || who")

    assert shown == (
        '<p>It was <label class="spoiler"><input type="checkbox" aria-label="Show the spoiler">'
        "<span>the <em>butler</em></span></label> || who</p>\n"
    )


def test_tasks_have_boxes() -> None:
    """Which say whether they are done, and cannot be ticked."""
    shown = markdown_to_html("- [ ] tea\n- [x] cups\n- [y] no task")

    assert shown == (
        '<ul><li class="task"><input type="checkbox" disabled aria-label="To do">tea</li>\n'
        '<li class="task"><input type="checkbox" disabled aria-label="Done" checked>cups</li>\n'
        "<li>[y] no task</li>\n</ul>\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        *("$" * 12_000, "$$" * 6_000, "$x" * 6_000, "$x$ " * 3_000, r"\[" * 6_000, r"\(" * 6_000, "|" * 12_000),
        *("||a" * 4_000, "||a|| " * 2_000, "||" + "*a" * 5_000, "- [ ] " * 2_000, "- [x] a\n" * 1_500, "![" * 6_000),
        *(r"$\frac{" + "{" * 900, "$" + r"\sqrt" * 160 + "$", "$" + "{x}_" * 200 + "$", "$" + r"\left(" * 140 + "$"),
        *("```c\n" + "%{a b(" * 1_300, "```py\n" + "'" * 7_900, "```html\n" + "<a " * 2_600, "```js\n" + "/a" * 3_900),
        *("```c\n" + "%{a b(\n" * 1_100, "```c\n" + "\n" * 7_900, "```html\n" + "<a \n" * 1_900),
        *("|a" * 6_000, "|a|\n|-|\n" + "|b|\n" * 2_900, "$$\n" * 4_000, "\\[\n" * 3_900, "> $$\n" * 2_300),
    ],
)
def test_hostile_texts_do_not_stall(text: str) -> None:
    """Each is drawn in a moment."""
    began = time.process_time()
    markdown_to_html(text[:MAX_PARSED_CHARS])

    assert time.process_time() - began < MOST_S
