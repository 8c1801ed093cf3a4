"""Tables of the hardware catalog and of the cost model's rules. All of them are live: an `UPDATE` of one value shows in the next query.

A part's numbers are in narrow typed tables. `hardware_provenance` names the source of each number, and the view `hardware_value` joins
both into one long list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from .ranges import ANY, HUGE, TINY, Ordinal, Plausible, Possible, Share, Size
from .row import Row


class Source(Row):
    """A source of numbers."""

    TABLE: ClassVar[str] = "source"
    KEY: ClassVar[tuple[str, ...]] = ("source_id",)

    source_id: str
    """Short name, cited by every number."""
    kind: str
    """`vendor_doc`, `vendor_code`, `paper`, `secondary`, `peer_catalog`, `measurement`, `assumption`, ..."""
    locator: str
    """Address, paper or file."""
    licence: str | None
    """Licence of the data, where stated."""
    what: str
    """Summary of the source."""


class Confidence(Row):
    """A level of trust in a number."""

    TABLE: ClassVar[str] = "confidence"
    KEY: ClassVar[tuple[str, ...]] = ("confidence",)

    confidence: str
    """Level, e.g. `vendor_doc`."""
    rank: Ordinal
    """Order of trust, 1 the highest."""
    is_guess: bool
    """True for `assumed`: reports count the numbers of this level that they use."""
    meaning: str
    """Meaning of the level."""


class Hardware(Row):
    """A part: one chip on one board in one memory configuration."""

    TABLE: ClassVar[str] = "hardware"
    KEY: ClassVar[tuple[str, ...]] = ("hardware",)

    hardware: str
    """Name of the part, form factor and memory included, e.g. `h100_pcie_80`."""
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
    """Part it belongs to."""
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
    template_part: str
    """Part whose numbers `charz hardware template` gives as examples."""
    assumed_precision: str | None
    """Precision policy that answers assume on parts of the family if none is named; null for single precision as the backend computes it
    by default (`backend_support.default_precision`)."""
    second_precision: str | None
    """Precision policy assumed on parts that do not compute in `assumed_precision`; null if the family has no second one."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class HardwareAlias(Row):
    """Another name of a part, unique over the catalog."""

    TABLE: ClassVar[str] = "hardware_alias"
    KEY: ClassVar[tuple[str, ...]] = ("alias",)

    alias: str
    """Other name, e.g. `NVIDIA RTX 4090` as a measurement file writes it."""
    hardware: str
    """Part meant."""


class HardwareCluster(Row):
    """A group of equal compute units of a part: SMs, P-cores, E-cores, MXUs, KPU tiles of a class."""

    TABLE: ClassVar[str] = "hardware_cluster"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "cluster")
    RATIO_TO: ClassVar[Mapping[str, str]] = {"clock_matrix_hz": "derived_matrix_hz"}

    hardware: str
    """Part it belongs to."""
    cluster: str
    """`sm`, `cu`, `core`, `p_core`, `e_core`, `mxu`, `tile`, ..."""
    cluster_rank: Annotated[int | None, ANY]
    """Place among the part's clusters; a rule that needs one cluster takes the lowest."""
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
    """fp32 lanes of a unit: results per clock."""
    array_rows: Annotated[int | None, Plausible(4, 1024)]
    """Rows of a unit's systolic or processing-element array."""
    array_columns: Annotated[int | None, Plausible(4, 1024)]
    """Columns of that array."""
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
    """Part it belongs to."""
    level: str
    """`register`, `scratchpad` (shared memory, VMEM, tile memory), `l1`, `l2`, `l3` or `dram`; joins `memory_level`."""
    scope: str
    """`unit` when each compute unit has its own, `chip` when all share it."""
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
    """Part it belongs to."""
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


class HardwarePower(Row):
    """A power mode of a part."""

    TABLE: ClassVar[str] = "hardware_power"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "mode")

    hardware: str
    """Part it belongs to."""
    mode: str
    """`default`, `15w`, `30w`, `maxn`, ..."""
    is_default: bool
    """True for the mode that answers assume."""
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
    """Part it belongs to."""
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
    """Part it belongs to."""
    interconnect: str
    """`nvlink`, `pcie`, `ici`, `infinity_fabric`, `ethernet`, ..."""
    bandwidth_byte_per_s: Annotated[float, Plausible(1e8, 1e13)]
    """Bandwidth in one direction, all links of the part together. [byte/s]"""
    latency_s: Annotated[float, Possible(0, HUGE), Plausible(1e-8, 1e-1)]
    """Time of an empty message. [s]"""
    device_count: Annotated[int, Plausible(1, 1e5)]
    """Largest number of devices that one such fabric joins."""


class HardwareMesh(Row):
    """A network on a part whose links join neighbours: its units, its dies, or the elements of an array. `loop_nest_cost` computes loop
    nests with it."""

    TABLE: ClassVar[str] = "hardware_mesh"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "mesh")

    hardware: str
    """Part it belongs to."""
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


class HardwareProvenance(Row):
    """Source of one number of one part."""

    TABLE: ClassVar[str] = "hardware_provenance"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "field")

    hardware: str
    """Part the number belongs to."""
    field: str
    """Name of the number, `table.row_key.column`, e.g. `memory.dram.bandwidth_byte_per_s`, `peak.fp16.matrix.fp32.peak_ops_per_s`."""
    catalog_value: Annotated[float, ANY]
    """Value as the catalog file states it, in SI; differs from the live one after an edit."""
    unit: str
    """Unit of the value."""
    source_id: str
    """Source of the value."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    formula: str | None
    """Formula of a derived value."""
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
    """Distance from the arithmetic: 0 registers, rising to main memory."""
    meaning: str
    """Description of the level."""


class DerivationBasis(Row):
    """A quantity of a part that a rule multiplies its number by (`part_basis`), or the way a number follows from others."""

    TABLE: ClassVar[str] = "derivation_basis"
    KEY: ClassVar[tuple[str, ...]] = ("basis",)

    basis: str
    """Name, e.g. `lane_clock`."""
    formula: str
    """Formula in words, e.g. `lanes x boost clock`."""


class DerivationInput(Row):
    """A number of a part that a basis depends on."""

    TABLE: ClassVar[str] = "derivation_input"
    KEY: ClassVar[tuple[str, ...]] = ("basis", "field")

    basis: str
    """Basis."""
    field: str
    """LIKE pattern of the number's field in `hardware_value`."""


class DerivationRule(Row):
    """A rule for a number that a part does not state: `value` times the part's `basis`. Of several rules that match, the longest
    architecture wins, then the row for one level, then the row for one scope."""

    TABLE: ClassVar[str] = "derivation_rule"
    KEY: ClassVar[tuple[str, ...]] = ("derivation_rule",)
    RANGES_BY: ClassVar[tuple[str, ...]] = ("quantity",)

    derivation_rule: str
    """Name of the rule."""
    quantity: str
    """Section and column of the number, e.g. `memory.bandwidth_byte_per_s`."""
    family: str
    """Family of the parts the rule applies to, or `*`."""
    architecture: str
    """First words of their architecture, or `*`."""
    row_key: str
    """Level, overhead or peak the rule applies to; `*` for every level on the chip."""
    scope: str
    """Scope of the level, or `*`."""
    basis: str
    """Factor that multiplies `value`; joins `derivation_basis`."""
    value: Annotated[
        float,
        Possible(0, HUGE, of="overhead.overhead_s"),
        Plausible(TINY, 1e9, of="overhead.overhead_s"),
        Plausible(1e-3, 1e6),
    ]
    """Number that the basis is multiplied by."""
    unit: str
    """Unit of the value."""
    source_id: str
    """Source of the value."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    reason: str
    """Reason for the value."""


class RestatedNumber(Row):
    """The derived value of a number at the time a client last restated the number. Triggers write it; it overrides the value in the row
    itself (`derived_ops_per_s` and the like)."""

    TABLE: ClassVar[str] = "restated_number"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "field")

    hardware: str
    """Part the number belongs to."""
    field: str
    """Field of the number, as in `hardware_value`."""
    derived_value: float
    """Derived value at that time, in the unit of the field."""


class NumberRule(Row):
    """Possible and plausible ranges of the numbers of a column, in rows of one kind and family, from the column's declaration
    (`charz.schema.ranges`). An answer that depends on an impossible number is null; one that depends on an implausible number names it.
    The most specific row wins, the kind before the family."""

    TABLE: ClassVar[str] = "number_rule"
    KEY: ClassVar[tuple[str, ...]] = ("kind", "quantity", "row_kind", "of_family")
    NUMBERS: ClassVar[Possible | None] = ANY

    kind: str
    """Table of the number without `hardware_`, as in fields of `hardware_value`; `energy` for `energy_profile`."""
    quantity: str
    """Column of the number."""
    row_kind: str
    """Kind of the rows, e.g. the level of a memory or the backend; `*` for all."""
    of_family: str
    """Family of the parts, or `*` for all families."""
    least: float
    """Smallest possible number, in SI."""
    most: float
    """Largest possible number, in SI."""
    plausible_least: float
    """Smallest plausible number, in SI."""
    plausible_most: float
    """Largest plausible number, in SI."""
    is_needed: bool
    """True where null is not plausible."""


class HardwareConflict(Row):
    """A number on which sources disagree, and the value chosen."""

    TABLE: ClassVar[str] = "hardware_conflict"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "field")

    hardware: str
    """Part or family concerned."""
    field: str
    """Field of the number."""
    values_by_source: str
    """Value that each source states."""
    chosen: str
    """Value that the catalog uses."""
    reason: str
    """Reason for the choice."""


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


class Precision(Row):
    """A number format."""

    TABLE: ClassVar[str] = "precision"
    KEY: ClassVar[tuple[str, ...]] = ("precision",)

    precision: str
    """Name, e.g. `fp16`, `tf32`, `int8`, `bool`."""
    bits: Annotated[float, Possible(1, 1024), Plausible(1, 128)]
    """Bits per element in memory, including its share of the block scales; tf32 is stored as fp32. [bit]"""
    kind: str
    """`float`, `integer`, `boolean`, `complex` or `packed` (products of floating-point numbers with weights in packed blocks, which a
    backend may compute in another format, `backend_support.packed_precision`)."""
    accumulator: str
    """Format in which products are summed."""
    fallback: str | None
    """Format in which a part computes if it has no rate for this one; null ends the chain."""
    fallback_operations: Annotated[float, Possible(1, 1024), Plausible(1, 16)]
    """Operations of the fallback format per operation of this one; a 64-bit integer product takes three 32-bit ones and their carries."""
    integer_stand_in: str | None
    """Format that replaces it on a part without a floating-point rate: norms, softmax and similar operators run there in integer
    approximations (I-BERT, Kim et al. 2021); null if none is needed."""
    trains: bool
    """True where autograd computes gradients of such tensors; for formats below 16 bits PyTorch has only conversions and a few products."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class OperatorClass(Row):
    """A class of operators and its properties that rules need. Other tables refer to it by name."""

    TABLE: ClassVar[str] = "operator_class"
    KEY: ClassVar[tuple[str, ...]] = ("operator_class",)

    operator_class: str
    """Name, e.g. `conv`, `elementwise`; `unknown` for an operator without a rule."""
    is_matrix: bool
    """True for matrix products, convolutions and operators made of them. Such an operator is its kernel's anchor."""
    is_convolution: bool
    """True for convolutions of every kind."""
    is_foldable: bool
    """True if a batch normalization that follows can be folded into the weights."""
    allocates_result: bool
    """True if the library call allocates its result itself, even under a backend that plans memory."""
    is_widening: bool
    """True if ATen promotes operands of mixed types within the kernel: for these, `follow` means the widest type."""
    is_normalizing: bool
    """True for normalizations: a loop compiler stores their scaled and shifted result instead of recomputing it."""
    saves_nothing: bool
    """True if the backward pass needs neither operands nor results of the forward pass."""
    takes_bias: bool
    """True if the operands are the first two reads and a third is the bias, whose gradient is a sum."""
    saves_other: bool
    """True for products: the gradient of one operand needs only the other operand."""
    is_single_algorithm: bool
    """True if all operators of the class share one algorithm, so that no efficiencies are fitted per ATen operator."""
    varies_by_format: bool
    """True if each memory format has its own algorithm, under every backend."""
    varies_by_strides: bool
    """True if a backend that generates no code per graph runs a different kernel for each memory format."""
    is_inserted: bool
    """True if charz itself inserts kernels of the class: conversions, layout copies, added biases."""
    is_reducing: bool
    """True for operators other than matrix products that sum or compare many elements into each result, so the reduction can be split."""


class PolicyVersion(Row):
    """A version of the framework that follows another policy than the newest version does."""

    TABLE: ClassVar[str] = "policy_version"
    KEY: ClassVar[tuple[str, ...]] = ("policy", "software")

    policy: str
    """Policy asked for."""
    software: str
    """Version of the framework as measurements name it, `pt240` for PyTorch 2.4.0."""
    followed_policy: str
    """Policy that the version follows, `precision_policy.policy`."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class PrecisionPolicy(Row):
    """The effect of a policy on the operators of one class.

    A row for a class within a module's class wins over one for an ATen operator, which wins over one for the operator's class; a row
    with operator_class `*` applies to all classes without their own. A `*` row with rule `drop` also converts inputs, as `model.half()`
    with its inputs does; one with `follow` leaves them, as autocast does.
    """

    TABLE: ClassVar[str] = "precision_policy"
    KEY: ClassVar[tuple[str, ...]] = ("policy", "operator_class")

    policy: str
    """`fp32`, `tf32`, `fp16`, `bf16`, `amp-fp16`, `amp-bf16`, `int8`, `w8a16`, `w4a16`, `fp8`, `sparse-fp16` (2:4 weights), ...; a suffix
    `@VERSION` names the last version of the framework that follows it, `amp-fp16@2.4`."""
    operator_class: str
    """Operator class, class within a module's class such as `norm:GroupNormAct`, ATen operator such as `aten.sum`, or `*`. A prefix
    `attention|` limits the row to operators of an attention's math path, `module:PATTERN|` to modules whose path matches."""
    rule: str
    """`drop` (convert operands to `compute_precision`), `keep` (convert narrower operands to fp32), `widen` (read operands unconverted,
    compute and write fp32), `promote` (convert operands to the widest type), `follow` (read operands unconverted; the widest type
    decides in elementwise operators and concatenation, else the first) or `absent` (this version of the framework does not run the
    operator: its result is its operand)."""
    compute_precision: str | None
    """Format of the arithmetic for `drop`; for `follow`, the format in which the unit computes on unconverted operands (tf32)."""
    weight_precision: str | None
    """Format in which weights are stored and read without conversion; null: unchanged. Vectors (biases, scales) take the value of the `*`
    row."""
    activation_precision: str | None
    """Format in which results are written; null: the rule decides."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class Backend(Row):
    """A way to execute a graph."""

    TABLE: ClassVar[str] = "backend"
    KEY: ClassVar[tuple[str, ...]] = ("backend",)
    RANGES_BY: ClassVar[tuple[str, ...]] = ("backend",)

    backend: str
    """`eager`, `inductor`, `tensorrt`, `onnxruntime`, `openvino`, `xla`, `kpu`, or one of these with the suffix `_unfused` or `_graph`."""
    name: str
    """Full name."""
    unfused_backend: str | None
    """Backend that runs the same graph with one kernel per operator; the comparison shows the savings of fusion. Null: none. If it has no
    rows in `backend_support`, it runs where this backend does, with its dispatch, efficiencies and bands."""
    captures: str | None
    """Backend whose kernels it runs, captured into a graph that the host launches as a whole (CUDA graphs) or, on parts of other families,
    grouped by layers that stay on chip. That backend's fusion rules apply, and no kernel waits for the host. Null: none."""
    folds_norm: bool
    """True if the backend treats weights as constants: it folds batch normalization into the preceding weights and computes once what
    depends on weights alone."""
    casts_are_kernels: bool
    """True if each conversion of an activation is a separate kernel."""
    weight_casts_are_kernels: bool
    """True if weights are converted in every run."""
    follows_strides: bool
    """True if operators run one by one on tensors in their stored memory layout, with a conversion where a kernel needs another one."""
    plans_layout: bool
    """True if the backend chooses the memory format of images itself (`model.planned_format`)."""
    stores_wide: bool
    """True if the backend stores the single-precision source of a reused activation instead of the activation itself
    (`kernel_tensor.is_wide`)."""
    plans_memory: bool
    """True if a result takes over the memory of an operand or of an earlier result that is not read again
    (`tensor_lifetime.block_tensor_id`)."""
    calls_aten: bool
    """True if convolutions are calls of PyTorch's ATen and memory on a processor comes from the C library's `malloc`."""
    adds_bias_kernels: bool
    """True if, on some parts (`backend_support.bias_is_kernel`), the backend adds the bias of a convolution in a separate kernel."""
    workspace_fraction: Annotated[float, Possible(0, 10), Plausible(0, 2)]
    """Scratch memory as a share of peak activations."""
    trains: bool
    """True if the backend runs a backward pass; backends that only serve trained models do not."""
    serves: bool
    """True for a server of language models: it runs only models with a key-value cache, computes logits only for the last token of a
    prompt, and processes prompts in chunks."""
    chunk_tokens: Annotated[float | None, Plausible(64, 1e6)]
    """Largest number of prompt tokens that a server processes in one step, over all prompts; null for other backends."""
    reserve_fraction: Annotated[float, Possible(0, 0.9), Plausible(0, 0.5)]
    """Share of a part's main memory that a server leaves free."""
    activation_bits: Annotated[int | None, Plausible(4, 64)]
    """Fewest bits in which the backend stores activations between kernels; null: the policy decides."""
    vector_rows: Annotated[int | None, Plausible(1, 1024)]
    """Largest number of rows of a product that the backend multiplies with its own kernels on the vector units; null if it has none."""
    causal_block: Annotated[int | None, Plausible(1, 1024)]
    """Queries that its attention processes together, skipping keys that a causal mask hides from all of them; null if it computes every
    score. FlashAttention-2 takes 128 (arXiv:2307.08691, `flash_fwd_launch_template.h`)."""
    drops_chunks: bool
    """True if layers whose queries attend only to their own chunk of the context (Llama 4) keep keys and values of the current chunk only;
    false if they keep the whole context."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class BackendSupport(Row):
    """A family that a backend runs on, and the dispatch costs there. A backend without rows that is the `backend.unfused_backend` of
    another uses the other's rows."""

    TABLE: ClassVar[str] = "backend_support"
    KEY: ClassVar[tuple[str, ...]] = ("backend", "family", "vendor")
    # A row with `dispatch` = `graph` belongs to the kind `graph`, whatever its backend.
    RANGES_BY: ClassVar[tuple[str, ...]] = ("backend",)

    backend: str
    """Backend."""
    family: str
    """Hardware family."""
    vendor: str
    """Maker of the part, or `*` for every one."""
    is_default: bool
    """True for the backend that answers assume on this family and vendor, and for the server that answers about serving assume; a part
    without such a row takes the first backend by name."""
    default_precision: str
    """Policy that the backend follows if a user asks for single precision without further options."""
    dispatch: str
    """`async_queue` (the host runs ahead of the device), `serial` (their times add) or `graph` (one launch)."""
    host_kernel_s: Annotated[
        float,
        Possible(0, HUGE),
        Plausible(1e-7, 1e-3),
        # The host issues the whole graph at once.
        Plausible(0, 1e-3, of="graph"),
    ]
    """Host time to issue one kernel. [s]"""
    host_view_s: Annotated[float, Possible(0, HUGE), Plausible(0, 1e-3)]
    """Host time of a view; 0 if views are compiled away. [s]"""
    run_s: Annotated[float, Possible(0, HUGE), Plausible(1e-7, 0.1)]
    """Host time paid once per run. [s]"""
    kernel_gap_fraction: Annotated[float, Possible(0, HUGE), Plausible(0.05, 20)]
    """Share of the part's own gap between kernels that remains under this backend."""
    bias_is_kernel: bool
    """True if a separate kernel adds the bias of a convolution; only for a backend with `adds_bias_kernels`."""
    sums_in_half: bool
    """True if vector units accumulate half-precision products in half precision, at their rate for it."""
    chunk_element: Annotated[
        float | None,
        Plausible(16, 1e6),
        Plausible(16, 1e6, of="eager", family="cpu", is_needed=True),
        Plausible(16, 1e6, of="inductor", family="cpu", is_needed=True),
    ]
    """Fewest elements of a loop per thread: below it, fewer threads run the loop. Null if unknown or not applicable."""
    shares_by_chunk: bool
    """True if the number of threads of a loop is its elements / `chunk_element`; false if a loop runs on all threads or one."""
    efficiency_backend: str | None
    """Backend whose efficiencies apply, as assumed, where this backend has none; null: none."""
    calls_library: bool
    """True if a server that keeps activations in single precision calls a library for products of many rows: operands are written out in
    16 bits for it (`library_call`), and it accumulates halves in half precision."""
    converts: bool
    """True if the backend runs policies in a format that the part lacks by computing in the wider `precision.fallback`."""
    packed_precision: str | None
    """Format in which the backend multiplies weights in packed blocks (`precision.kind`), after converting activations to it. Null if it
    unpacks the weights and computes in the policy's format."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class DeviceContext(Row):
    """Memory of a part that a framework's process takes in addition to its tensors: the driver's context, the stacks of all resident
    threads, and kernel code. A row that names the backend wins over one that names the maker; no row: nothing is taken."""

    TABLE: ClassVar[str] = "device_context"
    KEY: ClassVar[tuple[str, ...]] = ("backend", "family", "vendor")

    backend: str
    """Backend, or `*` for every one."""
    family: str
    """Hardware family."""
    vendor: str
    """Maker of the part, or `*` for every one."""
    context_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 4e9)]
    """Memory taken on every part of the kind: the driver's own and kernel code. [byte]"""
    thread_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 65536)]
    """Stack per resident thread of the part. [byte]"""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class DefaultBackend(Row):
    """The backend usual on parts of a kind in a number format, where it differs from `backend_support.is_default`: answers assume it if
    none is named (`assumed_backend`). The row with the fewest `*` wins."""

    TABLE: ClassVar[str] = "default_backend"
    KEY: ClassVar[tuple[str, ...]] = ("family", "vendor", "market", "precision")

    family: str
    """Hardware family."""
    vendor: str
    """Maker of the part, or `*` for every one."""
    market: str
    """Market of the part (`hardware.market`), or `*` for every one."""
    precision: str
    """Precision policy, or `*` for every one."""
    backend: str
    """Backend."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class EngineVersion(Row):
    """Host costs of each step under one version of a backend, whatever the part. The version is a condition of a run, as its precision is;
    at most three of its numbers are fitted."""

    TABLE: ClassVar[str] = "engine_version"
    KEY: ClassVar[tuple[str, ...]] = ("backend", "engine_version")

    backend: str
    """Backend."""
    engine_version: str
    """Version as its maker writes it, or year and month of the measurements."""
    is_assumed: bool
    """True for the version that answers assume for the backend."""
    step_s: Annotated[float, Possible(0, HUGE), Plausible(0, 0.1)]
    """Host time of a step that the device waits for: scheduling, inputs, the launch of a graph, sampling. [s]"""
    sample_s: Annotated[float, Possible(0, HUGE), Plausible(0, 0.01)]
    """Further host time per sample of the step. [s]"""
    kernel_s: Annotated[float, Possible(0, HUGE), Plausible(0, 1e-3)]
    """Further time, on top of the part's gap, of each kernel that a step launches one by one because no graph is captured. [s]"""
    kernel_sample_s: Annotated[float, Possible(0, HUGE), Plausible(0, 1e-4)]
    """Further time of each kernel per sample of the step. [s]"""
    prompt_kernel_s: Annotated[float, Possible(0, HUGE), Plausible(0, 1e-3)]
    """Further time of each kernel of a prompt: only steps of one token are captured as graphs. [s]"""
    merges_kernels: bool
    """True if the engine runs kernels of its own that do the work of several (`merged_kernel`), and all-reduces that read all devices at
    once (`collective.direct_call_fraction`)."""
    quantizes_apart: bool
    """True if a kernel of its own scales the activations of each linear layer that is computed in 8 bits or fewer, and in 4 bits another orders
    the scales of their blocks."""
    linear_vector_rows: Annotated[int | None, Plausible(1, 1024)]
    """Largest number of rows at which a linear layer's product runs at the pace of the vector units, whatever the matrix units would
    reach; null if it uses the matrix units."""
    paged_heads: Annotated[float | None, Plausible(1, 1e6)]
    """Number of query heads, summed over the samples of a step, above which each head reads its shared keys and values for itself; null if
    they are read once."""
    paged_ratio: Annotated[float | None, Plausible(1, 20)]
    """Time of those reads relative to reading as many bytes in order; null if there are no such reads."""
    convert_ops: Annotated[float | None, Possible(0, HUGE), Plausible(1, 1000)]
    """Operations with which a lane converts one element of the cache to the arithmetic's format, for each query head, on a part that does
    not compute in the cache's format; null if no such cost is known."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    note: str | None
    """Data that the numbers were fitted to."""


class ExpertSkew(Row):
    """How unevenly the tokens of a family of models choose experts. A family without a row chooses them evenly."""

    TABLE: ClassVar[str] = "expert_skew"
    KEY: ClassVar[tuple[str, ...]] = ("architecture_family",)

    architecture_family: str
    """Family of models, `model.architecture_family`."""
    skew: Annotated[float, Possible(0, 5), Plausible(0, 2.5)]
    """Standard deviation of the logarithm of an expert's share of the tokens (`met_share`)."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    note: str | None
    """Data that the number was fitted to."""


class FusionRule(Row):
    """A producer that a backend runs in one kernel with its consumer.

    If a pair has several rows, all of their conditions must be true. A row for an ATen operator wins over one for its class.
    """

    TABLE: ClassVar[str] = "fusion_rule"
    KEY: ClassVar[tuple[str, ...]] = ("backend", "producer_class", "consumer_class", "condition")

    backend: str
    """Backend the rule applies to."""
    producer_class: str
    """Class of the operator that writes the tensor, or an ATen operator such as `aten.add`."""
    consumer_class: str
    """Class of the operator that reads it, or an ATen operator."""
    condition: str
    """`always`, `single_consumer` (no other operator reads the tensor), `same_elements` (the consumer writes as many elements as the
    producer, or as a reduction reads), `chained` (the producer itself runs in the kernel of one of its operands), `innermost` (the
    consumer does not reduce images over pixels where these are planned channels-last) or `inlined` (the producer is not an activation
    whose argument is stored in its place)."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class Efficiency(Row):
    """Share of a peak that well-written kernels reach, a saturation curve in the kernel's size.

    `fraction = maximum_fraction * w / (w + half_work)`, with w the work per occupied unit. The most specific row wins: the part's own,
    then a sibling's (`lending_part`), its architecture's and its family's.
    """

    TABLE: ClassVar[str] = "efficiency"
    KEY: ClassVar[tuple[str, ...]] = (
        "scope", "backend", "kernel_class", "operator_name", "precision_class", "memory_format", "resource",
    )  # fmt: skip
    RANGES_BY: ClassVar[tuple[str, ...]] = ("resource", "backend")

    efficiency_id: Annotated[int, Possible(1, HUGE)]
    """Number by which an answer refers to the row; never reused. Rows fitted in a database start at a million."""
    scope: str
    """`hardware:NAME`, `architecture:NAME`, `family:NAME` or `*`."""
    backend: str
    """Backend, or `*`."""
    kernel_class: str
    """Class of the kernel's anchor, or `*`."""
    operator_name: str
    """ATen operator of the anchor (`aten.gelu`), within that class; `*` for all."""
    precision_class: str
    """Operand precision, or `*`."""
    memory_format: str
    """Memory layout of the anchor's tensors (`kernel_cost.layout`), or `*`."""
    resource: str
    """`matrix`, `vector` (shares of peak arithmetic), `memory` (share of peak bandwidth), `overlap` (share of the shorter of arithmetic
    and memory time that overlaps the longer), `residency` (share of a last-level cache that keeps data from kernel to kernel; all of it
    if software manages the level), `reorder` (share of peak bandwidth at which a library reorders weights and images, or copies a bias
    into the result, at every call; no row: nothing is reordered), `paging` (share of peak bandwidth at which the system hands out fresh
    pages; no row: memory is kept from run to run) or `thread` (share of one unit's bandwidth,
    `hardware_memory.unit_bandwidth_byte_per_s`, that a single-threaded loop reaches; no row: unknown)."""
    maximum_fraction: Annotated[float, Possible(TINY, 1), Plausible(0.005, 1)]
    """Share of the peak that a large kernel reaches, above 0 and at most 1. For `matrix`, the share of the rate of its tiles
    (`tiling_strategy`)."""
    half_work: Annotated[
        float,
        Possible(0, HUGE),
        Plausible(0, 1e8),
        Plausible(0.01, 100, of="thread.inductor"),
        Plausible(10, 1e7, of="matrix.eager", family="gpu"),
        Plausible(10, 1e7, of="matrix.inductor", family="gpu"),
        Plausible(10, 1e7, of="matrix.inductor", family="cpu"),
        Plausible(10, 1e6, of="memory.eager", family="gpu"),
        Plausible(10, 1e6, of="memory.inductor", family="gpu"),
    ]
    """Work per unit at which half of that is reached: operations for arithmetic, bytes for memory. For `thread`, the time in which the
    backend's thread team starts and finishes, as a multiple of the part's (`hardware_overhead`, `team`)."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    note: str | None
    """Data that the row was fitted to, or the reason for an assumption."""


class PredictionBand(Row):
    """Distance of measurements from predictions: quantiles of measured / predicted on rows that the fit did not see. The most specific row
    wins: the part's own before its family's."""

    TABLE: ClassVar[str] = "prediction_band"
    KEY: ClassVar[tuple[str, ...]] = ("scope", "backend", "batch_class", "quantity")

    scope: str
    """`hardware:NAME`, `family:NAME` or `*`."""
    backend: str
    """Backend, or `*`."""
    batch_class: str
    """`1`, `2-8`, `9-64`, `>64` samples, or `*`."""
    quantity: str
    """`latency` or `energy`."""
    low_factor: Annotated[float, Plausible(0.01, 10)]
    """Tenth percentile of measured / predicted."""
    high_factor: Annotated[float, Plausible(0.1, 100)]
    """Ninetieth percentile of measured / predicted."""
    row_count: Size
    """Number of measurements used; 0 if assumed."""
    part_count: Size
    """Number of measured parts."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class LibraryConstant(Row):
    """A number built into a library, an allocator or a compiler, or assumed of a part's owner."""

    TABLE: ClassVar[str] = "library_constant"
    KEY: ClassVar[tuple[str, ...]] = ("library_constant",)
    RANGES_BY: ClassVar[tuple[str, ...]] = ("library_constant",)

    library_constant: str
    """Name, e.g. `mapped_block_byte`."""
    value: Annotated[
        float,
        Plausible(1, 1e9),
        Plausible(32, 1024, of="vector_block_threads"),
        Plausible(1, 256, of="blocked_channels"),
        Plausible(64, 1e6, of="aliased_row_byte"),
        Plausible(1, 1e4, of="depthwise_taps"),
        Plausible(1, 1e4, of="depthwise_half_taps"),
        Plausible(1, 1e4, of="depthwise_short_taps"),
        Plausible(1, 1e4, of="depthwise_least_channels"),
        Plausible(1, 1e4, of="depthwise_least_width"),
        Plausible(1, 1e4, of="depthwise_strided_channels"),
        Plausible(1, 1e4, of="depthwise_large_channels"),
        Plausible(1, 1e4, of="depthwise_large_width"),
        Plausible(16, 1e5, of="allocator_block_byte"),
        Plausible(16, 1e6, of="native_convolution_elements"),
        Plausible(32, 1024, of="norm_block_threads"),
        Plausible(1000, 2e5, of="owned_h"),
    ]
    """Value, in `unit`."""
    unit: str
    """`byte`, `element`, `channel`, `thread`, `clock` or `h`."""
    decides: str
    """Subject of the constant: `memory` (memory that a run uses), `processor` (kernels of a backend that calls ATen, on a processor),
    `unit` (distribution of work over a part's units) or `price` (hourly cost of a part that nobody rents out)."""
    source_id: str
    """Source of the value."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    note: str | None
    """Effect of the constant."""


class ArchitecturalModifier(Row):
    """Relative energy-delay weight of an operator class on an architecture. The operators of a fused kernel share its cost by these
    weights."""

    TABLE: ClassVar[str] = "architectural_modifier"
    KEY: ClassVar[tuple[str, ...]] = ("operator_class", "architecture_class", "is_fused")

    operator_class: str
    """Class of the operator, or `*`."""
    architecture_class: str
    """`sequential`, `data_parallel`, `systolic` or `domain_flow` (`hardware_family`)."""
    is_fused: bool
    """True inside a fused kernel."""
    modifier: Annotated[float, Plausible(0.01, 100)]
    """Weight; 1 for a matrix operator."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class EnergyFact(Row):
    """A published energy figure and its scope."""

    TABLE: ClassVar[str] = "energy_fact"
    KEY: ClassVar[tuple[str, ...]] = ("energy_fact_id",)

    energy_fact_id: str
    """Name of the figure."""
    scope: str
    """`circuit`, `array`, `device`, `path`, `board` or `model`."""
    what: str
    """Operation or memory level."""
    subject: str
    """Hardware or class it is stated for."""
    process_nm: str | None
    """Process node. [nm]"""
    technology: str | None
    """Memory technology."""
    energy_j: Annotated[float, Plausible(1e-16, 1e-3)]
    """Energy of one `per`. [J]"""
    per: str
    """`op`, `MAC`, `byte`, `bit`, `64-bit access`, ..."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    note: str | None
    """Anything a reader must know."""


class EnergyProfile(Row):
    """Energy coefficients that a part states, all converted to one scope so that they can be added; others follow from rules
    (`part_energy`).

    Arithmetic: `what` is `op` and `key` is `PRECISION.UNIT`. Memory: `what` is `byte` and `key` the level. Static: `what` is `static`
    and `key` is `chip`; its value is a power.
    """

    TABLE: ClassVar[str] = "energy_profile"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "what", "key")
    RANGES_BY: ClassVar[tuple[str, ...]] = ("what",)

    hardware: str
    """Part."""
    what: str
    """`op`, `byte` or `static`."""
    key: str
    """Precision and unit, memory level, or `chip`."""
    value: Annotated[
        float, Plausible(1e-16, 1e-9, of="op"), Plausible(1e-15, 1e-8, of="byte"), Plausible(0.01, 1e4, of="static")
    ]
    """Joules per operation or byte; watts for `static`. [J]"""
    scope: str
    """Scope that every row of the part is converted to: `board` or `chip`."""
    source_id: str
    """Source of the value."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    formula: str
    """Formula that composes the value from facts."""


class SiliconRule(Row):
    """A property of silicon: area, leakage and energy by process, format, level and technology, and voltage by clock. Areas, leakage and
    energies of the parts of every family follow from these rows. Of the rows of a quantity that match, the longest architecture wins,
    then the row of a family."""

    TABLE: ClassVar[str] = "silicon_rule"
    KEY: ClassVar[tuple[str, ...]] = ("silicon_rule",)
    RANGES_BY: ClassVar[tuple[str, ...]] = ("quantity",)

    silicon_rule: str
    """Name of the rule."""
    quantity: str
    """Quantity, e.g. `mac_um2`, `leakage_w_per_mm2` or `lift`; joins `part_area`, `part_energy` and `part_silicon`."""
    family: str
    """Family of the parts the rule applies to, or `*`."""
    architecture: str
    """First words of their architecture, or `*`."""
    row_key: str
    """Precision, unit, cluster, level, technology, kind of area or process the rule applies to, or `*`."""
    value: Annotated[
        float,
        Possible(0, HUGE, of="unit_um2"),
        Possible(0, HUGE, of="lane_um2"),
        Possible(0, HUGE, of="phy_mm2_per_gbyte_per_s"),
        Possible(0, HUGE, of="memory_w_per_gbyte"),
        Possible(0, 1, of="voltage_slope"),
        Possible(0, 1, of="leakage_share"),
        Possible(0, 1, of="clocking_share"),
        Possible(0, 1, of="link_distance_fraction"),
        Possible(TINY, 1, of="voltage_floor"),
        Possible(TINY, 1, of="clock_floor"),
        Possible(TINY, 1, of="sram_fill_least"),
        Possible(TINY, 1, of="sram_fill_most"),
        Plausible(0.01, 10, of="circuit_ratio"),
        Plausible(0.1, 100, of="process_pj"),
        Plausible(0.5, 1000, of="usual_process_nm"),
        Plausible(0.01, 100, of="lift"),
        Plausible(1, 8, of="sparse_ratio"),
        Plausible(1e8, 1e10, of="reference_clock_hz"),
        Plausible(0.05, 20, of="unit_factor"),
        Plausible(0.3, 2, of="reference_voltage_v"),
        Plausible(0.5, 1000, of="dram_pj_per_byte"),
        Plausible(0.1, 1, of="voltage_slope"),
        Plausible(0.2, 1, of="voltage_floor"),
        Plausible(1, 2, of="voltage_ceiling"),
        Plausible(0.05, 1, of="clock_floor"),
        Plausible(1, 1000, of="logic_mtr_per_mm2"),
        Plausible(10, 1e6, of="mac_um2"),
        Plausible(0.5, 50, of="mac_area_factor"),
        Plausible(0, 1e9, of="unit_um2"),
        Plausible(1e5, 1e9, of="unit_um2", family="cpu"),
        Plausible(0, 1e8, of="lane_um2"),
        Plausible(1e4, 1e8, of="lane_um2", family="cpu"),
        Plausible(0.1, 500, of="uncore_mm2"),
        Plausible(0.005, 1, of="sram_um2"),
        Plausible(0.01, 1, of="sram_fill_least"),
        Plausible(0.001, 0.5, of="sram_fill_doubling"),
        Plausible(0.1, 1, of="sram_fill_most"),
        Plausible(1, 20, of="port_factor"),
        Plausible(1, 2, of="tag_factor"),
        Plausible(1, 3, of="layout_factor"),
        Plausible(0, 2, of="phy_mm2_per_gbyte_per_s"),
        Plausible(0.001, 2, of="link_mm2_per_gbyte_per_s"),
        Plausible(0.0001, 1, of="leakage_w_per_mm2"),
        Plausible(0.01, 1, of="leakage_share"),
        Plausible(0.0001, 1, of="clocking_w_per_mm2_ghz"),
        Plausible(0.01, 1, of="clocking_share"),
        Plausible(0.05, 5, of="clock_load_ratio"),
        Plausible(0, 5, of="memory_w_per_gbyte"),
        Plausible(0.01, 10, of="sram_access_ratio"),
        Plausible(0.01, 10, of="sram_wire_ratio_per_mm"),
        Plausible(0.01, 10, of="link_wire_ratio_per_mm"),
        Plausible(0.01, 1, of="link_distance_fraction"),
        Plausible(0.1, 100, of="level_lift"),
        Plausible(1e9, 1e13, of="channel_byte_per_s"),
        Plausible(1e8, 1e12, of="channel_byte"),
    ]
    """Value, in `unit`."""
    unit: str
    """Unit of the value."""
    source_id: str
    """Source of the value."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    reason: str
    """Reason for the value."""


class TilingStrategy(Row):
    """A candidate tile of a strategy; the fastest candidate of a kernel wins.

    A size of 0 means fitted: the view computes the largest tile that the capacity rule allows.
    """

    TABLE: ClassVar[str] = "tiling_strategy"
    KEY: ClassVar[tuple[str, ...]] = ("family", "candidate")
    RANGES_BY: ClassVar[tuple[str, ...]] = ("strategy",)

    strategy: str
    """Name, e.g. `gpu_shared_memory`, `cpu_l2_square`, `weight_stationary`, `domain_flow`."""
    candidate: Ordinal
    """Key within the family; strategies for arrays use numbers that no family uses."""
    family: str
    """Hardware family it applies to; `*` for arrays, on every part with that dataflow (`part_strategy`)."""
    matrix_instruction: str | None
    """`cuda_limit.matrix_instruction` of the parts it applies to; null for all parts of the family."""
    level: str
    """Memory level whose capacity limits the tile; `array` for arrays, whose level differs from part to part."""
    dataflow: str
    """`output_stationary` (tiles in waves over the units; for arrays, results stay in the array), `direct` (no tiles, on vector units, for
    products no wider than `tile_n`), `query_block` (PyTorch's fused attention on processors: blocks of `tile_m` queries),
    `weight_stationary` (weights stay in the array, rows stream through), `input_stationary` (rows stay, weights stream through) or
    `wavefront` (domain flow, results stay in the array)."""
    tile_m: Annotated[
        Size,
        Plausible(0, 4096),
        Plausible(1, 4096, of="gpu_shared_memory"),
        Plausible(1, 4096, of="gpu_warpgroup"),
        Plausible(1, 4096, of="gpu_tensor_memory"),
        Plausible(1, 4096, of="cpu_query_block"),
        Plausible(1, 4096, of="npu_output_tiles"),
        Plausible(1, 4096, of="dsp_output_tiles"),
    ]
    """Rows of the output tile."""
    tile_n: Annotated[
        Size,
        Plausible(0, 4096),
        Plausible(1, 4096, of="gpu_shared_memory"),
        Plausible(1, 4096, of="gpu_warpgroup"),
        Plausible(1, 4096, of="gpu_tensor_memory"),
        Plausible(1, 4096, of="cpu_query_block"),
        Plausible(1, 4096, of="npu_output_tiles"),
        Plausible(1, 4096, of="dsp_output_tiles"),
        Plausible(1, 4096, of="gpu_direct"),
        Plausible(1, 4096, of="kpu_direct"),
    ]
    """Columns of the output tile."""
    tile_k: Annotated[
        Size,
        Plausible(0, 4096),
        Plausible(1, 4096, of="gpu_shared_memory"),
        Plausible(1, 4096, of="gpu_warpgroup"),
        Plausible(1, 4096, of="gpu_tensor_memory"),
        Plausible(1, 4096, of="cpu_query_block"),
        Plausible(1, 4096, of="npu_output_tiles"),
        Plausible(1, 4096, of="dsp_output_tiles"),
    ]
    """Depth of one stage along the reduction."""
    from_m: Annotated[int | None, Possible(0, 1e9), Plausible(0, 1e5)]
    """Smallest number of queries at which a `query_block` is chosen; null for other dataflows."""
    below_m: Annotated[int | None, Possible(0, 1e9), Plausible(0, 1e5)]
    """Number of queries up to which a `query_block` is chosen; null: unlimited."""
    divisor: Annotated[float, Plausible(0.1, 64)]
    """Divisor of a fitted size: above 1 gives smaller blocks for products too small to fill the part, below 1 larger ones for parts with
    more memory than their files state."""
    split_k: Annotated[int, Plausible(1, 128)]
    """Slices of the reduction computed by different units and summed afterwards; 1 for none."""
    stages: Annotated[int, Plausible(1, 16)]
    """Buffers in flight: 2 is double buffering."""
    step_k: Annotated[int | None, Plausible(1, 4096)]
    """Depth to which a tile's last stage is padded; null for all of `tile_k`."""
    fill_k: Annotated[
        float,
        Possible(0, HUGE),
        Plausible(0, 1e5),
        Plausible(1, 10000, of="gpu_shared_memory"),
        Plausible(1, 10000, of="gpu_warpgroup"),
        Plausible(1, 10000, of="gpu_tensor_memory"),
        Plausible(1, 10000, of="npu_output_tiles"),
        Plausible(1, 10000, of="dsp_output_tiles"),
        Plausible(0.1, 1000, of="cpu_query_block"),
    ]
    """Steps of the reduction spent filling and draining the pipeline of one tile; for `query_block`, the number of rows whose time a block
    takes to reorder its keys and values."""
    fill_clock: Annotated[
        float,
        Possible(0, HUGE),
        Plausible(0, 1e7),
        Plausible(10, 1e6, of="gpu_shared_memory"),
        Plausible(10, 1e6, of="gpu_warpgroup"),
        Plausible(10, 1e6, of="gpu_tensor_memory"),
        Plausible(10, 1e7, of="npu_output_tiles"),
        Plausible(10, 1e7, of="dsp_output_tiles"),
    ]
    """Upper limit of the clocks for filling and draining, however slow the unit. [clock]"""
    exposed_fill: Annotated[float | None, Possible(0, HUGE), Plausible(0.05, 100)]
    """Upper limit, from the second wave on, of the filling and draining time that other tiles on the same unit do not cover, as a multiple
    of the tile's steady time; null if a unit runs one tile at a time and nothing is covered."""
    latency_clock: Annotated[
        float,
        Possible(0, HUGE),
        Plausible(0, 1e6),
        Plausible(10, 1e6, of="gpu_shared_memory"),
        Plausible(10, 1e6, of="gpu_warpgroup"),
        Plausible(10, 1e6, of="gpu_tensor_memory"),
        Plausible(10, 1e6, of="gpu_direct"),
    ]
    """Clocks from the kernel's start to its first step and from its last step to its end: first loads,
    pipeline, write-back. A split reduction pays it again for the kernel that sums. [clock]"""
    wave_quantization_fraction: Annotated[
        float,
        Possible(0, 1),
        Plausible(0.01, 1, of="gpu_shared_memory"),
        Plausible(0.01, 1, of="gpu_direct"),
        Plausible(0.01, 1, of="cpu_l2_square"),
        Plausible(0.01, 1, of="cpu_query_block"),
        Plausible(0.01, 1, of="weight_stationary"),
        Plausible(0.01, 1, of="input_stationary"),
        Plausible(0.01, 1, of="output_stationary"),
        Plausible(0.01, 1, of="domain_flow"),
        Plausible(0.01, 1, of="kpu_direct"),
        Plausible(0.01, 1, of="npu_output_tiles"),
        Plausible(0.01, 1, of="dsp_output_tiles"),
    ]
    """Share of a last, partial wave that other tiles on the same unit do not hide: 1 is `ceil(waves)`."""
    efficiency_fraction: Share
    """Share of the matrix peak that this tile sustains once filled, on a unit too fast for its operands."""
    fed_macs: Annotated[float | None, Plausible(1, 1000)]
    """Multiply-accumulates per element from the memory next to the unit, from which a unit pays the full `1 / efficiency_fraction - 1`; a
    slower unit pays in proportion. Null: every unit pays. [MAC/element]"""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class Collective(Row):
    """The cost of a collective call on a kind of link, in a ring: the time of V bytes on n devices is
    `latency_s * (call_fraction + step_fraction * steps) + share * V / (bandwidth_fraction * bandwidth_byte_per_s)`,
    with n - 1 steps and a share of (n - 1) / n, twice that for an all-reduce."""

    TABLE: ClassVar[str] = "collective"
    KEY: ClassVar[tuple[str, ...]] = ("interconnect",)

    interconnect: str
    """`hardware_interconnect.interconnect`, or `*` for links without their own row."""
    call_fraction: Annotated[float, Possible(0, HUGE), Plausible(0.01, 100)]
    """Time to start and finish a call, as a share of the link's latency."""
    step_fraction: Annotated[float, Possible(0, HUGE), Plausible(0.001, 100)]
    """Time of each step of the ring, as a share of the link's latency."""
    bandwidth_fraction: Annotated[float, Possible(TINY, 1), Plausible(0.05, 1)]
    """Share of the link's bandwidth that messages reach."""
    direct_call_fraction: Annotated[float, Possible(0, HUGE), Plausible(0.01, 100)]
    """Time of an all-reduce in one kernel of a server, whose devices read one another, without the bytes, as a share of the link's
    latency (`direct_time`)."""
    direct_bandwidth_fraction: Annotated[float, Possible(TINY, 1), Plausible(0.05, 1)]
    """Share of the link's bandwidth that it reaches."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class Network(Row):
    """The network between nodes, for one of the part's ports."""

    TABLE: ClassVar[str] = "network"
    KEY: ClassVar[tuple[str, ...]] = ("of_part",)

    of_part: str
    """Part whose nodes it joins, or `*` for parts without their own row."""
    network: str
    """Name, e.g. `infiniband_hdr`."""
    network_byte_per_s: Annotated[float, Plausible(1e8, 1e12)]
    """Bandwidth in one direction for each part of a node. [byte/s]"""
    network_s: Annotated[float, Possible(0, HUGE), Plausible(1e-7, 1e-3)]
    """Time of an empty message. [s]"""
    node_device_count: Annotated[int, Plausible(1, 1e3)]
    """Parts per node."""
    network_fraction: Annotated[float, Possible(TINY, 1), Plausible(0.05, 1)]
    """Share of that bandwidth that collectives reach."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class Optimizer(Row):
    """Memory and traffic of an optimizer per trained weight."""

    TABLE: ClassVar[str] = "optimizer"
    KEY: ClassVar[tuple[str, ...]] = ("optimizer",)

    optimizer: str
    """Name, e.g. `adam`."""
    gradient_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 16)]
    """Gradient kept per weight. [byte]"""
    master_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 16)]
    """Single-precision copy per weight; 0 if weights are in single precision. [byte]"""
    state_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 16)]
    """Moments kept per weight. [byte]"""
    moved_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 100)]
    """Bytes that a step reads and writes per weight. [byte]"""
    bandwidth_fraction: Annotated[float, Possible(TINY, 1), Plausible(0.1, 1)]
    """Share of main-memory bandwidth that its step reaches."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class Framework(Row):
    """The training behaviour of a framework. At most three of its factors are fitted: `kernel_factor`, `overlap_fraction` and one of
    `attention_factor` and `tensor_fraction`."""

    TABLE: ClassVar[str] = "framework"
    KEY: ClassVar[tuple[str, ...]] = ("framework",)

    framework: str
    """Name, e.g. `megatron`; `plain` is an ideal framework: kernels as fast as the backend's."""
    backend: str
    """Backend whose times the factors multiply; `*` for a framework tied to no backend."""
    is_default: bool
    """True for the framework assumed on its backend if none is named; with `*`, on any backend without its own."""
    kernel_factor: Annotated[float, Possible(TINY, HUGE), Plausible(0.2, 5)]
    """Time of its kernels relative to charz's backend."""
    attention_factor: Annotated[float | None, Possible(TINY, HUGE), Plausible(0.2, 5)]
    """Time of its attention kernels relative to charz's backend; null: `kernel_factor`."""
    warpgroup_attention_factor: Annotated[float | None, Possible(TINY, HUGE), Plausible(0.2, 5)]
    """`attention_factor` on parts whose tensor cores are driven by groups of warps (`part.matrix_instruction`), an instruction that
    kernels written for earlier parts do not use; null: `kernel_factor`."""
    overlap_fraction: Annotated[float, Possible(0, 1), Plausible(0, 1)]
    """Share of the computing time that transfers of gradients and weights overlap."""
    tensor_fraction: Annotated[float, Possible(0, 1), Plausible(0, 1)]
    """Share of tensor-parallel traffic that no computation hides."""
    reduce_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 8)]
    """Gradient bytes sent per weight. [byte]"""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class DeviceSplit(Row):
    """A split of training or serving over tensor x context x data x pipeline devices; ranks in that order."""

    TABLE: ClassVar[str] = "device_split"
    KEY: ClassVar[tuple[str, ...]] = ("split",)

    split: str
    """Name."""
    framework: str | None
    """Framework that trains, `framework.framework`; null: the backend's default."""
    optimizer: str
    """Optimizer, `optimizer.optimizer`."""
    tensor: int
    """Number of devices that share each product (Shoeybi et al. 2019)."""
    pipeline: int
    """Number of pipeline stages, each with consecutive layers (Narayanan et al. 2021)."""
    interleave: int
    """Number of groups of layers on each pipeline stage."""
    context: int
    """Number of devices that share the tokens of a sample."""
    data: int
    """Number of replicas, each with its own samples."""
    expert: int
    """Number of the `context` x `data` devices over which experts are spread."""
    micro_batches: int
    """Micro batches of a replica per step."""
    zero_stage: Annotated[int, Possible(0, 3)]
    """State that replicas shard (Rajbhandari et al. 2019): 0 none, 1 the optimizer's states, 2 gradients too, 3 weights too, as fully
    sharded data parallel does."""
    recompute: str
    """Activations that the backward pass recomputes: `none`, `selective` (the core of attention) or `full` (each layer from its input)."""
    is_sequence_parallel: bool
    """True if operators that tensor parallelism leaves whole are split along the tokens."""
    block_count: int | None
    """Number of layers that replaces the model's own; null: the model's."""
    adapter_rank: int | None
    """Rank of the adapters that are trained instead of the weights; null if the weights are trained."""
    frozen_precision: str | None
    """Format in which untrained weights are kept; null: their own."""


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


class RestPower(Row):
    """Stated or measured power of a part at rest. `part_leakage` is checked against it; no prediction depends on it."""

    TABLE: ClassVar[str] = "rest_power"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "state")

    hardware: str
    """Part."""
    state: str
    """`rest` (clocks at their floor), `waiting` (clocks at working speed) or `clocks` (the clocks' share of `waiting`)."""
    stated_w: Annotated[float, Plausible(0.01, 1e4)]
    """Power in that state. [W]"""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    note: str | None
    """Anything a reader must know."""


class PowerRange(Row):
    """The lowest power limit that a board accepts; a limit below it is refused."""

    TABLE: ClassVar[str] = "power_range"
    KEY: ClassVar[tuple[str, ...]] = ("hardware",)

    hardware: str
    """Part."""
    least_w: Annotated[float, Plausible(0.5, 2000)]
    """Lowest power limit. [W]"""
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
    """Cores that issue kernels, and their clock."""
    dispatch_ratio: Annotated[float, Plausible(0.2, 20)]
    """Time to issue a kernel relative to the reference host."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


CostNumber = Annotated[
    float,
    Possible(0, HUGE, of="memory_usd_per_gbyte"),
    Possible(0, HUGE, of="defect_per_cm2"),
    Possible(0, HUGE, of="edge_loss_mm"),
    Possible(0, HUGE, of="scribe_mm"),
    Possible(0, HUGE, of="package_usd"),
    Possible(0, HUGE, of="board_ratio"),
    Possible(TINY, 1, of="join_yield_fraction"),
    Plausible(200, 1e5, of="wafer_usd"),
    Plausible(0.01, 5, of="defect_per_cm2"),
    Plausible(1, 100, of="yield_cluster"),
    Plausible(50, 450, of="wafer_mm"),
    Plausible(0.5, 20, of="edge_loss_mm"),
    Plausible(0.01, 1, of="scribe_mm"),
    Plausible(50, 2000, of="reticle_mm2"),
    Plausible(1, 2, of="join_area_factor"),
    Plausible(0.5, 1, of="join_yield_fraction"),
    Plausible(0.001, 10, of="package_usd_per_mm2"),
    Plausible(0.01, 1000, of="package_usd"),
    Plausible(0, 1000, of="memory_usd_per_gbyte"),
    Plausible(0.01, 2, of="board_ratio"),
]
"""A number of a cost rule."""


class CostRule(Row):
    """A manufacturing cost: wafers and their defects by process, package and memory by technology, board. Joins `part_cost`; no time or
    energy depends on it."""

    TABLE: ClassVar[str] = "cost_rule"
    KEY: ClassVar[tuple[str, ...]] = ("cost_rule",)
    RANGES_BY: ClassVar[tuple[str, ...]] = ("quantity",)

    cost_rule: str
    """Name of the rule."""
    quantity: str
    """Quantity, e.g. `wafer_usd`, `defect_per_cm2` or `memory_usd_per_gbyte`."""
    row_key: str
    """Process in nm or technology of the main memory the rule applies to; `*` for all others."""
    value: CostNumber
    """Value, in `unit`."""
    cheap_value: CostNumber
    """Value that makes parts cheapest: low end of the band of `part_cost`."""
    dear_value: CostNumber
    """Value that makes parts dearest: high end of the band of `part_cost`."""
    unit: str
    """Unit of the three values."""
    source_id: str
    """Source of the value; the ends are assumed unless the reason names a source."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
    reason: str
    """Reason for the value."""


class Price(Row):
    """Rental price of a part."""

    TABLE: ClassVar[str] = "price"
    KEY: ClassVar[tuple[str, ...]] = ("hardware",)

    hardware: str
    """Part."""
    price_usd_per_hour: Annotated[float, Plausible(0.001, 1000)]
    """Price of one part per hour. [USD/h]"""
    dated: str
    """Month of the price, `YYYY-MM`."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""


class ListPrice(Row):
    """The maker's price of a part, or of the board with it. The hourly price of a part that nobody rents out is this price divided by the
    hours that an owner uses it (`library_constant`, `owned_h`)."""

    TABLE: ClassVar[str] = "list_price"
    KEY: ClassVar[tuple[str, ...]] = ("hardware",)

    hardware: str
    """Part."""
    sold_as: str
    """Product sold at the price: `card`, `module`, `developer kit`, `processor` or `computer`."""
    list_price_usd: Annotated[float, Plausible(1, 1e6)]
    """Price of one, before taxes. [USD]"""
    dated: str
    """Month of the price, `YYYY-MM`."""
    source_id: str
    """Source of the row."""
    confidence: str
    """Confidence level, `confidence.confidence`."""
