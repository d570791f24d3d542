"""What a set of regex scripts comes to here, in numbers: for whoever brings them in."""

from __future__ import annotations

from collections.abc import Sequence

from familiar_connect.presets.regex_scripts import PLACEMENT_NAMES, parts_without_effect, script_problem
from familiar_connect.presets.types import RegexScript


def summarize_scripts(scripts: Sequence[RegexScript], total: int | None = None, *, familiar_id: str = "") -> str:
    """How many there are, run, are off, cannot be run and have no effect here; *total*: those of the file."""
    total = len(scripts) if total is None else total
    off = sum(script.is_off for script in scripts)
    refused = [script for script in scripts if not script.is_off and script_problem(script) is not None]
    idle = [script for script in scripts if not script.is_off and script not in refused and is_without_effect(script)]
    facts = [f"{on} on"] if (on := len(scripts) - off - len(refused) - len(idle)) else []
    if off:
        facts.append(f"{off} off")
    if refused:
        facts.append(f"{len(refused)} not possible here ({_names(refused)})")
    if idle:
        facts.append(f"{len(idle)} without effect here ({_names(idle)})")
    if total > len(scripts):
        facts.append(f"{total - len(scripts)} unreadable")
    what = "1 regex script" if total == 1 else f"{total} regex scripts"
    owner, option = (f" for {familiar_id}", f" --familiar {familiar_id}") if familiar_id else ("", "")
    return f"{what}{owner}: {', '.join(facts) or 'none'}. `familiar regex list{option}` shows them."


def script_state(script: RegexScript) -> str:
    """What becomes of *script* in one or two words: whether it is on, and whether that means anything."""
    if script.is_off:
        return "off"
    return "cannot run" if script_problem(script) is not None else "no effect" if is_without_effect(script) else "on"


def is_without_effect(script: RegexScript) -> bool:
    """Whether nothing that *script* is for happens here."""
    used = {PLACEMENT_NAMES[at] for at in script.placements} - set(parts_without_effect(script))
    if script.is_display_only and not script.is_prompt_only:
        used.discard(PLACEMENT_NAMES[1])
    if not script.is_prompt_only:  # World Info is only ever rewritten for the prompt
        used.discard(PLACEMENT_NAMES[5])
    return not used


def describe_script(script: RegexScript) -> str:
    """What *script* is for, what it changes, and what of it does not work here."""
    what = ", ".join(PLACEMENT_NAMES[at] for at in script.placements) or "nothing"
    if script.is_display_only and script.is_prompt_only:
        changes = "shown and sent, not kept"
    else:
        changes = "shown only" if script.is_display_only else "sent only" if script.is_prompt_only else "kept"
    depth = ""
    if script.min_depth is not None or script.max_depth is not None:
        most = "" if script.max_depth is None else script.max_depth
        depth = f", depth {max(0, script.min_depth or 0)}-{most}"
    problem = script_problem(script)
    if problem is not None:
        return f"{what}, {changes}{depth}; cannot run: {problem}"
    if is_without_effect(script):
        return f"{what}, {changes}{depth}; without effect here"
    return f"{what}, {changes}{depth}"


def _names(scripts: Sequence[RegexScript]) -> str:
    shown = ", ".join(script.name for script in scripts[:5])
    return f"{shown} and {len(scripts) - 5} more" if len(scripts) > 5 else shown
