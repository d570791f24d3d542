"""What the speech services lack that a familiar's settings name: keys, settings, the owner's word."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.commands.common import profile_of
from familiar_connect.commands.doctor_checks import DoctorFinding
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.voice import LOCAL_PROVIDER, STTConfig, TTSConfig
from familiar_connect.errors import FamiliarError

if TYPE_CHECKING:
    from familiar_connect.voice.service_access import ServiceAccess


def check_speech_services(root: Path, home: Path) -> Iterator[DoctorFinding]:
    """A line for hearing and one for speaking, where a service does it; nothing is sent anywhere."""
    from familiar_connect.config import load_character_config

    file = FamiliarFolder(root).settings_file
    config = load_character_config(file, defaults_path=profile_of(home))
    from familiar_connect.extensions.speech import open_speech_access

    access = open_speech_access(root, home, config)
    tts = access.choose_voice(config.tts)
    if config.stt.provider != LOCAL_PROVIDER:
        yield _check("hearing", config.stt, lambda: _try_hearing(config.stt, access))
    if tts.provider != LOCAL_PROVIDER:
        yield _check("speaking", tts, lambda: _try_speaking(tts, access))


def _check(area: str, config: TTSConfig | STTConfig, build: Callable[[], None]) -> DoctorFinding:
    try:
        build()
    except (FamiliarError, ValueError) as error:
        return DoctorFinding(area, "bad", str(error))
    from familiar_connect.voice.service_access import key_name_of, name_service

    who = config.base_url if config.base_url is not None and not config.is_extension else name_service(config)
    variable = key_name_of(config)
    key = f", with the key {variable}" if variable else ", without a key"
    what = "what people say" if area == "hearing" else "what it says"
    return DoctorFinding(area, "ok", f"by voice {what} is sent to {who}{key}")


def _try_hearing(config: STTConfig, access: ServiceAccess) -> None:
    from familiar_connect.voice.backends import create_ears_factory, create_recognizer
    from familiar_connect.voice.vad import EnergyProbability

    create_ears_factory(config, create_recognizer(config, access=access), EnergyProbability, access=access)


def _try_speaking(config: TTSConfig, access: ServiceAccess) -> None:
    from familiar_connect.voice.tts.factory import create_tts_client

    create_tts_client(config, access=access)
