"""A card as a V3 object, the way SillyTavern writes one: `data`, and its V1 mirror beside it."""

from __future__ import annotations

from collections.abc import Mapping

from familiar_connect.bootstrap.card_files.card_fields import DEFAULTS, OUTSIDE, TEXT_FIELDS

SPEC, SPEC_VERSION = "chara_card_v3", "3.0"
_MIRRORED = ("name", "description", "personality", "scenario", "first_mes", "mes_example", "tags")


def v3_payload(texts: Mapping[str, str], extras: Mapping[str, object]) -> dict[str, object]:
    """The object that reads back as *texts*, the nine, and *extras*."""
    data: dict[str, object] = {field: texts[field] for field in TEXT_FIELDS}
    data |= {key: value for key, value in DEFAULTS.items() if value is not None}
    data |= {key: value for key, value in extras.items() if key != OUTSIDE}
    outside = extras.get(OUTSIDE)
    payload: dict[str, object] = {field: data[field] for field in _MIRRORED}
    payload["creatorcomment"] = data["creator_notes"]
    if isinstance(data["extensions"], dict):
        payload |= {key: data["extensions"][key] for key in ("talkativeness", "fav") if key in data["extensions"]}
    payload |= outside if isinstance(outside, dict) else {}
    return payload | {"spec": SPEC, "spec_version": SPEC_VERSION, "data": data}
