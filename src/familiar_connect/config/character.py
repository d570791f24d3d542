"""CharacterConfig: everything `character.toml` can say, with its defaults, and the table of its keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from familiar_connect.config.channel import PLACE_KEYS, PRESET_FIDELITIES, PRESET_FIDELITY, TYPING_KEYS
from familiar_connect.config.llm import LLM_KEYS, LLMSlotConfig, default_slots
from familiar_connect.config.platforms import DISCORD_KEYS, TWITCH_KEYS, DiscordConfig, TwitchConfig
from familiar_connect.config.toml import (
    FILLED_TEXT,
    FLAG,
    TEXT,
    TEXT_OR_NONE,
    TEXTS,
    InvalidValue,
    Key,
    Rule,
    choice_rule,
    enum_rule,
    integer_rule,
    number_rule,
)
from familiar_connect.config.types import (
    DEFAULT_CHANNEL_MODE,
    ChannelMode,
    DecideWith,
    Interjection,
    InterruptTolerance,
    PlaceSettings,
    PromptOrder,
)
from familiar_connect.config.voice import INTERRUPTION_KEYS, TTS_KEYS, TTSConfig
from familiar_connect.tools.types import ALL_TOOLS


@dataclass(frozen=True, kw_only=True)
class Alter:
    """A second persona of the same familiar."""

    name: str
    aliases: tuple[str, ...] = ()


DELIVERIES = ("whole", "growing")


@dataclass(frozen=True)
class CharacterConfig:
    """The settings of one familiar."""

    default_mode: ChannelMode = DEFAULT_CHANNEL_MODE
    history_window_size: int = 20
    depth_inject_position: int = 0
    depth_inject_role: str = "system"
    display_tz: str = "UTC"
    aliases: list[str] = field(default_factory=list)
    chattiness: str = "Balanced — responds when the conversation is relevant"
    interjection: Interjection = Interjection.average
    text_lull_timeout: float = 10.0
    voice_lull_timeout: float = 5.0
    interrupt_tolerance: InterruptTolerance = InterruptTolerance.average
    min_interruption_s: float = 2.0
    short_long_boundary_s: float = 30.0
    memory_writer_turn_threshold: int = 50
    memory_writer_idle_timeout: float = 1800.0
    llm: dict[str, LLMSlotConfig] = field(default_factory=default_slots)
    tts: TTSConfig = field(default_factory=TTSConfig)
    typing_simulation_overrides: dict[str, Any] = field(default_factory=dict)
    preset_fidelity: str = PRESET_FIDELITIES[0]
    discord: DiscordConfig = field(default_factory=DiscordConfig)
    twitch: TwitchConfig = field(default_factory=TwitchConfig)
    history_refresh_every_turns: int = 10
    history_max_turns_per_refresh: int = 200
    history_max_chars_per_refresh: int = 24_000
    search_files: bool = True
    search_turns: bool = True
    embedder: str = "auto"
    memory_writer_review: bool = False
    prompt_order: PromptOrder = PromptOrder.stable_first
    decide_with: DecideWith = DecideWith.auto
    delivery: str = DELIVERIES[0]
    user_name: str | None = None
    user_persona: str = ""
    place: PlaceSettings = PlaceSettings()
    private_channel_ids: list[int] = field(default_factory=list)
    recall_across_servers: list[str] = field(default_factory=list)
    alters: list[Alter] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)


def _zone(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValue
    if value == "UTC":  # known even where no zone database is installed
        return value
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError):
        raise InvalidValue from None
    return value


def _channel_ids(value: object) -> list[int]:
    if not isinstance(value, list):
        raise InvalidValue
    return [integer_rule(least=1).read(item) for item in value]


def _tools(value: object) -> list[str]:
    if isinstance(value, bool):
        return list(ALL_TOOLS) if value else []
    if not isinstance(value, list) or not all(name in ALL_TOOLS for name in value):
        raise InvalidValue
    return [name for name in ALL_TOOLS if name in value]


def _alters(value: object) -> list[Alter]:
    if not isinstance(value, list):
        raise InvalidValue
    return [_alter(row) for row in value]


def _alter(row: object) -> Alter:
    if not isinstance(row, Mapping) or not {"name"} <= row.keys() <= {"name", "aliases"}:
        raise InvalidValue
    return Alter(name=FILLED_TEXT.read(row["name"]), aliases=tuple(TEXTS.read(row.get("aliases", []))))


TOP_KEYS = (
    Key(
        name="default_mode", rule=enum_rule(ChannelMode), meaning="How the familiar behaves in a channel nobody set up."
    ),
    Key(
        name="display_tz",
        rule=Rule("a time zone such as Europe/Berlin or UTC", _zone),
        meaning="Time zone of the dates the familiar sees and writes.",
    ),
    Key(
        name="aliases",
        rule=TEXTS,
        meaning="Further names it answers to, besides the one in `memory/self/name.md`.",
    ),
    Key(name="user_name", rule=TEXT_OR_NONE, meaning="What you are called in the terminal.", example='"Robin"'),
    Key(name="user_persona", rule=TEXT, meaning="Who you are to the familiar, in a few words."),
    Key(name="chattiness", rule=TEXT, meaning="When to join in, in words; read by the model that decides."),
    Key(
        name="interjection",
        rule=enum_rule(Interjection),
        meaning="How readily it joins a conversation it was not addressed in.",
    ),
    Key(
        name="decide_with",
        rule=enum_rule(DecideWith),
        meaning="Who decides whether to speak unasked: the `interjection_decision` model, the replying model (it may "
        "answer with silence, which costs no extra call), or fixed rules (answer whoever speaks to it, and a question "
        "left hanging). A model too small for its way leaves the next; `auto` takes the first that works.",
    ),
    Key(
        name="delivery",
        rule=choice_rule(*DELIVERIES),
        meaning="How a reply arrives: `whole`, once it is written, or `growing`, as one message that is edited while "
        "it is written, where the platform can.",
    ),
    Key(
        name="text_lull_timeout",
        rule=number_rule(least=0),
        meaning="Quiet in a text channel, seconds, after which it may speak.",
    ),
    Key(
        name="voice_lull_timeout",
        rule=number_rule(least=0),
        meaning="Quiet in a voice channel, seconds, after which someone has finished.",
    ),
    Key(
        name="prompt_order",
        rule=enum_rule(PromptOrder),
        meaning="Order of the prompt. `stable_first` keeps caches warm; `classic` is the older sequence.",
    ),
    Key(
        name="preset_fidelity",
        rule=PRESET_FIDELITY,
        meaning="With a SillyTavern preset: our memory in its order, or exactly what SillyTavern would send.",
    ),
    Key(
        name="author_note",
        field="place.global_note",
        rule=TEXT_OR_NONE,
        meaning="A note kept near the end of every conversation where neither character nor channel has one.",
        example='"Keep answers short."',
    ),
    Key(
        name="author_note_depth",
        field="place.global_note_depth",
        rule=integer_rule(least=0),
        meaning="How many turns follow the note.",
    ),
    *PLACE_KEYS,
    Key(
        name="private_channel_ids",
        rule=Rule("a list of channel ids", _channel_ids),
        meaning="Channels whose talk is never told of elsewhere.",
    ),
    Key(
        name="recall_across_servers",
        rule=TEXTS,
        meaning='People who asked to be known everywhere, as "platform:id": on one server it recalls another.',
    ),
    Key(
        name="tools",
        rule=Rule(f"true, false or a list of {', '.join(ALL_TOOLS)}", _tools),
        meaning="What the model may do during a reply, where it can use tools; never on voice.",
        example='["remember", "search_memory"]',
    ),
    Key(
        name="alters",
        rule=Rule("rows that each start with [[alters]] and give a name and, if you like, aliases", _alters),
        meaning="Further personas of this familiar, each in a `[[alters]]` row with a `name` and `aliases`.",
    ),
)

SECTION_KEYS = (
    Key(
        name="providers.history.window_size",
        field="history_window_size",
        rule=integer_rule(least=1),
        meaning="Recent turns shown word for word.",
    ),
    Key(
        name="providers.history.refresh_every_turns",
        field="history_refresh_every_turns",
        rule=integer_rule(least=1),
        meaning="Turns after which the summary of older ones is refreshed.",
    ),
    Key(
        name="providers.history.max_turns_per_refresh",
        field="history_max_turns_per_refresh",
        rule=integer_rule(least=1),
        meaning="Most turns one refresh takes in; a longer backlog is worked off in steps.",
    ),
    Key(
        name="providers.history.max_chars_per_refresh",
        field="history_max_chars_per_refresh",
        rule=integer_rule(least=1),
        meaning="Most characters one refresh takes in.",
    ),
    Key(
        name="providers.content_search.files",
        field="search_files",
        rule=FLAG,
        meaning="Whether memory files are searched for what bears on a message.",
    ),
    Key(
        name="providers.content_search.turns",
        field="search_turns",
        rule=FLAG,
        meaning="Whether everything ever said is searched too.",
    ),
    Key(
        name="providers.content_search.embedder",
        field="embedder",
        rule=FILLED_TEXT,
        meaning="What finds meaning: `auto` (comes along, offline), `hashing`, or a model that fastembed knows.",
    ),
    Key(
        name="layers.depth_inject.position",
        field="depth_inject_position",
        rule=integer_rule(least=0),
        meaning="Where injected notes stand, counted in messages from the end.",
    ),
    Key(
        name="layers.depth_inject.role",
        field="depth_inject_role",
        rule=choice_rule("system", "user"),
        meaning="Role of the message that carries injected notes.",
    ),
    Key(
        name="memory_writer.turn_threshold",
        field="memory_writer_turn_threshold",
        rule=integer_rule(least=1),
        meaning="Turns after which memories are written.",
    ),
    Key(
        name="memory_writer.idle_timeout",
        field="memory_writer_idle_timeout",
        rule=number_rule(above=0),
        meaning="Quiet, seconds, after which memories are written.",
    ),
    Key(
        name="memory_writer.review",
        field="memory_writer_review",
        rule=FLAG,
        meaning="Keep memories as proposals until you approve them.",
    ),
    *INTERRUPTION_KEYS,
    *TTS_KEYS,
    *DISCORD_KEYS,
    *TWITCH_KEYS,
)

PLAIN_KEYS = (*TOP_KEYS, *SECTION_KEYS)
"""Keys that fill one field each."""

CHARACTER_KEYS = (*PLAIN_KEYS, *TYPING_KEYS, *LLM_KEYS)
