"""The message of a lint: file, field, value and remedy, in one line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from charz.schema.errors import CharzError


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of the catalog."""

    path: Path
    place: str
    value: object
    remedy: str

    def __str__(self) -> str:
        value = "missing" if self.value is None else str(self.value)
        shown = value if len(value) <= 120 else value[:117] + "..."
        return f"{self.path.name}: {self.place}: {shown}: {self.remedy}"


class CatalogError(CharzError):
    """An error of the catalog, or of a part to be added, that breaks at least one lint.

    Its one line is the first problem; `problems` lists all.
    """

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        more = f"and {len(problems) - 1} more, charz hardware check lists them" if len(problems) > 1 else ""
        super().__init__(str(problems[0]), next=more)

    def __reduce__(self) -> tuple[type[CatalogError], tuple[list[Problem]]]:  # type: ignore[override]
        """Return the problems to pickle, so that a worker process can send the error."""
        return type(self), (self.problems,)
