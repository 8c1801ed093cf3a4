"""Generated graphs and generated parts for property tests."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from charz.ingest.graph import Graph, GraphModule, GraphOperator, GraphTensor, Polynomial, Powers, Step
from charz.schema.catalog.energy import EnergyProfile
from charz.schema.catalog.part import (
    Hardware,
    HardwareCluster,
    HardwareMemory,
    HardwareOverhead,
    HardwarePeak,
    HardwarePower,
    UsualHost,
)
from charz.schema.row import Row

ONE: Powers = (0, 0, 0)
SAMPLE: Powers = (1, 0, 0)
TOKEN: Powers = (1, 1, 0)
"""Powers of quantities that are constant, that grow with the batch, and with batch and sequence."""


@dataclass(slots=True)
class Drawing:
    """A graph under construction."""

    graph: Graph = field(default_factory=Graph)
    channels: dict[int, int] = field(default_factory=dict)
    """Elements per row of each activation, by tensor."""
    rows: dict[int, int] = field(default_factory=dict)
    """Rows per sample (or token) of each activation, by tensor."""
    powers: Powers = SAMPLE

    def tensor(self, role: str, elements: Polynomial, producer: int | None = None) -> int:
        """Add a tensor and return its id."""
        tensor_id = len(self.graph.tensors)
        self.graph.tensors.append(
            GraphTensor(tensor_id, f"t{tensor_id}", producer, role, "fp32", "[]", elements, tensor_id)
        )
        return tensor_id

    def operator(
        self, kind: str, reads: list[int], rows: int, channels: int, steps: list[Step], is_view: bool = False
    ) -> int:
        """Add an operator in a new or existing module and return the tensor it writes."""
        graph = self.graph
        operator_id = len(graph.operators)
        module = 1 + operator_id // 3
        if module == len(graph.modules):
            graph.modules.append(GraphModule(module, 0, f"block{module}", "Block", 1))
        result = self.tensor("activation", {self.powers: float(rows * channels)}, operator_id)
        if is_view:
            graph.tensors[result].storage_tensor_id = graph.tensors[reads[0]].storage_tensor_id
        self.rows[result], self.channels[result] = rows, channels
        stage = 1 + max(
            (graph.operators[p].stage for t in reads if (p := graph.tensors[t].producer_operator_id) is not None),
            default=-1,
        )
        graph.operators.append(
            GraphOperator(
                operator_id,
                f"n{operator_id}",
                f"aten.{kind}.default",
                kind,
                module,
                "test",
                reads,
                [result],
                stage=stage,
                is_view=is_view,
                steps=steps,
            )
        )
        return result

    def size(self, value: float) -> Polynomial:
        """Make a quantity that grows with the activations."""
        return {self.powers: float(value)}


def gemm(
    drawing: Drawing, name: str, groups: int, m: int, n: int, k: int, extra: float = 0.0, by_group: bool = False
) -> Step:
    """Make a matrix product; rows or groups grow with the batch."""
    macs = float(groups * m * n * k)
    return Step(
        name,
        "gemm",
        {
            "macs": drawing.size(macs),
            "flops": drawing.size(2 * macs + extra),
            "threads": drawing.size(groups * m * n),
            "m": {ONE: float(m)} if by_group else drawing.size(m),
            "n": {ONE: float(n)},
            "k": {ONE: float(k)},
            "groups": drawing.size(groups) if by_group else {ONE: float(groups)},
        },
    )


def vector(
    drawing: Drawing, flops: float, threads: int, name: str = "main", macs: float = 0.0, accesses: int = 0
) -> Step:
    """Make a step of arithmetic on vector lanes."""
    sizes = (
        {"flops": flops, "threads": threads}
        | ({"macs": macs} if macs else {})
        | ({"accesses": accesses} if accesses else {})
    )
    return Step(name, "vector", {quantity: drawing.size(size) for quantity, size in sizes.items()})


SIZES = st.sampled_from([1, 2, 3, 7, 8, 16, 49, 64, 100, 196, 257, 512, 1000])


@st.composite
def graphs(draw: st.DrawFn, longest: int = 10) -> Graph:
    """Draw a directed graph of matrix, vector and data operators with views and several consumers."""
    drawing = Drawing(powers=draw(st.sampled_from([SAMPLE, TOKEN])))
    drawing.graph.modules = [GraphModule(0, None, "", "Root", 0)]
    first = drawing.tensor("input", drawing.size(0))
    drawing.rows[first], drawing.channels[first] = draw(SIZES), draw(SIZES)
    drawing.graph.tensors[first].elements = drawing.size(drawing.rows[first] * drawing.channels[first])
    for _ in range(draw(st.integers(1, longest))):
        source = draw(st.sampled_from(sorted(drawing.rows)))
        _ADDERS[draw(st.sampled_from(sorted(_ADDERS)))](draw, drawing, source)
    read = {t for o in drawing.graph.operators for t in o.reads}
    for tensor in drawing.graph.tensors:
        tensor.is_output = tensor.role == "activation" and tensor.tensor_id not in read
    drawing.graph.planned_format = draw(st.sampled_from(["nchw", "nhwc"]))
    for memory_format in ("nchw", "nhwc"):
        _draw_layouts(draw, drawing.graph, memory_format)
    return drawing.graph


def _draw_layouts(draw: st.DrawFn, graph: Graph, memory_format: str) -> None:
    """Draw any layout for any operator, and copies of some tensors that operators read."""
    kinds = st.sampled_from(["nchw", "nhwc", "strided", "view"])
    graph.layouts[memory_format] = {
        o.operator_id: layout for o in graph.operators if (layout := draw(st.none() | kinds)) is not None
    }
    graph.copies[memory_format] = [
        (o.operator_id, t) for o in graph.operators if not o.is_view for t in o.reads if draw(st.integers(0, 3)) == 0
    ]


def _add_linear(draw: st.DrawFn, d: Drawing, source: int, kind: str = "linear") -> None:
    rows, k, n = d.rows[source], d.channels[source], draw(SIZES)
    weight = d.tensor("weight", {ONE: float(k * n)})
    bias = draw(st.booleans())
    operands = [source, weight, d.tensor("weight", {ONE: float(n)})] if bias else [source, weight]
    d.operator(kind, operands, rows, n, [gemm(d, "main", 1, rows, n, k, rows * n if bias else 0.0)])


def _add_conv(draw: st.DrawFn, d: Drawing, source: int) -> None:
    _add_linear(draw, d, source, "conv")
    (product,) = d.graph.operators[-1].steps
    product.quantities["taps"] = {ONE: float(draw(st.sampled_from([1, 9])))}
    if draw(st.booleans()):
        product.quantities["image"] = d.graph.tensors[source].elements
        product.quantities["samples"] = d.size(1)


def _add_depthwise(draw: st.DrawFn, d: Drawing, source: int) -> None:
    rows, channels = d.rows[source], d.channels[source]
    weight = d.tensor("weight", {ONE: 9.0 * channels})
    macs = 9.0 * rows * channels
    d.operator("depthwise_conv", [source, weight], rows, channels, [vector(d, 2 * macs, rows * channels, macs=macs)])


def _add_pointwise(kind: str, flops: int) -> object:
    def add(draw: st.DrawFn, d: Drawing, source: int) -> None:
        rows, channels = d.rows[source], d.channels[source]
        d.operator(kind, [source], rows, channels, [vector(d, flops * rows * channels, rows * channels)])

    return add


def _add_batch_norm(draw: st.DrawFn, d: Drawing, source: int) -> None:
    rows, channels = d.rows[source], d.channels[source]
    scale = d.tensor("weight", {ONE: float(channels)})
    mean = d.tensor("buffer", {ONE: float(channels)})
    d.operator("batch_norm", [source, scale, mean], rows, channels, [vector(d, 2 * rows * channels, rows * channels)])


def _add_sum(draw: st.DrawFn, d: Drawing, source: int) -> None:
    same = [t for t in d.rows if d.rows[t] == d.rows[source] and d.channels[t] == d.channels[source]]
    rows, channels = d.rows[source], d.channels[source]
    other = draw(st.sampled_from(sorted(same)))
    d.operator("elementwise", [source, other], rows, channels, [vector(d, rows * channels, rows * channels)])


def _add_reduction(draw: st.DrawFn, d: Drawing, source: int) -> None:
    rows, channels = d.rows[source], d.channels[source]
    d.operator("reduction", [source], 1, channels, [vector(d, rows * channels, channels)])


def _add_resample(draw: st.DrawFn, d: Drawing, source: int) -> None:
    rows, channels = d.rows[source], d.channels[source]
    d.operator(
        "resample", [source], rows, channels, [vector(d, 7 * rows * channels, rows * channels, accesses=channels)]
    )


def _add_copy(draw: st.DrawFn, d: Drawing, source: int) -> None:
    other = draw(st.sampled_from(sorted(d.rows)))
    total = d.rows[source] * d.channels[source] + d.rows[other] * d.channels[other]
    d.operator("copy", [source, other], 1, total, [Step("main", "move", {"threads": d.size(total)})])


def _add_view(draw: st.DrawFn, d: Drawing, source: int) -> None:
    d.operator("view", [source], 1, d.rows[source] * d.channels[source], [], is_view=True)


def _add_gather(draw: st.DrawFn, d: Drawing, source: int) -> None:
    table = d.tensor("weight", {ONE: 50000.0})
    rows, channels = d.rows[source], draw(SIZES)
    moved = d.size(rows * channels)
    d.operator("embedding", [source, table], rows, channels, [Step("main", "move", {"threads": moved})])
    d.graph.operators[-1].accesses = {table: moved}
    fraction = draw(st.sampled_from([None, 0.01, 0.25, 1.0]))
    if fraction is not None:
        d.graph.operators[-1].draw_fractions = {table: fraction}


def _add_attention(draw: st.DrawFn, d: Drawing, source: int) -> None:
    rows, width, heads = d.rows[source], d.channels[source], draw(st.sampled_from([1, 3, 8]))
    sharing = draw(st.sampled_from([1, 4]))
    scores = heads * sharing * rows * rows
    steps = [
        gemm(d, "qk", heads, sharing * rows, rows, width, by_group=True),
        vector(d, 5 * scores, scores, "softmax"),
        gemm(d, "av", heads, sharing * rows, width, rows, by_group=True),
    ]
    if sharing != 1:
        for product in (steps[0], steps[2]):
            product.quantities["sharing"] = {ONE: float(sharing)}
    d.operator("attention", [source], rows, width, steps)


_ADDERS = {
    "linear": _add_linear,
    "conv": _add_conv,
    "depthwise": _add_depthwise,
    "activation": _add_pointwise("activation", 1),
    "softmax": _add_pointwise("softmax", 5),
    "norm": _add_pointwise("norm", 7),
    "batch_norm": _add_batch_norm,
    "elementwise": _add_sum,
    "reduction": _add_reduction,
    "copy": _add_copy,
    "resample": _add_resample,
    "view": _add_view,
    "embedding": _add_gather,
    "attention": _add_attention,
}

KINDS = {"gpu": "simt", "cpu": "core", "tpu": "systolic", "kpu": "domain_flow", "npu": "simt", "dsp": "core"}
DATAFLOWS = (None, "weight_stationary", "output_stationary", "input_stationary", "wavefront")
PRECISIONS = ("fp32", "fp16", "bf16", "int8")


def rate(low: float, high: float) -> st.SearchStrategy[float]:
    """Draw a number spread evenly over orders of magnitude."""
    return st.floats(0, 1).map(lambda x: low * (high / low) ** x)


@st.composite
def parts(draw: st.DrawFn, family: str) -> list[Row]:
    """Draw the rows of one part: units, memories, peaks, power and energy; numbers that catalogs omit may be absent."""
    part_id = f"generated_{family}"
    has_arrays = family in ("tpu", "kpu")
    made: list[Row] = [
        Hardware(
            hardware=part_id,
            name="Generated",
            vendor=draw(st.sampled_from(["nvidia", "amd", "intel"])),
            family=family,
            market="test",
            year=None,
            architecture="Test",
            compute_capability=None,
            process_nm=None,
            dataflow=draw(st.sampled_from(DATAFLOWS)) if has_arrays else None,
            form_factor="test",
            status="simulated" if family == "kpu" else "shipping",
            origin="user",
            note=None,
            die_count=1,
        ),
    ]
    names = [f"cluster{i}" for i in range(draw(st.integers(1, 2)))]
    is_hybrid = family == "cpu" and len(names) == 2
    if is_hybrid:
        names = ["p_core", "e_core"]
    for name in names:
        made.append(
            HardwareCluster(
                hardware=part_id,
                cluster=name,
                kind=KINDS[family],
                unit_count=draw(st.integers(1, 150)),
                lanes=draw(st.sampled_from([4.0, 16.0, 128.0])),
                array_rows=draw(st.sampled_from([4, 8, 16, 128])) if has_arrays else None,
                array_columns=draw(st.sampled_from([4, 16, 128])) if has_arrays else None,
                accumulator_rows=draw(st.sampled_from([None, 0, 7, 64, 4096])) if has_arrays else None,
                thread_count=None,
                clock_base_hz=None,
                clock_boost_hz=1e9,
                clock_matrix_hz=None,
                derived_matrix_hz=None,
                cluster_rank=None,
            )
        )
    made += draw(memories(part_id, family))
    for precision in PRECISIONS:
        units = ["vector", "matrix"] if family != "cpu" else ["vector"]
        for unit in units:
            if unit == "matrix" and family in ("gpu", "tpu") and precision == "fp32":
                continue
            made.append(
                HardwarePeak(
                    hardware=part_id,
                    precision=precision,
                    unit=unit,
                    accumulator=draw(st.sampled_from(["fp32", precision])),
                    instruction=None,
                    cluster=draw(st.sampled_from(["all", names[0]])),
                    peak_ops_per_s=draw(rate(1e10, 1e15)),
                    ops_per_clock_per_unit=None,
                    derived_ops_per_s=None,
                    performance_fraction=draw(st.floats(0.1, 0.9)) if is_hybrid else None,
                )
            )
    idle = draw(st.floats(0.1, 50))
    made.append(
        HardwarePower(
            hardware=part_id,
            mode="default",
            is_default=True,
            tdp_w=draw(st.none() | rate(100, 2000)),
            idle_w=idle,
            clock_fraction=draw(st.floats(0.3, 1)),
        )
    )
    if draw(st.booleans()):
        limit, clock = draw(rate(100, 2000)), draw(st.floats(0.1, 1))
        made.append(
            HardwarePower(
                hardware=part_id, mode="low", is_default=False, tdp_w=limit, idle_w=None, clock_fraction=clock
            )
        )
    if draw(st.booleans()):
        for overhead in ("kernel_gap", "memory_latency", "norm_block", "team"):
            made.append(HardwareOverhead(hardware=part_id, overhead=overhead, overhead_s=draw(rate(1e-7, 1e-5))))
    if draw(st.booleans()):
        ratio = draw(rate(0.2, 20))
        made.append(
            UsualHost(hardware=part_id, name="slow", dispatch_ratio=ratio, source_id="assumption", confidence="assumed")
        )
    return made + draw(energies(part_id, idle, draw(st.booleans())))


@st.composite
def memories(draw: st.DrawFn, part_id: str, family: str) -> list[Row]:
    """Draw main memory and on-chip levels."""

    def level(name: str, scope: str, size: float, bandwidth: float | None) -> Row:
        return HardwareMemory(
            hardware=part_id,
            level=name,
            derived_byte_per_s=None,
            scope=scope,
            management="hardware" if name == "dram" else draw(st.sampled_from(["hardware", "software"])),
            technology=None,
            capacity_byte=size,
            bandwidth_byte_per_s=bandwidth,
            unit_bandwidth_byte_per_s=draw(st.none() | rate(1e9, 1e11)) if name == "dram" else None,
            keeps_weights=draw(st.sampled_from([None, True, False])),
            achievable_fraction=None,
        )

    near = "l2" if family in ("cpu", "kpu") else "scratchpad"
    made = [level("dram", "chip", 16e9, draw(rate(1e10, 1e13)))]
    # Accelerators may have one memory on the chip, shared by all units; each unit's share has room for two arrays of
    # weights.
    is_alone = family in ("tpu", "npu", "dsp") and draw(st.booleans())
    if not is_alone:
        made.append(level(near, "unit", draw(rate(1e4, 1e7)), draw(st.none() | rate(1e10, 1e12))))
    if family == "kpu":
        made.append(level("l1", "unit", draw(rate(3e3, 1e5)), draw(st.none() | rate(1e10, 1e12))))
        made.append(level("l3", "unit", draw(rate(1e4, 1e6)), draw(st.none() | rate(1e10, 1e12))))
    elif family in ("gpu", "cpu") and draw(st.booleans()):
        made.append(level("l1", "unit", draw(rate(3e3, 1e5)), draw(st.none() | rate(1e9, 1e12))))
    if is_alone or (family != "kpu" and draw(st.booleans())):
        made.append(
            level(
                "l3" if family == "cpu" else "l2",
                "chip",
                draw(rate(1e8 if is_alone else 1e5, 1e9)),
                draw(st.none() | rate(1e11, 1e14)),
            )
        )
    return made


@st.composite
def energies(draw: st.DrawFn, part_id: str, static_w: float, is_complete: bool) -> list[Row]:
    """Draw an energy profile, possibly with a coefficient missing."""

    def coefficient(what: str, key: str, value: float) -> Row:
        return EnergyProfile(
            hardware=part_id,
            what=what,
            key=key,
            value=value,
            scope="board",
            source_id="assumption",
            confidence="assumed",
            formula="test",
        )

    made = [coefficient("op", f"{p}.{u}", draw(rate(1e-13, 1e-11))) for p in PRECISIONS for u in ("vector", "matrix")]
    made += [coefficient("byte", m, draw(rate(1e-12, 1e-10))) for m in ("dram", "l3", "l2", "l1", "scratchpad")]
    made.append(coefficient("static", "chip", static_w))
    return made if is_complete else made[1:]


def smallest_part(family: str, array: tuple[int, int] | None = None, units: int = 1) -> list[Row]:
    """Make a complete part with round numbers, for tests that need to know them."""
    part_id = f"generated_{family}"
    cluster = HardwareCluster(
        hardware=part_id,
        cluster="unit",
        kind=KINDS[family],
        unit_count=units,
        lanes=16.0,
        array_rows=array[0] if array else None,
        array_columns=array[1] if array else None,
        accumulator_rows=None,
        thread_count=None,
        clock_base_hz=None,
        clock_boost_hz=1e9,
        clock_matrix_hz=None,
        derived_matrix_hz=None,
        cluster_rank=None,
    )
    peaks = [
        HardwarePeak(
            hardware=part_id,
            precision=p,
            unit=u,
            accumulator="fp32",
            instruction=None,
            cluster="all",
            peak_ops_per_s=1e12 if u == "matrix" else 1e11,
            ops_per_clock_per_unit=None,
            derived_ops_per_s=None,
            performance_fraction=None,
        )
        for p in PRECISIONS
        for u in ("vector", "matrix")
    ]
    memory = [
        HardwareMemory(
            hardware=part_id,
            level=level,
            derived_byte_per_s=None,
            scope=scope,
            management="hardware",
            technology=None,
            capacity_byte=size,
            bandwidth_byte_per_s=bandwidth,
            unit_bandwidth_byte_per_s=None,
            keeps_weights=None,
            achievable_fraction=None,
        )
        for level, scope, size, bandwidth in [
            ("dram", "chip", 16e9, 1e11),
            ("l2", "chip", 8e6, 1e12),
            ("l1" if family == "kpu" else "scratchpad", "unit", 1e5, 1e12),
        ]
    ]
    hardware = Hardware(
        hardware=part_id,
        name="Generated",
        vendor="nvidia",
        family=family,
        market="test",
        year=None,
        architecture="Test",
        compute_capability=None,
        process_nm=None,
        dataflow=None,
        form_factor="test",
        status="shipping",
        origin="user",
        note=None,
        die_count=1,
    )
    return [hardware, cluster, *memory, *peaks]
