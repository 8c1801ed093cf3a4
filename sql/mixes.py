"""Costs of many steps of a served model at once, equal to the live views' but computed from what their kernels share.

A server's steps differ only in requests, new tokens and context. Equal layers have equal kernels at any of these sizes, so one of them
is costed and counted for all. Only attentions depend on the context: other kernels cost the same in every step with as many requests
and tokens. So the views get two small models, `context` with the kernels whose sizes depend on it and `tokens` with the others, each
with its distinct runs. Their costs are joined for each step, and the views go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from charz.schema import ddl

from . import evaluate, holder
from .layers import HARDWARE, WORKLOAD

if TYPE_CHECKING:
    import duckdb
    import polars as pl

    from .installed import Catalog
    from .scopes import Scope

SUMMED = "model_cost"
"""View that answers for the steps."""

_OF_KERNELS = {"merged_kernel": "backend", "kernel": "backend", "kernel_operator": "backend", "kernel_tensor": "backend"}
_OF_OPERATORS = {
    "operator": "", "operator_step": "", "term": "", "operator_layout": "", "operator_split": "", "access_term": "", "layout_copy": "",
    "operator_precision": "policy", "read_precision": "policy", "precision_cast": "policy",
}  # fmt: skip
_OF_TENSORS = {"tensor": "", "tensor_term": "", "tensor_precision": "policy"}
"""Facts of a model by the key of their rows, each with the column of the condition that selects its rows."""


TAKES = """
SELECT COALESCE(bool_and(dispatch = 'graph' AND NOT COALESCE(keeps_weights, FALSE)), FALSE)
FROM part_support WHERE hardware = ? AND backend = ?
"""
"""Query that tells whether steps on a part under a backend can be computed here: the backend launches all kernels of a step at once, and
no cache of the part keeps weights, which would need the memory of the whole run."""


@contextmanager
def evaluated(
    connection: duckdb.DuckDBPyConnection, scope: Scope, known: Catalog, mixes: pl.DataFrame
) -> Iterator[None]:
    """Make `model_cost` report the costs of steps within the block: one row per mix, for the scope's only target, with the conditions
    of its only scenario except the sizes. Mixes are distinct rows of requests, new tokens per request and tokens that each attends to,
    new ones included."""
    (run,) = scope.scenarios or ()
    (model,) = scope.models or ()
    made = holder.hold(connection, scope, ["run_memory"], known)
    workload = {relation.name for relation in known.of(WORKLOAD)}
    made += holder.hold(connection, scope, [SUMMED], known, {*workload, *made})
    layer = _Steps(connection, known, model, run, made)
    try:
        layer.lay(mixes)
        yield
    finally:
        holder.release(connection, list(dict.fromkeys(made)))


class _Steps:
    """Builder of the temporary tables by which the views evaluate many steps."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, known: Catalog, model: str, run: Mapping[str, Any], made: list[str]
    ) -> None:
        self.connection, self.known, self.model, self.run, self.made = connection, known, model, run, made
        self.values = {"backend": run["backend"], "policy": run["precision"]}

    def lay(self, mixes: pl.DataFrame) -> None:
        """Make the temporary tables of the steps."""
        self.connection.execute("ALTER TABLE run_memory RENAME TO memory_of_one")
        self.made.append("memory_of_one")
        self._lay_models()
        self._lay_runs(mixes)
        is_split = (self.run["device_count"] or 1) > 1
        shared = ("run_collective", "shape_share") if is_split else ()
        self._evaluate_workload([*_SHAPES, *shared])
        self._evaluate_costs()
        self._join_steps(is_split)

    def _table(self, name: str, query: str, values: Mapping[str, Any] | None = None) -> None:
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {ddl.quote(name)} AS {query}", dict(values or {}))
        self.made.append(name)

    def _lay_models(self) -> None:
        """Make the two small models, with one kernel for each group of equal ones."""
        of_model = {"model": self.model}
        self._table("alike_kernel", _ALIKE, {**of_model, **self.values, "format": self.run["memory_format"]})
        named = {**of_model, "backend": self.values["backend"]}
        self._table("kept_operator", _KEPT_OPERATORS, named)
        self._table("kept_tensor", _KEPT_TENSORS, named)
        for facts, kept, key in (
            (_OF_KERNELS, "alike_kernel", "kernel_id"), (_OF_OPERATORS, "kept_operator", "operator_id"),
            (_OF_TENSORS, "kept_tensor", "tensor_id"), ({"edge": ""}, "kept_operator", "consumer_operator_id"),
        ):  # fmt: skip
            held = "operator_id" if key == "consumer_operator_id" else key
            for fact, condition in facts.items():
                of_run = f" AND x.{condition} = $condition" if condition else ""
                self._table(
                    fact,
                    f"SELECT x.* REPLACE (a.model AS model) FROM {fact} AS x JOIN {kept} AS a ON a.{held} = x.{key}"
                    f" WHERE x.model = $model{of_run}",
                    {**of_model, **({"condition": self.values[condition]} if condition else {})},
                )
        self._table("model", f"SELECT x.* REPLACE (n.model AS model) FROM model AS x CROSS JOIN {_NAMES}")

    def _lay_runs(self, mixes: pl.DataFrame) -> None:
        """Make scenarios and runs: for the model `tokens` one run for all mixes with as many requests and tokens, for `context` one for
        each mix."""
        self.connection.register("asked_mix", mixes.to_arrow())
        self._table("scenario", f"SELECT o.* REPLACE ({_SIZES}) FROM scenario AS o CROSS JOIN ({_RUNS}) AS i")
        self.connection.unregister("asked_mix")
        body = self.known.relations["run"].body
        self._table("run", f"SELECT * FROM ({body}) WHERE (run.model = 'tokens') = (run.scenario_id < 0)")
        # Weights and buffers are those of any step; on these parts no answer reads a step's activations.
        self._table("run_memory", "SELECT r.run, m.* EXCLUDE (run) FROM run AS r CROSS JOIN memory_of_one AS m")

    def _evaluate_workload(self, wanted: list[str]) -> None:
        """Evaluate the shapes of the small models' kernels, each counted as often as its group has kernels."""
        ends = {"run", "run_memory", "merged_kernel", *(relation.name for relation in self.known.of(HARDWARE))}
        needed = self.known.upstream(wanted, ends)
        for relation in self.known.of(WORKLOAD):
            if relation.name not in needed or relation.name in ends:
                continue
            self._table(relation.name, relation.body)
            if relation.name == "split_kernel":
                self._table("split_kernel", _REPEATED)
        self._table("shape", _COUNTED)

    def _evaluate_costs(self) -> None:
        """Evaluate the costs of the shapes on the part."""
        ends = {*_SHAPES, "run", "run_memory", *(relation.name for relation in self.known.of(HARDWARE))}
        below = self.known.upstream([SUMMED], ends)
        columns = ", ".join(evaluate.columns_read(self.known, [SUMMED], below)[evaluate.COSTED])
        with (
            evaluate.shared(self.connection, self.known, [evaluate.COSTED], is_narrow=False, held=ends),
            evaluate.in_order(self.connection),
        ):
            self._table("costed_shape", f"SELECT {columns} FROM {evaluate.COSTED}")

    def _join_steps(self, is_split: bool) -> None:
        """Join costs, runs and collectives of each step."""
        self._table(evaluate.COSTED, _JOINED.format(relation="costed_shape"), {"model": self.model})
        for name in ("shape_share", "run_collective"):
            joined = _JOINED.format(relation=name) if is_split else f"SELECT * FROM {name} LIMIT 0"
            self._table(name, joined, {"model": self.model} if is_split else {})
        if is_split:
            self._table("run_collective", _SUMMED_COLLECTIVES)
        self._table("run_kernel", "SELECT * FROM run_kernel LIMIT 0")
        renamed = _RENAMED.format(run="r.run")
        self._table("run", f"SELECT * REPLACE ({renamed}) FROM run AS r WHERE r.run.model = 'context'", {"model": self.model})


_SHAPES = ("shape", "shape_step", "shape_link")
"""Maintained tables that the costs depend on."""

_NAMES = "(VALUES ('tokens'), ('context')) AS n (model)"

_RUNS = """
SELECT -ROW_NUMBER() OVER (ORDER BY requests, tokens) AS number, requests, tokens, tokens AS context
FROM asked_mix GROUP BY requests, tokens
UNION ALL
SELECT ROW_NUMBER() OVER (ORDER BY requests, tokens, context), requests, tokens, context FROM asked_mix
"""
"""Query for the runs; ids below 0 are those of requests and tokens alone."""

_SIZES = """
    CAST(i.number AS BIGINT) AS scenario_id,
    CAST(i.requests AS BIGINT) AS batch,
    CASE WHEN i.tokens = 1 THEN 'decode' ELSE 'prefill' END AS phase,
    CASE WHEN i.tokens > 1 THEN CAST(i.tokens AS BIGINT) END AS sequence,
    CAST(i.context AS BIGINT) AS context
"""

_KEPT_OPERATORS = """
SELECT DISTINCT a.model, x.operator_id
FROM alike_kernel AS a
JOIN kernel_operator AS x ON x.model = $model AND x.backend = $backend AND x.kernel_id = a.kernel_id
"""

_KEPT_TENSORS = """
WITH named AS (
    SELECT a.model, x.tensor_id
    FROM alike_kernel AS a
    JOIN kernel_tensor AS x ON x.model = $model AND x.backend = $backend AND x.kernel_id = a.kernel_id
    UNION ALL
    SELECT k.model, e.tensor_id
    FROM kept_operator AS k JOIN edge AS e ON e.model = $model AND e.consumer_operator_id = k.operator_id
    UNION ALL
    SELECT k.model, s.collective_tensor_id
    FROM kept_operator AS k JOIN operator_split AS s ON s.model = $model AND s.operator_id = k.operator_id
)
SELECT n.model, t.tensor_id
FROM named AS n JOIN tensor AS t ON t.model = $model AND t.tensor_id = n.tensor_id
UNION
SELECT n.model, t.storage_tensor_id
FROM named AS n JOIN tensor AS t ON t.model = $model AND t.tensor_id = n.tensor_id
"""

_REPEATED = """
SELECT s.*
FROM split_kernel AS s
JOIN alike_kernel AS a ON a.model = s.run.model AND a.kernel_id = s.kernel_id
CROSS JOIN LATERAL (SELECT UNNEST(RANGE(a.kernel_count)))
"""

_COUNTED = """
SELECT s.* REPLACE (
    CAST(s.kernel_count * a.kernel_count AS BIGINT) AS kernel_count, CAST(s.view_count * a.kernel_count AS BIGINT) AS view_count
)
FROM shape AS s
JOIN alike_kernel AS a ON a.model = s.run.model AND a.kernel_id = s.shape_id
"""

_RENAMED = """
STRUCT_PACK(
    model := $model, backend := {run}.backend, precision := {run}.precision, batch := {run}.batch, sequence := {run}.sequence,
    scenario_id := {run}.scenario_id
) AS run
"""
"""SQL item that relabels a run of a small model as a run of the full model."""

_JOINED = f"""
SELECT c.* REPLACE ({_RENAMED.format(run="r.run")})
FROM run AS r
JOIN {{relation}} AS c
    ON c.run.model = 'tokens' AND r.run.model = 'context' AND c.run.batch = r.run.batch AND c.run.sequence = r.run.sequence
UNION ALL BY NAME
SELECT c.* REPLACE ({_RENAMED.format(run="c.run")}) FROM {{relation}} AS c WHERE c.run.model = 'context'
"""

_SUMMED_COLLECTIVES = """
SELECT run, device_count, SUM(all_reduce_byte) AS all_reduce_byte,
    SUM(all_reduce_count) AS all_reduce_count, SUM(all_gather_byte) AS all_gather_byte, SUM(all_gather_count) AS all_gather_count
FROM run_collective
GROUP BY ALL
"""

_ALIKE = """
WITH sizes AS (
    SELECT tensor_id, MAX(context_power) AS context_power,
        SUM(HASH(coefficient, batch_power, sequence_power, context_power, logit_power, context_limit)) AS size
    FROM tensor_term WHERE model = $model GROUP BY tensor_id
),
works AS (
    SELECT operator_id, step, MAX(context_power) AS context_power,
        SUM(HASH(quantity, coefficient, batch_power, sequence_power, context_power, logit_power, context_limit)) AS work
    FROM term WHERE model = $model GROUP BY operator_id, step
),
draws AS (
    SELECT operator_id, tensor_id, MAX(context_power) AS context_power,
        SUM(HASH(draw_fraction, coefficient, batch_power, sequence_power, context_power, logit_power, context_limit)) AS draw
    FROM access_term WHERE model = $model GROUP BY operator_id, tensor_id
),
stored AS (
    SELECT t.tensor_id, t.role, t.storage_tensor_id, p.precision, s.size, s.context_power
    FROM tensor AS t
    JOIN tensor_precision AS p ON p.model = t.model AND p.tensor_id = t.tensor_id AND p.policy = $policy
    JOIN sizes AS s ON s.tensor_id = t.tensor_id
    WHERE t.model = $model
),
parts AS (
    SELECT k.kernel_id, k.kernel_id AS first_id, 0 AS context_power,
        HASH(k.kernel_class, k.operator_count, k.view_count, o.aten_operator, l.layout) AS part
    FROM kernel AS k
    JOIN operator AS o ON o.model = k.model AND o.operator_id = k.anchor_operator_id
    LEFT JOIN operator_layout AS l ON l.model = k.model AND l.operator_id = k.anchor_operator_id AND l.memory_format = $format
    WHERE k.model = $model AND k.backend = $backend
    UNION ALL
    SELECT k.kernel_id, NULL, COALESCE(w.context_power, 0),
        HASH(k.step_id, k.step, k.step_class, k.operator_class, p.precision, w.work)
    FROM kernel_step AS k
    JOIN operator_precision AS p ON p.model = k.model AND p.operator_id = k.operator_id AND p.policy = $policy
    LEFT JOIN works AS w ON w.operator_id = k.operator_id AND w.step = k.step
    WHERE k.model = $model AND k.backend = $backend
    UNION ALL
    SELECT k.kernel_id, NULL, GREATEST(t.context_power, COALESCE(d.context_power, 0)),
        HASH('moved', k.direction, k.role, k.is_produced, k.is_wide, t.precision, r.precision, t.size, d.draw)
    FROM kernel_tensor AS k
    JOIN stored AS t ON t.tensor_id = k.tensor_id
    LEFT JOIN draws AS d ON d.operator_id = k.operator_id AND d.tensor_id = k.tensor_id
    LEFT JOIN read_precision AS r
        ON r.model = k.model AND r.operator_id = k.operator_id AND r.tensor_id = k.tensor_id AND r.policy = $policy
    WHERE k.model = $model AND k.backend = $backend
    UNION ALL
    SELECT c.kernel_id, NULL, 0, HASH('held', o.operator_class, t.role, t.precision, t.size)
    FROM edge AS e
    JOIN operator AS o ON o.model = e.model AND o.operator_id = e.consumer_operator_id
    JOIN kernel_operator AS c ON c.model = e.model AND c.operator_id = e.consumer_operator_id
    JOIN tensor AS x ON x.model = e.model AND x.tensor_id = e.tensor_id
    JOIN stored AS t ON t.tensor_id = x.storage_tensor_id
    JOIN tensor AS y ON y.model = x.model AND y.tensor_id = x.storage_tensor_id
    JOIN kernel_operator AS p
        ON p.model = c.model AND p.backend = c.backend AND p.kernel_id = c.kernel_id AND p.operator_id = y.producer_operator_id
    WHERE c.model = $model AND c.backend = $backend
    UNION ALL
    SELECT k.kernel_id, NULL, GREATEST(COALESCE(t.context_power, 0), COALESCE(x.context_power, 0)),
        HASH('split', k.operator_id = a.anchor_operator_id, s.split, s.collective, s.is_expert, s.pieces, s.fewer_pieces,
            s.fewer_fraction, t.size, t.precision, x.size, x.precision)
    FROM kernel_operator AS k
    JOIN kernel AS a ON a.model = k.model AND a.backend = k.backend AND a.kernel_id = k.kernel_id
    JOIN operator_split AS s ON s.model = k.model AND s.operator_id = k.operator_id
    LEFT JOIN stored AS t ON t.tensor_id = s.collective_tensor_id
    LEFT JOIN stored AS x ON x.tensor_id = s.exchanged_tensor_id
    WHERE k.model = $model AND k.backend = $backend
    UNION ALL
    SELECT kernel_id, NULL, 0, HASH('merged') FROM merged_kernel WHERE model = $model AND backend = $backend
),
kernels AS (
    SELECT kernel_id, MAX(context_power) > 0 AS has_context, SUM(part) AS likeness
    FROM parts GROUP BY kernel_id
)
SELECT CASE WHEN has_context THEN 'context' ELSE 'tokens' END AS model, MIN(kernel_id) AS kernel_id, COUNT(*) AS kernel_count
FROM kernels GROUP BY likeness, has_context
"""
"""Query for groups of kernels that are equal at every size: with the same steps and tensors, whose polynomials are equal."""
