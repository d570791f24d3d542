"""World-info entries as SillyTavern keeps them: every field and what it is where a file leaves it out."""

from __future__ import annotations

import copy

MATCH_FIELDS = (
    "matchPersonaDescription",
    "matchCharacterDescription",
    "matchCharacterPersonality",
    "matchCharacterDepthPrompt",
    "matchScenario",
    "matchCreatorNotes",
)
DEFAULTS: dict[str, object] = {
    "key": [],
    "keysecondary": [],
    "comment": "",
    "content": "",
    "constant": False,
    "vectorized": False,
    "selective": True,
    "selectiveLogic": 0,
    "addMemo": False,
    "order": 100,
    "position": 0,
    "disable": False,
    "ignoreBudget": False,
    "excludeRecursion": False,
    "preventRecursion": False,
    **dict.fromkeys(MATCH_FIELDS, False),
    "delayUntilRecursion": 0,
    "probability": 100,
    "useProbability": True,
    "depth": 4,
    "outletName": "",
    "group": "",
    "groupOverride": False,
    "groupWeight": 100,
    "scanDepth": None,
    "caseSensitive": None,
    "matchWholeWords": None,
    "useGroupScoring": None,
    "automationId": "",
    "role": 0,
    "sticky": None,
    "cooldown": None,
    "delay": None,
    "triggers": [],
    "characterFilter": {"isExclude": False, "names": [], "tags": []},
}


def with_entry_defaults(entry: dict[str, object]) -> dict[str, object]:
    """*entry* with the fields it leaves out, as SillyTavern fills them in on loading."""
    whole = dict(entry)
    if whole.get("displayIndex") is None and "uid" in entry:
        whole["displayIndex"] = entry["uid"]
    if "depth" in entry and "role" not in entry:
        whole["role"] = None  # a depth from before roles: none was chosen
    for name, default in DEFAULTS.items():
        if name not in whole:
            whole[name] = copy.deepcopy(default)
    return whole
