"""A session on another engine gives the answers of a session on the file, evaluates no model in DuckDB, and reports an obstacle in
one line."""

from __future__ import annotations

import json
import pickle
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import charz
from charz.ingest import elsewhere
from charz.ingest.rows import decoded
from charz.ingest.sources.spec import parse
from charz.schema.errors import CharzError
from charz.session import Session
from charz.session.engine import endpoint, remote, rows
from charz.session.engine.store import Store
from charz.sql import answers

from .conftest import Server

pytest.importorskip("pysail", reason="pip install -e '.[spark]'")
pytest.importorskip("pyspark", reason="pip install -e '.[spark]'")

PARTS = ["rtx4090", "i7_13700k"]

QUESTIONS: dict[str, Callable[[Session], pl.DataFrame]] = {
    "sql": lambda db: db.sql("SELECT hardware, min(latency_s) AS s, count(*) AS n FROM model_report GROUP BY hardware ORDER BY 1"),
    "report": lambda db: db.report("small", on="rtx4090", section="kernels"),
    "compare": lambda db: db.compare(["small", "other"], on=PARTS, batch=3),
    "saturation": lambda db: db.compare("small", on=PARTS, batch="1:4", section="saturation"),
    "recommend": lambda db: db.recommend("small", on=PARTS, batch=[1, 8]),
    "llm": lambda db: db.llm("decoder", on="rtx4090", context=256),
    "explore": lambda db: db.explore(base="t4", vary=["dram=200GB/s:400GB/s:3"], models="small", every_point=True),
}  # fmt: skip
"""Questions that run on an engine, by method."""


@pytest.fixture(scope="module")
def copy(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of three models with its exported rows next to it."""
    path = Path(shutil.copy(file, tmp_path_factory.mktemp("engine") / "charz.duckdb"))
    with charz.open(path) as session:
        session.export(f"{path}.rows", for_="spark")
    return path


@pytest.fixture(scope="module")
def both(copy: Path, engine: Server) -> Iterator[tuple[Session, Session]]:
    """A session over the file, and one that asks the engine."""
    with charz.open(copy) as here, charz.open(copy, engine=engine.address) as there:
        yield here, there


BROAD = ("compare", "saturation", "llm")
"""Methods whose questions are those of other methods."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=[pytest.mark.broad] if name in BROAD else []) for name in QUESTIONS]
)
def test_the_engine_gives_what_the_file_gives(both: tuple[Session, Session], method: str) -> None:
    here, there = (QUESTIONS[method](session) for session in both)
    assert len(here) > 0
    assert_frame_equal(there, here, rel_tol=1e-9, abs_tol=0)


@pytest.mark.slow
def test_no_question_leaves_rows_behind(copy: Path, both: tuple[Session, Session]) -> None:
    there = both[1]
    there.sql("SELECT 1 FROM model_report", model="small", on="rtx4090", batch=7)
    assert Store(f"{copy}.rows").names(rows.ASKED)
    there.close()
    assert not Store(f"{copy}.rows").names(rows.ASKED)


@pytest.mark.slow
def test_the_plan_of_the_engine_shows_the_joins(both: tuple[Session, Session], monkeypatch: pytest.MonkeyPatch) -> None:
    """The statement contains the models themselves."""
    there, statements = both[1], []
    run = endpoint.Endpoint.run

    def recorded(self: endpoint.Endpoint, statement: str, timeout_s: float = 0.0) -> Any:
        statements.append(statement)
        return run(self, statement, timeout_s)

    monkeypatch.setattr(endpoint.Endpoint, "run", recorded)
    there.report("small", on="i7_13700k", section="kernels", batch=2)
    longest = max(statements, key=len)
    plan = there.endpoint()[0]._spark.sql(f"EXPLAIN {longest}").toArrow().column(0).to_pylist()[0]
    assert plan.count("Join") > 3


@pytest.mark.broad
def test_refresh_fills_by_the_engine_and_goes_on(file: Path, tmp_path: Path, engine: Server) -> None:
    path = Path(shutil.copy(file, tmp_path / "charz.duckdb"))
    with charz.open(path) as session:
        session.refresh()
    with duckdb.connect(str(path)) as connection:
        connection.execute("DELETE FROM answer.stored WHERE model = 'other' AND hardware IN ('t4', 'tpu_v4')")
        connection.execute("DELETE FROM answer.stored WHERE model = 'small' AND hardware = 'kpu_t64'")
    with charz.open(path) as session:
        session.export(f"{path}.rows", for_="spark")
        count = answers.missing(session.connection()).count
    before, run = path.read_bytes(), remote.Remote.answers_of
    with pytest.MonkeyPatch.context() as patched, charz.open(path, engine=engine.address) as session:
        asked = []

        def stopped(self: remote.Remote, portion: Any, timeout_s: float = 0.0) -> Any:
            if asked:
                raise KeyboardInterrupt
            asked.append(portion)
            return run(self, portion, timeout_s)

        patched.setattr(remote.Remote, "answers_of", stopped)
        with pytest.raises(KeyboardInterrupt):
            session.refresh()
    assert path.read_bytes() == before
    assert len(Store(f"{path}.rows").names(rows.ANSWERS)) == 1
    (kept,) = asked
    with pytest.MonkeyPatch.context() as patched, charz.open(path, engine=engine.address) as session:
        asked = []
        patched.setattr(remote.Remote, "answers_of", lambda *given: asked.append(given[1]) or run(*given))
        assert session.refresh().rows() == [("answer.stored", count)]
        # Stored answers are not requested again.
        assert len(asked) == 2 and (kept.models, kept.hardware) not in [(p.models, p.hardware) for p in asked]
    assert not Store(f"{path}.rows").names(rows.ANSWERS)
    with charz.open(path) as session:
        assert answers.missing(session.connection()).count == 0
        assert answers.differences(session.connection()) == {}


@pytest.mark.slow
def test_an_engine_that_dies_is_one_line(copy: Path) -> None:
    server = Server()
    with charz.open(copy, engine=server.address) as session:
        session.endpoint()
        server.kill()
        before = copy.read_bytes()
        with pytest.raises(CharzError, match="the engine is gone.*Start the engine again"):
            session.report("small", on="rtx4090", section="kernels")
    assert copy.read_bytes() == before


@pytest.mark.slow
def test_a_view_that_the_engine_refuses_is_named(
    both: tuple[Session, Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = both[1]
    texts = there.endpoint()[0].texts
    monkeypatch.setitem(texts, "kernel_time", "SELECT no_such_function(1) AS model")
    with pytest.raises(CharzError, match="the engine refuses a view: kernel_time"):
        there.report("other", on="rtx4090", section="kernels")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("SELECT * FROM parquet.`/etc/passwd`, model_report", "does not parse|relations of the file alone"),
        ("SELECT * FROM read_csv('/etc/passwd'), model_report", "relations of the file alone"),
        ("SELECT * FROM model_reprt, model_report", "unknown relation: model_reprt.*model_report"),
        ("CREATE TABLE model_report AS SELECT 1", "answers queries only"),
        ("SELECT no_such_column FROM model_report WHERE hardware = 't4'", "refuses the statement"),
    ],
)
def test_anybody_s_sql_reads_the_relations_alone(both: tuple[Session, Session], statement: str, says: str) -> None:
    with pytest.raises(CharzError, match=says):
        both[1].sql(statement, model="small", on="t4")


@pytest.mark.slow
def test_rows_that_the_workers_do_not_see(copy: Path, engine: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine gets another folder, as if it could not read the same one."""
    monkeypatch.setattr(Store, "address", lambda _, name: f"/nowhere/rows/{name}")
    with (
        charz.open(copy, engine=engine.address) as session,
        pytest.raises(CharzError, match="the engine does not see the rows: /nowhere/rows/.*--rows"),
    ):
        session.report("small", on="rtx4090")


@pytest.mark.slow
def test_rows_of_the_same_name_elsewhere(
    copy: Path, engine: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(f"{copy}.rows", tmp_path / "other")
    import pyarrow

    (tmp_path / "other" / rows.PROBE).write_bytes(rows.parquet(pyarrow.table({"id": ["another"]})))
    monkeypatch.setattr(Store, "address", lambda _, name: f"{tmp_path}/other/{name}")
    with (
        charz.open(copy, engine=engine.address) as session,
        pytest.raises(CharzError, match="the engine reads other rows"),
    ):
        session.report("small", on="rtx4090")


# Sessions without a running engine


def test_duckdb_evaluates_no_model_in_a_session_of_an_engine(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each model is an error on every connection that such a session gives."""
    with charz.open(copy, engine="sc://localhost:1") as session:
        monkeypatch.setattr(Session, "endpoint", lambda self: (endpoint.Endpoint("", Store(copy.parent)), None))
        connections = [
            session.connection(),
            session.whole()._connection,
            session.scope(models="small").whole()._connection,
        ]
        models = [model.name for model in session._relations().of(*remote.MODELS)]
        assert len(models) > 60
        for connection in connections:
            for name in models:
                with pytest.raises(duckdb.Error, match="evaluated on the engine only"):
                    connection.execute(f"SELECT * FROM {name}").fetchall()


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("localhost:50051", "not an address of an engine.*sc://HOST:PORT"),
        ("sc://", "not an address of an engine"),
        ("sc://localhost:x", "not an address of an engine"),
        ("sc://localhost:1", "no engine answers: sc://localhost:1.*charz engine start"),
        ("sc://no-such-host.invalid:50051", "no engine answers"),
    ],
)
def test_a_wrong_address_is_one_line(copy: Path, address: str, says: str) -> None:
    before = copy.read_bytes()
    with charz.open(copy, engine=address) as session, pytest.raises(CharzError, match=says):
        session.report("small", on="rtx4090")
    with charz.open(copy, engine=address) as session, pytest.raises(CharzError, match=says):
        session.refresh()
    assert copy.read_bytes() == before


def test_what_does_not_speak_spark_connect_is_one_line(copy: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepted = threading.Thread(target=_hang_up, args=(server,), daemon=True)
        accepted.start()
        address = f"sc://localhost:{server.getsockname()[1]}"
        with charz.open(copy, engine=address) as session, pytest.raises(CharzError, match="the address does not speak Spark Connect"):
            session.report("small", on="rtx4090")


def _hang_up(server: socket.socket) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def test_an_engine_of_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql.connect.session import SparkSession

    monkeypatch.setattr(SparkSession, "version", "3.5.1")
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(CharzError, match=r"an engine of another version.*Spark 3\.5\.1.*Spark 4"),
    ):
        endpoint.reached(f"sc://localhost:{server.getsockname()[1]}")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (None, "no rows for the engine: .*charz export"),
        ({"format": 0}, "rows of another charz"),
        ({"catalog": "another"}, "rows of another catalog"),
        ({"views": "another"}, "rows of another views"),
        ({"models": {}}, "rows of other models.*decoder"),
        ({"relations": {}}, "rows from before a change.*Different in the file: .* and .* more"),
    ],
)
def test_rows_that_are_not_those_of_the_file(
    copy: Path, tmp_path: Path, change: dict[str, object] | None, says: str
) -> None:
    place = tmp_path / "rows"
    if change is not None:
        shutil.copytree(f"{copy}.rows", place)
        known = json.loads((place / rows.MANIFEST).read_text())
        (place / rows.MANIFEST).write_text(json.dumps(known | change))
    with charz.open(copy, engine="sc://localhost:1", rows=place) as session, pytest.raises(CharzError, match=says):
        session.report("small", on="rtx4090")


@pytest.mark.parametrize(
    "asked",
    [
        lambda db: db.what_if({"t4.dram.bandwidth_byte_per_s": "1TB/s"}, "report", "small", on="t4"),
        lambda db: db.scenario.add(batch=7),
        lambda db: db.lazy("SELECT * FROM model_report"),
        lambda db: db.merge(db.path.with_name("other.duckdb")),
        lambda db: db.doctor(repair=True),
    ],
)
def test_what_stays_with_the_file_says_so(copy: Path, asked: Callable[[Session], object]) -> None:
    before = copy.read_bytes()
    shutil.copy(copy, copy.with_name("other.duckdb"))
    with charz.open(copy, engine="sc://localhost:1") as session, pytest.raises(CharzError, match="not available with an engine"):
        asked(session)
    assert copy.read_bytes() == before


def test_statements_without_a_model_are_answered_by_the_file(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "endpoint", lambda self: (endpoint.Endpoint("", Store(copy.parent)), None))
    with charz.open(copy, engine="sc://localhost:1") as session:
        assert session.sql("SELECT model FROM model ORDER BY model")["model"].to_list() == ["decoder", "other", "small"]


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_place_by_folder_and_by_address(tmp_path: Path, scheme: str) -> None:
    """An object store is written through the same calls as files."""
    store = Store(f"{scheme}{tmp_path}/place")
    assert store.get("none") is None
    assert store.names() == []
    store.put("kernel/one.parquet", b"first")
    store.put("kernel/one.parquet", b"second")
    store.put("manifest.json", b"{}")
    assert store.get("kernel/one.parquet") == b"second"
    assert store.names() == ["kernel/one.parquet", "manifest.json"]
    assert store.address("manifest.json").endswith("/place/manifest.json")
    store.prune("kernel", least_s=60)
    assert store.names("kernel") == ["kernel/one.parquet"]
    store.prune("kernel")
    store.remove("none")
    assert store.names() == ["manifest.json"]


def test_a_file_in_place_of_the_folder(copy: Path) -> None:
    with charz.open(copy) as session, pytest.raises(CharzError, match="a file, not a folder"):
        session.export(copy, for_="spark")


def test_rows_at_an_address(copy: Path, tmp_path: Path) -> None:
    with charz.open(copy) as session:
        session.export(f"file://{tmp_path}/rows", for_="spark")
        assert session.export(tmp_path / "rows", for_="spark")["added_count"].sum() == 0


@pytest.mark.slow
def test_a_worker_traces_and_says_why_it_does_not() -> None:
    import pyarrow
    from oracle.database import rules

    requests = [pickle.dumps((parse(name), rules())) for name in ("synthetic:mlp", "no_such_model")]
    batch = pyarrow.record_batch({"number": [0, 1], "request": pyarrow.array(requests, pyarrow.binary())})
    found = [decoded(one.column(1)[0].as_py()) for one in elsewhere.traced(iter([batch]))]
    assert found[0].model["model"].startswith("synthetic:mlp,")
    assert "no_such_model" in found[1]


@pytest.mark.slow
def test_workers_that_are_threads_trace_side_by_side() -> None:
    """Torch's tracer keeps its state for a process: each thread traces in its own."""
    from concurrent.futures import ThreadPoolExecutor

    import pyarrow
    from oracle.database import rules

    names = [("resnet18", "vgg11"), ("mobilenet_v2", "swin_t")]
    batches = []
    for some in names:
        requests = [pickle.dumps((parse(name), rules())) for name in some]
        batches.append(pyarrow.record_batch({"number": [0, 1], "request": pyarrow.array(requests, pyarrow.binary())}))
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda batch: list(elsewhere.traced(iter([batch]))), batches))
    models = {decoded(one.column(1)[0].as_py()).model["model"] for rows in found for one in rows}
    assert models == {name for some in names for name in some}


@pytest.mark.slow
def test_models_of_a_list_are_traced_on_the_engine(few_parts: Path, tmp_path: Path, engine: Server) -> None:
    path, listed = Path(shutil.copy(few_parts, tmp_path / "charz.duckdb")), tmp_path / "names.txt"
    listed.write_text("synthetic:mlp  # the first\n\nno_such_model\n")
    with charz.open(path, engine=engine.address) as session, pytest.warns(charz.session.CharzWarning, match="failed"):
        found = session.ingest(list_=str(listed), no_answers=True)
    states = dict(found["state", "model"].iter_rows())
    assert set(states) == {"written", "failed"}
    assert states["failed"].endswith("no_such_model")
    with charz.open(path) as session:
        assert session.sql("SELECT model FROM model")["model"].to_list() == [states["written"]]
        assert len(session.sql("SELECT 1 FROM run")) > 0


@pytest.mark.parametrize(("data", "says"), [(b"# nothing\n", "The list is empty"), (b"\xff\xfe", "not text in UTF-8")])
def test_a_list_without_names(few_parts: Path, tmp_path: Path, data: bytes, says: str) -> None:
    (tmp_path / "names.txt").write_bytes(data)
    with charz.open(few_parts) as session, pytest.raises(CharzError, match=says):
        session.ingest(list_=str(tmp_path / "names.txt"))
