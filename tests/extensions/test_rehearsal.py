"""`familiar rehearse` plays with the extensions that the owner allowed, on its own time."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fakes.extension_packages import install_example, install_extension, run_beside
from tests.fakes.program import make_home

STUCK = """
import time
from familiar_connect.api import Extension, ProviderPart
class Stuck:
    id, deadline_s = "stuck", 1.0
    async def contribute(self, request):
        time.sleep(600)
extension = Extension(name="stuck", providers=(ProviderPart(create=lambda context: Stuck()),))
"""


def rehearsal(expect: dict[str, object], *steps: dict[str, object]) -> str:
    said = {"at": "2026-06-01T08:00:00+00:00", "in": "tea", "by": "ada", "say": "Ember, hello!", "mention": True}
    return json.dumps(
        {
            "familiar": {"name": "Ember", "settings": '[birthdays]\ndays = ["Ada 06-01"]\n'},
            "people": {"ada": {"name": "Ada", "id": "101"}},
            "places": {"tea": {"kind": "text", "server": "Tea House", "name": "lounge"}},
            "models": {"main_prose": {"otherwise": "Mm."}},
            "steps": [said, {"expect": {"reply_in": "tea", **expect}}, *steps],
        }
    )


def test_an_extension_plays_along_once_it_is_allowed(tmp_path: Path) -> None:
    """Its line is in the prompt of the day that is played; one that is stuck costs its own block."""
    site, home, file = tmp_path / "site", tmp_path / "home", tmp_path / "day.json"
    make_home(home)
    install_example(site, "birthdays")
    install_extension(site, "stuck", STUCK)
    line = "Today is the birthday of Ada."

    file.write_text(rehearsal({"prompt_lacks": [line]}), encoding="utf-8")
    before = run_beside(site, home, "rehearse", str(file), "--scripted")
    file.write_text(rehearsal({"prompt_has": [line]}), encoding="utf-8")
    run_beside(site, home, "extension", "allow", "birthdays")
    run_beside(site, home, "extension", "allow", "stuck")
    after = run_beside(site, home, "rehearse", str(file), "--scripted")

    assert before.returncode == 0, before.stdout + before.stderr
    assert after.returncode == 0, after.stdout + after.stderr
