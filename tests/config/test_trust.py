"""What the owner allowed: origins, and for each key the one origin it was given for."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.config.llm import OPENROUTER_BASE_URL, PLATFORM_TOKENS, LLMSlotConfig
from familiar_connect.config.load import load_character_config
from familiar_connect.config.secrets import list_variables
from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.errors import ConfigError
from familiar_connect.support.web_origin import is_same_origin, may_carry_key, origin_of

REMOTE = "https://api.example.com/v1"
LOCAL = "http://127.0.0.1:8000/v1"


def slot(url: str | None = None, key: str | None = None) -> dict[str, LLMSlotConfig]:
    return {"main_prose": LLMSlotConfig("m", base_url=url, api_key_env=key)}


def test_a_server_on_this_machine_that_needs_no_key_may_simply_be_named(tmp_path: Path) -> None:
    """And so may OpenRouter, whose key is bound to it by default."""
    TrustedOrigins(tmp_path).check(slot(LOCAL) | {"mood_eval": LLMSlotConfig("a/b")})


@pytest.mark.parametrize("url", [REMOTE, "http://models.lan:8000/v1", "https://openrouter.ai.example.com/api/v1"])
def test_any_other_origin_is_asked_about_once(tmp_path: Path, url: str) -> None:
    """The sentence names the settings file, the slot and the command; after a yes nothing is asked."""
    trust = TrustedOrigins(tmp_path)

    with pytest.raises(ConfigError, match=r"character.toml: \[llm.main_prose\] .*familiar trust add " + origin_of(url)):
        trust.check(slot(url), file=Path("character.toml"))
    trust.add(url)

    trust.check(slot(url))
    assert trust.is_trusted(url)


def test_a_key_goes_to_the_one_origin_it_was_given_for(tmp_path: Path) -> None:
    """Another port, scheme or host is another origin, and no question can move a key there."""
    trust = TrustedOrigins(tmp_path)
    trust.add(REMOTE, "MY_KEY")

    assert trust.may_send("MY_KEY", "https://API.example.com:443/other")
    for other in ("https://api.example.com:8443", "https://example.com", LOCAL):
        assert not trust.may_send("MY_KEY", other)
        with pytest.raises(ConfigError, match=r"given for https://api.example.com and goes nowhere else"):
            trust.check(slot(other, "MY_KEY"))
        with pytest.raises(ConfigError, match="goes nowhere else"):
            trust.add(other, "MY_KEY")


def test_openrouters_key_is_bound_to_openrouter_in_every_home(tmp_path: Path) -> None:
    """A folder that names it for another address is refused."""
    trust = TrustedOrigins(tmp_path)

    assert trust.may_send("OPENROUTER_API_KEY", OPENROUTER_BASE_URL)
    with pytest.raises(ConfigError, match=r"given for https://openrouter.ai"):
        trust.check(slot(LOCAL, "OPENROUTER_API_KEY"))


def test_a_key_nobody_gave_for_an_address_is_asked_about_even_on_this_machine(tmp_path: Path) -> None:
    """Whatever variable of the environment the settings name."""
    with pytest.raises(ConfigError, match=r"familiar trust add http://127.0.0.1:8000 --key AWS_SECRET_ACCESS_KEY"):
        TrustedOrigins(tmp_path).check(slot(LOCAL, "AWS_SECRET_ACCESS_KEY"))


def test_no_key_goes_over_plain_http_to_another_machine(tmp_path: Path) -> None:
    """Not even when the owner says so."""
    trust = TrustedOrigins(tmp_path)
    trust.add("http://models.lan:8000")

    with pytest.raises(ConfigError, match="plain http"):
        trust.check(slot("http://models.lan:8000/v1", "MY_KEY"))
    with pytest.raises(ConfigError, match="plain http"):
        trust.add("http://models.lan:8000", "MY_KEY")


@pytest.mark.parametrize("token", sorted({*PLATFORM_TOKENS, "DISCORD_BOT_WREN"}))
def test_a_platforms_token_is_never_lent(tmp_path: Path, token: str) -> None:
    """Not in settings, not by `trust`; every token the program knows is on the list."""
    settings = tmp_path / "character.toml"
    settings.write_text(f'[llm.default]\nmodel = "m"\nbase_url = "{LOCAL}"\napi_key_env = "{token}"\n')

    with pytest.raises(ConfigError, match="never lent"):
        load_character_config(settings)
    with pytest.raises(ConfigError, match="never lent"):
        TrustedOrigins(tmp_path).add(REMOTE, token)
    of_platforms = {name for name in list_variables() if name.startswith(("DISCORD_", "TELEGRAM_", "TWITCH_"))}
    assert of_platforms == set(PLATFORM_TOKENS)


def test_a_word_taken_back_takes_its_keys_along(tmp_path: Path) -> None:
    """The built-in origin stays; the file is the owner's alone."""
    trust = TrustedOrigins(tmp_path)
    trust.add(REMOTE, "MY_KEY")

    assert stat.S_IMODE(trust.file.stat().st_mode) == 0o600
    assert trust.remove("https://api.example.com")
    assert not trust.remove("https://api.example.com")
    assert (trust.is_trusted(REMOTE), trust.origin_for("MY_KEY")) == (False, None)
    assert [each.origin for each in trust.origins()] == ["https://openrouter.ai"]


@pytest.mark.parametrize("row", ["origin = 3", 'origin = "x"', 'origin = "https://a.example"\nkeys = "MY_KEY"', ""])
def test_a_broken_trust_file_is_one_sentence_and_trusts_nobody(tmp_path: Path, row: str) -> None:
    """It never falls back to allowing."""
    (tmp_path / "trust.toml").write_text(f"[[origin]]\n{row}\n")

    with pytest.raises(ConfigError, match="origin"):
        TrustedOrigins(tmp_path).check(slot(REMOTE))


@given(st.text(max_size=60), st.text(max_size=60))
def test_an_origin_of_any_text_is_one_line_or_a_value_error(one: str, other: str) -> None:
    """Nothing else comes out, and a text without an origin is never the same as another."""
    for text in (one, f"https://{one}", f"http://{one}/v1"):
        try:
            origin = origin_of(text)
        except ValueError:
            assert not is_same_origin(text, other)
        else:
            assert origin == origin_of(origin)
            assert "\n" not in origin
            assert "@" not in origin


@given(st.from_regex(r"[a-z][a-z0-9]{0,10}\.[a-z]{2,5}", fullmatch=True), st.integers(1, 65535))
def test_no_host_elsewhere_gets_a_key_over_plain_http(host: str, port: int) -> None:
    """Only TLS carries one off this machine."""
    assert not may_carry_key(f"http://{host}:{port}/v1")
    assert may_carry_key(f"https://{host}:{port}/v1")
