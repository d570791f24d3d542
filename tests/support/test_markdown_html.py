"""Markdown becomes HTML that can do nothing."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.support.markdown_html import MAX_PARSED_CHARS, TAGS, is_safe_link, markdown_to_html

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
    ]
)
ATTRIBUTES = {"a": {"href", "rel", "target"}, "ol": {"start"}, "div": {"class"}}


class Reader(HTMLParser):
    """Notes every tag and attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.is_nested = True

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.is_nested = self.is_nested and bool(self.open) and self.open.pop() == tag


@given(st.lists(PIECES | st.text(max_size=8), max_size=40).map("".join))
def test_only_known_tags_and_attributes_are_ever_written(text: str) -> None:
    """Whatever the text holds, and every link leads to the web or to mail."""
    reader = Reader()
    reader.feed(markdown_to_html(text))

    for tag, attributes in reader.found:
        assert tag in TAGS
        assert set(attributes) <= ATTRIBUTES.get(tag, set())
        assert str(attributes.get("href", "http:")).startswith(("http:", "https:", "mailto:"))
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
        ("```\n<b>\n```", "<pre><code>&lt;b&gt;\n</code></pre>\n"),
        ("<b>bold</b>", "<p>&lt;b&gt;bold&lt;/b&gt;</p>\n"),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>\n"),
        ("![cat](http://e.x/cat.png)", "<p>[cat]</p>\n"),
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
