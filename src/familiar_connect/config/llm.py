"""[llm.<slot>]: which model does which work.

A slot takes each setting from the nearest place that gives it: the familiar's own slot, the familiar's
[llm.default], the profile's slot, the profile's [llm.default], then the code. A key named for one
address is never handed on to another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from familiar_connect.config.built_in import BUILT_IN_PLATFORMS, read_built_in_secrets
from familiar_connect.config.rules import FILLED_TEXT, FLAG, InvalidValue, Rule, choice_rule, integer_rule, number_rule
from familiar_connect.config.settings import describe, fill_fields, keys_of, setting
from familiar_connect.errors import ConfigError
from familiar_connect.support.web_origin import is_own_network, is_same_origin

EMBEDDED_MODEL = "embedded"
EMBEDDED_PREFIX = "embedded:"
"""Before the name of another model file that runs inside the program."""
LOCAL_MODEL_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
OPENROUTER_BASE_URL = "https://openrouter.ai/api/v1"
OPENROUTER_KEY_VARIABLE = "OPENROUTER_API_KEY"
DEFAULT_SLOT = "default"
MAIN_SLOT = "main_prose"
"""Writes the reply; all others do side tasks."""

SLOT_TEMPERATURES: dict[str, float] = {
    MAIN_SLOT: 0.7,
    "post_process_style": 0.5,
    "reasoning_context": 0.3,
    "history_summary": 0.4,
    "memory_search": 0.4,
    "memory_writer": 0.3,
    "interjection_decision": 0.5,
    "mood_eval": 0.3,
}
"""Every slot, in the order they are shown, with its default temperature."""

OWN_NETWORK_FIRST_TOKEN_S = 120.0
"""A model on one's own machine may have to be loaded first, and works slowly through a long prompt."""
PUBLIC_FIRST_TOKEN_S = 60.0
DEFAULT_TIMEOUT_S = 60.0
DEFAULT_REPLY_TIMEOUT_S = 600.0
REPLIES_AT_ONCE = 8
"""Replies that one endpoint is asked for at a time, where nothing else is set."""

MAX_REPLICAS = 64

TEXT_SERVERS = ("llama.cpp", "koboldcpp", "text-generation-webui", "vllm")
"""Whose completion endpoints are known."""
TEXT_TEMPLATES = ("chatml", "llama3", "mistral", "alpaca", "plain")

MAX_TAG_CHARS = 40
REASONING_EFFORTS = ("none", "minimal", "low", "medium", "high")

LLM_SLOT_NAMES = frozenset(SLOT_TEMPERATURES)

KEY_VARIABLE_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
PLATFORM_TOKENS = tuple(read_built_in_secrets(BUILT_IN_PLATFORMS))
"""Variables whose values belong to a chat platform and are never lent to a model's endpoint."""


def is_platform_token(name: str) -> bool:
    """Whether the variable *name* holds the token of a chat platform, of all familiars or of one."""
    return name in PLATFORM_TOKENS or name.startswith(tuple(f"{each}_" for each in PLATFORM_TOKENS))


def _variable(value: object) -> str:
    if not isinstance(value, str) or not KEY_VARIABLE_NAME.fullmatch(value) or is_platform_token(value):
        raise InvalidValue
    return value


EXTENSION_MODEL = "extension:"


def split_extension_model(model: str) -> tuple[str, str] | None:
    """The extension that *model* names and what it calls the model: `extension:NAME/MODEL`; None: it names none."""
    if not model.startswith(EXTENSION_MODEL):
        return None
    name, _, rest = model.removeprefix(EXTENSION_MODEL).partition("/")
    return name, rest


def is_embedded_model(model_id: object) -> bool:
    """Whether *model_id* runs inside the program: the small default, or a model file by its name."""
    return isinstance(model_id, str) and (model_id == EMBEDDED_MODEL or model_id.startswith(EMBEDDED_PREFIX))


def local_model_name(model_id: str) -> str | None:
    """The name in `embedded:NAME`; None for every other model, the small default among them."""
    return model_id.removeprefix(EMBEDDED_PREFIX) if model_id.startswith(EMBEDDED_PREFIX) else None


def _model_id(value: object) -> str:
    text = str(FILLED_TEXT.read(value))
    name = local_model_name(text)
    if name is not None and not LOCAL_MODEL_NAME.fullmatch(name):
        raise InvalidValue
    return text


def _models(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InvalidValue
    return tuple(_model_id(item) for item in value)


def _words(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise InvalidValue
    return tuple(value)


def _pair_of_words(value: object) -> tuple[str, ...]:
    words = tuple(word.strip() for word in _words(value))
    if not words:
        return ()
    if len(words) != 2 or not all(words) or words[0] == words[1] or max(map(len, words)) > MAX_TAG_CHARS:
        raise InvalidValue
    return words


def _replicas(value: object) -> tuple[tuple[str, float], ...]:
    """`["http://gpu2:8000/v1 weight=2"]` as pairs."""
    found: dict[str, float] = {}
    for item in _words(value):
        address, _, weight = item.strip().partition(" ")
        try:
            share = float(weight.strip().removeprefix("weight=")) if weight else 1.0
        except ValueError:
            raise InvalidValue from None
        if not 0.01 <= share <= 1000:
            raise InvalidValue
        found[_web_address(address)] = share
    if len(found) > MAX_REPLICAS:
        raise InvalidValue
    return tuple(found.items())


def _biases(value: object) -> tuple[tuple[str, float], ...]:
    """`["50256: -100"]` as pairs."""
    found = []
    for item in _words(value):
        token, _, bias = (part.strip() for part in item.partition(":"))
        try:
            amount = float(bias)
        except ValueError:
            raise InvalidValue from None
        if not (token.isascii() and token.isdecimal()) or not -100 <= amount <= 100:
            raise InvalidValue
        found.append((token, amount))
    return tuple(found)


def _web_address(value: object) -> str:
    if not isinstance(value, str) or not value.isprintable() or " " in value.strip():
        raise InvalidValue
    address = value.strip()
    try:
        parts = urlsplit(address)
        named = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise InvalidValue from None
    if not named or "@" in parts.netloc or parts.query or parts.fragment:
        raise InvalidValue
    return address


MODEL_ID = Rule(
    "a non-empty string; after `embedded:` the name of a model that `familiar model list` shows, never a path",
    _model_id,
)

BASE_URL = Rule(
    "an address such as http://localhost:11434/v1, starting with http:// or https://, "
    "without user name, password or ?query",
    _web_address,
    may_show=False,
)

API_KEY_ENV = Rule(
    "the name of an environment variable in capitals, such as OPENROUTER_API_KEY; "
    "put the key itself into secrets.env under that name and never here; "
    f"a platform's token such as {PLATFORM_TOKENS[0]} is never lent",
    _variable,
    may_show=False,
)


@dataclass(frozen=True)
class LLMSlotConfig:
    """The model of one slot and how it is reached."""

    model: str = field(
        metadata=describe(
            MODEL_ID,
            'Model id as its server knows it; "embedded" is the small model that comes with the program, '
            '"embedded:NAME" one that `familiar model` fetched or was shown, "extension:NAME/MODEL" one that an '
            "extension brings.",
            example='"qwen3:8b"',
        )
    )
    base_url: str | None = field(
        default=None,
        kw_only=True,
        metadata=describe(
            BASE_URL,
            "Address of an OpenAI-compatible server. None: OpenRouter.",
            example='"http://localhost:11434/v1"',
        ),
    )
    api_key_env: str | None = field(
        default=None,
        kw_only=True,
        metadata=describe(
            API_KEY_ENV,
            f"Name of the variable that holds the key, never the key. None: `{OPENROUTER_KEY_VARIABLE}` at "
            "OpenRouter, no key elsewhere.",
            example='"MY_SERVER_API_KEY"',
        ),
    )
    temperature: float | None = setting(
        None, number_rule(least=0, most=2), "How freely words are chosen.", example="0.7"
    )
    _: KW_ONLY
    fallbacks: tuple[str, ...] = setting(
        (), Rule("a list of model ids", _models), "Models tried in turn when this one fails.", example="[]"
    )
    replicas: tuple[tuple[str, float], ...] = setting(
        (),
        Rule(
            'a list of up to 64 addresses such as "http://10.0.0.6:8000/v1" or "http://10.0.0.6:8000/v1 weight=2"',
            _replicas,
            may_show=False,
        ),
        "Further servers of the same model, beside the one at `base_url`. Each conversation keeps to one of them while "
        "that one is well; a higher weight brings a server more conversations. No key is sent to a server of another "
        "origin than `base_url`'s.",
        example='["http://10.0.0.6:8000/v1", "http://10.0.0.7:8000/v1 weight=2"]',
    )
    max_output_tokens: int | None = setting(
        None,
        integer_rule(least=1),
        "Longest reply asked for, tokens; may also be called `max_tokens`. None: the model's own.",
        example="800",
        also="max_tokens",
    )
    context_window: int | None = setting(
        None,
        integer_rule(least=1),
        "Tokens the model takes in, prompt and reply together. None: what its endpoint says, else what is known of it.",
        key="window",
        example="32768",
        also="context_window",
    )
    vision: bool | None = setting(
        None, FLAG, "Whether it sees pictures. None: what its endpoint says, else what is known of it.", example="true"
    )
    tools: bool | None = setting(
        None, FLAG, "Whether it can use tools. None: what its endpoint says, else what is known of it.", example="true"
    )
    strict_roles: bool | None = setting(
        None,
        FLAG,
        "Whether it wants turns in strict alternation and one system message. None: what is known of it.",
        example="false",
    )
    prefill: bool | None = setting(
        None, FLAG, "Whether it goes on with words a reply is begun with. None: what is known of it.", example="false"
    )
    prefix_completion: bool = setting(
        False,
        FLAG,
        "Whether such words are marked with `prefix: true`, as the servers of DeepSeek and Mistral ask for; the model"
        " then counts as one that goes on with them.",
    )
    top_p: float | None = setting(
        None, number_rule(least=0, most=1), "Only the likeliest words that make up this share.", example="0.95"
    )
    top_k: int | None = setting(None, integer_rule(least=0), "Only so many of the likeliest words.", example="40")
    min_p: float | None = setting(
        None, number_rule(least=0, most=1), "Only words at least this likely next to the likeliest.", example="0.05"
    )
    presence_penalty: float | None = setting(
        None, number_rule(least=-2, most=2), "Above 0: less of what was said at all.", example="0.3"
    )
    frequency_penalty: float | None = setting(
        None, number_rule(least=-2, most=2), "Above 0: less of what was said often.", example="0.3"
    )
    repeat_penalty: float | None = setting(
        None, number_rule(above=0), "Above 1: less of what was said last, where the server knows it.", example="1.1"
    )
    seed: int | None = setting(
        None, integer_rule(least=0), "The same seed, the same words, where the server keeps to it.", example="7"
    )
    stop: tuple[str, ...] = setting(
        (), Rule("a list of strings", _words), "Words that end a reply where they would come.", example='["User:"]'
    )
    logit_bias: tuple[tuple[str, float], ...] = setting(
        (),
        Rule('a list of strings such as "50256: -100", a token\'s number and -100 to 100', _biases),
        "Tokens made likelier or less likely, by their numbers in the model's vocabulary.",
        example='["50256: -100"]',
    )
    reasoning_effort: str | None = setting(
        None,
        choice_rule(*REASONING_EFFORTS),
        "How much a model that reasons does so before it answers. None: the endpoint's own.",
        example='"low"',
    )
    reasoning_tags: tuple[str, ...] = setting(
        (),
        Rule("a list of two different words, of 40 characters at most, or of none", _pair_of_words),
        "What the model writes before and behind its thoughts, which are left out of its replies. The usual ones, such "
        "as `<think>`, are known without.",
        example='["<mull>", "</mull>"]',
    )
    text_server: str | None = setting(
        None,
        choice_rule(*TEXT_SERVERS),
        "Send one text to this server's completion endpoint instead of messages to its chat endpoint, with its own "
        "names for samplers. None: messages.",
        example='"llama.cpp"',
    )
    text_template: str = setting(
        "chatml",
        choice_rule(*TEXT_TEMPLATES),
        "With `text_server`: the signs around each message, where no preset in force has an instruct template.",
    )
    first_token_s: float | None = setting(
        None,
        number_rule(above=0),
        "Longest wait for the first word or thought, seconds; loading the model, a server that only comes up and "
        f"further tries are included. None: {OWN_NETWORK_FIRST_TOKEN_S:g} on this machine or a private network, "
        f"{PUBLIC_FIRST_TOKEN_S:g} elsewhere.",
        example="300.0",
    )
    timeout_s: float | None = setting(
        None,
        number_rule(above=0),
        f"Longest silence between two pieces of a reply, seconds. None: {DEFAULT_TIMEOUT_S:g}.",
        example="60.0",
    )
    reply_timeout_s: float | None = setting(
        None,
        number_rule(above=0),
        f"Longest a whole reply may take, further tries included, seconds. None: {DEFAULT_REPLY_TIMEOUT_S:g}.",
        example="600.0",
    )
    at_once: int | None = setting(
        None,
        integer_rule(least=1),
        "Calls of this slot that its endpoint is given at a time; more wait their turn. None: "
        f"{REPLIES_AT_ONCE} replies; side calls share three places, and none begins before a reply that waits.",
        example="2",
    )
    price_per_million_input: float | None = setting(
        None,
        number_rule(least=0),
        "What a million tokens of prompt cost, where the endpoint does not say what a call cost. None: nothing.",
        example="0.15",
    )
    price_per_million_output: float | None = setting(
        None, number_rule(least=0), "The same for a million tokens written.", example="0.6"
    )

    @property
    def is_embedded(self) -> bool:
        """Whether it runs inside the program."""
        return is_embedded_model(self.model)

    @property
    def is_small_default(self) -> bool:
        """Whether it is the small model that comes with the program."""
        return self.model == EMBEDDED_MODEL

    @property
    def first_token_limit_s(self) -> float:
        """The setting, or what suits the address; never less than the silence that is allowed anyway."""
        if self.first_token_s is not None:
            return self.first_token_s
        usual = OWN_NETWORK_FIRST_TOKEN_S if self.is_embedded else default_first_token_s(self.address or "")
        return max(usual, self.timeout_s or 0.0)

    @property
    def address(self) -> str | None:
        """Base URL of calls: OpenRouter by default, None for the embedded model."""
        if self.is_embedded:
            return None
        return self.base_url or OPENROUTER_BASE_URL

    @property
    def replica_addresses(self) -> tuple[str, ...]:
        """The further servers that are asked; none where the model runs inside the program."""
        return tuple(address for address, _ in self.replicas) if self.address is not None else ()

    @property
    def key_variable(self) -> str | None:
        """Name of the variable that holds the key, None when no key is sent."""
        if self.is_embedded:
            return None
        at_openrouter = is_same_origin(self.address or "", OPENROUTER_BASE_URL)
        return self.api_key_env or (OPENROUTER_KEY_VARIABLE if at_openrouter else None)


def default_first_token_s(address: str) -> float:
    """How long a model at *address* may take to its first token unless a setting says otherwise."""
    return OWN_NETWORK_FIRST_TOKEN_S if is_own_network(address) else PUBLIC_FIRST_TOKEN_S


def default_slots() -> dict[str, LLMSlotConfig]:
    """Every slot on the embedded model."""
    return {slot: LLMSlotConfig(EMBEDDED_MODEL, heat) for slot, heat in SLOT_TEMPERATURES.items()}


SLOT_KEYS = keys_of(LLMSlotConfig)
"""Named as in one slot's table; `LLM_KEYS` has them for every slot."""

LLM_KEYS = tuple(key for slot in (DEFAULT_SLOT, *SLOT_TEMPERATURES) for key in keys_of(LLMSlotConfig, f"llm.{slot}"))


@dataclass(frozen=True, kw_only=True)
class SlotSource:
    """One table of one file that may set a slot's keys."""

    label: str
    file: Path | None
    section: str
    says: Mapping[str, object]


def resolve_slot(slot: str, sources: Sequence[SlotSource]) -> tuple[LLMSlotConfig, dict[str, str]]:
    """The slot merged from *sources*, nearest first, and for each setting the label of its source."""
    code: dict[str, object] = {"model": EMBEDDED_MODEL, "temperature": SLOT_TEMPERATURES[slot]}
    chain = [*sources, SlotSource(label="default", file=None, section="", says=code)]
    rank: dict[str, int] = {}
    for position, source in enumerate(chain):
        for name in source.says:
            rank.setdefault(name, position)
    model = chain[rank["model"]].says["model"]
    if is_embedded_model(model) and "base_url" in rank:
        if rank["base_url"] <= rank["model"]:
            source = chain[rank["base_url"]]
            raise ConfigError(
                f"{source.file}: [{source.section}] base_url is set but the model is {model!r}, which runs "
                f"inside the program; add model = the one that address serves"
            )
        del rank["base_url"]
    if "api_key_env" in rank and not _key_fits(chain, rank):
        del rank["api_key_env"]
    given = {name: chain[position].says[name] for name, position in rank.items()}
    return fill_fields(LLMSlotConfig(EMBEDDED_MODEL), given), {
        name: chain[position].label for name, position in rank.items()
    }


def _key_fits(chain: Sequence[SlotSource], rank: Mapping[str, int]) -> bool:
    """Whether the API key was set for the address in use, or for no address in particular."""
    model = chain[rank["model"]].says["model"]
    if is_embedded_model(model):
        return True
    used = chain[rank["base_url"]].says["base_url"] if "base_url" in rank else OPENROUTER_BASE_URL
    seen = chain[rank["api_key_env"] :]
    named_for = next((source.says["base_url"] for source in seen if "base_url" in source.says), None)
    if named_for is None:
        for_openrouter = seen[0].says["api_key_env"] == OPENROUTER_KEY_VARIABLE
        seen_model = next(source.says["model"] for source in seen if "model" in source.says)
        named_for = OPENROUTER_BASE_URL if for_openrouter or not is_embedded_model(seen_model) else used
    return _same_address(named_for, used)


def _same_address(one: object, other: object) -> bool:
    return str(one or "").rstrip("/").lower() == str(other or "").rstrip("/").lower()
