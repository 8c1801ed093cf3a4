"""The `charz` command line.

One file a command, found by itself: a module `cli/NAME.py` whose top level has

- `def command(...)`: becomes `charz NAME`; its parameters are declared with `typer.Argument` and
  `typer.Option`, or
- `app = typer.Typer(...)`: becomes the group `charz NAME ...`.

The first line of the module's docstring is the command's line in `charz --help`; an underscore in a
file's name shows as a hyphen. A module that defines neither is a helper. Command files are read
with `ast` for the listing and imported only when called, so `charz --help` imports no command.

Rules of a command file: import torch (or `charz.ingest`) inside the function that needs it; take
the database with `DatabaseOption` of `charz.cli.workspace`; print through `charz.cli.display`; raise
`CharzError(what, where, exists, next)` of `charz.schema.errors` for anything the user can put
right. `main` turns it into one line on stderr and exit code 2.
"""

from __future__ import annotations


def main() -> None:
    """Entry point of the `charz` command."""
    import sys

    from . import process

    process.prepare()

    from .dispatch import run

    sys.exit(run(sys.argv[1:]))
