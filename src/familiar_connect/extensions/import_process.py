"""The child process in which an extension reads a file: bytes on standard input, one JSON object on standard output.

Its arguments: the limits, the number of bytes, where the extension is, the kind, the importer and the file's name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from familiar_connect.errors import FamiliarError
from familiar_connect.extensions.imported import ImportedLine, ImportedText
from familiar_connect.extensions.parts import ChatImporterPart, DocumentImporterPart, Extension
from familiar_connect.support.bounded_process import limit_this_process, print_answer, read_given


def run_importer(budget: str, length: str, target: str, kind: str, importer: str, name: str) -> None:
    """Read one file and print what is in it."""
    try:
        extension = _find(target)  # before the limits count: what it loads is not what it reads
        limit_this_process(budget)
        wanted = ChatImporterPart if kind == "chat" else DocumentImporterPart
        part = next(each for each in extension.importers if isinstance(each, wanted) and each.name == importer)
        print_answer(_to_answer(part.read(read_given(length), name)))
    except MemoryError:
        print_answer({"excess": "memory"})
    except FamiliarError as error:
        print_answer({"problem": str(error)})
    except Exception as error:  # isolation: whatever a damaged file makes of its reader
        print_answer({"problem": f"{type(error).__name__}: {error}"})


def _find(target: str) -> Extension:
    module, _, name = target.partition(":")
    value: object = import_module(module)
    for part in name.split(".") if name else ():
        value = getattr(value, part)
    assert isinstance(value, Extension)
    return value


def _to_answer(found: ImportedText | Iterable[ImportedLine]) -> dict[str, Any]:
    if isinstance(found, ImportedText):
        return {"title": found.title, "pages": list(found.pages)}
    return {
        "lines": [
            {
                "name": each.name,
                "text": each.text,
                "sent": each.sent.isoformat() if each.sent is not None else None,
                "is_user": each.is_user,
            }
            for each in found
        ]
    }


if __name__ == "__main__":
    run_importer(*sys.argv[1:])
