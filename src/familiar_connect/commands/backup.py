"""backup, restore: a whole home as one file, and back."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from familiar_connect.commands.common import home_of, json_option, progress_bar, say, say_command, say_json
from familiar_connect.config.command import command_name
from familiar_connect.config.folders import HomeFolder

BACKUP_EPILOG = """\b
Examples:
  familiar backup                         familiar-backup-2026-11-19.zip, here
  familiar backup -o /mnt/usb/home.zip --with-keys
  familiar --home ~/new restore home.zip  all of it into an empty home
It may run while familiars talk. Caches are left out: they are made anew.
"""
RESTORE_EPILOG = """\b
Examples:
  familiar --home ~/new restore familiar-backup-2026-11-19.zip
  FAMILIAR_HOME=~/new familiar restore home.zip
Restore only what you backed up yourself: it takes everything, also what settings allow. People who were forgotten since
then would come back.
"""


@click.command(epilog=BACKUP_EPILOG)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The file to write.")
@click.option("--with-keys", is_flag=True, help="Also keys and tokens (secrets.env).")
@json_option
@click.pass_context
def backup(ctx: click.Context, output: Path | None, with_keys: bool, as_json: bool) -> None:
    """Write everything of this home into one file: familiars, chats, memory, settings."""
    from familiar_connect import __version__
    from familiar_connect.bootstrap.backup.write import write_backup

    now = datetime.now().astimezone()
    target = output or Path(f"familiar-backup-{now:%Y-%m-%d}.zip")
    with progress_bar("Writing the backup", quiet=as_json) as progress:
        report = write_backup(
            home_of(ctx), target, with_keys=with_keys, now=now, version=__version__, progress=progress
        )
    manifest = report.manifest
    if as_json:
        say_json(
            {
                "file": str(report.file),
                "familiars": manifest.familiars,
                "files": len(manifest.files),
                "bytes": manifest.size,
                "with_keys": report.has_keys,
                "links_left_out": report.left_out,
                "changed_meanwhile": report.unsettled,
            }
        )
        return
    say(f"Backed up {', '.join(manifest.familiars)}: {len(manifest.files):,} files, {_megabytes(manifest.size)}.")
    say(f"  file       {report.file}, for you alone: it holds everything that was said")
    if not report.has_keys:
        say("  left out   keys and tokens; --with-keys includes them")
    for path in report.left_out:
        say(f"  left out   {path}: it is a link")
    for name in report.unsettled:
        say(f"  changed    {name}'s memory changed each time it was copied; the last copy was kept")
    say_command("into an empty home", f"{command_name()} --home NEW restore {report.file.name}")


@click.command(epilog=RESTORE_EPILOG, context_settings={"allow_extra_args": True})
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@json_option
@click.pass_context
def restore(ctx: click.Context, file: Path, as_json: bool) -> None:
    """Put a backup into an empty home; each file is compared with what was backed up first."""
    from familiar_connect.bootstrap.backup.restore import restore_backup

    if ctx.args:
        ctx.fail("a backup is one file. An earlier version of a memory file: `familiar memory restore FILE VERSION`")
    home = home_of(ctx)
    with progress_bar("Restoring", quiet=as_json) as progress:
        manifest = restore_backup(file, home, progress=progress)
    rows = sum(count for each in manifest.files.values() for count in each.rows.values())
    if as_json:
        say_json(
            {
                "home": str(home),
                "familiars": manifest.familiars,
                "files": len(manifest.files),
                "rows": rows,
                "made": manifest.made,
            }
        )
        return
    say(f"Restored {', '.join(manifest.familiars)} to {home}, as of {manifest.made[:16].replace('T', ' ')}.")
    say(f"  compared   {len(manifest.files):,} files and {rows:,} rows with what was backed up: all there")
    if HomeFolder(home).secrets_file.name not in manifest.files:
        say("  keys       the backup holds none; set them with `familiar keys set NAME`")


def _megabytes(size: int) -> str:
    return f"{max(size / 1e6, 0.1):,.1f} MB"
