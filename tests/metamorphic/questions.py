"""Questions to a session, each with the axes that may take several values."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from charz.schema.errors import CharzError
from charz.session import CharzWarning, Session

VALUES: Mapping[str, Sequence[Any]] = {
    "models": ("net", "language", "latent"),
    "on": ("rtx4090", "i7_13700k", "kpu_t64", "tpu_v4"),
    "batch": (1, 2, 16),
    "sequence": (32, 64),
    "precision": ("fp32", "bf16", "int8"),
    "backend": ("eager", "inductor"),
    "context": (64, 256),
    "devices": (1, 2, 8),
    "cap": ("default", "200w"),
    "kv_precision": ("fp16", "fp8_e4m3"),
    "tensor": (1, 2),
    "zero": ("0", "3"),
}
"""Values of each axis of a question."""

COLUMNS = {"models": "model", "on": "hardware", "devices": "device_count", "cap": "power"}
"""Column of an answer that names the value of an axis, if their names differ."""


CONDITIONS = ("power", "engine_version", "kv_precision", "device_count")
"""Columns that an answer has if its question names several values of them."""


@dataclass(frozen=True, slots=True)
class Command:
    """A method that answers for several values of some axes."""

    method: str
    base: Mapping[str, Any]
    """Parameters of the question with one value for each axis."""
    axes: Sequence[str]
    relative: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Columns that compare the values of an axis with one another, by axis."""

    def __str__(self) -> str:
        named = (str(self.base[k]) for k in ("section", "by", "models", "model") if self.base.get(k, "net") != "net")
        return "_".join([self.method, *named])


NET = {"models": "net", "on": "rtx4090", "batch": 2}
TOP = {"top": 10**6}
RUN_AXES = ("on", "batch", "precision", "backend")

COMMANDS = (
    Command("compare", NET | TOP, ("models", *RUN_AXES)),
    Command("compare", NET | TOP | {"section": "memory"}, ("models", *RUN_AXES)),
    Command("compare", NET | TOP | {"by": "operator"}, ("models", "on", "batch")),
    Command("compare", NET | TOP | {"section": "price"}, ("models", *RUN_AXES, "cap")),
    Command("compare", NET | TOP | {"section": "saturation"}, ("models", *RUN_AXES, "cap"), {"batch": ("throughput_fraction", "saturating_batch")}),
    Command("parallel", {"model": "net", "on": "h100_sxm5_80", "batch": 16}, ("batch", "precision", "backend")),
    Command("compare", {"models": "language", "on": "rtx4090", "sequence": 32} | TOP, ("on", "sequence", "precision")),
    Command(
        "compare", {"models": "language", "on": "rtx4090", "sequence": 32, "section": "saturation"}, ("on", "sequence", "batch"),
        {"batch": ("throughput_fraction", "saturating_batch")},
    ),
    Command(
        "llm", {"models": "language", "on": "rtx4090", "batch": 2, "context": 64},
        ("models", "on", "batch", "context", "devices", "kv_precision"),
    ),
    Command(
        "compare", {"models": "latent", "on": "rtx4090", "batch": 2, "context": 64, "section": "memory"} | TOP,
        ("batch", "devices", "kv_precision"),
    ),
    Command("llm", {"models": "latent", "on": "rtx4090", "batch": 2, "context": 64}, ("context", "devices")),
    Command("serve", {"model": "language", "on": "rtx4090", "rate": 1.0}, ("on", "precision")),
    Command(
        "train", {"models": "net_trained,train", "on": "rtx4090", "batch": 2} | TOP,
        ("on", "batch", "precision", "tensor", "zero"),
    ),
    Command(
        "train", {"models": "net_trained,train", "on": "h100_sxm5_80", "batch": 2, "section": "memory"} | TOP,
        ("batch", "precision", "backend", "tensor", "zero"),
    ),
    Command(
        "train", {"models": "net_trained,train", "on": "rtx4090", "batch": 2, "section": "time"} | TOP, ("batch", "tensor"),
    ),
)  # fmt: skip
"""Every method that answers for several values at once."""

SINGLE = (
    ("report", {"model": "net", "on": "rtx4090", "batch": 2}),
    ("report", {"model": "net", "on": "kpu_t64", "section": "kernels"}),
    ("explain", {"model": "net", "on": "rtx4090", "batch": 2}),
    ("opportunities", {"model": "net", "on": "rtx4090", "batch": 2}),
    ("mapping", {"model": "net", "on": "kpu_t64"}),
    ("elasticity", {"models": "net", "on": "rtx4090"}),
    ("recommend", {"models": "net,language", "on": "rtx4090,i7_13700k,kpu_t64"}),
    ("report", {"model": "net", "on": "rtx4090", "section": "timeline"}),
    ("report", {"model": "net", "on": "rtx4090", "section": "checkpointing"}),
    ("report", {"model": "net", "on": "rtx4090", "section": "concurrency"}),
    ("report", {"model": "latent", "on": "rtx4090", "context": 64, "section": "largest_batch"}),
)
"""Questions to methods that answer for one run, or that choose among all named values."""


def ask(db: Session, method: str, **named: Any) -> pl.DataFrame | None:
    """Return the rows of an answer, or None if the question is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CharzWarning)
        try:
            return getattr(db, method)(**named)
        except CharzError:
            return None


def widened(command: Command, axis: str, values: Sequence[Any]) -> dict[str, Any]:
    """Return the parameters of a question with several values of one axis."""
    return {**command.base, axis: ",".join(map(str, values))}


def of_value(frame: pl.DataFrame, axis: str, value: Any) -> pl.DataFrame:
    """Return the rows of an answer for one value of an axis."""
    column = COLUMNS.get(axis, axis)
    if axis == "tensor":
        return frame.filter(pl.col("split").str.contains(f"tp{value}") if value > 1 else ~pl.col("split").str.contains("tp"))
    if axis == "zero":
        return frame.filter(pl.col("split").str.contains(f"zero{value}") if value != "0" else ~pl.col("split").str.contains("zero"))
    return frame.filter(pl.col(column) == value)


def difference(one: pl.DataFrame | None, other: pl.DataFrame | None, left_out: Sequence[str] = ()) -> str:
    """Return the first difference of two answers in any order of rows, or an empty text."""
    rows = [[] if frame is None else frame.drop(left_out, strict=False).rows(named=True) for frame in (one, other)]
    if len(rows[0]) != len(rows[1]):
        return f"{len(rows[0])} rows, {len(rows[1])} rows"
    for first, second in zip(*(sorted(part, key=_order) for part in rows), strict=True):
        # A condition with a single value has no column.
        for name, value in first.items():
            if name in second and not _same(value, second[name]):
                return f"{name}: {value} and {second[name]} of {first}"
    return ""


def _order(row: Mapping[str, Any]) -> tuple[str, ...]:
    kept = {name: value for name, value in row.items() if name not in CONDITIONS}
    texts = [str(value) for value in kept.values() if not isinstance(value, float)]
    return (*texts, *(f"{value:.6g}" for value in kept.values() if isinstance(value, float)))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-15) or (math.isnan(one) and math.isnan(other))
    return one == other
