"""A model behind a server on loopback, set up by the settings an owner would write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from familiar_connect.config import load_character_config
from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.slots import create_llm_clients
from tests.fakes.model_server import ModelServer


def served_model(folder: Path, server: ModelServer, settings: str = "", *, model: str = "tester") -> LLMClient:
    """The client of `[llm.default]` with *settings*, as lines of TOML."""
    file = folder / "served.toml"
    file.write_text(f'[llm.default]\nmodel = "{model}"\nbase_url = "{server.base_url}"\n{settings}\n', encoding="utf-8")
    return create_llm_clients(None, load_character_config(file), trust=TrustedOrigins(folder))["main_prose"]


def sent_messages(server: ModelServer, call: int = -1) -> list[dict[str, Any]]:
    """The messages of one call, as they went over the wire."""
    messages: list[dict[str, Any]] = server.requests[call].payload["messages"]
    return messages


def sent_text(server: ModelServer, call: int = -1) -> str:
    """All words of one call."""
    return "\n".join(
        part["text"]
        for message in sent_messages(server, call)
        for part in (
            message["content"]
            if isinstance(message["content"], list)
            else [{"type": "text", "text": message["content"]}]
        )
        if part["type"] == "text"
    )


def sent_pictures(server: ModelServer, call: int = -1) -> list[str]:
    """Addresses or data of the pictures of one call."""
    return [
        part["image_url"]["url"]
        for message in sent_messages(server, call)
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]
