"""What a set of regex scripts comes to here, in numbers: for whoever brings them in."""

from __future__ import annotations

from collections.abc import Sequence

from familiar_connect.presets.regex_scripts import (
    PLACEMENT_NAMES,
    USED_PLACEMENTS,
    parts_without_effect,
    script_problem,
)
from familiar_connect.presets.types import RegexScript
from familiar_connect.support.text import one_line, truncate_chars

SHOWN_CHARS = 160
"""Of a pattern or a replacement, in a question about it."""


def summarize_scripts(
    scripts: Sequence[RegexScript], total: int | None = None, *, familiar_id: str = "", active: str = "on"
) -> str:
    """How many there are, run, are off, cannot be run and have no effect here; *total*: those of the file.

    *active* is the word for those that run, where nobody knows yet whether the owner allows them.
    """
    total = len(scripts) if total is None else total
    live = [script for script in scripts if not script.is_off or script.is_waiting]
    off = len(scripts) - len(live)
    refused = [script for script in live if script_problem(script) is not None]
    idle = [script for script in live if script not in refused and is_without_effect(script)]
    waiting = sum(script.is_waiting and script not in refused and script not in idle for script in live)
    on = len(live) - waiting - len(refused) - len(idle)
    facts = [f"{on} {active}"] if on else []
    if waiting:
        facts.append(f"{waiting} off until you allow {'it' if waiting == 1 else 'them'}")
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
    if script.is_off and not script.is_waiting:
        return "off"
    if script_problem(script) is not None:
        return "cannot run"
    return "no effect" if is_without_effect(script) else "not allowed" if script.is_waiting else "on"


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


def explain_script(script: RegexScript) -> str:
    """In plain words what *script* would do: its name, where it acts, what it finds and what it puts there."""
    what = ", ".join(PLACEMENT_NAMES[at] for at in script.placements if at in USED_PLACEMENTS) or "nothing"
    if script.is_display_only and script.is_prompt_only:
        where = "as it is posted and as the model reads it"
    elif script.is_display_only:
        where = "as it is posted"
    else:
        where = "as the model reads it" if script.is_prompt_only else "in prompts, in the chat and in exports"
    puts = f"puts {_quote(script.replacement)} there" if script.replacement else "takes it out"
    return f"{script.name}: changes {what} ({where}); finds {_quote(script.find)} and {puts}"


def _quote(text: str) -> str:
    return f"`{truncate_chars(one_line(text), SHOWN_CHARS)}`"


def _names(scripts: Sequence[RegexScript]) -> str:
    shown = ", ".join(script.name for script in scripts[:5])
    return f"{shown} and {len(scripts) - 5} more" if len(scripts) > 5 else shown
