"""How the pages look is chosen on a form, kept in the browser and told by one more style sheet."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.bootstrap.card_files.png import plain_picture
from familiar_connect.config.folders import HomeFolder
from familiar_connect.platforms.web.familiar_pictures import FamiliarPictures
from familiar_connect.platforms.web.look_pages import CHOICES, COOKIE, LookPages, PageLook, read_look, write_look
from familiar_connect.platforms.web.render import PageRenderer
from tests.fakes.page import needs_page

pytestmark = needs_page

LOOKS = st.builds(PageLook, **{name: st.sampled_from(sorted(values)) for name, (_, values) in CHOICES.items()})


@given(LOOKS)
def test_a_look_comes_back_out_of_its_cookie(look: PageLook) -> None:
    """Whatever was chosen."""
    assert read_look(write_look(look)) == look


@given(st.text(max_size=300))
def test_a_cookie_that_is_none_of_ours_chooses_nothing_else(cookie: str) -> None:
    """Every value is one that can be chosen on the form."""
    look = read_look(cookie)

    assert all(getattr(look, name) in values for name, (_, values) in CHOICES.items())


def style(home: Path, look: PageLook) -> str:
    pages = LookPages("wren", FamiliarPictures(HomeFolder(home)), PageRenderer())
    return pages._style(look)


def test_nothing_chosen_is_an_empty_style_sheet(tmp_path: Path) -> None:
    """The page is as its own files say."""
    assert style(tmp_path, PageLook()) == ""


@pytest.mark.parametrize(
    ("theme", "ground"), [("light", "#fbf9f6"), ("dark", "#171512"), ("sepia", "#f4ecd8"), ("contrast", "#000000")]
)
def test_a_theme_counts_whatever_the_system_says(tmp_path: Path, theme: str, ground: str) -> None:
    """Its colours are told again, and what kind of fields and scroll bars go with them."""
    text = style(tmp_path, PageLook(theme=theme))

    assert f"--ground: {ground}" in text
    assert f"color-scheme: {'light' if theme in ('light', 'sepia') else 'dark'}" in text
    assert "@media" not in text


def test_only_pictures_of_the_familiar_stand_behind_a_chat(tmp_path: Path) -> None:
    """A file that is none is as if there were nothing."""
    root = HomeFolder(tmp_path).familiar("wren").root
    root.mkdir(parents=True)
    assert style(tmp_path, PageLook(background="own")) == ""
    (root / "background.png").write_text("no picture", encoding="utf-8")
    assert style(tmp_path, PageLook(background="own")) == ""
    (root / "background.png").write_bytes(plain_picture())

    assert 'url("backgrounds/wren?v=' in style(tmp_path, PageLook(background="own"))
    assert "url(" not in style(tmp_path, PageLook(background="picture"))
    assert COOKIE not in style(tmp_path, PageLook(background="own"))
