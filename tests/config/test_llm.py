"""Which model a slot gets, from which file, and which key goes with it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from familiar_connect.config import LLM_SLOT_NAMES, CharacterConfig, ConfigError, LLMSlotConfig, load_character_config
from familiar_connect.config.llm import OPENROUTER_BASE_URL
from familiar_connect.config.load import write_default_model

PASTED_KEY = "sk-or-v1-0123456789abcdef"


def slot(tmp_path: Path, own: str, profile: str | None = None, name: str = "main_prose") -> LLMSlotConfig:
    path = tmp_path / "character.toml"
    path.write_text(own, encoding="utf-8")
    defaults_path = None
    if profile is not None:
        defaults_path = tmp_path / "profile.toml"
        defaults_path.write_text(profile, encoding="utf-8")
    return load_character_config(path, defaults_path=defaults_path).llm[name]


def test_every_slot_starts_on_the_embedded_model() -> None:
    """Eight slots, each with its own temperature."""
    slots = CharacterConfig().llm

    assert set(slots) == LLM_SLOT_NAMES
    assert {"embedded"} == {one.model for one in slots.values()}
    assert {name: one.temperature for name, one in slots.items()} == {
        "main_prose": 0.7,
        "post_process_style": 0.5,
        "interjection_decision": 0.5,
        "history_summary": 0.4,
        "memory_search": 0.4,
        "reasoning_context": 0.3,
        "memory_writer": 0.3,
        "mood_eval": 0.3,
    }


def test_one_section_moves_every_slot(tmp_path: Path) -> None:
    """`[llm.default]` fills whatever a slot does not say, the key's name too."""
    path = tmp_path / "character.toml"
    path.write_text('[llm.default]\nmodel = "a/b"\napi_key_env = "MY_KEY"\n[llm.mood_eval]\nmodel = "c"\n', "utf-8")

    slots = load_character_config(path).llm

    assert {"a/b", "c"} == {one.model for one in slots.values()}
    assert {"MY_KEY"} == {one.api_key_env for one in slots.values()}
    assert (slots["mood_eval"].model, slots["mood_eval"].temperature) == ("c", 0.3)


def test_a_key_named_alone_reaches_every_slot(tmp_path: Path) -> None:
    """It was named for no address in particular."""
    assert slot(tmp_path, '[llm.default]\napi_key_env = "MY_KEY"').api_key_env == "MY_KEY"


@pytest.mark.parametrize(
    ("own", "profile", "expected"),
    [
        ('[llm.main_prose]\nmodel="1"\n[llm.default]\nmodel="2"', '[llm.main_prose]\nmodel="3"', "1"),
        ('[llm.default]\nmodel="2"', '[llm.main_prose]\nmodel="3"\n[llm.default]\nmodel="4"', "2"),
        ("", '[llm.main_prose]\nmodel="3"\n[llm.default]\nmodel="4"', "3"),
        ("", '[llm.default]\nmodel="4"', "4"),
        ("", "", "embedded"),
    ],
)
def test_the_nearest_file_wins_and_in_it_the_slot(tmp_path: Path, own: str, profile: str, expected: str) -> None:
    """Familiar's slot, familiar's default, profile's slot, profile's default, code."""
    assert expected == slot(tmp_path, own, profile).model


def test_settings_of_a_slot_are_taken_one_by_one(tmp_path: Path) -> None:
    """Each from the nearest place that gives it."""
    profile = '[llm.main_prose]\ntemperature = 1.5\nfallbacks = ["x", "y"]\n[llm.default]\ntimeout_s = 9\n'

    found = slot(tmp_path, '[llm.default]\nmodel = "m"\nmax_output_tokens = 5\ncontext_window = 100', profile)

    assert found == LLMSlotConfig(
        model="m",
        temperature=1.5,
        fallbacks=("x", "y"),
        timeout_s=9.0,
        max_output_tokens=5,
        context_window=100,
    )


@pytest.mark.parametrize(
    ("own", "profile"),
    [
        (
            '[llm.default]\nmodel="m"\nbase_url="https://b.example/v1"',
            '[llm.default]\nmodel="x"\nbase_url="https://a.example/v1"\napi_key_env="A_KEY"',
        ),
        (
            '[llm.default]\nmodel="m"\nbase_url="https://a.example/v1"\napi_key_env="A_KEY"\n'
            '[llm.main_prose]\nbase_url="https://b.example/v1"',
            "",
        ),
        (
            '[llm.default]\nmodel="m"\napi_key_env="A_KEY"\n[llm.main_prose]\nbase_url="http://localhost:1/v1"',
            "",
        ),
        (
            '[llm.default]\napi_key_env="OPENROUTER_API_KEY"\n'
            '[llm.main_prose]\nmodel="m"\nbase_url="http://localhost:1/v1"',
            "",
        ),
    ],
)
def test_a_key_is_not_handed_on_to_another_address(tmp_path: Path, own: str, profile: str) -> None:
    """A section that names a new address and no key sends none."""
    found = slot(tmp_path, own, profile)

    assert (found.api_key_env, found.key_variable) == (None, None)


def test_a_key_stays_with_its_address_under_another_model(tmp_path: Path) -> None:
    """Naming another model of the same server needs no new key."""
    found = slot(
        tmp_path,
        '[llm.default]\nmodel="m"\nbase_url="https://a.example/v1/"\napi_key_env="A_KEY"\n'
        '[llm.main_prose]\nmodel="n"\nbase_url="https://a.example/v1"',
    )

    assert (found.model, found.api_key_env) == ("n", "A_KEY")


def test_the_address_is_openrouter_until_told_otherwise() -> None:
    """And its key the one named for OpenRouter; the embedded model has neither."""
    remote, local = LLMSlotConfig("a/b"), LLMSlotConfig("m", base_url="http://localhost:1/v1")

    assert (remote.address, remote.key_variable) == (OPENROUTER_BASE_URL, "OPENROUTER_API_KEY")
    assert (local.address, local.key_variable) == ("http://localhost:1/v1", None)
    assert (LLMSlotConfig("embedded").address, LLMSlotConfig("embedded").key_variable) == (None, None)


def test_a_slot_put_back_on_the_embedded_model_leaves_the_address_behind(tmp_path: Path) -> None:
    """The address was that of another model."""
    found = slot(
        tmp_path, '[llm.default]\nmodel="m"\nbase_url="http://localhost:1/v1"\n[llm.main_prose]\nmodel="embedded"'
    )

    assert (found.model, found.base_url) == ("embedded", None)


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ('[llm.main_pros]\nmodel = "x"', ["unknown LLM slot 'main_pros'", "[llm]", "did you mean 'main_prose'?"]),
        ("[llm]\nmodel = 3", ["unknown LLM slot 'model'"]),
        ("llm = 3", ["llm must be a table"]),
        ("llm.main_prose = 3", ["llm.main_prose must be a table"]),
        ('[llm.main_prose]\nmodel = ""', ["[llm.main_prose] model must be a non-empty string"]),
        ("[llm.main_prose]\nmodel = 3", ["must be a non-empty string"]),
        ("[llm.default]\nmodel = []", ["[llm.default] model must be a non-empty string"]),
        ("[llm.main_prose]\ntemperature = 2.1", ["temperature must be in", "2.1"]),
        ("[llm.main_prose]\ntemperature = -0.1", ["temperature must be in"]),
        ("[llm.main_prose]\ntemperature = true", ["temperature must be in"]),
        ("[llm.main_prose]\ntemperature = nan", ["temperature must be in"]),
        ('[llm.main_prose]\ntemperature = "hot"', ["temperature must be in"]),
        ('[llm.main_prose]\nfallbacks = "x"', ["fallbacks must be a list"]),
        ('[llm.main_prose]\nfallbacks = [""]', ["fallbacks must be a list"]),
        ("[llm.main_prose]\nmax_output_tokens = 0", ["max_output_tokens"]),
        ("[llm.main_prose]\ntimeout_s = 0", ["timeout_s"]),
        ('[llm.default]\nbase_url = "localhost:11434"', ["[llm.default] base_url must be an address", "http://"]),
        ('[llm.default]\nbase_url = "ftp://x/v1"', ["base_url"]),
        ('[llm.default]\nbase_url = "http://[::1/v1"', ["base_url"]),
        ('[llm.default]\nbase_url = "http://x:99999/v1"', ["base_url"]),
        ('[llm.default]\nbase_url = "http://a b/v1"', ["base_url"]),
        ('[llm.default]\nbase_url = "http://x/v1"', ["base_url is set but the model is 'embedded'", "add model"]),
        ('[llm.default]\napi_keys = "x"', ["unknown key 'api_keys' in [llm.default]; did you mean 'api_key_env'?"]),
    ],
)
def test_a_bad_model_setting_is_named(tmp_path: Path, text: str, fragments: list[str]) -> None:
    """File, section, key, and what was expected."""
    with pytest.raises(ConfigError) as caught:
        slot(tmp_path, text)

    sentence = str(caught.value)
    assert sentence.startswith(str(tmp_path / "character.toml"))
    assert [fragment for fragment in fragments if fragment not in sentence] == []


@pytest.mark.parametrize(
    "line",
    [
        f'api_key_env = "{PASTED_KEY}"',
        f'api_key_env = "{PASTED_KEY.replace("-", "_")}"',
        f'api_key_env = ["{PASTED_KEY}"]',
        f'api_key = "{PASTED_KEY}"',
        f'base_url = "https://user:{PASTED_KEY}@x.example/v1"',
        f'base_url = "https://x.example/v1?key={PASTED_KEY}"',
    ],
)
def test_a_pasted_key_is_refused_and_never_repeated(
    tmp_path: Path, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in the sentence, not in what caused it, not in a log."""
    with pytest.raises(ConfigError) as caught:
        slot(tmp_path, f'[llm.default]\nmodel = "m"\n{line}\n')

    assert "0123456789abcdef" not in str(caught.value) + caplog.text
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    if line.startswith("api_key_env"):
        assert "secrets.env" in str(caught.value)


def test_connecting_writes_one_section_and_keeps_the_rest(tmp_path: Path) -> None:
    """The owner's comments, keys and order stay as they were."""
    path = tmp_path / "character.toml"
    path.write_text('# mine\ninterjection = "quiet"  # shh\n\n[llm.mood_eval]\nmodel = "c"\n\n[tts]\n# none\n', "utf-8")

    write_default_model(path, model="m", base_url="http://localhost:1/v1", api_key_env="MY_KEY")
    write_default_model(path, model="n", base_url="http://localhost:2/v1")

    text = path.read_text(encoding="utf-8")
    assert [kept for kept in ('# mine\ninterjection = "quiet"  # shh\n', "# none\n") if kept in text] == [
        '# mine\ninterjection = "quiet"  # shh\n',
        "# none\n",
    ]
    assert (tomllib.loads(text)["llm"]) == {
        "default": {"model": "n", "base_url": "http://localhost:2/v1"},
        "mood_eval": {"model": "c"},
    }


def test_connecting_works_without_a_file_and_around_scattered_sections(tmp_path: Path) -> None:
    """Wherever the sections stand, the result is what was asked for."""
    fresh, scattered = tmp_path / "new" / "character.toml", tmp_path / "character.toml"
    scattered.write_text('[llm.default]\nmodel = "a"\n[tts]\n[llm.mood_eval]\nmodel = "c"\n', encoding="utf-8")

    for path in (fresh, scattered):
        write_default_model(path, model="m")

    assert [load_character_config(path).llm["main_prose"].model for path in (fresh, scattered)] == ["m", "m"]
    assert load_character_config(scattered).llm["mood_eval"].model == "c"


def test_connecting_refuses_what_could_not_be_loaded_again(tmp_path: Path) -> None:
    """A bad address leaves the file as it was."""
    path = tmp_path / "character.toml"
    path.write_text("# mine\n", encoding="utf-8")

    with pytest.raises(ConfigError, match="base_url"):
        write_default_model(path, model="m", base_url="nonsense")

    assert path.read_text(encoding="utf-8") == "# mine\n"
