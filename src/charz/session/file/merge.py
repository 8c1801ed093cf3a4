"""The command that adds the models of other files."""

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
    """Merging of databases."""

    @answer(is_writing=True)
    def merge(
        self,
        parts: Annotated[
            File | Sequence[File], Text("Databases whose models are added, one after another.", taken=list[str])
        ],
        *,
        force: Annotated[bool, Text("Replace models of the same name.")] = False,
    ) -> Rows:
        """Add the models of other databases, with their runs and the answers at hand (precomputed predictions) that are also valid here.

        Each file is added in one transaction. If a later file fails or the command is killed, earlier files stay added. A model is skipped
        if this database has a model of the same name and content. A file with another catalog is refused, and the difference is printed.
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
            raise CharzError("no such file", str(missing[0]), next="nothing was added")
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
            self.messages.warn("refused: this database has different models of the same names; --force replaces them")
        with contextlib.closing(self.cursor()) as cursor:
            if lacking := answers.missing(cursor).count:
                self.messages.remark(f"{lacking:,} answers at hand are missing: `charz refresh` fills them")
        return Rows(("file", "model", "state"), rows, is_failure=counts["refused"] > 0)
