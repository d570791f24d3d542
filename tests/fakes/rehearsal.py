"""rehearse: a rehearsal written down in a test, played in a folder of the test's, with scripted models alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from familiar_connect.commands.rehearsal_home import make_rehearsal_home
from familiar_connect.rehearsal.play import PlaySettings, RehearsalOutcome, play_rehearsal
from familiar_connect.rehearsal.player import StepResult
from familiar_connect.rehearsal.script_file import parse_rehearsal

QUICK = '[providers.content_search]\nembedder = "hashing"\n'
"""Settings under which nothing has to be loaded."""
TEA_HOUSE: dict[str, Any] = {
    "people": {"ada": {"name": "Ada", "id": "101"}, "bo": {"name": "Bo", "id": "102"}},
    "places": {
        "tea": {"kind": "text", "server": "Tea House", "name": "lounge"},
        "staff": {"kind": "text", "server": "Tea House", "name": "staff", "hidden": True, "members": ["ada"]},
        "dm-ada": {"kind": "dm", "members": ["ada"]},
    },
    "models": {"main_prose": {"otherwise": "Mm."}},
}


@dataclass
class Played:
    """A rehearsal that is over."""

    root: Path
    steps: list[StepResult]
    outcome: RehearsalOutcome

    @property
    def failed(self) -> list[str]:
        return [sentence for result in self.steps for sentence in result.failed]

    def prompt(self, step: int) -> str:
        """Everything the models were asked during one step, counted from 1."""
        return "\n".join(message.content for call in self.steps[step - 1].calls for message in call.messages)


def rehearse(folder: Path, *steps: dict[str, Any], settings: str = "", seed: int = 0, **changes: Any) -> Played:
    """Play *steps* in the tea house; *changes* go over what there is."""
    data = {**TEA_HOUSE, **changes, "steps": list(steps)}
    familiar = {**data.get("familiar", {}), "settings": settings + QUICK}
    rehearsal = parse_rehearsal({**data, "familiar": familiar}, "test", folder=folder)
    root = make_rehearsal_home(rehearsal, folder / "stage", home=folder / "home")
    seen: list[StepResult] = []
    where = PlaySettings(root=root, home=folder / "home", is_scripted=True, seed=seed)
    return Played(root, seen, play_rehearsal(rehearsal, where, seen.append))
