"""Names other software relies on: each is where it was promised, under its promised shape."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import fields

import pytest

NAMES: dict[str, str] = {
    "voice.stt.deepgram": "DeepgramTranscriber create_transcriber_from_env",
    "voice.tts.cartesia": "CartesiaTTSClient",
    "voice.tts.azure": "AzureTTSClient",
    "voice.tts.gemini": "GeminiTTSClient",
    "familiar_connect": "__version__",
    "cli": "main",
    "identity": "Author format_turn_for_transcript sanitize_name PrivacyLevel",
    "context.types": "Layer Modality Contribution ContextItem PendingTurn ContextRequest",
    "context.protocols": "ContextProvider PreProcessor PostProcessor PreProcessorError",
    "config": (
        "CharacterConfig ChannelConfig ChannelMode channel_config_for_mode ConfigError DEFAULT_CHANNEL_MODE"
        " Interjection InterruptTolerance LLM_SLOT_NAMES LLMSlotConfig TTSConfig TypingSimulationConfig"
        " load_character_config load_channel_config DEFAULT_AZURE_TTS_VOICE DEFAULT_GEMINI_TTS_VOICE"
        " DEFAULT_GEMINI_TTS_MODEL"
    ),
    "channel_config": "ChannelConfigStore",
    "subscriptions": "SubscriptionKind Subscription SubscriptionRegistry",
    "privacy": "PrivacyRegistry",
    "conversation.intake": "Intake",
    "history.store": (
        "HistoryStore HistoryTurn SummaryEntry OtherChannelInfo CrossContextEntry WatermarkEntry"
    ),
    "chat.build": "build_turn",
    "chat.directives": "place_tail",
    "context.pipeline": "ContextPipeline ProviderOutcome PipelineOutput TurnDeadlineError",
    "context.budget": "estimate_tokens DroppedNote BudgetResult Budgeter",
    "context.render": "assemble_chat_messages",
    "context.providers.character": "CHARACTER_PRIORITY CharacterProvider",
    "context.providers.mode_instructions": "MODE_INSTRUCTION_PRIORITY ModeInstructionProvider resolve_mode_default",
    "context.providers.history": (
        "HISTORY_RECENT_PRIORITY HISTORY_SUMMARY_PRIORITY CROSS_CONTEXT_PRIORITY DEFAULT_WINDOW_SIZE DEFAULT_DEADLINE_S"
        " DEFAULT_SUMMARY_TIMEOUT_S HistoryProvider"
    ),
    "context.processors.stepped_thinking": (
        "STEPPED_THINKING_PRIORITY DEFAULT_PROCESSOR_TIMEOUT_S DEFAULT_HISTORY_WINDOW SteppedThinkingPreProcessor"
    ),
    "context.processors.recast": "DEFAULT_PROCESSOR_TIMEOUT_S RecastPostProcessor",
    "llm": "LLMClient Message create_llm_clients sanitize_name get_request_semaphore OPENROUTER_BASE_URL",
    "llm.scripted": "ScriptedModel",
    "reply.chunks": "split_reply_into_chunks",
    "reply.pacing": "compute_typing_delay",
    "reply.deliver": "TextDeliveryTracker TextDeliveryRegistry deliver",
    "reply.record": "record",
    "reply.request": "to_request",
    "memory.store": (
        "DEFAULT_MAX_FILE_BYTES DEFAULT_MAX_RESULTS_PER_OP DEFAULT_MAX_FILES_PER_DIR MemoryStoreLimits MemoryEntry"
        " GrepHit AuditEntry MemoryStore MemoryStoreError MemoryStorePathError MemoryStoreSizeLimitError"
        " MemoryStorePatternError MemoryStoreEncodingError"
    ),
    "familiar": "Familiar",
    "observe.last_context": "LastContextCache",
    "observe.trace": "StageSpan TurnTrace TraceBuilder",
    "observe.ledger": "MetricsCollector NullCollector SQLiteCollector",
    "observe.report": "summary_stats stage_breakdown throughput_stats provider_success_rates tag_comparison",
}  # fmt: skip
"""Module → the names in it."""

SIGNATURES: dict[str, str] = {
    "voice.stt.deepgram:DeepgramTranscriber": "*api_key *model *language *sample_rate *channels *diarize "
    "*interim_results *utterance_end_ms *vad_events *endpointing_ms *replay_buffer_s",
    "voice.tts.factory:create_tts_client": "config",
    "reply.chunks:split_reply_into_chunks": "text *sentence_split_threshold *hard_cap",
    "reply.pacing:compute_typing_delay": "chunk cfg",
    "reply.request:to_request": "turn channel_config",
    "reply.deliver:deliver": "reply place pacing",
    "reply.record:record": "history turn sent",
    "chat.build:build_turn": "exchange surroundings",
    "context.render:assemble_chat_messages": "output *depth_inject_position *depth_inject_role",
    "history.store:HistoryStore.append_turn": ("self *familiar_id *channel_id *role *content *author *guild_id *mode"),
    "history.store:HistoryStore.recent": "self *familiar_id *channel_id *limit *mode *before_id",
    "context.providers.history:HistoryProvider": (
        "*store *llm_client *window_size *summary_lag *mode *summary_timeout_s"
    ),
    "context.processors.recast:RecastPostProcessor": "*llm_client *processor_timeout_s",
    "context.providers.mode_instructions:ModeInstructionProvider": (
        "*modes_root *mode *channel_backdrop_override *defaults_modes_root"
    ),
    "observe.last_context:LastContextCache": "*channels_root",
    "llm:LLMClient": "*api_key *model *base_url *temperature",
    "llm:create_llm_clients": "api_key character_config",
    "channel_config:ChannelConfigStore": "*root *character",
}
"""Callable → its first parameters; a star marks one that is by keyword only."""

FIELDS: dict[str, str] = {
    "identity:Author": "platform user_id username display_name aliases",
    "context.types:Contribution": "layer priority text estimated_tokens source tag role depth order",
    "context.types:ContextRequest": (
        "familiar_id channel_id guild_id author utterance modality budget_tokens deadline_s pending_turns"
        " preprocessor_contributions interruption_context mode before_id"
    ),
    "context.types:PendingTurn": "author text",
    "context.budget:DroppedNote": "layer source reason tokens_dropped",
    "context.budget:BudgetResult": "by_layer dropped kept",
    "context.pipeline:ProviderOutcome": "provider_id duration_s contributions status error_message",
    "context.pipeline:PipelineOutput": "request budget outcomes",
    "history.store:HistoryTurn": "id timestamp role author content channel_id",
    "history.store:SummaryEntry": "last_summarised_id summary_text created_at",
    "history.store:OtherChannelInfo": "channel_id mode latest_id latest_timestamp",
    "history.store:CrossContextEntry": "source_last_id summary_text created_at",
    "history.store:WatermarkEntry": "last_written_id created_at",
    "subscriptions:Subscription": "channel_id kind guild_id",
    "reply.deliver:TextDeliveryTracker": "channel_id task sent_chunks",
    "observe.trace:StageSpan": "name start_s duration_s metadata",
    "observe.trace:TurnTrace": (
        "trace_id familiar_id channel_id guild_id modality timestamp total_duration_s stages tags"
    ),
    "memory.store:GrepHit": "rel_path line_number line_text match_start match_end",
    "memory.store:MemoryEntry": "name is_dir size_bytes modified",
    "memory.store:AuditEntry": "rel_path operation bytes_written source timestamp",
    "llm:Message": "role content name",
}
"""Value → its first fields, in order."""


def find(place: str) -> object:
    module, _, path = place.partition(":")
    found: object = importlib.import_module(_full(module))
    for name in path.split("."):
        found = getattr(found, name)
    return found


def _full(module: str) -> str:
    return module if module == "familiar_connect" else f"familiar_connect.{module}"


@pytest.mark.parametrize("module", list(NAMES))
def test_promised_names_are_where_they_were_promised(module: str) -> None:
    """Importable from that module."""
    found = importlib.import_module(_full(module))

    assert [name for name in NAMES[module].split() if not hasattr(found, name)] == []


@pytest.mark.parametrize("place", list(SIGNATURES))
def test_promised_parameters_are_in_their_order(place: str) -> None:
    """More may follow, with defaults."""
    wanted = SIGNATURES[place].split()
    parameters = list(inspect.signature(find(place)).parameters.values())  # type: ignore[arg-type]
    marked = [f"*{each.name}" if each.kind is inspect.Parameter.KEYWORD_ONLY else each.name for each in parameters]

    assert marked[: len(wanted)] == wanted
    assert all(each.default is not inspect.Parameter.empty for each in parameters[len(wanted) :])


@pytest.mark.parametrize("place", list(FIELDS))
def test_promised_fields_are_in_their_order(place: str) -> None:
    """More may follow."""
    wanted = FIELDS[place].split()
    names = [field.name for field in fields(find(place))]  # type: ignore[arg-type]

    assert names[: len(wanted)] == wanted


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("context.providers.character:CHARACTER_PRIORITY", 100),
        ("context.providers.mode_instructions:MODE_INSTRUCTION_PRIORITY", 80),
        ("context.providers.history:HISTORY_RECENT_PRIORITY", 80),
        ("context.providers.history:HISTORY_SUMMARY_PRIORITY", 60),
        ("context.providers.history:CROSS_CONTEXT_PRIORITY", 55),
        ("context.providers.history:DEFAULT_WINDOW_SIZE", 20),
        ("context.providers.history:DEFAULT_DEADLINE_S", 15.0),
        ("context.providers.history:DEFAULT_SUMMARY_TIMEOUT_S", 12.0),
        ("context.processors.stepped_thinking:STEPPED_THINKING_PRIORITY", 75),
        ("context.processors.stepped_thinking:DEFAULT_PROCESSOR_TIMEOUT_S", 9.0),
        ("context.processors.stepped_thinking:DEFAULT_HISTORY_WINDOW", 20),
        ("memory.store:DEFAULT_MAX_FILE_BYTES", 262_144),
        ("memory.store:DEFAULT_MAX_RESULTS_PER_OP", 1000),
        ("memory.store:DEFAULT_MAX_FILES_PER_DIR", 10_000),
        ("llm:OPENROUTER_BASE_URL", "https://openrouter.ai/api/v1"),
    ],
)
def test_promised_numbers_hold(place: str, value: object) -> None:
    """Data and other software were made with them."""
    assert find(place) == value


def test_errors_keep_their_kind() -> None:
    """Whoever catches the promised base catches them."""
    from familiar_connect.context.protocols import PreProcessorError
    from familiar_connect.memory import store

    assert issubclass(PreProcessorError, RuntimeError)
    for name in ("Path", "SizeLimit", "Pattern", "Encoding"):
        assert issubclass(getattr(store, f"MemoryStore{name}Error"), store.MemoryStoreError)


def test_a_request_semaphore_has_four_places_unless_told_otherwise() -> None:
    """One for the whole process."""
    from familiar_connect.llm import get_request_semaphore

    assert inspect.signature(get_request_semaphore).parameters["max_concurrent"].default == 4
    assert get_request_semaphore() is get_request_semaphore()
