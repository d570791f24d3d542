"""Whether a preset changes anything here: `why_no_effect(preset, takes_text)`; and several files made one preset."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from familiar_connect.config.llm import MAIN_SLOT
from familiar_connect.errors import PresetError
from familiar_connect.presets.load import parse_preset_document
from familiar_connect.presets.text_completion import part_of_text_completion
from familiar_connect.presets.types import Preset

if TYPE_CHECKING:
    from familiar_connect.config.character import CharacterConfig

PARTS = ("instruct", "context", "sysprompt", "preset")
"""What a text-completion preset is made of, by the names its whole file has for them."""


def takes_text(config: CharacterConfig) -> bool:
    """Whether replies are asked for with one text instead of messages."""
    slot = config.llm.get(MAIN_SLOT)
    return slot is not None and slot.text_server is not None


def why_no_effect(preset: Preset, *, takes_text: bool) -> str:
    """Why *preset* would change nothing in a reply, as a sentence; empty where it would."""
    sampling = preset.sampling if takes_text else replace(preset.sampling, text=())
    if preset.prompts or sampling.values_by_name() or not preset.legacy or (takes_text and preset.template):
        return ""
    what = "an instruct template" if preset.template is not None else "samplers of text completion"
    return (
        f"{preset.name} holds {what} alone, which has no effect while the model is asked with messages: set "
        f"`text_server` under [llm.{MAIN_SLOT}] in character.toml, then `familiar preset use` puts it in force."
    )


def join_text_parts(files: Sequence[tuple[str, bytes]]) -> bytes:
    """The parts of one text-completion preset, each saved in a file of its own, as the file that has them all."""
    joined: dict[str, Any] = {}
    for name, raw in files:
        document = parse_preset_document(raw, name)
        whole: Mapping[str, Any] = {part: document[part] for part in PARTS if isinstance(document.get(part), dict)}
        part = part_of_text_completion(document)
        found = whole or ({part: document} if part else {})
        if not found:
            raise PresetError(
                f"preset {name!r}: is no part of a text-completion preset; several files at once are its context "
                "template, instruct template, system prompt and samplers"
            )
        for each in found.keys() & joined.keys():
            raise PresetError(f"preset {name!r}: is a second {each} of the same preset; name one file of each kind")
        joined |= found
    return (json.dumps(joined, ensure_ascii=False, indent=4) + "\n").encode("utf-8", "surrogatepass")
