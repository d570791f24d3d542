"""Texts for generated cases: sentences of few words, so that keys hit, and macros in every shape, broken ones too."""

from __future__ import annotations

import random

WORDS = (
    "lamp",
    "harbor",
    "storm",
    "crown",
    "ferry",
    "salt",
    "tower",
    "raven",
    "king's",
    "old-gate",
    "ash",
    "glass",
    "river",
    "moon",
    "iron",
    "bell",
    "seven",
    "Mira",
    "Ada",
    "north",
    "café",
    "naïve",
    "塔",
    "龍",
    "snow",
)
PHRASES = ("old harbor", "the glass tower", "iron bell", "seven bells", "salt and ash", "moon river")
SIMPLE = (
    "{{user}}",
    "{{char}}",
    "{{ User }}",
    "<USER>",
    "<BOT>",
    "<char>",
    "{{persona}}",
    "{{description}}",
    "{{personality}}",
    "{{scenario}}",
    "{{mesExamples}}",
    "{{mesExamplesRaw}}",
    "{{charPrompt}}",
    "{{charInstruction}}",
    "{{charVersion}}",
    "{{charDepthPrompt}}",
    "{{creatorNotes}}",
    "{{charFirstMessage}}",
    "{{greeting::1}}",
    "{{lastMessage}}",
    "{{lastMessageId}}",
    "{{lastUserMessage}}",
    "{{lastCharMessage}}",
    "{{group}}",
    "{{notChar}}",
    "{{time}}",
    "{{date}}",
    "{{weekday}}",
    "{{isotime}}",
    "{{isodate}}",
    "{{datetimeformat YYYY-MM-DD HH:mm}}",
    "{{time::UTC+2}}",
    "{{newline}}",
    "{{newline::2}}",
    "{{space::2}}",
    "{{noop}}",
    "{{trim}}",
    "{{// a note}}",
    "{{comment::a note}}",
    "{{reverse::abc}}",
    "{{roll:d6}}",
    "{{roll::2d6+1}}",
    "{{pick::red::green::blue}}",
    "{{pick:one,two,three}}",
    "{{getvar::mood}}",
    "{{getvar::count}}",
    "{{setvar::mood::calm}}",
    "{{incvar::count}}",
    "{{decvar::count}}",
    "{{addvar::count::2}}",
    "{{addvar::mood::!}}",
    "{{hasvar::mood}}",
    "{{deletevar::mood}}",
    "{{setglobalvar::world::wide}}",
    "{{getglobalvar::world}}",
    "{{.mood}}",
    "{{.mood = dark}}",
    "{{.count++}}",
    "{{.count += 3}}",
    "{{$world ||= huge}}",
    "{{.mood == calm}}",
    "{{.count >= 2}}",
    "{{outlet::side}}",
    "{{original}}",
    "{{lastGenerationType}}",
    "{{maxPrompt}}",
    "{{input}}",
)
BROKEN = (
    "{{",
    "}}",
    "{{user",
    "{{{user}}}",
    "{{unknown}}",
    "{{user::too::many}}",
    "{{getvar}}",
    "\\{{user}}",
    "\\{\\{user\\}\\}",
    "{{if}}",
    "{{/if}}",
    "{{else}}",
    "{{if user}}open",
    "{{if user}}a{{else}}b",
    "{{if .mood}}x{{if .count}}y{{/if}}",
    "{{if .mood}}x{{/if}}y{{/if}}",
    "{{if .mood}}{{else}}{{else}}z{{/if}}",
    "{{if user::inline}}",
    "{{if}}x{{/if}}",
    "{{else}}{{if user}}q{{/if}}",
    "{{setvar::open}}body",
    "{{/setvar}}",
    "{ {user} }",
    "{{us er}}",
    "{{if {{user}}x{{/if}}",
)


def make_sentence(rng: random.Random, least: int = 3, most: int = 9) -> str:
    """A few words, at times a phrase that books look for."""
    words = rng.choices(WORDS, k=rng.randint(least, most))
    if rng.random() < 0.4:
        words.insert(rng.randrange(len(words)), rng.choice(PHRASES))
    text = " ".join(words)
    return f"{text[0].upper()}{text[1:]}{rng.choice('...!?,')}"


def make_macro(rng: random.Random, depth: int = 0) -> str:
    """One macro: plain, nested, scoped, conditional or broken."""
    kind = rng.random()
    if kind < 0.62 or depth > 2:
        return rng.choice(SIMPLE)
    if kind < 0.72:
        return rng.choice(BROKEN)
    inner = make_text(rng, macros=rng.randint(0, 2), depth=depth + 1)
    if kind < 0.88:
        return make_condition(rng, inner, depth)
    if kind < 0.92:
        return f"{{{{setvar::{rng.choice(('mood', 'count'))}}}}}{inner}{{{{/setvar}}}}"
    if kind < 0.96:
        return f"{{{{reverse::{inner}}}}}"
    return f"{{{{#if {rng.choice(('user', '.mood'))}}}}}\n  {inner}\n{{{{/if}}}}"


def make_condition(rng: random.Random, inner: str, depth: int) -> str:
    """`{{if}}`, in one of its forms."""
    said = rng.choice(
        (
            "user",
            "!user",
            "persona",
            ".mood",
            "!.mood",
            "$world",
            "off",
            "{{getvar::mood}}",
            "{{.count > 1}}",
            "{{hasvar::count}}",
            "word",
            "{{scenario}}",
        )
    )
    other = f"{{{{else}}}}{make_text(rng, macros=rng.randint(0, 1), depth=depth + 1)}" if rng.random() < 0.5 else ""
    gap = rng.choice(("", " ", "\n"))
    return f"{{{{if {said}}}}}{gap}{inner}{gap}{other}{{{{/if}}}}"


def make_text(rng: random.Random, *, macros: int = 0, depth: int = 0) -> str:
    """Sentences with so many macros among them."""
    parts = [make_sentence(rng, 2, 6)]
    for _ in range(macros):
        parts.insert(rng.randrange(len(parts) + 1), make_macro(rng, depth))
        if rng.random() < 0.5:
            parts.append(make_sentence(rng, 1, 4))
    return rng.choice((" ", " ", "\n", "")).join(parts)


def make_some_text(rng: random.Random, *, filled: float = 0.7, macros: float = 0.4, most: int = 2) -> str:
    """A text or nothing; with macros or without."""
    if rng.random() > filled:
        return rng.choice(("", "", " ", "\n"))
    text = make_text(rng, macros=rng.randint(1, most) if rng.random() < macros else 0)
    return rng.choice((text, text, text, f" {text}\n", text.replace(" ", "\r\n", 1)))
