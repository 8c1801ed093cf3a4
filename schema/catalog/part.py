"""Tables of parts and their numbers.

A part's numbers are in narrow typed tables. `hardware_provenance` names the source of each number, and the view `hardware_value` joins
both into one long list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from ..ranges import ANY, HUGE, TINY, Plausible, Possible
from ..row import Row


class Hardware(Row):
    """A part: one chip on one board in one memory configuration."""

    TABLE: ClassVar[str] = "hardware"
    KEY: ClassVar[tuple[str, ...]] = ("hardware",)

    hardware: str
    """Name of the part, with form factor and memory, e.g. `h100_pcie_80`."""
    name: str
    """Name as sold."""
    vendor: str
    """Maker."""
    family: str
    """`cpu`, `gpu`, `tpu`, `kpu`, `npu` or `dsp`."""
    market: str
    """`datacenter`, `desktop`, `server`, `consumer`, `workstation`, `edge`, `mobile`, ..."""
    year: Annotated[int | None, Possible(1940, 2200), Plausible(1990, 2040)]
    """Year of introduction."""
    architecture: str
    """Microarchitecture and die, e.g. `Hopper GH100`; rules match its first words."""
    compute_capability: str | None
    """CUDA compute capability, e.g. `9.0`; null for others. Joins `cuda_limit`."""
    process_nm: Annotated[float | None, Plausible(0.5, 1000)]
    """Process node by its marketing name. [nm]"""
    die_count: Annotated[int | None, Plausible(1, 64)]
    """Number of equal dies that the silicon is cut into; null: the fewest that fit a scanner's exposure field. Only the part's cost
    depends on it."""
    dataflow: str | None
    """Operand that stays in the part's arrays while the others stream: `weight_stationary`, `output_stationary`, `input_stationary` or
    `wavefront` (domain flow); null: the family's dataflow."""
    form_factor: str
    """PCIe, SXM, socket, SoC, ..."""
    status: str
    """`shipping`, `announced`, `simulated`, `retired` or `internal`. Announced and simulated parts have no silicon."""
    origin: str
    """`charz` for the shipped catalog, `user` for a part added by `charz hardware add`."""
    note: str | None
    """Anything a reader must know."""


class ShippedPart(Row):
    """A part's numbers as its file states them. Rules that compare or fit parts read these: the choice of a lender of efficiencies
    (`lending_part`), the libraries' decisions by units and caches, and bytes fitted per unit. They are written with the part and no
    edit changes them, so an edit moves the part through physics alone and moves no other part."""

    TABLE: ClassVar[str] = "shipped_part"
    KEY: ClassVar[tuple[str, ...]] = ("hardware",)

    hardware: str
    """Part."""
    architecture: str
    """Microarchitecture and die; parts with the same value are siblings."""
    dram_byte_per_s: Annotated[float | None, Plausible(1e9, 1e17)]
    """Peak bandwidth of main memory. [byte/s]"""
    unit_ops_per_s: Annotated[float | None, Plausible(1e9, 1e16)]
    """Dense peak of one unit: half-precision products on matrix units, accumulated in single precision; null for parts without matrix
    units. [ops/s]"""
    unit_count: Annotated[
        float | None,
        Plausible(1, 2e6),
        Plausible(1, 1000, family="gpu"),
        Plausible(1, 512, family="cpu"),
        Plausible(1, 2000, family="kpu"),
        Plausible(1, 64, family="tpu"),
    ]
    """Compute units, summed over all clusters."""
    unit_l1_byte: Annotated[float | None, Plausible(1e3, 1e7)]
    """First memory level of a unit; null if it has none. [byte]"""
    unit_l2_byte: Annotated[float | None, Plausible(1e3, 1e8)]
    """Second memory level of a unit; null if units share it or have none. [byte]"""


class HardwareFamily(Row):
    """A family of parts and the way it computes."""

    TABLE: ClassVar[str] = "hardware_family"
    KEY: ClassVar[tuple[str, ...]] = ("family",)

    family: str
    """`cpu`, `gpu`, `tpu`, `kpu`, `npu` or `dsp`."""
    architecture_class: str
    """`sequential`, `data_parallel`, `systolic` or `domain_flow`. Joins `architectural_modifier`."""
    dataflow: str | None
    """Operand that stays in the arrays of parts whose `hardware.dataflow` is null; null for a family without arrays, whose units use the
    family's own tiles."""
    tiles_second_level: bool
    """True where a unit's tile is kept in a second level of the unit, from which operands stream through its first level."""
    is_staged: bool
    """True where software moves every byte through every level (domain flow): no transfer skips a level, the batch may be split into
    groups that fit on chip, and reductions are split over units and combined."""
    keeps_weights: bool
    """True where programs keep the model's weights in a software-managed last level from run to run; parts whose
    `hardware_memory.keeps_weights` is null use this value."""
    accumulator_rows: Annotated[int | None, Possible(0, 1e9)]
    """Partial results that each column of an array keeps, on parts whose `hardware_cluster.accumulator_rows` is null; null for a
    family without arrays."""
    template_part: str
    """Part whose numbers `charz hardware template` gives as examples."""
    assumed_precision: str | None
    """Precision policy assumed on parts of the family if the user names none; null for single precision as the backend computes it
    by default (`backend_support.default_precision`)."""
    second_precision: str | None
    """Precision policy assumed on parts that do not compute in `assumed_precision`; null if the family has no second one."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class HardwareAlias(Row):
    """An alternative name of a part, unique in the catalog."""

    TABLE: ClassVar[str] = "hardware_alias"
    KEY: ClassVar[tuple[str, ...]] = ("alias",)

    alias: str
    """Other name, e.g. `NVIDIA RTX 4090` as a measurement file writes it."""
    hardware: str
    """Part of that name."""


class HardwareCluster(Row):
    """A group of equal compute units of a part: SMs, P-cores, E-cores, MXUs, KPU tiles of a class."""

    TABLE: ClassVar[str] = "hardware_cluster"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "cluster")
    RATIO_TO: ClassVar[Mapping[str, str]] = {"clock_matrix_hz": "derived_matrix_hz"}

    hardware: str
    """Part."""
    cluster: str
    """`sm`, `cu`, `core`, `p_core`, `e_core`, `mxu`, `tile`, ..."""
    cluster_rank: Annotated[int | None, ANY]
    """Rank of the cluster in the part; a rule that needs a single cluster uses the one of lowest rank."""
    kind: str
    """`simt`, `core`, `systolic` or `domain_flow`."""
    unit_count: Annotated[
        int,
        Plausible(1, 1000),
        Plausible(1, 512, family="cpu"),
        Plausible(1, 2000, family="kpu"),
        Plausible(1, 2e6, family="npu"),
        Plausible(1, 64, family="tpu"),
    ]
    """Number of units in the cluster."""
    lanes: Annotated[
        float | None,
        Plausible(1, 512),
        Plausible(1, 128, family="cpu"),
        Plausible(16, 16384, family="kpu"),
        Plausible(16, 8192, family="tpu"),
    ]
    """Number of fp32 lanes of a unit; a lane finishes one result per clock."""
    array_rows: Annotated[int | None, Plausible(4, 1024)]
    """Rows of a unit's systolic or processing-element array."""
    array_columns: Annotated[int | None, Plausible(4, 1024)]
    """Columns of a unit's systolic or processing-element array."""
    accumulator_rows: Annotated[int | None, Possible(0, 1e9)]
    """Partial results that each column of a unit's array keeps in an accumulator memory while weights or inputs stay; 0 if they pass
    through the memory of the tiles, null for the number of the family (`hardware_family.accumulator_rows`)."""
    thread_count: Annotated[int | None, Plausible(1, 4096), Plausible(1, 16, family="cpu")]
    """Hardware threads resident on a unit."""
    clock_base_hz: Annotated[float | None, Plausible(1e8, 1e10)]
    """Guaranteed clock. [Hz]"""
    clock_boost_hz: Annotated[float | None, Plausible(1e8, 1e10)]
    """Highest sustained clock, at which peaks are stated. [Hz]"""
    clock_matrix_hz: Annotated[float | None, Plausible(1e8, 1e10)]
    """Stated clock of the matrix units, where it differs from the boost clock; `part_cluster` has the clock in force. [Hz]"""
    derived_matrix_hz: float | None
    """Boost clock at the time `clock_matrix_hz` was stated: an edit of the boost clock moves both in proportion. [Hz]"""


class HardwareMemory(Row):
    """A level of a part's memory hierarchy."""

    TABLE: ClassVar[str] = "hardware_memory"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "level")
    RANGES_BY: ClassVar[tuple[str, ...]] = ("level",)
    RATIO_TO: ClassVar[Mapping[str, str]] = {"bandwidth_byte_per_s": "derived_byte_per_s"}

    hardware: str
    """Part."""
    level: str
    """`register`, `scratchpad` (shared memory, VMEM, tile memory), `l1`, `l2`, `l3` or `dram`; joins `memory_level`."""
    scope: str
    """`unit` for a level in each compute unit, `chip` for a level that all units share."""
    management: str
    """`hardware` for a cache, `software` for a scratchpad or main memory."""
    technology: str | None
    """`SRAM`, `HBM3`, `GDDR6X`, `DDR5`, `LPDDR5`, ..."""
    capacity_byte: Annotated[
        float | None,
        Plausible(1e3, 1e9),
        Plausible(1e8, 1e12, of="dram"),
        Plausible(1e9, 2e13, of="dram", family="cpu"),
        Plausible(1e3, 1e7, of="l1"),
        Plausible(1e3, 5e5, of="l1", family="kpu"),
        Plausible(1e3, 1e7, of="l2", family="kpu"),
        Plausible(1e4, 1e8, of="l3", family="kpu"),
        Plausible(1e5, 2e9, of="l3"),
        Plausible(1e3, 1e7, of="register"),
        Plausible(1e3, 1e7, of="scratchpad", family="gpu"),
        Plausible(1e4, 1e11, of="scratchpad", family="npu"),
    ]
    """Capacity; of one unit's share where scope is `unit`. [byte]"""
    bandwidth_byte_per_s: Annotated[
        float | None,
        Plausible(1e9, 2e13),
        Plausible(1e9, 1e17, of="dram", family="npu"),
        Plausible(1e9, 1e18, of="scratchpad", family="npu"),
        Plausible(1e9, 1e15, of="scratchpad", family="tpu"),
        Plausible(1e9, 1e14, of="l2", family="gpu"),
        Plausible(1e9, 1e14, of="l3"),
        Plausible(1e9, 1e13, of="l3", family="kpu"),
        Plausible(1e9, 2e12, of="dram", family="cpu"),
        Plausible(1e9, 1e14, of="register", family="gpu"),
    ]
    """Peak bandwidth as stated, both directions together; of one unit's share where scope is `unit`. `part_memory` derives it where it is
    null. [byte/s]"""
    derived_byte_per_s: float | None
    """Bandwidth that `derivation_rule` gave when `bandwidth_byte_per_s` was stated: an edit that moves the derived bandwidth moves the
    stated one in proportion. [byte/s]"""
    unit_bandwidth_byte_per_s: Annotated[float | None, Plausible(1e8, 1e12)]
    """Highest bandwidth that one compute unit alone draws from a shared level; null when unknown. [byte/s]"""
    keeps_weights: bool | None
    """True where programs keep a model's weights in this software-managed last level from run to run; null:
    `hardware_family.keeps_weights`."""
    achievable_fraction: Annotated[float | None, Possible(TINY, 1), Plausible(0.05, 1)]
    """Share of the peak that a streaming kernel reaches; null when only the family value is known."""


class HardwarePeak(Row):
    """Dense peak arithmetic rate of a part at one precision on one kind of unit."""

    TABLE: ClassVar[str] = "hardware_peak"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "precision", "unit", "accumulator")
    RANGES_BY: ClassVar[tuple[str, ...]] = ("precision",)
    RATIO_TO: ClassVar[Mapping[str, str]] = {"peak_ops_per_s": "derived_ops_per_s"}

    hardware: str
    """Part."""
    precision: str
    """Element type of the operands."""
    unit: str
    """`vector` (CUDA cores, AVX, NEON) or `matrix` (tensor cores, AMX, MXU, PE array)."""
    accumulator: str
    """Element type of the accumulator; `default` when the source names none."""
    instruction: str | None
    """Instruction set or unit that computes, e.g. `AVX-512`, `AMX`, `tensor core gen4`."""
    cluster: str
    """Cluster whose units are counted; `all` when several add up."""
    peak_ops_per_s: Annotated[
        float | None,
        Plausible(1e9, 3e16),
        Plausible(1e9, 2e15, family="cpu"),
        Plausible(1e9, 5e15, family="kpu"),
        Plausible(1e9, 1e18, family="npu"),
        Plausible(1e9, 1e15, of="fp32"),
        Plausible(1e9, 1e14, of="fp32", family="cpu"),
        Plausible(1e9, 1e15, of="fp64"),
        Plausible(1e9, 1e17, of="fp32", family="npu"),
    ]
    """Dense peak of the whole part as stated; a MAC is two operations. `part_peak` derives it where it is null. [ops/s]"""
    derived_ops_per_s: float | None
    """Units x operations per clock x clock at the time the peak was stated: an edit of any of them moves the peak in proportion. [ops/s]"""
    ops_per_clock_per_unit: Annotated[
        float | None, Plausible(1, 2e6), Plausible(1, 2e5, family="gpu"), Plausible(1, 1e5, family="cpu")
    ]
    """Operations that one unit finishes per clock."""
    performance_fraction: Annotated[float | None, Possible(TINY, 1)]
    """Share of the peak that the performance cores of a hybrid processor (cluster `p_core`) reach; null if all cores are alike."""


class HardwarePower(Row):
    """A power mode of a part."""

    TABLE: ClassVar[str] = "hardware_power"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "mode")

    hardware: str
    """Part."""
    mode: str
    """`default`, `15w`, `30w`, `maxn`, ..."""
    is_default: bool
    """True for the power mode assumed by default."""
    tdp_w: Annotated[
        float | None, Plausible(1, 2000), Plausible(0.1, 500, family="kpu"), Plausible(0.5, 5e4, family="npu")
    ]
    """Limit of the mode's average power. [W]"""
    idle_w: Annotated[float | None, Possible(0, HUGE), Plausible(0.01, 1000), Plausible(0.01, 5e4, family="npu")]
    """Idle power; null when unknown. [W]"""
    clock_fraction: Annotated[float, Possible(TINY, 10), Plausible(0.05, 1.5)]
    """Share of the boost clock that the mode allows."""


class HardwareOverhead(Row):
    """A fixed time that a part spends."""

    TABLE: ClassVar[str] = "hardware_overhead"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "overhead")
    RANGES_BY: ClassVar[tuple[str, ...]] = ("overhead",)

    hardware: str
    """Part."""
    overhead: str
    """`kernel_gap` (device time between two dependent kernels), `launch` (host to device), `memory_latency` (a dependent access),
    `norm_block` (one block of PyTorch's own GPU layer-norm kernel on a short row) or `team` (threads of all units start and finish a
    kernel together)."""
    overhead_s: Annotated[
        float,
        Possible(0, HUGE),
        Plausible(1e-8, 1e-3),
        Plausible(5e-8, 1e-4, of="kernel_gap"),
        Plausible(1e-9, 1e-5, of="memory_latency"),
        Plausible(1e-8, 1e-4, of="norm_block"),
        Plausible(1e-7, 1e-2, of="team"),
    ]
    """Duration. [s]"""


class HardwareInterconnect(Row):
    """A link from a part to other parts."""

    TABLE: ClassVar[str] = "hardware_interconnect"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "interconnect")

    hardware: str
    """Part."""
    interconnect: str
    """`nvlink`, `pcie`, `ici`, `infinity_fabric`, `ethernet`, ..."""
    bandwidth_byte_per_s: Annotated[float, Plausible(1e8, 1e13)]
    """Bandwidth in one direction, all links of the part together. [byte/s]"""
    latency_s: Annotated[float, Possible(0, HUGE), Plausible(1e-8, 1e-1)]
    """Time of an empty message. [s]"""
    device_count: Annotated[int, Plausible(1, 1e5)]
    """Largest number of devices that one fabric of such links joins."""


class HardwareMesh(Row):
    """A network on a part whose links join neighbours: its units, its dies, or the elements of an array. `loop_nest_cost` computes loop
    nests with it."""

    TABLE: ClassVar[str] = "hardware_mesh"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "mesh")

    hardware: str
    """Part."""
    mesh: str
    """`unit` (between the units of a die, or of the part), `die` (between dies) or `element` (within an array)."""
    mesh_rows: Annotated[int | None, Plausible(1, 1000)]
    """Rows of the mesh; null: as close to the number of columns as possible."""
    mesh_columns: Annotated[int | None, Plausible(1, 1000)]
    """Columns of the mesh; null: as close to the number of rows as possible."""
    link_byte_per_s: Annotated[float | None, Plausible(1e6, 1e13)]
    """Bandwidth of the link between two neighbours, one way; null when unknown, then it never limits. [byte/s]"""
    hop_j_per_byte: Annotated[float, Possible(0, HUGE), Plausible(1e-15, 1e-9)]
    """Energy to move a byte from one neighbour to the next. [J/byte]"""
    busy_fraction: Annotated[float, Possible(TINY, 1), Plausible(0.05, 1)]
    """Utilization of the links above which a transfer takes longer (`busy_growth`)."""


class Die(Row):
    """Published facts of a part's silicon. `part_area` is checked against them; no prediction depends on them."""

    TABLE: ClassVar[str] = "die"
    KEY: ClassVar[tuple[str, ...]] = ("hardware",)

    hardware: str
    """Part."""
    die: str
    """Name of the die, or of the dies in the package; parts with the same die share the row's numbers."""
    die_area_mm2: Annotated[float | None, Plausible(1, 1e5)]
    """Area of all dies of the package; null if unpublished. [mm2]"""
    other_mm2: Annotated[float, Possible(0, HUGE), Plausible(0, 1e4)]
    """Share of `die_area_mm2` outside the part: graphics next to a processor, a die of another process. [mm2]"""
    transistor_count: Annotated[float | None, Plausible(1e8, 1e13)]
    """Transistors of all dies; null if unpublished."""
    unit_count: Annotated[float | None, Plausible(1, 1e6)]
    """Compute units on the dies, of which the part may enable fewer; null if unpublished."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    note: str | None
    """Anything a reader must know."""


class MemoryLevel(Row):
    """A level that a part's memory may have."""

    TABLE: ClassVar[str] = "memory_level"
    KEY: ClassVar[tuple[str, ...]] = ("level",)
    RANGES_BY: ClassVar[tuple[str, ...]] = ("level",)

    level: str
    """`register`, `scratchpad`, `l1`, `l2`, `l3` or `dram`."""
    depth: Annotated[int, Possible(0, 100), Plausible(1, 10), Plausible(0, 10, of="register")]
    """Distance of the level from the arithmetic units: 0 for registers, largest for main memory."""
    meaning: str
    """Description of the level."""


class CudaLimit(Row):
    """Limits that CUDA sets by compute capability."""

    TABLE: ClassVar[str] = "cuda_limit"
    KEY: ClassVar[tuple[str, ...]] = ("compute_capability",)

    compute_capability: str
    """Compute capability, e.g. `9.0`."""
    threads_per_sm: Annotated[int, Plausible(256, 8192)]
    """Resident threads of a multiprocessor."""
    blocks_per_sm: Annotated[int, Plausible(4, 128)]
    """Resident blocks of a multiprocessor."""
    warps_per_sm: Annotated[int, Plausible(8, 256)]
    """Resident warps of a multiprocessor."""
    registers_per_sm: Annotated[int, Plausible(4096, 1e6)]
    """32-bit registers of a multiprocessor."""
    shared_memory_per_sm_byte: Annotated[float, Plausible(4096, 1e7)]
    """Largest shared memory of a multiprocessor. [byte]"""
    shared_memory_per_block_byte: Annotated[float, Plausible(4096, 1e7)]
    """Largest shared memory of a block, opt-in included. [byte]"""
    matrix_instruction: str
    """Instruction with which blocks drive the tensor cores: `mma` (a warp with its own registers), `wgmma` (four warps from shared memory)
    or `tcgen05` (one thread, results in tensor memory, two multiprocessors together); PTX ISA. Joins `tiling_strategy`."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class UsualHost(Row):
    """The host that usually issues a part's kernels, if it differs from the reference host: a module's own cores. Issue times in
    `backend_support` are the reference host's; a scenario's `host_factor` is relative to the usual host."""

    TABLE: ClassVar[str] = "usual_host"
    KEY: ClassVar[tuple[str, ...]] = ("hardware",)

    hardware: str
    """Part."""
    name: str
    """Cores of the host that issue kernels, and the cores' clock."""
    dispatch_ratio: Annotated[float, Plausible(0.2, 20)]
    """Time to issue a kernel relative to the reference host."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
