"""Splits over devices that a command generates, in place of the file's."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from charz.schema.catalog.devices import DeviceSplit

    from ..scoped import Scoped

MOST_DEVICES = 64
"""Largest number of devices of splits that are tried unless degrees are named."""

MOST_STATED = 4096
"""Largest number of devices of a named split."""

@dataclass(frozen=True, slots=True)
class Degrees:
    """Degrees of splits to try, and the numbers of devices that they may take together."""

    pipelines: Sequence[int]
    contexts: Sequence[int]
    experts: Sequence[int]
    tensors: Sequence[int] = ()
    """Degrees of tensor parallel; empty for any that `devices` leave."""
    devices: Sequence[int] = ()
    """Numbers of all devices; empty for any."""
    most: int = MOST_DEVICES
    """Largest number of devices of a server."""
    is_shared: bool = False
    """True if several equal servers may share the devices; else tensor parallel takes what the other degrees leave."""


_SHORT = {
    "tensor": "tp", "pipeline": "pp", "interleave": "v", "context": "cp", "data": "dp", "expert": "ep", "micro_batches": "m",
}  # fmt: skip
"""Usual abbreviations of degrees."""


def name(degrees: dict[str, Any], stage: int = 0, recompute: str = "none") -> str:
    """Name a split in usual notation without degrees of 1: `tp8 pp4 m64 zero1 full`."""
    words = [f"{short}{degrees[name]}" for name, short in _SHORT.items() if degrees.get(name, 1) > 1]
    words += [f"zero{stage}"] if stage else []
    words += [recompute] if recompute != "none" else []
    return " ".join(words) or "one"


def parsed(name: str) -> dict[str, int]:
    """Return the degrees that the name of a server's split tells.

    >>> parsed("tp8 pp2"), parsed("one")
    ({'tensor': 8, 'pipeline': 2}, {})
    """
    words = {short: degree for degree, short in _SHORT.items()}
    return {words[word.rstrip("0123456789")]: int(word.lstrip("abcdefghijklmnopqrstuvwxyz")) for word in name.split() if name != "one"}


def batches(name: str) -> int:
    """Return the number of batches that run at once in a server: one in each stage of each replica.

    >>> batches("tp2 pp2 dp4 ep4")
    8
    """
    degrees = parsed(name)
    return degrees.get("pipeline", 1) * degrees.get("data", 1)


def degrees(scoped: Scoped) -> dict[str, dict[str, int]]:
    """Return the degrees of each split to which a connection is limited."""
    query = "SELECT split, tensor, pipeline, data, expert, context FROM device_split"
    return {row.pop("split"): row for row in scoped.records(query)}


def served(tried: Degrees) -> Iterator[DeviceSplit]:
    """Yield the splits of a server, with as many replicas as experts are spread over; further replicas would be separate servers."""
    from charz.schema.catalog.devices import DeviceSplit

    for pipeline, context, expert in itertools.product(tried.pipelines, tried.contexts, tried.experts):
        data = max(1, expert // context)
        others = pipeline * context * data
        for tensor in _tensors(tried, others):
            if (context * data) % expert or tensor * others > tried.most:
                continue
            degrees = {
                "tensor": tensor, "pipeline": pipeline, "interleave": 1, "context": context, "data": data, "expert": expert,
                "micro_batches": 1,
            }  # fmt: skip
            yield DeviceSplit(
                **degrees, split=name(degrees), framework="plain", optimizer="adam", zero_stage=0, recompute="none",
                is_sequence_parallel=True, block_count=None, adapter_rank=None, frozen_precision=None,
            )  # fmt: skip


def _tensors(tried: Degrees, others: int) -> Sequence[int]:
    """Return the degrees of tensor parallel that go with other degrees, whose product is `others`."""
    if not tried.devices:
        return tried.tensors
    if tried.is_shared:
        return [tensor for tensor in tried.tensors if any(count % (tensor * others) == 0 for count in tried.devices)]
    left = [count // others for count in tried.devices if count % others == 0]
    return [tensor for tensor in left if not tried.tensors or tensor in tried.tensors]


def has_experts(connection: DuckDBPyConnection, models: list[str]) -> bool:
    """Tell whether any of the models has experts that a split distributes."""
    query = "SELECT 1 FROM operator_split WHERE is_expert AND list_contains(?, model) LIMIT 1"
    return connection.execute(query, [models]).fetchone() is not None


def hold(scoped: Scoped, made: list[DeviceSplit]) -> None:
    """Replace the file's splits by these for the views of a connection."""
    from charz.schema.catalog.devices import DeviceSplit

    table = DeviceSplit.TABLE
    connection = scoped.prepared(table)
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT * FROM main.{table} LIMIT 0")
    columns = list(DeviceSplit.model_fields)
    values = [[getattr(split, name) for split in made] for name in columns]
    connection.execute(f"INSERT INTO temp.{table} ({', '.join(columns)}) SELECT {', '.join(['UNNEST(?)'] * len(columns))}", values)
