"""Tables that hold the hardware catalog and the rules of the cost model, all of them live: an
`UPDATE` of one value shows in the next query.

A part's numbers lie in narrow typed tables; `hardware_provenance` says of each where it comes from,
and the view `hardware_value` joins the two into one long list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from .ranges import ANY, HUGE, TINY, Ordinal, Plausible, Possible, Share, Size
from .row import Row


class Source(Row):
    """Where numbers come from."""

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
    """What it says."""


class Confidence(Row):
    """How far a number can be trusted."""

    TABLE: ClassVar[str] = "confidence"
    KEY: ClassVar[tuple[str, ...]] = ("confidence",)

    confidence: str
    """Level, e.g. `vendor_doc`."""
    rank: Ordinal
    """Order of trust, 1 the highest."""
    is_guess: bool
    """True for `assumed`: counted in every report that rests on it."""
    meaning: str
    """What the level says."""


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
    """Microarchitecture and die, e.g. `Hopper GH100`; rules hold for its first words."""
    compute_capability: str | None
    """CUDA compute capability, e.g. `9.0`; null for others. Joins `cuda_limit`."""
    process_nm: Annotated[float | None, Plausible(0.5, 1000)]
    """Process node by its marketing name. [nm]"""
    die_count: Annotated[int | None, Plausible(1, 64)]
    """Equal dice that its silicon is cut into; null: as few as fit what a scanner exposes at once. Decides its cost alone."""
    dataflow: str | None
    """What stays in its arrays while the rest streams: `weight_stationary`, `output_stationary`, `input_stationary` or `wavefront`
    (domain flow); null: what its family does."""
    form_factor: str
    """PCIe, SXM, socket, SoC, ..."""
    status: str
    """`shipping`, `announced`, `simulated`, `retired` or `internal`. Announced and simulated parts have no silicon."""
    origin: str
    """`charz` for the shipped catalog, `user` for a part added by `charz hardware add`."""
    note: str | None
    """Anything a reader must know."""


class ShippedPart(Row):
    """Numbers as the part's file states them, for what was learned of the part as it is: whose efficiencies it borrows
    (`lending_part`), what libraries decide by its units and caches, and bytes fitted by the unit. Written with the part, and no
    edit of the part changes it, so that a part edited moves by physics alone and no other part moves with it."""

    TABLE: ClassVar[str] = "shipped_part"
    KEY: ClassVar[tuple[str, ...]] = ("hardware",)

    hardware: str
    """Part it belongs to."""
    architecture: str
    """Microarchitecture and die: parts of the same are siblings."""
    dram_byte_per_s: Annotated[float | None, Plausible(1e9, 1e17)]
    """Peak bandwidth of main memory. [byte/s]"""
    unit_ops_per_s: Annotated[float | None, Plausible(1e9, 1e16)]
    """Dense peak of a unit in half precision on matrix units, summed in single; null of a part without. [ops/s]"""
    unit_count: Annotated[
        float | None,
        Plausible(1, 2e6),
        Plausible(1, 1000, family="gpu"),
        Plausible(1, 512, family="cpu"),
        Plausible(1, 2000, family="kpu"),
        Plausible(1, 64, family="tpu"),
    ]
    """Compute units of all clusters."""
    unit_l1_byte: Annotated[float | None, Plausible(1e3, 1e7)]
    """First level of a unit; null without one. [byte]"""
    unit_l2_byte: Annotated[float | None, Plausible(1e3, 1e8)]
    """Second level of a unit; null where units share it or there is none. [byte]"""


class HardwareFamily(Row):
    """A family of parts, and how it computes."""

    TABLE: ClassVar[str] = "hardware_family"
    KEY: ClassVar[tuple[str, ...]] = ("family",)

    family: str
    """`cpu`, `gpu`, `tpu`, `kpu`, `npu` or `dsp`."""
    architecture_class: str
    """`sequential`, `data_parallel`, `systolic` or `domain_flow`. Joins `architectural_modifier`."""
    dataflow: str | None
    """What stays in the arrays of its parts that do not say (`hardware.dataflow`); null of a family without arrays, whose units take
    its own tiles."""
    tiles_second_level: bool
    """True where a unit's tile lies in a second level of its own, behind a first that operands stream through."""
    is_staged: bool
    """True where software moves every byte through every level (domain flow): none passes by, the batch may be taken in
    groups small enough to stay on chip, and reductions are split over units and combined."""
    keeps_weights: bool
    """True where programs keep the weights of the model that they run in a last level that software manages, from run to run, on
    parts that do not say (`hardware_memory.keeps_weights`)."""
    template_part: str
    """Part whose numbers `charz hardware template` gives as examples."""
    assumed_precision: str | None
    """Precision policy that answers assume on its parts where none is named; null where that is single precision, in the way that
    the backend computes it by default (`backend_support.default_precision`)."""
    second_precision: str | None
    """The same of parts that do not compute in that one; null where there is none besides."""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""


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
    """Place among the part's clusters; rules that know of one cluster take the lowest."""
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
    """Units of this kind on the part."""
    lanes: Annotated[
        float | None,
        Plausible(1, 512),
        Plausible(1, 128, family="cpu"),
        Plausible(16, 16384, family="kpu"),
        Plausible(16, 8192, family="tpu"),
    ]
    """fp32 lanes of a unit: results a clock."""
    array_rows: Annotated[int | None, Plausible(4, 1024)]
    """Rows of a unit's systolic or processing-element array."""
    array_columns: Annotated[int | None, Plausible(4, 1024)]
    """Columns of that array."""
    thread_count: Annotated[int | None, Plausible(1, 4096), Plausible(1, 16, family="cpu")]
    """Hardware threads a unit holds at once."""
    clock_base_hz: Annotated[float | None, Plausible(1e8, 1e10)]
    """Guaranteed clock. [Hz]"""
    clock_boost_hz: Annotated[float | None, Plausible(1e8, 1e10)]
    """Highest sustained clock, at which peaks are stated. [Hz]"""
    clock_matrix_hz: Annotated[float | None, Plausible(1e8, 1e10)]
    """Clock of the matrix units where it differs, as stated; `part_cluster` has what follows of it. [Hz]"""
    derived_matrix_hz: float | None
    """Boost clock beside which the clock of the matrix units was stated: an edit of the boost clock moves both. [Hz]"""


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
    """Size, of one unit's share where scope is `unit`. [byte]"""
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
    """Peak bandwidth as stated, of one unit's share where scope is `unit`; both directions together. `part_memory` has
    what follows where it is null. [byte/s]"""
    derived_byte_per_s: float | None
    """What `derivation_rule` gave for the level when its bandwidth was stated: what moves that moves both. [byte/s]"""
    unit_bandwidth_byte_per_s: Annotated[float | None, Plausible(1e8, 1e12)]
    """Most that one compute unit alone draws of a level that all share; null when unknown. [byte/s]"""
    keeps_weights: bool | None
    """True where programs keep a model's weights there from run to run, of a last level that software manages; null: what the
    family does."""
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
    """Element type of the accumulator; `default` when the source does not say."""
    instruction: str | None
    """What executes it, e.g. `AVX-512`, `AMX`, `tensor core gen4`."""
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
    """Dense peak of the whole part as stated; a MAC is two operations. `part_peak` has what follows where it is null.
    [ops/s]"""
    derived_ops_per_s: float | None
    """Units x operations a clock x clock when the peak was stated: an edit of any moves the peak in proportion. [ops/s]"""
    ops_per_clock_per_unit: Annotated[
        float | None, Plausible(1, 2e6), Plausible(1, 2e5, family="gpu"), Plausible(1, 1e5, family="cpu")
    ]
    """Operations one unit finishes a clock."""


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
    """Power the mode may draw on average. [W]"""
    idle_w: Annotated[float | None, Possible(0, HUGE), Plausible(0.01, 1000), Plausible(0.01, 5e4, family="npu")]
    """Power drawn with nothing running; null when unknown. [W]"""
    clock_fraction: Annotated[float, Possible(TINY, 10), Plausible(0.05, 1.5)]
    """Share of the boost clock this mode allows."""


class HardwareOverhead(Row):
    """A fixed time a part costs."""

    TABLE: ClassVar[str] = "hardware_overhead"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "overhead")
    RANGES_BY: ClassVar[tuple[str, ...]] = ("overhead",)

    hardware: str
    """Part it belongs to."""
    overhead: str
    """`kernel_gap` (device time between two dependent kernels), `launch` (host to device), `memory_latency` (an access
    that another waits for), `norm_block` (a block of PyTorch's own GPU kernel of a layer norm, of a short row) or `team` (the
    threads of all units begin and end a kernel together)."""
    overhead_s: Annotated[
        float,
        Possible(0, HUGE),
        Plausible(1e-8, 1e-3),
        Plausible(5e-8, 1e-4, of="kernel_gap"),
        Plausible(1e-9, 1e-5, of="memory_latency"),
        Plausible(1e-8, 1e-4, of="norm_block"),
        Plausible(1e-7, 1e-2, of="team"),
    ]
    """Its length. [s]"""


class HardwareInterconnect(Row):
    """A link by which a part reaches others."""

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
    """Most devices one such fabric joins."""


class HardwareMesh(Row):
    """A network on a part whose links join neighbours: its units, its dice, or the elements of an array. Loop nests are costed with
    it (`loop_nest_cost`)."""

    TABLE: ClassVar[str] = "hardware_mesh"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "mesh")

    hardware: str
    """Part it belongs to."""
    mesh: str
    """`unit` (between the units of a die, or of the part), `die` (between dice) or `element` (within an array)."""
    mesh_rows: Annotated[int | None, Plausible(1, 1000)]
    """Rows of what it joins; null: as near its columns as can be."""
    mesh_columns: Annotated[int | None, Plausible(1, 1000)]
    """Columns of what it joins; null: as near its rows as can be."""
    link_byte_per_s: Annotated[float | None, Plausible(1e6, 1e13)]
    """Bandwidth of the link between two neighbours, one way; null when unknown: it never binds. [byte/s]"""
    hop_j_per_byte: Annotated[float, Possible(0, HUGE), Plausible(1e-15, 1e-9)]
    """Energy of a byte from one neighbour to the next. [J/byte]"""
    busy_fraction: Annotated[float, Possible(TINY, 1), Plausible(0.05, 1)]
    """Utilization of the links above which a transfer takes longer (`busy_growth`)."""


class HardwareProvenance(Row):
    """Where one number of one part comes from."""

    TABLE: ClassVar[str] = "hardware_provenance"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "field")

    hardware: str
    """Part the number belongs to."""
    field: str
    """Its place, `table.row_key.column`, e.g. `memory.dram.bandwidth_byte_per_s`, `peak.fp16.matrix.fp32.peak_ops_per_s`."""
    catalog_value: Annotated[float, ANY]
    """Value as the catalog file states it, in SI; differs from the live one after an edit."""
    unit: str
    """Unit of the value."""
    source_id: str
    """Source of the value."""
    confidence: str
    """How far it can be trusted."""
    formula: str | None
    """How a derived value was computed."""
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
    """What it is."""


class DerivationBasis(Row):
    """What a rule multiplies its number by (`part_basis`), or how a number follows from others."""

    TABLE: ClassVar[str] = "derivation_basis"
    KEY: ClassVar[tuple[str, ...]] = ("basis",)

    basis: str
    """Name, e.g. `lane_clock`."""
    formula: str
    """In words, e.g. `lanes x boost clock`."""


class DerivationInput(Row):
    """A number of a part that a basis rests on."""

    TABLE: ClassVar[str] = "derivation_input"
    KEY: ClassVar[tuple[str, ...]] = ("basis", "field")

    basis: str
    """Basis."""
    field: str
    """Place of the number, as in `hardware_value`, as a pattern of LIKE."""


class DerivationRule(Row):
    """How a number that a part does not state follows from those it states: `value` times the part's `basis`. Of several
    that fit, the longest architecture wins, then the row for one level, then the one for a scope."""

    TABLE: ClassVar[str] = "derivation_rule"
    KEY: ClassVar[tuple[str, ...]] = ("derivation_rule",)
    RANGES_BY: ClassVar[tuple[str, ...]] = ("quantity",)

    derivation_rule: str
    """Name of the rule."""
    quantity: str
    """Section and column of the number, e.g. `memory.bandwidth_byte_per_s`."""
    family: str
    """Family of the parts it holds for, or `*`."""
    architecture: str
    """First words of their architecture, or `*`."""
    row_key: str
    """Level, overhead or peak it holds for; `*` for every level on the chip."""
    scope: str
    """Scope of the level, or `*`."""
    basis: str
    """What `value` is multiplied by; joins `derivation_basis`."""
    value: Annotated[
        float,
        Possible(0, HUGE, of="overhead.overhead_s"),
        Plausible(TINY, 1e9, of="overhead.overhead_s"),
        Plausible(1e-3, 1e6),
    ]
    """The rule's own number."""
    unit: str
    """Unit of the value."""
    source_id: str
    """Source of the value."""
    confidence: str
    """How far it can be trusted."""
    reason: str
    """Why."""


class RestatedNumber(Row):
    """What the rules gave for a number when a client stated it anew; written by triggers, and in force before the value
    that the row itself carries (`derived_ops_per_s` and its like)."""

    TABLE: ClassVar[str] = "restated_number"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "field")

    hardware: str
    """Part the number belongs to."""
    field: str
    """Place of the number, as in `hardware_value`."""
    derived_value: float
    """What the rules gave then, in the unit of the field."""


class NumberRule(Row):
    """What the numbers of a column can be and usually are, in rows of one kind and family, as the column's declaration says
    (`charz.schema.ranges`). Answers that rest on a number that cannot be are null; answers that rest on one that is not
    plausible name it. The most specific row wins, the kind before the family."""

    TABLE: ClassVar[str] = "number_rule"
    KEY: ClassVar[tuple[str, ...]] = ("kind", "quantity", "row_kind", "of_family")
    NUMBERS: ClassVar[Possible | None] = ANY

    kind: str
    """Table of the number, without `hardware_`, as fields of `hardware_value` begin; `energy` of `energy_profile`."""
    quantity: str
    """Column of the number."""
    row_kind: str
    """Kind of the rows, e.g. the level of a memory or the backend; `*` for all."""
    of_family: str
    """Family of the parts, or `*` for all."""
    least: float
    """Smallest number that is possible, in SI."""
    most: float
    """Largest number that is possible, in SI."""
    plausible_least: float
    """Smallest number that is plausible, in SI."""
    plausible_most: float
    """Largest number that is plausible, in SI."""
    is_needed: bool
    """True where null is not plausible."""


class HardwareConflict(Row):
    """Sources that disagree about a number, and what was chosen."""

    TABLE: ClassVar[str] = "hardware_conflict"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "field")

    hardware: str
    """Part, or family, it concerns."""
    field: str
    """Number in question."""
    values_by_source: str
    """What each source says."""
    chosen: str
    """What the catalog uses."""
    reason: str
    """Why."""


class CudaLimit(Row):
    """Limits that CUDA sets by compute capability."""

    TABLE: ClassVar[str] = "cuda_limit"
    KEY: ClassVar[tuple[str, ...]] = ("compute_capability",)

    compute_capability: str
    """e.g. `9.0`."""
    threads_per_sm: Annotated[int, Plausible(256, 8192)]
    """Resident threads of a multiprocessor."""
    blocks_per_sm: Annotated[int, Plausible(4, 128)]
    """Resident blocks of a multiprocessor."""
    warps_per_sm: Annotated[int, Plausible(8, 256)]
    """Resident warps of a multiprocessor."""
    registers_per_sm: Annotated[int, Plausible(4096, 1e6)]
    """32-bit registers of a multiprocessor."""
    shared_memory_per_sm_byte: Annotated[float, Plausible(4096, 1e7)]
    """Most shared memory of a multiprocessor. [byte]"""
    shared_memory_per_block_byte: Annotated[float, Plausible(4096, 1e7)]
    """Most shared memory of a block, opt-in included. [byte]"""
    matrix_instruction: str
    """How blocks drive the tensor cores: `mma` (a warp with its own registers), `wgmma` (four warps from shared
    memory) or `tcgen05` (one thread, results in tensor memory, two multiprocessors together); PTX ISA. Joins
    `tiling_strategy`."""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""


class Precision(Row):
    """A number format."""

    TABLE: ClassVar[str] = "precision"
    KEY: ClassVar[tuple[str, ...]] = ("precision",)

    precision: str
    """e.g. `fp16`, `tf32`, `int8`, `bool`."""
    bits: Annotated[float, Possible(1, 1024), Plausible(1, 128)]
    """Bits an element takes in memory, its share of the scales of its block included; tf32 is stored as fp32. [bit]"""
    kind: str
    """`float`, `integer`, `boolean`, `complex` or `packed`: products of floating-point numbers with weights in packed blocks, in
    which a backend may compute otherwise (`backend_support.packed_precision`)."""
    accumulator: str
    """Format in which products are summed."""
    fallback: str | None
    """Format a part computes in when it has no rate for this one; null ends the chain."""
    fallback_operations: Annotated[float, Possible(1, 1024), Plausible(1, 16)]
    """Operations of that format which one of its own takes; of a 64-bit integer product three of halves, and what they carry."""
    integer_stand_in: str | None
    """Format that stands in for it on a part without any floating-point rate: norms, softmax and the like run there in integer
    approximations (I-BERT, Kim et al. 2021); null where it needs none."""
    trains: bool
    """True where autograd computes gradients of such tensors; of the formats below 16 bits PyTorch has only conversions and
    a few products."""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""


class OperatorClass(Row):
    """A class of operators, and what the rules need to know of it. Rows of other tables name classes of this one."""

    TABLE: ClassVar[str] = "operator_class"
    KEY: ClassVar[tuple[str, ...]] = ("operator_class",)

    operator_class: str
    """e.g. `conv`, `elementwise`; `unknown` of an operator without a rule."""
    is_matrix: bool
    """True of matrix products, convolutions and what is made of them: the anchor of a kernel that has one."""
    is_convolution: bool
    """True of convolutions of every kind."""
    is_foldable: bool
    """True where a batch normalization that follows can be folded into the weights."""
    allocates_result: bool
    """True where the call of the library allocates its result itself, also under a backend that plans its memory."""
    is_widening: bool
    """True where ATen promotes operands of several types within the kernel: of these `follow` means the widest."""
    is_normalizing: bool
    """True of normalizations, whose scaled and shifted result a compiler of loops stores rather than works out again."""
    saves_nothing: bool
    """True where the backward needs neither operands nor results of the forward."""
    takes_bias: bool
    """True where the operands are the first two reads and a third is the bias, whose gradient is a sum."""
    saves_other: bool
    """True of products of which the gradient of one operand needs the other alone."""
    is_single_algorithm: bool
    """True where all operators of the class share one algorithm: no efficiencies by ATen operator."""
    varies_by_format: bool
    """True where each memory format has another algorithm, under every backend."""
    varies_by_strides: bool
    """True where a backend without code of its own for each graph runs another kernel for each memory format."""
    is_inserted: bool
    """True where charz itself inserts kernels of the class: conversions, copies into another layout, added biases."""
    is_reducing: bool
    """True of what is no matrix product and sums or compares many elements into each result: it can be split within them."""


class PolicyVersion(Row):
    """Which policy a version of the framework follows where it follows another than the newest does."""

    TABLE: ClassVar[str] = "policy_version"
    KEY: ClassVar[tuple[str, ...]] = ("policy", "software")

    policy: str
    """Policy that is asked for."""
    software: str
    """Version of the framework as measurements name it, `pt240` for PyTorch 2.4.0."""
    followed_policy: str
    """Policy that it follows, `precision_policy.policy`."""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""


class PrecisionPolicy(Row):
    """What a policy does to the operators of one class.

    The row of a module's class wins over that of an ATen operator, that over the row of its class, and the row whose `operator_class` is
    `*` holds for all without one of their own. A `*` that says `drop` also converts inputs, as
    `model.half()` with its inputs does; one that says `follow` leaves them, as autocast does.
    """

    TABLE: ClassVar[str] = "precision_policy"
    KEY: ClassVar[tuple[str, ...]] = ("policy", "operator_class")

    policy: str
    """`fp32`, `tf32`, `fp16`, `bf16`, `amp-fp16`, `amp-bf16`, `int8`, `w8a16`, `w4a16`, `fp8`, `sparse-fp16` (2:4 weights), ...; behind an `@` the last
    version of the framework that follows it, `amp-fp16@2.4`."""
    operator_class: str
    """Class it holds for, class within a module's class such as `norm:GroupNormAct`, ATen operator such as
    `aten.sum`, or `*`; behind `attention|` for what an attention's math path runs, behind `module:PATTERN|` for modules of
    such paths alone."""
    rule: str
    """`drop` (convert operands to `compute_precision`), `keep` (convert them to fp32 where narrower),
    `widen` (read them as they are, compute and write fp32), `promote` (convert them to the widest), `follow`
    (read them as they are; the widest decides in elementwise operators and concatenation, else the first), `absent` (the
    framework's version that the policy stands for does not run it: its result is its operand)."""
    compute_precision: str | None
    """Format of the arithmetic for `drop`; with `follow`, how the unit computes on operands stored as
    they are (tf32)."""
    weight_precision: str | None
    """Format in which weights are stored, read without a conversion; null leaves them as they are.
    Vectors (biases, scales) take that of `*`."""
    activation_precision: str | None
    """Format in which results are written; null follows the rule."""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""


class Backend(Row):
    """A way to execute a graph."""

    TABLE: ClassVar[str] = "backend"
    KEY: ClassVar[tuple[str, ...]] = ("backend",)
    RANGES_BY: ClassVar[tuple[str, ...]] = ("backend",)

    backend: str
    """`eager`, `inductor`, `tensorrt`, `onnxruntime`, `openvino`, `xla`, `kpu`, or one of them `_unfused` or `_graph`."""
    name: str
    """Name in full."""
    unfused_backend: str | None
    """Backend that runs the same graph one kernel an operator, held against which it shows what fusion saves; null: none.
    Without rows of its own in `backend_support`, that one runs where this one does, with its dispatch, efficiencies and
    bands."""
    captures: str | None
    """Backend whose kernels it runs, captured into a graph that the host launches as a whole (CUDA graphs) or on parts of other
    families (groups of layers that stay on the chip): that one's fusion rules hold, and nothing waits for the host between
    kernels. Null: none."""
    folds_norm: bool
    """True when weights are constants to it: batch normalization is folded into those before it, and
    what depends on weights alone is computed once."""
    casts_are_kernels: bool
    """True when each conversion of an activation is a kernel of its own."""
    weight_casts_are_kernels: bool
    """True when weights are converted at every run."""
    follows_strides: bool
    """True when operators run one by one on tensors as these lie in memory, converting where a kernel needs
    another layout."""
    plans_layout: bool
    """True when it chooses the memory format of images itself (`model.planned_format`)."""
    stores_wide: bool
    """True when it stores what a reused activation is worked out of, in single precision, in the place of its result
    (`kernel_tensor.is_wide`)."""
    plans_memory: bool
    """True when a result takes over the memory of an operand or of an earlier result that nobody reads again
    (`tensor_lifetime.block_tensor_id`)."""
    calls_aten: bool
    """True when convolutions are calls of PyTorch's ATen, and memory on a processor comes from the C library's
    `malloc`."""
    adds_bias_kernels: bool
    """True when on some parts (`backend_support.bias_is_kernel`) it adds the bias of a convolution by a kernel of its
    own."""
    workspace_fraction: Annotated[float, Possible(0, 10), Plausible(0, 2)]
    """Scratch memory as a share of peak activations."""
    trains: bool
    """True where it runs a backward pass; what is built to serve a trained model does not."""
    serves: bool
    """True of a server of language models: it runs models with a key-value cache alone, makes logits of the last token of a
    prompt, and takes a prompt in chunks."""
    chunk_tokens: Annotated[float | None, Plausible(64, 1e6)]
    """Most tokens of all prompts that a server takes in one step; null of what is none."""
    reserve_fraction: Annotated[float, Possible(0, 0.9), Plausible(0, 0.5)]
    """Share of a part's main memory that a server leaves free."""
    activation_bits: Annotated[int | None, Plausible(4, 64)]
    """Bits in which it keeps activations between kernels at least; null where as the policy says."""
    vector_rows: Annotated[int | None, Plausible(1, 1024)]
    """Rows of a product up to which it multiplies them by kernels of its own on the vector units; null where it has none."""
    causal_block: Annotated[int | None, Plausible(1, 1024)]
    """Queries that its attention takes together, skipping the keys that a causal mask hides from all of them; null where it
    computes every score. FlashAttention-2 takes 128 (arXiv:2307.08691, `flash_fwd_launch_template.h`)."""
    drops_chunks: bool
    """True where it keeps keys and values of the current chunk alone of layers whose queries attend to their own chunk of the
    context (Llama 4); false where it keeps those of the whole context."""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""


class BackendSupport(Row):
    """Which backend runs on which family, and what its dispatch costs there. One without rows that is the
    `backend.unfused_backend` of another has those of the other."""

    TABLE: ClassVar[str] = "backend_support"
    KEY: ClassVar[tuple[str, ...]] = ("backend", "family", "vendor")
    # A row whose `dispatch` is `graph` is of that kind, whatever its backend.
    RANGES_BY: ClassVar[tuple[str, ...]] = ("backend",)

    backend: str
    """Backend."""
    family: str
    """Hardware family."""
    vendor: str
    """Maker of the part, or `*` for every one."""
    is_default: bool
    """True of the backend that answers assume on the family and vendor of this row, and of the server that those about
    serving language models assume; on a part of which no row is, they assume the first by name."""
    default_precision: str
    """Policy that it follows where a user of the framework asks for single precision and says no more."""
    dispatch: str
    """`async_queue` (host runs ahead of the device), `serial` (they add) or `graph` (one launch)."""
    host_kernel_s: Annotated[
        float,
        Possible(0, HUGE),
        Plausible(1e-7, 1e-3),
        # The host issues the whole graph at once.
        Plausible(0, 1e-3, of="graph"),
    ]
    """Host time to issue one kernel. [s]"""
    host_view_s: Annotated[float, Possible(0, HUGE), Plausible(0, 1e-3)]
    """Host time of a view, 0 where views are compiled away. [s]"""
    run_s: Annotated[float, Possible(0, HUGE), Plausible(1e-7, 0.1)]
    """Host time of one whole run, paid once. [s]"""
    kernel_gap_fraction: Annotated[float, Possible(0, HUGE), Plausible(0.05, 20)]
    """Share of the part's own gap between kernels that remains under this backend."""
    bias_is_kernel: bool
    """True where the bias of a convolution is added by a kernel of its own; only of a backend that
    `adds_bias_kernels`."""
    sums_in_half: bool
    """True where vector units sum products of half precision in half precision, at the rate they have for it."""
    chunk_element: Annotated[
        float | None,
        Plausible(16, 1e6),
        Plausible(16, 1e6, of="eager", family="cpu", is_needed=True),
        Plausible(16, 1e6, of="inductor", family="cpu", is_needed=True),
    ]
    """Elements of a loop of its own that each thread must get, or not all of them run it. Null where that is not known or
    does not arise."""
    shares_by_chunk: bool
    """True where a loop goes to as many threads as it has `chunk_element` for; false where to all or to one."""
    efficiency_backend: str | None
    """Backend whose efficiencies hold, as assumed, where this one has none of its own; null: none."""
    calls_library: bool
    """True where a server that keeps activations in single precision calls a library for products of many rows, for which it
    writes operands out in 16 bits (`library_call`), and lets it sum halves in half precision."""
    converts: bool
    """True where it runs policies whose format the part does not compute in, in the wider one that stands for it
    (`precision.fallback`)."""
    packed_precision: str | None
    """Format in which it multiplies weights in packed blocks (`precision.kind`): it turns activations into that format first.
    Null where it unpacks the weights and computes as the policy says."""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""


class DeviceContext(Row):
    """What a process of a framework takes of a part's memory besides its tensors: the driver's context, the stacks of all threads
    that the part can hold, and the code of kernels. Of a part and backend the row that names the backend holds, then the one that
    names the maker; where there is none, nothing is taken."""

    TABLE: ClassVar[str] = "device_context"
    KEY: ClassVar[tuple[str, ...]] = ("backend", "family", "vendor")

    backend: str
    """Backend, or `*` for every one."""
    family: str
    """Hardware family."""
    vendor: str
    """Maker of the part, or `*` for every one."""
    context_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 4e9)]
    """Memory that every part of the kind gives: the driver's own and the code of kernels. [byte]"""
    thread_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 65536)]
    """Stack of each thread that the part can hold at once. [byte]"""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""


class DefaultBackend(Row):
    """What people run on parts of a kind in a number format, where that is another backend than `backend_support.is_default` says for
    the rest: answers assume it where none is named (`assumed_backend`). The row with the fewest `*` holds."""

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
    """How far it can be trusted."""


class EngineVersion(Row):
    """What a version of a backend takes of the host in each step, whatever the part. A version is a condition of a run, as
    its precision is; at most three of its numbers are fitted."""

    TABLE: ClassVar[str] = "engine_version"
    KEY: ClassVar[tuple[str, ...]] = ("backend", "engine_version")

    backend: str
    """Backend."""
    engine_version: str
    """Version as its maker writes it, or year and month of what was measured."""
    is_assumed: bool
    """True of the version that answers assume of the backend."""
    step_s: Annotated[float, Possible(0, HUGE), Plausible(0, 0.1)]
    """Host time of a step that the device waits for: scheduling, inputs, the launch of a graph, sampling. [s]"""
    sample_s: Annotated[float, Possible(0, HUGE), Plausible(0, 0.01)]
    """Host time of each sample of it besides. [s]"""
    kernel_s: Annotated[float, Possible(0, HUGE), Plausible(0, 1e-3)]
    """Time of each kernel that a step launches besides the part's gap: where no graph is captured, one by one. [s]"""
    kernel_sample_s: Annotated[float, Possible(0, HUGE), Plausible(0, 1e-4)]
    """Time of each kernel for each sample of a step besides. [s]"""
    prompt_kernel_s: Annotated[float, Possible(0, HUGE), Plausible(0, 1e-3)]
    """Time of each kernel of a prompt besides: graphs are captured of steps of one token alone. [s]"""
    linear_vector_rows: Annotated[int | None, Plausible(1, 1024)]
    """Rows of a linear layer's product up to which it runs at the pace of the vector units, whatever the matrix units would reach;
    null where they are used."""
    paged_heads: Annotated[float | None, Plausible(1, 1e6)]
    """Heads of queries of all samples of a step, above which each reads the keys and values that it shares with others for
    itself; null where they are read once."""
    paged_ratio: Annotated[float | None, Plausible(1, 20)]
    """Time of those reads over that of as many bytes read in order; null where there are none."""
    convert_ops: Annotated[float | None, Possible(0, HUGE), Plausible(1, 1000)]
    """Operations in which a lane of a part that does not compute in the cache's format turns an element of the cache into one of
    the arithmetic's, for each head of queries; null where it is not known to take any."""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""
    note: str | None
    """What it was fitted on."""


class FusionRule(Row):
    """A producer that a backend runs in one kernel with its consumer.

    Several rows of a pair must all hold. A row that names an ATen operator wins over its class.
    """

    TABLE: ClassVar[str] = "fusion_rule"
    KEY: ClassVar[tuple[str, ...]] = ("backend", "producer_class", "consumer_class", "condition")

    backend: str
    """Backend it holds for."""
    producer_class: str
    """Class of the operator that writes the tensor, or an ATen operator such as `aten.add`."""
    consumer_class: str
    """Class of the operator that reads it, or an ATen operator."""
    condition: str
    """`always`, `single_consumer` (nobody else reads it), `same_elements` (the consumer writes as many
    elements as the producer, or as a reduction reads), `chained` (the producer itself runs in the
    kernel of one of its operands), `innermost` (the consumer does not reduce images over pixels where these are
    planned channels-last) or `inlined` (the producer is not an activation whose argument is stored in its place)."""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""


class Efficiency(Row):
    """Share of a peak that well-written kernels reach, as a saturation curve in the kernel's size.

    `fraction = maximum_fraction * w / (w + half_work)`, w the work on each occupied unit. The most
    specific row wins: a part's own before a sibling's (`lending_part`), its architecture's and its family's.
    """

    TABLE: ClassVar[str] = "efficiency"
    KEY: ClassVar[tuple[str, ...]] = (
        "scope", "backend", "kernel_class", "operator_name", "precision_class", "memory_format", "resource",
    )  # fmt: skip
    RANGES_BY: ClassVar[tuple[str, ...]] = ("resource", "backend")

    efficiency_id: Annotated[int, Possible(1, HUGE)]
    """Number of the row, by which an answer names the rows it rests on; never used again for another. Rows fitted into
    a database start at a million."""
    scope: str
    """`hardware:NAME`, `architecture:NAME`, `family:NAME` or `*`."""
    backend: str
    """Backend, or `*`."""
    kernel_class: str
    """Class of the kernel's anchor, or `*`."""
    operator_name: str
    """ATen operator of the anchor (`aten.gelu`), of that class; `*` for all."""
    precision_class: str
    """Operand precision, or `*`."""
    memory_format: str
    """How the anchor's tensors lie in memory (`kernel_cost.layout`), or `*`."""
    resource: str
    """`matrix`, `vector` (shares of peak arithmetic), `memory` (share of peak bandwidth), `overlap` (share of the
    shorter of arithmetic and memory hidden behind the longer), `residency` (share of a last-level cache
    that holds what passes from kernel to kernel; all of it where software decides what lies there), `reorder` (share of peak
    bandwidth at which a library puts weights and images in its own order, or a bias in the result, at every call; no row: they
    are used as they lie), `paging`
    (share of peak bandwidth at which the system hands out fresh pages; no row: memory is kept from run to run) or
    `thread` (share of the bandwidth that one unit alone draws, `hardware_memory.unit_bandwidth_byte_per_s`, which a loop
    of one thread reaches; no row: nothing is known of threads)."""
    maximum_fraction: Annotated[float, Possible(TINY, 1), Plausible(0.005, 1)]
    """Share of the peak reached by a large kernel, above 0 and at most 1. Of `matrix` it is the share of the pace of the
    tiles (`tiling_strategy`)."""
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
    """Work a unit at which half of that is reached: ops for arithmetic, bytes for memory. Of `thread`: the time in which
    the backend's team of threads begins and ends, as a multiple of the part's (`hardware_overhead`, `team`)."""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""
    note: str | None
    """What it was fitted on, or why it was assumed."""


class PredictionBand(Row):
    """How far measurements lie from predictions: quantiles of measured over predicted, of rows the fit
    did not see. The most specific row wins: a part's own before its family's."""

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
    """Tenth percentile of measured over predicted."""
    high_factor: Annotated[float, Plausible(0.1, 100)]
    """Ninetieth percentile of measured over predicted."""
    row_count: Size
    """Measurements it rests on; 0 for an assumed one."""
    part_count: Size
    """Parts that they are of."""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""


class LibraryConstant(Row):
    """A number that a library, an allocator or a compiler was built with, or that an owner of a part is taken to keep to."""

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
    """Its value, in `unit`."""
    unit: str
    """`byte`, `element`, `channel`, `thread`, `clock` or `h`."""
    decides: str
    """What rests on it: `memory` (what a run holds), `processor` (kernels of a backend that calls ATen, on a processor),
    `unit` (how work is spread over a part's units) or `price` (what an hour of a part that nobody lets costs)."""
    source_id: str
    """Source of the value."""
    confidence: str
    """How far it can be trusted."""
    note: str | None
    """What it decides."""


class ArchitecturalModifier(Row):
    """Relative energy-delay weight of an operator class on an architecture, by which the operators
    of a fused kernel share its cost."""

    TABLE: ClassVar[str] = "architectural_modifier"
    KEY: ClassVar[tuple[str, ...]] = ("operator_class", "architecture_class", "is_fused")

    operator_class: str
    """Class of the operator, or `*`."""
    architecture_class: str
    """`sequential`, `data_parallel`, `systolic` or `domain_flow` (`hardware_family`)."""
    is_fused: bool
    """True inside a fused kernel."""
    modifier: Annotated[float, Plausible(0.01, 100)]
    """Weight, 1 for a matrix operator."""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""


class EnergyFact(Row):
    """A published energy figure with the scope it was stated at."""

    TABLE: ClassVar[str] = "energy_fact"
    KEY: ClassVar[tuple[str, ...]] = ("energy_fact_id",)

    energy_fact_id: str
    """Key."""
    scope: str
    """`circuit`, `array`, `device`, `path`, `board` or `model`."""
    what: str
    """Operation or memory level."""
    subject: str
    """Hardware or class it was stated for."""
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
    """How far it can be trusted."""
    note: str | None
    """Anything a reader must know."""


class EnergyProfile(Row):
    """Energy coefficients that a part states, lifted to one scope, so that they may be added; all others follow from rules
    (`part_energy`).

    Arithmetic: `what` is `op` and `key` is `PRECISION.UNIT`. Memory: `what` is `byte` and `key` the
    level. Static: `what` is `static` and `key` is `chip`; its value is a power.
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
    """Joule an operation or a byte; watt for `static`. [J]"""
    scope: str
    """Scope every row of the part is lifted to: `board` or `chip`."""
    source_id: str
    """Source of the value."""
    confidence: str
    """How far it can be trusted."""
    formula: str
    """How it was composed from which facts."""


class SiliconRule(Row):
    """What silicon is made of and what it costs: area, leakage and energy by process, format, level and technology, and how a
    voltage follows a clock. Areas, leakage and energies of a part follow from these rows, of every family alike. Of the rows
    of a quantity that fit, the longest architecture wins, then the one of a family."""

    TABLE: ClassVar[str] = "silicon_rule"
    KEY: ClassVar[tuple[str, ...]] = ("silicon_rule",)
    RANGES_BY: ClassVar[tuple[str, ...]] = ("quantity",)

    silicon_rule: str
    """Name of the rule."""
    quantity: str
    """What it says, e.g. `mac_um2`, `leakage_w_per_mm2` or `lift`; joins `part_area`, `part_energy` and `part_silicon`."""
    family: str
    """Family of the parts it holds for, or `*`."""
    architecture: str
    """First words of their architecture, or `*`."""
    row_key: str
    """Precision, unit, cluster, level, technology, kind of area or process it holds for, or `*`."""
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
    """The rule's own number."""
    unit: str
    """Unit of the value."""
    source_id: str
    """Source of the value."""
    confidence: str
    """How far it can be trusted."""
    reason: str
    """Why."""


class TilingStrategy(Row):
    """A candidate tile of a strategy; the fastest candidate of a kernel wins.

    A size of 0 means `fitted`: the view computes the largest tile that the capacity rule allows.
    """

    TABLE: ClassVar[str] = "tiling_strategy"
    KEY: ClassVar[tuple[str, ...]] = ("family", "candidate")
    RANGES_BY: ClassVar[tuple[str, ...]] = ("strategy",)

    strategy: str
    """Name, e.g. `gpu_shared_memory`, `cpu_l2_square`, `weight_stationary`, `domain_flow`."""
    candidate: Ordinal
    """Key within the family; those of arrays differ from all families' own."""
    family: str
    """Hardware family it applies to; `*` of arrays, on every part with that dataflow (`part_strategy`)."""
    matrix_instruction: str | None
    """`cuda_limit.matrix_instruction` of the parts it applies to; null for all of the family."""
    level: str
    """Memory level whose capacity bounds the tile; `array` of arrays, whose parts have it on one level or another."""
    dataflow: str
    """`output_stationary` (tiles in waves over the units; of arrays: results stay in the array), `direct` (no tiles, on vector units, for products no
    wider than `tile_n`), `query_block` (PyTorch's fused attention on processors: blocks of `tile_m` queries),
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
    """Depth of one stage."""
    from_m: Annotated[int | None, Possible(0, 1e9), Plausible(0, 1e5)]
    """Queries from which on a `query_block` is chosen; null for other dataflows."""
    below_m: Annotated[int | None, Possible(0, 1e9), Plausible(0, 1e5)]
    """Queries from which on it is no longer chosen; null without a limit."""
    divisor: Annotated[float, Plausible(0.1, 64)]
    """A fitted size is divided by it: smaller blocks for products too small to fill the part, below 1 larger ones for parts with
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
    """Steps of the reduction spent filling and draining the pipeline of one tile; of `query_block` the rows in whose
    time a block brings its keys and values into the product's order."""
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
    """Clocks that filling and draining takes at most, however slow the unit."""
    exposed_fill: Annotated[float | None, Possible(0, HUGE), Plausible(0.05, 100)]
    """Time of filling and draining that other tiles of the kernel on the same unit leave uncovered from the second wave
    on, at most, as a multiple of the tile's steady time; null where a unit holds one tile at a time and nothing is
    covered."""
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
    """Share of a last, partial wave that is not hidden by other tiles on the same unit: 1 is `ceil(waves)`."""
    efficiency_fraction: Share
    """Share of the matrix peak this tile can sustain once filled, on a unit too fast to be fed."""
    fed_macs: Annotated[float | None, Plausible(1, 1000)]
    """Multiply-accumulates for every element the memory next to the unit can bring, from which on a unit pays all of
    `1 / efficiency_fraction - 1`; a slower one pays in proportion. Null where every unit pays. [MAC/element]"""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""


class Collective(Row):
    """What a collective call makes of a kind of link, in a ring: the time of V bytes on n devices is
    `latency_s * (call_fraction + step_fraction * steps) + share * V / (bandwidth_fraction * bandwidth_byte_per_s)`,
    n - 1 steps and a share of (n - 1) / n, twice that for an all-reduce."""

    TABLE: ClassVar[str] = "collective"
    KEY: ClassVar[tuple[str, ...]] = ("interconnect",)

    interconnect: str
    """`hardware_interconnect.interconnect`, or `*` for those without a row of their own."""
    call_fraction: Annotated[float, Possible(0, HUGE), Plausible(0.01, 100)]
    """Time in which a call begins and ends, as a share of the link's latency."""
    step_fraction: Annotated[float, Possible(0, HUGE), Plausible(0.001, 100)]
    """Time of each step of the ring, as a share of the link's latency."""
    bandwidth_fraction: Annotated[float, Possible(TINY, 1), Plausible(0.05, 1)]
    """Share of the link's bandwidth that messages reach."""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""


class Network(Row):
    """The network between nodes, of one of the part's ports."""

    TABLE: ClassVar[str] = "network"
    KEY: ClassVar[tuple[str, ...]] = ("of_part",)

    of_part: str
    """Part whose nodes it joins, or `*` for those without a row of their own."""
    network: str
    """e.g. `infiniband_hdr`."""
    network_byte_per_s: Annotated[float, Plausible(1e8, 1e12)]
    """Bandwidth in one direction for each part of a node. [byte/s]"""
    network_s: Annotated[float, Possible(0, HUGE), Plausible(1e-7, 1e-3)]
    """Time of an empty message. [s]"""
    node_device_count: Annotated[int, Plausible(1, 1e3)]
    """Parts of a node."""
    network_fraction: Annotated[float, Possible(TINY, 1), Plausible(0.05, 1)]
    """Share of that bandwidth that collectives reach."""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""


class Optimizer(Row):
    """What an optimizer keeps and moves of each weight that it trains."""

    TABLE: ClassVar[str] = "optimizer"
    KEY: ClassVar[tuple[str, ...]] = ("optimizer",)

    optimizer: str
    """e.g. `adam`."""
    gradient_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 16)]
    """Gradient that is kept of a weight. [byte]"""
    master_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 16)]
    """Copy of a weight in single precision; 0 where the weights are. [byte]"""
    state_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 16)]
    """Moments of a weight. [byte]"""
    moved_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 100)]
    """What its step reads and writes of all that for a weight. [byte]"""
    bandwidth_fraction: Annotated[float, Possible(TINY, 1), Plausible(0.1, 1)]
    """Share of the bandwidth of main memory that its step reaches."""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""


class Framework(Row):
    """How a framework trains: at most three factors of it are fitted, `kernel_factor`, `overlap_fraction` and one of
    `attention_factor` and `tensor_fraction`."""

    TABLE: ClassVar[str] = "framework"
    KEY: ClassVar[tuple[str, ...]] = ("framework",)

    framework: str
    """e.g. `megatron`; `plain` is none, an ideal: kernels as fast as those of the backend."""
    backend: str
    """Backend over whose time its factors are; `*` of one that has none."""
    is_default: bool
    """True of what trains on its backend, `*` on any that has no other, where no framework is named."""
    kernel_factor: Annotated[float, Possible(TINY, HUGE), Plausible(0.2, 5)]
    """Time of its kernels over that of charz's backend."""
    attention_factor: Annotated[float | None, Possible(TINY, HUGE), Plausible(0.2, 5)]
    """The same of its kernels of attention; null where that is `kernel_factor`."""
    warpgroup_attention_factor: Annotated[float | None, Possible(TINY, HUGE), Plausible(0.2, 5)]
    """`attention_factor` on parts whose tensor cores are driven by groups of warps (`part.matrix_instruction`), which kernels of
    earlier parts do not use; null where that is `kernel_factor`."""
    overlap_fraction: Annotated[float, Possible(0, 1), Plausible(0, 1)]
    """Share of the computing time behind which gradients and weights travel."""
    tensor_fraction: Annotated[float, Possible(0, 1), Plausible(0, 1)]
    """Share of what tensor parallel sends that no computing hides."""
    reduce_byte: Annotated[float, Possible(0, HUGE), Plausible(0, 8)]
    """Gradient that travels for a weight. [byte]"""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""


class DeviceSplit(Row):
    """A way to split training or serving over devices: tensor x context x data x pipeline of them, ranks in that order."""

    TABLE: ClassVar[str] = "device_split"
    KEY: ClassVar[tuple[str, ...]] = ("split",)

    split: str
    """Name."""
    framework: str | None
    """Framework that trains, `framework.framework`; a split that names none takes the backend's default."""
    optimizer: str
    """Optimizer, `optimizer.optimizer`."""
    tensor: int
    """Devices that share each product (Shoeybi et al. 2019)."""
    pipeline: int
    """Devices that have consecutive layers each (Narayanan et al. 2021)."""
    interleave: int
    """Groups of layers that each of those has."""
    context: int
    """Devices that share the tokens of a sample."""
    data: int
    """Replicas that take samples of their own."""
    expert: int
    """Devices of those of `context` and `data` among which experts are spread."""
    micro_batches: int
    """Micro batches of a replica in a step."""
    zero_stage: Annotated[int, Possible(0, 3)]
    """What replicas spread among them (Rajbhandari et al. 2019): 0 nothing, 1 the optimizer's states, 2 gradients too, 3 weights too,
    as fully sharded data parallel does."""
    recompute: str
    """What the backward pass makes again: `none`, `selective` (the core of attention) or `full` (each layer from its input)."""
    is_sequence_parallel: bool
    """True where what tensor parallel leaves whole is split along the tokens."""
    block_count: int | None
    """Layers in place of those that the model has."""
    adapter_rank: int | None
    """Rank of the adapters that are trained in place of the weights; null where the weights are."""
    frozen_precision: str | None
    """Format in which weights that are not trained are kept; null for their own."""


class Die(Row):
    """What is known in print of the silicon of a part: the check of `part_area`, which no prediction rests on."""

    TABLE: ClassVar[str] = "die"
    KEY: ClassVar[tuple[str, ...]] = ("hardware",)

    hardware: str
    """Part."""
    die: str
    """Name of the die, or of what the package holds: parts of one die share its row's numbers."""
    die_area_mm2: Annotated[float | None, Plausible(1, 1e5)]
    """Area of all dice of the package; null where nobody states it. [mm2]"""
    other_mm2: Annotated[float, Possible(0, HUGE), Plausible(0, 1e4)]
    """Part of it that is not the part's: graphics beside a processor, a die of another process. [mm2]"""
    transistor_count: Annotated[float | None, Plausible(1e8, 1e13)]
    """Transistors of all dice; null where nobody states them."""
    unit_count: Annotated[float | None, Plausible(1, 1e6)]
    """Compute units that the dice have, of which the part may enable fewer; null where nobody states them."""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""
    note: str | None
    """Anything a reader must know."""


class RestPower(Row):
    """What a part is stated or measured to draw at rest: the check of `part_leakage`, which no prediction rests on."""

    TABLE: ClassVar[str] = "rest_power"
    KEY: ClassVar[tuple[str, ...]] = ("hardware", "state")

    hardware: str
    """Part."""
    state: str
    """`rest` with clocks at their floor, `waiting` with clocks at work, `clocks` for what of that the clocks add."""
    stated_w: Annotated[float, Plausible(0.01, 1e4)]
    """Power in that state. [W]"""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""
    note: str | None
    """Anything a reader must know."""


class PowerRange(Row):
    """The lowest limit that a board can be set to: a limit below it is refused."""

    TABLE: ClassVar[str] = "power_range"
    KEY: ClassVar[tuple[str, ...]] = ("hardware",)

    hardware: str
    """Part."""
    least_w: Annotated[float, Plausible(0.5, 2000)]
    """Lowest limit of power. [W]"""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""


class UsualHost(Row):
    """The host that usually issues a part's kernels, where it is not one like the reference: a module's own cores. What issuing takes
    on a backend's row (`backend_support`) is that of the reference; a scenario's `host_factor` is against the usual host."""

    TABLE: ClassVar[str] = "usual_host"
    KEY: ClassVar[tuple[str, ...]] = ("hardware",)

    hardware: str
    """Part."""
    name: str
    """Cores that issue, and their clock."""
    dispatch_ratio: Annotated[float, Plausible(0.2, 20)]
    """Time that issuing a kernel takes there against the reference host."""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""


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
"""A number of a rule of costs."""


class CostRule(Row):
    """What it costs to make a part: wafers and their defects by process, package and memory by technology, board. Joins
    `part_cost`; no time and no energy rests on it."""

    TABLE: ClassVar[str] = "cost_rule"
    KEY: ClassVar[tuple[str, ...]] = ("cost_rule",)
    RANGES_BY: ClassVar[tuple[str, ...]] = ("quantity",)

    cost_rule: str
    """Name of the rule."""
    quantity: str
    """What it says, e.g. `wafer_usd`, `defect_per_cm2` or `memory_usd_per_gbyte`."""
    row_key: str
    """Process in nm, or technology of the main memory, it holds for; `*` for all others."""
    value: CostNumber
    """The rule's own number."""
    cheap_value: CostNumber
    """The number where it makes parts cheapest: the low end of the band of `part_cost`."""
    dear_value: CostNumber
    """The number where it makes parts dearest: the high end of the band."""
    unit: str
    """Unit of the three."""
    source_id: str
    """Source of the value; the ends are assumed where the reason names no other."""
    confidence: str
    """How far it can be trusted."""
    reason: str
    """Why."""


class Price(Row):
    """Rental price of a part."""

    TABLE: ClassVar[str] = "price"
    KEY: ClassVar[tuple[str, ...]] = ("hardware",)

    hardware: str
    """Part."""
    price_usd_per_hour: Annotated[float, Plausible(0.001, 1000)]
    """Price of one part for an hour. [USD/h]"""
    dated: str
    """Month the price held, `YYYY-MM`."""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""


class ListPrice(Row):
    """What the maker of a part, or of the board with it, asks for one. A part that nobody lets costs an hour what this comes to over the
    hours that an owner uses it (`library_constant`, `owned_h`)."""

    TABLE: ClassVar[str] = "list_price"
    KEY: ClassVar[tuple[str, ...]] = ("hardware",)

    hardware: str
    """Part."""
    sold_as: str
    """What is sold at the price: `card`, `module`, `developer kit`, `processor` or `computer`."""
    list_price_usd: Annotated[float, Plausible(1, 1e6)]
    """Price of one, before taxes. [USD]"""
    dated: str
    """Month the price held, `YYYY-MM`."""
    source_id: str
    """Source of the row."""
    confidence: str
    """How far it can be trusted."""
