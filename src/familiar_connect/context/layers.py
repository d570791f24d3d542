"""The names of layers, blocks and priorities: what settings and reports need of the context room, and nothing heavy."""

from __future__ import annotations

from enum import Enum, IntEnum


class Layer(Enum):
    """Whose budget pays. The first seven are fixed in name and order."""

    __hash__ = object.__hash__  # members are unique; by name it would be worked out anew at every look

    core = "core"
    character = "character"
    content = "content"
    history_summary = "history_summary"
    recent_history = "recent_history"
    author_note = "author_note"
    depth_inject = "depth_inject"
    scene = "scene"
    examples = "examples"
    pinned = "pinned"
    extensions = "extensions"


class Modality(Enum):
    voice = "voice"
    text = "text"


class ItemTag(Enum):
    """What a block is, so that the native order can place it and a preset can move it."""

    PREAMBLE = "PREAMBLE"
    RULES = "RULES"
    CHANNEL_PROMPT = "CHANNEL_PROMPT"
    PERSONA = "PERSONA"
    TRAITS = "TRAITS"
    SCENARIO = "SCENARIO"
    PINNED = "PINNED"
    AUTHOR_NOTE = "AUTHOR_NOTE"
    SERVER_INFO = "SERVER_INFO"
    USER_BLOCKS = "USER_BLOCKS"
    SERVER_MEMORIES = "SERVER_MEMORIES"
    EMOJIS = "EMOJIS"
    STICKERS = "STICKERS"
    SPRITES = "SPRITES"
    PARTICIPANTS = "PARTICIPANTS"
    EXTENSION = "EXTENSION"
    SUMMARY = "SUMMARY"
    PEOPLE = "PEOPLE"
    SHORT_TERM = "SHORT_TERM"
    TOOL_DEFINITIONS = "TOOL_DEFINITIONS"
    DOCUMENTS = "DOCUMENTS"
    CONDITIONING = "CONDITIONING"
    SAMPLE = "SAMPLE"
    FOUND = "FOUND"
    DIALOGUE = "DIALOGUE"
    DATE_SPACER = "DATE_SPACER"
    NOW = "NOW"
    POST_HISTORY = "POST_HISTORY"
    THINKING = "THINKING"
    TAIL = "TAIL"
    PREFILL = "PREFILL"


class Priority(IntEnum):
    """What survives when a layer, or the whole prompt, is full. Higher stays longer."""

    CHARACTER = 100
    CHANNEL_PROMPT = 95
    NOTE_AT_DEPTH = 90
    PINNED = 88
    PEOPLE = 85
    MODE_INSTRUCTIONS = 80
    HISTORY_RECENT = 80
    STEPPED_THINKING = 75
    PARTICIPANTS = 75
    SHORT_TERM = 75
    FOUND = 70
    NOW = 70
    SERVER_MEMORIES = 65
    HISTORY_SUMMARY = 60
    EXTENSION = 60
    DOCUMENTS = 60
    ELSEWHERE = 55
    SERVER_INFO = 50
    CONDITIONING = 45
    SAMPLE = 40
    EMOJIS = 30
    STICKERS = 25
