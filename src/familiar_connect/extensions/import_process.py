"""The child process in which an extension reads a file: bytes on standard input, JSON on standard output.

A document is one object. A chat is an object for each line, and one more at the end, so that neither side holds all of
a long one. Its arguments: the limits, the number of bytes, where the extension is, the kind, the importer and the
file's name.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from importlib import import_module

from familiar_connect.errors import FamiliarError, UnreadableFileError
from familiar_connect.extensions.imported import ImportedChat, ImportedItem, ImportedText, ImportRemark
from familiar_connect.extensions.importer_parts import ChatImporterPart, DocumentImporterPart
from familiar_connect.extensions.parts import Extension
from familiar_connect.support.bounded_process import limit_this_process, print_answer, read_given


def run_importer(budget: str, length: str, target: str, kind: str, importer: str, name: str) -> None:
    """Read one file and print what is in it."""
    try:
        extension = _find(target)  # before the limits count: what it loads is not what it reads
        limit_this_process(budget)
        wanted = ChatImporterPart if kind == "chat" else DocumentImporterPart
        part = next(each for each in extension.importers if isinstance(each, wanted) and each.name == importer)
        found = part.read(read_given(length), name)
        if isinstance(found, ImportedText):
            print_answer({"title": found.title, "pages": list(found.pages)})
        else:
            _print_lines(found)
            print_answer({"is_whole": True})
    except MemoryError:
        print_answer({"excess": "memory"})
    except UnreadableFileError as error:
        print_answer({"refusal": str(error), "where": error.where})
    except FamiliarError as error:
        print_answer({"problem": str(error)})
    except Exception as error:  # isolation: whatever a damaged file makes of its reader
        print_answer({"problem": f"{type(error).__name__}: {error}", "failure": type(error).__name__})


def _find(target: str) -> Extension:
    module, _, name = target.partition(":")
    value: object = import_module(module)
    for part in name.split(".") if name else ():
        value = getattr(value, part)
    assert isinstance(value, Extension)
    return value


def _print_lines(lines: Iterable[ImportedItem]) -> None:
    """Print each line as it comes."""
    for each in lines:
        printed = json.dumps(_row_of(each), ensure_ascii=False).encode("utf-8", "backslashreplace")  # half a character
        sys.stdout.buffer.write(printed + b"\n")


def _row_of(item: ImportedItem) -> dict[str, object]:
    if isinstance(item, ImportedChat):
        return {"title": item.title, "key": item.key}
    if isinstance(item, ImportRemark):
        return {"remark": item.text, "is_of_file": item.is_of_file}
    row: dict[str, object] = {"name": item.name, "text": item.text}
    if item.sent is not None:
        row["sent"] = item.sent.isoformat()
    if item.versions:
        row["versions"] = list(item.versions)
    marks = ("is_user", "is_character", "is_hidden", "is_narrator")
    return row | {mark: True for mark in marks if getattr(item, mark)}


if __name__ == "__main__":
    run_importer(*sys.argv[1:])
