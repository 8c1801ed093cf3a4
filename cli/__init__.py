"""The `charz` command line: commands from a session's methods (`options`), their call (`dispatch`), and the output of their answers (`output`)."""

from __future__ import annotations


def main() -> None:
    """Run the `charz` command."""
    import sys

    from . import process

    process.prepare()
    try:
        from .dispatch import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # during imports
        code = process.interrupted()
    sys.exit(code)
