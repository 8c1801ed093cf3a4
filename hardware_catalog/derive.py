"""Family rules: what a part's author does not know, computed from what is known.

A rule fills a number only where the part states none, cites `charz_rule`, and carries its formula, so
that every such number is visible as `derived` or `assumed` and yields to one with a source. Constants
stand in the tables below with the reason for each.
"""

from __future__ import annotations

from dataclasses import dataclass

from .part import Number, Part

RULE = "charz_rule"

LEVELS = ("register", "scratchpad", "l1", "l2", "l3", "dram")
"""Memory levels from the arithmetic outwards; `depth` is the position."""

GPU_UNIT_BYTE_PER_CLOCK = {"scratchpad": (128.0, "32 banks of 4 byte"), "l1": (128.0, "one 128-byte line")}
"""Bytes a clock of one GPU unit's own level."""

GPU_L2_BYTE_PER_CLOCK_PER_UNIT = {
    "Maxwell": 32.0,
    "Pascal": 32.0,
    "Volta": 32.0,
    "Turing": 32.0,
    "Ampere": 32.0,
    "Ampere GA100": 47.4,
    "Ada": 16.0,
    "Hopper": 38.8,
    "Blackwell": 38.8,
    "Blackwell GB202": 16.0,
    "CDNA": 54.0,
}
"""L2 bytes a clock and multiprocessor: 5,120 a chip on GA100 and GH100 (vendor white papers as quoted
by secondary sources), 32 elsewhere, halved on Ada, whose measured L2 does not grow with its units."""

CPU_BYTE_PER_CLOCK_PER_LANE = {"l1": 6.0, "l2": 2.0}
"""Bytes a clock of a core's cache for each fp32 result it can make a clock: with two vector pipes, two
loads and one store of 4 byte a lane and pair at L1, a third of that at L2."""

L3_BYTE_PER_CLOCK_PER_CORE = 10.0
"""Bytes a clock a core draws from a shared L3 when all cores do."""

TPU_VMEM_RATIO = 22.0
"""VMEM bandwidth in HBM bandwidths; stated by scaling_book."""

KERNEL_GAP_S = {"gpu": 1.0e-6, "cpu": 1.0e-6, "tpu": 5.0e-7, "kpu": 5.0e-7, "npu": 1.0e-6, "dsp": 1.0e-6}
LAUNCH_S = {"gpu": 3.0e-6, "cpu": 1.0e-6, "tpu": 1.0e-5, "kpu": 5.0e-6, "npu": 1.0e-5, "dsp": 1.0e-5}
MEMORY_LATENCY_S = {"gpu": 2.6e-7}
"""Time of an access to main memory that the next one waits for. GPU: PyTorch's bilinear kernel takes 282 ns a step on an
RTX 3090 and 239 ns on an RTX 4090 (timm's EfficientFormer-V2)."""

CPU_UNIT_DRAM_SHARES = 2.398
"""Main memory bandwidth that one core alone draws, in fair shares of a core: 16.1 of 93.9 GB/s on the 14 cores of a Core
i9-10940X (charz_family_fit_cpu_inductor)."""

CPU_TEAM_BYTE = 172300.0
"""Bytes a core moves at its fair share of main memory while a team of threads begins and ends: 25.7 us on the 14 cores of
a Core i9-10940X (charz_family_fit_cpu_inductor)."""

NPU_VECTOR_SHARE = 1.0 / 16.0
"""Vector rate of an accelerator as a share of its matrix rate when only that is known."""


@dataclass(frozen=True, slots=True)
class CudaLimits:
    """What CUDA says of a compute capability, as far as a rule needs it."""

    registers_per_sm: int
    shared_memory_per_sm_byte: float


def complete(part: Part, cuda: dict[str, CudaLimits]) -> None:
    """Fill in place what the part leaves open. Rules run in order and see what earlier ones gave."""
    _cuda_capacities(part, cuda)
    _order_levels(part)
    _bandwidths(part)
    _unit_bandwidth(part)
    _vector_peak(part)
    _overheads(part)


def _derived(value: float, unit: str, formula: str, confidence: str = "assumed") -> Number:
    return Number(value, unit, RULE, confidence, formula=formula)


def _main_cluster(part: Part) -> str | None:
    return next(iter(part.section("cluster")), None)


def _clock(part: Part) -> float | None:
    cluster = _main_cluster(part)
    return None if cluster is None else part.value(f"cluster.{cluster}.clock_boost_hz")


def _units(part: Part) -> float:
    return float(sum(row.get("unit_count") or 0 for row in part.section("cluster").values()))


def _cuda_capacities(part: Part, cuda: dict[str, CudaLimits]) -> None:
    """Registers and shared memory of an NVIDIA multiprocessor, from its compute capability."""
    limits = cuda.get(part.text("compute_capability"))
    if limits is None:
        return
    for level, value, what in (
        ("register", limits.registers_per_sm * 4, "32-bit registers * 4 byte"),
        ("scratchpad", limits.shared_memory_per_sm_byte, "shared memory"),
    ):
        if level in part.section("memory"):
            continue
        part.section("memory")[level] = {"scope": "unit", "management": "software", "technology": "SRAM"}
        formula = f"{what} of compute capability {part.text('compute_capability')} (cuda_limit)"
        part.set("memory", level, "capacity_byte", _derived(value, "byte", formula, "derived"))


def _order_levels(part: Part) -> None:
    for level, row in part.section("memory").items():
        row.setdefault("depth", LEVELS.index(level) if level in LEVELS else len(LEVELS))
    memory = part.section("memory")
    part.rows["memory"] = dict(sorted(memory.items(), key=lambda item: item[1]["depth"]))


def _bandwidths(part: Part) -> None:
    """Bandwidth of each on-chip level that has none."""
    for level, row in part.section("memory").items():
        if level != "dram" and part.value(f"memory.{level}.bandwidth_byte_per_s") is None:
            number = _bandwidth(part, level, str(row.get("scope")))
            if number is not None:
                part.set("memory", level, "bandwidth_byte_per_s", number)


def _unit_bandwidth(part: Part) -> None:
    """What one core of a processor draws of main memory."""
    bandwidth, units = part.value("memory.dram.bandwidth_byte_per_s"), _units(part)
    if part.text("family") != "cpu" or bandwidth is None or not units:
        return
    if part.value("memory.dram.unit_bandwidth_byte_per_s") is None:
        formula = f"{CPU_UNIT_DRAM_SHARES:g} * bandwidth / {units:g} cores (as on an i9-10940X)"
        number = _derived(CPU_UNIT_DRAM_SHARES * bandwidth / units, "byte/s", formula)
        part.set("memory", "dram", "unit_bandwidth_byte_per_s", number)


def _bandwidth(part: Part, level: str, scope: str) -> Number | None:
    family, clock = part.text("family"), _clock(part)
    dram = part.value("memory.dram.bandwidth_byte_per_s")
    if family == "tpu" and level == "scratchpad" and dram is not None:
        return _derived(
            TPU_VMEM_RATIO * dram, "byte/s", f"{TPU_VMEM_RATIO:g} * HBM bandwidth (scaling_book)", "derived"
        )
    if family in ("tpu", "npu", "dsp") and dram is not None:
        ratio = 8.0 if level == "scratchpad" else 4.0
        return _derived(ratio * dram, "byte/s", f"{ratio:g} * main memory bandwidth")
    if clock is None:
        return None
    rule = {"gpu": _gpu_byte_per_clock, "cpu": _cpu_byte_per_clock, "kpu": _kpu_byte_per_clock}.get(family)
    if rule is None:
        return None
    per_clock, why = rule(part, level, scope)
    return _derived(per_clock * clock, "byte/s", f"{why} * {clock / 1e9:g} GHz")


def _lanes(part: Part) -> float:
    return part.value(f"cluster.{_main_cluster(part)}.lanes") or 1.0


def _gpu_byte_per_clock(part: Part, level: str, _: str) -> tuple[float, str]:
    lanes = _lanes(part)
    if level == "register":
        return 16.0 * lanes, f"{lanes:g} lanes * 4 operands * 4 byte"
    if (known := GPU_UNIT_BYTE_PER_CLOCK.get(level)) is not None:
        return known[0], f"{known[0]:g} byte ({known[1]})"
    units = _units(part)
    if level == "l3":
        return 16.0 * units, f"{units:g} units * 16 byte"
    architecture = part.text("architecture")
    matches = [name for name in GPU_L2_BYTE_PER_CLOCK_PER_UNIT if architecture.startswith(name)]
    share = GPU_L2_BYTE_PER_CLOCK_PER_UNIT[max(matches, key=len)] if matches else 32.0
    return share * units, f"{units:g} units * {share:g} byte"


def _cpu_byte_per_clock(part: Part, level: str, scope: str) -> tuple[float, str]:
    lanes = _lanes(part)
    units = _units(part)
    if level == "register":
        return 16.0 * lanes, f"{lanes:g} lanes * 4 operands * 4 byte"
    if level == "l3" or scope == "chip":
        return L3_BYTE_PER_CLOCK_PER_CORE * units, f"{units:g} cores * {L3_BYTE_PER_CLOCK_PER_CORE:g} byte"
    share = CPU_BYTE_PER_CLOCK_PER_LANE.get(level, 2.0)
    return share * lanes, f"{lanes:g} lanes * {share:g} byte"


def _kpu_byte_per_clock(part: Part, level: str, _: str) -> tuple[float, str]:
    cluster = part.section("cluster")[_main_cluster(part) or ""]
    edge = float((cluster.get("array_rows") or 16) + (cluster.get("array_columns") or 16))
    width = {"register": 4.0, "l1": 2.0, "l2": 2.0}.get(level, 1.0)
    return edge * width, f"({cluster.get('array_rows')} + {cluster.get('array_columns')}) streams * {width:g} byte"


def _vector_peak(part: Part) -> None:
    """A vector rate for a part that states only matrix rates."""
    peaks = part.section("peak")
    if any(row["unit"] == "vector" for row in peaks.values()):
        return
    cluster = _main_cluster(part)
    lanes, clock = part.value(f"cluster.{cluster}.lanes"), _clock(part)
    if lanes is not None and clock is not None and part.text("family") in ("gpu", "cpu"):
        units = part.value(f"cluster.{cluster}.unit_count") or 0.0
        formula = f"{units:g} units * {lanes:g} lanes * 2 * {clock / 1e9:g} GHz"
        _add_vector_peak(
            part, "fp32", "fp32", cluster, _derived(units * lanes * 2.0 * clock, "ops/s", formula, "derived")
        )
    elif peaks:
        _vector_share_of_matrix(part)


def _add_vector_peak(part: Part, precision: str, accumulator: str, cluster: str | None, rate: Number) -> None:
    key = f"{precision}.vector.{accumulator}"
    row = {"precision": precision, "unit": "vector", "accumulator": accumulator, "cluster": cluster}
    part.section("peak")[key] = row
    part.set("peak", key, "peak_ops_per_s", rate)


def _vector_share_of_matrix(part: Part) -> None:
    """Vector rates under the precisions of the matrix rates they are a share of: one under another name would make the
    part run a precision that its matrix units lack, and leave their own without a vector rate."""
    peaks = sorted(part.section("peak").values(), key=lambda row: float(row["peak_ops_per_s"]))
    fastest = {row["precision"]: row for row in peaks}
    halves = [fastest[precision] for precision in ("fp16", "bf16") if precision in fastest]
    for base in halves or [fastest.get("int8", peaks[-1])]:
        rate = base["peak_ops_per_s"] * NPU_VECTOR_SHARE
        formula = f"{NPU_VECTOR_SHARE:g} * {base['precision']} matrix peak"
        accumulator = "int32" if base["precision"].startswith("int") else "fp32"
        _add_vector_peak(part, base["precision"], accumulator, base.get("cluster"), _derived(rate, "ops/s", formula))


def _overheads(part: Part) -> None:
    family = part.text("family")
    for overhead, table in (
        ("kernel_gap", KERNEL_GAP_S),
        ("launch", LAUNCH_S),
        ("memory_latency", MEMORY_LATENCY_S),
    ):
        if overhead not in part.section("overhead") and family in table:
            number = _derived(table[family], "s", f"{overhead} of the {family} family")
            part.set("overhead", overhead, "overhead_s", number)
    bandwidth, units = part.value("memory.dram.bandwidth_byte_per_s"), _units(part)
    if family == "cpu" and "team" not in part.section("overhead") and bandwidth and units:
        formula = f"{CPU_TEAM_BYTE:g} byte * {units:g} cores / bandwidth (as on an i9-10940X)"
        part.set("overhead", "team", "overhead_s", _derived(CPU_TEAM_BYTE * units / bandwidth, "s", formula))
