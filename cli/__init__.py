"""The `charz` command line: methods of a session made commands (`options`), called (`dispatch`), their answers written (`output`)."""

from __future__ import annotations


def main() -> None:
    """Entry point of the `charz` command."""
    import sys

    from . import process

    process.prepare()
    try:
        from .dispatch import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # while the program itself was read
        code = process.interrupted()
    sys.exit(code)
