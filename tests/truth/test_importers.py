"""Importers on tiny files with results computed by hand."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from charz.ingest.measurements import collection, files, kineto, mapped, operator_shape, store, timm_results
from charz.schema.errors import CharzError
from charz.schema.scenario import Measurement, OperatorMeasurement
from charz.session import workspace


def test_timm_file_name_tells_settings() -> None:
    found = timm_results.settings("benchmark-infer-amp-nhwc-pt240-cu124-rtx3090.csv")
    assert found == timm_results.Settings("amp-fp16", "nhwc", "pt240", "NVIDIA RTX 3090", "eager")
    found = timm_results.settings("benchmark-infer-fp32-nchw-pt221-cpu-i9_10940x-dynamo.csv")
    assert found == timm_results.Settings("fp32", "nchw", "pt221", "Intel Core i9-10940X", "inductor")
    found = timm_results.settings("benchmark-infer-amp-nchw-pt291-cu130-pro6000maxq.csv")
    assert found is not None
    assert found.hardware == "NVIDIA RTX PRO 6000 Blackwell Max-Q"
    assert timm_results.settings("results-imagenet.csv") is None


def test_timm_rows(tmp_path: Path) -> None:
    path = tmp_path / "benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv"
    path.write_text(
        "model,infer_batch_size,infer_step_time,infer_img_size,param_count\n"
        "resnet18.a1_in1k,512,20.0,288,11.69\nbroken,8,0,224,1.0\n"
    )
    frame, source, untimed_count = timm_results.read(path)
    assert untimed_count == 1
    assert source.source_id == "timm:amp-nchw-pt240-cu124-rtx4090"
    (row,) = frame.to_dicts()
    assert (row["model_source"], row["resolution"], row["batch"]) == ("timm:resnet18", 288, 512)
    assert row["latency_s"] == pytest.approx(0.020)
    assert row["throughput_per_s"] == pytest.approx(25600)
    assert row["parameter_count"] == pytest.approx(11.69e6)


def test_timm_file_with_other_columns_says_which_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv"
    path.write_text("model,batch\na,1\n")
    with pytest.raises(CharzError, match="infer_step_time"):
        timm_results.read(path)


def test_mapped_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("net,dev,ms,n\nresnet50,2x NVIDIA T4,4.0,8\n")
    mapping = ["model=net", "hardware=dev", "latency_s=ms*1e-3", "batch=n", "precision:=half", "backend:=compile"]
    (row,) = mapped.read(path, mapping, "mine").frame.to_dicts()
    assert (row["hardware_name"], row["device_count"]) == ("NVIDIA T4", 2)
    assert (row["precision"], row["backend"]) == ("fp16", "inductor")
    assert row["latency_s"] == pytest.approx(0.004)
    assert row["throughput_per_s"] == pytest.approx(2000)
    assert row["model_source"] == "torchvision:resnet50"


def test_columns_called_like_fields_map_themselves(tmp_path: Path) -> None:
    """A column of `--map` overrides a column of that name; 4 samples in 0.5 s are 8 a second; a number that a data set has is
    charz's own."""
    path = tmp_path / "mine.csv"
    path.write_text(
        "net,part,batch,precision,latency_s,ms,note,rig,source_id\nresnet50,T4,4,half,9.0,500,a,7,x\nresnet50,T4,2,,9.0,250,b,7,x\n"
    )
    found = mapped.read(path, ["model=net", "hardware=part", "latency_s=ms*1e-3", "mode:=single_stream"], "mine")
    rows = found.frame.select("batch", "precision", "latency_s", "throughput_per_s", "note", "mode", "source_id").rows()
    assert rows == [
        (4, "fp16", 0.5, 8.0, "a", "single_stream", "mine"), (2, "fp32", 0.25, 8.0, "b", "single_stream", "mine")
    ]  # fmt: skip
    assert found.left_out == ["latency_s", "rig", "source_id"]
    assert found.assumed == {"device_count": 1, "backend": "eager", "precision": "fp32", "memory_format": "nchw"}


def test_a_file_with_the_names_of_fields_needs_no_map(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("model,hardware,latency_s,batch\nresnet50,T4,0.5,8\n")
    batch = files.read(path, [], None, files.TraceContext(None, None, "eager"))
    assert batch.frame.select("model", "batch", "throughput_per_s").rows() == [("resnet50", 8, 16.0)]


def test_a_column_of_another_kind_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("model,hardware,latency_s,batch\nresnet50,T4,0.5,eight\n")
    with pytest.raises(CharzError, match=r"batch is not a number everywhere.*--map batch:=VALUE"):
        mapped.read(path, [], "mine")


@pytest.mark.parametrize(
    "value", [True, timedelta(seconds=1), datetime(2026, 1, 1), {"a": 1.0}, [1.0]], ids=lambda value: type(value).__name__
)
def test_what_is_no_number_is_not_taken_for_one(tmp_path: Path, value: object) -> None:
    """The library would cast True to 1 and a duration to its number of ticks."""
    path = tmp_path / "mine.parquet"
    pl.DataFrame({"net": ["resnet50"], "dev": ["T4"], "ms": [value]}).write_parquet(path)
    with pytest.raises(CharzError, match=r"latency_s is not a number everywhere.*Column ms contains values of type"):
        mapped.read(path, ["model=net", "hardware=dev", "latency_s=ms*1e-3"], "mine")


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (["model=net"], "no column is mapped to hardware"),
        (["model=nett", "hardware=dev"], "unknown column"),
        (["modell=net", "hardware=dev"], "unknown field"),
        (["model net"], "not a mapping"),
        (["model=net", "hardware=dev", "latency_s=ms*1e-3", "latency_s=n"], "mapped twice: latency_s=n"),
    ],
)
def test_mapping_mistakes(tmp_path: Path, mapping: list[str], message: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("net,dev,ms,n\nresnet50,T4,4.0,8\n")
    with pytest.raises(CharzError, match=message):
        mapped.read(path, mapping, "mine")


def test_file_of_unknown_kind_says_what_to_map(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(CharzError, match="--map model=COLUMN"):
        files.read(path, [], None, files.TraceContext(None, None, "eager"))


def _event(
    name: str, category: str, start: float, length: float, thread: int = 1, **arguments: object
) -> dict[str, object]:
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "ts": start,
        "dur": length,
        "pid": 1,
        "tid": thread,
        "args": arguments,
    }


def test_kineto_gives_outer_call_its_kernels(tmp_path: Path) -> None:
    events = [
        _event(
            "aten::linear", "cpu_op", 0, 50, **{"Input Dims": [[8, 64], [32, 64], [32]], "Input type": ["c10::Half"]}
        ),
        _event("aten::addmm", "cpu_op", 5, 40),
        _event("aten::relu", "cpu_op", 60, 10, **{"Input Dims": [[8, 32]], "Input type": ["c10::Half"]}),
        _event("cudaLaunchKernel", "cuda_runtime", 20, 5, correlation=1),
        _event("cudaLaunchKernel", "cuda_runtime", 65, 2, correlation=2),
        _event("gemm", "kernel", 100, 7, thread=9, correlation=1),
        _event("relu", "kernel", 110, 3, thread=9, correlation=2),
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    linear, relu = kineto.read(path, "tiny", "NVIDIA T4", "eager", "trace").to_dicts()
    assert (linear["operator_class"], linear["precision"]) == ("linear", "fp16")
    assert linear["latency_s"] == pytest.approx(7e-6)
    assert linear["macs"] == 8 * 64 * 32
    assert linear["traffic_byte"] == 2 * (8 * 64 + 64 * 32 + 8 * 32)
    assert relu["latency_s"] == pytest.approx(3e-6)
    assert relu["macs"] is None


def test_kineto_without_device_takes_wall_time(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [_event("aten::relu", "cpu_op", 60, 10)]}))
    (relu,) = kineto.read(path, None, "cpu", "eager", "trace").to_dicts()
    assert relu["latency_s"] == pytest.approx(10e-6)


def test_kineto_finds_the_calls_in_a_compiled_region(tmp_path: Path) -> None:
    """The region encloses a product, which encloses another call. A region of generated kernels alone makes no call."""
    region, *calls = [
        _event("Torch-Compiled Region: 0/0", "cpu_op", 0, 90), _event("aten::addmm", "cpu_op", 5, 40), _event("aten::mm", "cpu_op", 6, 38),
    ]  # fmt: skip
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([region, *calls]))
    found = kineto.read(path, None, "cpu", "inductor", "trace")
    assert found["operator"].to_list() == ["aten::addmm"] and found["latency_s"].to_list() == [pytest.approx(40e-6)]
    path.write_text(json.dumps([region]))
    assert kineto.read(path, None, "cpu", "inductor", "trace").schema == found.schema
    with pytest.raises(CharzError, match="no ATen calls"):
        files.read(path, [], None, files.TraceContext("cpu", None, "inductor"))


def test_operator_shapes() -> None:
    work = operator_shape.from_text(
        "conv", "B=2 Input_Channel=3 Output_Channel=4 Kernel_Size=3 Input_Size=5 Stride=1 Padding=1", "fp32"
    )
    assert work["macs"] == 2 * 25 * 4 * 27
    assert work["traffic_byte"] == 4 * (2 * 3 * 25 + 4 * 27 + 2 * 4 * 25)
    assert operator_shape.from_text("relu", "B=2 H=3", "fp32")["traffic_byte"] == 2 * 6 * 4
    assert operator_shape.from_text("add", "B=2 H=3", "fp32")["traffic_byte"] == 3 * 6 * 4
    assert operator_shape.from_text("addu", "B=2 H=3", "fp32")["traffic_byte"] == 2 * 6 * 4
    assert operator_shape.from_text("fold", "B=2 H=3", "fp32")["macs"] is None


def test_fx_node_shapes() -> None:
    linear = operator_shape.from_fx_node(
        "call_module", "encoder.query", "[[16, 512, 1024]]", "(16, 512, 4096)", "torch.float32"
    )
    assert linear["macs"] == 16 * 512 * 1024 * 4096
    view = operator_shape.from_fx_node(
        "call_method", "permute", "[[16, 512, 16, 64]]", "(16, 16, 512, 64)", "torch.float32"
    )
    assert (view["operator_class"], view["traffic_byte"]) == ("view", 0.0)


def test_fx_node_shape_that_is_none_is_refused() -> None:
    with pytest.raises(CharzError, match="not the sizes of a shape"):
        operator_shape.from_fx_node("call_function", "add", "[[16, 512]]", "(16, ...", "torch.float32")


def test_hardware_counts() -> None:
    assert store.split_count("8x NVIDIA A30") == (8, "NVIDIA A30")
    assert store.split_count("NVIDIA A30") == (1, "NVIDIA A30")


MEASUREMENTS = Path(__file__).parents[3] / "shared" / "measurements"


@pytest.mark.skipif(
    not MEASUREMENTS.is_dir(), reason="../shared/measurements is not here: it holds others' published figures"
)
@pytest.mark.parametrize(
    ("name", "row_type", "least"), [("models", Measurement, 25_000), ("fx_nodes", OperatorMeasurement, 5_000)]
)
def test_real_collection(name: str, row_type: type, least: int) -> None:
    frame, found, sources = collection.read(MEASUREMENTS / f"{name}.parquet")
    assert found is row_type
    assert len(frame) > least
    assert set(frame["source_id"]) == {s.source_id for s in sources}
    if name == "models":
        assert not frame["hardware_name"].str.contains(r"^\d+x ").any()
        assert frame.filter(pl.col("energy_j").is_not_null())["energy_scope"].null_count() == 0
        # OpenVINO runs one request on one socket; its throughput takes both.
        sockets = frame.filter(pl.col("hardware_name") == "Intel Xeon Platinum 8270 CPU", pl.col("backend") == "openvino")
        assert set(sockets.select(pl.col("latency_s").is_null(), "device_count").rows()) == {(False, 1), (True, 2)}
        table = frame.filter(pl.col("source_id") == "huggingface/transformers")
        assert {s for s in table["model_source"].drop_nulls() if "attn_implementation" in s} == {
            f"hf:{name},attn_implementation=eager" for name in ("beit-base", "segformer-b0", "vit-base-patch16-224")
        }


def _read(path: Path, *mapping: str, source: str | None = None) -> files.Batch:
    usual = ["model=net", "hardware:=t4", "latency_s=ms*1e-3"]
    return files.read(path, [*usual, *mapping], source, files.TraceContext(None, None, "eager"))


@pytest.mark.slow
@pytest.mark.parametrize("source", [None, "both"])
def test_every_file_of_a_folder_is_kept(tmp_path: Path, source: str | None) -> None:
    for part, latency in (("a10", 4), ("t4", 8)):
        (tmp_path / f"bench.{part}.csv").write_text(f"net,ms\nresnet50,{latency}\n")
    batches = [_read(path, source=source) for path in files.in_folder(tmp_path)]
    with workspace.change(tmp_path / "c.duckdb") as connection:
        for _ in range(2):  # the second row replaces the first
            files.store_batches(connection, batches)
        found = connection.sql("SELECT source_id, latency_s FROM measurement ORDER BY latency_s").fetchall()
    assert [s for s, _ in found] == ([source] * 2 if source else ["bench.a10", "bench.t4"])
    assert [t for _, t in found] == pytest.approx([0.004, 0.008])


@pytest.mark.parametrize(
    ("content", "mapping", "message"),
    [
        (b"net,ms\na,4\nb,abc\n", (), "latency_s is not a number.*abc"),
        (b"", (), "cannot be read"),
        (b"net,ms\n", (), "no measurements"),
        (b"net,ms\na,4,5,6\n", (), "cannot be read"),
        (b"net,ms\n\xff\xfe,4\n", (), "cannot be read"),
        (b"net,ms\n,4\na,5\n", (), "model is empty"),
        (b"net,ms\na,0\nb,5\n", (), "not above 0 in 1 of 2 rows"),
        (b"net,ms\na,nan\n", (), "not above 0 in 1 of 1 rows"),
        (b"net,ms\na,4\n", ("batch=ms*b*1e",), "unknown column"),
        (b"net,ms\na,4\n", ("batch=ms*1e",), "not a factor"),
        (b"net,ms\na,4\n", ("batch:=x",), "batch is not a number"),
    ],
)
def test_bad_files_are_one_line(tmp_path: Path, content: bytes, mapping: tuple[str, ...], message: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_bytes(content)
    with pytest.raises(CharzError, match=message) as caught:
        _read(path, *mapping)
    assert mapping or "mine.csv" in str(caught.value)


def test_broken_parquet_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    path.write_bytes(b"PAR1 no more")
    for mapping in ([], ["model=net", "hardware:=t4"]):
        with pytest.raises(CharzError, match=r"cannot be read: .*mine\.parquet"):
            files.read(path, mapping, None, files.TraceContext(None, None, "eager"))


@pytest.mark.parametrize(
    "change",
    [
        {"dur": None}, {"ts": None}, {"ts": "x"}, {"name": 3}, {"args": {"Input Dims": 3}},
        {"name": "aten::mm", "args": {"Input Dims": [["a", 1], [1, 2]]}},
    ],
)  # fmt: skip
def test_broken_trace_events_are_one_line(tmp_path: Path, change: dict[str, object]) -> None:
    event = {k: v for k, v in (_event("aten::relu", "cpu_op", 60, 10) | change).items() if v is not None}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [event]}))
    with pytest.raises(CharzError, match=r"event of the trace.*trace\.json"):
        kineto.read(path, None, "cpu", "eager", "trace")


@pytest.mark.parametrize(
    ("name", "content"),
    [("t.json", b'{"traceEvents": 3}'), ("t.json", b"\xff\xfe"), ("t.json.gz", b"no gzip"), ("t.json", b"3")],
)
def test_broken_traces_are_one_line(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CharzError, match="trace"):
        kineto.read(tmp_path / name, None, "cpu", "eager", "trace")


def test_events_without_arguments_are_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([_event("aten::relu", "cpu_op", 60, 10) | {"args": None}]))
    assert len(kineto.read(path, None, "cpu", "eager", "trace")) == 1
