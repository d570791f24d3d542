"""Why entries of World Info stay silent: `explain_misses(inputs, world)`, after a scan of the same inputs."""

from __future__ import annotations

from familiar_connect.presets.world_info.scan import ScanInputs, is_for
from familiar_connect.presets.world_info.scan_text import ScanLimitReached, ScanText, SearchEffort
from familiar_connect.presets.world_info.types import TimedEffects, WorldEntry, WorldInfo

NO_KEY = "none of its keys is in"
STOPPED = "the search stopped before it was asked for"


def explain_misses(inputs: ScanInputs, world: WorldInfo) -> list[tuple[WorldEntry, str]]:
    """Each entry that *world* does not show, with the first thing that stands against it."""
    found = {each.entry.key for each in world.activated}
    dropped = {each.key for each in world.dropped}
    text = ScanText(
        inputs.messages,
        inputs.settings,
        read=inputs.read,
        effort=SearchEffort(),
        card=inputs.card,
        injected=inputs.injected,
    )
    told = []
    for entry in inputs.pool:
        if entry.key in dropped:
            told.append((entry, "it was found, but there was no room in the budget of World Info"))
        elif entry.key not in found:
            told.append((entry, _barred(inputs, entry) or _search(inputs, entry, text)))
    return told


def _barred(inputs: ScanInputs, entry: WorldEntry) -> str:
    """What keeps the entry silent whatever is said; empty where nothing does."""
    length = len(inputs.messages) if inputs.chat_length is None else inputs.chat_length
    if entry.is_disabled:
        return "it is off"
    if entry.triggers and inputs.kind not in entry.triggers:
        return f"it is only for replies of the kind {', '.join(entry.triggers)}"
    if not is_for(entry, inputs.character, inputs.tags):
        return "it is for other characters"
    if length < entry.delay:
        return f"it waits until the chat has {entry.delay} messages; it has {length}"
    if _is_resting(inputs.timed, entry, length):
        return "it is resting after it was used a while ago"
    if "@@dont_activate" in entry.decorators:
        return "its text begins with @@dont_activate"
    if entry.use_probability and entry.probability <= 0:
        return "its probability is 0"
    return "" if entry.keys or entry.is_constant else "it has no key"


def _is_resting(timed: TimedEffects, entry: WorldEntry, length: int) -> bool:
    effect = timed.cooldown.get(entry.key)
    return effect is not None and effect.fingerprint == entry.fingerprint and length < effect.end


def _search(inputs: ScanInputs, entry: WorldEntry, text: ScanText) -> str:
    """What looking for the keys comes to."""
    try:
        hit = text.find_first(entry, entry.keys, recursed=False)
        agrees = hit is not None and text.match(entry, recursed=False) is not None
    except ScanLimitReached:
        return STOPPED
    depth = text.depth if entry.scan_depth is None else entry.scan_depth
    if hit is None:
        return f"{NO_KEY} {'the newest message' if depth == 1 else f'the newest {depth} messages'}"
    where = f"key {hit.key!r} is in {hit.label}"
    if not agrees:
        return f"{where}, but its secondary keys say no"
    if entry.recursion_level:
        return f"{where}, but it waits for other entries to be used first"
    if entry.group:
        return f"{where}, but another entry of the group {entry.group!r} was chosen"
    return f"{where}, but {'chance was against it' if entry.use_probability else STOPPED}"
