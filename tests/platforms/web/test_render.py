"""The page's templates are read and compiled once, however many familiars have pages."""

from __future__ import annotations

from typing import Any

import pytest

from familiar_connect.platforms.web import render
from familiar_connect.platforms.web.render import PageRenderer

jinja2 = pytest.importorskip("jinja2", reason="the page is an extra")


def test_a_template_is_compiled_once_for_all_familiars(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a renderer of its own, with its own addresses; the code behind them is the same."""
    compiled: list[str] = []
    compile_template = jinja2.Environment.compile

    def note(self: Any, source: Any, name: str | None = None, *more: Any, **options: Any) -> Any:
        compiled.append(str(name))
        return compile_template(self, source, name, *more, **options)

    monkeypatch.setattr(jinja2.Environment, "compile", note)
    monkeypatch.setattr(render, "_compiled", {})
    shown = [PageRenderer(at).text("icons.html") for at in ("", "/f/wren", "/f/mira")]

    assert compiled == ["icons.html"]
    assert len(set(shown)) == 1


def test_commands_on_a_page_are_named_as_typed_and_for_its_familiar(monkeypatch: pytest.MonkeyPatch) -> None:
    """For somebody who started the program by its launcher."""
    monkeypatch.setenv("FAMILIAR_COMMAND", "python3 run.py")
    renderer = PageRenderer("/f/wren")
    words = renderer.as_typed("ask again, or see `familiar model list` and `familiar preset import FILE`")

    assert "`python3 run.py model list`" in words
    assert "`python3 run.py preset import FILE --familiar wren`" in words
