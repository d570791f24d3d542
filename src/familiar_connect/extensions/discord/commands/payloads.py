"""The commands as Discord wants them told, and telling them where something changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from familiar_connect.api import SlashCommand
from familiar_connect.api.commands import OptionKind, translations_of
from familiar_connect.extensions.discord.settings import Settings

MAX_DESCRIPTION = 100
CHAT_INPUT, ON_MESSAGE = 1, 3
OPTION_TYPES = {
    OptionKind.text: 3,
    OptionKind.number: 4,
    OptionKind.person: 6,
    OptionKind.channel: 7,
    OptionKind.role: 8,
}
LISTENED_TYPES = (0, 5, 11, 12)
"""Kinds of channel that the familiar can listen to: text, news, threads."""
IN_SERVERS, IN_DIRECT = 0, 1
MANAGE_CHANNELS, ADMINISTRATORS = str(1 << 4), "0"
"""Rights as Discord counts them; without any, a command is shown to administrators alone."""
CONTROLS_UNLESS_SET = Settings.controls


def command_payloads(
    commands: Sequence[SlashCommand], *, controls: str = CONTROLS_UNLESS_SET, has_voice: bool = False
) -> list[dict[str, Any]]:
    """The commands as Discord wants them told; those of parts that are not there are left out.

    *controls* says who may control a chat, as the setting does.
    """
    offered = [each for each in commands if (has_voice or not each.needs_voice) and not each.needs_chats]
    return [_payload(each, controls) for each in offered]


def _default_permissions(wanted: SlashCommand, controls: str) -> str | None:
    """Whom Discord shows the command to, unless a server's own settings say otherwise; None: everyone."""
    if wanted.operator_only:
        return ADMINISTRATORS
    if wanted.needs_manage or (wanted.is_control and controls != "everyone"):
        return MANAGE_CHANNELS
    return None


def _payload(wanted: SlashCommand, controls: str) -> dict[str, Any]:
    if wanted.message_title:
        return {
            "type": ON_MESSAGE,
            "name": wanted.message_title,
            **_in_other_languages("name", wanted.message_title),
            "default_member_permissions": _default_permissions(wanted, controls),
            "contexts": [IN_SERVERS, IN_DIRECT],
        }
    options = [
        {
            "type": OPTION_TYPES[option.kind],
            "name": option.name,
            "description": option.description[:MAX_DESCRIPTION],
            **_in_other_languages("description", option.description),
            "required": option.required,
            **({"choices": [{"name": each, "value": each} for each in option.choices]} if option.choices else {}),
            **({"autocomplete": True} if option.suggest is not None and _is_typed(option.kind) else {}),
            **({"min_value": 0} if option.kind is OptionKind.number else {}),
            **({"channel_types": list(LISTENED_TYPES)} if option.kind is OptionKind.channel else {}),
        }
        for option in wanted.options
    ]
    return {
        "type": CHAT_INPUT,
        "name": wanted.name,
        "description": wanted.description[:MAX_DESCRIPTION],
        **_in_other_languages("description", wanted.description),
        "options": options,
        "default_member_permissions": _default_permissions(wanted, controls),
        "contexts": [IN_SERVERS] if wanted.channels_only else [IN_SERVERS, IN_DIRECT],
    }


def _in_other_languages(field: str, text: str) -> dict[str, dict[str, str]]:
    """What Discord shows for *text* to people whose own language is another one."""
    found = {language: told[:MAX_DESCRIPTION] for language, told in translations_of(text).items()}
    return {f"{field}_localizations": found} if found else {}


def _is_typed(kind: OptionKind) -> bool:
    """Whether it is typed, so that something can be suggested; the rest Discord lists by itself."""
    return kind in (OptionKind.text, OptionKind.number)


async def register_commands(
    client: Any,
    commands: Sequence[SlashCommand],
    *,
    controls: str = CONTROLS_UNLESS_SET,
    has_voice: bool = False,
) -> bool:
    """Bring the commands Discord shows level with ours; whether anything had to change."""
    app_id = client.application_id
    wanted = command_payloads(commands, controls=controls, has_voice=has_voice)
    present = await client.http.get_global_commands(app_id)
    if _comparable(present) == _comparable(wanted):
        return False
    await client.http.bulk_upsert_global_commands(app_id, wanted)
    return True


def _comparable(commands: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What is said of each command, without what Discord adds."""
    return {
        each["name"]: (
            each.get("type", CHAT_INPUT),
            each.get("description") or "",
            each.get("description_localizations") or {},
            each.get("name_localizations") or {},
            sorted(each.get("contexts") or []),
            each.get("default_member_permissions"),
            [
                (
                    option["type"],
                    option["name"],
                    option["description"],
                    bool(option.get("required")),
                    bool(option.get("autocomplete")),
                    [choice["value"] for choice in option.get("choices") or []],
                )
                for option in each.get("options") or []
            ],
        )
        for each in commands
    }
