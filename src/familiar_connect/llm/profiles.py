"""capabilities_for: what is known of a model by its name.

A small table of families, and only what is documented of them. A model it does not know gets no limits
invented for it; what the operator wrote in the slot's settings always wins.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Protocol

from familiar_connect.config.llm import EMBEDDED_MODEL, EMBEDDED_PREFIX, MAIN_SLOT, is_embedded_model, local_model_name
from familiar_connect.llm.endpoint_window import OLLAMA_DEFAULT_WINDOW
from familiar_connect.llm.types import Capabilities

EMBEDDED_WINDOW = 4096

EMBEDDED = Capabilities(
    window=EMBEDDED_WINDOW,
    max_output=120,
    side_tasks=False,
    budget_tokens=1000,
    temperature=0.3,
    bare_single_speaker=True,
    repeats_itself=True,
    imitates_itself=True,
    quotes_memory=True,
)
"""SmolLM2-135M: it chats. It cannot summarise, decide or rewrite, and a long prompt takes it minutes."""

LOCAL_FILE = Capabilities(max_output=400)
"""A model file of the owner's, run inside the program; how long it is heard out is a matter of the slot."""
LOCAL_SIDE_SLOTS = frozenset({MAIN_SLOT, "memory_writer"})
"""Slots in which such a model is asked. In the others every call would be paid for with the person's waiting, by a
model that is no better at them than the deterministic forms."""
WRITER_OUTPUT = 1_200

SMALL_BILLIONS = 3.0
"""Models of so many parameters at most fall into their own last replies."""
SMALL_FILE_BYTES = 2_300_000_000
"""How large such a model's file is at most, as they are commonly packed."""
_SIZE = re.compile(r"(?<![a-z\d.])(\d{1,4}(?:\.\d{1,2})?)(b|m)(?![a-z\d])")

_FAMILIES: tuple[tuple[str, Capabilities], ...] = (
    (r"gpt-5|chatgpt-5", Capabilities(window=400_000, max_output=128_000, vision=True, tools=True, prefill=False)),
    (r"gpt-4\.1", Capabilities(window=1_000_000, max_output=32_768, vision=True, tools=True, prefill=False)),
    (r"(chat)?gpt-4o", Capabilities(window=128_000, max_output=16_384, vision=True, tools=True, prefill=False)),
    (r"gpt-oss", Capabilities(window=131_072, tools=True, prefill=False)),
    (r"o[134](-|$)", Capabilities(window=200_000, max_output=100_000, vision=True, tools=True, prefill=False)),
    (r"claude", Capabilities(window=200_000, vision=True, tools=True)),
    (r"gemini", Capabilities(window=1_000_000, vision=True, video=True, tools=True, prefill=False)),
    (r"gemma-?3", Capabilities(window=131_072, vision=True, strict_roles=True)),
    (r"gemma", Capabilities(window=8192, strict_roles=True)),
    (r"(meta-)?llama-?3\.[123]", Capabilities(window=131_072, tools=True)),
    (r"(meta-)?llama-?3", Capabilities(window=8192)),
    (r"(meta-)?llama-?4", Capabilities(window=131_072, vision=True, tools=True)),
    (r"qwen-?[\d.]*-?vl", Capabilities(window=32_768, vision=True)),
    (r"qwen-?(2\.5|3)", Capabilities(window=32_768, tools=True)),
    (r"mistral|mixtral|ministral", Capabilities(window=32_768, tools=True, strict_roles=True)),
    (r"deepseek", Capabilities(window=65_536, tools=True)),
    (r"smollm2", replace(EMBEDDED, window=8192, temperature=None)),
)


def local_file_capabilities(
    slot: str, window: int, file_bytes: int, slot_config: SlotLimits | None = None
) -> Capabilities:
    """What a model file of the owner's is asked for in *slot*, with the window it is run with."""
    found = capabilities_for(f"{EMBEDDED_PREFIX}file", slot_config=slot_config)
    asked = slot_config.max_output_tokens if slot_config is not None else None
    usual = WRITER_OUTPUT if slot == "memory_writer" else found.max_output
    return replace(
        found,
        window=window,
        max_output=asked or usual,
        side_tasks=slot in LOCAL_SIDE_SLOTS,
        vision=False,
        video=False,
        repeats_itself=file_bytes < SMALL_FILE_BYTES,
    )


class SlotLimits(Protocol):
    """What a slot's settings may say of its model."""

    @property
    def context_window(self) -> int | None: ...
    @property
    def max_output_tokens(self) -> int | None: ...
    @property
    def vision(self) -> bool | None: ...
    @property
    def tools(self) -> bool | None: ...
    @property
    def strict_roles(self) -> bool | None: ...
    @property
    def prefill(self) -> bool | None: ...
    @property
    def prefix_completion(self) -> bool: ...
    @property
    def text_server(self) -> str | None: ...
    @property
    def reasoning_tags(self) -> tuple[str, ...]: ...


def capabilities_for(model_id: str, base_url: str | None = None, slot_config: SlotLimits | None = None) -> Capabilities:
    """What *model_id* can do, as far as it is known; a slot's own limits go over it."""
    if local_model_name(model_id) is not None:
        found = LOCAL_FILE
    else:
        found = EMBEDDED if model_id == EMBEDDED_MODEL else _family(model_id)
    if base_url is not None and not is_embedded_model(model_id) and _is_ollama(base_url):
        # Ollama silently drops the start of a longer prompt, whatever the model could take.
        found = replace(found, window=OLLAMA_DEFAULT_WINDOW)
    if slot_config is not None:
        found = replace(
            found,
            window=slot_config.context_window or found.window,
            is_window_set=slot_config.context_window is not None,
            max_output=slot_config.max_output_tokens or found.max_output,
            vision=found.vision if slot_config.vision is None else slot_config.vision,
            is_vision_set=slot_config.vision is not None,
            video=found.video and slot_config.vision is not False,
            tools=found.tools if slot_config.tools is None else slot_config.tools,
            is_tools_set=slot_config.tools is not None,
            strict_roles=found.strict_roles if slot_config.strict_roles is None else slot_config.strict_roles,
            prefill=(found.prefill or slot_config.prefix_completion)
            if slot_config.prefill is None
            else slot_config.prefill,
            prefix_completion=slot_config.prefix_completion,
            reasoning_tags=slot_config.reasoning_tags,
        )
        if slot_config.text_server is not None:
            # One text has no place for pictures and tools, and is always gone on with.
            found = replace(
                found,
                vision=False,
                is_vision_set=True,
                video=False,
                tools=False,
                is_tools_set=True,
                strict_roles=False,
                prefill=True,
            )
    return found


def _family(model_id: str) -> Capabilities:
    bare = model_id.lower().rsplit("/", 1)[-1]
    for pattern, capabilities in _FAMILIES:
        if re.match(pattern, bare):
            return replace(capabilities, repeats_itself=capabilities.repeats_itself or _is_small(bare))
    return Capabilities(repeats_itself=_is_small(bare))


def _is_small(name: str) -> bool:
    """Whether a model's name says that it is small: `llama3.2:1b`. Of several sizes the largest counts."""
    billions = [float(size) / (1 if unit == "b" else 1000) for size, unit in _SIZE.findall(name)]
    return bool(billions) and max(billions) <= SMALL_BILLIONS


def _is_ollama(base_url: str) -> bool:
    return ":11434" in base_url
