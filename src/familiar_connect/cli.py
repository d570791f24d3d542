"""The command line: verbs are loaded from `commands/` when they are called, so that help is quick."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from familiar_connect.commands.help_lines import HELP_OPTIONS
from familiar_connect.commands.lazy_group import CommandTable, LazyGroup
from familiar_connect.commands.name_completion import COMPLETE_VARIABLE
from familiar_connect.commands.usage_hints import VERB_HINTS
from familiar_connect.config.built_in import PLATFORM_TITLES, read_built_in_verbs

if TYPE_CHECKING:
    from familiar_connect.extensions.parts import Extension, VerbPart

BUILT_IN_VERB = ""
"""Instead of a module of ours: a built-in extension makes the verb."""
VERBS: CommandTable = {
    "chat": ("chat:chat", "Talk in this terminal; works offline, no key needed."),
    "ask": ("ask:ask", "Ask one thing and print the reply: for scripts and quick questions."),
    "run": ("run:run", f"Answer on {' and '.join(PLATFORM_TITLES)}."),
    **{verb: (BUILT_IN_VERB, says) for verb, (_, says) in read_built_in_verbs().items()},
    "web": ("web:web", "Talk in your browser, and see what the model saw."),
    "voice": ("voice:voice", "Talk by voice: microphone and speakers, or recordings."),
    "init": ("familiars:init", "Make a familiar, from scratch or from a character card."),
    "adopt": ("share:adopt", "Add someone else's familiar from a folder or ZIP; shows it first."),
    "pack": ("share:pack", "Pack a familiar into one file for someone else."),
    "backup": ("backup:backup", "Write everything of this home into one file, while it runs."),
    "restore": ("backup:restore", "Put a backup into an empty home."),
    "list": ("familiars:list_", "List your familiars."),
    "model": ("model:model", "Get a better model for this computer; see which one answers."),
    "connect": ("connect:connect", "Use a model server, such as Ollama, LM Studio or OpenRouter."),
    "keys": ("keys:keys", "Set, list and remove keys and tokens; values are never shown."),
    "trust": ("trust:trust", "Show or change where familiars may send what they see, and which key goes where."),
    "extension": ("extension:extension", "List, allow and forbid packages that add something to the program."),
    "config": ("settings:config", "Show the settings and where each comes from; check the files."),
    "import": ("import_export:import_", "Import chats, documents, SillyTavern lorebooks and presets."),
    "export": ("import_export:export", "Export the character, a chat or the lore for SillyTavern."),
    "preset": ("preset:preset", "Import, list, use and switch SillyTavern presets."),
    "regex": ("regex:regex", "List, switch and add regex scripts of cards and presets."),
    "logs": ("logs:logs", "Show what was said lately, or the program's own log."),
    "inspect": ("inspect:inspect", "Show the last prompt: each block, its source, its cost, what was cut."),
    "why": ("why:why", "Find out why a reply did not know something."),
    "prompt": ("prompt:prompt", "Print the prompt for a conversation in a file; no model is asked."),
    "rehearse": ("rehearse:rehearse", "Play a scripted week from a file on simulated time; see what is said where."),
    "replay": ("replay:replay", "Rebuild a past turn's prompt, and compare it with one built today."),
    "memory": ("memory.group:memory", "Read, search, correct and erase what it remembers."),
    "ignore": ("ignore:ignore", "List, add and remove people the familiar does not answer."),
    "metrics": ("metrics:metrics", "Report times per stage over past turns, and today's spending."),
    "doctor": ("doctor:doctor", "Check everything, and say what to do next."),
    "completion": ("completion:completion", "Print the shell code that makes Tab complete in bash, zsh or fish."),
}
FIRST_VERBS = {
    "chat": "Talk here, offline.",
    "web": "Talk in your browser.",
    "init": "Make a familiar.",
    "list": "List your familiars.",
    "model": "Get a better model.",
    "connect": "Use a model server.",
    "run": "Go where people chat.",
    "import": "Import cards and chats.",
    "memory": "See what it remembers.",
    "doctor": "Check everything.",
}
"""What most people need, in the order they need it: `familiar -h` explains these; so briefly in a narrow window."""
NARROW = 60
"""Columns below which the help is as brief as can be, so that it still fits a screen."""
MORE_VERBS = {
    "Talk": ("ask", "voice", "rehearse", *read_built_in_verbs()),
    "Share": ("export", "adopt", "pack", "backup", "restore", "preset", "regex"),
    "Set up": ("config", "keys", "trust", "extension", "ignore", "completion"),
    "Look inside": ("logs", "inspect", "why", "prompt", "replay", "metrics"),
}
"""The others, which it only names; `familiar help --all` explains them."""
SHOW_ALL = "--all"
ERROR = "Error: "
"""How click begins the sentence about a mistake."""
MOST_SHOWN = 80
"""A longer sentence is not repeated in a hint."""
BEFORE_THE_VERB = {"--home": "--home DIR VERB", "--verbose": "--verbose VERB", "-v": "-v VERB"}
"""Options of the program itself, and how to write them."""


class Verbs(LazyGroup):
    """The verbs, `help` among them as people type it; a reader that left early is no failure."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from familiar_connect.config.command import set_familiar_option, set_home_option

        set_home_option(ctx.params.get("home"))  # what is said about a slip carries it, too
        set_familiar_option(None)
        if args and args[0] == "help":
            return "help", _help(args[1:]), []
        if args and " " in args[0].strip():
            ctx.fail(f"no verb comes first. To say that to a familiar: `familiar ask {shlex.quote(args[0])}`")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *self._added(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in read_built_in_verbs():
            from familiar_connect.commands.extension_verbs import create_built_in_verb

            return create_built_in_verb(ctx, cmd_name)
        own = super().get_command(ctx, cmd_name)
        if own is not None or cmd_name not in (added := self._added(ctx)):
            return own
        from familiar_connect.commands.extension_verbs import create_verb

        return create_verb(ctx, *added[cmd_name])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[OPTIONS]", "VERB ..."] if ctx.meta.get(SHOW_ALL) else ["VERB ..."]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if formatter.width >= NARROW or ctx.meta.get(SHOW_ALL):
            super().format_help_text(ctx, formatter)
        else:
            formatter.write_paragraph()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if ctx.meta.get(SHOW_ALL):
            super().format_options(ctx, formatter)
            return
        groups = {**MORE_VERBS, "Extensions": tuple(self._added(ctx))}
        if formatter.width < NARROW:
            formatter.write_dl(list(FIRST_VERBS.items()))
            formatter.write_paragraph()
            formatter.write_text(f"More: {', '.join(sorted(chain(*groups.values())))}")
            return
        with formatter.section("Start here"):
            formatter.write_dl([(verb, self._table[verb][1]) for verb in FIRST_VERBS])
        with formatter.section("More verbs"):
            formatter.write_dl([(name, ", ".join(verbs)) for name, verbs in groups.items() if verbs])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_commands(ctx, formatter)
        if added := self._added(ctx):
            with formatter.section("Verbs of extensions"):
                formatter.write_dl([(name, verb.help) for name, (_, verb) in added.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if ctx.meta.get(SHOW_ALL):
            super().format_epilog(ctx, formatter)
            return
        formatter.write_paragraph()
        formatter.write_text("`familiar VERB -h` shows examples; `familiar help --all` lists everything.")

    def _added(self, ctx: click.Context) -> Mapping[str, tuple[Extension, VerbPart]]:
        """Verbs of extensions that the owner allowed; nothing is loaded where none is."""
        from familiar_connect.commands.extension_verbs import find_added_verbs

        return find_added_verbs(ctx.params.get("home"), frozenset(self._table))

    def explain_unknown(self, words: list[str]) -> str:
        said = " ".join(words)
        is_sentence = len(words) > 1 and len(said) <= MOST_SHOWN and not any(word.startswith("-") for word in words)
        return f" To say that to a familiar: `familiar ask {shlex.quote(said)}`" if is_sentence else ""

    def invoke(self, ctx: click.Context) -> object:
        try:
            outcome = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            raise OutputClosed from None  # told apart here, because click would end every such run as a failure
        return outcome


class OutputClosed(Exception):
    """Whoever read our output, such as `head`, has seen enough."""


def _help(words: list[str]) -> click.Command:
    """`help`, `help VERB` or `help --all`, as people type it."""

    def show() -> None:
        from familiar_connect.config.command import program_name

        if SHOW_ALL in words:
            root = click.get_current_context().find_root()
            root.meta[SHOW_ALL] = True
            click.echo(root.get_help())
            return
        cli.main([*words[:1], "--help"], prog_name=program_name(), standalone_mode=False)

    return click.Command("help", callback=show)


EPILOG = """\b
Examples:
  familiar chat                       talk now, on the embedded model
  familiar init mira && familiar chat --familiar mira
  familiar init --from-card Mira.png  a familiar from a SillyTavern card
  familiar model list                 better models for this computer
  familiar connect                    use Ollama, LM Studio, llama.cpp, KoboldCpp, vLLM or OpenRouter
  familiar inspect                    see what the model was shown
"""


@click.group(
    cls=Verbs,
    table=VERBS,
    hints=VERB_HINTS,
    invoke_without_command=True,
    context_settings={"help_option_names": HELP_OPTIONS},
    epilog=EPILOG,
)
@click.option("-v", "--verbose", count=True, help="-v: each turn, and why it spoke or was silent; -vv: all.")
@click.option("--home", type=click.Path(path_type=Path), help="Where familiars live (else FAMILIAR_HOME).")
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _option, is_asked: _show_version(ctx, is_asked),
    help="Show the version and the facts for a bug report, and exit.",
)
@click.pass_context
def cli(ctx: click.Context, verbose: int, home: Path | None) -> None:
    """An AI character among your friends, with a memory that you can read."""
    from familiar_connect.config.command import set_home_option
    from familiar_connect.support.free_memory import check_free_memory
    from familiar_connect.support.log import set_up_logging

    set_up_logging(verbose)
    set_home_option(home)
    if ctx.invoked_subcommand not in (None, "doctor"):
        check_free_memory()
    ctx.obj = {"home": home, "verbose": verbose}
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def _show_version(ctx: click.Context, is_asked: bool) -> None:
    if not is_asked or ctx.resilient_parsing:
        return
    from familiar_connect.commands.version import say_version

    say_version(ctx.params.get("home"))
    ctx.exit()


def main() -> int:
    """Run the command line; every file it makes is its owner's alone."""
    from familiar_connect.config.command import SCRIPTS
    from familiar_connect.config.permissions import owner_only_files

    # Nothing here is large enough for threads of numpy's library, which spin for 20 ms each when it is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with owner_only_files():
        code = _run_to_exit_code()
    if Path(getattr(sys.modules["__main__"], "__file__", None) or "").stem in SCRIPTS:
        end_program(code)
    return code  # called by somebody else, who goes on


def end_program(code: int) -> NoReturn:
    """Leave with *code*, in the middle of a call of a library's too."""
    if threads := sys.modules.get("familiar_connect.support.thread_pools"):  # loaded where there is something to end
        threads.end_process(code)
    sys.exit(code)


def _way_to_help(ctx: click.Context) -> str:
    return f"Try `{ctx.command_path} {ctx.help_option_names[0]}` for help."


def _run_to_exit_code() -> int:
    """Run the verb; every mistake ends in one sentence and a meaningful exit code."""
    from familiar_connect.commands.exit_codes import code_of
    from familiar_connect.commands.usage_hints import explain_mistake
    from familiar_connect.config.command import program_name, with_command
    from familiar_connect.errors import FamiliarError
    from familiar_connect.support.text import printable
    from familiar_connect.support.word_wrap import wrap_for

    _tolerate_bad_streams()
    try:
        outcome: object = cli.main(prog_name=program_name(), standalone_mode=False, complete_var=COMPLETE_VARIABLE)
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.Abort:
        click.echo("Stopped.", err=True)
        return 130
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.format_message())
        return 0
    except click.ClickException as mistake:
        if isinstance(mistake, click.NoSuchOption) and (right := BEFORE_THE_VERB.get(mistake.option_name)):
            sentence = f"{mistake.option_name} goes before the verb: {program_name()} {right}"
            mistake = click.UsageError(sentence, ctx=mistake.ctx)
        told = explain_mistake(mistake) if isinstance(mistake, click.UsageError) else mistake.format_message()
        sentence = wrap_for(sys.stderr, with_command(f"{ERROR}{told}")).removeprefix(ERROR)
        if isinstance(mistake, click.UsageError) and mistake.ctx is not None:
            click.echo(f"{mistake.ctx.get_usage()}\n{wrap_for(sys.stderr, _way_to_help(mistake.ctx))}\n", err=True)
        click.echo(f"{ERROR}{sentence}", err=True)
        return mistake.exit_code
    except FamiliarError as error:
        _tell(printable(with_command(str(error))))
        return code_of(error)
    except KeyboardInterrupt:
        return 130
    except (OutputClosed, BrokenPipeError):
        _discard_output()
        return 0
    except OSError as error:
        _tell(printable(_disk_sentence(error)))
        return 1
    except Exception as error:
        if not _is_out_of_memory(error):
            raise
        _tell(_memory_sentence())
        return 1
    return outcome if isinstance(outcome, int) else 0


def _tell(sentence: str) -> None:
    """Say what went wrong, broken at words."""
    from familiar_connect.support.word_wrap import wrap_for

    click.echo(wrap_for(sys.stderr, f"familiar: {sentence}"), err=True)


def _is_out_of_memory(error: Exception) -> bool:
    from familiar_connect.support.free_memory import is_out_of_memory

    return is_out_of_memory(error)


def _memory_sentence() -> str:
    from familiar_connect.support.free_memory import memory_sentence

    return memory_sentence()


def _discard_output() -> None:
    """Let what is still to be written go nowhere, so that the end is quiet too."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tolerate_bad_streams() -> None:
    """Bytes that are no text, letters a terminal lacks and streams that were closed cost nothing but themselves."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - stays open, as they do
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _disk_sentence(error: OSError) -> str:
    import errno

    if error.errno == errno.ENOMEM:
        return _memory_sentence()
    where = f" ({error.filename})" if error.filename else ""
    elsewhere = "choose another home with --home DIR or FAMILIAR_HOME."
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"the disk is full{where}: free some space and run it again; what was stored before is safe."
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return f"no right to write{where}: {elsewhere}"
    return f"{error.strerror or error}{where}: {elsewhere}"


if __name__ == "__main__":
    sys.exit(main())
