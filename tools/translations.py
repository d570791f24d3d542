"""The catalogues of the interface: `python -m tools.translations` brings them level with the code.

It finds each sentence given to `tr`, `tr_many` or `later`, adds what is new to the `familiar.po` of each language in
`locale/` without a translation, takes out what is gone, and writes the `familiar.mo` that the program reads. `--check`
changes nothing and ends with 1 where that would change something, or where a sentence is missing or has lost a
placeholder.
"""

from __future__ import annotations

import argparse
import io
import string
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

PACKAGE = Path(__file__).parent.parent / "src" / "familiar_connect"
FOLDER = PACKAGE / "locale"
LANGUAGES = ("de", "ja")
IMPORTED = b"familiar_connect.support.translate import"
KEYWORDS = {"tr": None, "later": None, "tr_many": (1, 2)}


def read_sentences() -> Catalog:
    """Every sentence of the code that is translated."""
    found = Catalog(charset="utf-8")
    for file in sorted(PACKAGE.rglob("*.py")):
        code = file.read_bytes()
        if IMPORTED in code:
            for _, sentence, _, _ in extract("python", io.BytesIO(code), keywords=KEYWORDS):
                found.add(sentence, locations=[(file.relative_to(PACKAGE).as_posix(), 1)])
    return found


def po_file(language: str) -> Path:
    return FOLDER / language / "LC_MESSAGES" / "familiar.po"


def read_catalogue(language: str) -> Catalog:
    """The catalogue of *language*; an empty one where there is none."""
    file = po_file(language)
    if not file.is_file():
        return Catalog(locale=language, charset="utf-8")
    with file.open("rb") as stream:
        return read_po(stream, locale=language)


def bring_level(catalogue: Catalog, sentences: Catalog) -> Catalog:
    """*catalogue* with each of *sentences* and no other."""
    level = Catalog(locale=catalogue.locale, project="familiar-connect", charset="utf-8", fuzzy=False)
    for message in sentences:
        if message.id:
            known = catalogue.get(message.id)
            level.add(message.id, known.string if known is not None else None, locations=message.locations)
    return level


def find_faults(catalogue: Catalog) -> list[str]:
    """Sentences that are missing, or whose translation has other placeholders."""
    faults = []
    for message in catalogue:
        if not message.id:
            continue
        wanted, told = _forms(message.id), _forms(message.string)
        if not all(told):
            faults.append(f"{catalogue.locale}: missing: {wanted[0]}")
        elif any(_placeholders(each) != _placeholders(wanted[-1]) for each in told):
            faults.append(f"{catalogue.locale}: other placeholders: {wanted[0]}")
    return faults


def _forms(text: Any) -> list[str]:
    """One sentence, or those for one and for many."""
    return list(text) if isinstance(text, list | tuple) else [text or ""]


def _placeholders(text: str) -> set[tuple[str, str]]:
    """What is filled into *text*, however a date is written; a sentence that cannot be filled in has one of its own."""
    try:
        return {(name, how or "") for _, name, _, how in string.Formatter().parse(text) if name is not None}
    except ValueError:
        return {("?", text)}


def po_bytes(catalogue: Catalog) -> bytes:
    stream = io.BytesIO()
    _forget_dates(catalogue)
    write_po(stream, catalogue, width=120, sort_output=True, omit_header=False, include_lineno=False)
    return stream.getvalue()


def _forget_dates(catalogue: Catalog) -> None:
    """The same sentences make the same files, whenever they are written."""
    catalogue.creation_date = catalogue.revision_date = datetime(2026, 1, 1, tzinfo=UTC)


def mo_bytes(catalogue: Catalog) -> bytes:
    stream = io.BytesIO()
    _forget_dates(catalogue)
    write_mo(stream, catalogue)
    return stream.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser(description="Bring the catalogues of the interface level with the code.")
    parser.add_argument("--check", action="store_true", help="change nothing; tell what is not level")
    is_check = parser.parse_args().check
    sentences, faults = read_sentences(), list[str]()
    for language in LANGUAGES:
        level = bring_level(read_catalogue(language), sentences)
        faults += find_faults(level)
        file = po_file(language)
        written = {file: po_bytes(level), file.with_suffix(".mo"): mo_bytes(level)}
        for path, content in written.items():
            if is_check and (not path.is_file() or path.read_bytes() != content):
                faults.append(f"{path.relative_to(PACKAGE)} is not level with the code")
            elif not is_check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
    sys.stdout.write("\n".join(faults or ["every sentence has its translations"]) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
