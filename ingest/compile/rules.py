"""The catalog rows on which compilation depends, in the form that the compiler reads, and their
fingerprint. A model is stale when the rules in its database have another fingerprint than those with
which it was compiled; the view `stale_compilation` computes the same hash in SQL.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from charz.schema.catalog.backend import Backend, FusionRule
from charz.schema.catalog.precision import OperatorClass, Precision, PrecisionPolicy
from charz.schema.row import Row

if TYPE_CHECKING:
    import duckdb

COMPILER_VERSION = 9
"""Number to raise when the compiler gives other rows for the same rules; part of the fingerprint."""

EAGER = "eager"
"""Backend in which Python's references decide the lifetime of a tensor."""

FUSION_CONDITIONS = frozenset({"always", "single_consumer", "same_elements", "chained", "innermost", "inlined"})
POLICY_RULES = frozenset({"drop", "keep", "widen", "promote", "follow", "absent"})

FusionTable = dict[tuple[str, str], frozenset[str]]
"""Conditions that must all be true, by producer and consumer (operator class, or ATen operator such as
`aten.sum`)."""

Recipe = tuple[tuple[bool, ...], frozenset[tuple[tuple[str, str], frozenset[str]]]]
"""Flags of a backend (folds, stores, allocates, serves, is `EAGER`) and its fusions."""

_COLUMNS: dict[type[Row], tuple[str, ...]] = {
    Backend: ("backend", "folds_norm", "stores_wide", "plans_layout", "plans_memory", "calls_aten", "serves", "captures"),
    FusionRule: ("backend", "producer_class", "consumer_class", "condition"),
    OperatorClass: (
        "operator_class", "is_matrix", "is_convolution", "is_foldable", "allocates_result", "is_widening",
        "is_normalizing", "saves_nothing", "takes_bias", "saves_other",
    ),
    Precision: ("precision", "bits", "kind", "accumulator"),
    PrecisionPolicy: (
        "policy", "operator_class", "rule", "compute_precision", "weight_precision", "activation_precision",
    ),
}  # fmt: skip
"""Columns of each rule table on which a model's rows depend, and which the fingerprint covers."""


class PolicyRule(NamedTuple):
    """Rule of a policy for one class; see `schema.catalog.precision.PrecisionPolicy`."""

    rule: str
    compute_precision: str | None
    weight_precision: str | None
    activation_precision: str | None


class Classes(NamedTuple):
    """Operator classes of each kind; see `schema.catalog.precision.OperatorClass`."""

    matrix: frozenset[str]
    convolution: frozenset[str]
    foldable: frozenset[str]
    allocating: frozenset[str]
    widening: frozenset[str]
    normalizing: frozenset[str]
    saving_nothing: frozenset[str]
    taking_bias: frozenset[str]
    saving_other: frozenset[str]


@dataclass(slots=True)
class Rules:
    """Rules of all backends and all precision policies."""

    classes: Classes
    folds_norm: dict[str, bool]
    """True for each backend that folds norms; the keys are the backends to compile for."""
    stores_wide: frozenset[str]
    """Backends that store some results in single precision; see `wide`."""
    plans_layout: frozenset[str]
    """Backends that choose the memory format of images themselves."""
    plans_memory: frozenset[str]
    """Backends whose results reuse the memory of others; see `blocks`."""
    calls_aten: frozenset[str]
    """Backends whose memory on a CPU comes from `malloc`; see `heap`."""
    serves: frozenset[str]
    """Backends that run only models with a key-value cache."""
    captures: dict[str, str]
    """Backend whose kernels another runs as a graph, by the name of that other."""
    fusion: dict[str, FusionTable]
    """Fusion rules by backend."""
    bits: dict[str, float]
    """Widths by precision. [bit]"""
    kind: dict[str, str]
    """Kinds by precision."""
    parts: dict[str, str]
    """Type of the two parts of a complex number, by its precision."""
    policies: dict[str, dict[str, PolicyRule]]
    """Rules by policy and class, ATen operator or `*`."""
    fingerprint: str
    """Compiler version and hash of the rows."""

    def recipe(self, backend: str) -> Recipe:
        """Return everything that decides a backend's rows of a graph: backends with equal recipes have equal kernels."""
        named = (self.stores_wide, self.plans_memory, self.calls_aten, self.serves, frozenset({EAGER}))
        flags = (self.folds_norm[backend], *(backend in names for names in named))
        return flags, frozenset(self.fusion[backend].items())


def from_rows(rows: Mapping[type[Row], Sequence[Row]]) -> Rules:
    """Build the rules from catalog rows by type, as in `hardware_catalog.loader.load().rows`."""
    return _build({t: [tuple(getattr(r, c) for c in columns) for r in rows[t]] for t, columns in _COLUMNS.items()})


def from_connection(connection: duckdb.DuckDBPyConnection) -> Rules:
    """Read the current rules of a database."""
    return _build({t: connection.sql(f"SELECT {', '.join(c)} FROM {t.TABLE}").fetchall() for t, c in _COLUMNS.items()})


def by_table(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return a hash of each table of a database's current rules."""
    tables = {t: connection.sql(f"SELECT {', '.join(c)} FROM {t.TABLE}").fetchall() for t, c in _COLUMNS.items()}
    return {row_type.TABLE: fingerprint({row_type: rows}) for row_type, rows in tables.items()}


def _build(tables: Mapping[type[Row], Sequence[tuple[Any, ...]]]) -> Rules:
    backends = {name: folds_norm for name, folds_norm, *_ in tables[Backend]}
    bits = {name: width for name, width, *_ in tables[Precision]}
    classes = tables[OperatorClass]
    return Rules(
        classes=Classes(*(_where(classes, column) for column in range(1, len(_COLUMNS[OperatorClass])))),
        folds_norm=backends,
        stores_wide=_where(tables[Backend], 2),
        plans_layout=_where(tables[Backend], 3),
        plans_memory=_where(tables[Backend], 4),
        calls_aten=_where(tables[Backend], 5),
        serves=_where(tables[Backend], 6),
        captures=_captures(tables[Backend], backends),
        fusion=_fusion(tables[FusionRule], backends),
        bits=bits,
        kind={name: kind for name, _, kind, _ in tables[Precision]},
        parts={name: accumulator for name, _, kind, accumulator in tables[Precision] if kind == "complex"},
        policies=_policies(tables[PrecisionPolicy], bits),
        fingerprint=fingerprint(tables),
    )


def _where(rows: Sequence[tuple[Any, ...]], column: int) -> frozenset[str]:
    """Return the names (first column) of the rows for which a column is true."""
    return frozenset(row[0] for row in rows if row[column])


def _captures(rows: Sequence[tuple[Any, ...]], backends: Mapping[str, bool]) -> dict[str, str]:
    found = {name: captured for name, *_, captured in rows if captured is not None}
    for name, captured in found.items():
        if captured not in backends or captured in found:
            known = sorted(set(backends).difference(found))
            raise ValueError(_not_one_of(f"backend {name}: captures", captured, known))
    return found


def fingerprint(tables: Mapping[type[Row], Sequence[tuple[Any, ...]]]) -> str:
    """Return the compiler version and MD5 of all rule rows as sorted lines, for comparison only."""
    lines = [f"{t.TABLE}|{'|'.join(_text(v) for v in row)}" for t, rows in tables.items() for row in rows]
    digest = hashlib.md5("\n".join(sorted(lines)).encode(), usedforsecurity=False).hexdigest()
    return f"{COMPILER_VERSION}-{digest}"


def _text(value: object) -> str:
    """Format a value as SQL's `CAST(value AS VARCHAR)` does; null is empty."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _fusion(rows: Iterable[tuple[str, str, str, str]], backends: Mapping[str, bool]) -> dict[str, FusionTable]:
    found: dict[str, dict[tuple[str, str], set[str]]] = {name: defaultdict(set) for name in backends}
    for backend, producer, consumer, condition in rows:
        if backend not in backends:
            raise ValueError(f"fusion_rule: backend {backend!r} is not a row of backend ({', '.join(backends)})")
        if condition not in FUSION_CONDITIONS:
            raise ValueError(
                _not_one_of(f"fusion_rule {backend} {producer} {consumer}: condition", condition, FUSION_CONDITIONS)
            )
        found[backend][producer, consumer].add(condition)
    return {name: {pair: frozenset(c - {"always"}) for pair, c in table.items()} for name, table in found.items()}


def _policies(rows: Iterable[tuple[Any, ...]], bits: Mapping[str, float]) -> dict[str, dict[str, PolicyRule]]:
    policies: dict[str, dict[str, PolicyRule]] = {}
    for policy, operator_class, *values in rows:
        rule = PolicyRule(*values)
        where = f"precision_policy {policy} {operator_class}"
        if rule.rule not in POLICY_RULES:
            raise ValueError(_not_one_of(f"{where}: rule", rule.rule, POLICY_RULES))
        if rule.rule == "drop" and rule.compute_precision is None:
            raise ValueError(f"{where}: rule `drop` needs a compute_precision")
        for precision in rule[1:]:
            if precision is not None and precision not in bits:
                raise ValueError(_not_one_of(f"{where}: precision", precision, bits))
        policies.setdefault(policy, {})[operator_class] = rule
    for policy, by_class in policies.items():
        if "*" not in by_class:
            raise ValueError(f"precision_policy {policy}: no row for operator_class `*`; add one for all other classes")
    return policies


def _not_one_of(what: str, value: str, known: Iterable[str]) -> str:
    return f"{what} {value!r} is not one of {', '.join(sorted(known))}"
