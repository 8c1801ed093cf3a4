"""Two versions of a model, and a prediction against a profiler's trace."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
import torch
from torch import nn

import charz
from charz.cli import dispatch
from charz.ingest.measurements import kineto
from charz.ingest.sources import build
from charz.ingest.sources.inputs import again
from charz.ingest.sources.spec import parse
from charz.schema.errors import CharzError
from charz.session import CharzWarning
from charz.session.ask import against_trace
from charz.session.ask.versions import are_alike, file_of

NET = """
from torch import nn

class Net(nn.Sequential):
    def __init__(self):
        super().__init__(*(nn.Linear(256, 256) for _ in range(LAYERS)))
"""


@pytest.fixture(scope="module")
def versions(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files with 32 and with 34 equal layers, a growth of 6 %."""
    copy = tmp_path_factory.mktemp("versions") / "versions.duckdb"
    copy.write_bytes(file.read_bytes())
    with charz.open(copy) as db:
        for name, count in (("v1", 32), ("v2", 34)):
            module = nn.Sequential(*(nn.Linear(1024, 1024) for _ in range(count)))
            db.ingest(module, inputs="B,1024", name=name)
    return copy


def test_growth_is_what_was_planted(versions: Path) -> None:
    with charz.open(versions) as db:
        rows = {row["quantity"]: row for row in db.diff("v1", "v2", on="i7_13700k", batch=512).to_dicts()}
        (v1,), (v2,) = (db.report(name, on="i7_13700k", batch=512).to_dicts() for name in ("v1", "v2"))
        modules = db.diff("v1", "v2", on="i7_13700k", batch=512, section="modules").to_dicts()
    assert rows["macs"]["growth_fraction"] == pytest.approx(2 / 32, rel=1e-12)
    assert rows["latency"]["old_value"] == v1["latency_s"]
    assert rows["latency"]["difference_value"] == pytest.approx(v2["latency_s"] - v1["latency_s"], rel=1e-12)
    assert rows["latency"]["growth_fraction"] == pytest.approx(0.0625, abs=0.005)
    assert {row["module"] for row in modules[:2]} == {"32", "33"}
    assert all(row["old_s"] is None and row["difference_s"] == row["new_s"] > 0 for row in modules[:2])
    assert all(abs(row["difference_s"]) < 1e-3 * row["new_s"] for row in modules[2:])


def test_several_parts_together_and_alone(versions: Path) -> None:
    """Two parts in two precisions are four comparisons, each as if asked alone; a kernel is found in its module in both versions."""
    parts, policies = ["i7_13700k", "t4"], ["fp32", "int8"]
    with charz.open(versions) as db:
        together = db.diff("v1", "v2", on=parts, precision=policies, batch=64, fail_on="1%").to_dicts()
        alone = [
            {"hardware": part, "precision": policy, **row}
            for part in parts for policy in policies
            for row in db.diff("v1", "v2", on=part, precision=policy, batch=64, fail_on="1%").to_dicts()
        ]  # fmt: skip
        kernels = db.diff("v1", "v2", on="t4", batch=64, section="kernels").to_dicts()
    assert together == alone and len(together) == 20
    assert [row["module"] for row in kernels if row["old_s"] is None] == ["32", "33"]


def test_names_are_checked_before_a_version_is_traced(tmp_path: Path) -> None:
    with charz.open(tmp_path / "none.duckdb") as db:
        with pytest.raises(CharzError, match="unknown part: t44"):
            db.diff("no/such/file.py", "no/such/file.py", on="t44")
        with pytest.raises(CharzError, match="unknown precision: fp17"):
            db.diff("no/such/file.py", "no/such/file.py", on="t4", precision="fp17")


@pytest.mark.parametrize(("limit", "code"), [("5%", 1), ("0.05", 1), ("8%", 0)])
def test_a_regression_fails_where_it_is_larger(limit: str, code: int, versions: Path) -> None:
    line = ["diff", "v1", "v2", "--on", "i7_13700k", "--batch", "512", "--fail-on", limit, "--db", str(versions)]
    assert dispatch.run([*line, "--section", "total"]) == code
    assert dispatch.run([*line[:1], "v2", "v1", *line[3:], "--section", "total"]) == 0


def test_what_grew_too_much_has_a_verdict(versions: Path) -> None:
    """34 layers instead of 32 are 6.25 % more weights and work; quantities without a limit have no verdict."""
    with charz.open(versions) as db:
        rows = db.diff("v1", "v2", on="i7_13700k", batch=512, fail_on="5%").to_dicts()
        assert "verdict" not in db.diff("v1", "v2", on="i7_13700k", batch=512).columns
    assert {row["quantity"]: row["verdict"] for row in rows} == {
        "latency": "FAIL", "energy": "FAIL", "peak memory": "FAIL", "macs": None, "kernel count": None,
    }  # fmt: skip


def test_a_limit_that_is_no_share_is_refused(versions: Path) -> None:
    with charz.open(versions) as db, pytest.raises(CharzError, match="not a share"):
        db.diff("v1", "v2", on="t4", fail_on="five")


def test_what_is_not_known_is_said_and_a_run_without_a_time_refused(versions: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(versions, tmp_path))
    with duckdb.connect(str(copy)) as connection:
        connection.execute("DELETE FROM silicon_rule WHERE quantity = 'lift'")
    with charz.open(copy) as db:
        with pytest.warns(CharzWarning, match="not checked by --fail-on: energy"):
            rows = db.diff("v1", "v2", on="i7_13700k", fail_on="5%")
        assert rows.filter(quantity="energy")["growth_fraction"].to_list() == [None]
    with duckdb.connect(str(copy)) as connection:
        connection.execute(
            "UPDATE hardware_memory SET bandwidth_byte_per_s = -1 WHERE hardware = 'i7_13700k' AND level = 'dram'"
        )
    with charz.open(copy) as db:
        for section in ("total", "modules", "kernels"):
            with pytest.raises(CharzError, match="a run without a time is not compared"):
                db.diff("v1", "v2", on="i7_13700k", section=section)


def test_versions_with_other_inputs_are_told_and_fail_a_limit(versions: Path, tmp_path: Path) -> None:
    """64 rows of 1024 numbers are not one row; a fixed batch of 512 is one of the sizes of a symbolic one, and names do not matter."""
    copy = Path(shutil.copy(versions, tmp_path))
    with charz.open(copy) as db:
        db.ingest(nn.Sequential(nn.Linear(1024, 1024)), inputs="B,64,1024", name="v3")
        with pytest.warns(CharzWarning, match=r"different inputs, .*v1 takes input: fp32\[B, 1024\]; v3 takes input: fp32\[B, 64, 1024\]"):
            assert len(db.diff("v1", "v3", on="t4")) == 5
        with pytest.raises(CharzError, match="the versions have different inputs: v1 takes"):
            db.diff("v1", "v3", on="t4", fail_on="5%")
    line = ["diff", "v1", "v3", "--on", "t4", "--db", str(copy)]
    assert dispatch.run(line) == 0 and dispatch.run([*line, "--fail-on", "5%"]) != 0
    assert are_alike("x: fp32[B, 3, 256, 256]", "image: fp32[512, 3, 256, 256]")
    assert not are_alike("x: fp32[B, 8]", "x: fp16[B, 8]") and not are_alike("x: fp32[B, 8]", "x: fp32[B, 8], y: fp32[B, 8]")


def test_a_single_input_of_the_old_version_needs_no_name(versions: Path) -> None:
    """The old version names its input otherwise than the new one may."""
    with charz.open(versions) as db:
        assert db._inputs(["v1", "net.py:make"], ["v1"]) == ("B,1024:fp32",)


def test_an_input_for_a_source_with_its_own_is_refused() -> None:
    with pytest.raises(CharzError, match="this source has its own inputs: torchvision:resnet18 --input B,3,256,256. Write torchvision:resnet18@256"):
        build(parse("torchvision:resnet18", inputs=("B,3,256,256",)))


@pytest.mark.slow
def test_a_file_is_compared_with_its_last_revision(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    git = ["git", "-c", "user.name=n", "-c", "user.email=n@example.com"]
    Path("net.py").write_text(NET.replace("LAYERS", "4"))
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "four"]):
        subprocess.run([*git, *command], check=True)
    Path("net.py").write_text(NET.replace("LAYERS", "6"))
    before = file.read_bytes()
    with charz.open(file) as db:
        said: list[str] = []
        db.messages = replace(db.messages, remark=said.append)
        rows = {row["quantity"]: row for row in db.diff("HEAD:net.py", "net.py", on="t4").to_dicts()}
        assert [line for line in said if line.startswith("net.py takes")] == ["net.py takes input: fp32[B, 256]"]
        with pytest.raises(CharzError, match="no such git revision"):
            db.diff("nowhere:net.py", "net.py", on="t4")
    assert rows["macs"]["old_value"] == 4 * 256**2
    assert rows["macs"]["new_value"] == 6 * 256**2
    assert file.read_bytes() == before


@pytest.mark.slow
def test_a_version_is_traced_again_where_a_file_that_it_reads_changes(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes of an imported module and of a data file count, other files do not, and the revision is traced once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    Path("sizes.py").write_text("layers = 4\n")
    Path("width.txt").write_text("256")
    code = NET.replace("LAYERS", "sizes.layers").replace("from torch import nn", "import sizes\nfrom torch import nn")
    Path("net.py").write_text(code.replace("256", "int(open('width.txt').read())"))
    git = ["git", "-c", "user.name=n", "-c", "user.email=n@example.com"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "four"]):
        subprocess.run([*git, *command], check=True)

    def asked() -> tuple[list[str], float]:
        """Return the versions that were traced again, and the work of the new version."""
        said: list[str] = []
        with charz.open(file) as db:
            db.messages = replace(db.messages, remark=said.append)
            rows = db.diff("HEAD:net.py", "net.py", on="t4", inputs="B,256").to_dicts()
        return [line.split()[0] for line in said if line.endswith(" is traced")], rows[3]["new_value"]

    assert asked() == (["HEAD:net.py", "net.py"], 4 * 256**2)
    Path("other.txt").write_text("no matter")
    assert asked() == ([], 4 * 256**2)
    Path("sizes.py").write_text("layers = 5\n")
    assert asked() == (["net.py"], 5 * 256**2)
    Path("width.txt").write_text("256\n")
    assert asked() == (["net.py"], 5 * 256**2)


CONVOLVED = "from torch import nn\n\nclass Net(nn.Sequential):\n    def __init__(self):\n        super().__init__(nn.Conv2d(3, 8, 3))\n"


@pytest.mark.slow
def test_a_file_is_compared_at_the_inputs_of_what_is_known(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same code has the same work, whatever inputs would be guessed; without a database the inputs are given."""
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(CONVOLVED)
    copy = Path(shutil.copy(file, tmp_path))
    with charz.open(copy) as db:
        db.ingest("net.py:Net", inputs="B,3,40,52", name="v1", no_answers=True)
        rows = {row["quantity"]: row for row in db.diff("v1", "net.py:Net", on="t4").to_dicts()}
        assert rows["macs"]["old_value"] == rows["macs"]["new_value"] == 38 * 50 * 8 * 27
        # The inputs of a model ingested from the same file also serve versions that the file does not know.
        alike = {row["quantity"]: row for row in db.diff("net.py:Net", "net.py", on="t4").to_dicts()}
        assert alike["macs"]["new_value"] == rows["macs"]["new_value"]
    with charz.open(tmp_path / "none.duckdb") as db:
        fresh = db.diff("net.py:Net", "net.py", on="t4", inputs="input=B,3,40,52").to_dicts()
    assert fresh[0]["old_value"] == pytest.approx(rows["latency"]["old_value"], rel=1e-9)
    assert not (tmp_path / "none.duckdb").exists()


@pytest.mark.default
@pytest.mark.parametrize(
    ("signature", "asked"),
    [
        ("x: fp32[B, 3, 40, 52]", ("x=B,3,40,52:fp32",)),
        ("tokens: int64[B, S], mask: bool[B, S]", ("tokens=B,S:int64", "mask=B,S:bool")),
        ("x: fp32[2*B, 3]", ()),
    ],
)
def test_a_signature_is_asked_for_again(signature: str, asked: tuple[str, ...]) -> None:
    assert again(signature) == asked


@pytest.mark.default
@pytest.mark.parametrize(
    ("text", "name"),
    [("HEAD~1:net.py", "net.py"), ("a/net.py:Net", "a/net.py"), ("v2:b/net.py:Net", "b/net.py"), ("resnet18", None), ("v1", None)],
)
def test_the_file_of_a_version(text: str, name: str | None) -> None:
    assert file_of(text) == name


def _trace(
    path: Path, steps: list[list[tuple[str, float]]], is_marked: bool = True, dims: list[list[int]] | None = None
) -> Path:
    """Write a profiler's trace with a number of microseconds a call, in sequential steps, and with sizes of the operands of each call."""
    events: list[dict[str, Any]] = []
    now = 0.0
    for number, calls in enumerate(steps):
        begin = now
        for name, micros in calls:
            events.append(
                {
                    "ph": "X",
                    "cat": "cpu_op",
                    "name": f"aten::{name}",
                    "ts": now,
                    "dur": micros,
                    "pid": 1,
                    "tid": 1,
                    "args": {"Input Dims": dims, "Input type": ["float"] * len(dims)} if dims else {},
                }
            )
            now += micros + 1
        mark = {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "ts": begin, "dur": now - begin}
        if is_marked:
            events.append({**mark, "pid": 1, "tid": 1})
        now += 10
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def test_a_trace_is_the_median_of_the_steps_that_agree(tmp_path: Path) -> None:
    steps = [[("linear", 9.0)], *([("linear", micros), ("relu", 1.0)] for micros in (4.0, 2.0, 6.0))]
    found = kineto.profile(_trace(tmp_path / "trace.json", steps))
    assert [(call.name, call.operator_class, call.seconds) for call in found.calls] == [
        ("linear", "linear", pytest.approx(4e-6)),
        ("relu", "activation", pytest.approx(1e-6)),
    ]
    assert (found.step_count, found.has_device) == (3, False)


@pytest.mark.default
def test_a_trace_without_marks_is_divided_into_equal_runs(tmp_path: Path) -> None:
    """Four equal calls are one run of four, two runs of two, or four runs of one: the number of predicted kernels decides. Views do not
    count, and a trace whose parts differ is one run."""
    path = tmp_path / "trace.json"
    whole = kineto.profile(_trace(path, [[("linear", micros)] for micros in (1.0, 2.0, 4.0, 8.0)], is_marked=False))
    assert [(whole.run(count).step_count, len(whole.run(count).calls)) for count in (5, 2, 1)] == [(1, 4), (2, 2), (4, 1)]
    assert [call.seconds for call in whole.run(2).calls] == pytest.approx([2.5e-6, 5e-6])
    viewed = kineto.profile(_trace(path, [[("linear", 1.0), ("view", 1.0), ("relu", 1.0)]] * 3, is_marked=False))
    assert (viewed.run(2).step_count, len(viewed.run(2).calls)) == (3, 3)
    differing = kineto.profile(_trace(path, [[("linear", 1.0)], [("relu", 1.0)], [("linear", 1.0)]], is_marked=False))
    assert differing.run(1).step_count == 1
    marked = kineto.profile(_trace(path, [[("linear", 1.0), ("linear", 1.0)]] * 3))
    assert (marked.run(1).step_count, len(marked.run(1).calls)) == (3, 2)


@pytest.mark.default
def test_sizes_of_a_trace_are_those_of_the_model_s_inputs() -> None:
    """The first operand with the rank and the fixed sizes of an input has its batch. Numbers of tokens are integers."""

    def sizes(given: str, *tensors: tuple[str, tuple[int, ...]]) -> dict[str, int]:
        return kineto.Profile([kineto.Call("x", "linear", 1.0, tensors)], False, 1, False).sizes([given])

    assert sizes("x=B,3,8,8:fp32", ("float", (7, 3, 3, 3)), ("float", (4, 3, 8, 8))) == {"B": 4}
    assert sizes("x=B,3,8,8:fp32", ("float", (4, 3, 9, 9))) == {}
    assert sizes("ids=B,S:int64", ("float", (50, 16)), ("long int", (2, 12))) == {"B": 2, "S": 12}
    assert sizes("x=B,B:fp32", ("float", (2, 3)), ("float", (5, 5))) == {"B": 5}
    assert sizes("x=2,3:fp32", ("float", (2, 3))) == {}


@pytest.mark.default
def test_kernels_find_their_calls_past_one_that_is_missing() -> None:
    kernels = [{"kernel_class": name, "kernel": name, "operator": str(i), "module": ""} for i, name in enumerate(
        ("conv", "batch_norm", "activation", "linear"))]  # fmt: skip
    calls = [
        kineto.Call(n, c, 1.0)
        for n, c in (
            ("conv2d", "conv"),
            ("relu", "activation"),
            ("view", "view"),
            ("linear", "linear"),
            ("add", "elementwise"),
        )
    ]
    pairs = [(k and k["kernel"], c and c.name) for k, c in against_trace.aligned(kernels, calls)]
    assert pairs == [
        ("conv", "conv2d"),
        ("batch_norm", None),
        ("activation", "relu"),
        ("linear", "linear"),
        (None, "add"),
    ]


def test_a_prediction_against_a_trace(file: Path, tmp_path: Path) -> None:
    with charz.open(file) as db:
        module = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
        copy = tmp_path / "copy.duckdb"
        copy.write_bytes(file.read_bytes())
    trace = _trace(tmp_path / "trace.json", [[("linear", 20.0), ("relu", 5.0), ("linear", 30.0)]])
    with charz.open(copy) as db:
        db.ingest(module, inputs=[torch.zeros(4, 64)], name="net")
        given: dict[str, Any] = {"on": "i7_13700k", "backend": "eager", "batch": 4}
        kernels = db.diff("net", str(trace), **given, section="kernels").to_dicts()
        classes = {
            row["kernel_class"]: row for row in db.diff("net", str(trace), **given, section="classes").to_dicts()
        }
        (total,) = db.diff("net", str(trace), **given).to_dicts()
        predicted = db.report("net", **given, section="kernels").to_dicts()
    assert sorted(row["new_s"] for row in kernels) == pytest.approx([5e-6, 20e-6, 30e-6])
    assert classes["linear"]["new_s"] == pytest.approx(50e-6)
    assert classes["linear"]["old_s"] == pytest.approx(
        sum(k["latency_s"] for k in predicted if k["kernel"] == "linear")
    )
    assert total["new_value"] == pytest.approx(55e-6)
    assert total["difference_value"] == pytest.approx(55e-6 - sum(k["latency_s"] for k in predicted))


def test_precisions_that_a_part_lacks_are_left_out(file: Path) -> None:
    """A processor without fp16 leaves that cell out; alone it is one line before a version is traced."""
    with charz.open(file) as db:
        with pytest.warns(CharzWarning, match="left out: fp16 on i7_13700k, which does not run it"):
            found = db.diff("small", "small", on=["t4", "i7_13700k"], precision=["fp16", "fp32"])
        assert set(found.select("hardware", "precision").iter_rows()) == {("t4", "fp16"), ("t4", "fp32"), ("i7_13700k", "fp32")}
        assert set(found["difference_value"]) == {0.0}
        with pytest.raises(CharzError, match="does not compute in this precision"):
            db.diff("small", "no_such_file.py", on="i7_13700k", precision="fp16")


def test_a_trace_gives_batch_and_backend(file: Path, tmp_path: Path) -> None:
    """Three runs at batch 4 without marks, each 20, 5 and 30 us, are compared with one eager run at batch 4."""
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(file.read_bytes())
    calls = [("linear", 20.0), ("relu", 5.0), ("linear", 30.0)]
    trace = str(_trace(tmp_path / "trace.json", [calls] * 3, is_marked=False, dims=[[4, 64], [64, 64]]))
    with charz.open(copy) as db:
        db.ingest(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)), inputs="B,64", name="net", no_answers=True)
        (total,) = db.diff("net", trace, on="i7_13700k").to_dicts()
        predicted = db.report("net", on="i7_13700k", backend="eager", batch=4, section="kernels")["latency_s"].sum()
        assert (total["old_value"], total["new_value"]) == (pytest.approx(predicted), pytest.approx(55e-6))
        with pytest.warns(CharzWarning, match="the trace has batch 4, the prediction batch 2"):
            db.diff("net", trace, on="i7_13700k", batch=2)
        long = str(_trace(tmp_path / "long.json", [[*calls, ("relu", 1.0)], calls], is_marked=False))
        with pytest.warns(CharzWarning, match="the trace has 7 calls, the prediction 3 kernels: record one run, or mark"):
            db.diff("net", long, on="i7_13700k")
        with pytest.raises(CharzError, match="It has no device kernels: it is of a processor; the prediction is for t4"):
            db.diff("net", trace, on="t4")
