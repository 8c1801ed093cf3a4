"""A part as a backend uses it: units, peaks, memory levels, energies, tiles and efficiencies."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from functools import cached_property

from .facts import Facts, Record
from .network import Kernel

RESOURCES = ("matrix", "vector", "memory", "overlap", "residency", "reorder", "paging", "thread", "flight")


@dataclass(frozen=True, slots=True)
class Rate:
    """A kind of unit computing in an element type."""

    unit: str
    precision: str
    """Element type of the computation."""
    peak: float
    units: float
    rows: float
    columns: float
    joule: float | None
    """Energy of an operation. [J]"""
    accumulator_rows: float
    """Partial results that each column of an array keeps; 0 without accumulators."""


class Chip:
    """One part under one backend."""

    def __init__(self, facts: Facts, hardware: str, backend: Record) -> None:
        self.facts, self.name, self.backend = facts, hardware, backend
        self.row = facts.one("hardware", hardware=hardware)
        self.family, self.vendor = self.row["family"], self.row["vendor"]
        self.clusters = facts.where("hardware_cluster", hardware=hardware)
        self.units = float(sum(c["unit_count"] for c in self.clusters))
        self.lanes = max(c["lanes"] or 0.0 for c in self.clusters)
        # Fitted per-unit numbers and libraries' rules use the part as its file states it.
        stated = next(iter(facts.where("shipped_part", hardware=hardware)), {})
        self.stated_units = stated.get("unit_count") or self.units
        modes = [m for m in facts.where("hardware_power", hardware=hardware) if m["is_default"]]
        self.tdp_w = modes[0]["tdp_w"] if modes else None
        self.clock_fraction = modes[0]["clock_fraction"] if modes else 1.0
        boosts = [c["clock_boost_hz"] for c in self.clusters if c["clock_boost_hz"] is not None]
        self.clock_hz = max(boosts) * self.clock_fraction if boosts else None
        overheads = {o["overhead"]: o["overhead_s"] for o in facts.where("part_overhead", hardware=hardware)}
        self.gap_s, self.latency_s, self.norm_block_s, self.team_s = (
            overheads.get(o, 0.0) for o in ("kernel_gap", "memory_latency", "norm_block", "team")
        )
        limits = facts.where("cuda_limit", compute_capability=self.row["compute_capability"])
        self.instruction = limits[0]["matrix_instruction"] if limits else "mma"
        self.reads_channels_last = self.instruction in ("wgmma", "tcgen05")
        # A row of a layer norm, a channel of a sample of a batch norm, and an element if every thread has one load in flight.
        self.norm_row_s = self.channel_row_s = self.element_s = 0.0
        if limits:
            threads = limits[0]["threads_per_sm"]
            self.norm_row_s = self.norm_block_s / (self.units * (threads // facts.constant("norm_block_threads")))
            self.channel_row_s = self.norm_block_s / (self.units * (threads // facts.constant("channel_block_threads")))
            self.element_s = self.latency_s / (self.units * threads)
        self.levels = {m["level"]: m for m in facts.where("part_memory", hardware=hardware)}
        # Processors and domain-flow parts tile for a unit's own second level, fed from there through the first; others
        # for the memory next to their units.
        kind = facts.one("hardware_family", family=self.family)
        self.is_staged = bool(kind["is_staged"])
        nearest = (("l2", "unit") if kind["tiles_second_level"] else ("scratchpad", None), ("l1", None))
        near = next((level for level, scope in nearest if self.has(level, scope)), None)
        self.stream = "l1" if near in ("l2", "scratchpad") and self.has("l1", None) else None
        known = [
            m for m in self.levels.values() if m["level"] not in ("dram", "register") and m["capacity_byte"] is not None
        ]
        last = max(known, key=lambda m: m["depth"])["level"] if known else None
        self.near, self.last = near, last
        shared = self.levels.get("scratchpad", {"scope": "unit"})["scope"] != "unit"
        pool = near == "scratchpad" and shared
        self.has_own_memory = near is not None and not pool and not self.is_staged
        # Units fetch tiles from another memory into their own; fits of GPUs and processors include this.
        self.fetches = self.has_own_memory and self.family not in ("cpu", "gpu") and last not in (None, near)
        placed = last is not None and (shared or self.levels[last]["management"] == "software")
        rates = [self.whole(name, "bandwidth_byte_per_s") for name in (last, "dram") if name]
        is_fast = None in rates or rates[0] >= rates[-1]
        self.takes_groups = placed and is_fast
        # Software places data in this last level: data that fit stay, and the model's weights too if programs keep
        # them.
        self.is_placed = last is not None and self.levels[last]["management"] == "software" and is_fast
        said = self.levels[last]["keeps_weights"] if last else None
        of_host = self.levels["dram"]["technology"] == "host"
        self.keeps_weights = self.is_placed and (kind["keeps_weights"] or of_host if said is None else said)
        self.near_byte = (
            (self.whole(near, "capacity_byte") or 0.0) / self.units
            if near
            else (self.whole(last, "capacity_byte") or 0.0) / self.units
        )
        self.stated_near_byte = stated.get(f"unit_{near}_byte") or self.near_byte
        self.near_bandwidth = self.whole(near, "bandwidth_byte_per_s")
        self.stream_bandwidth = self.whole(self.stream, "bandwidth_byte_per_s")
        self.last_byte = self.whole(last, "capacity_byte") or 0.0
        self.last_bandwidth = self.whole(last, "bandwidth_byte_per_s")
        self.dram_bandwidth = self.whole("dram", "bandwidth_byte_per_s")
        self.unit_bandwidth = self.levels["dram"]["unit_bandwidth_byte_per_s"]
        self.idle_w = modes[0]["idle_w"] if modes else None
        reference_hz = self.by_process("reference_clock_hz")
        self.reference = self.clock_hz / reference_hz if self.clock_hz else self.clock_fraction
        self.energy = self.energies()

    # --- silicon, energy at the reference voltage ---------------------------------------------------------------

    @functools.cache  # noqa: B019
    def rule(self, quantity: str, key: str = "*") -> float | None:
        """Find the rule that applies: for the longest architecture, then for the family."""
        fitting = [
            r for r in self.facts.where("silicon_rule", quantity=quantity, row_key=key)
            if r["family"] in ("*", self.family) and self.row["architecture"].startswith(r["architecture"].replace("*", ""))
        ]  # fmt: skip
        best = max(fitting, key=lambda r: (len(r["architecture"].replace("*", "")), r["family"] != "*"), default=None)
        return None if best is None else best["value"]

    def needed(self, quantity: str, key: str = "*") -> float:
        """Return a rule that every part has."""
        value = self.rule(quantity, key)
        assert value is not None, quantity
        return value

    @functools.cache  # noqa: B019
    def by_process(self, quantity: str) -> float:
        """Return the rule of the nearest process; of two equally near ones the finer."""
        process = self.row["process_nm"] or self.needed("usual_process_nm")
        keys = {r["row_key"] for r in self.facts.where("silicon_rule", quantity=quantity)}
        fitting = [key for key in keys if self.rule(quantity, key) is not None]
        return self.needed(quantity, min(fitting, key=lambda key: (abs(float(key) - process), float(key))))

    def either(self, quantity: str, key: str) -> float:
        """Return the rule for the key, else the one for all keys."""
        found = self.rule(quantity, key)
        return self.needed(quantity) if found is None else found

    def banks(self, level: str) -> tuple[float, float, float]:
        """Compute the number of banks of a memory, the size of one and its area. [count, byte, mm2]"""
        row = self.levels[level]
        size = row["capacity_byte"] / (1.0 if row["scope"] == "unit" else self.units)
        tags = self.needed("tag_factor") if row["management"] == "hardware" else 1.0
        return self.units, size, self.bank_mm2(size) * tags * self.either("port_factor", level)

    def bank_mm2(self, size: float) -> float:
        """Compute the area of a bank of memory with one port and without tags. [mm2]"""
        fill = self.needed("sram_fill_least") + self.needed("sram_fill_doubling") * math.log2(size / 2048)
        fill = min(max(fill, self.needed("sram_fill_least")), self.needed("sram_fill_most"))
        return 8 * size * self.by_process("sram_um2") / 1e6 / fill

    def pieces(self) -> list[tuple[str, float]]:
        """List the pieces of the silicon: kind, and area without channels. [mm2]"""
        shrink = self.needed("logic_mtr_per_mm2", "45") / self.by_process("logic_mtr_per_mm2") / 1e6
        boosts = [c["clock_boost_hz"] for c in self.clusters if c["clock_boost_hz"]]
        matrix = [c["clock_matrix_hz"] for c in self.clusters if c["clock_matrix_hz"]]
        is_flow = any(c["kind"] == "domain_flow" for c in self.clusters)
        arrays: dict[str, float] = {}
        for peak in self.facts.where("part_peak", hardware=self.name):
            clocks = (matrix if peak["unit"] == "matrix" else []) or boosts or [self.by_process("reference_clock_hz")]
            area = self.rule("mac_um2", peak["precision"])
            if area is None or peak["peak_ops_per_s"] is None:
                continue
            kind = "wide" if peak["precision"] == "fp64" else "matrix" if is_flow else peak["unit"]
            macs = peak["peak_ops_per_s"] / 2 / max(clocks)
            arrays[kind] = max(arrays.get(kind, 0.0), macs * area * self.needed("mac_area_factor") * shrink)
        found = [("logic", area) for area in arrays.values()]
        for c in self.clusters:
            unit = self.either("unit_um2", c["cluster"]) + (c["lanes"] or 0.0) * self.needed("lane_um2")
            found.append(("logic", c["unit_count"] * unit * shrink))
        for level, row in self.levels.items():
            if level != "dram" and row["capacity_byte"] is not None:
                count, _, area = self.banks(level)
                found.append(("sram", count * area))
        partial = self.rule("accumulator_byte", "*")
        for c in self.clusters if partial else ():
            usual = self.facts.one("hardware_family", family=self.family)["accumulator_rows"]
            kept = usual if c["accumulator_rows"] is None else c["accumulator_rows"]
            if c["array_columns"] and kept:
                size = c["array_columns"] * kept * partial
                found.append(("sram", c["unit_count"] * self.bank_mm2(size) * self.needed("port_factor")))
        main = self.levels["dram"]
        if main["bandwidth_byte_per_s"] is not None:
            width = self.either("phy_mm2_per_gbyte_per_s", main["technology"] or "")
            found.append(("phy", main["bandwidth_byte_per_s"] / 1e9 * width))
        for link in self.facts.where("hardware_interconnect", hardware=self.name):
            found.append(("phy", link["bandwidth_byte_per_s"] / 1e9 * self.needed("link_mm2_per_gbyte_per_s")))
        return [*found, ("uncore", self.needed("uncore_mm2"))]

    def energies(self) -> dict[tuple[str, str], float]:
        """Compute joules per operation and per byte, and static watts: stated ones at board scope, else from the silicon."""
        stated = [e for e in self.facts.where("energy_profile", hardware=self.name) if e["scope"] == "board"]
        known = {(e["what"], e["key"]): e["value"] for e in stated}
        circuit_j = self.by_process("process_pj") * 1e-12
        found: dict[tuple[str, str], float] = {}
        for peak in self.facts.where("hardware_peak", hardware=self.name):
            ratio = self.rule("circuit_ratio", peak["precision"])
            if ratio is not None:
                if self.family == "cpu" and peak["unit"] == "vector":
                    ratio = max(ratio, self.instruction_ratio(peak["precision"]))
                joule = ratio * self.needed("lift") * self.needed("unit_factor", peak["unit"]) * circuit_j
                found["op", f"{peak['precision']}.{peak['unit']}"] = joule
        if (ratio := self.rule("element_ratio", "*")) is not None:
            found["op", "element"] = ratio * circuit_j
        channels = self.needed("layout_factor")
        areas = [(kind, area * channels) for kind, area in self.pieces()]
        way = (
            self.needed("link_wire_ratio_per_mm")
            * self.needed("link_distance_fraction")
            * math.sqrt(sum(a for _, a in areas))
        )
        for level, row in self.levels.items():
            if level == "dram":
                found["byte", level] = self.either("dram_pj_per_byte", row["technology"] or "") * 1e-12
            elif row["capacity_byte"] is not None:
                _, _, area = self.banks(level)
                wires = self.needed("sram_wire_ratio_per_mm") * math.sqrt(area) + (
                    0.0 if row["scope"] == "unit" else way
                )
                found["byte", level] = (
                    self.either("level_lift", level) * circuit_j * (self.needed("sram_access_ratio") + wires)
                )
        leaked, trees = self.by_process("leakage_w_per_mm2"), self.needed("clocking_w_per_mm2_ghz")
        leakage_w = sum(area * leaked * self.needed("leakage_share", kind) for kind, area in areas)
        tree_w = trees * self.by_process("clock_load_ratio") * self.by_process("reference_clock_hz") / 1e9
        main = self.levels["dram"]
        board = self.either("memory_w_per_gbyte", main["technology"] or "") * (main["capacity_byte"] or 0.0) / 1e9
        is_stated = ("static", "chip") in known
        self.clocking_w = (
            0.0 if is_stated else sum(area * tree_w * self.needed("clocking_share", kind) for kind, area in areas)
        )
        self.standby_w = 0.0 if is_stated else board
        static_w = max(self.idle_w or 0.0, leakage_w + self.clocking_w + self.standby_w)
        return found | {("static", "chip"): static_w} | known

    def instruction_ratio(self, precision: str) -> float:
        """Return the energy of an operation over that in single precision if both take instructions of one energy; 0 without a rate."""
        rates = {
            name: max((p["peak_ops_per_s"] for p in self.peaks if (p["unit"], p["precision"]) == ("vector", name)), default=0.0)
            for name in ("fp32", precision)
        }
        return rates["fp32"] / rates[precision] if rates[precision] else 0.0

    def voltage_square(self, clock: float) -> float:
        """Compute the squared voltage relative to the reference voltage, at a clock given as a share of the full one."""
        falling = 1 - self.needed("voltage_slope") * (1 - self.reference * clock)
        return min(self.needed("voltage_ceiling"), max(self.needed("voltage_floor"), falling)) ** 2

    def static_w(self, clock: float) -> float | None:
        """Compute static power at a clock: leakage follows the voltage, clock trees also the clock, memory neither. [W]"""
        full_w = self.energy.get(("static", "chip"))
        if full_w is None:
            return None
        followed_w = full_w - self.standby_w - self.clocking_w * (1 - self.reference * clock)
        return followed_w * self.voltage_square(clock) + self.standby_w

    def has(self, level: str, scope: str | None) -> bool:
        """Return whether the part has the level, with a known size and the scope."""
        row = self.levels.get(level)
        return row is not None and row["capacity_byte"] is not None and scope in (None, row["scope"])

    def whole(self, level: str | None, column: str) -> float | None:
        """Return a number of a level, summed over all units."""
        row = self.levels.get(level or "")
        if row is None or row[column] is None:
            return None
        return float(row[column]) * (self.units if row["scope"] == "unit" else 1)

    @property
    def load_rate(self) -> float | None:
        """Bandwidth from the last-level cache to one unit: that of the slower side. [byte/s]"""
        return self.slower(self.near_bandwidth, self.last_bandwidth)

    @property
    def stream_rate(self) -> float | None:
        """Bandwidth from a unit's tile memory to its stream buffers. [byte/s]"""
        return self.slower(self.stream_bandwidth, self.near_bandwidth)

    def slower(self, *bandwidths: float | None) -> float | None:
        """Return one unit's share of the least known bandwidth."""
        known = [b for b in bandwidths if b is not None]
        return min(known) / self.units if known else None

    @cached_property
    def runs_as(self) -> str:
        """Backend whose support rows apply: the backend itself, or the one it is the unfused counterpart of."""
        name = str(self.backend["backend"])
        if self.facts.where("backend_support", backend=name):
            return name
        return next((str(b["backend"]) for b in self.facts.where("backend", unfused_backend=name)), name)

    @cached_property
    def support(self) -> Record | None:
        """Row of support: the maker's before the one for all, with the times of the part's usual host."""
        rows = {r["vendor"]: r for r in self.facts.where("backend_support", backend=self.runs_as, family=self.family)}
        row = rows.get(self.vendor, rows.get("*"))
        hosts = self.facts.where("usual_host", hardware=self.name)
        if row is None or not hosts:
            return row
        return row | {c: row[c] * hosts[0]["dispatch_ratio"] for c in ("host_kernel_s", "host_view_s", "run_s")}

    def runs(self, policy: str) -> bool:
        """Return whether the backend supports the part and the part computes in the policy's matrix type."""
        rows = self.facts.where("precision_policy", policy=policy)
        types = {r["operator_class"]: r["compute_precision"] for r in rows}
        wanted = types.get("linear") or types.get("*")
        return self.support is not None and any(p["precision"] == wanted for p in self.peaks)

    @cached_property
    def peaks(self) -> list[Record]:
        """Dense peaks; matrix units never accumulate in half precision."""
        rows = self.facts.where("part_peak", hardware=self.name)
        return [p for p in rows if not (p["unit"] == "matrix" and p["accumulator"] == "fp16")]

    @functools.cache  # noqa: B019
    def rate(self, unit: str, precision: str) -> Rate | None:
        """Return the peak of a kind of unit at an element type, or at the first fallback with one."""
        fitting = [p for p in self.peaks if p["unit"] == unit]
        best = self.first(fitting, precision)
        if unit == "vector" and self.support is not None:
            single = self.first([p for p in fitting if p["accumulator"] not in ("fp16", "bf16")], precision)
            is_half = (
                self.support["sums_in_half"] and best and best["peak_ops_per_s"] >= (single or best)["peak_ops_per_s"]
            )
            best = best if is_half else single
        if best is None:
            return None
        pool = [c for c in self.clusters if best["cluster"] in (c["cluster"], "all")]
        units = float(sum(c["unit_count"] for c in pool))
        # Different arrays count as equal ones with as many processing elements.
        rows, columns = (
            math.sqrt(sum(c["unit_count"] * (c[side] or 1) ** 2 for c in pool) / units)
            for side in ("array_rows", "array_columns")
        )
        of_family = self.facts.one("hardware_family", family=self.family)["accumulator_rows"] or 0
        kept = min(of_family if c["accumulator_rows"] is None else c["accumulator_rows"] for c in pool)
        kind = best["precision"]
        share = best["performance_fraction"] if unit == "vector" else None
        large = sum(c["unit_count"] for c in self.clusters if c["cluster"] == "p_core")
        small = sum(c["unit_count"] for c in self.clusters if c["cluster"] == "e_core")
        most = self.support and self.support["efficient_core_ratio"]
        is_narrow = self.facts.one("precision", precision=precision)["bits"] <= 8
        if share and most and small <= large * most * (2 if is_narrow else 1):
            best, units = best | {"peak_ops_per_s": best["peak_ops_per_s"] * share}, float(large)
        joule = self.energy.get(("op", f"{kind}.{unit}"))
        joule = joule and joule * best.get("operations", 1.0)
        return Rate(unit, kind, best["peak_ops_per_s"] * self.clock_fraction, units, rows, columns, joule, kept)

    def first(self, peaks: list[Record], precision: str) -> Record | None:
        """Find the highest peak of an element type, else of its fallbacks; of equal peaks the first accumulator by name, since their units
        may differ."""
        name: str | None = precision
        operations = 1.0
        for _ in range(4):
            if same := [p for p in peaks if p["precision"] == name]:
                found = min(same, key=lambda p: (-p["peak_ops_per_s"], p["accumulator"]))
                return found | {"peak_ops_per_s": found["peak_ops_per_s"] / operations, "operations": operations}
            if name is None:
                break
            row = self.facts.one("precision", precision=name)
            name, operations = row["fallback"], operations * row["fallback_operations"]
        stated = {p["precision"] for p in self.peaks}
        is_half = "fp16" in (precision, self.facts.one("precision", precision=precision)["fallback"])
        if is_half and not stated & {"fp16", "fp32"} and (same := [p for p in peaks if p["precision"] == "bf16"]):
            return min(same, key=lambda p: (-p["peak_ops_per_s"], p["accumulator"])) | {"operations": 1.0}
        kinds = {self.facts.one("precision", precision=name)["kind"] for name in stated}
        stand_in = self.facts.one("precision", precision=precision)["integer_stand_in"]
        same = [p for p in peaks if p["precision"] == stand_in and "float" not in kinds]
        return min(same, key=lambda p: (-p["peak_ops_per_s"], p["accumulator"]), default=None)

    def lanes_for(self, precision: str) -> Rate:
        """Return the vector units, or the matrix units if the part has no vector rate for the type."""
        vector, matrix = self.rate("vector", precision), self.rate("matrix", precision)
        if vector is not None:
            return vector
        assert matrix is not None
        joule = self.energy.get(("op", f"{matrix.precision}.vector"))
        return Rate("vector", matrix.precision, matrix.peak, matrix.units, 1.0, 1.0, joule)

    @property
    def cuts_queries(self) -> bool:
        """True if attention is split into blocks of queries: PyTorch on a processor."""
        return bool(self.backend["calls_aten"]) and self.family == "cpu"

    def tiles(self) -> list[Record]:
        """Return the candidate tiles of the family, or of the dataflow of the part's arrays."""
        (family,) = self.facts.where("hardware_family", family=self.family)
        flow = self.row["dataflow"] or family["dataflow"]
        own = self.facts.where("tiling_strategy", family=self.family)
        if flow is not None:
            own = [s for s in own if s["dataflow"] in ("direct", "query_block")]
        of_arrays = self.facts.where("tiling_strategy", family="*", dataflow=flow) if flow is not None else []
        return [s for s in (*own, *of_arrays) if s["matrix_instruction"] in (None, self.instruction)]

    # --- efficiency ------------------------------------------------------------------------------

    def lenders(self) -> dict[str, str]:
        """Find, by backend, the part that lends its rows: of the same die, with unit rates within a quarter, and of these the nearest in
        bandwidth, all as their files state them."""
        shipped = {row["hardware"]: row for row in self.facts.rows["shipped_part"]}
        if self.name not in shipped:
            return {}
        measured: dict[str, set[str]] = {}
        for row in self.facts.rows["efficiency"]:
            if row["scope"].startswith("hardware:") and (row["backend"], row["kernel_class"]) != ("*", "*"):
                measured.setdefault(row["backend"], set()).add(row["scope"].removeprefix("hardware:"))
        mine = shipped[self.name]
        siblings = {name for name, row in shipped.items() if row["architecture"] == mine["architecture"]} - {self.name}
        found = {}
        for backend, parts in measured.items():
            if self.name in parts:
                continue
            able = []
            for part in sorted(parts & siblings):
                rate, own = shipped[part]["unit_ops_per_s"], mine["unit_ops_per_s"]
                if (rate is None) == (own is None) and (not rate or not own or 0.8 <= own / rate <= 1.25):
                    distance = abs(math.log(mine["dram_byte_per_s"] / shipped[part]["dram_byte_per_s"]))
                    able.append((distance, part))
            if able:
                found[backend] = min(able)[1]
        return found

    @cached_property
    def scopes(self) -> dict[tuple[str, str | None], int]:
        """Rank every scope that applies, with the backend it is lent for."""
        ranks: dict[tuple[str, str | None], int] = {
            ("*", None): 0, (f"family:{self.family}", None): 1, (f"architecture:{self.row['architecture']}", None): 2,
            (f"hardware:{self.name}", None): 4,
        }  # fmt: skip
        return ranks | {(f"hardware:{part}", backend): 3 for backend, part in self.lenders().items()}

    def layout(self, kernel: Kernel) -> str:
        """Return the kernel's layout as the library sees it."""
        if self.reads_channels_last and kernel.kind == "conv" and kernel.layout == "nchw" and kernel.precision != "fp32":
            return "nhwc"
        if self.family == "gpu" and kernel.call.converted and not (self.reads_channels_last and kernel.call.moved):
            return "nchw"
        if self.family == "gpu" and kernel.call.algorithm:
            return f"{kernel.layout}_{kernel.call.algorithm}"
        if self.family == "cpu" and kernel.call.is_misread:
            return "strided"
        is_aliased = self.family == "cpu" and self.vendor == "intel" and kernel.call.is_aliased
        return "aliased" if is_aliased else kernel.layout

    def reaches(self, kernel: Kernel) -> dict[str, tuple[float | None, float | None]]:
        """Return share of the peak and half-work for each resource, from the most specific row that applies."""
        is_native = self.family == "cpu" and kernel.call.is_native
        operator = "aten._slow_conv2d_forward" if is_native else kernel.operator_name
        return self.shares(kernel.kind, operator, kernel.precision, self.layout(kernel))

    @functools.cache  # noqa: B019  (a chip lives for one target)
    def shares(
        self, kind: str, operator: str, precision: str, layout: str
    ) -> dict[str, tuple[float | None, float | None]]:
        """Return share of the peak and half-work for each resource, by the kernel's class, operator, precision and layout."""
        assert self.support is not None
        backends = ["*", self.support["efficiency_backend"], self.runs_as]
        best: dict[str, tuple[tuple[int, ...], Record]] = {}
        for row in self.facts.rows["efficiency"]:
            scope = max(self.scopes.get((row["scope"], lent), -1) for lent in (None, row["backend"]))
            if (
                scope < 0
                or row["kernel_class"] not in ("*", kind)
                or row["operator_name"] not in ("*", operator)
                or row["backend"] not in backends
                or row["precision_class"] not in ("*", precision)
                or row["memory_format"] not in ("*", layout)
            ):
                continue
            rank = (
                scope, row["operator_name"] != "*", row["kernel_class"] != "*", backends.index(row["backend"]),
                row["precision_class"] != "*", row["memory_format"] != "*",
            )  # fmt: skip
            best[row["resource"]] = max(best.get(row["resource"], ((-1,), row)), (rank, row), key=lambda pair: pair[0])
        found: dict[str, tuple[float | None, float | None]] = dict.fromkeys(RESOURCES, (None, None))
        return found | {r: (row["maximum_fraction"], row["half_work"]) for r, (_, row) in best.items()}
