"""Generated cases: `make_case(seed, number)`, the same for the same two.

A case is what a person could have set up in SillyTavern: card, persona, books, preset, author's note and settings, a
chat so far, and a few turns. Nothing in it rests on the clock or on chance that cannot be held still.
"""

from __future__ import annotations

import random
from typing import Any

from benchmarks.sillytavern.oracle.generate_texts import PHRASES, WORDS, make_sentence, make_some_text, make_text

Json = dict[str, Any]
USER = "Alex"
NAMES = ("Mira", "Old Tom", "Ærin", "Test-Card 2", "Doc. Ash")
TAGS = ("sea", "ghost")
KINDS = ("normal", "normal", "normal", "normal", "continue", "swipe", "regenerate", "impersonate", "quiet")
MARKERS = (
    "worldInfoBefore",
    "personaDescription",
    "charDescription",
    "charPersonality",
    "scenario",
    "worldInfoAfter",
    "dialogueExamples",
    "chatHistory",
)
WRITTEN = ("main", "nsfw", "jailbreak", "enhanceDefinitions")
ORDER = (
    "main",
    "worldInfoBefore",
    "personaDescription",
    "charDescription",
    "charPersonality",
    "scenario",
    "enhanceDefinitions",
    "nsfw",
    "worldInfoAfter",
    "dialogueExamples",
    "chatHistory",
    "jailbreak",
)
ROLES = ("system", "user", "assistant")
GREETS = 0.85


def make_case(seed: str, number: int) -> Json:
    """Case *number* of *seed*."""
    rng = random.Random(f"{seed}:{number}")
    card = make_card(rng)
    return {
        "number": number,
        "user": USER,
        "persona": {
            "text": make_some_text(rng, filled=0.7),
            "position": rng.choice((0, 0, 0, 2, 3, 4, 9)),
            "depth": rng.choice((0, 1, 2, 4)),
            "role": rng.choice((0, 0, 1, 2)),
        },
        "card": card,
        "metadata": make_metadata(rng),
        "scan_note": rng.random() < 0.3,
        "books": make_books(rng),
        "world_info": make_world_settings(rng),
        "preset": make_preset(rng),
        "power_user": {
            "pin_examples": rng.random() < 0.2,
            "prefer_character_prompt": rng.random() < 0.8,
            "prefer_character_jailbreak": rng.random() < 0.8,
        },
        "chat": make_chat(rng, card),
        "steps": make_steps(rng),
    }


def make_card(rng: random.Random) -> Json:
    return {
        "name": rng.choice(NAMES),
        "description": make_some_text(rng, filled=0.9),
        "personality": make_some_text(rng),
        "scenario": make_some_text(rng),
        "first_mes": make_some_text(rng, filled=0.9),
        "mes_example": make_examples(rng),
        "system_prompt": make_some_text(rng, filled=0.4),
        "post_history_instructions": make_some_text(rng, filled=0.4),
        "creator_notes": make_some_text(rng, filled=0.5, macros=0.1),
        "character_version": rng.choice(("", "1.2")),
        "alternate_greetings": [make_some_text(rng) for _ in range(rng.randint(0, 2))],
        "tags": rng.sample(TAGS, rng.randint(0, 2)),
        "creator": "somebody",
        "depth_prompt": {
            "prompt": make_some_text(rng, filled=0.4),
            "depth": rng.choice((0, 1, 4)),
            "role": rng.choice(ROLES),
        },
    }


def make_examples(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return ""
    blocks = []
    for _ in range(rng.randint(1, 3)):
        lines = [rng.choice(("<START>", "<start>", "<START>", ""))]
        for _ in range(rng.randint(1, 4)):
            who = rng.choice(("{{user}}", "{{char}}", "<USER>", "<BOT>", USER, "Nobody"))
            lines.append(f"{who}: {make_text(rng, macros=int(rng.random() < 0.15))}")
        blocks.append("\n".join(lines))
    return "\n".join(blocks)


def make_metadata(rng: random.Random) -> Json:
    found: Json = {}
    if rng.random() < 0.6:
        found |= {
            "note_prompt": make_some_text(rng, filled=0.9),
            "note_interval": rng.choice((1, 1, 1, 0, 2, 3)),
            "note_position": rng.choice((0, 1, 1, 2)),
            "note_depth": rng.choice((0, 1, 2, 4, 8)),
            "note_role": rng.choice((0, 0, 1, 2)),
        }
    if rng.random() < 0.5:
        found["variables"] = {"count": rng.choice(("0", "2", "7")), "mood": rng.choice(("calm", "", "off"))}
    for field in ("scenario", "mes_example", "system_prompt"):
        if rng.random() < 0.08:
            found[field] = make_text(rng, macros=1)
    return found


def make_books(rng: random.Random) -> list[Json]:
    if rng.random() < 0.15:
        return []
    kinds = rng.choices(("global", "global", "character", "chat", "persona"), k=rng.randint(1, 3))
    kinds = [kind for at, kind in enumerate(kinds) if kind in ("global", "character") or kind not in kinds[:at]]
    names = rng.sample(("Zeta", "Alpha", "Mid", "beta", "Omega lore"), len(kinds))
    return [
        {
            "name": name,
            "kind": kind,
            "entries": [make_entry(rng, uid) for uid in range(rng.choice((1, 3, 5, 8, 12)))],
        }
        for name, kind in zip(names, kinds, strict=True)
    ]


def make_key(rng: random.Random) -> str:
    chance = rng.random()
    if chance < 0.55:
        return rng.choice(WORDS)
    if chance < 0.75:
        return rng.choice(PHRASES)
    if chance < 0.83:
        plural = f"/{rng.choice(WORDS)}s?/i"
        return rng.choice((plural, r"/\bla\w+/", "/(storm|ash)/g", "/^Mira/m", "/x{2/", "/tower$/"))
    if chance < 0.9:
        return rng.choice(("{{user}}", "{{char}}", "{{getvar::mood}}", "{{.mood}}"))
    return rng.choice(("", " ", f" {rng.choice(WORDS)} ", rng.choice(WORDS)[:3], "A", rng.choice(WORDS).upper()))


def make_entry(rng: random.Random, uid: int) -> Json:
    def maybe(value: Any, other: Any, chance: float = 0.15) -> Any:
        return value if rng.random() < chance else other

    content = make_some_text(rng, filled=0.95, macros=0.25)
    if rng.random() < 0.06:
        marks = ("@@activate", "@@dont_activate", "@@depth 3", "@@@activate", "@@unknown 1")
        content = "\n".join([*rng.sample(marks, rng.randint(1, 2)), content])
    return {
        "uid": uid,
        "key": [make_key(rng) for _ in range(rng.choice((0, 1, 1, 2, 3)))],
        "keysecondary": [make_key(rng) for _ in range(rng.choice((0, 0, 0, 1, 2)))],
        "comment": f"entry {uid}",
        "content": content,
        "constant": maybe(True, False, 0.12),
        "vectorized": False,
        "selective": maybe(False, True),
        "selectiveLogic": rng.randrange(4),
        "addMemo": True,
        "order": rng.choice((100, 100, 100, 50, 10, 200, 0)),
        "position": rng.choice((0, 0, 1, 1, 2, 3, 4, 4, 5, 6, 7)),
        "disable": maybe(True, False, 0.05),
        "ignoreBudget": maybe(True, False, 0.1),
        "excludeRecursion": maybe(True, False),
        "preventRecursion": maybe(True, False),
        "delayUntilRecursion": maybe(rng.choice((True, 1, 2, 5)), False, 0.12),
        "probability": maybe(rng.choice((0, 30, 50, 80)), 100),
        "useProbability": maybe(False, True),
        "depth": rng.choice((0, 1, 2, 4, 9)),
        "outletName": rng.choice(("side", "side", "", " side ")),
        "group": maybe(rng.choice(("one", "two", "two")), "", 0.25),
        "groupOverride": maybe(True, False),
        "groupWeight": rng.choice((100, 100, 10, 300)),
        "scanDepth": maybe(rng.choice((0, 1, 3, 10)), None, 0.2),
        "caseSensitive": maybe(rng.choice((True, False)), None),
        "matchWholeWords": maybe(rng.choice((True, False)), None),
        "useGroupScoring": maybe(rng.choice((True, False)), None),
        "automationId": "",
        "role": rng.choice((0, 0, 1, 2)),
        "sticky": maybe(rng.choice((1, 2, 3, 5)), None),
        "cooldown": maybe(rng.choice((1, 2, 3, 5)), None),
        "delay": maybe(rng.choice((1, 2, 4, 6)), None),
        "matchPersonaDescription": maybe(True, False, 0.1),
        "matchCharacterDescription": maybe(True, False, 0.1),
        "matchCharacterPersonality": maybe(True, False, 0.1),
        "matchCharacterDepthPrompt": maybe(True, False, 0.1),
        "matchScenario": maybe(True, False, 0.1),
        "matchCreatorNotes": maybe(True, False, 0.1),
        "triggers": maybe(rng.sample(("normal", "continue", "swipe", "quiet"), 2), [], 0.08),
        "displayIndex": uid,
    }


def make_world_settings(rng: random.Random) -> Json:
    settings: Json = {
        "world_info_depth": rng.choice((2, 2, 1, 0, 4, 10)),
        "world_info_min_activations": rng.choice((0, 0, 0, 1, 3)),
        "world_info_min_activations_depth_max": rng.choice((0, 0, 2, 5)),
        "world_info_budget": rng.choice((25, 25, 100, 5, 1)),
        "world_info_include_names": rng.random() < 0.7,
        "world_info_recursive": rng.random() < 0.7,
        "world_info_case_sensitive": rng.random() < 0.2,
        "world_info_match_whole_words": rng.random() < 0.7,
        "world_info_character_strategy": rng.randrange(3),
        "world_info_budget_cap": rng.choice((0, 0, 0, 60)),
        "world_info_use_group_scoring": rng.random() < 0.2,
        "world_info_max_recursion_steps": 0,
    }
    if not settings["world_info_min_activations"]:
        settings["world_info_max_recursion_steps"] = rng.choice((0, 0, 1, 2, 3))
    return settings


def make_preset(rng: random.Random) -> Json:
    prompts = [make_written(rng, identifier) for identifier in WRITTEN]
    prompts += [make_marker(rng, identifier) for identifier in MARKERS]
    own = [f"own-{number}" for number in range(rng.choice((0, 0, 1, 2, 4)))]
    prompts += [make_own(rng, identifier) for identifier in own]
    order = [*ORDER]
    for identifier in own:
        order.insert(rng.randrange(len(order) + 1), identifier)
    if rng.random() < 0.3:
        rng.shuffle(order)
    if rng.random() < 0.1:
        order.remove(rng.choice([each for each in order if each != "chatHistory"]))
    return {
        "prompts": prompts,
        "prompt_order": [
            {
                "character_id": 100001,
                "order": [{"identifier": each, "enabled": rng.random() < 0.88} for each in order],
            }
        ],
        "names_behavior": rng.choice((0, 0, 0, -1, 1, 2)),
        "squash_system_messages": rng.random() < 0.3,
        "wi_format": rng.choice(("{0}", "[Lore: {0}]", "{0}{{newline}}for {{char}}", "")),
        "scenario_format": rng.choice(("{{scenario}}", "[Scene: {{scenario}}]", "")),
        "personality_format": rng.choice(("{{personality}}", "[{{char}} is {{personality}}]")),
        "new_chat_prompt": rng.choice(("[Start a new Chat]", "", "[{{char}} begins]")),
        "new_group_chat_prompt": "[Start a new group chat. Group members: {{group}}]",
        "new_example_chat_prompt": rng.choice(("[Example Chat]", "", "{{user}} as an example")),
        "continue_nudge_prompt": rng.choice(("[Go on, {{char}}.]", "[Continue: {{lastChatMessage}}]")),
        "group_nudge_prompt": "[Write the next reply only as {{char}}.]",
        "impersonation_prompt": rng.choice(("[Write as {{user}}.]", "")),
        "send_if_empty": "",
        "assistant_prefill": "",
        "assistant_impersonation": "",
        "continue_prefill": rng.random() < 0.2,
        "continue_postfix": rng.choice((" ", "", "\n", "\n\n")),
        "openai_max_context": rng.choice((4095, 8000, 1200, 700)),
        "openai_max_tokens": rng.choice((300, 100)),
        "max_context_unlocked": True,
    }


def make_written(rng: random.Random, identifier: str) -> Json:
    return {
        "identifier": identifier,
        "name": identifier,
        "role": rng.choice(("system", "system", "user")),
        "content": make_some_text(rng, filled=0.8, macros=0.5),
        "system_prompt": True,
        **({"forbid_overrides": True} if rng.random() < 0.1 else {}),
        **(make_injection(rng) if rng.random() < 0.12 else {}),
    }


def make_marker(rng: random.Random, identifier: str) -> Json:
    plain = identifier in ("dialogueExamples", "chatHistory") or rng.random() < 0.85
    more = {} if plain else {"role": rng.choice(ROLES), **make_injection(rng)}
    return {"identifier": identifier, "name": identifier, "system_prompt": True, "marker": True, **more}


def make_own(rng: random.Random, identifier: str) -> Json:
    return {
        "identifier": identifier,
        "name": identifier,
        "role": rng.choice(ROLES),
        "content": make_some_text(rng, filled=0.95, macros=0.5),
        "system_prompt": False,
        **make_injection(rng),
        **({"injection_trigger": rng.sample(("normal", "continue", "swipe"), 1)} if rng.random() < 0.15 else {}),
    }


def make_injection(rng: random.Random) -> Json:
    return {
        "injection_position": rng.choice((0, 0, 1)),
        "injection_depth": rng.choice((4, 0, 1, 2, 8)),
        "injection_order": rng.choice((100, 100, 50, 200)),
    }


def make_chat(rng: random.Random, card: Json) -> list[Json]:
    greeting = card["first_mes"]
    lines = [make_line(card["name"], greeting, swipes=[greeting, *card["alternate_greetings"]])]
    if not greeting.strip() or rng.random() > GREETS:
        lines = []
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        lines.append(make_line(USER, make_text(rng, macros=int(rng.random() < 0.1)), is_user=True))
        lines.append(make_line(card["name"], make_text(rng, macros=int(rng.random() < 0.1))))
    if lines and rng.random() < 0.12:
        lines.insert(rng.randrange(len(lines)) + 1, make_hidden_or_told(rng))
    return lines


def make_hidden_or_told(rng: random.Random) -> Json:
    if rng.random() < 0.5:
        return {**make_line("Narrator", make_sentence(rng)), "extra": {"type": "narrator"}}
    return {**make_line(USER, make_sentence(rng), is_user=True), "is_system": True}


def make_line(name: str, text: str, *, is_user: bool = False, swipes: list[str] | None = None) -> Json:
    return {
        "name": name,
        "is_user": is_user,
        "is_system": False,
        "send_date": "2025-03-14T15:00:00.000Z",
        "mes": text,
        "extra": {},
        **({} if is_user else {"swipes": swipes or [text], "swipe_id": 0}),
    }


def make_steps(rng: random.Random) -> list[Json]:
    steps = []
    for at in range(rng.choice((1, 1, 2, 3, 4))):
        kind = rng.choice(KINDS) if at else "normal"
        step = {"kind": kind, "reply": make_sentence(rng)}
        if kind == "normal":
            step["typed"] = make_text(rng, macros=int(rng.random() < 0.25))
        if kind == "quiet":
            step["quiet_prompt"] = make_text(rng, macros=int(rng.random() < 0.4))
        steps.append(step)
    return steps
