"""Markdown becomes HTML that can do nothing."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from familiar_connect.support.markdown_html import (
    ATTRIBUTES,
    MAX_PARSED_CHARS,
    MAX_SHOWN_CHARS,
    TAGS,
    is_safe_link,
    markdown_to_html,
)
from tests.fakes.properties import at_least

PIECES = st.sampled_from(
    [
        *(
            "<script>",
            "</p>",
            "[a](",
            "javascript:x",
            ")",
            "![",
            "](http://e/x.png)",
            "`",
            "```\n",
            "*",
            "**",
            "|",
            "\n",
        ),
        *(
            "<b onclick=x>",
            "&lt;",
            "&#x3c;",
            '"',
            "'",
            ">",
            "<!--",
            "http://a.b",
            "1. ",
            "- ",
            "# ",
            "~~",
            "\x00",
            "\ud800",
        ),
        *(
            "“",
            "”",
            "„",
            "«",
            "»",
            "「",
            "」",
            " ",
            "word",
        ),
        *("||", "$", "$$", r"\(", r"\)", r"\[", r"\]", "```python\n", "```math\n", "- [ ] ", "- [x] ", "|-|:-:|\n"),
        *("| ", r"\frac{a}{b}", "x^2", r"\href{javascript:alert(1)}{x}", r"\style{a:b}{x}", r"\class{x}{y}", "&", "}"),
        *(r"\text{<b>}", r"\begin{matrix}", r"\end{matrix}", r"\color{red}{x}", r"\hspace{999em}", r"\left("),
        "def f(): # '<b>'\n",
    ]
)
VALUES = {
    "href": r"(https?|mailto):.*",
    "tabindex": "0",
    "type": "checkbox|button",
    "role": "group",
    "rel": "noopener noreferrer nofollow",
    "target": "_blank",
    "start": "[0-9]+",
    "class": "[a-z-]+( alone)?",
    "aria-label": "Table|Done|To do|Show the spoiler",
    "disabled": "",
    "checked": "",
}
"""What may stand in the attributes that are no formula's."""


class Reader(HTMLParser):
    """Notes every tag and attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.is_nested = True

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("br", "hr", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.is_nested = self.is_nested and bool(self.open) and self.open.pop() == tag


@settings(max_examples=at_least(200))
@given(st.lists(PIECES | st.text(max_size=8), max_size=40).map("".join))
def test_only_known_tags_and_attributes_are_ever_written(text: str) -> None:
    """Whatever the text holds; every value is one of ours, and every link leads to the web or to mail."""
    reader = Reader()
    reader.feed(markdown_to_html(text))

    for tag, attributes in reader.found:
        assert tag in TAGS
        assert set(attributes) <= ATTRIBUTES.get(tag, set())
        for name, value in attributes.items():
            assert re.fullmatch(VALUES.get(name, r"[a-z0-9. -]{1,41}"), value or "", re.DOTALL), (tag, name, value)
    assert reader.is_nested
    assert not reader.open


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ('"Hello," she said.', "<q>&quot;Hello,&quot;</q> she said."),
        ("He said: “Come in.” And: “Sit.”", "He said: <q>“Come in.”</q> And: <q>“Sit.”</q>"),
        ("„Guten Tag“, sagte sie.", "<q>„Guten Tag“</q>, sagte sie."),
        ("«Bonjour», dit-elle.", "<q>«Bonjour»</q>, dit-elle."),
        ("« Bonjour », dit-elle.", "<q>« Bonjour »</q>, dit-elle."),
        ("»Guten Tag«, sagte sie.", "<q>»Guten Tag«</q>, sagte sie."),
        ("彼は「はい」と言った。", "彼は<q>「はい」</q>と言った。"),
        ('"I said *no* to `x`"', "<q>&quot;I said <em>no</em> to <code>x</code>&quot;</q>"),
        ('*"Softly now"*', "<em><q>&quot;Softly now&quot;</q></em>"),
        ('*sighs "again* and" on', "<em>sighs <q>&quot;again</q></em> and&quot; on"),
        ('"One\n"Two"', "<q>&quot;One<br>\n</q><q>&quot;Two&quot;</q>"),
        ('"It goes on', "<q>&quot;It goes on</q>"),
        ('a 5" pipe and a 6" one', "a 5&quot; pipe and a 6&quot; one"),
        ('`"code"`', "<code>&quot;code&quot;</code>"),
        ('"', "&quot;"),
        ('"<b>"', "<q>&quot;&lt;b&gt;&quot;</q>"),
    ],
)
def test_speech_in_quotation_marks_is_marked(text: str, html: str) -> None:
    """In the marks of several languages, across emphasis, never in code, and never over the end of an element."""
    assert markdown_to_html(text) == f"<p>{html}</p>\n"


def test_a_fence_holds_no_speech() -> None:
    """What is quoted in code is code."""
    assert "<q>" not in markdown_to_html('```\nsay("hello")\n```')


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*waves*", "<p><em>waves</em></p>\n"),
        ("one\ntwo", "<p>one<br>\ntwo</p>\n"),
        ("`a<b`", "<p><code>a&lt;b</code></p>\n"),
        ("<b>bold</b>", "<p>&lt;b&gt;bold&lt;/b&gt;</p>\n"),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>\n"),
        ("![cat](cat.png)", "<p>[cat]</p>\n"),
        ("3. a", '<ol start="3"><li>a</li>\n</ol>\n'),
    ],
)
def test_what_people_write_looks_as_they_meant_it(text: str, html: str) -> None:
    """Actions, breaks, code; no HTML, no picture, nothing that runs."""
    assert markdown_to_html(text) == html


def test_a_long_text_is_shown_without_being_parsed() -> None:
    """Escaped, in one block."""
    shown = markdown_to_html("<" * (MAX_PARSED_CHARS + 1))

    assert shown == f'<div class="plain">{"&lt;" * (MAX_PARSED_CHARS + 1)}</div>'


def test_of_a_very_long_text_the_beginning_is_shown() -> None:
    """And how much is missing."""
    shown = markdown_to_html("x" * 1_000_000)

    assert shown.startswith(f'<div class="plain">{"x" * MAX_SHOWN_CHARS}</div>')
    assert shown.endswith('<p class="rest">980,000 more characters are not shown here.</p>')


def test_code_has_the_colours_and_the_name_of_its_language() -> None:
    """And a button that copies it; what stands in it is text."""
    shown = markdown_to_html("```py\nreturn '<b>' # done\n```")

    assert shown == (
        '<div class="code"><div class="code-head"><span class="language">Python</span>'
        '<button type="button" class="copy">Copy</button></div><pre tabindex="0"><code>'
        '<span class="code-k">return</span> <span class="code-s">&#x27;&lt;b&gt;&#x27;</span> '
        '<span class="code-c"># done</span>\n</code></pre></div>\n'
    )


@pytest.mark.parametrize(
    ("info", "name"), [("", ""), ("Brainf", "Brainf"), ("a<b", ""), ("x" * 30, ""), ("c++", "C++")]
)
def test_code_of_other_languages_has_their_name_alone(info: str, name: str) -> None:
    """Where it could be one."""
    assert f'<span class="language">{name}</span>' in markdown_to_html(f"```{info}\nx\n```")


def test_columns_of_a_table_are_aligned() -> None:
    """As the line below its head says."""
    shown = markdown_to_html("| a | b | c |\n|:--|:-:|--:|\n| 1 | 2 | 3 |")

    assert '<td>1</td>\n<td class="center">2</td>\n<td class="right">3</td>' in shown
    assert shown.startswith('<div class="table" tabindex="0" role="group" aria-label="Table"><table>')


def test_a_picture_is_a_link_that_says_where_it_leads() -> None:
    """Nothing is loaded before somebody opens it; in another link it is its name."""
    picture = "![a cat](https://e.example/cat.png)"
    shown = markdown_to_html(f"{picture} [{picture}](https://other.example)")

    assert "<img" not in shown
    assert '<a href="https://e.example/cat.png" rel="noopener noreferrer nofollow" target="_blank">[a cat' in shown
    assert '<span class="host">e.example</span>]</a>' in shown
    assert shown.count("<a ") == 2


@pytest.mark.parametrize(
    ("address", "is_safe"),
    [
        ("https://example.org/a?b#c", True),
        ("mailto:a@b.c", True),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("//evil.example", False),
        ("/chats", False),
        ("http://[", False),
    ],
)
def test_links_lead_to_the_web_or_to_mail(address: str, is_safe: bool) -> None:
    """A link of a chat never leads into the page itself."""
    assert is_safe_link(address) is is_safe
