"""play_rehearsal: a rehearsal from its first step to its last, on simulated time, in a folder made for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.llm import MAIN_SLOT, SLOT_TEMPERATURES
from familiar_connect.config.load import load_character_config
from familiar_connect.config.secrets import Secrets
from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.config.types import DecideWith
from familiar_connect.errors import FamiliarError
from familiar_connect.llm.call_clock import CallLimits
from familiar_connect.llm.embedded.server import EmbeddedServers
from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.profiles import capabilities_for
from familiar_connect.llm.slots import create_llm_clients
from familiar_connect.llm.types import Capabilities
from familiar_connect.rehearsal.models import CallLog, ForbiddenModel, LiveModel, RealTime, RehearsedModel
from familiar_connect.rehearsal.player import Player, StepResult
from familiar_connect.rehearsal.report import file_hashes
from familiar_connect.rehearsal.types import Expect, Rehearsal
from familiar_connect.rehearsal.world import RehearsalWorld
from familiar_connect.support.aio import off_loop
from familiar_connect.support.simulated_time import SimulatedClock, SimulatedLoop, run_simulated


@dataclass
class RehearsalOutcome:
    """How a rehearsal went."""

    passed: int = 0
    """Expectations that held."""
    failed: int = 0
    """Steps of any kind in which something was not as it should be."""
    files: dict[str, str] = field(default_factory=dict)

    def count(self, result: StepResult) -> None:
        if result.failed:
            self.failed += 1
        elif isinstance(result.step.action, Expect):
            self.passed += 1


@dataclass(frozen=True, kw_only=True)
class PlaySettings:
    """Where and how a rehearsal is played."""

    root: Path
    """The folder of the familiar, made for this rehearsal."""
    home: Path
    """Where the keys of real models lie."""
    profile: Path | None = None
    is_scripted: bool = False
    """Only scripted models may be asked."""
    seed: int = 0


def play_rehearsal(
    rehearsal: Rehearsal, settings: PlaySettings, on_step: Callable[[StepResult], None]
) -> RehearsalOutcome:
    """Play *rehearsal*, telling *on_step* of each step when it is over. Not to be called on an event loop."""
    return run_simulated(lambda loop: _play(rehearsal, settings, on_step, loop))


async def _play(
    rehearsal: Rehearsal, settings: PlaySettings, on_step: Callable[[StepResult], None], loop: SimulatedLoop
) -> RehearsalOutcome:
    outcome, log, real = RehearsalOutcome(), CallLog(), RealTime(loop)
    world = RehearsalWorld(rehearsal, log, SimulatedClock(rehearsal.begins_at, loop))
    folder = FamiliarFolder(settings.root)
    config = await off_loop(load_character_config, folder.settings_file, defaults_path=settings.profile)
    models = build_models(rehearsal, config, settings, log, real)

    def count_and_tell(result: StepResult) -> None:
        outcome.count(result)
        on_step(result)

    player = Player(
        world,
        settings.root,
        loop=loop,
        models=models,
        profile=settings.profile,
        seed=settings.seed,
        owner_home=settings.home,
    )
    try:
        await player.play(count_and_tell)
    finally:
        for model in models.values():
            if isinstance(model, LiveModel):
                with suppress(FamiliarError, OSError):
                    await model.close_inner()
        real.close()
    outcome.files = await off_loop(file_hashes, settings.root)
    return outcome


def build_models(
    rehearsal: Rehearsal, config: CharacterConfig, settings: PlaySettings, log: CallLog, real: RealTime
) -> dict[str, LLMClient]:
    """A model for every slot: the scripted ones, and for the others the familiar's own, or one nobody may ask."""
    own: dict[str, LLMClient] = {}
    if not settings.is_scripted and set(SLOT_TEMPERATURES) - set(rehearsal.models):
        secrets = Secrets(settings.home)
        cache = HomeFolder(settings.home).model_cache
        embedded = EmbeddedServers(home=settings.home, cache_dir=cache, cache_key=settings.root.name)
        own = create_llm_clients(
            secrets.get("OPENROUTER_API_KEY"),
            config,
            secrets=secrets.get,
            trust=TrustedOrigins(settings.home),
            embedded=embedded,
        )
    models: dict[str, LLMClient] = {}
    for slot in SLOT_TEMPERATURES:
        script, slot_config = rehearsal.models.get(slot), config.llm[slot]
        if script is not None:
            can = replace(_script_capabilities(slot, config), first_token_s=slot_config.first_token_limit_s)
            rng = random.Random(f"{settings.seed}:{slot}")
            limits = CallLimits(
                first_token_s=slot_config.first_token_limit_s,
                timeout_s=slot_config.timeout_s,
                reply_timeout_s=slot_config.reply_timeout_s,
            )
            models[slot] = RehearsedModel(slot, script, log, capabilities=can, rng=rng, limits=limits)
        elif settings.is_scripted:
            can = capabilities_for(slot_config.model, slot_config.base_url, slot_config)
            models[slot] = ForbiddenModel(slot, log, capabilities=can)
        else:
            models[slot] = LiveModel(slot, own[slot], log, real)
    return models


def _script_capabilities(slot: str, config: CharacterConfig) -> Capabilities:
    """A script can use tools and do side tasks. Whether to speak at all it judges only where the settings ask it to."""
    judges = slot != MAIN_SLOT or config.decide_with is DecideWith.reply
    return Capabilities(tools=True, side_tasks=judges)
