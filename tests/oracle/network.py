"""The operations, traffic and memory of a network in one run: DESIGN sections 3 and 5, independent of the part.

A `Run` builds its kernels one by one as objects: those that the backend fused, and the conversions, copies and biases that it inserts.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from .facts import Facts, Record, polynomial

WEIGHTS = ("weight", "buffer", "constant")
"""Roles of tensors that exist before the run."""


@dataclass(slots=True)
class Step:
    """A computation inside an operator."""

    operator_id: int
    name: str
    kind: str
    operator_class: str
    precision: str
    sizes: dict[str, float]

    @property
    def is_product(self) -> bool:
        """True for a matrix product."""
        return self.kind == "gemm"

    @property
    def is_continued(self) -> bool:
        """True for the scores of an attention: the product with the values continues their tiles."""
        return self.operator_class == "attention" and self.name == "qk"

    def size(self, quantity: str) -> float:
        """Return a quantity; 0 if it is absent."""
        return self.sizes.get(quantity, 0.0)


@dataclass(slots=True)
class Call:
    """The work of PyTorch on a processor around a product that it passes to a library."""

    is_native: bool = False
    is_misread: bool = False
    is_aliased: bool = False
    algorithm: str | None = None
    """PyTorch's own algorithm on a GPU."""
    reordered: float = 0.0
    converted: float = 0.0
    """Bytes that a GPU's library converts to another format and back."""
    moved: float = 0.0
    """Elements that a GPU's library converts for matrix units that read channels last."""
    moved_byte: float = 0.0
    scratch: float = 0.0
    put_last: float = 0.0


@dataclass(slots=True)
class Kernel:
    """One kernel of a run."""

    kernel_id: int
    fused_id: int
    place: tuple[float, int, int]
    kind: str
    operator_name: str
    precision: str
    layout: str
    anchor: int
    operators: int = 1
    views: int = 0
    read: float = 0.0
    weights: float = 0.0
    cache: float = 0.0
    written: float = 0.0
    produced: float = 0.0
    largest: float = 0.0
    steps: list[Step] = field(default_factory=list)
    links: list[float] = field(default_factory=list)
    call: Call = field(default_factory=Call)
    faults: float = 0.0
    passes: int = 1
    """Number of groups of samples in which its chain passes."""

    @property
    def traffic(self) -> float:
        """Bytes that cross its border."""
        return self.read + self.weights + self.cache + self.written

    def scores(self) -> Step | None:
        """Return the scores of its attention."""
        return next((s for s in self.steps if s.is_continued), None)


class Run:
    """A model under a scenario."""

    def __init__(self, facts: Facts, scenario: Record) -> None:
        (self.model,) = facts.rows["model"]
        self.facts, self.scenario = facts, scenario
        self.backend = facts.one("backend", backend=scenario["backend"])
        self.policy = scenario["precision"]
        length = self.model["default_sequence"] if scenario["sequence"] is None else scenario["sequence"]
        self.batch = scenario["batch"]
        self.sequence = 1 if scenario["phase"] == "decode" else length
        self.context = length if scenario["context"] is None else scenario["context"]
        asked = scenario["memory_format"]
        self.layout = (self.model["planned_format"] or asked) if self.backend["plans_layout"] else asked
        if not self.is_valid:
            return
        self.elements = {t: self.at(terms) for t, terms in facts.by("tensor_term", "tensor_id").items()}
        self.tensors = {t["tensor_id"]: t for t in facts.rows["tensor"]}
        self.operators = {o["operator_id"]: o for o in facts.rows["operator"]}
        self.held = {r["tensor_id"]: r["precision"] for r in facts.where("tensor_precision", policy=self.policy)}
        self.computed = {
            r["operator_id"]: r["precision"] for r in facts.where("operator_precision", policy=self.policy)
        }
        mine = facts.where("kernel_operator", backend=self.backend["backend"])
        self.home = {m["operator_id"]: m["kernel_id"] for m in mine}
        self.working = [m for m in mine if not m["is_folded"] and not self.operators[m["operator_id"]]["is_view"]]
        self.fused = facts.where("kernel", backend=self.backend["backend"])
        self.classes = {c["operator_class"]: c for c in facts.rows["operator_class"]}
        self.kernels = self.fused_kernels()
        for kernel in self.kernels:
            kernel.call = self.call(kernel)
        self.fresh_pages()
        self.insert()

    @property
    def is_valid(self) -> bool:
        """True if the model can run with such sizes."""
        m, s = self.model, self.scenario
        return (
            (m["is_batch_symbolic"] or s["batch"] == m["default_batch"])
            and (s["sequence"] in (None, m["default_sequence"]) or m["is_sequence_symbolic"])
            and (s["phase"] != "decode" or m["has_context"])
        )

    def at(self, terms: list[Record]) -> float:
        """Evaluate a polynomial at the sizes of the run."""
        return polynomial(terms, self.batch, self.sequence, self.context)

    def byte(self, tensor_id: int, precision: str) -> float:
        """Compute a tensor's size in an element type. [byte]"""
        return self.elements[tensor_id] * self.facts.width(precision)

    # --- kernels ---------------------------------------------------------------------------------

    def fused_kernels(self) -> list[Kernel]:
        """Build the backend's kernels with their work and the tensors that cross their borders."""
        layouts = {
            r["operator_id"]: r["layout"]
            for r in self.facts.where("operator_layout", memory_format=self.scenario["memory_format"])
        }
        made = []
        for row in self.fused:
            anchor = row["anchor_operator_id"]
            layout = layouts.get(anchor) if self.backend["follows_strides"] else None
            kernel = Kernel(
                row["kernel_id"], row["kernel_id"], (float(row["kernel_id"]), 0, row["kernel_id"]), row["kernel_class"],
                ".".join(self.operators[anchor]["aten_operator"].split(".")[:2]), self.computed[anchor],
                self.layout if layout in (None, "view") else layout, anchor, row["operator_count"], row["view_count"],
            )  # fmt: skip
            if layout != "view":
                for crossing in self.facts.where(
                    "kernel_tensor", backend=self.backend["backend"], kernel_id=row["kernel_id"]
                ):
                    self.cross(kernel, crossing)
            made.append(kernel)
        by_id = {k.kernel_id: k for k in made}
        for member in sorted(self.working, key=lambda m: m["operator_id"]):
            by_id[member["kernel_id"]].steps += self.steps(member["operator_id"])
        for kernel_id, tensor_id in self.chain_links():
            by_id[kernel_id].links.append(self.byte(tensor_id, self.held[tensor_id]))
        return made

    def cross(self, kernel: Kernel, crossing: Record) -> None:
        """Add one tensor's traffic over the border."""
        tensor_id, operator_id = crossing["tensor_id"], crossing["operator_id"]
        whole = moved = self.elements[tensor_id]
        accesses = self.facts.where("access_term", operator_id=operator_id, tensor_id=tensor_id)
        if accesses:
            moved = min(whole, self.at(accesses))
            share = max((a["draw_fraction"] for a in accesses if a["draw_fraction"] is not None), default=None)
            if share is not None:
                # The expected number of distinct elements in as many independent draws, in 1/1024 of an element.
                draws = self.at(accesses) / (whole * share)
                moved = round((whole - whole * (1 - share) ** draws) * 1024) / 1024
        precision = self.held[tensor_id]
        if crossing["direction"] == "read":
            copies = self.facts.where(
                "read_precision", policy=self.policy, operator_id=operator_id, tensor_id=tensor_id
            )
            precision = copies[0]["precision"] if copies else precision
        width = self.facts.width(precision)
        size = moved * (max(width, 4.0) if crossing["is_wide"] else width)
        if crossing["direction"] == "write":
            kernel.written += size
        elif crossing["role"] == "input":
            kernel.read += size
        elif crossing["role"] == "weight":
            kernel.weights += size
        else:
            kernel.cache += size
        if crossing["role"] in ("input", "output"):
            kernel.largest = max(kernel.largest, size)
        if crossing["direction"] == "read" and crossing["is_produced"]:
            kernel.produced += size

    def steps(self, operator_id: int) -> list[Step]:
        """Return the steps of an operator, sorted by name."""
        operator = self.operators[operator_id]
        made = []
        for row in sorted(self.facts.where("operator_step", operator_id=operator_id), key=lambda r: r["step"]):
            terms: dict[str, list[Record]] = defaultdict(list)
            for term in self.facts.where("term", operator_id=operator_id, step=row["step"]):
                terms[term["quantity"]].append(term)
            sizes = {quantity: self.at(t) for quantity, t in terms.items()}
            if sizes:
                made.append(
                    Step(
                        operator_id, row["step"], row["step_class"], operator["operator_class"],
                        self.computed[operator_id], sizes,
                    )
                )  # fmt: skip
        return made

    def chain_links(self) -> set[tuple[int, int]]:
        """Find the tensors made and read by a matrix operator inside one kernel; a cache is read from memory."""
        found: set[tuple[int, int]] = set()
        for edge in self.facts.rows["edge"]:
            reader = self.operators[edge["consumer_operator_id"]]
            root = self.tensors[self.tensors[edge["tensor_id"]]["storage_tensor_id"]]
            inside = self.home.get(reader["operator_id"])
            is_inside = inside is not None and inside == self.home.get(root["producer_operator_id"])
            is_chained = self.classes[reader["operator_class"]]["is_matrix"] and reader["operator_class"] != "rnn"
            if is_inside and is_chained and root["role"] != "kv_cache":
                found.add((inside, root["tensor_id"]))
        return found

    # --- inserted kernels ---------------------------------------------------------------------------

    def insert(self) -> None:
        """Insert conversions and copies before their reader, biases after; numbered after the fused kernels."""
        inserted: list[Kernel] = []

        def add(
            sort: int,
            number: int,
            operator_id: int,
            kind: str,
            place: float,
            tensor_id: int,
            source: str = "",
            **given: str,
        ) -> Kernel:
            home = self.home[operator_id]
            kernel = Kernel(
                -1, home, (home + place, sort, number), kind, "*", self.computed[operator_id], self.layout, operator_id
            )
            for name, value in given.items():
                setattr(kernel, name, value)
            self.move(kernel, tensor_id, source or kernel.precision)
            inserted.append(kernel)
            return kernel

        for cast in sorted(self.facts.where("precision_cast", policy=self.policy), key=lambda c: c["cast_id"]):
            if self.converts(self.tensors[cast["tensor_id"]]) and cast["operator_id"] in self.home:
                add(
                    1, cast["cast_id"], cast["operator_id"], "cast", -0.5, cast["tensor_id"], cast["from_precision"],
                    precision=cast["to_precision"],
                )  # fmt: skip
        for copy in sorted(self.facts.where("layout_copy", memory_format=self.layout), key=lambda c: c["copy_id"]):
            operator = self.operators[copy["operator_id"]]
            is_image = self.tensors[copy["tensor_id"]]["role"] not in WEIGHTS
            hands_over = self.backend["plans_layout"] and self.classes[operator["operator_class"]]["is_convolution"]
            hands_over = hands_over and is_image and not self.is_stored_as_read(copy)
            if copy["operator_id"] in self.home and (self.backend["follows_strides"] or hands_over):
                name = ".".join(operator["aten_operator"].split(".")[:2])
                add(
                    2,
                    copy["copy_id"],
                    copy["operator_id"],
                    "copy",
                    -0.25,
                    copy["tensor_id"],
                    layout="strided",
                    operator_name=name,
                )
        if self.backend["adds_bias_kernels"]:
            self.add_biases(add)
        for number, kernel in enumerate(inserted):
            kernel.kernel_id = len(self.kernels) + number
        self.kernels = sorted(self.kernels + inserted, key=lambda k: k.place)

    def is_stored_as_read(self, copy: Record) -> bool:
        """Return whether a compiler's loop makes the image and so stores it in the order that the convolution reads."""
        first = self.facts.where("edge", consumer_operator_id=copy["operator_id"], position=0)
        maker = self.operators.get(self.tensors[copy["tensor_id"]]["producer_operator_id"])
        if maker is None or maker["is_view"] or copy["tensor_id"] not in [edge["tensor_id"] for edge in first]:
            return False
        is_joined = maker["aten_operator"] in ("aten.cat.default", "aten.stack.default")
        return not is_joined and not self.classes[maker["operator_class"]]["is_matrix"]

    def add_biases(self, add: Callable[..., Kernel]) -> None:
        """Add a kernel for the bias of every convolution: it reads and writes the result and reads the bias."""
        formats = self.facts.where("operator_layout", memory_format=self.scenario["memory_format"])
        layouts = {r["operator_id"]: r["layout"] for r in formats if r["layout"] != "view"}
        for operator_id, operator in sorted(self.operators.items()):
            bias = self.facts.where("edge", consumer_operator_id=operator_id, position=2)
            if operator["is_backward"] and not operator["is_repeated"]:
                continue
            if self.classes[operator["operator_class"]]["is_convolution"] and bias and operator_id in self.home:
                result = min(t["tensor_id"] for t in self.facts.where("tensor", producer_operator_id=operator_id))
                layout = layouts.get(operator_id, self.layout)
                kernel = add(3, operator_id, operator_id, "bias", 0.25, result, layout=layout)
                kernel.weights = self.byte(bias[0]["tensor_id"], kernel.precision)

    def move(self, kernel: Kernel, tensor_id: int, source: str) -> None:
        """Read a tensor in one element type and write it in the kernel's own."""
        tensor = self.tensors[tensor_id]
        read = self.byte(tensor_id, source)
        kernel.written = kernel.largest = self.byte(tensor_id, kernel.precision)
        if tensor["role"] in WEIGHTS:
            kernel.weights = read
        else:
            kernel.read = read
        kernel.produced = 0.0 if tensor["producer_operator_id"] is None else read

    def converts(self, tensor: Record) -> bool:
        """Return whether the backend runs the conversion of a tensor as a kernel."""
        return bool(self.backend["weight_casts_are_kernels" if tensor["role"] in WEIGHTS else "casts_are_kernels"])

    # --- PyTorch on a processor ---------------------------------------------------------------------

    def depthwise_algorithm(self, kernel: Kernel, main: Step) -> str | None:
        """Choose PyTorch's own kernel in nchw where cuDNN does not run, and in nhwc cuDNN's general kernel beyond its tuned sizes."""
        limit = self.facts.constant
        operands = {e["position"]: e["tensor_id"] for e in self.facts.where("edge", consumer_operator_id=kernel.anchor)}
        results = main.size("threads")
        taps = main.size("macs") / results
        if kernel.layout == "nhwc":
            if max(self.elements[operands[0]], results) >= limit("depthwise_large_elements"):
                return "large"
            return "wide" if taps > limit("depthwise_taps") else None
        channels = self.elements[operands[1]] / taps
        thinning = self.elements[operands[0]] / results
        width = math.sqrt(self.elements[operands[0]] / (self.batch * channels))
        side = math.isqrt(round(taps))
        is_given = (
            kernel.precision == "fp16" and side**2 == taps <= limit("depthwise_half_taps") and side % 2 == 1
            and channels >= limit("depthwise_least_channels") and width >= limit("depthwise_least_width")
        )  # fmt: skip
        if is_given and thinning > 2:
            large = channels >= limit("depthwise_large_channels") and width >= limit("depthwise_large_width")
            many = large or channels >= limit("depthwise_strided_channels")
            is_given = thinning <= 6 and (many or self.batch == 1)
        if is_given:
            return None
        return "wide" if taps > limit("depthwise_short_taps") else "own"

    def call(self, kernel: Kernel) -> Call:
        """Determine the library call for the anchor of a kernel."""
        call = self._call(kernel)
        main = {s.name: s for s in self.steps(kernel.anchor)}.get("main")
        if main is None or not self.backend["calls_aten"] or not self.classes[kernel.kind]["is_convolution"]:
            return call
        if kernel.layout in ("nchw", "nhwc") and kernel.kind == "depthwise_conv":
            call = replace(call, algorithm=self.depthwise_algorithm(kernel, main))
        is_grouped = kernel.layout == "nhwc" and main.sizes.get("groups", 1) > 1 and bool(main.sizes.get("taps"))
        if is_grouped and self.facts.width(kernel.precision) == 2 and main.size("k") / main.size("taps") < self.facts.constant("tensor_group_channels"):
            return replace(call, algorithm="wide")
        operands = {e["position"]: e["tensor_id"] for e in self.facts.where("edge", consumer_operator_id=kernel.anchor)}
        taps, depth = main.sizes.get("taps"), main.sizes.get("k")
        can_convert = bool(taps and depth) and kernel.precision != "fp32" and not self.backend["plans_layout"]
        if can_convert:
            slow, whole = self.facts.constant("slow_conversion_ratio"), self.elements[operands[0]]
            channels = main.size("k") / main.size("taps")
            padded = whole * math.ceil(channels / 8) * 8 / channels
            results = main.size("m") * main.size("n") * max(main.size("groups"), 1)
            is_odd = main.size("groups") > 1 and math.log2(channels) % 1
            is_narrow, width = channels < 8 and main.size("groups") <= 1, self.facts.width(kernel.precision)
            is_product = main.size("m") * main.size("k") == main.sizes.get("image")
            is_product = is_product and (not main.size("samples") or main.size("m") / main.size("samples") * width % 16 == 0)
            slowly = padded * (slow if is_narrow else 1.0)
            if not is_product and (kernel.layout == "nchw" or (kernel.layout == "nhwc" and is_odd)):
                again = slow * (whole + results) if kernel.layout == "nhwc" else 0.0
                moved = slowly + self.elements[operands[1]] * slow + results + again
                byte = 2 * (padded + self.elements[operands[1]] + results) * width
                call = replace(call, moved=moved, moved_byte=byte)
            elif is_narrow and kernel.layout != "nchw":
                call = replace(call, moved=whole, moved_byte=(whole + padded) * width)
        if kernel.layout == "nhwc" and main.size("groups") > 1 and main.size("taps"):
            channels = main.size("k") / main.size("taps")
            if math.log2(channels) % 1:
                image = self.elements[operands[0]] * self.facts.width(kernel.precision)
                return replace(call, converted=2 * (image + kernel.written))
        return call

    def _call(self, kernel: Kernel) -> Call:
        main = {s.name: s for s in self.steps(kernel.anchor)}.get("main")
        if not self.backend["calls_aten"] or main is None:
            return Call()
        operands = {e["position"]: e["tensor_id"] for e in self.facts.where("edge", consumer_operator_id=kernel.anchor)}
        width = self.facts.width(kernel.precision)
        if kernel.kind == "linear" and "k" in main.sizes:
            result = main.size("groups") * main.size("m") * main.size("n") * width
            aliased = (main.size("k") * width) % self.facts.constant("aliased_row_byte") == 0
            return Call(is_aliased=aliased, reordered=2 * result if 2 in operands else 0.0)
        if not self.classes[kernel.kind]["is_convolution"] or 1 not in operands:
            return Call()
        tensor = self.tensors[operands[0]]
        weight, image = self.elements[operands[1]] * width, self.elements[operands[0]] * width
        taps, plans = main.sizes.get("taps"), self.backend["plans_layout"]
        last = weight if plans and taps is not None and taps > 1 else 0.0
        small = main.sizes.get("image", math.inf) <= self.facts.constant("native_convolution_elements")
        if kernel.precision == "fp32" and main.size("samples") == 1 and small:
            columns = main.size("m") * main.size("k")
            unfolded = 0.0 if columns == main.size("image") else columns * width
            return Call(is_native=True, reordered=2 * (unfolded + last), scratch=unfolded, put_last=last)
        is_view = tensor["is_batch_first"] and tensor["shape"] != self.tensors[tensor["storage_tensor_id"]]["shape"]
        misread = bool(plans and self.layout == "nhwc" and self.batch == 1 and taps in (None, 1) and is_view)
        copied = image if misread else 0.0
        listed = self.facts.where(
            "layout_copy", memory_format=self.layout, operator_id=kernel.anchor, tensor_id=operands[0]
        )  # fmt: skip
        blocked_image = blocked_result = 0.0
        if misread or (not plans and kernel.layout == "nchw"):
            blocked_result = kernel.written
            channels = main.size("k") / taps if taps and "k" in main.sizes else math.inf
            blocked_image = image if channels >= self.facts.constant("blocked_channels") else 0.0
        return Call(
            is_misread=misread,
            reordered=2 * (weight + last + blocked_image + blocked_result + (0.0 if listed else copied)),
            scratch=copied + max(weight + blocked_image, blocked_result),
            put_last=last,
        )

    def fresh_pages(self) -> None:
        """Charge fresh pages from the system to kernels: always for large blocks, for others as the heap grows."""
        rows = self.facts.where("heap_growth", backend=self.backend["backend"])
        growths = {g["batch"]: g["growth_fraction"] for g in rows if g["batch"] <= self.batch}
        if not growths:
            return
        growth, mapped = growths[max(growths)], self.facts.constant("mapped_block_byte")
        blocks: dict[tuple[object, ...], list[tuple[int, float]]] = defaultdict(list)
        for block, is_copy, precision, first, _, size in self.storages():
            if first >= 0:
                blocks[block, is_copy, precision].append((first, size))
        for kernel in self.kernels:
            blocks["scratch", kernel.kernel_id].append((kernel.kernel_id, kernel.call.scratch))
            if kernel.call.put_last >= mapped:
                blocks["last", kernel.call.put_last].append((kernel.kernel_id, kernel.call.put_last))
        by_id = {k.kernel_id: k for k in self.kernels}
        for held in blocks.values():
            size = max(b for _, b in held)
            by_id[min(k for k, _ in held)].faults += size if size >= mapped else size * growth

    # --- memory ----------------------------------------------------------------------------------

    def storages(self) -> list[tuple[int, bool, str, int, int, float]]:
        """List everything allocated: block, whether it is a converted copy, element type, first and last kernel, and bytes."""
        name = self.backend["backend"]
        wide = {
            self.tensors[c["tensor_id"]]["storage_tensor_id"]
            for c in self.facts.where("kernel_tensor", backend=name)
            if c["direction"] == "write" and c["is_wide"]
        }
        found = []
        for life in self.facts.where("tensor_lifetime", backend=name):
            precision = self.held[life["tensor_id"]]
            if life["tensor_id"] in wide and self.facts.width(precision) < 4:
                precision = "fp32"
            span = life["first_kernel_id"], life["last_kernel_id"]
            found.append((life["block_tensor_id"], False, precision, *span, self.byte(life["tensor_id"], precision)))
        copies: dict[tuple[int, str], list[int]] = defaultdict(list)
        for read in self.facts.where("read_precision", policy=self.policy):
            if self.converts(self.tensors[read["tensor_id"]]) and read["operator_id"] in self.home:
                copies[read["tensor_id"], read["precision"]].append(self.home[read["operator_id"]])
        for (tensor_id, precision), readers in copies.items():
            is_weight = self.tensors[tensor_id]["role"] in WEIGHTS
            last = max(k["kernel_id"] for k in self.fused) if is_weight else max(readers)
            found.append((tensor_id, True, precision, min(readers), last, self.byte(tensor_id, precision)))
        return found

    @functools.cached_property
    def memory(self) -> Record:
        """Peak memory and its components."""
        sums = dict.fromkeys(("weight", "buffer", "kv_cache"), 0.0)
        for tensor_id, tensor in self.tensors.items():
            role = {"constant": "buffer"}.get(tensor["role"], tensor["role"])
            is_held = role == "kv_cache" and self.scenario["phase"] in ("prefill", "decode")
            if is_held or (role in ("weight", "buffer") and tensor["storage_tensor_id"] == tensor_id):
                sums[role] += self.byte(tensor_id, self.held[tensor_id])
        block = self.facts.constant("allocator_block_byte")
        live: dict[int, float] = {k["kernel_id"]: 0.0 for k in self.fused}
        allocated = dict(live)
        for *_, first, last, size in self.storages():
            for kernel_id in live:
                if first <= kernel_id <= last:
                    live[kernel_id] += size
                    allocated[kernel_id] += math.ceil(size / block) * block
        if not allocated:  # only views: nothing executes, and only the model's own tensors are allocated
            nothing = dict.fromkeys(("activation_byte", "rounding_byte", "workspace_byte"), 0.0)
            held = {f"{name}_byte": size for name, size in sums.items()}
            return held | nothing | {"peak_memory_byte": sum(sums.values()), "peak_kernel_id": None}
        peak = max(allocated, key=lambda k: (allocated[k], -k))
        scratch = self.backend["workspace_fraction"] * allocated[peak]
        return {f"{name}_byte": size for name, size in sums.items()} | {
            "activation_byte": live[peak],
            "rounding_byte": allocated[peak] - live[peak],
            "workspace_byte": scratch,
            "peak_memory_byte": sum(sums.values()) + allocated[peak] + scratch,
            "peak_kernel_id": peak,
        }
