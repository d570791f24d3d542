"""The enums that settings choose from, and the settings that a request carries along."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from familiar_connect.audience import parse_share_target
from familiar_connect.config.built_in import BUILT_IN_PLATFORMS
from familiar_connect.config.rules import FLAG, TEXT_OR_NONE, InvalidValue, Rule, choice_rule, integer_rule, number_rule
from familiar_connect.config.settings import setting


class ChannelMode(Enum):
    """How a familiar behaves in a channel."""

    full_rp = "full_rp"
    text_conversation_rp = "text_conversation_rp"
    imitate_voice = "imitate_voice"


DEFAULT_CHANNEL_MODE = ChannelMode.text_conversation_rp

NOTE_POSITIONS = ("chat", "after_main", "before_main")
ROLES = ("system", "user", "assistant")
CHANNEL_PROMPT_MODES = ("append", "replace")
FILTER_WHEN_FULL, FILTER_ALWAYS, FILTER_NEVER = CONTENT_FILTERS = ("when_full", "always", "never")
DEFAULT_NOTE_DEPTH = 4


def _share_targets(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InvalidValue
    targets = [parse_share_target(str(item)) for item in value if isinstance(item, str | int)]
    if len(targets) != len(value) or None in targets:
        raise InvalidValue
    return tuple(target for target in targets if target is not None)


NUDGE = "nudge"
SHORT_TERM_REMINDERS = ("hint", NUDGE)
CRUDE_SUMMARY = "crude_summary"
SHORT_TERM_RENDERS = (CRUDE_SUMMARY, "supersede")
HEAVY_HUMANIZER = "heavy"
HUMANIZERS = ("off", HEAVY_HUMANIZER)


@dataclass(frozen=True, kw_only=True)
class PlaceSettings:
    """What the owner set about the prompts of a channel: instructions, notes, and what is said of the place.

    A setting without `only` may stand in the familiar's file, and a channel's own file goes before it.
    """

    channel_prompt: str | None = setting(None, TEXT_OR_NONE, "Instructions for this channel.", only="channel")
    channel_prompt_mode: str = setting(
        CHANNEL_PROMPT_MODES[0],
        choice_rule(*CHANNEL_PROMPT_MODES),
        "Whether `channel_prompt` follows the character's own rules or replaces them.",
        only="channel",
    )
    channel_note: str | None = setting(
        None,
        TEXT_OR_NONE,
        "A note of this channel, kept near the end of the conversation.",
        key="author_note",
        only="channel",
    )
    channel_note_depth: int = setting(
        DEFAULT_NOTE_DEPTH,
        integer_rule(least=0),
        "How many turns follow the note.",
        key="author_note_depth",
        only="channel",
    )
    global_note: str | None = setting(
        None,
        TEXT_OR_NONE,
        "A note kept near the end of every conversation where neither character nor channel has one.",
        key="author_note",
        example='"Keep answers short."',
        only="familiar",
    )
    global_note_depth: int = setting(
        DEFAULT_NOTE_DEPTH,
        integer_rule(least=0),
        "How many turns follow the note.",
        key="author_note_depth",
        only="familiar",
    )
    note_position: str = setting(
        NOTE_POSITIONS[0],
        choice_rule(*NOTE_POSITIONS),
        "Under `sillytavern`: where the author's note stands, among the chat by its depth, or next to the main prompt.",
        key="author_note_position",
    )
    note_role: str = setting(
        ROLES[0],
        choice_rule(*ROLES),
        "Under `sillytavern`: the role of the message that carries the author's note.",
        key="author_note_role",
    )
    note_interval: int = setting(
        1,
        integer_rule(least=0),
        "Under `sillytavern`: every how many messages of the user the author's note is shown; 0: never.",
        key="author_note_interval",
    )
    note_scanned: bool = setting(
        False,
        FLAG,
        "Under `sillytavern`: whether keys of World Info are looked for in the author's note too.",
        key="author_note_scanned",
    )
    persona: str | None = setting(
        None,
        TEXT_OR_NONE,
        "Which of the `[[personas]]` you are here; without it the one with the speaker's name, else `user_persona`.",
        example='"Alex the cartographer"',
    )
    emoji_usage_enabled: bool = setting(True, FLAG, "Whether the familiar is told which custom emojis a server has.")
    sticker_usage_enabled: bool = setting(
        True, FLAG, "Whether it is told which stickers a server has, where it has a tool to send them."
    )
    time_awareness: bool = setting(
        False, FLAG, "Whether it is shown where one day ends and another begins, and how long nobody has spoken."
    )
    include_timestamps: bool = setting(
        False, FLAG, "Whether messages show the time they were written, where the mode does not decide."
    )
    personal_memories_enabled: bool = setting(
        True,
        FLAG,
        "Whether the prompt has people's names and the memories kept about them. Their own choice comes first.",
    )
    channel_memory_enabled: bool = setting(
        False, FLAG, "Whether a server's memories with a `#channel` tag are told in that channel only."
    )
    memory_tagging_enabled: bool = setting(
        False, FLAG, "Whether a server's memories with tags are told only while one of the tags is talked about."
    )
    short_term_memory_enabled: bool = setting(
        True, FLAG, "Whether the last lines of a conversation are kept for a day, and shown in other channels."
    )
    short_term_reminder: str = setting(
        SHORT_TERM_REMINDERS[0],
        choice_rule(*SHORT_TERM_REMINDERS),
        "How a model that may sum up the conversation (`short_term_note`) is reminded to: by a `hint` among its"
        " instructions, or by a `nudge` of one line before the last two turns, every five turns.",
    )
    short_term_depth: int = setting(
        -1,
        integer_rule(least=-1),
        "With a `nudge`: how many turns follow what is kept of the conversation, never more than two while it is"
        " younger than an hour; -1: it stands with the other memories.",
    )
    short_term_render: str = setting(
        SHORT_TERM_RENDERS[0],
        choice_rule(*SHORT_TERM_RENDERS),
        "With a `nudge`: whether the last lines of the conversation, six at most, stand in for a summary until there is"
        " one (`crude_summary`), or nothing does (`supersede`).",
    )
    humanizer: str = setting(
        HUMANIZERS[0],
        choice_rule(*HUMANIZERS),
        "How the character's sample dialogues are shown: as they are written (`off`), or as people type in a hurry,"
        " with short forms, small letters and few full stops (`heavy`). English.",
    )
    content_filter: str = setting(
        FILTER_WHEN_FULL,
        choice_rule(*CONTENT_FILTERS),
        "When the `memory_search` model picks among what memory search found: `when_full` (only if not all of it fits"
        " into the prompt), `always` or `never`. What is not filtered goes in as it was found.",
    )
    private_channels_bypass: bool = setting(
        False, FLAG, "Whether this place hears what is said in hidden channels of its server."
    )
    sealed: bool = setting(
        False,
        FLAG,
        "Whether this chat of yours is a world of its own: nothing that is said in it is told in another place, and"
        " nothing that was said elsewhere is told in it. Chats of the terminal and the page.",
        only="channel",
    )
    shares_with: tuple[str, ...] = setting(
        (),
        Rule(f'a list of places, such as ["channel:42", "server:7", "{BUILT_IN_PLATFORMS[-1]}"]', _share_targets),
        "Where else the familiar may tell what is said here: channels, servers or whole platforms.",
        example='["server:7"]',
    )
    rewards_enabled: bool = setting(
        True, FLAG, "Whether the prompt says what the familiar was rewarded for on this server."
    )
    punishments_enabled: bool = setting(
        True, FLAG, "Whether the prompt says what the familiar was punished for on this server."
    )
    operator_directive: str | None = setting(
        None,
        TEXT_OR_NONE,
        "Your own last word to the model, at the very end of every prompt.",
        example='"Speak plainly."',
    )

    @property
    def replaces_rules(self) -> bool:
        """Whether the channel's prompt stands instead of the character's own rules."""
        return self.channel_prompt_mode == "replace" and bool((self.channel_prompt or "").strip())


PROVIDER_STEPS = (
    "character",
    "history",
    "short_term_memory",
    "documents",
    "pinned",
    "conditioning",
    "content_search",
    "channel_notes",
    "server_info",
    "server_memories",
    "assets",
    "participants",
    "sample_dialogues",
    "mode_instructions",
)
PRE_PROCESSOR_STEPS = ("stepped_thinking",)
POST_PROCESSOR_STEPS = ("recast", "spoken_text")


_EXTENSION_PART = re.compile(r"[a-z][a-z0-9_]{0,31}\.[a-z][a-z0-9_]{0,63}")


def is_extension_part(name: object) -> bool:
    """Whether *name* is that of a part of an extension, EXTENSION.PART. Whether there is one only its loading tells."""
    return isinstance(name, str) and _EXTENSION_PART.fullmatch(name) is not None


def _step_changes(known: Sequence[str]) -> Rule[tuple[str, ...]]:
    def read(value: object) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise InvalidValue
        changes = tuple(str(item).strip() for item in value if isinstance(item, str))
        is_known = all(c[:1] in ("+", "-") and (c[1:] in known or is_extension_part(c[1:])) for c in changes)
        if len(changes) != len(value) or not is_known:
            raise InvalidValue
        return changes

    names = f"{', '.join(known)} and EXTENSION.PART"
    return Rule(f'a list of names with "+" or "-" before them, of {names}', read)


_PROVIDER_CHANGES = _step_changes(PROVIDER_STEPS)
_PRE_CHANGES, _POST_CHANGES = _step_changes(PRE_PROCESSOR_STEPS), _step_changes(POST_PROCESSOR_STEPS)


@dataclass(frozen=True, kw_only=True)
class EnabledSteps:
    """Who contributes to a prompt, and what runs before and after the reply: ids."""

    providers: frozenset[str] = frozenset()
    pre_processors: frozenset[str] = frozenset()
    post_processors: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class StepSettings:
    """What a file adds to, and takes from, the steps that a mode has; the familiar's first, then the channel's."""

    providers: tuple[str, ...] = setting(
        (),
        _PROVIDER_CHANGES,
        "Parts of the prompt to add (`+`) or leave out (`-`), in text and on voice.",
        key="providers.enabled",
        example='["-documents"]',
    )
    pre_processors: tuple[str, ...] = setting(
        (),
        _PRE_CHANGES,
        "What runs before a reply in text. `+stepped_thinking` has the `reasoning_context` model think first, in at"
        " most 120 tokens: one call more for every message.",
        example='["+stepped_thinking"]',
    )
    post_processors: tuple[str, ...] = setting(
        (),
        _POST_CHANGES,
        "What runs over a reply in text. `recast` has the `post_process_style` model rewrite it, one call more;"
        " `spoken_text` takes out by rule what cannot be spoken.",
        example='["+recast"]',
    )
    voice_providers: tuple[str, ...] = setting(
        (),
        _PROVIDER_CHANGES,
        "Parts of the prompt to add or leave out on voice alone.",
        key="voice.providers",
        example='["-documents"]',
    )
    voice_pre_processors: tuple[str, ...] = setting(
        (),
        _PRE_CHANGES,
        "What runs before a reply on voice; nothing unless you say so.",
        key="voice.pre_processors",
        example='["+stepped_thinking"]',
    )
    voice_post_processors: tuple[str, ...] = setting(
        (),
        _POST_CHANGES,
        "What runs over a reply on voice; `spoken_text` unless you say otherwise.",
        key="voice.post_processors",
        example='["+recast"]',
    )

    def change_text(self, steps: EnabledSteps) -> EnabledSteps:
        """*steps* of text after this file's changes."""
        return EnabledSteps(
            providers=_changed(steps.providers, self.providers),
            pre_processors=_changed(steps.pre_processors, self.pre_processors),
            post_processors=_changed(steps.post_processors, self.post_processors),
        )

    def change_voice(self, steps: EnabledSteps) -> EnabledSteps:
        """*steps* of voice after this file's changes."""
        return EnabledSteps(
            providers=_changed(_changed(steps.providers, self.providers), self.voice_providers),
            pre_processors=_changed(steps.pre_processors, self.voice_pre_processors),
            post_processors=_changed(steps.post_processors, self.voice_post_processors),
        )


def is_step_on(id_: str, ids: frozenset[str], *, by_default: bool) -> bool:
    """Whether the part of an extension is on: as the files say, else *by_default*."""
    return id_ in ids or (by_default and f"-{id_}" not in ids)


def _changed(ids: frozenset[str], changes: Sequence[str]) -> frozenset[str]:
    """*ids* after *changes*. That a part of an extension was taken away stays on record, as "-" and its id.

    Which of those a mode has is not known here.
    """
    for change in changes:
        id_ = change[1:]
        ids = ids - {id_, f"-{id_}"}
        if change.startswith("+"):
            ids |= {id_}
        elif is_extension_part(id_):
            ids |= {change}
    return ids


class PromptOrder(Enum):
    """The two native orders of a prompt."""

    stable_first = "stable_first"
    classic = "classic"


class Interjection(Enum):
    """How readily the familiar joins a conversation it was not addressed in."""

    very_quiet = "very_quiet"
    quiet = "quiet"
    average = "average"
    eager = "eager"
    very_eager = "very_eager"

    @property
    def starting_interval(self) -> int:
        """Messages before the familiar first considers joining in."""
        return {"very_quiet": 15, "quiet": 12, "average": 9, "eager": 6, "very_eager": 3}[self.value]


class DecideWith(Enum):
    """Who decides whether the familiar speaks when it need not."""

    auto = "auto"
    side_model = "side_model"
    reply = "reply"
    rules = "rules"


class InterruptTolerance(Enum):
    """How readily the familiar keeps talking when talked over."""

    very_meek = "very_meek"
    meek = "meek"
    average = "average"
    stubborn = "stubborn"
    very_stubborn = "very_stubborn"

    @property
    def base_probability(self) -> float:
        return {"very_meek": 0.10, "meek": 0.20, "average": 0.30, "stubborn": 0.45, "very_stubborn": 0.60}[self.value]


_DEADLINE = (
    "Longest a turn may take besides the model's own time, seconds: three fifths go to putting the prompt together, "
    "the rest to what comes after the reply. 0: no limit."
)


@dataclass(frozen=True, kw_only=True)
class TurnDeadlines:
    """The deadline of a turn, for all turns or those of one modality; None: what is less particular says it."""

    all_s: float | None = setting(
        None, number_rule(least=0), f"{_DEADLINE} None: the mode's.", key="deadline_s", example="30.0"
    )
    text_s: float | None = setting(
        None, number_rule(least=0), "The same for what is written.", key="text.deadline_s", example="30.0"
    )
    voice_s: float | None = setting(
        None, number_rule(least=0), "The same for what is spoken.", key="voice.deadline_s", example="9.0"
    )

    def for_turn(self, *, is_voice: bool) -> float | None:
        """What is said of a turn, written or spoken; None: nothing."""
        return _first_given(self.voice_s if is_voice else self.text_s, self.all_s)

    def over(self, wider: TurnDeadlines) -> TurnDeadlines:
        """These, and where they say nothing, *wider*."""
        own = self.all_s if self.all_s is not None else wider.all_s
        return TurnDeadlines(
            all_s=own,
            text_s=_first_given(self.text_s, self.all_s, wider.text_s),
            voice_s=_first_given(self.voice_s, self.all_s, wider.voice_s),
        )


def _first_given(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)
