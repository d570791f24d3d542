"""The section [discord] of character.toml."""

from __future__ import annotations

from dataclasses import dataclass

from familiar_connect.api.settings import (
    FLAG,
    TEXTS,
    InvalidValue,
    Rule,
    choice_rule,
    integer_rule,
    number_rule,
    setting,
)


def _user_ids(value: object) -> list[str]:
    ids = TEXTS.read(value)
    if not all(each.isascii() and each.isdigit() and len(each) <= 20 for each in ids):
        raise InvalidValue
    return ids


USER_IDS = Rule('a list of Discord user ids in quotes, such as ["123456789012345678"]', _user_ids)


@dataclass(frozen=True)
class Settings:
    """How the familiar behaves on Discord."""

    dms: str = setting(
        "owner",
        choice_rule("off", "owner", "everyone"),
        "Whose direct messages are answered: nobody's, the operator's or everyone's.",
    )
    hello: bool = setting(
        True,
        FLAG,
        "Whether it says hello on a new server, and one line a day in a channel where it is mentioned and does not"
        " listen, and to people whose direct messages it does not answer.",
    )
    controls: str = setting(
        "managers",
        choice_rule("managers", "everyone"),
        "Who may use the controls of a chat, such as /regenerate and /undo, besides the operator: those who may manage"
        " the channel, or everyone who talks there.",
    )
    buttons: bool = setting(
        False,
        FLAG,
        "Whether the newest reply of a channel has buttons below it: again, other versions, continue, stop. Who may use"
        " the controls may press them.",
    )
    answer_late_s: float = setting(
        900.0,
        number_rule(least=0),
        "How long ago, seconds, a question may have been asked that is still answered after the program died.",
    )
    hears_bots: list[str] = setting(
        [], USER_IDS, "Bots, by user id, that it hears as it hears people: other familiars on the same server."
    )
    bot_reply_limit: int = setting(
        2,
        integer_rule(least=0),
        "The most replies it gives between two messages of people before it stops answering those bots.",
    )
    history_on_subscribe: int = setting(
        50,
        integer_rule(least=0),
        "How many earlier messages are read when `/subscribe-text` is used, at most 1,000; 0 reads none.",
    )
    history_on_return: int = setting(
        1_000,
        integer_rule(least=0),
        "How many messages of a channel are read in the background after an absence in which more than 200 were said"
        " there, at most 10,000; 0 reads none besides those 200.",
    )
    text_file_bytes: int = setting(
        200_000,
        integer_rule(least=0),
        "How many bytes of a text file that people send, such as the message.txt of a long paste, are fetched, at most"
        " 1,000,000; 0 reads no file.",
    )
    text_file_lines: int = setting(
        200, integer_rule(least=0), "How many lines of a text file are read, at most 2,000; 0 reads no file."
    )
    text_file_tokens: int = setting(
        1_500, integer_rule(least=0), "How many tokens of a text file are read, at most 8,000; 0 reads no file."
    )
    webhooks: str = setting(
        "people",
        choice_rule("off", "people", "all"),
        "Webhooks heard as people: none, those an application posts for someone (PluralKit, bridges), or all.",
    )
