"""The command that draws the kernels of a model on a part as a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from charz.schema import user_file
from charz.schema.errors import CharzError

from ..core import Core
from ..parameters import Backend, Batch, Cache, Cap, File, Force, Model, Part, Precision, Sequence_, Text
from ..question import single
from ..saving import saving

Kernels = Any
"""A `networkx.DiGraph` of kernels by number."""

_KERNELS = "SELECT * FROM kernel_time ORDER BY position"
_STAGES = "SELECT kernel_id, stage FROM kernel WHERE model = ? AND backend = ?"

_SHOWN = (
    "kernel", "operator", "module", "kernel_class", "stage", "latency_s", "energy_j", "flops", "moved_byte", "bottleneck",
)  # fmt: skip
"""Attributes of a node."""


class Graph(Core):
    """Drawing of a model's kernels as a graph."""

    @saving("graph.svg")
    def graph(
        self,
        model: Model,
        *,
        on: Part,
        out: Annotated[File | None, Text("File to write: .svg or .dot.")] = None,
        batch: Batch = None,
        sequence: Sequence_ = None,
        precision: Precision = None,
        backend: Backend = None,
        cache: Cache = "warm",
        cap: Cap = None,
        force: Force = False,
    ) -> Kernels:
        """Draw a model's kernels as boxes colored by their time; in Python, return the networkx graph.

        A node is the number of a kernel, with the attributes `kernel`, `operator`, `module`, `stage`, `latency_s`, `energy_j`, `flops`, `moved_byte` and
        `bottleneck`. An edge leads from the kernel that writes a tensor to a kernel that reads the tensor, and from a conversion or copy that
        the backend inserts to the kernel that reads the result.
        """
        import networkx

        from . import graph_files

        writer = None if out is None else graph_files.WRITERS.get(Path(out).suffix.lower())
        if out is not None and writer is None:
            raise CharzError("unknown format of a graph", str(out), f"there are {', '.join(graph_files.WRITERS)}")
        scoped, keys = self.target(single(model, on, batch, sequence, precision, backend, cache, cap), "kernel_time")
        names = ("model", "hardware", "backend", "precision", "batch")
        graph: Kernels = networkx.DiGraph()
        graph.graph |= {name: keys[name] for name in names}
        rows = scoped.records(_KERNELS)
        places = {row["kernel_id"]: row["position"] for row in rows}
        stages = dict(scoped.execute(_STAGES, [keys["model"], keys["backend"]]).fetchall())
        for row in rows:
            row["stage"] = stages[row["fused_kernel_id"]]
            graph.add_node(row["kernel_id"], **{name: row[name] for name in _SHOWN})
        query = "SELECT producer_kernel_id, consumer_kernel_id FROM kernel_edge WHERE model = ? AND backend = ?"
        graph.add_edges_from(scoped.execute(query, [keys["model"], keys["backend"]]).fetchall())
        inserted = [(row["kernel_id"], row["fused_kernel_id"]) for row in rows if row["kernel_id"] != row["fused_kernel_id"]]
        graph.add_edges_from(sorted(pair, key=places.__getitem__) for pair in inserted)  # a bias comes after its convolution
        if out is not None and writer is not None:
            user_file.write(Path(out), writer(graph).encode(), force)
        return graph
