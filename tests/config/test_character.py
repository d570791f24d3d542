"""What `character.toml` may say, what it means, and what is answered when it is wrong."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from familiar_connect.config import (
    ChannelMode,
    CharacterConfig,
    ConfigError,
    Interjection,
    InterruptTolerance,
    TTSConfig,
    load_character_config,
)
from familiar_connect.config.character import Alter
from familiar_connect.config.load import explain_character_config
from familiar_connect.config.types import PlaceSettings, PromptOrder
from familiar_connect.tools.types import ALL_TOOLS

EVERYTHING = """
default_mode = "full_rp"
display_tz = "Europe/Berlin"
aliases = ["Ari", "Ria"]
chattiness = "Chatty"
interjection = "eager"
text_lull_timeout = 4
voice_lull_timeout = 2.5
preset_fidelity = "sillytavern"
prompt_order = "classic"
user_name = " Robin "
user_persona = "a sailor"

[providers.history]
window_size = 30
refresh_every_turns = 5
max_turns_per_refresh = 50
max_chars_per_refresh = 9000

[layers.depth_inject]
position = 2
role = "user"

[voice.interruption]
interrupt_tolerance = "stubborn"
min_interruption_s = 1
short_long_boundary_s = 20

[memory_writer]
turn_threshold = 25
idle_timeout = 600
review = true

[discord]
dms = "everyone"

[tts]
provider = "gemini"
gemini_style = "dry"
greetings = ["Hello!", "Hi."]

[typing_simulation]
enabled = false
chars_per_second = 20
sentence_split_threshold = 300
"""


def written(folder: Path, text: str, name: str = "character.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def complaint(folder: Path, text: str) -> str:
    """What is said of a file holding *text*; it always begins with the file's name."""
    path = written(folder, text)
    with pytest.raises(ConfigError) as caught:
        load_character_config(path)
    sentence = str(caught.value)
    assert sentence.startswith(f"{path}: ")
    assert "\n" not in sentence
    return sentence


def test_no_file_means_the_defaults(tmp_path: Path) -> None:
    """A familiar without `character.toml` has every default."""
    assert CharacterConfig() == load_character_config(tmp_path / "character.toml")


def test_an_empty_file_means_the_defaults(tmp_path: Path) -> None:
    """So does one with nothing in it, even with the mark some editors put first."""
    assert CharacterConfig() == load_character_config(written(tmp_path, "\ufeff\r\n"))


def test_the_defaults_are_as_documented() -> None:
    """The values the program has until someone changes them."""
    config = CharacterConfig()

    assert ChannelMode.text_conversation_rp is config.default_mode
    assert (
        config.history_window_size,
        config.depth_inject_position,
        config.depth_inject_role,
        config.display_tz,
        config.aliases,
    ) == (20, 0, "system", "UTC", [])
    assert config.chattiness == "Balanced — responds when the conversation is relevant"
    assert (Interjection.average, 10.0, 5.0) == (
        config.interjection,
        config.text_lull_timeout,
        config.voice_lull_timeout,
    )
    assert (InterruptTolerance.average, 2.0, 30.0) == (
        config.interrupt_tolerance,
        config.min_interruption_s,
        config.short_long_boundary_s,
    )
    assert (
        config.memory_writer_turn_threshold,
        config.memory_writer_idle_timeout,
        config.memory_writer_review,
    ) == (50, 1800, False)
    assert (TTSConfig(), {}, "with_memory", "owner") == (
        config.tts,
        config.typing_simulation_overrides,
        config.preset_fidelity,
        config.built_in.discord.dms,
    )


def test_every_key_fills_its_field(tmp_path: Path) -> None:
    """What is written is what is meant."""
    config = load_character_config(written(tmp_path, EVERYTHING))

    assert (ChannelMode.full_rp, "Europe/Berlin", ["Ari", "Ria"]) == (
        config.default_mode,
        config.display_tz,
        config.aliases,
    )
    assert ("Chatty", Interjection.eager, 4.0, 2.5) == (
        config.chattiness,
        config.interjection,
        config.text_lull_timeout,
        config.voice_lull_timeout,
    )
    assert ("sillytavern", PromptOrder.classic, "Robin", "a sailor") == (
        config.preset_fidelity,
        config.prompt_order,
        config.user_name,
        config.user_persona,
    )
    assert (
        config.history_window_size,
        config.history_refresh_every_turns,
        config.history_max_turns_per_refresh,
        config.history_max_chars_per_refresh,
    ) == (30, 5, 50, 9000)
    assert (config.depth_inject_position, config.depth_inject_role) == (2, "user")
    assert (InterruptTolerance.stubborn, 1.0, 20.0) == (
        config.interrupt_tolerance,
        config.min_interruption_s,
        config.short_long_boundary_s,
    )
    assert (
        config.memory_writer_turn_threshold,
        config.memory_writer_idle_timeout,
        config.memory_writer_review,
    ) == (25, 600.0, True)
    assert config.built_in.discord.dms == "everyone"
    assert TTSConfig(provider="gemini", gemini_style="dry", greetings=["Hello!", "Hi."]) == config.tts


def test_typing_simulation_yields_only_what_is_given(tmp_path: Path) -> None:
    """Numbers become floats, the threshold stays whole, nothing else appears."""
    overrides = load_character_config(written(tmp_path, EVERYTHING)).typing_simulation_overrides

    assert overrides == {"enabled": False, "chars_per_second": 20.0, "sentence_split_threshold": 300}
    assert (float, int) == (type(overrides["chars_per_second"]), type(overrides["sentence_split_threshold"]))


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ('default_mode = "full_rpg"', ["default_mode", "'full_rpg'", "did you mean 'full_rp'?"]),
        ("default_mode = 7", ["default_mode", "7"]),
        ('display_tz = "Mars/Olympus"', ["display_tz", "Mars/Olympus"]),
        ('display_tz = ""', ["display_tz"]),
        ('display_tz = "../../etc/passwd"', ["display_tz"]),
        ('display_tz = "Europe"', ["display_tz"]),
        ('aliases = "Ari"', ["aliases must be a list"]),
        ('aliases = ["Ari", 3]', ["aliases must be a list"]),
        ("chattiness = 3", ["chattiness must be a string, not 3"]),
        ('interjection = "loud"', ["interjection", "'loud'"]),
        ('text_lull_timeout = "soon"', ["text_lull_timeout", "'soon'"]),
        ("voice_lull_timeout = true", ["voice_lull_timeout"]),
        ("voice_lull_timeout = nan", ["voice_lull_timeout"]),
        ("voice_lull_timeout = -1", ["voice_lull_timeout"]),
        ("text_lull_timeout = 1" + "0" * 400, ["text_lull_timeout", "so large a number"]),
        ('preset_fidelity = "exact"', ["preset_fidelity", "with_memory, sillytavern"]),
        ('prompt_order = "stable"', ["prompt_order", "stable_first"]),
        ("[providers.history]\nwindow_size = 0", ["[providers.history] window_size", "above 0"]),
        ("[providers.history]\nwindow_size = 1.5", ["window_size"]),
        ("[providers.history]\nrefresh_every_turns = true", ["refresh_every_turns"]),
        ('[layers.depth_inject]\nrole = "assistant"', ["[layers.depth_inject] role", "'assistant'"]),
        ("[layers.depth_inject]\nposition = -1", ["position"]),
        ('[voice.interruption]\ninterrupt_tolerance = "rude"', ["interrupt_tolerance", "'rude'"]),
        ("[voice.interruption]\nmin_interruption_s = -0.1", ["min_interruption_s"]),
        ("[voice.interruption]\nshort_long_boundary_s = 2.0", ["short_long_boundary_s (2)", "min_interruption_s"]),
        ("[voice.interruption]\nmin_interruption_s = 40", ["short_long_boundary_s"]),
        ("[memory_writer]\nturn_threshold = 0", ["turn_threshold"]),
        ("[memory_writer]\nidle_timeout = 0", ["idle_timeout"]),
        ("[memory_writer]\nreview = 1", ["review must be true or false, not 1"]),
        ('[discord]\ndms = "all"', ["[discord] dms", "off, owner, everyone"]),
        ('[tts]\ngreetings = "Hello"', ["greetings must be a list"]),
        ('[tts]\nprovider = "azur"', ["provider", "did you mean 'azure'?"]),
        ("tts = 3", ["tts must be a table"]),
        ("[[tts]]\n", ["tts must be a table"]),
        ("typing_simulation = true", ["typing_simulation must be a table"]),
        ('[typing_simulation]\nenabled = "yes"', ["enabled"]),
        ('[typing_simulation]\nchars_per_second = "fast"', ["chars_per_second"]),
        ("[typing_simulation]\nchars_per_second = 0", ["chars_per_second"]),
        ("[typing_simulation]\nmin_delay_s = -1", ["min_delay_s"]),
        ("[typing_simulation]\nmax_delay_s = -1", ["max_delay_s"]),
        ("[typing_simulation]\ninter_line_pause_s = -0.5", ["inter_line_pause_s"]),
        ("[typing_simulation]\nsentence_split_threshold = 0", ["sentence_split_threshold"]),
        ("[typing_simulation]\nsentence_split_threshold = 1.0", ["sentence_split_threshold"]),
        ("[typing_simulation]\nmin_delay_s = 3\nmax_delay_s = 2", ["min_delay_s (3)", "max_delay_s (2)"]),
        ("[typing_simulation]\nmin_delay_s = 7", ["min_delay_s (7)", "max_delay_s (6)"]),
    ],
)
def test_a_bad_value_is_named_with_its_key(tmp_path: Path, text: str, fragments: list[str]) -> None:
    """One sentence: file, section, key, what was expected, what was found."""
    sentence = complaint(tmp_path, text)

    assert [fragment for fragment in fragments if fragment not in sentence] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('chatiness = "x"', "unknown key 'chatiness'; did you mean 'chattiness'?"),
        ("[providers.history]\nwindow = 3", "unknown key 'window' in [providers.history]; did you mean 'window_size'?"),
        ("[memry_writer]\nreview = true", "unknown section [memry_writer]; did you mean [memory_writer]?"),
        (
            "[providers.histori]\nwindow_size = 3",
            "unknown section [providers.histori]; did you mean [providers.history]?",
        ),
        ("turn_threshold = 3", "unknown key 'turn_threshold'; it belongs at [memory_writer] turn_threshold"),
        ('["providers.history"]\nwindow_size = 3', "unknown section [providers.history]"),
        (
            "[discord]\nzzz = 3",
            "unknown key 'zzz' in [discord]; known there: answer_late_s, bot_reply_limit, buttons, controls, "
            "dms, hears_bots, hello, history_on_return, history_on_subscribe, text_file_bytes, "
            "text_file_lines, text_file_tokens, webhooks",
        ),
    ],
)
def test_an_unknown_key_is_answered_with_the_nearest_known_one(tmp_path: Path, text: str, expected: str) -> None:
    """A slip of the pen never passes unnoticed."""
    assert expected in complaint(tmp_path, text)


def test_the_older_spellings_of_the_voice_warn_and_do_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """`[tts].voice_id` and `[tts].model` load, without effect, and say so."""
    path = written(tmp_path, '[tts]\nvoice_id = "abc"\nmodel = "sonic"\n')

    config = load_character_config(path)

    assert TTSConfig() == config.tts
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert "voice_id" in caplog.text
    assert "cartesia_model" in caplog.text


def test_the_familiar_lies_over_the_profile_key_by_key(tmp_path: Path) -> None:
    """Tables are merged, everything else is replaced."""
    profile = written(
        tmp_path,
        'interjection = "quiet"\naliases = ["A", "B"]\n[tts]\nprovider = "gemini"\ngemini_voice = "Puck"\n'
        "[typing_simulation]\nmin_delay_s = 1\nmax_delay_s = 2\n",
        "profile.toml",
    )
    own = written(tmp_path, 'aliases = ["C"]\n[tts]\ngemini_voice = "Fenrir"\n[typing_simulation]\nmax_delay_s = 3\n')

    config = load_character_config(own, defaults_path=profile)

    assert (Interjection.quiet, ["C"]) == (config.interjection, config.aliases)
    assert TTSConfig(provider="gemini", gemini_voice="Fenrir") == config.tts
    assert config.typing_simulation_overrides == {"min_delay_s": 1.0, "max_delay_s": 3.0}


def test_delays_are_compared_after_layering(tmp_path: Path) -> None:
    """Two files that are each fine may not be so together; the nearer one is named."""
    profile = written(tmp_path, "[typing_simulation]\nmax_delay_s = 2\n", "profile.toml")
    own = written(tmp_path, "[typing_simulation]\nmin_delay_s = 3\n")

    with pytest.raises(ConfigError, match="min_delay_s") as caught:
        load_character_config(own, defaults_path=profile)

    assert str(caught.value).startswith(str(own))


def test_a_mistake_in_the_profile_is_told_of_the_profile(tmp_path: Path) -> None:
    """Even when the familiar's own file says better."""
    profile = written(tmp_path, 'interjection = "loud"', "profile.toml")
    own = written(tmp_path, 'interjection = "quiet"')

    with pytest.raises(ConfigError, match=r"profile\.toml: interjection"):
        load_character_config(own, defaults_path=profile)


def test_a_profile_that_is_named_must_exist(tmp_path: Path) -> None:
    """Naming a profile that is not there is an error that says what was sought."""
    with pytest.raises(ConfigError, match="default character profile"):
        load_character_config(tmp_path / "character.toml", defaults_path=tmp_path / "none.toml")


def test_every_setting_tells_where_it_comes_from(tmp_path: Path) -> None:
    """`config show` rests on this: code, profile or the familiar's own file."""
    profile = written(tmp_path, 'interjection = "quiet"\n[llm.default]\nmodel = "m"\n', "profile.toml")
    own = written(tmp_path, "text_lull_timeout = 3\n[llm.main_prose]\ntemperature = 1\n")

    settings = {one.key: (one.value, one.source) for one in explain_character_config(own, defaults_path=profile)}

    assert settings["interjection"] == ("quiet", "profile")
    assert settings["text_lull_timeout"] == (3.0, "familiar")
    assert settings["display_tz"] == ("UTC", "default")
    assert settings["typing_simulation.enabled"] == (True, "default")
    assert settings["llm.main_prose.model"] == ("m", "profile [llm.default]")
    assert settings["llm.main_prose.temperature"] == (1.0, "familiar")
    assert settings["llm.main_prose.base_url"] == (None, "default")


def test_alters_and_private_channels_are_rows_and_numbers(tmp_path: Path) -> None:
    """An alter has a name and perhaps aliases; a note and switches fill the familiar's place."""
    path = tmp_path / "character.toml"
    path.write_text(
        'private_channel_ids = [4, 5]\nauthor_note = "Be brief."\nemoji_usage_enabled = false\n'
        '[[alters]]\nname = " Gull "\naliases = ["Gully"]\n[[alters]]\nname = "Tern"\n',
        encoding="utf-8",
    )
    config = load_character_config(path)

    assert config.alters == [Alter(name="Gull", aliases=("Gully",)), Alter(name="Tern")]
    assert config.private_channel_ids == [4, 5]
    assert config.place == PlaceSettings(global_note="Be brief.", emoji_usage_enabled=False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("alters = [1]", "alters must be rows"),
        ("[[alters]]\naliases = []", "alters must be rows"),
        ('[[alters]]\nname = "x"\nage = 4', "alters must be rows"),
        ('[[alters]]\nname = "x"\npicture = "moss.png"', "alters must be rows"),
        ("private_channel_ids = ['a']", "private_channel_ids must be a list of channel ids"),
        ("private_channel_ids = 4", "private_channel_ids must be a list of channel ids"),
    ],
)
def test_a_bad_row_is_told(tmp_path: Path, text: str, said: str) -> None:
    """In one sentence that names the key."""
    path = tmp_path / "character.toml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError, match=said):
        load_character_config(path)


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("", []),
        ("tools = false", []),
        ("tools = true", list(ALL_TOOLS)),
        ('tools = ["search_memory", "remember", "remember"]', ["remember", "search_memory"]),
    ],
)
def test_tools_are_off_unless_they_are_named(tmp_path: Path, line: str, names: list[str]) -> None:
    """G9: all of them, some of them, or none."""
    path = tmp_path / "character.toml"
    path.write_text(line, encoding="utf-8")

    assert load_character_config(path).tools == names


@pytest.mark.parametrize("line", ['tools = ["format_disk"]', 'tools = "remember"', "tools = 1", "tools = [1]"])
def test_a_tool_nobody_has_is_refused(tmp_path: Path, line: str) -> None:
    """The sentence names those there are."""
    path = tmp_path / "character.toml"
    path.write_text(line, encoding="utf-8")

    with pytest.raises(ConfigError, match=r"tools must be true, false or a list of remember,"):
        load_character_config(path)
