"""Predicted times of single operators beside those that `measure_cuda` took on a GPU.

    python -m benchmarks.score_cuda_operators [--rows benchmarks/measured/h200_operators.parquet] [--hardware h200_sxm] [--worst 20]
        [--markdown docs/validation-h200-operators.md]

Each group becomes one model whose modules are the measured calls, ingested into a file of its own and predicted through the same
SQL as a network: kernels, copies and casts that PyTorch puts around an operator count with it. A call was replayed with its inputs
where the last call left them, so inputs count as written by an earlier kernel. Attention is scored as PyTorch chooses it; paths
that were asked for by name, and precisions that no policy of charz says, are left out and counted.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import torch
from torch import nn
from torch.nn import functional as F

from benchmarks import page
from charz.hardware_catalog.calibration import errors
from charz.hardware_catalog.calibration.workbench import Workbench
from charz.ingest.compile.rules import from_connection
from charz.ingest.pipeline import ingest_request
from charz.ingest.trace.export import Request
from charz.ingest.write import write
from charz.session import workspace
from charz.sql import maintain

Record = dict[str, Any]

PRECISIONS = {"fp32": "fp32", "tf32": "tf32", "fp16": "fp16", "bf16": "bf16"}
"""Policy under which an operator alone computes as it was measured."""

GROUPS = ("depthwise", "grouped", "dense", "attention", "recurrent", "products", "normalized", "moved")


class Call(nn.Module):
    """A function of tensors as a module, so that its operators have a path."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *tensors: torch.Tensor) -> Any:
        return self.function(*tensors)


class Calls(nn.Module):
    """Measured calls side by side, each with inputs of its own."""

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


def main() -> None:
    """Ingest, predict, print, write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, default=Path("benchmarks/measured/h200_operators.parquet"))
    parser.add_argument("--hardware", default="h200_sxm_141")
    parser.add_argument("--worst", type=int, default=20)
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--markdown", type=Path, help="write the errors to this page")
    options = parser.parse_args()
    page.print_wide(3)
    rows = read(options.rows)
    with tempfile.TemporaryDirectory() as folder:
        scored = [scores(Path(folder) / f"{group}.duckdb", rows, group, options.hardware) for group in options.groups.split(",")]
    both = pl.concat([frame for frame in scored if len(frame)], how="diagonal")
    tables = [("By group", table(both, ["group"])), ("By operator, type and layout", table(both, ["group", "op", "precision", "layout"]))]
    for heading, frame in tables:
        print(heading)
        print(frame)
    shown = ["group", "what", "measured_us", "predicted_us", "log_ratio"]
    worst = both.with_columns(
        measured_us=1e6 * pl.col("measured_s"), predicted_us=1e6 * pl.col("predicted_s"),
        log_ratio=(pl.col("predicted_s") / pl.col("measured_s")).log(),
    ).sort(pl.col("log_ratio").abs(), descending=True).select(shown)  # fmt: skip
    print(worst.head(options.worst))
    left = sum(row["group"] in options.groups.split(",") for row in rows) - len(both)
    print(f"{left} rows left out")
    if options.markdown is not None:
        text = [
            "Written by `python -m benchmarks.score_cuda_operators --markdown docs/validation-h200-operators.md`; do not edit.",
            f"Times of {len(both)} single operators on an H200 SXM (PyTorch 2.11, cuDNN 9.19, kernels alone) beside what charz says of"
            f" them under eager; {left} rows of the same file are left out: attention by a path that was asked for, formats that no"
            " policy has, layout copies and casts alone. Rows of `efficiency` with the source `charz_h200_operators` rest on these rows:"
            " depthwise convolutions by kernel; those of the part itself rest on whole networks. Columns"
            " as in [validation](validation.md).",
        ]
        page.write(options.markdown, "Validation on single operators of an H200", text, [*tables, ("Furthest off", worst.head(options.worst))])


def read(path: Path) -> list[Record]:
    """The measured rows that ran, each with its sizes."""
    rows = pl.read_parquet(path).filter(pl.col("time_s").is_not_null())
    return [{**row, **json.loads(row["sizes"] or "{}")} for row in rows.iter_rows(named=True)]


def table(both: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Errors by the given columns."""
    figures = ["rows", "median_error", "p90_error", "bias", "within_30_fraction"]
    return errors.table(both, by, "predicted_s").select(*by, *figures).sort(by)


def scores(path: Path, rows: list[Record], group: str, hardware: str) -> pl.DataFrame:
    """Measured and predicted times of a group's rows."""
    named = [row for row in rows if row["group"] == group and row["precision"] in PRECISIONS]
    cases = [(row, made) for row in named if (made := call(row)) is not None]
    if not cases:
        return pl.DataFrame()
    model = f"cuda:{group}"
    calls = [(module, len(inputs)) for _, (module, inputs) in cases]
    inputs = [tensor for _, (_, tensors) in cases for tensor in tensors]
    module = Calls(calls).to("meta").eval()
    request = Request(name=model, source=f"synthetic:{model}", module=module, arguments=(inputs,), family="operators", default_batch=1)
    with workspace.change(path) as connection:
        write(connection, [ingest_request(request, from_connection(connection))], maintain.add_runs)
    kinds = sorted({(PRECISIONS[row["precision"]], layout(row)) for row, _ in cases})
    asked = pl.DataFrame(
        [
            {
                "model": model, "hardware": hardware, "backend": "eager", "precision": precision, "memory_format": memory_format,
                "batch": 1, "sequence": None, "host_factor": 1.0, "cache_state": "warm",
            }
            for precision, memory_format in kinds
        ],
        schema_overrides={"sequence": pl.Int64},
    )  # fmt: skip
    with workspace.read(path) as connection, Workbench(connection, asked) as bench:
        found = bench.sql(
            """
            SELECT r.run.precision, r.memory_format, CAST(SPLIT_PART(m.path, '.', 2) AS BIGINT) AS number,
                SUM(c.unlimited_s + c.kernel_gap_s) AS predicted_s
            FROM kernel_cost AS c
            INNER JOIN run AS r ON r.run = c.run
            INNER JOIN operator AS o ON o.model = c.run.model AND o.operator_id = c.anchor_operator_id
            INNER JOIN module AS m ON m.model = o.model AND m.module_id = o.module_id
            WHERE m.path LIKE 'calls.%'
            GROUP BY ALL
            """
        )
    listed = pl.DataFrame(
        [
            {
                "group": group, "op": row["op"], "precision": PRECISIONS[row["precision"]], "layout": layout(row), "number": number,
                "what": described(row), "measured_s": row["time_s"],
            }
            for number, (row, _) in enumerate(cases)
        ]
    )  # fmt: skip
    return listed.join(
        found, left_on=["number", "precision", "layout"], right_on=["number", "precision", "memory_format"], how="inner"
    ).drop_nulls("predicted_s")


def layout(row: Record) -> str:
    """How the images of a case lie."""
    return row.get("layout") or "nchw"


def described(row: Record) -> str:
    """A case in words: what it has, in the order of the file."""
    sizes = {"op": row["op"], "precision": row["precision"], "layout": row["layout"], **json.loads(row["sizes"])}
    return " ".join(f"{k}={v}" for k, v in sizes.items() if v not in (None, False))


def call(row: Record) -> tuple[nn.Module, list[torch.Tensor]] | None:
    """The module of a case with its inputs, without values; None where the case is no call of charz's."""
    made: Callable[[Record], tuple[nn.Module, list[torch.Tensor]] | None] | None = MADE.get(row["op"])
    return made(row) if made is not None else None


def _tensor(*shape: int) -> torch.Tensor:
    return torch.empty(*(int(n) for n in shape), device="meta")


def _convolution(row: Record) -> tuple[nn.Module, list[torch.Tensor]] | None:
    if row["cudnn_benchmark"]:
        return None
    k, groups, stride = int(row["k"]), int(row["groups"]), int(row["stride"])
    c_in, c_out = int(row["c_in"]), int(row["c_out"])
    made = nn.Conv2d(c_in, c_out, k, stride, k // 2, groups=groups, bias=False, device="meta")
    return made, [_tensor(row["n"], c_in, row["h"], row["h"])]


def _attention(row: Record) -> tuple[nn.Module, list[torch.Tensor]] | None:
    if row["path"] != "default" or row["strided"]:
        return None
    *lead, queries, width = row["shape"]
    keys, causal, mask = int(row["keys"]), bool(row["causal"]), row["mask"]
    tensors = [_tensor(*row["shape"]), _tensor(*lead, keys, width), _tensor(*lead, keys, width)]
    if mask == "none":
        return Call(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal)), tensors
    bias = torch.empty(queries, keys, device="meta", dtype=torch.bool if mask == "bool" else torch.float32)
    return Call(lambda q, k, v, b: F.scaled_dot_product_attention(q, k, v, attn_mask=b)), [*tensors, bias]


def _recurrent(row: Record) -> tuple[nn.Module, list[torch.Tensor]]:
    kind = {"lstm": nn.LSTM, "gru": nn.GRU}[row["op"]]
    hidden = int(row["hidden"])
    made = kind(hidden, hidden, bidirectional=bool(row["bidirectional"]), batch_first=True, device="meta")
    return made, [_tensor(row["batch"], row["length"], hidden)]


def _product(row: Record) -> tuple[nn.Module, list[torch.Tensor]]:
    m, n, k = int(row["m"]), int(row["n"]), int(row["k"])
    if row["op"] == "linear":
        return nn.Linear(k, n, device="meta"), [_tensor(m, k)]
    if row["op"] == "addmm":
        return Call(torch.addmm), [_tensor(n), _tensor(m, k), _tensor(k, n)]
    if row["op"] == "bmm":
        return Call(torch.bmm), [_tensor(row["b"], m, k), _tensor(row["b"], k, n)]
    return Call(torch.mm), [_tensor(m, k), _tensor(k, n)]


def _norm(row: Record) -> tuple[nn.Module, list[torch.Tensor]]:
    rows, width = int(row["rows"]), int(row["width"])
    x = _tensor(rows, width)
    if row["op"] == "layer_norm":
        return nn.LayerNorm(width, device="meta"), [x]
    if row["op"] == "rms_norm":
        return nn.RMSNorm(width, device="meta"), [x]
    if row["op"] == "group_norm":
        return nn.GroupNorm(8 if width % 8 == 0 else 1, width, device="meta"), [_tensor(rows // 196, width, 196)]
    return Call(lambda t: t.sum(-1) if row["op"] == "sum" else torch.softmax(t, -1)), [x]


def _moved(row: Record) -> tuple[nn.Module, list[torch.Tensor]]:
    if row["op"] in ("adaptive_avg_pool2d", "batch_norm"):
        c, h = int(row["c"]), int(row["h"])
        x = _tensor(row["elements"] // (c * h * h), c, h, h)
        return (nn.BatchNorm2d(c, device="meta") if row["op"] == "batch_norm" else nn.AdaptiveAvgPool2d(1)), [x]
    functions: dict[str, Callable[[torch.Tensor], Any]] = {"relu": torch.relu, "gelu": F.gelu, "add": lambda x: x + x}
    return Call(functions[row["op"]]), [_tensor(row["elements"])]


MADE: dict[str, Callable[[Record], Any]] = {
    "conv2d": _convolution,
    "attention": _attention,
    **dict.fromkeys(("lstm", "gru"), _recurrent),
    **dict.fromkeys(("linear", "addmm", "mm", "bmm"), _product),
    **dict.fromkeys(("layer_norm", "rms_norm", "group_norm", "softmax", "sum"), _norm),
    **dict.fromkeys(("relu", "gelu", "add", "adaptive_avg_pool2d", "batch_norm"), _moved),
}
"""What makes the call of an operator; others (copies of layout, casts, clones) are no operators of a network by themselves."""


if __name__ == "__main__":
    main()
