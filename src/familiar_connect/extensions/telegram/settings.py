"""The section [telegram] of character.toml."""

from __future__ import annotations

from dataclasses import dataclass

from familiar_connect.api.settings import InvalidValue, Rule, choice_rule, setting


def _user_id(value: object) -> str | None:
    if value is None:
        return None
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not (text.isascii() and text.isdigit() and len(text) <= 16):
        raise InvalidValue
    return text


USER_ID = Rule('your user id on Telegram in quotes, such as "123456789"; the bot tells it to whoever writes', _user_id)


@dataclass(frozen=True)
class Settings:
    """Whom the familiar answers on Telegram."""

    owner: str | None = setting(
        None,
        USER_ID,
        "Your own user id on Telegram. The bot tells it to you when you write to it.",
        example='"123456789"',
    )
    dms: str = setting(
        "owner",
        choice_rule("off", "owner", "everyone"),
        "Whose direct messages are answered: nobody's, the owner's or everyone's.",
    )
    groups: str = setting(
        "owner",
        choice_rule("off", "owner", "everyone"),
        "In which groups it listens: in none, in those that the owner adds it to or uses /start in, or in all that"
        " someone adds it to.",
    )
    controls: str = setting(
        "managers",
        choice_rule("managers", "everyone"),
        "Who may use the controls of a chat, such as /regenerate and /undo, besides the owner: the administrators of"
        " the group, or everyone who talks there.",
    )
