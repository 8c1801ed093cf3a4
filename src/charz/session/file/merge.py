"""Models of other files taken in."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from charz.schema.errors import CharzError

from ..answer import Rows, answer
from ..core import Core
from ..parameters import File, Text


class Merge(Core):
    """Models of other files taken in."""

    @answer(is_writing=True)
    def merge(
        self,
        parts: Annotated[
            File | Sequence[File], Text("Files whose models are taken in, one after another.", taken=list[str])
        ],
        *,
        force: Annotated[bool, Text("Put a model in the place of another of its name.")] = False,
    ) -> Rows:
        """Take the models of other files in, with their runs and the answers at hand that hold here too.

        Each file is one transaction, and what was taken in stays when the next fails or the command is killed. A model that the
        file has already, by the hash of its content, is left as it is. Files of another catalog are refused with the difference.
        """
        from charz.sql import answers

        from .. import workspace
        from . import merged_models

        paths = [Path(parts)] if isinstance(parts, str | Path) else [Path(part) for part in parts]
        own = Path(os.path.realpath(self.path))
        paths = [path for path in paths if Path(os.path.realpath(path)) != own]
        if not paths:
            raise CharzError(
                "nothing to merge", str(self.path), next="name other files: `charz merge a.duckdb b.duckdb`"
            )
        if missing := [path for path in paths if not path.is_file()]:
            raise CharzError("no such file", str(missing[0]), next="nothing was taken in")
        rows: list[tuple[str, str, str]] = []
        with self.messages.progress("merge", len(paths)) as done:
            for path in paths:
                with contextlib.closing(workspace.read(path, access=self.access)) as part:
                    workspace.check_own(part, path)
                    with self.changing(fills=False) as connection:
                        merged_models.check(connection, part, path)
                        found = merged_models.merge(connection, part, path, force)
                rows += [(str(path), one.model, one.state) for one in found]
                done(path.name)
        counts = {state: sum(row[2] == state for row in rows) for state in ("written", "unchanged", "refused")}
        self.messages.remark("models: " + ", ".join(f"{count} {state}" for state, count in counts.items() if count))
        if counts["refused"]:
            self.messages.warn("refused: the file has other models of these names; --force puts these in their place")
        with contextlib.closing(self.cursor()) as cursor:
            if lacking := answers.missing(cursor).count:
                self.messages.remark(f"{lacking:,} answers at hand are missing: `charz refresh` fills them")
        return Rows(("file", "model", "state"), rows, is_failure=counts["refused"] > 0)
