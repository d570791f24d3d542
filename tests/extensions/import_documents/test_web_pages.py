"""A web page is read without what its reader does not see, in time proportional to its length."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.errors import UnreadableFileError
from familiar_connect.extensions.import_documents.web_page import read_web_page, without_hidden_stretches


def test_hidden_stretches_of_a_page_end_where_a_browser_ends_them() -> None:
    """A comment that never ends hides nothing; a script that never ends hides the rest."""
    assert without_hidden_stretches("a<!-- b -->c<!---->d<!-->e") == "acde"
    assert without_hidden_stretches("a<!-- b <!-- c") == "a b   c"
    assert without_hidden_stretches("a<SCRIPT src=x>'<!--'</script >b<!--c-->d") == "abd"
    assert without_hidden_stretches("a<style>b") == "a"
    assert without_hidden_stretches("a<scripted>b") == "a<scripted>b"


@given(st.lists(st.sampled_from(["<!--", "-->", "<script>", "</script>", "<style>", "</style>", "a", "<p>", "<"])))
def test_any_page_is_read_without_its_hidden_stretches(pieces: list[str]) -> None:
    """Nothing of the marks is left, and what is read twice stays."""
    page = "".join(pieces)
    plain = without_hidden_stretches(page)

    assert len(plain) <= len(page)
    assert "<script>" not in plain
    with suppress(UnreadableFileError):  # where nothing is left to be seen
        read_web_page(page.encode())
