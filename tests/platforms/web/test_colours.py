"""The colours of the page: named in one file, and readable in light and dark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import familiar_connect

STATIC = Path(familiar_connect.__file__).parent / "platforms/web/static"
GROUNDS = ("ground", "surface", "sunken", "raised", "tint")
AA, AAA = 4.5, 7.0
THEMES = ("light", "dark", "sepia", "contrast")
CODE = ("code-word", "code-type", "code-name", "code-text", "code-number", "code-note")


def tokens() -> dict[str, dict[str, str]]:
    """The colours of each theme by name; those of light where it names none."""
    light, _, dark = (STATIC / "tokens.css").read_text(encoding="utf-8").partition("@media")
    texts = [light, dark, *((STATIC / f"theme-{name}.css").read_text(encoding="utf-8") for name in THEMES[2:])]
    found = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", text)) for text in texts]
    return {name: {**found[0], **colours} for name, colours in zip(THEMES, found, strict=True)}


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", THEMES)
@pytest.mark.parametrize(
    ("name", "least"),
    [("ink", AAA), ("speech", AAA), ("soft", AA), ("accent", AA), ("good", AA), ("bad", AA), ("warn", AA)],
)
def test_text_is_readable_on_every_ground(scheme: str, name: str, least: float) -> None:
    """What is said, speech in quotation marks too, at the stricter of the two published ratios, in every theme."""
    colours = tokens()[scheme]

    assert min(contrast(colours[name], colours[ground]) for ground in GROUNDS) >= least


@pytest.mark.parametrize("scheme", THEMES)
def test_code_is_readable_in_every_colour(scheme: str) -> None:
    """On the ground it stands on, and there are as many colours as kinds."""
    colours = tokens()[scheme]

    assert min(contrast(colours[name], colours["sunken"]) for name in CODE) >= AAA
    assert len({colours[name] for name in CODE}) == len(CODE)


@pytest.mark.parametrize("scheme", THEMES[1:])
def test_a_theme_names_every_colour(scheme: str) -> None:
    """So that none of another shines through."""
    colours = tokens()

    assert not {
        name for name, value in colours[scheme].items() if value == colours["light"][name] and name != "on-accent"
    }


@pytest.mark.parametrize("scheme", THEMES)
def test_speech_differs_from_what_is_told(scheme: str) -> None:
    """In its colour: otherwise nobody would see it."""
    colours = tokens()[scheme]

    assert len({colours["speech"], colours["ink"], colours["soft"]}) == 3


OTHER_FILES = {path.name for path in STATIC.glob("*.css")} - {"tokens.css", *(f"theme-{name}.css" for name in THEMES)}


@pytest.mark.parametrize("file", sorted(OTHER_FILES))
def test_colours_are_named_in_one_file_of_a_theme(file: str) -> None:
    """The others use the names."""
    text = (STATIC / file).read_text(encoding="utf-8")

    assert re.findall(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgb|hsl)a?\([^)]*\)", text) == []
