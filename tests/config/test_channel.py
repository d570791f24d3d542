"""What a channel gets from its mode, its familiar and its own file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.config import (
    ChannelConfig,
    ChannelMode,
    ConfigError,
    TypingSimulationConfig,
    channel_config_for_mode,
    load_channel_config,
    load_character_config,
)
from familiar_connect.config.types import PROVIDER_STEPS, PlaceSettings
from familiar_connect.context.types import Layer

PROVIDERS = frozenset({"character", "history", "content_search", "mode_instructions"})
PLACE = frozenset({"channel_notes", "server_info", "server_memories", "participants"})


def loaded(folder: Path, text: str, **overrides: object) -> ChannelConfig:
    path = folder / "7.toml"
    path.write_text(text, encoding="utf-8")
    config = load_channel_config(path, character_overrides=overrides)
    assert config is not None
    return config


@pytest.mark.parametrize(
    ("mode", "budget", "deadline", "layers", "before", "after", "typing"),
    [
        (
            "full_rp",
            8000,
            30,
            [400, 2000, 2000, 1000, 2000, 400, 400, 600, 600, 800, 600],
            frozenset(),
            frozenset(),
            False,
        ),
        (
            "text_conversation_rp",
            6000,
            24,
            [400, 1200, 2000, 600, 2200, 300, 400, 500, 400, 600, 500],
            frozenset(),
            frozenset(),
            True,
        ),
        (
            "imitate_voice",
            2000,
            9,
            [300, 700, 300, 200, 900, 150, 100, 150, None, 150, 150],
            frozenset(),
            frozenset({"spoken_text"}),
            False,
        ),
    ],
)
def test_each_mode_gives_what_its_table_says(
    mode: str,
    budget: int,
    deadline: float,
    layers: list[int | None],
    before: frozenset[str],
    after: frozenset[str],
    typing: bool,
) -> None:
    """Budgets, deadline, who takes part, and whether typing is simulated."""
    config = channel_config_for_mode(ChannelMode(mode))
    at_leisure = {"assets", "sample_dialogues"}

    assert (ChannelMode(mode), budget, deadline) == (config.mode, config.budget_tokens, config.deadline_s)
    assert layers == [config.budget_by_layer.get(layer) for layer in Layer]
    assert config.providers_enabled >= PROVIDERS | PLACE
    assert config.providers_enabled & at_leisure == (set() if mode == "imitate_voice" else at_leisure)
    assert (before, after) == (config.preprocessors_enabled, config.postprocessors_enabled)
    assert TypingSimulationConfig(enabled=typing) == config.typing_simulation


def test_changing_one_answer_does_not_change_the_next() -> None:
    """The table is nobody's to write in."""
    first = channel_config_for_mode(ChannelMode.full_rp)
    assert isinstance(first.budget_by_layer, dict)
    first.budget_by_layer.clear()

    assert channel_config_for_mode(ChannelMode.full_rp).budget_by_layer


def test_no_sidecar_is_no_config(tmp_path: Path) -> None:
    """The caller then falls back to the mode."""
    assert load_channel_config(tmp_path / "7.toml") is None


def test_a_sidecar_lies_over_the_familiar_and_the_familiar_over_the_mode(tmp_path: Path) -> None:
    """Typing simulation is layered key by key."""
    config = loaded(
        tmp_path,
        'mode = "text_conversation_rp"\n[typing_simulation]\nmax_delay_s = 9\n',
        chars_per_second=10.0,
        max_delay_s=5.0,
    )

    assert TypingSimulationConfig(enabled=True, chars_per_second=10.0, max_delay_s=9.0) == config.typing_simulation


def test_texts_are_stripped_and_blank_ones_are_none(tmp_path: Path) -> None:
    """A backdrop of blanks is no backdrop."""
    config = loaded(tmp_path, 'mode = "full_rp"\nbackdrop = "  a tavern \\n"\nchannel_name = "  "\n')

    assert (config.backdrop_override, config.channel_name, config.preset_fidelity) == ("a tavern", None, None)


def test_a_sidecar_may_choose_its_own_preset_fidelity(tmp_path: Path) -> None:
    """It then comes before the familiar's."""
    assert loaded(tmp_path, 'mode = "full_rp"\npreset_fidelity = "sillytavern"\n').preset_fidelity == "sillytavern"


@pytest.mark.parametrize(
    ("line", "preset"),
    [("", None), ('preset = " Default "', "Default"), ('preset = ""', ""), ('preset = "None"', "")],
)
def test_a_sidecar_may_name_its_own_preset_or_none(tmp_path: Path, line: str, preset: str | None) -> None:
    """Silent, it leaves the choice to the familiar."""
    assert loaded(tmp_path, f'mode = "full_rp"\n{line}\n').preset == preset


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ('mode = "full_rp"\npreset = 3', ["preset must be the name of a preset", "not 3"]),
        ('backdrop = "x"', ["mode is missing", "full_rp"]),
        ('mode = "fullrp"', ["mode", "'fullrp'", "did you mean 'full_rp'?"]),
        ('mode = "full_rp"\nbackdrop = 3', ["backdrop must be a string, not 3"]),
        ('mode = "full_rp"\nchannel_name = ["x"]', ["channel_name must be a string"]),
        ('mode = "full_rp"\npreset_fidelity = "x"', ["preset_fidelity"]),
        ('mode = "full_rp"\ntyping_simulation = 1', ["typing_simulation must be a table"]),
        ('mode = "full_rp"\nbackdrp = "x"', ["unknown key 'backdrp'; did you mean 'backdrop'?"]),
        ('mode = "full_rp"\n[typing_simulation]\nmin_delay_s = 7', ["min_delay_s (7)"]),
        ('mode = "full_rp"\n[typing_simulation]\nspeed = 7', ["unknown key 'speed' in [typing_simulation]"]),
    ],
)
def test_a_bad_sidecar_is_named(tmp_path: Path, text: str, fragments: list[str]) -> None:
    """File and key, in one sentence."""
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, text)

    assert str(caught.value).startswith(str(tmp_path / "7.toml"))
    assert [fragment for fragment in fragments if fragment not in str(caught.value)] == []


def test_a_channel_has_words_of_its_own(tmp_path: Path) -> None:
    """A prompt, how it stands to the rules, and a note; blank is none."""
    config = loaded(
        tmp_path,
        'mode = "full_rp"\nchannel_prompt = " Whisper. "\nchannel_prompt_mode = "replace"\n'
        'author_note = ""\nauthor_note_depth = 0\n',
    )

    assert (config.place.channel_prompt, config.place.replaces_rules) == ("Whisper.", True)
    assert (config.place.channel_note, config.place.channel_note_depth) == (None, 0)


def test_a_channel_overrides_what_is_told_of_a_place(tmp_path: Path) -> None:
    """Key by key, over the familiar's; the familiar's note stays beside the channel's."""
    path = tmp_path / "7.toml"
    path.write_text('mode = "full_rp"\ntime_awareness = true\nauthor_note = "Rain."\n', encoding="utf-8")
    place = PlaceSettings(emoji_usage_enabled=False, global_note="Be brief.")
    config = load_channel_config(path, place=place)

    assert config is not None
    assert config.place == replace(place, time_awareness=True, channel_note="Rain.")


def test_a_prompt_is_appended_or_replaces(tmp_path: Path) -> None:
    """Nothing else is meant."""
    with pytest.raises(ConfigError, match="channel_prompt_mode must be one of append, replace, not 'prepend'"):
        loaded(tmp_path, 'mode = "full_rp"\nchannel_prompt_mode = "prepend"\n')


def test_steps_are_added_and_left_out_by_familiar_and_channel(tmp_path: Path) -> None:
    """The mode's set, changed by the familiar's file, then by the channel's; text and voice apart."""
    (tmp_path / "character.toml").write_text(
        'pre_processors = ["+stepped_thinking"]\npost_processors = ["+recast"]\n'
        '[providers]\nenabled = ["-documents"]\n[voice]\npost_processors = ["+recast", "-spoken_text"]\n',
        encoding="utf-8",
    )
    sidecar = 'mode = "full_rp"\npre_processors = ["-stepped_thinking"]\n[providers]\nenabled = ["+documents"]\n'
    (tmp_path / "8.toml").write_text(sidecar + '[voice]\nproviders = ["-assets"]\n', encoding="utf-8")
    store = ChannelConfigStore(root=tmp_path, character=load_character_config(tmp_path / "character.toml"))
    plain, own = store.get(7), store.get(8)

    assert (plain.preprocessors_enabled, plain.postprocessors_enabled) == (
        frozenset({"stepped_thinking"}),
        frozenset({"recast"}),
    )
    assert "documents" not in plain.providers_enabled
    assert "documents" not in plain.on_voice.providers
    assert (plain.on_voice.pre_processors, plain.on_voice.post_processors) == (frozenset(), frozenset({"recast"}))
    assert (own.preprocessors_enabled, own.postprocessors_enabled) == (frozenset(), frozenset({"recast"}))
    assert {"documents", "assets"} <= own.providers_enabled
    assert "assets" not in own.on_voice.providers


@pytest.mark.parametrize("value", ['["stepped_thinking"]', '["+steped_thinking"]', '"+stepped_thinking"', "[1]"])
def test_a_step_nobody_knows_is_refused(tmp_path: Path, value: str) -> None:
    """The sentence names those there are."""
    path = tmp_path / "character.toml"
    path.write_text(f"pre_processors = {value}\n", encoding="utf-8")

    with pytest.raises(ConfigError, match=r"pre_processors must be a list of names .* of stepped_thinking"):
        load_character_config(path)


def test_every_step_of_a_mode_is_one_that_settings_know() -> None:
    """And the other way round: each can be switched."""
    modes = [channel_config_for_mode(mode) for mode in ChannelMode]

    assert set().union(*(mode.providers_enabled for mode in modes)) == set(PROVIDER_STEPS)
