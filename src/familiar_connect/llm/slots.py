"""create_llm_clients: a model client for every slot, each with the key its address was given.

Nothing goes to an origin the owner has not allowed, and no key to one it was not given for. Every slot on the
embedded model shares one server.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from familiar_connect.config.llm import (
    EMBEDDED_MODEL,
    MAIN_SLOT,
    OPENROUTER_BASE_URL,
    OPENROUTER_KEY_VARIABLE,
    REPLIES_AT_ONCE,
    SLOT_TEMPERATURES,
    LLMSlotConfig,
    is_embedded_model,
    split_extension_model,
)
from familiar_connect.config.secrets import home_from_environment, read_secret
from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.llm.call_clock import CallLimits
from familiar_connect.llm.embedded.client import MAX_RETRIES as EMBEDDED_RETRIES
from familiar_connect.llm.embedded.client import EmbeddedModel
from familiar_connect.llm.embedded.server import EmbeddedServers
from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.profiles import capabilities_for, local_file_capabilities
from familiar_connect.llm.replicas import ReplicaChooser, ReplicatedModel
from familiar_connect.llm.retry import MAX_RETRIES, RetryPolicy, Sleep
from familiar_connect.llm.sampling import sampling_of
from familiar_connect.support.web_origin import is_same_origin

if TYPE_CHECKING:
    from familiar_connect.config.character import CharacterConfig

REPLICA_RETRIES = 0
"""At one server of several: the next one is asked instead."""
SecretReader = Callable[[str], str | None]


def create_llm_clients(
    api_key: str | None,
    character_config: CharacterConfig,
    *,
    secrets: SecretReader = read_secret,
    trust: TrustedOrigins | None = None,
    embedded: EmbeddedServers | None = None,
    sleep: Sleep | None = None,
    rng: random.Random | None = None,
) -> dict[str, LLMClient]:
    """One client per slot; *api_key* is OpenRouter's. A slot without a model is a KeyError.

    *trust* says what the owner allowed, that of the environment's home unless given; an origin, or a key for an
    origin, that is not allowed is a `ConfigError`.
    """
    trust = trust or TrustedOrigins(home_from_environment())
    trust.check(character_config.llm)
    maker = _ClientMaker(api_key, secrets, embedded or EmbeddedServers(), sleep, rng)
    clients: dict[str, LLMClient] = {}
    for slot in SLOT_TEMPERATURES:
        config = character_config.llm.get(slot)
        if config is None or not config.model:
            raise KeyError(f"no model for the slot {slot!r}: set `model` under [llm.{slot}] or [llm.default]")
        clients[slot] = maker.client_for(slot, config)
    return clients


class _ClientMaker:
    """What all clients of one familiar have in common."""

    def __init__(
        self,
        api_key: str | None,
        secrets: SecretReader,
        embedded: EmbeddedServers,
        sleep: Sleep | None,
        rng: random.Random | None,
    ) -> None:
        self._api_key = api_key
        self._secrets = secrets
        self._embedded = embedded
        self._sleep = sleep
        self._rng = rng

    def client_for(self, slot: str, config: LLMSlotConfig) -> LLMClient:
        # What the settings say of sight and tools they say of the slot's own model; another one may lack both.
        unsaid = replace(config, vision=None, tools=None)
        fallbacks = tuple(self._client(slot, unsaid, model, ()) for model in config.fallbacks)
        return self._client(slot, config, config.model, fallbacks)

    def _client(self, slot: str, config: LLMSlotConfig, model: str, fallbacks: tuple[LLMClient, ...]) -> LLMClient:
        is_main = slot == MAIN_SLOT
        limits = CallLimits(
            max_output_tokens=config.max_output_tokens,
            first_token_s=config.first_token_limit_s,
            timeout_s=config.timeout_s,
            reply_timeout_s=config.reply_timeout_s,
            sampling=sampling_of(config),
            slot=slot,
            at_once=config.at_once or (REPLIES_AT_ONCE if is_main else None),
        )
        if model == EMBEDDED_MODEL:
            # A temperature nobody chose is meant for larger models; the embedded one has its own.
            chosen = config.temperature != SLOT_TEMPERATURES[slot]
            return EmbeddedModel(
                self._embedded.default,
                temperature=config.temperature if chosen else None,
                limits=limits,
                capabilities=replace(capabilities_for(model, slot_config=config), first_token_s=limits.first_token_s),
                fallbacks=fallbacks,
                is_main=is_main,
                retry=self._retry(EMBEDDED_RETRIES, is_main=is_main),
            )
        if is_embedded_model(model):
            local = self._embedded.local(model, window=config.context_window)
            return EmbeddedModel(
                local.server,
                model=model,
                file=local.file,
                temperature=config.temperature,
                limits=limits,
                capabilities=replace(
                    local_file_capabilities(slot, local.plan.window, local.file.file_bytes, config),
                    first_token_s=limits.first_token_s,
                ),
                fallbacks=fallbacks,
                is_main=is_main,
                retry=self._retry(EMBEDDED_RETRIES, is_main=is_main),
            )
        base_url = config.base_url or OPENROUTER_BASE_URL
        make: Callable[..., LLMClient] = LLMClient
        if config.text_server is not None:
            from familiar_connect.llm.text.client import TextCompletionModel
            from familiar_connect.llm.text.template import TEMPLATES

            template = TEMPLATES[config.text_template]
            make = partial(TextCompletionModel, server=config.text_server, template=template)

        def client_at(address: str, retry: RetryPolicy) -> LLMClient:
            has_key = is_same_origin(address, base_url)
            return make(
                api_key=self._key(config, base_url) if has_key else None,
                model=model,
                base_url=address,
                temperature=config.temperature,
                limits=limits,
                capabilities=replace(capabilities_for(model, address, config), first_token_s=limits.first_token_s),
                key_name=key_name(config, base_url) if has_key else None,
                fallbacks=() if config.replicas else fallbacks,
                is_main=is_main,
                retry=retry,
            )

        if not config.replicas:
            return client_at(base_url, self._retry(MAX_RETRIES, is_main=is_main))
        weights = {base_url: 1.0, **dict(config.replicas)}
        # Another server is asked sooner than the same one again.
        members = [client_at(address, self._retry(REPLICA_RETRIES, is_main=False)) for address in weights]
        return ReplicatedModel(
            members,
            ReplicaChooser(weights),
            fallbacks=fallbacks,
            retry=self._retry(MAX_RETRIES, is_main=is_main),
        )

    def _retry(self, max_retries: int, *, is_main: bool) -> RetryPolicy:
        """A reply waits for a server that comes up; a side call is left out meanwhile."""
        return RetryPolicy(
            max_retries=max_retries,
            sleep=self._sleep,
            waits_for_server=is_main,
            rng=self._rng or random.Random(),
        )

    def _key(self, config: LLMSlotConfig, base_url: str) -> str | None:
        named = (self._secrets(config.api_key_env) if config.api_key_env else None) or None
        if named is not None or config.api_key_env not in (None, OPENROUTER_KEY_VARIABLE):
            return named
        if key_name(config, base_url) is None:
            return None
        return self._api_key or self._secrets(OPENROUTER_KEY_VARIABLE) or None


def key_name(config: LLMSlotConfig, base_url: str) -> str | None:
    """The variable a slot's key comes from, or None where no key is sent."""
    if split_extension_model(config.model) is not None:
        return None
    if config.api_key_env:
        return config.api_key_env
    return OPENROUTER_KEY_VARIABLE if is_same_origin(base_url, OPENROUTER_BASE_URL) else None
