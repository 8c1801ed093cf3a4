"""Family rules: what a part's author does not know, computed from what is known.

A rule fills a number only where the part states none, cites `charz_rule`, and carries its formula, so
that every such number is visible as `derived` or `assumed` and yields to one with a source. Constants
stand in the tables below with the reason for each.

Energy is lifted to one scope, the board, by *TDP closure*: published figures come at scopes from the
bare multiplier to the whole memory path and differ tenfold, but a part whose main unit is saturated
while its memory is half busy draws about its TDP. So the facts give only the ratios between
precisions, units and memory levels, and the TDP gives the scale. With memory saturated too, the sum is
some 8 % above the TDP, which no kernel reaches and the power cap would catch. Where no TDP is published, the
energy of the process node gives the scale of the arithmetic, and the closure read backwards the static power.
"""

from __future__ import annotations

from dataclasses import dataclass

from .part import EnergyCoefficient, Number, Part

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

STATIC_FRACTION = {"gpu": 0.25, "cpu": 0.20, "tpu": 0.47, "npu": 0.25, "dsp": 0.15, "kpu": 0.10}
"""Share of the TDP that is drawn whenever the clocks run. TPU: 123/262 and 90/192 W as Google states
for v3 and v4. GPU: no vendor publishes idle power; a CUDA context alone adds 26 to 66 W (arxiv_idle), and an
H100 and an A100 that a server keeps waiting nine tenths of the time draw 0.26 and 0.27 of their TDP
(mlenergy, the smallest model of 2024)."""

NPU_VECTOR_SHARE = 1.0 / 16.0
"""Vector rate of an accelerator as a share of its matrix rate when only that is known."""

DRAM_PATH_J_PER_BYTE = {
    "HBM": 109.12e-12,
    "HBM2": 109.12e-12,
    "HBM2e": 109.12e-12,
    "HBM3": 92.33e-12,
    "HBM3e": 83.94e-12,
    "GDDR5": 112.0e-12,
    "GDDR6": 169.44e-12,
    "GDDR6X": 169.44e-12,
    "GDDR7": 169.44e-12,
    "LPDDR4": 108.0e-12,
    "LPDDR4X": 108.0e-12,
    "LPDDR5": 72.0e-12,
    "LPDDR5X": 60.0e-12,
    "DDR3": 162.5e-12,
    "DDR4": 162.5e-12,
    "DDR5": 100.0e-12,
    "host": 162.5e-12,
    "SRAM": 1.0e-12,
}
DRAM_FACT = {
    "HBM": "e044", "HBM2": "e044", "HBM2e": "e044",
    "HBM3": "e044 * e234 / e233", "HBM3e": "e044 * e235 / e233",
    "GDDR5": "e031", "GDDR6": "e048", "GDDR6X": "e048", "GDDR7": "e048", "LPDDR4": "e043", "LPDDR4X": "e043",
    "LPDDR5": "e039", "LPDDR5X": "e040", "DDR3": "e012", "DDR4": "e012", "DDR5": "e244", "host": "e012", "SRAM": "e172",
}  # fmt: skip
"""Energy of a byte from main memory over the whole path, and the energy facts it comes from. No whole path with HBM3
or HBM3e is on record: the one measured with HBM2e is taken in the ratio that techprofile assumes between them."""

DRAM_TDP_SHARE = {"gpu": 0.45}
DRAM_TDP_SHARE_OF_OTHERS = 0.35
"""Most of the TDP that saturated main memory may take (of a GPU more: an H100 that reads weights and little else
draws 0.7 of its TDP, of which 0.26 would flow anyway); a part whose published path energy would take
more is limited to it, since the arithmetic must still run."""

DRAM_BUSY_FRACTION = 0.5
"""Main memory traffic beside saturated arithmetic at which the closure is made."""

ARITHMETIC_SHARE = 0.85
"""Share of what the TDP leaves after static and DRAM power that saturated arithmetic takes; the rest is
on-chip traffic."""

CLOSURE_ANCHORS = (("bf16", "matrix"), ("fp16", "matrix"), ("int8", "matrix"), ("fp32", "vector"))
"""Unit the closure is made on: the first of these that the part has. No other may take more power."""

CIRCUIT_RATIO = {
    "fp64": 2.6, "fp32": 1.0, "tf32": 0.52, "fp16": 0.28, "bf16": 0.26, "fp8_e4m3": 0.15, "fp8_e5m2": 0.15,
    "fp4": 0.09, "int32": 0.6, "int16": 0.2, "int8": 0.13, "int4": 0.07,
}  # fmt: skip
"""Energy of an operation against fp32, from the 45 nm adders and multipliers of Horowitz (e001 to
e008: fp32 4.6 pJ, fp16 1.5 pJ, int8 0.23 pJ a multiply-add), widened towards fp32 because operand
delivery shrinks only with the width; tf32, fp8 and the 4-bit types are interpolated by width."""

VECTOR_FACTOR = 2.7
"""Energy of an operation on a vector lane against one in a matrix unit, 0.8 to 0.3 pJ a MAC (e164,
e163): a matrix instruction spreads fetch, decode and operand reads over many operations."""

ON_CHIP_J_PER_BYTE_7NM = {"register": 0.3e-12, "scratchpad": 0.4e-12, "l1": 0.8e-12, "l2": 1.5e-12, "l3": 3.0e-12}
"""SRAM read energies at 7 nm (e236 to e240), array scope: the ratios between on-chip levels."""

BOARD_SRAM_LIFT = 7.19
"""Lift of an SRAM read from array to board scope: L2 in addition to L1 draws 10.784 pJ a byte on an
RTX 3090 board (e047) and 1.5 pJ in the array (e239)."""

NODE_FP32_PJ = {
    2: 1.1,
    3: 1.2,
    4: 1.3,
    5: 1.5,
    6: 1.65,
    7: 1.8,
    8: 1.9,
    10: 2.1,
    12: 2.5,
    14: 2.6,
    16: 2.7,
    20: 3.1,
    22: 3.2,
    28: 4.0,
}
"""fp32 operation by process node, pJ (e211 to e222, techprofile); 2 and 20 nm interpolated."""

KPU_MAC_PJ = {"int4": 0.05, "int8": 0.1, "fp16": 0.16, "bf16": 0.16, "fp32": 0.3}
KPU_BYTE_PJ = {"l1": 0.3, "l2": 0.8, "l3": 2.0, "dram": 10.0}
"""Resource model of the KPU-T64 at 16 nm (e191 to e194, e198 to e200); int4 taken as half of int8."""

KPU_VECTOR_FACTOR = 2.0
"""Energy of an elementwise operation on a processing element against half a MAC: it occupies the
element for the clock a whole MAC takes."""

KPU_DRAM_FACTOR = {"LPDDR5": 1.0, "HBM3": 5.5 / 8.0}
"""Main memory energy against the resource model's LPDDR5, by the ratio of e234 to e227."""


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
    _energy(part)


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


def _energy(part: Part) -> None:
    """Energy coefficients the part does not state, at the scope of those it states."""
    is_kpu = part.text("family") == "kpu"
    if not part.energy:
        part.energy_scope = "chip" if is_kpu else "board"
    if is_kpu and part.energy_scope == "chip":
        _kpu_energy(part)
    elif not is_kpu and part.energy_scope == "board":
        _closed_energy(part)


def _kpu_energy(part: Part) -> None:
    """The KPU's own resource model at chip scope: a simulated part has no board to close on."""
    node = part.value("hardware.process_nm") or 16.0
    scale = _node_fp32(node) / _node_fp32(16.0)
    for row in part.section("peak").values():
        per_mac = KPU_MAC_PJ.get(row["precision"])
        if per_mac is None:
            continue
        vector = KPU_VECTOR_FACTOR if row["unit"] == "vector" else 1.0
        formula = f"{per_mac:g} pJ/MAC / 2 * {scale:.3g} (node) * {vector:g} ({row['unit']}); kpu_modeling e198 to e200"
        value = per_mac / 2.0 * scale * vector * 1e-12
        _fill(part, "op", f"{row['precision']}.{row['unit']}", EnergyCoefficient(value, RULE, "theoretical", formula))
    for level in part.section("memory"):
        if level in KPU_BYTE_PJ:
            technology = str(part.section("memory")[level].get("technology"))
            factor = KPU_DRAM_FACTOR.get(technology, 1.0) if level == "dram" else scale
            reason = f"{technology} against LPDDR5" if level == "dram" else "node"
            formula = f"{KPU_BYTE_PJ[level]:g} pJ/byte * {factor:.3g} ({reason}); kpu_modeling e191 to e194"
            value = KPU_BYTE_PJ[level] * factor * 1e-12
            _fill(part, "byte", level, EnergyCoefficient(value, RULE, "theoretical", formula))
    tdp = part.value("power.default.tdp_w")
    if tdp is not None:
        static, formula = _static_power(part, tdp, f"{tdp:g} W TDP")
        _fill(part, "static", "chip", EnergyCoefficient(static, RULE, "assumed", formula))


def _fill(part: Part, what: str, key: str, energy: EnergyCoefficient) -> None:
    part.energy.setdefault((what, key), energy)


def _node_fp32(node: float) -> float:
    """Energy of a fp32 operation at a process node, from the nearest node known. [pJ]"""
    return NODE_FP32_PJ[min(NODE_FP32_PJ, key=lambda known: abs(known - node))]


def _closed_energy(part: Part) -> None:
    """Coefficients at board scope, scaled so that saturated arithmetic and DRAM draw the TDP."""
    ratios = _energy_ratios(part)
    rates = _peak_rates(part)
    if not rates:  # a lint says that such a part is incomplete
        return
    anchor = next((key for key in CLOSURE_ANCHORS if key in rates), next(iter(rates)))
    bandwidth = part.value("memory.dram.bandwidth_byte_per_s") or 0.0
    node = part.value("hardware.process_nm") or 7.0
    tdp = part.value("power.default.tdp_w")
    dram_j, dram_formula = _dram_energy(part, tdp, bandwidth)
    dram_w = DRAM_BUSY_FRACTION * bandwidth * dram_j
    if tdp is None:
        unit_j = _node_fp32(node) * 1e-12 / VECTOR_FACTOR
        budget = rates[anchor] * ratios[anchor] * unit_j
        # The closure read backwards. Of the TPU v3's known power it would give 0.62, of the v4's 1.19. With memory limited
        # to its share, as below a known TDP, 0.40 and 0.82, and bytes cheaper than the memory stacks alone (e045).
        implied = (budget / ARITHMETIC_SHARE + dram_w) / (1.0 - STATIC_FRACTION.get(part.text("family"), 0.2))
        scale_formula = f"fp32 at {node:g} nm (techprofile) / {VECTOR_FACTOR:g}; TDP unknown, so no closure"
        static, static_formula = _static_power(
            part, implied, f"{implied:.4g} W of saturated arithmetic, half-busy DRAM and itself, TDP unknown"
        )
    else:
        static, static_formula = _static_power(part, tdp, f"{tdp:g} W TDP")
        budget = ARITHMETIC_SHARE * max(tdp - static - dram_w, 0.1 * tdp)
        unit_j = budget / (rates[anchor] * ratios[anchor])
        scale_formula = (
            f"TDP closure: {ARITHMETIC_SHARE:g} * ({tdp:g} W TDP - {static:.4g} W static - {dram_w:.4g} W DRAM)"
            f" at peak {'.'.join(anchor)}"
        )
    for key, ratio in ratios.items():
        value = min(ratio * unit_j, budget / rates[key])
        limit = "" if value == ratio * unit_j else f", limited to {budget:.4g} W at its peak"
        formula = f"{ratio:.3g} * {unit_j * 1e12:.4g} pJ ({scale_formula}){limit}"
        _fill(part, "op", ".".join(key), EnergyCoefficient(value, RULE, "derived", formula))
    for level in part.section("memory"):
        if level == "dram":
            _fill(part, "byte", level, EnergyCoefficient(dram_j, RULE, "derived", dram_formula))
        elif level in ON_CHIP_J_PER_BYTE_7NM:
            array = ON_CHIP_J_PER_BYTE_7NM[level]
            scale = _node_fp32(node) / _node_fp32(7.0)
            lift = f"{scale:.3g} (node) * {BOARD_SRAM_LIFT:g} (array to board, gpuboard)"
            formula = f"{array * 1e12:g} pJ/byte at 7 nm (techprofile) * {lift}"
            _fill(part, "byte", level, EnergyCoefficient(array * scale * BOARD_SRAM_LIFT, RULE, "derived", formula))
    _fill(part, "static", "chip", EnergyCoefficient(static, RULE, "assumed", static_formula))


def _peak_rates(part: Part) -> dict[tuple[str, str], float]:
    """Highest peak of each precision and unit, single-precision accumulation where there is a choice. [ops/s]"""
    rates: dict[tuple[str, str], float] = {}
    for row in part.section("peak").values():
        key = (row["precision"], row["unit"])
        halved = row["unit"] == "matrix" and row.get("accumulator") == "fp16"
        if row.get("peak_ops_per_s") and row["precision"] in CIRCUIT_RATIO and not (halved and key in rates):
            rates[key] = float(row["peak_ops_per_s"])
    return rates


def _energy_ratios(part: Part) -> dict[tuple[str, str], float]:
    """Energy of an operation against fp32 in a matrix unit, for every precision and unit of the part."""
    return {
        (precision, unit): CIRCUIT_RATIO[precision] * (VECTOR_FACTOR if unit == "vector" else 1.0)
        for precision, unit in _peak_rates(part)
    }


def _static_power(part: Part, tdp: float, power: str) -> tuple[float, str]:
    stated = part.energy.get(("static", "chip"))
    if stated is not None:
        return stated.value, "stated"
    fraction = STATIC_FRACTION.get(part.text("family"), 0.2)
    idle = part.value("power.default.idle_w")
    if idle is not None:
        return idle, "idle_w of the default mode"
    return fraction * tdp, f"{fraction:g} * {power} ({part.text('family')} family; no idle power published)"


def _dram_energy(part: Part, tdp: float | None, bandwidth: float) -> tuple[float, str]:
    technology = str(part.section("memory").get("dram", {}).get("technology") or "host")
    path = DRAM_PATH_J_PER_BYTE.get(technology, DRAM_PATH_J_PER_BYTE["host"])
    facts = DRAM_FACT.get(technology, DRAM_FACT["host"])
    formula = f"{path * 1e12:.4g} pJ/byte {technology} path ({facts})"
    share = DRAM_TDP_SHARE.get(part.text("family"), DRAM_TDP_SHARE_OF_OTHERS)
    limit = None if tdp is None or not bandwidth else share * tdp / bandwidth
    if limit is not None and limit < path:
        return limit, f"min({formula}, {share:g} * {tdp:g} W TDP / bandwidth)"
    return path, formula
