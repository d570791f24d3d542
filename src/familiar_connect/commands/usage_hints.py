"""What people type who come from other programs, and how it is said here."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click

from familiar_connect.config.built_in import PLATFORM_TITLES

_A_FOLDER = "A familiar is a folder, and `familiar list` says where: delete it to be rid of the familiar."
_FETCH = "`familiar model get NAME` fetches a model."
_PAGE_OR_RUN = f"`familiar web` is the page in your browser, `familiar run` is for {' and '.join(PLATFORM_TITLES)}."
_TALK = "`familiar chat` talks with a familiar."
VERB_HINTS = {
    "card": "`familiar init --from-card FILE` makes a familiar from a card.",
    "create": "`familiar init NAME` makes a familiar.",
    "new": "`familiar init NAME` makes a familiar; `familiar chat --new` starts a chat.",
    "delete": _A_FOLDER,
    "remove": _A_FOLDER,
    "rm": _A_FOLDER,
    "download": _FETCH,
    "install": _FETCH,
    "pull": _FETCH,
    "ps": "`familiar model list` shows which model answers.",
    "history": "`familiar logs` shows what was said.",
    "login": "`familiar keys set openrouter` keeps a key.",
    "server": _PAGE_OR_RUN,
    "settings": "`familiar config show` shows them.",
    "show": "`familiar inspect` shows the last prompt, `familiar memory show FILE` a file of memory.",
    "status": "`familiar doctor` checks everything.",
    "start": _TALK,
    "talk": _TALK,
    "version": "`familiar --version` shows it.",
}
"""Words that are no verbs, and the sentence about each."""
KIND_HINTS = {
    "card": "`familiar init --from-card FILE` makes a familiar from a card.",
    "character": "`familiar init --from-card FILE` makes a familiar from a card.",
    "world": "`familiar import lorebook FILE` imports it.",
    "worldinfo": "`familiar import lorebook FILE` imports it.",
}
"""The same behind `import`."""
KEY_HINTS = {
    "path": "`familiar doctor` says where the home is; the keys are in its secrets.env.",
    "get": "A key is never shown; `familiar keys` lists their names.",
    "show": "A key is never shown; `familiar keys` lists their names.",
    "add": "`familiar keys set NAME` keeps one.",
    "delete": "`familiar keys remove NAME` removes one.",
    "rm": "`familiar keys remove NAME` removes one.",
}
"""And behind `keys`."""
MODEL_HINTS = {
    **dict.fromkeys(("add", "download", "fetch", "install", "pull"), _FETCH),
    **dict.fromkeys(("ps", "show", "status"), "`familiar model list` shows which model answers."),
}
"""And behind `model`."""
_EXTRA = re.compile(r"Got unexpected extra arguments? \((.*)\)", re.DOTALL)
_SHOWN_WORDS = 80
_MODEL = re.compile(r"[\w.:/-]{1,80}")
_CHATS = "`familiar chat --list` lists the chats."
_SAID = f"`familiar logs` shows the last lines; {_CHATS}"
_WORDS_BEHIND = {
    ("chat", "list"): _CHATS,
    ("chat", "ls"): _CHATS,
    ("logs", "list"): _SAID,
    ("logs", "show"): _SAID,
    ("logs", "path"): "`familiar doctor` says where everything is; `familiar export chat` writes a chat out.",
}
_CHARACTER = "a familiar has a character instead: `familiar memory show self/description.md` shows it."
_MODEL_SETTINGS = "the model is set in character.toml: `familiar config show` lists its settings."
_OPTIONS_BEHIND = {
    ("ask", "-s"): _CHARACTER,
    ("ask", "--system"): _CHARACTER,
    ("ask", "-o"): _MODEL_SETTINGS,
    ("ask", "--option"): _MODEL_SETTINGS,
    ("ask", "--no-stream"): "`familiar ask --json` prints the reply at once, when it is whole.",
}
_FROM_CARD = "`familiar init --from-card {file}` makes a familiar from a card."
_FILE_HABITS = {
    **dict.fromkeys((".png", ".webp", ".charx", ".byaf", ".yaml"), _FROM_CARD),
    ".json": _FROM_CARD + " `familiar import lorebook {file}` imports lore, `familiar import preset {file}` a preset.",
    ".jsonl": "`familiar import chat {file}` imports a chat.",
    **dict.fromkeys((".md", ".txt", ".pdf", ".html"), "`familiar import document {file}` imports a document."),
}
"""What is done with a file that stands where something else belongs, by its ending."""
_ASK_THROUGH = '`familiar ask -m MODEL "…"` asks through another model, `familiar chat -m MODEL` talks.'
_MISPLACED_OPTIONS = {
    "-m": f"-m goes after the verb: {_ASK_THROUGH}",
    "--model": f"--model goes after the verb: {_ASK_THROUGH}",
    "-c": "-c goes after the verb: `familiar chat -c` continues the latest chat.",
    "--continue": "--continue goes after the verb: `familiar chat --continue` continues the latest chat.",
}


def explain_mistake(mistake: click.UsageError) -> str:
    """What *mistake* says, with what was most likely meant."""
    sentence = mistake.format_message()
    if mistake.ctx is None:
        return sentence
    if isinstance(mistake, click.NoSuchOption):
        if mistake.ctx.parent is None:
            return _MISPLACED_OPTIONS.get(mistake.option_name, sentence)
        habit = _OPTIONS_BEHIND.get((_verb(mistake.ctx), mistake.option_name))
        return sentence if habit is None else f"there is no {mistake.option_name} here: {habit}"
    extra = _EXTRA.fullmatch(sentence)
    return sentence if extra is None else _explain_words(mistake.ctx, extra[1]) or sentence


def explain_file(word: str) -> str:
    """What is done with the file that *word* seems to name; nothing where it names none."""
    habit = _FILE_HABITS.get(Path(word).suffix.lower(), "")
    return habit.format(file=shlex.quote(word))


def _explain_words(ctx: click.Context, words: str) -> str | None:
    """What was meant by *words* that the verb of *ctx* does not take; None where nobody can tell."""
    verb = _verb(ctx)
    if any(option.name == "familiar_id" for option in ctx.command.params) and words in _familiars(ctx):
        typed = shlex.join(["familiar", *verb.split(), "--familiar", words])
        return f"a familiar is named by an option: `{typed}`"
    if (verb, words) in _WORDS_BEHIND:
        return _WORDS_BEHIND[verb, words]
    if verb == "chat" and len(words) <= _SHOWN_WORDS:
        return f"chat takes no words: `familiar ask {shlex.quote(words)}` says them and prints the reply"
    if verb == "run" and _MODEL.fullmatch(words):
        return (
            f"`familiar run` is for {' and '.join(PLATFORM_TITLES)}; `familiar chat -m {words}` talks through a model"
        )
    return None


def _verb(ctx: click.Context) -> str:
    """The words of the verb, without the program, which may be several words itself."""
    names: list[str] = []
    while ctx.parent is not None:
        names.insert(0, ctx.info_name or "")
        ctx = ctx.parent
    return " ".join(names)


def _familiars(ctx: click.Context) -> list[str]:
    from familiar_connect.config.home import find_home, list_familiars
    from familiar_connect.errors import FamiliarError

    home: Path | None = (ctx.find_root().obj or {}).get("home")
    try:
        return list_familiars(find_home(home))
    except FamiliarError:
        return []
