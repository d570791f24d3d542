"""The child process that reads one file of outside origin: bytes on standard input, one JSON object on standard output.

Its arguments: the limits, the number of bytes, the kind of file, and what that kind's reader needs. `problem` in the
answer says in a few words why there is nothing else in it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from familiar_connect.support.bounded_process import limit_this_process, print_answer, read_given


def read_card_payload(data: bytes) -> dict[str, Any]:
    from familiar_connect.bootstrap.card_files.read_payload import read_payload

    payload = read_payload(data)
    return {"kind": payload.kind, "raw": payload.raw}


def read_lorebook_object(data: bytes, shown: str) -> dict[str, Any]:
    from familiar_connect.bootstrap.lorebook_files.json_source import parse_lorebook

    return {"top": parse_lorebook(data, shown)}


def try_preset(data: bytes, name: str, fidelity: str) -> dict[str, Any]:
    """Read a preset and report on it; the parent then does the same, knowing what it costs."""
    from familiar_connect.presets.import_report import report_on
    from familiar_connect.presets.load import read_preset, safe_preset_name
    from familiar_connect.presets.types import PresetFidelity

    report_on(read_preset(data, safe_preset_name(name)), fidelity=PresetFidelity(fidelity))
    return {}


READERS: dict[str, Callable[..., dict[str, Any]]] = {
    "card": read_card_payload,
    "lorebook": read_lorebook_object,
    "preset": try_preset,
}


def run_reader(budget: str, length: str, kind: str, *arguments: str) -> None:
    """Read one file and print what is in it."""
    from familiar_connect.errors import SetupError

    limit_this_process(budget)
    try:
        print_answer(READERS[kind](read_given(length), *arguments))
    except SetupError as error:
        print_answer({"problem": str(error)})
    except MemoryError:
        print_answer({"excess": "memory"})
    except RecursionError:
        print_answer({"problem": "is nested too deeply to read"})
    except Exception as error:  # whatever a damaged file makes of its reader
        print_answer({"problem": f"is damaged ({type(error).__name__}); fetch it again"})


if __name__ == "__main__":
    run_reader(*sys.argv[1:])
