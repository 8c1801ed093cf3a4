"""Pages with output of commands: a text block below `<!-- charz: COMMAND -->` contains the output of the command.

The commands of all pages run one after another in one empty folder, so that a page may ask about models that an earlier block ingested.
`python -m charz.cli.reference` writes the blocks, `--check` compares them.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from charz.schema.errors import CharzError

_MARK = "<!-- charz: "
_BLOCK = re.compile(r"^<!-- charz: (?P<command>[^\n]+) -->\n```text\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
COLUMNS = 120
"""Width of the terminal for the commands."""


def commands(text: str, page: str = "") -> list[str]:
    """Return the commands of a page's blocks. Raise `CharzError` for a mark without a block."""
    found = [match["command"] for match in _BLOCK.finditer(text)]
    if len(found) != text.count(_MARK):
        raise CharzError("a mark of a command without a block", page, next="write ```text and ``` below the mark")
    return found


def written(text: str, answers: Mapping[str, str]) -> str:
    """Return a page in which the blocks contain these answers, which are given by command."""
    return _BLOCK.sub(
        lambda match: f"<!-- charz: {match['command']} -->\n```text\n{answers[match['command']]}```", text
    )


def answers(asked: Iterable[str], run: Callable[[str, Path], str] | None = None) -> dict[str, str]:
    """Return the output of each command, run in this order in one initially empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        return {command: (run or printed)(command, Path(folder)) for command in dict.fromkeys(asked)}


def printed(command: str, folder: Path) -> str:
    """Return the standard output of `charz COMMAND`, run in a folder. Raise `CharzError` where it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CHARZ_")}
    done = subprocess.run(
        [sys.executable, "-m", "charz", *shlex.split(command)], cwd=folder, env=environment | {"COLUMNS": str(COLUMNS)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise CharzError("a command of a page fails", f"charz {command}", done.stderr.strip().splitlines()[-1])
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.strip().splitlines())
