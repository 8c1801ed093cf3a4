"""Every model view on a second engine: Sail, which speaks Spark Connect and is installed by pip without a JVM, over exported
rows. Needs `pip install -c constraints.txt -e '.[spark]'`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as parquet
import pytest

import charz
from charz.hardware_catalog import loader
from charz.ingest import write
from charz.ingest.compile.rules import from_rows
from charz.ingest.pipeline import ingest
from charz.ingest.sources.spec import parse
from charz.schema import database, ddl, file
from charz.schema.scenario import Measurement, Scenario
from charz.sql import maintain, spark, views
from charz.sql.installed import Relation

pytest.importorskip("pysail", reason="pip install -e '.[spark]'")
pytest.importorskip("pyspark", reason="pip install -e '.[spark]'")
pytest.importorskip("transformers", reason="pip install -e '.[zoo]'")
pytestmark = pytest.mark.slow

MODELS = (("mobilenet_v3_small", (), False), ("hf:gpt2", (("n_layer", "2"),), False), ("hf:gpt2", (("n_layer", "2"),), True))
"""Names, settings and a flag for the backward pass."""
PARTS = ("rtx4090", "i7_13700k", "tpu_v4", "kpu_t256")
REFUSED: dict[str, str] = {}
"""View, and the reason why Sail refuses it; empty at pysail 0.7.2."""
EMPTY = (
    dict.fromkeys(
        ("faulty_answer", "implausible_number", "missing_energy", "part_lack", "part_warning", "refused_measurement"),
        "it has rows where something is wrong or missing alone",
    )
    | dict.fromkeys(("nest_trip", "nest_traffic", "nest_hop", "nest_step", "loop_nest_cost"), "nobody has stated a loop nest")
    | {"host_weight": "every network fits its part", "unusual_backend": "each precision runs where people run it"}
    | {"unscored_measurement": "no measurement is there", "prompt_launch": "no server runs here", "expert_parameter": "no model has experts"}
)
"""View, and the reason why it has no rows here and is not compared."""
DIFFERENCES = {"overhead_s": "latency_s", "wasted_energy_j": "energy_j"}
"""Column that is a small difference, and the column that it is small against: the last digits of a window's sum depend on the
order in which an engine adds."""
WHOLE = ("model_report", "kernel_mapping")
"""Reports evaluated in one statement from the exported rows, in one process; `test_engine` does so on a cluster."""

MODES = {"one process": {}, "two workers": {"SAIL_MODE": "local-cluster", "SAIL_CLUSTER__WORKER_INITIAL_COUNT": "2"}}
"""Modes of Sail with their settings."""


def _scenario(scenario_id: int, backend: str, precision: str, batch: int = 1, **other: Any) -> Scenario:
    given = {
        "sequence": None,
        "context": None,
        "phase": "forward",
        "memory_format": "nchw",
        "cache_state": "warm",
        "power": None,
    } | other
    return Scenario(
        scenario_id=scenario_id,
        batch=batch,
        precision=precision,
        backend=backend,
        engine_version=None,
        kv_precision=None,
        device_count=None,
        weight_host_fraction=None,
        cache_host_fraction=None,
        input_host_fraction=None,
        host_factor=1.0,
        origin="user",
        **given,
    )


SCENARIOS = [
    _scenario(1, "eager", "fp32"),
    _scenario(2, "eager", "fp32", 8, memory_format="nhwc"),
    _scenario(3, "inductor", "fp32"),
    _scenario(4, "inductor", "fp16", 8),
    _scenario(5, "tensorrt", "int8", 8, cache_state="cold"),
    _scenario(6, "openvino", "int8"),
    _scenario(7, "xla", "bf16", 8),
    _scenario(8, "kpu", "int8"),
    _scenario(9, "kpu", "int8", 64),
    _scenario(10, "inductor", "fp16", sequence=48, context=48, phase="prefill"),
    _scenario(11, "inductor", "fp16", sequence=1, context=64, phase="decode"),
]


@dataclass(frozen=True)
class Exported:
    """Return the settings of a Spark session."""

    folder: Path
    models: list[Relation]
    grains: dict[str, list[str]]
    """Columns that identify a view's rows, by view."""
    statements: list[spark.Statement]


@dataclass(frozen=True)
class Answers:
    """Answers of two engines to the same views over the same rows."""

    models: list[Relation]
    grains: dict[str, list[str]]
    duck: duckdb.DuckDBPyConnection
    """Connection with each view's rows as a table of its name, those of Sail in schema `sail`, those of `WHOLE` also in `whole`."""
    refused: dict[str, str]
    """Sail's error for each refused view."""


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return export(tmp_path_factory.mktemp("spark"))


def export(folder: Path) -> Exported:
    """Write two models on some of the parts and under some of the scenarios of a file."""
    with file.replace(folder / "charz.duckdb", create=True) as connection:
        catalog = loader.load().rows
        for row_type, rows in catalog.items():
            kept = [row for row in rows if getattr(row, "hardware", PARTS[0]) in PARTS]
            database.insert(
                connection, row_type, loader.columns_of(row_type, SCENARIOS if row_type is Scenario else kept)
            )
        views.install(connection)
        rules = from_rows(catalog)
        models = [ingest(parse(name, settings=settings, train=train), rules) for name, settings, train in MODELS]
        write.write(connection, models, maintain.add_runs)
        database.insert_rows(connection, [_measured(connection)])
        grains = connection.execute("SELECT view, grain FROM view_catalog").fetchall()
    with charz.open(folder / "charz.duckdb") as db:
        db.export(folder / "rows", for_="spark")
        return Exported(
            folder / "rows",
            spark.models(db.connection()),
            {view: grain.split(", ") for view, grain in grains},
            spark.statements(db.connection(), folder / "rows"),
        )


def _measured(connection: duckdb.DuckDBPyConnection) -> Measurement:
    """Insert a measurement of the first model under the first scenario."""
    (source,) = connection.execute(f"SELECT source FROM model WHERE model = '{MODELS[0][0]}'").fetchall()[0]
    known: dict[str, Any] = {
        "measurement_id": 1, "model": MODELS[0][0], "model_source": source, "hardware": PARTS[0], "device_count": 1,
        "backend": "eager", "mode": "run", "precision": "ieee-fp32", "software": "pt211", "memory_format": "nchw", "batch": 1,
        "latency_s": 4e-3,
    }  # fmt: skip
    empty = {n: "" if f.annotation is str else None for n, f in Measurement.model_fields.items()}
    return Measurement(**{**empty, **known})


@pytest.fixture(scope="module", params=["one process", pytest.param("two workers", marks=pytest.mark.broad)])
def sail(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Yield a Spark session with a server of its own."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in MODES[request.param].items():
            patched.setenv(name, value)
        yield from _session()


def _session() -> Iterator[Any]:
    from pysail.spark import SparkConnectServer

    # pyspark mistakes a main module without a file, such as that of a pytest-xdist worker, for its own doctests, and exits.
    if not hasattr(sys.modules["__main__"], "__file__"):
        sys.modules["__main__"].__file__ = __file__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # warning of pandas 3
        from pyspark.sql import SparkSession

        server = SparkConnectServer()
        server.start(background=True)
        session = SparkSession.builder.remote(f"sc://localhost:{server.listening_address[1]}").create()
    yield session
    session.stop()  # before the server stops, or the client tries again for minutes
    server.stop()


@pytest.fixture(scope="module")
def answers(
    request: pytest.FixtureRequest, exported: Exported, sail: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Answers]:
    whole = WHOLE if "one process" in request.node.name else ()
    yield from evaluated(exported, sail, tmp_path_factory.mktemp("given"), whole)


def evaluated(
    exported: Exported, sail: Any, folder: Path, whole: Sequence[str], *, is_stacked: bool = True
) -> Iterator[Answers]:
    """Create every model on an engine over the exported rows (unless views may not read views), then evaluate each once, in
    order, from the rows of the views that it reads. The views in `whole` are also evaluated in one statement."""
    refused: dict[str, str] = {}
    models = {model.name for model in exported.models}
    for statement in exported.statements:
        if statement.name in models and not is_stacked:
            continue
        _attempt(refused, statement.name, partial(sail.sql, statement.text))
    texts = {statement.name: statement.text for statement in exported.statements}
    with duckdb.connect() as duck:
        duck.execute("CREATE SCHEMA sail; CREATE SCHEMA whole")
        for path in filter(Path.is_dir, exported.folder.iterdir()):
            duck.execute(f"CREATE TABLE {path.name} AS FROM {ddl.literal(f'{path}/*.parquet')}")
        for name in whole:
            _attempt(refused, name, partial(_keep, duck, sail, "whole", name, folder))
        for model in exported.models:
            duck.execute(f"CREATE TABLE main.{model.name} AS {model.body}")
            if model.name not in refused:
                _attempt(refused, model.name, partial(_replace, duck, sail, texts[model.name], model.name, folder))
        yield Answers(exported.models, exported.grains, duck, refused)


def _attempt(refused: dict[str, str], name: str, action: Callable[[], object]) -> None:
    from pyspark.errors import PySparkException

    try:
        action()
    except PySparkException as error:
        refused[name] = str(error)[:500]


def _keep(duck: duckdb.DuckDBPyConnection, sail: Any, schema: str, name: str, folder: Path) -> Path:
    """Evaluate a view on Sail and store its rows for DuckDB and Sail."""
    path = folder / f"{schema}_{name}.parquet"
    parquet.write_table(sail.sql(f"SELECT * FROM {name}").toArrow(), path)
    duck.execute(f"CREATE TABLE {schema}.{name} AS FROM {ddl.literal(str(path))}")
    return path


def _replace(duck: duckdb.DuckDBPyConnection, sail: Any, text: str, name: str, folder: Path) -> None:
    sail.sql(text)  # create it again, over the stored rows of the views that it reads
    path = _keep(duck, sail, "sail", name, folder)
    sail.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT * FROM parquet.`{path}`")


def test_sail_makes_and_runs_every_model(answers: Answers) -> None:
    assert {model.layer for model in answers.models} == set(spark.MODELS)
    assert {n: m for n, m in answers.refused.items() if n not in REFUSED} == {}
    assert set(REFUSED) <= set(answers.refused), "take it from the list"


def test_every_model_has_rows_to_compare(answers: Answers) -> None:
    empty = {
        m.name for m in answers.models if not answers.duck.execute(f"SELECT 1 FROM main.{m.name} LIMIT 1").fetchall()
    }
    assert empty == set(EMPTY)


def test_sail_answers_as_duckdb_does(answers: Answers) -> None:
    different = {model.name: differences(answers, "sail", model) for model in answers.models}
    assert {name: found for name, found in different.items() if found} == {}


def test_reports_through_the_whole_chain(answers: Answers) -> None:
    there = {name for (name,) in answers.duck.execute(_KEPT.format("whole")).fetchall()}
    assert there in (set(), set(WHOLE))
    different = {model.name: differences(answers, "whole", model) for model in answers.models if model.name in there}
    assert {name: found for name, found in different.items() if found} == {}


_KEPT = "SELECT table_name FROM duckdb_tables() WHERE schema_name = '{}'"


def differences(answers: Answers, schema: str, model: Relation) -> dict[str, Any]:
    """Return the columns in which the rows of Sail differ from those of DuckDB, with the number of rows and the first two values."""
    if model.name in answers.refused:
        return {}
    types, others = (_types(answers.duck, which, model.name) for which in ("main", schema))
    if types != others:
        return {"types": sorted(set(types.items()) ^ set(others.items()))}
    both = f"main.{model.name} AS a JOIN {schema}.{model.name} AS b ON " + " AND ".join(
        f"a.{key} IS NOT DISTINCT FROM b.{key}" for key in answers.grains[model.name]
    )
    counts = [f"(SELECT count(*) FROM {source})" for source in (f"main.{model.name}", f"{schema}.{model.name}", both)]
    left, right, matched = answers.duck.execute(f"SELECT {', '.join(counts)}").fetchall()[0]
    if not left == right == matched:
        return {"rows": (left, right, matched)}
    wrong = [f"count(*) FILTER ({_is_wrong(column, types)})" for column in types]
    counts = answers.duck.execute(f"SELECT {', '.join(wrong)} FROM {both}").fetchall()[0]
    return {
        column: (count, *answers.duck.execute(_first(column, types, both)).fetchall())
        for column, count in zip(types, counts, strict=True)
        if count
    }


def _first(column: str, types: dict[str, str], both: str) -> str:
    return f"SELECT a.{column}, b.{column} FROM {both} WHERE {_is_wrong(column, types)} LIMIT 1"


def _is_wrong(column: str, types: dict[str, str]) -> str:
    """Return a condition that is true if the values of `a` and `b` differ; DOUBLE is compared to nine digits."""
    condition = f"a.{column} IS DISTINCT FROM b.{column}"
    if types[column] != "DOUBLE":
        return condition
    scale = DIFFERENCES.get(column, column)
    scales = ", ".join(f"abs({side}.{name})" for side in "ab" for name in (column, scale if scale in types else column))
    return f"{condition} AND NOT coalesce(abs(a.{column} - b.{column}) <= 1e-9 * greatest({scales}), FALSE)"


def _types(duck: duckdb.DuckDBPyConnection, schema: str, name: str) -> dict[str, str]:
    return {column: kind for column, kind, *_ in duck.execute(f"DESCRIBE {schema}.{name}").fetchall()}
