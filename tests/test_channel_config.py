"""ChannelConfigStore: what each channel gets, read from and written to its sidecar."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.config import ChannelMode, CharacterConfig, ConfigError, channel_config_for_mode
from familiar_connect.config.types import PlaceSettings, TurnDeadlines


def store(root: Path, **character: object) -> ChannelConfigStore:
    return ChannelConfigStore(root=root, character=CharacterConfig(**character))  # type: ignore[arg-type]


def test_a_channel_nobody_set_up_gets_the_default_mode(tmp_path: Path) -> None:
    """With the familiar's own typing settings over it, and nothing written."""
    config = store(tmp_path, default_mode=ChannelMode.full_rp, typing_simulation_overrides={"enabled": True}).get(7)

    assert (ChannelMode.full_rp, True) == (config.mode, config.typing_simulation.enabled)
    assert list(tmp_path.iterdir()) == []


def test_a_sidecar_is_read_once_while_it_stays_as_it_is(tmp_path: Path) -> None:
    """Later looks read nothing, and one that is gone counts as it was read last."""
    (tmp_path / "7.toml").write_text('mode = "full_rp"\n', encoding="utf-8")
    channels = store(tmp_path)
    first = channels.get(7)
    (tmp_path / "7.toml").unlink()

    assert first is channels.get(7)


def test_a_sidecar_edited_meanwhile_is_read_anew(tmp_path: Path) -> None:
    """By hand or by another program; while it cannot be read that is said, and then it counts again."""
    channels = store(tmp_path)
    modes = [channels.get(7).mode]
    for mode in ("full_rp", "imitate_voice"):
        (tmp_path / "7.toml").write_text(f'mode = "{mode}"\n', encoding="utf-8")
        modes.append(channels.get(7).mode)
    (tmp_path / "7.toml").write_text("mode = 7\n", encoding="utf-8")
    with pytest.raises(ConfigError):
        channels.get(7)
    (tmp_path / "7.toml").write_text('mode = "full_rp"\nbackdrop = "A tower."\n', encoding="utf-8")

    assert modes == [ChannelMode.text_conversation_rp, ChannelMode.full_rp, ChannelMode.imitate_voice]
    assert channels.get(7).backdrop_override == "A tower."


def test_setting_the_mode_writes_the_sidecar_and_answers_with_the_new_settings(tmp_path: Path) -> None:
    """The folder is made if need be; another store sees it too."""
    channels = store(tmp_path / "channels")

    changed = channels.set_mode(7, ChannelMode.imitate_voice)

    assert channel_config_for_mode(ChannelMode.imitate_voice) == changed
    assert changed is channels.get(7)
    assert (tmp_path / "channels" / "7.toml").read_text(encoding="utf-8") == 'mode = "imitate_voice"\n'
    assert changed == store(tmp_path / "channels").get(7)


def test_a_backdrop_without_a_sidecar_takes_the_default_mode(tmp_path: Path) -> None:
    """And stands on disk in the promised order."""
    channels = store(tmp_path, default_mode=ChannelMode.full_rp)

    changed = channels.set_backdrop(7, "  a tavern\nby the sea ", "tavern")

    assert ("a tavern\nby the sea", "tavern", ChannelMode.full_rp) == (
        changed.backdrop_override,
        changed.channel_name,
        changed.mode,
    )
    assert channels.get_backdrop(7) == "a tavern\nby the sea"
    assert list(tomllib.loads((tmp_path / "7.toml").read_text("utf-8"))) == ["channel_name", "mode", "backdrop"]


@pytest.mark.parametrize("blank", ["", "  \n", None])
def test_a_blank_backdrop_clears_it(tmp_path: Path, blank: str | None) -> None:
    """The rest of the sidecar stays."""
    channels = store(tmp_path)
    channels.set_backdrop(7, "a tavern", "tavern")

    changed = channels.set_backdrop(7, blank)

    assert (changed.backdrop_override, changed.channel_name) == (None, "tavern")
    assert (tmp_path / "7.toml").read_text("utf-8") == 'channel_name = "tavern"\nmode = "text_conversation_rp"\n'


def test_a_change_keeps_every_other_key_and_comment_in_the_promised_order(tmp_path: Path) -> None:
    """channel_name, mode, backdrop, the rest, then tables."""
    (tmp_path / "7.toml").write_text(
        "# our tavern\n\n"
        'preset_fidelity = "sillytavern"  # as at home\n'
        "extra = 1\n"
        "# loud\n"
        'mode = "full_rp"\n\n'
        "[typing_simulation]\n"
        "enabled = true # slow\n",
        encoding="utf-8",
    )
    channels = store(tmp_path)

    channels.set_backdrop(7, "a tavern", "tavern")
    channels.set_mode(7, ChannelMode.imitate_voice)

    text = (tmp_path / "7.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text) == {
        "channel_name": "tavern",
        "mode": "imitate_voice",
        "backdrop": "a tavern",
        "preset_fidelity": "sillytavern",
        "extra": 1,
        "typing_simulation": {"enabled": True},
    }
    assert list(tomllib.loads(text)) == [
        "channel_name",
        "mode",
        "backdrop",
        "preset_fidelity",
        "extra",
        "typing_simulation",
    ]
    assert text.startswith("# our tavern\n\n")
    assert [comment for comment in ("# as at home", "# loud\nmode", "# slow") if comment in text] == [
        "# as at home",
        "# loud\nmode",
        "# slow",
    ]


def test_a_change_does_not_hide_a_key_nobody_knows(tmp_path: Path) -> None:
    """It is kept, and told after the change as it was before, and as it would be after a restart."""
    (tmp_path / "7.toml").write_text('mode = "full_rp"\nextra = 1\n', encoding="utf-8")
    channels = store(tmp_path)

    with pytest.raises(ConfigError, match="extra"):
        channels.get(7)
    channels.set_backdrop(7, "a tavern")
    for after in (channels, store(tmp_path)):
        with pytest.raises(ConfigError, match="extra"):
            after.get(7)


def test_a_sidecar_of_dotted_keys_and_scattered_tables_survives_a_change(tmp_path: Path) -> None:
    """Whatever its form, it says the same afterwards."""
    (tmp_path / "7.toml").write_text(
        'typing_simulation.enabled = true\nmode = "full_rp"\n[a.b]\nx = 1\n[c]\n[a.d]\ny = 2\n[[e]]\nz = 3\n', "utf-8"
    )

    store(tmp_path).set_backdrop(7, "a tavern")

    assert tomllib.loads((tmp_path / "7.toml").read_text("utf-8")) == {
        "mode": "full_rp",
        "backdrop": "a tavern",
        "typing_simulation": {"enabled": True},
        "a": {"b": {"x": 1}, "d": {"y": 2}},
        "c": {},
        "e": [{"z": 3}],
    }


def test_a_sidecar_that_cannot_be_understood_is_reported_and_left_alone(tmp_path: Path) -> None:
    """Neither a look nor a change overwrites what its owner wrote."""
    path = tmp_path / "7.toml"
    path.write_text('mode = "full_rp\n', encoding="utf-8")
    channels = store(tmp_path)

    with pytest.raises(ConfigError, match=r"7\.toml"):
        channels.get(7)
    with pytest.raises(ConfigError, match=r"7\.toml"):
        channels.set_mode(7, ChannelMode.full_rp)

    assert path.read_text(encoding="utf-8") == 'mode = "full_rp\n'


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=["Cs"])), name=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_backdrop_is_read_back_as_it_was_set(tmp_path: Path, text: str, name: str) -> None:
    """Emoji, quotes, control signs, right-to-left: all the same."""
    store(tmp_path).set_backdrop(7, text, name)

    assert (text.strip() or None) == store(tmp_path).get_backdrop(7)


def test_what_the_familiar_says_of_places_holds_until_a_channel_says_otherwise(tmp_path: Path) -> None:
    """In channels nobody set up, in those with a sidecar, and after a change."""
    (tmp_path / "7.toml").write_text('mode = "full_rp"\nemoji_usage_enabled = true\n', encoding="utf-8")
    channels = store(tmp_path, place=PlaceSettings(emoji_usage_enabled=False, time_awareness=True))

    for channel_id, emojis in ((7, True), (8, False)):
        for config in (channels.get(channel_id), channels.set_mode(channel_id, ChannelMode.imitate_voice)):
            assert (config.place.emoji_usage_enabled, config.place.time_awareness) == (emojis, True)


def test_a_channel_chooses_its_preset_or_none(tmp_path: Path) -> None:
    """Read back as the channel's own; what else it says stays."""
    channels = store(tmp_path)
    channels.set_backdrop(7, "a tavern")

    assert channels.set_preset(7, "Default").preset == "Default"
    assert store(tmp_path).get(7).preset == "Default"
    assert channels.set_preset(7, None).preset == ""
    assert store(tmp_path).get_backdrop(7) == "a tavern"


def test_a_channel_and_a_familiar_may_set_the_deadline(tmp_path: Path) -> None:
    """The nearer file goes first, then what is said of one modality, then the mode."""
    character = CharacterConfig(deadlines=TurnDeadlines(all_s=40.0, voice_s=6.0))
    (tmp_path / "2.toml").write_text('mode = "full_rp"\ndeadline_s = 50\n', encoding="utf-8")
    (tmp_path / "3.toml").write_text('mode = "full_rp"\n[voice]\ndeadline_s = 5\n', encoding="utf-8")
    channels = ChannelConfigStore(root=tmp_path, character=character)

    def deadlines(channel_id: int) -> tuple[float, float]:
        channel = channels.get(channel_id)
        return channel.deadline_for(is_voice=False), channel.deadline_for(is_voice=True)

    assert [deadlines(number) for number in (1, 2, 3)] == [(40.0, 6.0), (50.0, 50.0), (40.0, 5.0)]
    unset = ChannelConfigStore(root=tmp_path, character=CharacterConfig()).get(1)
    assert unset.deadline_for(is_voice=False) == unset.deadline_s == 24.0
