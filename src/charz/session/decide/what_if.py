"""What an answer would be if numbers of parts were others: asked beside the unchanged parts, without writing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from charz.schema.errors import CharzError, unknown_name

from ..answer import Asked, Rows, answer
from ..axes import names
from ..core import Core
from ..parameters import Amount, Text
from ..part_fields import PartField, named, part_fields

METHODS = (
    "report", "compare", "sweep", "recommend", "cost", "memory", "concurrency", "opportunities", "parallel", "llm",
    "explain", "workload", "sql", "hardware.show", "hardware.list", "hardware.diff",
)  # fmt: skip
"""Methods whose answers follow a part's numbers."""

MOST_VARIANTS = 1000
"""Combinations of values in one question."""

AS_IS = "as is"
"""Variant of the file's own numbers."""

Value = Amount | Sequence[Amount]
"""A number in SI units, a text with its unit, several in one text with commas between, or a list of any."""


class WhatIf(Core):
    """Questions about parts that do not exist."""

    @answer()
    def what_if(
        self,
        changes: Annotated[
            Mapping[str, Value],
            Text(
                "PART.FIELD=VALUE, again for each, e.g. rtx4090.sm.unit_count=128,256; `charz hardware show` lists fields."
            ),
        ],
        method: Annotated[str, Text("Command that answers, e.g. report, with its arguments and options.")] = "report",
        *arguments: Any,
        **options: Any,
    ) -> Rows:
        """Answer as if numbers of parts were others, beside the parts as they are; nothing is written.

        Several values of a number make a row of variants, of several numbers all combinations. A method and its arguments
        follow, on the command line after `--`: `charz what-if --set rtx4090.dram.bandwidth_byte_per_s=2TB/s -- report
        resnet50 --on rtx4090`.
        """
        if method not in METHODS:
            raise unknown_name("method of a what-if", method, METHODS)
        *group, name = method.split(".")
        asked: Asked = getattr(_owner(self, group), name).asked
        columns: tuple[str, ...] = ()
        views: tuple[str, ...] = ()
        rows: list[tuple[Any, ...]] = []
        for label, session in self.variants(changes).items():
            with session:
                found = asked.rows(_owner(session, group), *arguments, **options)
                columns, views = found.columns, found.views
                rows += [(label, *row) for row in found.fetch()]
        return Rows(("variant", *columns), rows, views)

    def variants(self, changes: Mapping[str, Value]) -> dict[str, Core]:
        """A session of the file's own numbers, and one for each combination of the values, by what is changed. Raises `CharzError` for a number
        that there is not, and a value that cannot be."""
        from charz.sql.evaluate import Varied

        if not changes:
            raise CharzError("nothing is changed", next="name a number and its value, e.g. rtx4090.sm.unit_count=256")
        found_at = {name: self._part_field(name) for name in changes}
        columns = [part_field.column for part_field in found_at.values()]
        axes = []
        for name, part_field in found_at.items():
            label = name if columns.count(part_field.column) > 1 else name.rpartition(".")[2]
            axes.append(
                [(f"{label}={text}", part_field, value) for text, value in _values(changes[name], name, part_field)]
            )
        if math.prod(map(len, axes)) > MOST_VARIANTS:
            raise CharzError(
                "too many variants", str(math.prod(map(len, axes))), f"at most {MOST_VARIANTS} are possible"
            )
        found: dict[str, Core] = {AS_IS: self.child(self._scope)}
        messages = found[AS_IS].messages = self.messages.once()
        for chosen in itertools.product(*axes):
            changed = [
                Varied(part_field.table, part_field.key, part_field.column, [value]) for _, part_field, value in chosen
            ]
            session = self.child(self._scope, changed)
            session.messages = messages
            found[", ".join(text for text, _, _ in chosen)] = session
        return found

    def _part_field(self, name: str) -> PartField:
        """The number that a name means: `PART.FIELD`, or `PART.` and the end of a field that no other of the part has."""
        part, dot, field = name.partition(".")
        if not dot:
            next = "write e.g. rtx4090.sm.unit_count=256, `charz hardware show PART` lists fields"
            raise CharzError("not a number of a part", name, next=next)
        hardware = self.part_name(part)
        return named(part_fields(self.connection(), hardware), hardware, field)


def _owner(session: Core, group: Sequence[str]) -> Any:
    """What has the methods of a group, or the session itself."""
    return getattr(session, group[0]) if group else session


def _values(given: Value, name: str, part_field: PartField) -> list[tuple[str, float]]:
    """Each value as it was written, and in SI units."""
    texts = names(given) if isinstance(given, str) else given if isinstance(given, Sequence) else [given]
    if not texts:
        raise CharzError("a number without a value", name, next=f"write e.g. {name}=256")
    return [(text if isinstance(text, str) else f"{text:g}", part_field.value(text, name)) for text in texts]
