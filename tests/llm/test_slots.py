"""A client for every slot, with the right key and no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.llm import LLM_SLOT_NAMES, LLMSlotConfig
from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.errors import ConfigError
from familiar_connect.llm.embedded.client import EmbeddedModel
from familiar_connect.llm.embedded.server import EmbeddedServers
from familiar_connect.llm.openai_compatible import OPENROUTER_BASE_URL, LLMClient
from familiar_connect.llm.slots import create_llm_clients

OLLAMA = "http://localhost:11434/v1"


def config_of(slot: LLMSlotConfig, **others: LLMSlotConfig) -> CharacterConfig:
    return CharacterConfig(llm={**dict.fromkeys(LLM_SLOT_NAMES, slot), **others})


def nothing(name: str) -> None:
    """No secret is set."""


def key_of(
    slot: LLMSlotConfig,
    secrets: Mapping[str, str] = {},
    api_key: str | None = "sk-openrouter",
    trust: TrustedOrigins | None = None,
) -> Any:
    clients = create_llm_clients(api_key, config_of(slot), secrets=lambda name: secrets.get(name), trust=trust)
    return clients["main_prose"].api_key


def test_every_slot_has_a_client_of_its_own() -> None:
    """Eight names, eight clients, each as its slot says."""
    config = config_of(LLMSlotConfig("a/b", 0.1), mood_eval=LLMSlotConfig("c/d", 0.9))
    clients = create_llm_clients("sk", config, secrets=nothing)

    assert clients.keys() == LLM_SLOT_NAMES
    assert len({id(client) for client in clients.values()}) == 8
    assert (clients["mood_eval"].model, clients["mood_eval"].temperature) == ("c/d", 0.9)
    assert (clients["main_prose"].model, clients["main_prose"].base_url) == ("a/b", OPENROUTER_BASE_URL)
    assert [slot for slot, client in clients.items() if client.is_main] == ["main_prose"]


@pytest.mark.parametrize("gap", [None, LLMSlotConfig("")])
def test_a_slot_without_a_model_is_a_key_error(gap: LLMSlotConfig | None) -> None:
    """The slot is named."""
    slots = {**dict.fromkeys(LLM_SLOT_NAMES, LLMSlotConfig("a/b")), "mood_eval": gap}
    if gap is None:
        del slots["mood_eval"]

    with pytest.raises(KeyError, match="mood_eval"):
        create_llm_clients("sk", CharacterConfig(llm=slots), secrets=nothing)  # type: ignore[arg-type]


def test_openrouter_gets_the_key_given() -> None:
    """Without a variable of its own a slot there uses the common key."""
    assert key_of(LLMSlotConfig("a/b")) == "sk-openrouter"
    assert key_of(LLMSlotConfig("a/b", base_url=OPENROUTER_BASE_URL + "/")) == "sk-openrouter"
    assert key_of(LLMSlotConfig("a/b"), {"OPENROUTER_API_KEY": "sk-env"}, api_key=None) == "sk-env"


def test_a_named_variable_comes_first_where_it_was_given_for_that_address(tmp_path: Path) -> None:
    """What `api_key_env` names is the key at its own origin, and a refusal at any other."""
    secrets = {"MINE": "sk-mine"}
    trust = TrustedOrigins(tmp_path)
    trust.add(OLLAMA, "MINE")

    assert key_of(LLMSlotConfig("a/b", api_key_env="MINE", base_url=OLLAMA), secrets, trust=trust) == "sk-mine"
    with pytest.raises(ConfigError, match=r"MINE .* given for http://localhost:11434"):
        key_of(LLMSlotConfig("a/b", api_key_env="MINE"), secrets, trust=trust)


def test_an_endpoint_on_this_machine_gets_no_key_unasked() -> None:
    """It may be named without a question, and no key follows."""
    assert key_of(LLMSlotConfig("a/b", base_url=OLLAMA), {"OPENROUTER_API_KEY": "sk-env"}) is None


@pytest.mark.parametrize(
    "url",
    ["https://openrouter.ai.evil.example/api/v1", "http://openrouter.ai/api/v1", "https://x@evil.example/v1"],
)
def test_no_key_goes_to_an_address_it_was_not_named_for(url: str) -> None:
    """Not even to one that looks like the right one; nothing else goes there either, before the owner allows it."""
    secrets = {"OPENROUTER_API_KEY": "sk-env"}

    with pytest.raises(ConfigError, match="trust add"):
        key_of(LLMSlotConfig("a/b", base_url=url), secrets)


def test_a_named_but_missing_key_is_not_replaced_by_another(tmp_path: Path) -> None:
    """Whoever named an account of their own does not pay from a different one."""
    trust = TrustedOrigins(tmp_path)
    trust.add(OPENROUTER_BASE_URL, "MINE")

    assert key_of(LLMSlotConfig("a/b", api_key_env="MINE"), trust=trust) is None


def test_all_embedded_slots_share_one_server() -> None:
    """Eight clients, one child process, none started yet."""
    servers = EmbeddedServers()
    clients = create_llm_clients(None, CharacterConfig(), secrets=nothing, embedded=servers)

    assert all(isinstance(client, EmbeddedModel) and client.server is servers.default for client in clients.values())
    assert servers.default.state == "off"


def test_the_embedded_model_keeps_its_own_temperature_until_someone_chooses_one() -> None:
    """The defaults of the slots are meant for larger models."""
    default = create_llm_clients(None, CharacterConfig(), secrets=nothing)["main_prose"]
    chosen = create_llm_clients(None, config_of(LLMSlotConfig("embedded", 0.9)), secrets=nothing)["main_prose"]

    assert (default.temperature, chosen.temperature) == (0.3, 0.9)


def test_fallbacks_become_clients_of_the_same_address() -> None:
    """In order, with the same key; the embedded model may be one of them."""
    slot = LLMSlotConfig("a/b", fallbacks=("c/d", "embedded"))
    main = create_llm_clients("sk", config_of(slot), secrets=nothing)["main_prose"]

    assert [client.model for client in main.fallbacks] == ["c/d", "embedded"]
    assert main.fallbacks[0].api_key == "sk"
    assert all(client.is_main for client in main.fallbacks)
    assert isinstance(main.fallbacks[1], EmbeddedModel)


def test_a_fallback_does_not_inherit_sight_and_tools() -> None:
    """What is set is said of the slot's own model; of another one its name and its server tell."""
    slot = LLMSlotConfig("a/b", fallbacks=("c/d", "gpt-4o"), vision=True, tools=True)
    main = create_llm_clients("sk", config_of(slot), secrets=nothing)["main_prose"]
    abilities = [(client.capabilities.vision, client.capabilities.tools) for client in (main, *main.fallbacks)]

    assert abilities == [(True, True), (False, False), (True, True)]


def test_a_slots_limits_reach_its_client() -> None:
    """Output length, timeout and window."""
    slot = replace(LLMSlotConfig("a/b"), max_output_tokens=99, timeout_s=5.0, context_window=1234)
    client: LLMClient = create_llm_clients("sk", config_of(slot), secrets=nothing)["main_prose"]

    assert (client.build_payload([])["max_tokens"], client.timeout_s, client.capabilities.window) == (99, 5.0, 1234)
