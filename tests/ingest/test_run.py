"""Many models into one database: resumption, atomicity, parallel workers, the user's own models."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
import torch

from charz.ingest import pipeline
from charz.ingest import run as run_module
from charz.ingest.run import run
from charz.ingest.sources import huggingface
from charz.ingest.sources.inputs import parse_input
from charz.ingest.sources.spec import parse, sweep
from charz.schema.errors import CharzError
from charz.session import workspace
from charz.sql import maintain

SMALL = ("synthetic:mlp", "synthetic:conv2d", "synthetic:lu")


@pytest.fixture
def database(tmp_path):
    return tmp_path / "test.duckdb"


def ingest(database, *names, jobs=1, force=False, **options):
    specs = [parse(name, **options) for name in names]
    return run(specs, lambda: workspace.change(database), maintain.add_runs, jobs, force)


def rows(database, query):
    with contextlib.closing(workspace.read(database)) as connection:
        return connection.execute(query).fetchall()


def test_resumes(database):
    first = ingest(database, *SMALL[:2])
    assert [o.state for o in first] == ["written", "written"]
    held = rows(database, "SELECT model, content_hash FROM model ORDER BY model")
    operators = "SELECT model, count(*) FROM operator GROUP BY model ORDER BY model"
    counted = rows(database, operators)
    assert [o.state for o in ingest(database, *SMALL)] == ["unchanged", "unchanged", "written"]
    assert [o.state for o in ingest(database, *SMALL[:2], force=True)] == ["written", "written"]
    assert set(held) < set(rows(database, "SELECT model, content_hash FROM model"))
    assert set(counted) < set(rows(database, operators))
    assert rows(database, "SELECT count(*) FROM operator_without_rule") == [(0,)]


def test_a_failure_leaves_no_row_and_stops_nobody(database):
    outcomes = ingest(database, "synthetic:attention_head", "synthetic:mlp", settings=(("heads", "7"),))
    assert {o.state for o in outcomes} == {"failed"}
    assert "unknown parameter" in outcomes[1].message
    outcomes = ingest(database, "synthetic:nothing", "synthetic:mlp")
    assert sorted(o.state for o in outcomes) == ["failed", "written"]
    assert rows(database, "SELECT count(*) FROM model") == [(1,)]
    assert rows(database, "SELECT count(DISTINCT model) FROM operator") == [(1,)]


@pytest.mark.parametrize("wrapped", [True, False])
def test_ctrl_c_in_a_model_stops_the_run_and_keeps_what_is_done(database, monkeypatch, wrapped):
    original = pipeline.ingest

    def interrupted(spec, rules, *_):
        if spec.name == "mlp":
            return original(spec, rules)
        if wrapped:
            raise RuntimeError("while tracing") from KeyboardInterrupt()
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "ingest", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ingest(database, *SMALL)
    assert rows(database, "SELECT source FROM model") == [("synthetic:mlp",)]


def test_files_of_the_working_folder_take_the_place_of_no_module_in_workers(monkeypatch):
    """The fork server starts with `PYTHONSAFEPATH`, which neither this process nor a worker keeps."""
    seen = []

    def started():
        seen.append(os.environ.get("PYTHONSAFEPATH"))
        raise CharzError("stop")

    monkeypatch.setattr("multiprocessing.forkserver.ensure_running", started)
    for before in (None, "0"):
        if before is not None:
            monkeypatch.setenv("PYTHONSAFEPATH", before)
        with pytest.raises(CharzError, match="stop"):
            list(run_module._results([], None, 2))
        assert seen.pop() == "1" and os.environ.get("PYTHONSAFEPATH") == before
        os.environ["PYTHONSAFEPATH"] = "1"
        run_module._begin(before)
        assert os.environ.get("PYTHONSAFEPATH") == before


@pytest.mark.slow
def test_workers_write_what_one_process_writes(database, tmp_path):
    ingest(database, *SMALL)
    ingest(tmp_path / "parallel.duckdb", *SMALL, jobs=2)
    query = "SELECT model, content_hash FROM model ORDER BY model"
    assert rows(database, query) == rows(tmp_path / "parallel.duckdb", query)


@pytest.mark.slow
def test_workers_end_with_the_process_they_work_for(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import time, pathlib, os\n"
        "def make():\n    pathlib.Path(f'working-{os.getpid()}').touch()\n    time.sleep(600)\n"
        "def another():\n    make()\n"
    )
    command = [sys.executable, "-c", "from charz.cli import main; main()", "--db", "x.duckdb", "ingest", "--jobs", "2"]
    process = subprocess.Popen(
        [*command, "slow.py:make", "slow.py:another"], cwd=tmp_path, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    began = time.monotonic()
    while len(list(tmp_path.glob("working-*"))) < 2:
        assert process.poll() is None and time.monotonic() - began < 120
        time.sleep(0.1)
    process.kill()
    process.wait()
    killed = time.monotonic()
    while _alive(process.pid):
        assert time.monotonic() - killed < 20
        time.sleep(0.1)


def _alive(session):
    """Return the running processes of a session."""
    found = []
    for state in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            kind, _, _, its_session, *_ = state.read_text().rpartition(")")[2].split()
            if int(its_session) == session and kind != "Z":
                found.append(state)
    return found


def test_a_users_own_model(database, tmp_path, monkeypatch):
    source = """
        import torch
        class Tagger(torch.nn.Module):
            def __init__(self, width=8):
                super().__init__()
                self.table = torch.nn.Embedding(100, width)
                self.head = torch.nn.Linear(width, 5)
            def forward(self, tokens, scale):
                return self.head(self.table(tokens)) * scale
    """
    (tmp_path / "own_model.py").write_text(textwrap.dedent(source))
    monkeypatch.chdir(tmp_path)
    (failed,) = ingest(database, "own_model:Tagger", inputs=("B,S:int64",))
    assert "inputs not given" in failed.message and "scale" in failed.message
    inputs = ("B,S:int64", "scale=B,1,1")
    (done,) = ingest(database, "own_model:Tagger", inputs=inputs, settings=(("width", "16"),))
    assert done.state == "written", done.message
    query = "SELECT is_batch_symbolic, is_sequence_symbolic, input_signature FROM model"
    assert rows(database, query) == [(True, True, "tokens: int64[B, S], scale: fp32[B, 1, 1]")]


def test_a_name_is_one_model(database, tmp_path, monkeypatch):
    """A model of another source with the same name is refused; the same request twice is written once."""
    source = "import torch\ndef make():\n    return torch.nn.Linear({}, 4)\n"
    (tmp_path / "first_maker.py").write_text(source.format(8))
    (tmp_path / "second_maker.py").write_text(source.format(8))
    monkeypatch.chdir(tmp_path)
    outcomes = ingest(database, "first_maker:make", "second_maker:make", inputs=("B,8",))
    assert {o.spec.name: o.state for o in outcomes} == {"first_maker:make": "written", "second_maker:make": "failed"}
    assert "the name is taken: make" in outcomes[0].message and "--force" in outcomes[0].message
    (again,) = ingest(database, "second_maker:make", inputs=("B,8",), force=True)
    assert again.state == "written"
    ingest(database, "second_maker:make", inputs=("B,8",), batch=4)
    assert rows(database, "SELECT model, source, is_batch_symbolic FROM model ORDER BY model") == [
        ("make", "second_maker:make", True),
        ("make,batch=4", "second_maker:make", False),
    ]
    twice = [o.state for o in ingest(database, "alexnet", "alexnet@224", force=True)]
    assert twice == ["written", "written"]
    assert rows(database, "SELECT count(*) FROM model WHERE model = 'alexnet'") == [(1,)]


def test_a_configuration_is_named_by_its_file(tmp_path):
    transformers = pytest.importorskip("transformers")
    for name in ("b2", "config"):
        (tmp_path / f"{name}.json").write_text('{"model_type": "bert"}')
    found = [huggingface._from_file(transformers, tmp_path / f"{name}.json")[-1] for name in ("b2", "config")]
    assert found == ["hf:b2", f"hf:{tmp_path.name}"]


def test_an_exported_program(database, tmp_path):
    program = torch.export.export(
        torch.nn.Linear(8, 4), (torch.empty(2, 8),), dynamic_shapes=({0: torch.export.Dim("batch")},)
    )
    torch.export.save(program, tmp_path / "tiny.pt2")
    (done,) = ingest(database, str(tmp_path / "tiny.pt2"))
    assert done.state == "written", done.message
    query = "SELECT coefficient, batch_power FROM term WHERE quantity = 'macs'"
    assert rows(database, query) == [(32.0, 1)]


def test_training_model_is_another_model(database):
    ingest(database, "synthetic:mlp", train=True)
    macs = "SELECT sum(coefficient) FROM term JOIN operator USING (model, operator_id) WHERE quantity = 'macs' AND "
    ((forward,),) = rows(database, macs + "NOT starts_with(aten_operator, 'charz.backward')")
    ((backward,),) = rows(database, macs + "starts_with(aten_operator, 'charz.backward')")
    # the first of two layers of 1024 x 4096 needs no gradient of its input
    assert backward == 2 * forward - 1024 * 4096
    assert rows(database, "SELECT is_training FROM model") == [(True,)]


def test_settings_sweep():
    assert sweep(["in=8 hidden=4,5"]) == [(("in", "8"), ("hidden", "4")), (("in", "8"), ("hidden", "5"))]
    with pytest.raises(CharzError, match="KEY=VALUE"):
        sweep(["hidden"])


def test_inputs_read():
    given = parse_input("tokens=B,S,3:int64")
    assert (given.name, tuple(given.tensor.shape), given.tensor.dtype) == ("tokens", (2, 128, 3), torch.int64)
    assert sorted(given.axes) == [0, 1]
    with pytest.raises(CharzError, match="unreadable input"):
        parse_input("B,x")
    with pytest.raises(CharzError, match="unknown element type"):
        parse_input("B,3:float")


def test_resolution_in_the_name():
    assert parse("resnet50@288").resolution == 288
    with pytest.raises(CharzError, match="two resolutions"):
        parse("resnet50@288", resolution=224)
