"""The command that runs another command with changed numbers of parts or changed models, without writing."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from charz.schema.errors import CharzError, unknown_name

from ..answer import Asked, Rows, answer
from ..axes import names
from ..core import Core
from ..parameters import Amount, Text
from ..part_fields import PartField, dataflow_field, named, part_fields
from . import model_sizes
from .arrays import arrays
from .design_space import ARRAY, Axis, short_axis

if TYPE_CHECKING:
    from charz.ingest.sources.spec import Spec

METHODS = (
    "report", "compare", "recommend", "opportunities", "parallel", "llm",
    "explain", "workload", "sql", "hardware.show", "hardware.list", "hardware.diff",
)  # fmt: skip
"""Methods whose results depend on a part's numbers."""

_WITHOUT_MODEL = frozenset({"workload", "sql", "hardware.show", "hardware.list", "hardware.diff"})
"""Methods without a parameter for models."""

MOST_VARIANTS = 1000
"""Largest number of combinations of values in one command."""

AS_IS = "as is"
"""Name of the variant without changes."""

Value = Amount | Sequence[Amount]
"""A number in SI units, a text with a unit such as `2TB/s`, a text of several values separated by commas, or a list of values."""


_Variants = dict[str, tuple[str, dict[str, Any]]]
"""Variants by label. A variant is the name of a model, and the options that apply the change."""


class WhatIf(Core):
    """Questions about hypothetical parts and models."""

    _copy: tuple[str, contextlib.ExitStack, Any, dict[str, str]] | None = None
    """Last copy of the file with changed models: the key of the change, the stack that closes the copy, the copy's session, and the models' names
    in the copy."""

    @answer()
    def what_if(
        self,
        /,
        changes: Annotated[
            Mapping[str, Value],
            Text(
                "Changed number, PART.FIELD=VALUE; repeatable, e.g. rtx4090.sm.unit_count=128,256 or kpu_t64.array=16 (size of the arrays)."
                " `charz hardware show` lists fields."
            ),
        ],
        method: Annotated[str, Text("Command to run, e.g. report, followed by the command's arguments and options.")] = "report",
        *arguments: Any,
        sizes: Annotated[
            Mapping[str, Value] | None,
            Text(
                "Changed size of the model, SIZE=VALUE; repeatable: width, depth, a setting of the configuration, or resolution (of images).",
                flag="model",
                taken=list[str] | None,
            ),
        ] = None,
        modules: Annotated[
            Mapping[str, str] | None,
            Text(
                "Precision of some modules, PATTERN=PRECISION; repeatable, e.g. 'layer4.*=int8'.",
                flag="precision",
                taken=list[str] | None,
            ),
        ] = None,
        **options: Any,
    ) -> Rows:
        """Run a command with changed numbers of parts, model sizes or precisions of modules, and without changes for comparison.

        Nothing is written. Each combination of the given values is a variant. On the command line, the command and its arguments follow after `--`:
        `charz what-if --set rtx4090.dram.bandwidth_byte_per_s=2TB/s -- report resnet50 --on rtx4090`. Models of other sizes are traced into a temporary
        copy of the file: `charz what-if --model width=1024,2048 -- report synthetic:mlp --on t4`. Models with some modules in another precision are
        traced in the same way: `charz what-if --precision 'layer4.*=int8' -- report resnet18 --on t4`.
        """
        self.stays_here("a what-if")
        if method not in METHODS:
            raise unknown_name("method of a what-if", method, METHODS)
        if sizes or modules:
            if not self.access.may_ingest:
                raise CharzError("this server runs no models", "changed sizes and precisions", next="`charz mcp --write` does")
            return self._of_models(sizes or {}, modules or {}, changes, method, arguments, options)
        columns: tuple[str, ...] = ()
        views: tuple[str, ...] = ()
        rows: list[tuple[Any, ...]] = []
        for label, session in self.variants(changes).items():
            with session:
                found = _answered(session, method, *arguments, **options)
                columns, views = found.columns, found.views
                rows += [(label, *row) for row in found.fetch()]
        return Rows(("variant", *columns), rows, views)

    def _of_models(
        self,
        sizes: Mapping[str, Value],
        modules: Mapping[str, str],
        changes: Mapping[str, Value],
        method: str,
        arguments: Sequence[Any],
        options: Mapping[str, Any],
    ) -> Rows:
        """Run the command for the unchanged model and for each variant of the model, in a copy of the file."""
        word = next((name for name in ("model", "models") if name in options), None)
        if method in _WITHOUT_MODEL or (word is None and not arguments):
            raise CharzError("no model to change", method, next="ask e.g. report synthetic:mlp --on t4")
        (model, *others) = names(options[word] if word else arguments[0])
        if others:
            raise CharzError("the changes apply to several models", ", ".join((model, *others)), "one is allowed", "ask about one")
        if sizes and modules:
            raise CharzError("sizes and precisions are both changed", model, next="change one of them at a time")
        rows: list[tuple[Any, ...]] = []
        session, found = self._mixed(model, modules, options) if modules else self._sized(model, sizes)
        for label, (other, more) in found.items():
            given = {**options, **more, **({word: other} if word else {})}
            positional = arguments if word else (other, *arguments[1:])
            if changes:
                told = session.what_if.asked.rows(session, changes, method, *positional, **given)  # type: ignore[attr-defined]
                rows += [(f"{label}; {row[0]}", *row[1:]) for row in told.fetch()]
                columns = told.columns[1:]
            else:
                told = _answered(session, method, *positional, **given)
                rows += [(label, *row) for row in told.fetch()]
                columns = told.columns
        return Rows(("variant", *columns), rows, told.views)

    def _sized(self, model: str, sizes: Mapping[str, Value]) -> tuple[Any, _Variants]:
        """Return a session whose file contains the model in other sizes, and the variants, the unchanged model first."""
        wanted = model_sizes.specs(self, model, sizes)
        if model not in self._names("model"):
            wanted = {AS_IS: model_sizes.own(self, model), **wanted}
        session, found = self._copied(repr((model, sorted(sizes.items()))), wanted)
        return session, {label: (other, {}) for label, other in {AS_IS: model, **found}.items()}

    def _mixed(self, model: str, modules: Mapping[str, str], options: Mapping[str, Any]) -> tuple[Any, _Variants]:
        """Return a session whose file also contains the model under a precision policy for its modules, and the variants, the unchanged model first."""
        (base, *others) = names(options.get("precision")) or [
            self.usual_policy(names(options.get("on")), names(options.get("backend")))
        ]
        if others:
            raise CharzError("several precisions of the other modules", ", ".join((base, *others)), next="name one")
        self.check_run((), (base, *modules.values()))
        name, statement = model_sizes.policy(base, modules)
        wanted = {name: model_sizes.own(self, model)}
        session, found = self._copied(repr((model, base, name)), wanted, statement)
        model_sizes.check_modules(session, found[name], modules)
        several = isinstance(options.get("precision"), list)
        return session, {
            label: (found[name], {"precision": [precision] if several else precision})
            for label, precision in ((AS_IS, base), (name, name))
        }

    def _copied(self, key: str, wanted: Mapping[str, Spec], statement: str = "") -> tuple[Any, dict[str, str]]:
        """Return the session of a copy with these models, kept for the next section of the same question."""
        if self._copy is None or self._copy[0] != key:
            self._forget()
            with contextlib.ExitStack() as stack:
                session, found = stack.enter_context(model_sizes.copied(self, wanted, statement))
                self._copy = (key, stack.pop_all(), session, found)
        return self._copy[2], self._copy[3]

    def close(self) -> None:
        """Close the file, and the copy with models of other sizes."""
        self._forget()
        super().close()

    def _forget(self) -> None:
        copy, self._copy = self._copy, None
        if copy is not None:
            copy[1].close()

    def variants(self, changes: Mapping[str, Value]) -> dict[str, Core]:
        """Return a session without changes, and a session for each combination of the values, by label. Raise `CharzError` for an unknown number and an
        invalid value."""
        from charz.sql.scopes import Varied

        if not changes:
            raise CharzError("nothing is changed", next="name a number and its value, e.g. rtx4090.sm.unit_count=256")
        arrays_at = {name: axis for name, given in changes.items() if (axis := self._array(name, given))}
        found_at = {name: self._part_field(name) for name in changes if name not in arrays_at}
        columns = [part_field.column for part_field in found_at.values()]
        axes: list[list[tuple[str, dict[PartField, float | str]]]] = []
        for name, part_field in found_at.items():
            label = name if columns.count(part_field.column) > 1 else name.rpartition(".")[2]
            axes.append(
                [(f"{label}={text}", {part_field: value}) for text, value in _values(changes[name], name, part_field)]
            )
        for name, axis in arrays_at.items():
            label = name if len(arrays_at) > 1 else axis.name
            axes.append([(f"{label}={v:g}" if isinstance(v, float) else f"{label}={v}", axis.numbers(v)) for v in axis.values])
        if math.prod(map(len, axes)) > MOST_VARIANTS:
            raise CharzError(
                "too many variants", str(math.prod(map(len, axes))), f"at most {MOST_VARIANTS} are possible"
            )
        changed_at = [part_field for axis in axes for part_field in axis[0][1]]
        parts = dict.fromkeys(dict(part_field.key)["hardware"] for part_field in changed_at)
        connection = self.connection()
        found_arrays = [array for part in parts for array in arrays(connection, part, part_fields(connection, part))]
        found: dict[str, Core] = {AS_IS: self.child(self._scope)}
        messages = found[AS_IS].messages = self.messages.once()
        for chosen in itertools.product(*axes):
            values: dict[PartField, float | str] = {}
            for _, numbers in chosen:
                values |= numbers
            for array in found_arrays:
                values |= array.following(values)
            changed = [Varied(field.table, field.key, field.column, [value]) for field, value in values.items()]
            session = self.child(self._scope, changed)
            session.messages = messages
            found[", ".join(text for text, _ in chosen)] = session
        return found

    def _array(self, name: str, given: Value) -> Axis | None:
        """Return the axis of the arrays' size for a name `PART.array`; None for another name."""
        part, _, field = name.partition(".")
        if field != ARRAY:
            return None
        values = ",".join(model_sizes.shown(one) for one in model_sizes.given("number", name, given))
        axis = short_axis(self.connection(), self.part_name(part), ARRAY, values)
        if axis is None:
            raise CharzError("no array of known shape", part, next="TPUs, KPUs and parts with array_rows have an array")
        return axis

    def _part_field(self, name: str) -> PartField:
        """Find a number by its name `PART.FIELD`. FIELD may be a unique ending of a field's name."""
        part, dot, field = name.partition(".")
        if not dot:
            next = "write e.g. rtx4090.sm.unit_count=256, `charz hardware show PART` lists fields"
            raise CharzError("not a number of a part", name, next=next)
        hardware = self.part_name(part)
        connection = self.connection()
        word = dataflow_field(connection, hardware)
        return named([*part_fields(connection, hardware), *([word] if word else [])], hardware, field)


def _answered(session: Core, method: str, *arguments: Any, **options: Any) -> Rows:
    """Call a method of the session, or of one of its groups, and return its rows."""
    *group, name = method.split(".")
    owner: Any = getattr(session, group[0]) if group else session
    asked: Asked = getattr(owner, name).asked
    return asked.rows(owner, *arguments, **options)


def _values(given: Value, name: str, part_field: PartField) -> list[tuple[str, float | str]]:
    """Return pairs for the values of a change: the text that the user wrote, and the value in SI units or as a full word."""
    return [(model_sizes.shown(one), part_field.value(one, name)) for one in model_sizes.given("number", name, given)]
