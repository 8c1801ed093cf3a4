"""Single operators: nodes of language models timed separately, and calls that charz timed on an H200."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.makers import live, operator_times
from benchmarks.study import Given
from charz.hardware_catalog.calibration.rows import shared_rows
from charz.hardware_catalog.calibration.workbench import Workbench
from charz.ingest.compile.rules import from_connection
from charz.ingest.measurements import collection, store
from charz.ingest.pipeline import ingest_request
from charz.ingest.trace.export import Request
from charz.ingest.write import write
from charz.session import workspace
from charz.sql import maintain

NODES = "source_id LIKE '%:fx_nodes:%'"


def nodes(given: Given) -> pl.DataFrame:
    """Predict nodes of five language models in fp32 under eager that run a kernel.

    The rows of single parts were fitted on other timings of the same laboratory. Every part has one factor on its host's time.
    """
    given.table("fx_nodes")
    with given.connection():
        pass
    with workspace.change(given.file) as connection:
        store.store(connection, *collection.read(given.measurements / "fx_nodes.parquet"))
    tables = live.tables()
    alone = tables | {"efficiency": shared_rows(tables["efficiency"])}
    with given.connection() as connection:
        found = [
            operator_times.predicted(connection, NODES, overrides=overrides).with_columns(standing=pl.lit(standing))
            for overrides, standing in ((tables, "fitted on other operators"), (alone, "nothing fitted to a part"))
        ]
    return pl.concat(found).filter(~pl.col("is_view")).select(
        "hardware", "standing", backend=pl.lit("eager"), family="operator_class", measured="measured_s", predicted="latency_s"
    )  # fmt: skip


Record = dict[str, Any]
Made = tuple[nn.Module, list[torch.Tensor]]
ROWS = Path(__file__).parents[1] / "measured" / "h200_operators.parquet"
PRECISIONS = ("fp32", "tf32", "fp16", "bf16")
GROUPS = ("depthwise", "grouped", "dense", "attention", "recurrent", "products", "normalized", "moved")


class Call(nn.Module):
    """Module that wraps a function of tensors, so that its operators have a path."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *tensors: torch.Tensor) -> Any:
        return self.function(*tensors)


class Calls(nn.Module):
    """Module of measured calls, each with inputs of its own."""

    def __init__(self, calls: list[tuple[nn.Module, int]]) -> None:
        super().__init__()
        self.calls = nn.ModuleList(call for call, _ in calls)
        self.counts = [count for _, count in calls]

    def forward(self, inputs: list[torch.Tensor]) -> list[Any]:
        results, first = [], 0
        for call, count in zip(self.calls, self.counts, strict=True):
            results.append(call(*inputs[first : first + count]))
            first += count
        return results


def h200(given: Given) -> pl.DataFrame:
    """Predict the calls that charz timed on an H200, each group as one model.

    Not scored are attention in a requested implementation, formats without a policy, and copies and casts alone.
    """
    rows = pl.read_parquet(ROWS).filter(pl.col("time_s").is_not_null(), pl.col("precision").is_in(PRECISIONS))
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for group in GROUPS:
            own = [{**row, **json.loads(row["sizes"] or "{}")} for row in rows.filter(group=group).iter_rows(named=True)]
            found.append(_scored(Path(folder) / f"{group}.duckdb", group, own))
    return pl.concat(found)


def _scored(path: Path, group: str, rows: list[Record]) -> pl.DataFrame:
    cases = [(row, made) for row in rows if row["op"] in MADE and (made := MADE[row["op"]](row)) is not None]
    model = f"cuda:{group}"
    module = Calls([(call, len(inputs)) for _, (call, inputs) in cases]).to("meta").eval()
    inputs = [tensor for _, (_, tensors) in cases for tensor in tensors]
    request = Request(name=model, source=f"synthetic:{model}", module=module, arguments=(inputs,), family="operators", default_batch=1)
    with workspace.change(path) as connection:
        write(connection, [ingest_request(request, from_connection(connection))], maintain.add_runs)
    measured = pl.DataFrame(
        [(number, row["precision"], row["layout"] or "nchw", row["time_s"]) for number, (row, _) in enumerate(cases)],
        ["number", "precision", "memory_format", "measured"], orient="row",
    )  # fmt: skip
    asked = measured.select("precision", "memory_format").unique().with_columns(
        model=pl.lit(model), hardware=pl.lit("h200_sxm_141"), backend=pl.lit("eager"), batch=pl.lit(1, pl.Int64),
        sequence=pl.lit(None, pl.Int64), host_factor=pl.lit(1.0), cache_state=pl.lit("warm"),
    )  # fmt: skip
    with workspace.read(path) as connection, Workbench(connection, asked) as bench:
        predicted = bench.sql(
            """
            SELECT r.run.precision, r.memory_format, CAST(SPLIT_PART(m.path, '.', 2) AS BIGINT) AS number, c.hardware, 'eager' AS backend,
                SUM(c.unlimited_s + c.kernel_gap_s) AS predicted
            FROM kernel_cost AS c
            INNER JOIN run AS r ON r.run = c.run
            INNER JOIN operator AS o ON o.model = c.run.model AND o.operator_id = c.anchor_operator_id
            INNER JOIN module AS m ON m.model = o.model AND m.module_id = o.module_id
            WHERE m.path LIKE 'calls.%'
            GROUP BY ALL
            """
        )
    return measured.join(predicted, on=["number", "precision", "memory_format"]).select(
        "hardware", "backend", "measured", "predicted", family=pl.lit(group), standing=pl.lit("fits saw depthwise")
    )


def _tensor(*shape: int) -> torch.Tensor:
    return torch.empty(*(int(n) for n in shape), device="meta")


def _convolution(row: Record) -> Made | None:
    if row["cudnn_benchmark"]:
        return None
    k, groups, stride, c_in, c_out = (int(row[name]) for name in ("k", "groups", "stride", "c_in", "c_out"))
    made = nn.Conv2d(c_in, c_out, k, stride, k // 2, groups=groups, bias=False, device="meta")
    return made, [_tensor(row["n"], c_in, row["h"], row["h"])]


def _attention(row: Record) -> Made | None:
    if row["path"] != "default" or row["strided"]:
        return None
    *lead, queries, width = row["shape"]
    keys, causal, mask = int(row["keys"]), bool(row["causal"]), row["mask"]
    tensors = [_tensor(*row["shape"]), _tensor(*lead, keys, width), _tensor(*lead, keys, width)]
    if mask == "none":
        return Call(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal)), tensors
    bias = torch.empty(queries, keys, device="meta", dtype=torch.bool if mask == "bool" else torch.float32)
    return Call(lambda q, k, v, b: F.scaled_dot_product_attention(q, k, v, attn_mask=b)), [*tensors, bias]


def _recurrent(row: Record) -> Made:
    kind, hidden = {"lstm": nn.LSTM, "gru": nn.GRU}[row["op"]], int(row["hidden"])
    made = kind(hidden, hidden, bidirectional=bool(row["bidirectional"]), batch_first=True, device="meta")
    return made, [_tensor(row["batch"], row["length"], hidden)]


def _product(row: Record) -> Made:
    m, n, k = (int(row[name]) for name in "mnk")
    if row["op"] == "linear":
        return nn.Linear(k, n, device="meta"), [_tensor(m, k)]
    if row["op"] == "addmm":
        return Call(torch.addmm), [_tensor(n), _tensor(m, k), _tensor(k, n)]
    if row["op"] == "bmm":
        return Call(torch.bmm), [_tensor(row["b"], m, k), _tensor(row["b"], k, n)]
    return Call(torch.mm), [_tensor(m, k), _tensor(k, n)]


def _norm(row: Record) -> Made:
    rows, width = int(row["rows"]), int(row["width"])
    x = _tensor(rows, width)
    if row["op"] == "group_norm":
        return nn.GroupNorm(8 if width % 8 == 0 else 1, width, device="meta"), [_tensor(rows // 196, width, 196)]
    if row["op"] in ("layer_norm", "rms_norm"):
        return {"layer_norm": nn.LayerNorm, "rms_norm": nn.RMSNorm}[row["op"]](width, device="meta"), [x]
    return Call(lambda t: t.sum(-1) if row["op"] == "sum" else torch.softmax(t, -1)), [x]


def _moved(row: Record) -> Made:
    if row["op"] in ("adaptive_avg_pool2d", "batch_norm"):
        c, h = int(row["c"]), int(row["h"])
        x = _tensor(row["elements"] // (c * h * h), c, h, h)
        return (nn.BatchNorm2d(c, device="meta") if row["op"] == "batch_norm" else nn.AdaptiveAvgPool2d(1)), [x]
    functions: dict[str, Callable[[torch.Tensor], Any]] = {"relu": torch.relu, "gelu": F.gelu, "add": lambda x: x + x}
    return Call(functions[row["op"]]), [_tensor(row["elements"])]


MADE: dict[str, Callable[[Record], Made | None]] = {
    "conv2d": _convolution,
    "attention": _attention,
    **dict.fromkeys(("lstm", "gru"), _recurrent),
    **dict.fromkeys(("linear", "addmm", "mm", "bmm"), _product),
    **dict.fromkeys(("layer_norm", "rms_norm", "group_norm", "softmax", "sum"), _norm),
    **dict.fromkeys(("relu", "gelu", "add", "adaptive_avg_pool2d", "batch_norm"), _moved),
}
"""Function that builds the call of each operator."""
