"""CharacterConfig: everything `character.toml` can say. Each key is declared on its field, in the order shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from familiar_connect.audience import Confidence, DisclosurePolicy
from familiar_connect.config.budgets import TurnBudgets
from familiar_connect.config.built_in_settings import BuiltInSettings
from familiar_connect.config.channel import PRESET_FIDELITIES, PRESET_FIDELITY, TYPING_KEYS
from familiar_connect.config.limits import LimitsConfig
from familiar_connect.config.llm import LLM_KEYS, LLMSlotConfig, default_slots
from familiar_connect.config.rules import (
    FILLED_TEXT,
    FLAG,
    TEXT,
    TEXT_OR_NONE,
    TEXTS,
    InvalidValue,
    Rule,
    choice_rule,
    enum_rule,
    integer_rule,
    number_rule,
)
from familiar_connect.config.settings import keys_of, section, setting
from familiar_connect.config.types import (
    DEFAULT_CHANNEL_MODE,
    ROLES,
    ChannelMode,
    DecideWith,
    Interjection,
    InterruptTolerance,
    PlaceSettings,
    PromptOrder,
    StepSettings,
    TurnDeadlines,
    is_extension_part,
)
from familiar_connect.config.voice import STTConfig, TTSConfig
from familiar_connect.presets.story.switches import StorySwitches
from familiar_connect.presets.world_info.scan_settings import ScanSettings
from familiar_connect.tools.types import ALL_TOOLS

PERSONA_POSITIONS = ("prompt", "note_top", "note_bottom", "chat", "none")
DELIVERIES = ("whole", "growing")


@dataclass(frozen=True, kw_only=True)
class NamedPersona:
    """Someone the owner may be."""

    name: str
    text: str = ""
    position: str = PERSONA_POSITIONS[0]
    depth: int = 2
    role: str = "system"
    lorebook: str = ""
    """The book that belongs to this person."""


@dataclass(frozen=True, kw_only=True)
class BookSettings:
    """Which lorebooks are in force."""

    card_book: bool = setting(
        True, FLAG, "Under `sillytavern`: whether the lorebook that came inside the card is in force."
    )
    books_off: list[str] = setting([], TEXTS, "Lorebooks, by name, that are not in force under `sillytavern`.")


@dataclass(frozen=True, kw_only=True)
class Alter:
    """A second persona of the same familiar."""

    name: str
    aliases: tuple[str, ...] = ()
    picture: str = ""
    """Where its picture is on the web; empty: it has none of its own."""


def _zone(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValue
    if value == "UTC":  # known even where no zone database is installed
        return value
    from zoneinfo import ZoneInfo  # as in `support.clock`

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
    if not isinstance(value, list) or not all(name in ALL_TOOLS or is_extension_part(name) for name in value):
        raise InvalidValue
    return [name for name in ALL_TOOLS if name in value] + [name for name in value if name not in ALL_TOOLS]


def _alters(value: object) -> list[Alter]:
    if not isinstance(value, list):
        raise InvalidValue
    return [_alter(row) for row in value]


def _alter(row: object) -> Alter:
    if not isinstance(row, Mapping) or not {"name"} <= row.keys() <= {"name", "aliases", "picture"}:
        raise InvalidValue
    picture = TEXT.read(row.get("picture", "")).strip()
    if picture and not picture.startswith(("https://", "http://")):
        raise InvalidValue
    return Alter(name=FILLED_TEXT.read(row["name"]), aliases=tuple(TEXTS.read(row.get("aliases", []))), picture=picture)


def _personas(value: object) -> list[NamedPersona]:
    if not isinstance(value, list):
        raise InvalidValue
    return [_persona(row) for row in value]


def _persona(row: object) -> NamedPersona:
    known = {"name", "text", "position", "depth", "role", "lorebook"}
    if not isinstance(row, Mapping) or not {"name", "text"} <= row.keys() <= known:
        raise InvalidValue
    return NamedPersona(
        name=FILLED_TEXT.read(row["name"]),
        text=TEXT.read(row["text"]),
        position=choice_rule(*PERSONA_POSITIONS).read(row.get("position", PERSONA_POSITIONS[0])),
        depth=integer_rule(least=0).read(row.get("depth", 2)),
        role=choice_rule(*ROLES).read(row.get("role", ROLES[0])),
        lorebook=TEXT.read(row.get("lorebook", "")),
    )


@dataclass(frozen=True, kw_only=True)
class CharacterConfig:
    """The settings of one familiar."""

    default_mode: ChannelMode = setting(
        DEFAULT_CHANNEL_MODE, enum_rule(ChannelMode), "How the familiar behaves in a channel without a file of its own."
    )
    display_tz: str = setting(
        "UTC",
        Rule("a time zone such as Europe/Berlin or UTC", _zone),
        "Time zone of the dates the familiar sees and writes. In a terminal this computer's, where nothing is set.",
    )
    aliases: list[str] = setting([], TEXTS, "Further names it answers to, besides the one in `memory/self/name.md`.")
    user_name: str | None = setting(None, TEXT_OR_NONE, "What you are called in the terminal.", example='"Robin"')
    user_persona: str = setting("", TEXT, "Who you are to the familiar, in a few words.")
    user_persona_position: str = setting(
        PERSONA_POSITIONS[0],
        choice_rule(*PERSONA_POSITIONS),
        "With a preset: where these words go, at its persona marker, above or below the author's note, among the "
        "chat, or nowhere but in `{{persona}}`.",
    )
    user_persona_depth: int = setting(2, integer_rule(least=0), "Among the chat: how many messages follow them.")
    user_persona_role: str = setting(ROLES[0], choice_rule(*ROLES), "Among the chat: the role of their message.")
    model_choices: list[str] = setting(
        [],
        TEXTS,
        "Models of your server that people who may use the controls can choose for a channel with `/model`; you may"
        " name any.",
        example='["qwen3:8b"]',
    )
    offer_upgrade: bool = setting(
        True,
        FLAG,
        "Whether a chat on the small model offers a better one, in the terminal and on the page. `/upgrade never`, or"
        " Never on the page, sets it to false for all familiars, `/upgrade ask` back.",
    )
    personas: list[NamedPersona] = setting(
        [],
        Rule(
            "rows that each start with [[personas]] and give a name, a text and, if you like, position, depth, role "
            "and lorebook",
            _personas,
        ),
        "Other people you may be, each in a `[[personas]]` row with `name`, `text` and, if you like, `position`, "
        "`depth`, `role` and `lorebook`; `persona` chooses one.",
    )
    chattiness: str = setting(
        "Balanced — responds when the conversation is relevant",
        TEXT,
        "When to join in, in words; read by the model that decides.",
    )
    interjection: Interjection = setting(
        Interjection.average,
        enum_rule(Interjection),
        "How readily it joins a conversation it was not addressed in.",
    )
    decide_with: DecideWith = setting(
        DecideWith.auto,
        enum_rule(DecideWith),
        "Who decides whether to speak unasked: the `interjection_decision` model, the replying model (it may "
        "answer with silence, which costs no extra call), or fixed rules (answer whoever speaks to it, and a question "
        "left hanging). A model too small for its way leaves the next; `auto` takes the first that works.",
    )
    delivery: str = setting(
        DELIVERIES[0],
        choice_rule(*DELIVERIES),
        "How a reply arrives: `whole`, once it is written, or `growing`, as one message that is edited while "
        "it is written, where the platform can.",
    )
    text_lull_timeout: float = setting(
        10.0, number_rule(least=0), "Quiet in a text channel, seconds, after which it may speak."
    )
    voice_lull_timeout: float = setting(
        5.0,
        number_rule(least=0),
        "Quiet in a voice channel, seconds, after which someone has finished, where their last words do not tell.",
    )
    finished_pause_s: float = setting(
        1.5,
        number_rule(least=0),
        "The same after a question or a whole sentence; `voice_lull_timeout` where that is shorter.",
        key="voice.end_of_turn.finished_pause_s",
    )
    unfinished_pause_s: float = setting(
        7.0,
        number_rule(least=0),
        "The same for someone who broke off within a sentence; `voice_lull_timeout` where that is longer.",
        key="voice.end_of_turn.unfinished_pause_s",
    )
    deadlines: TurnDeadlines = section(TurnDeadlines)
    prompt_order: PromptOrder = setting(
        PromptOrder.stable_first,
        enum_rule(PromptOrder),
        "Order of the prompt. `stable_first` keeps caches warm; `classic` is the older sequence.",
    )
    preset_fidelity: str = setting(
        PRESET_FIDELITIES[0],
        PRESET_FIDELITY,
        "With a SillyTavern preset: our memory in its order, or exactly what SillyTavern would send.",
    )
    preset_samplers: bool = setting(
        True,
        FLAG,
        "Whether the samplers of a preset in force (temperature, top_p, penalties, seed, longest reply and the like) "
        "hold over those of the model's slot. The small model that comes with the program keeps its own.",
    )
    sillytavern: StorySwitches = section(StorySwitches, "sillytavern")
    world_info: ScanSettings = section(ScanSettings, "world_info")
    books: BookSettings = section(BookSettings, "world_info")
    place: PlaceSettings = section(PlaceSettings)
    steps: StepSettings = section(StepSettings)
    private_channel_ids: list[int] = setting(
        [],
        Rule("a list of channel ids", _channel_ids),
        "Channels whose talk is told nowhere else, as if they were hidden.",
    )
    confidence: Confidence = setting(
        Confidence.strict,
        enum_rule(Confidence),
        "Who may hear what it heard: `strict` (only those it was said to), `server` (hidden channels count as their"
        " server), `open` (everyone, everywhere).",
    )
    owner_hears_all: bool = setting(
        False,
        FLAG,
        "Whether your own terminal, page and direct messages also hear other people's direct messages; `/privacy`"
        " tells them.",
    )
    recall_across_servers: list[str] = setting(
        [],
        TEXTS,
        'People whose own words on one server follow them to others, as "platform:id".',
    )
    tools: list[str] = setting(
        [],
        Rule(f"true, false or a list of {', '.join(ALL_TOOLS)} and EXTENSION.TOOL", _tools),
        "What the model may do during a reply, where it can use tools; never on voice.",
        example='["remember", "search_memory"]',
    )
    alters: list[Alter] = setting(
        [],
        Rule(
            "rows that each start with [[alters]] and give a name and, if you like, aliases and the https:// address "
            "of a picture",
            _alters,
        ),
        "Further personas of this familiar, each in a `[[alters]]` row with a `name` and, if you like, `aliases` and "
        "`picture`, the web address of one; who it is goes into `memory/self/alters/NAME.md`.",
    )
    history_window_size: int = setting(
        20,
        integer_rule(least=1),
        "Recent turns shown word for word; more where `grow` is on and the model's window is known to be large.",
        key="providers.history.window_size",
    )
    history_grows: bool = setting(
        True,
        FLAG,
        "Whether a model whose window is known to be large is shown as many turns as its share for dialogue holds.",
        key="providers.history.grow",
    )
    history_refresh_every_turns: int = setting(
        16,
        integer_rule(least=1),
        "Turns after which the summary of older ones is refreshed.",
        key="providers.history.refresh_every_turns",
    )
    history_max_turns_per_refresh: int = setting(
        200,
        integer_rule(least=1),
        "Most turns one refresh takes in; a longer backlog is worked off in steps.",
        key="providers.history.max_turns_per_refresh",
    )
    history_max_chars_per_refresh: int = setting(
        24_000,
        integer_rule(least=1),
        "Most characters one refresh takes in.",
        key="providers.history.max_chars_per_refresh",
    )
    search_files: bool = setting(
        True,
        FLAG,
        "Whether memory files are searched for what bears on a message.",
        key="providers.content_search.files",
    )
    search_turns: bool = setting(
        True, FLAG, "Whether everything ever said is searched too.", key="providers.content_search.turns"
    )
    interface_language: str = setting(
        "auto",
        choice_rule("auto", "en", "de", "ja"),
        "Language of the chat's own notices and commands; `auto`: that of the system. What people and familiars say "
        "stays as it is.",
    )
    embedder: str = setting(
        "auto",
        FILLED_TEXT,
        "What finds meaning: `auto` (included, offline), `hashing`, `multilingual-e5-small` once it was fetched, a "
        "model that fastembed knows, or a server's, as in `http://127.0.0.1:11434/v1#bge-m3`.",
        key="providers.content_search.embedder",
    )
    depth_inject_position: int = setting(
        0,
        integer_rule(least=0),
        "Where injected notes go, counted in messages from the end.",
        key="layers.depth_inject.position",
    )
    depth_inject_role: str = setting(
        "system",
        choice_rule("system", "user"),
        "Role of the message that carries injected notes.",
        key="layers.depth_inject.role",
    )
    memory_writer_turn_threshold: int = setting(
        50,
        integer_rule(least=1),
        "Turns after which memories are written.",
        key="memory_writer.turn_threshold",
    )
    memory_writer_idle_timeout: float = setting(
        1800.0,
        number_rule(above=0),
        "Quiet, seconds, after which memories are written.",
        key="memory_writer.idle_timeout",
    )
    memory_writer_calls_per_day: int = setting(
        200,
        integer_rule(least=0),
        "Most calls of a model on one day for writing memories, such as those an imported chat sets off; what is left"
        " waits for the next day. 0: no ceiling. `familiar memory write-now` writes all at once.",
        key="memory_writer.calls_per_day",
    )
    memory_writer_review: bool = setting(
        False, FLAG, "Keep memories as proposals until you approve them.", key="memory_writer.review"
    )
    longest_reply_s: float | None = setting(
        None,
        number_rule(above=0),
        "Longest spoken reply, seconds; it ends with the sentence that reaches it. None: 20 with the small model that "
        "comes with the program, no limit with others, which are told to be brief.",
        key="voice.longest_reply_s",
        example="30",
    )
    interrupt_tolerance: InterruptTolerance = setting(
        InterruptTolerance.average,
        enum_rule(InterruptTolerance),
        "How readily the familiar keeps talking when talked over.",
        key="voice.interruption.interrupt_tolerance",
    )
    min_interruption_s: float = setting(
        2.0,
        number_rule(least=0),
        "Shorter noises do not count as an interruption, seconds.",
        key="voice.interruption.min_interruption_s",
    )
    short_long_boundary_s: float = setting(
        30.0,
        number_rule(above=0),
        "From here on an interruption is a long one, seconds; above `min_interruption_s`.",
        key="voice.interruption.short_long_boundary_s",
    )
    back_channels: list[str] = setting(
        [],
        TEXTS,
        "Your own words that only show someone is listening and interrupt nothing, besides those in nine languages "
        "that are known already.",
        key="voice.interruption.back_channels",
        example='["innit", "a geh"]',
    )
    limits: LimitsConfig = section(LimitsConfig, "limits")
    budgets: TurnBudgets = section(TurnBudgets)
    tts: TTSConfig = section(TTSConfig, "tts")
    stt: STTConfig = section(STTConfig, "stt")
    built_in: Any = section(BuiltInSettings)
    """The sections of the extensions that come with the program."""
    typing_simulation_overrides: dict[str, object] = field(default_factory=dict)
    """What the file says of `TypingSimulationConfig`; the rest is for the mode to say."""
    extension_tables: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Sections named after extensions the owner allowed, as they stand in the files; each extension checks its own."""
    llm: dict[str, LLMSlotConfig] = field(default_factory=default_slots)
    """By slot; what a file leaves out is resolved by `config.llm.resolve_slot`."""

    @property
    def telling_policy(self) -> DisclosurePolicy:
        """How far the owner lets what was heard travel."""
        known = frozenset(self.recall_across_servers)
        return DisclosurePolicy(self.confidence, self.owner_hears_all, known_everywhere=known)


def change_section(config: CharacterConfig, built_in: str, **changes: object) -> CharacterConfig:
    """*config* with other values in the section of the built-in extension called so."""
    section_of = replace(getattr(config.built_in, built_in), **changes)
    return replace(config, built_in=replace(config.built_in, **{built_in: section_of}))


PLAIN_KEYS = keys_of(CharacterConfig, file="familiar")
"""Keys that fill one field each."""

CHARACTER_KEYS = (*PLAIN_KEYS, *TYPING_KEYS, *LLM_KEYS)
