"""The cost model's views over exactly the measured runs.

The views answer every model under every scenario on every part; a data set needs a few of those. On a cursor of the caller's
connection, temporary tables with only the measured runs replace the maintained ones (`holder.hold`), so that scoring costs only
these. No formula is repeated: every number comes from the SQL.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import duckdb
import polars as pl

from charz.schema import ddl
from charz.schema.catalog.efficiency import Efficiency
from charz.schema.scenario import Scenario
from charz.sql import holder, scopes
from charz.sql.installed import column_names, relations
from charz.sql.layers import HARDWARE, WORKLOAD

from .questions import MEASURED

CASE_COLUMNS = ("model", "hardware", "backend", "precision", "memory_format", "batch", "sequence", "host_factor")
"""Columns that identify a prediction; `sequence` is null for the model's default."""


class Workbench:
    """A cursor on which every view sees the given cases and no others; the caller's connection is unchanged.

    `cases` has `CASE_COLUMNS`; each gets a `scenario_id`. `efficiency` replaces the database's efficiency rows, `overrides` whole
    tables by name. Use as a context manager.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        cases: pl.DataFrame,
        efficiency: pl.DataFrame | None = None,
        overrides: dict[str, pl.DataFrame] | None = None,
    ) -> None:
        self.connection = connection.cursor()
        self.cases = with_scenarios(cases)
        replaced = dict(overrides or {})
        if efficiency is not None:
            replaced[Efficiency.TABLE] = efficiency
        for name, frame in replaced.items():
            self._hide(name, frame)
        self._hide("wanted_run", self.cases.select("model", "scenario_id", "hardware").unique())
        self._evaluate_parts(set(replaced))
        scenarios = _scenarios(self.cases).to_dicts()
        wanted = "(run.model, run.scenario_id) IN (SELECT (model, scenario_id) FROM wanted_run)"
        holder.hold(self.connection, scopes.Scope(scenarios=scenarios, runs=wanted))
        self._groups = self._parts_with_equal_runs()
        self._tables = [r for r in relations(self.connection) if r.is_table and r.layer in (HARDWARE, WORKLOAD)]
        self._copy("every {}", "{}")

    def __enter__(self) -> Workbench:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def predict(self, columns: Iterable[str] = ("latency_s",), view: str = "model_cost") -> pl.DataFrame:
        """Join the given columns of `view` to the cases."""
        keys = ["model", "scenario_id", "hardware"]
        found = self.sql(f"SELECT {', '.join((*keys, *columns))} FROM {view}")
        return self.cases.join(found, on=keys, how="left")

    def sql(self, query: str) -> pl.DataFrame:
        """Return the rows of a query, for every case, over views that have a part per row."""
        frames = []
        for parts, runs in self._groups:
            self._narrow(parts, runs)
            frames.append(self.connection.sql(query).pl())
        return pl.concat(frames)

    def replace(self, table: str, frame: pl.DataFrame) -> None:
        """Replace a table of the catalog and recompute the tables that depend on it."""
        self.connection.execute(f"DROP TABLE temp.{ddl.quote(table)}")
        self._hide(table, frame)
        self._copy("{}", "every {}")
        self._evaluate_parts({table})
        self._copy("every {}", "{}")

    def _hide(self, name: str, frame: pl.DataFrame) -> None:
        self.connection.register("frame_of_table", frame.to_arrow())
        self.connection.execute(f"CREATE TEMP TABLE {ddl.quote(name)} AS SELECT * FROM frame_of_table")
        self.connection.unregister("frame_of_table")

    def _evaluate_parts(self, changed: set[str]) -> None:
        """Recompute the wanted parts' tables that depend on a changed table, and copy the others."""
        rests = set(changed)
        wanted = "hardware IN (SELECT hardware FROM wanted_run)"
        for relation in relations(self.connection):
            if relation.layer != HARDWARE:
                continue
            rows = ddl.quote(relation.name)
            if rests & set(relation.reads):
                rests.add(relation.name)
                rows = f"({relation.body})"
            if relation.is_table:
                condition = wanted if "hardware" in column_names(self.connection, relation.name) else "TRUE"
                name = ddl.quote(relation.name)
                self.connection.execute(
                    f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM {rows} WHERE {condition}"
                )

    def _parts_with_equal_runs(self) -> list[tuple[list[str], pl.DataFrame]]:
        """Group the parts by their wanted runs."""
        columns = ["model", "scenario_id"]
        groups: dict[tuple[tuple[object, ...], ...], list[str]] = defaultdict(list)
        frames: dict[tuple[tuple[object, ...], ...], pl.DataFrame] = {}
        for (part,), cases in self.cases.group_by("hardware"):
            runs = cases.select(columns).unique().sort(columns)
            groups[tuple(runs.rows())].append(str(part))
            frames[tuple(runs.rows())] = runs
        return sorted(((sorted(parts), frames[key]) for key, parts in groups.items()), key=lambda group: group[0])

    def _copy(self, to: str, of: str) -> None:
        """Copy every maintained table under another name, if tables are narrowed and the originals must be kept."""
        if len(self._groups) == 1:
            return
        for table in self._tables:
            target, source = (ddl.quote(name.format(table.name)) for name in (to, of))
            self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {target} AS SELECT * FROM {source}")

    def _narrow(self, parts: list[str], runs: pl.DataFrame) -> None:
        """Restrict the views to these parts and runs: every run on every part would cost more than asked."""
        if len(self._groups) == 1:
            return
        listed = ", ".join(map(ddl.literal, parts))
        self.connection.register("runs_of_parts", runs.to_arrow())
        for table in self._tables:
            if table.layer == WORKLOAD:
                kept = "AS t SEMI JOIN runs_of_parts AS r ON r.model = t.run.model AND r.scenario_id = t.run.scenario_id"
            elif "hardware" in column_names(self.connection, table.name):
                kept = f"WHERE hardware IN ({listed})"
            else:
                continue
            name, every = ddl.quote(table.name), ddl.quote(f"every {table.name}")
            self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM {every} {kept}")
        self.connection.unregister("runs_of_parts")


def with_scenarios(cases: pl.DataFrame) -> pl.DataFrame:
    """Give each case a scenario number, one per distinct set of conditions. Missing condition columns get defaults: warm caches, the
    whole sequence in one pass, self-attention without earlier tokens, each part's default power mode."""
    usual = {
        "cache_state": pl.lit("warm"), "phase": pl.lit("forward"), "context": pl.lit(None, pl.Int64),
        "power": pl.lit(None, pl.String),
    }  # fmt: skip
    cases = cases.with_columns(value.alias(name) for name, value in usual.items() if name not in cases.columns)
    conditions = [*(c for c in CASE_COLUMNS if c not in ("model", "hardware")), *usual]
    distinct = cases.select(conditions).unique(maintain_order=True).with_row_index("scenario_id", offset=1)
    return cases.join(
        distinct.with_columns(pl.col("scenario_id").cast(pl.Int64)), on=conditions, how="left", nulls_equal=True
    )


def _scenarios(cases: pl.DataFrame) -> pl.DataFrame:
    """Make the `scenario` rows of the cases; conditions that no measurement states are null."""
    columns = ddl.columns(Scenario)
    found = cases.select(_STATED).unique("scenario_id").with_columns(origin=pl.lit("measurement"))
    left_open = [pl.lit(None, _TYPES[c.python_type]).alias(c.name) for c in columns if c.name not in found.columns]
    return found.with_columns(left_open).select(column.name for column in columns)


_STATED = (
    "scenario_id", "batch", "sequence", "context", "phase", "precision", "backend", "memory_format", "host_factor", "cache_state",
    "power",
)  # fmt: skip
"""Conditions of a scenario that measurements state."""


_TYPES = {int: pl.Int64, float: pl.Float64, str: pl.String}
"""Polars type of each type of a column."""


def measured_cases(connection: duckdb.DuckDBPyConnection, where: str = "TRUE") -> pl.DataFrame:
    """Read measured rows of ingested models on known parts: `CASE_COLUMNS` with family, source, software and the measured values.

    `where` filters on columns of `measurement` (alias `x`). Several rows of one case under different software versions are all kept.
    """
    return connection.sql(
        f"""
        SELECT
            m.model, x.hardware, x.backend, x.memory_format, i.precision, x.batch, x.sequence, CAST(1 AS DOUBLE) AS host_factor,
            m.architecture_family, x.source_id, x.software, x.mode, x.resolution,
            x.latency_s AS measured_s, x.energy_j, x.energy_scope, x.energy_per, x.peak_memory_byte,
            x.measurement_id
        FROM {MEASURED}
        WHERE x.hardware IS NOT NULL AND x.latency_s > 0 AND x.batch IS NOT NULL AND x.device_count = 1
            AND ({where})
        ORDER BY x.measurement_id
        """
    ).pl()
