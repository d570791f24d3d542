"""tr: a sentence of the interface in the language in force; later: one that is translated where it is shown.

The sentences stand in the code in English and in gettext catalogues in `locale/` in other languages (`python -m
tools.translations`). What is shown to people goes through here; what a model reads, what is stored, logs and the names
of commands and settings do not. A sentence that a catalogue lacks stays English.
"""

from __future__ import annotations

import gettext
import locale
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

DOMAIN = "familiar"
FOLDER = Path(__file__).parent.parent / "locale"
ENGLISH = "en"
LANGUAGES = (ENGLISH, "de", "ja")
"""Those there are catalogues of; English needs none."""
FROM_SYSTEM = "auto"

_ORDER = ("LC_ALL", "LC_MESSAGES", "LANG")
_NAMES = {"german": "de", "japanese": "ja"}
"""What Windows calls languages."""
_in_force = [ENGLISH]


def later(text: str) -> str:
    """*text* as it is: it is known before anybody knows who reads it, and `tr` translates it where it is shown."""
    return text


def tr(text: str) -> str:
    """*text* in the language in force."""
    return tr_in(_in_force[0], text)


def tr_many(one: str, many: str, count: int) -> str:
    """How many there are, in the language in force; `{count}` in both stands for the number."""
    language = _in_force[0]
    told = (one if count == 1 else many) if language == ENGLISH else _catalogue(language).ngettext(one, many, count)
    return told.format(count=f"{count:,}")


def tr_in(language: str, text: str) -> str:
    """*text* in *language*, whichever is in force; English where there is no catalogue of it."""
    return _catalogue(language).gettext(text) if text and language in LANGUAGES and language != ENGLISH else text


def translations_of(text: str) -> dict[str, str]:
    """*text* in each language there is a catalogue of besides English, by its code; those that have it not left out."""
    found = {language: tr_in(language, text) for language in LANGUAGES if language != ENGLISH}
    return {language: told for language, told in found.items() if told != text}


def use_language(language: str) -> None:
    """Have `tr` give *language* in this process: a code there is a catalogue of, or `auto` for that of the system."""
    _in_force[0] = system_language() if language == FROM_SYSTEM else language


def language_in_force() -> str:
    return _in_force[0]


def system_language(environment: Mapping[str, str] | None = None) -> str:
    """The language that the system is set to, as far as there is a catalogue of it; English otherwise."""
    environment = os.environ if environment is None else environment
    told = next((environment[name] for name in _ORDER if environment.get(name)), "")
    if not told:
        return _without_variables()
    if told.partition(".")[0] in ("C", "POSIX"):
        return ENGLISH
    wanted = environment.get("LANGUAGE") or told
    codes = (each.partition(".")[0].partition("_")[0].lower() for each in wanted.split(":"))
    return next((code for code in codes if code in LANGUAGES), ENGLISH)


def _without_variables() -> str:
    """Where the environment says nothing, as on Windows."""
    try:
        told = (locale.getlocale()[0] or "").partition("_")[0].lower()
    except ValueError:
        return ENGLISH
    code = _NAMES.get(told, told)
    return code if code in LANGUAGES else ENGLISH


@lru_cache(maxsize=len(LANGUAGES))
def _catalogue(language: str) -> gettext.NullTranslations:
    return gettext.translation(DOMAIN, FOLDER, [language], fallback=True)
