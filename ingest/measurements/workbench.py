"""The cost model's own views over exactly the runs that were measured.

The views answer every model under every scenario on every part; a data set asks for a few of those.
Here the same views are made over a database attached read-only, with `run` and `target` cut down to
the measured (model, scenario, part) triples, so that scoring costs what it asks for. Nothing of the
cost model is repeated: every number comes from the SQL.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import duckdb
import polars as pl

from charz.schema import ddl
from charz.schema.catalog import Efficiency
from charz.schema.scenario import Scenario
from charz.sql import views

CASE_COLUMNS = ("model", "hardware", "backend", "precision", "memory_format", "batch", "sequence", "host_factor")
"""What tells predictions apart; `sequence` is null for the model's default."""

_KEYS = {"run": "model, scenario_id", "target": "model, scenario_id, hardware"}
"""Views cut down to the wanted runs, with what tells their rows apart."""


class Workbench:
    """A connection on which every view knows the given cases and no others.

    `cases` holds `CASE_COLUMNS`; each gets a `scenario_id`. `efficiency` replaces the database's
    efficiency rows, `overrides` whole tables by name. Every view that `view` rests on is computed once
    and kept as a table, in order; `self.seconds` tells what each took. Use as a context manager.
    """

    def __init__(
        self,
        database: Path,
        cases: pl.DataFrame,
        efficiency: pl.DataFrame | None = None,
        overrides: dict[str, pl.DataFrame] | None = None,
        threads: int | None = None,
        view: str = "model_cost",
    ) -> None:
        self.view = view
        self.seconds: dict[str, float] = {}
        self.connection = duckdb.connect(config={"threads": threads} if threads else {})
        self.connection.execute(f"ATTACH {ddl.literal(str(database))} AS file (READ_ONLY)")
        self.connection.execute("SET search_path = 'memory.main,file.main'")
        self.cases = with_scenarios(cases)
        self._make_table(Scenario.TABLE, _scenarios(self.cases))
        replaced = dict(overrides or {})
        if efficiency is not None:
            replaced[Efficiency.TABLE] = efficiency
        for name, frame in replaced.items():
            self._make_table(name, frame)
        self._make_table("wanted_run", self.cases.select("model", "scenario_id", "hardware").unique())
        self._compute(view)

    def __enter__(self) -> Workbench:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def predict(self, columns: Iterable[str] = ("latency_s",), view: str = "model_cost") -> pl.DataFrame:
        """The cases with the given columns of `view` beside them."""
        picked = ", ".join(f"v.{c}" for c in columns)
        found = self.connection.sql(f"SELECT v.model, v.scenario_id, v.hardware, {picked} FROM {view} AS v").pl()
        return self.cases.join(found, on=["model", "scenario_id", "hardware"], how="left")

    def sql(self, query: str) -> pl.DataFrame:
        """Any query over the cut-down views."""
        return self.connection.sql(query).pl()

    def _make_table(self, name: str, frame: pl.DataFrame) -> None:
        self.connection.register("frame_of_table", frame.to_arrow())
        self.connection.execute(f"CREATE TABLE {name} AS SELECT * FROM frame_of_table")
        self.connection.unregister("frame_of_table")

    def replace(self, table: str, frame: pl.DataFrame) -> None:
        """Put other rows in a table, and compute anew what rests on it."""
        self.connection.execute(f"DROP TABLE {table}")
        self._make_table(table, frame)
        self._compute(self.view, changed=table)

    def _compute(self, wanted: str, changed: str | None = None) -> None:
        """The wanted view and all it rests on, as tables; only what rests on `changed`, if given."""
        by_name = {view.name: view for view in views.load()}
        for name in ancestors(by_name, wanted):
            if changed is not None and changed not in ancestors_and_tables(by_name, name):
                continue
            self.connection.execute(f"DROP TABLE IF EXISTS memory.main.{ddl.quote(name)}")
            start = time.perf_counter()
            view = by_name[name]
            self.connection.execute(view.create.replace(f"CREATE VIEW {ddl.quote(name)}", "CREATE VIEW every_row", 1))
            cut = ""
            if name in _KEYS:
                cut = f"SEMI JOIN (SELECT DISTINCT {_KEYS[name]} FROM wanted_run) AS w USING ({_KEYS[name]})"
            self.connection.execute(f"CREATE TABLE {ddl.quote(name)} AS SELECT e.* FROM every_row AS e {cut}")
            self.connection.execute("DROP VIEW every_row")
            self.seconds[name] = time.perf_counter() - start


def ancestors(by_name: dict[str, views.View], wanted: str) -> list[str]:
    """Views that `wanted` rests on, in order of creation, itself last."""
    found = ancestors_and_tables(by_name, wanted)
    return [name for name in by_name if name in found]


def ancestors_and_tables(by_name: dict[str, views.View], wanted: str) -> set[str]:
    """Views and tables that `wanted` rests on, itself included."""
    found: set[str] = set()
    pending = [wanted]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += by_name[name].relations if name in by_name else ()
    return found


def with_scenarios(cases: pl.DataFrame) -> pl.DataFrame:
    """The cases numbered by their distinct conditions. What a frame does not say is as usual: caches
    warm, the whole sequence at once, attended to by itself."""
    usual = {"cache_state": pl.lit("warm"), "phase": pl.lit("forward"), "context": pl.lit(None, pl.Int64)}
    cases = cases.with_columns(value.alias(name) for name, value in usual.items() if name not in cases.columns)
    conditions = [*(c for c in CASE_COLUMNS if c not in ("model", "hardware")), *usual]
    distinct = cases.select(conditions).unique(maintain_order=True).with_row_index("scenario_id", offset=1)
    return cases.join(
        distinct.with_columns(pl.col("scenario_id").cast(pl.Int64)), on=conditions, how="left", nulls_equal=True
    )


def _scenarios(cases: pl.DataFrame) -> pl.DataFrame:
    """`scenario` rows of the cases."""
    return (
        cases.select(
            "scenario_id", "batch", "sequence", "context", "phase", "precision", "backend", "memory_format", "host_factor",
            "cache_state",
        )
        .unique("scenario_id")
        .with_columns(origin=pl.lit("measurement"))
        .select(list(Scenario.model_fields))
    )  # fmt: skip


def measured_cases(database: Path, where: str = "TRUE") -> pl.DataFrame:
    """Measured rows of ingested models on known parts: `CASE_COLUMNS` with family, source,
    software and the measured values. `where` filters on columns of `measurement` (alias `x`).

    Several rows of one case under several software versions all stay.
    """
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.sql(
            f"""
            SELECT
                m.model, x.hardware, x.backend, x.precision, x.memory_format,
                x.batch, x.sequence, CAST(1 AS DOUBLE) AS host_factor,
                m.architecture_family, x.source_id, x.software, x.mode, x.resolution,
                x.latency_s AS measured_s, x.energy_j, x.energy_scope, x.energy_per, x.peak_memory_byte,
                x.measurement_id
            FROM measurement AS x
            INNER JOIN measured_model AS i ON i.measurement_id = x.measurement_id
            INNER JOIN model AS m ON m.model = i.model
            INNER JOIN backend AS b ON b.backend = x.backend
            WHERE x.hardware IS NOT NULL AND x.latency_s > 0 AND x.batch IS NOT NULL AND x.device_count = 1
                AND ({where})
            ORDER BY x.measurement_id
            """
        ).pl()
