"""Fit of a few efficiency parameters to many whole-model times.

A kernel's device time follows `shape_cost`, with the macro `busy_time` over arrays; tests compare the two on every class of kernels:
compute = max(matrix, vector, naive), memory = max(dram, cache, reload, thread), busy = max(max + (1 - overlap) · min, feed) + reorder +
paging + team, plus the gap. A parameter is the maximum_fraction or half_work of one (kernel class or ATen operator, memory format,
resource); less important ones share the row of their class, or `*`. The fit is robust least squares on log ratios of whole-model time,
pulled toward prior values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .kernels import NATIVE, Floats, Kernels

LIBRARY = ("reorder", "paging")
"""Costs before the arithmetic: a library's reordering of operands, the system's pages; without a row, 0."""

THREAD = "thread"
"""A single thread, and the start and finish of the thread team; without a row, unknown."""

RESOURCES = ("matrix", "vector", "memory", "overlap", THREAD, *LIBRARY)
_TERM = {"matrix": "matrix", "vector": "vector", "memory": "dram"}

_BOUNDS = {
    ("matrix", "maximum_fraction"): (0.02, 1.0),
    ("vector", "maximum_fraction"): (0.002, 1.0),
    ("memory", "maximum_fraction"): (0.02, 1.0),
    ("overlap", "maximum_fraction"): (0.02, 1.0),
    ("reorder", "maximum_fraction"): (0.005, 1.0),
    ("paging", "maximum_fraction"): (0.005, 1.0),
    (THREAD, "maximum_fraction"): (0.05, 1.0),
    (THREAD, "half_work"): (1e-2, 1e2),
    ("matrix", "half_work"): (1e3, 1e9),
    ("vector", "half_work"): (1e1, 1e7),
    ("memory", "half_work"): (1e1, 1e6),
}
"""Range of each kind of parameter; half_work in operations or bytes, for `thread` in multiples of the part's own teams."""

_PRIOR = {
    ("matrix", "maximum_fraction"): 0.7,
    ("vector", "maximum_fraction"): 0.5,
    ("memory", "maximum_fraction"): 0.8,
    ("overlap", "maximum_fraction"): 0.85,
    ("reorder", "maximum_fraction"): 0.2,
    ("paging", "maximum_fraction"): 0.07,
    (THREAD, "maximum_fraction"): 0.8,
    (THREAD, "half_work"): 1.0,
    ("matrix", "half_work"): 1e5,
    ("vector", "half_work"): 1e3,
    ("memory", "half_work"): 2e3,
}
"""Prior values where no row gives one."""

_WEIGHT = {"maximum_fraction": 0.1, "half_work": 0.03}
"""Pull toward the prior: residual per unit of log distance, in units of the typical model error."""

Parameters = Mapping[tuple[str, str], Floats]
"""Parameter values by group of kernels, for each resource and kind."""

_STEP = 1e-4
"""Step of the finite differences, in the logarithm of a parameter."""

Key = tuple[str, str, str, str]
"""Kernel class or ATen operator, memory format, resource, and `maximum_fraction` or `half_work`."""


@dataclass
class Fit:
    """Fitted parameters."""

    value: dict[Key, float]
    """Value by key; `*` covers every class or format without its own row."""
    rows: int = 0
    """Number of measurements fitted to."""
    prior: dict[Key, float] = field(default_factory=dict)
    """Values that the parameters were pulled toward."""
    class_of: dict[str, str] = field(default_factory=dict)
    """Kernel class of the ATen operators that have their own rows."""

    def get(
        self, names: Sequence[str], memory_format: str, resource: str, kind: str, default: float | None = None
    ) -> float:
        """Return the most specific value, as `part_efficiency` picks it: by the earlier name, then the format; else `default`, or the
        prior value."""
        for name in names:
            for f in (memory_format, "*"):
                if (name, f, resource, kind) in self.value:
                    return self.value[name, f, resource, kind]
        if default is not None:
            return default
        if kind == "half_work":
            return 0.0
        if resource in (THREAD, *LIBRARY):
            return np.inf  # No limit by a thread, no reordering of weights, no fresh pages.
        return _PRIOR[resource, kind]


PriorWithout = Callable[[Sequence[str]], Fit]
"""A function that makes a prior without the given values of the left-out column."""


def predict(kernels: Kernels, fit: Fit) -> Floats:
    """Predict the latency of every case. [s]"""
    return _case_time(kernels, _kernel_time(kernels, _by_group(kernels, fit)))


def _by_group(kernels: Kernels, fit: Fit, default: float | None = None) -> Parameters:
    """Return the parameters of every resource and kind as arrays over the distinct groups."""
    groups = list(kernels.group.select("operator_name", "kernel_class", "memory_format").iter_rows())
    return {(r, k): np.array([fit.get((o, c, "*"), f, r, k, default) for o, c, f in groups]) for r, k in _PRIOR}


def _kernel_time(kernels: Kernels, parameter: Parameters) -> Floats:
    """Compute each kernel's device time, times its count. [s]"""
    of = kernels.group_of
    time = {
        resource: (kernels.ideal[term] + parameter[resource, "half_work"][of] * kernels.slope[term])
        / parameter[resource, "maximum_fraction"][of]
        for resource, term in _TERM.items()
    }
    compute = np.maximum(np.maximum(time["matrix"], time["vector"]), kernels.naive_s)
    cache = kernels.cache_s / parameter["memory", "maximum_fraction"][of]
    memory = np.maximum(np.maximum(time["memory"] + kernels.block_s, cache), kernels.reload_s)
    memory = np.maximum(memory, kernels.thread_s / parameter[THREAD, "maximum_fraction"][of])
    overlap = parameter["overlap", "maximum_fraction"][of]
    busy = np.maximum(compute, memory) + (1 - overlap) * np.minimum(compute, memory)
    busy = np.maximum(busy, kernels.feed_s)
    busy += kernels.reorder_s / parameter["reorder", "maximum_fraction"][of]
    busy += kernels.paging_s / parameter["paging", "maximum_fraction"][of]
    busy += kernels.team_s * parameter[THREAD, "half_work"][of]
    result: Floats = kernels.count * (busy + kernels.gap_s)
    return result


def _case_time(kernels: Kernels, kernel_time: Floats) -> Floats:
    """Compute the latency of each case: host plus device time if dispatch is serial, else the larger of the two, which is the queue's
    bound without order; the device waits for the first kernel. [s]"""
    device = np.bincount(kernels.case, kernel_time, len(kernels.cases))
    queued = np.maximum(device + kernels.first_s, kernels.host_s)
    result: Floats = np.where(kernels.is_serial, device + kernels.host_s, queued)
    return result


def choose_keys(kernels: Kernels, least_share: float = 0.01) -> list[Key]:
    """Choose the parameters worth fitting: a maximum_fraction for each class, and for each ATen operator of a mixed class with a
    sufficient share of the time, for the resources that can limit it and the layouts with their own algorithm; one overlap; and one
    half_work per resource and class of matrix products, on processors also for memory. If the backend distinguishes a team from one
    thread, both their parameters replace the common half_work of memory."""
    shares = kernels.share_of_time().filter(pl.col("weight") > 0)
    # Parts whose matrix units do no work give no information on them.
    has_matrix = bool(kernels.ideal[_TERM["matrix"]].any())
    unknown = (THREAD, *LIBRARY, *(() if has_matrix else ("matrix",)))
    keys: list[Key] = [("*", "*", r, "maximum_fraction") for r in RESOURCES if r not in unknown]
    if has_matrix:
        keys.append(("*", "*", "matrix", "half_work"))
    if kernels.team_s.any():
        keys += [("*", "*", THREAD, "maximum_fraction"), ("*", "*", THREAD, "half_work")]
    else:
        keys.append(("*", "*", "memory", "half_work"))
    is_processor = bool(kernels.is_serial.any())
    if is_processor:
        # Processor libraries use the system's allocator, which returns memory to the system.
        keys.append(("*", "*", "paging", "maximum_fraction"))
    for kernel_class in _with_share(shares, "kernel_class", least_share):
        member = np.isin(kernels.group_of, np.flatnonzero((kernels.group["kernel_class"] == kernel_class).to_numpy()))
        binding = _binding(kernels, member)
        if kernel_class == "conv" and is_processor and "memory" not in binding:
            # Processor libraries convert layouts around each convolution: traffic that no roofline shows.
            binding.append("memory")
        own = shares.filter(pl.col("kernel_class") == kernel_class)
        keys += [(kernel_class, f, r, "maximum_fraction") for f in _layouts(own, least_share) for r in binding]
        if kernel_class == "conv" and NATIVE in kernels.group["operator_name"]:
            keys += [(NATIVE, "*", r, "maximum_fraction") for r in dict.fromkeys((*binding, "memory", "reorder"))]
            keys.append((NATIVE, "*", "memory", "half_work"))
        if own["is_single_algorithm"].all() and is_processor:
            formats = _layouts(own, least_share) if own["varies_by_format"].all() else ["*", "aliased"]
            keys += [
                (kernel_class, f, "reorder", "maximum_fraction") for f in _reordered(kernels, kernel_class, formats)
            ]
            # Each call of a processor library has its own fixed cost.
            keys.append((kernel_class, "*", "memory", "half_work"))
        if kernel_class in ("conv", "linear", "matmul") and has_matrix:
            keys.append((kernel_class, "*", "matrix", "half_work"))
    for name in _operators(shares, least_share):
        own = shares.filter(pl.col("operator_name") == name)
        keys += [(name, f, "memory", "maximum_fraction") for f in _layouts(own, least_share)]
    return keys


def _layouts(own: pl.DataFrame, least_share: float) -> list[str]:
    """Return the layouts in which a class or operator runs its own algorithm for a sufficient share of the time: any layout for a class
    that varies by format, for others strided ones. `*` covers the other layouts."""
    if own["memory_format"].n_unique() == 1:
        return ["*"]
    is_telling = pl.col("varies_by_format") | (pl.col("memory_format") == "strided")
    if "eager" in own["backend"]:
        is_telling |= pl.col("varies_by_strides")
    found = _with_share(own.filter(is_telling), "memory_format", least_share / 3)
    return found if set(own["memory_format"]) <= set(found) else ["*", *found]


def _reordered(kernels: Kernels, kernel_class: str, formats: Sequence[str]) -> list[str]:
    """Return the formats in which a library reorders operands of the class or prefills results."""
    has_any = np.bincount(kernels.group_of, kernels.reorder_s, len(kernels.group)) > 0
    of_class = kernels.group.filter(pl.Series(has_any) & (pl.col("kernel_class") == kernel_class))
    return [f for f in formats if f in of_class["memory_format"] or (f == "*" and len(of_class))]


def _with_share(shares: pl.DataFrame, column: str, least_share: float) -> list[str]:
    """Return the names with a sufficient share of the time on a part and backend."""
    summed = shares.group_by("hardware", "backend", column).agg(pl.col("share").sum())
    return sorted(summed.filter(pl.col("share") >= least_share)[column].unique())


def _operators(shares: pl.DataFrame, least_share: float) -> list[str]:
    """Return the ATen operators with a sufficient share of the time in classes of several operators."""
    mixed = shares.filter(~pl.col("is_single_algorithm") & (pl.col("operator_name") != "*")).filter(
        pl.col("operator_name").n_unique().over("kernel_class") > 1
    )
    return _with_share(mixed, "operator_name", least_share)


def _binding(kernels: Kernels, member: NDArray[np.bool_]) -> list[str]:
    """Return the resources that take at least a tenth of the member kernels' time."""
    weight = kernels.count[member]
    terms = {r: kernels.ideal[t][member] for r, t in _TERM.items()}
    largest = np.maximum.reduce(list(terms.values()))
    total = float(np.sum(weight * largest)) or 1.0
    return [r for r, t in terms.items() if float(np.sum(weight * t * (t >= 0.15 * largest))) / total > 0.1]


def fit(
    kernels: Kernels,
    keys: Sequence[Key] | None = None,
    prior: Fit | None = None,
    train: NDArray[np.bool_] | None = None,
    strength: float = 1.0,
) -> Fit:
    """Fit the keyed parameters to `measured_s` of the cases in `train` (default all).

    `prior` gives the values to pull toward, and every parameter that is not fitted.
    """
    from scipy.optimize import least_squares

    keys = list(keys if keys is not None else choose_keys(kernels))
    base = prior or Fit({})
    centre = np.array([np.log(_prior_value(base, key, lookup_names(kernels, key[0]))) for key in keys])
    low = np.array([np.log(_BOUNDS[k[2], k[3]][0]) for k in keys])
    high = np.array([np.log(_BOUNDS[k[2], k[3]][1]) for k in keys])
    centre = np.clip(centre, low + 1e-6, high - 1e-6)
    seen = subset(kernels, train) if train is not None else kernels
    measured = np.log(seen.cases["measured_s"].to_numpy())
    # Each part, backend, format and version has the same total weight, so that cells with many rows do not dominate.
    weight = _cell_weights(seen.cases)
    pull = np.array([_WEIGHT[k[3]] for k in keys]) * strength
    rule = _Rule.of(seen, keys, base)

    def residuals(x: Floats) -> Floats:
        error = np.log(_case_time(seen, _kernel_time(seen, rule.parameters(x)))) - measured
        return np.concatenate([weight * error, pull * (x - centre)])

    def jacobian(x: Floats) -> Floats:
        return np.vstack([weight[:, None] * _slopes(seen, rule, x), np.diag(pull)])

    found = least_squares(
        residuals, centre, jac=jacobian, bounds=(low, high), loss="soft_l1", f_scale=0.05, max_nfev=40
    )
    return replace(
        base,
        value={**base.value, **dict(zip(keys, np.exp(found.x).tolist(), strict=True))},
        rows=len(seen.cases),
        prior=dict(zip(keys, np.exp(centre).tolist(), strict=True)),
    )


@dataclass
class _Rule:
    """The fitted parameter of each distinct group of kernels, by resource and kind."""

    key: dict[tuple[str, str], NDArray[np.int64]]
    """Row of the keys by group; -1 if not fitted."""
    fixed: dict[tuple[str, str], Floats]
    """Value by group if not fitted."""
    count: int
    """Number of keys."""

    @classmethod
    def of(cls, kernels: Kernels, keys: Sequence[Key], base: Fit) -> _Rule:
        """Find the most specific key or value of every group, as `Fit.get` does."""
        row = {key: float(i) for i, key in enumerate(keys)}
        chosen = _by_group(kernels, Fit({**dict.fromkeys(base.value, -1.0), **row}), default=-1.0)
        return cls({k: v.astype(np.int64) for k, v in chosen.items()}, dict(_by_group(kernels, base)), len(keys))

    def parameters(self, x: Floats) -> Parameters:
        """Return the values by group from the logarithms of the keyed ones."""
        fitted = np.append(np.exp(x), np.nan)
        return {k: np.where(row >= 0, fitted[row], self.fixed[k]) for k, row in self.key.items()}


def _slopes(kernels: Kernels, rule: _Rule, x: Floats) -> Floats:
    """Compute d log(case time) / d log(parameter), (cases, keys). Every kernel depends on one parameter per resource and kind, so a step
    of all of them at once serves all keys."""
    parameter = rule.parameters(x)
    kernel_time = _kernel_time(kernels, parameter)
    case_time = _case_time(kernels, kernel_time)
    device = np.bincount(kernels.case, kernel_time, len(kernels.cases))
    counts = kernels.is_serial | (device + kernels.first_s > kernels.host_s)
    change = np.zeros(len(case_time) * rule.count)
    for kind, row in rule.key.items():
        stepped = {**parameter, kind: parameter[kind] * np.exp(_STEP)}
        slope = (_kernel_time(kernels, stepped) - kernel_time) / _STEP
        key = row[kernels.group_of]
        member = key >= 0
        change += np.bincount(kernels.case[member] * rule.count + key[member], slope[member], len(change))
    rows: Floats = change.reshape(len(case_time), rule.count) * (counts / case_time)[:, None]
    return rows


def lookup_names(kernels: Kernels, name: str) -> tuple[str, ...]:
    """Return a class or ATen operator and the names that replace it."""
    classes = kernels.group.filter(pl.col("operator_name") == name)["kernel_class"]
    return (name, *classes.unique().sort(), "*")


def places(kernels: Kernels, fitted: Fit, name: str) -> list[tuple[str, str]]:
    """Return kernel class and ATen operator of the rows that a class or ATen operator covers."""
    if name == "*" or name in kernels.group["kernel_class"]:
        return [(name, "*")]
    seen = kernels.group.filter(pl.col("operator_name") == name)["kernel_class"].unique().sort().to_list()
    known = [fitted.class_of[name]] if name in fitted.class_of else []
    return [(kernel_class, name) for kernel_class in dict.fromkeys([*seen, *known])] or [(name, "*")]


def _prior_value(prior: Fit, key: Key, names: Sequence[str]) -> float:
    _, memory_format, resource, kind = key
    value = prior.get(names, memory_format, resource, kind)
    return value if 0 < value < np.inf else _PRIOR[resource, kind]


def _cell_weights(cases: pl.DataFrame) -> Floats:
    columns = [c for c in ("hardware", "backend", "memory_format", "software") if c in cases.columns]
    size = cases.select(pl.len().over(columns).alias("n"))["n"].to_numpy()
    weight: Floats = np.sqrt(np.median(size) / size)
    return np.clip(weight, 0.3, 3.0)


def subset(kernels: Kernels, keep: NDArray[np.bool_]) -> Kernels:
    """Select the kernels of some of the cases."""
    index = np.cumsum(keep) - 1
    member = keep[kernels.case]
    return Kernels(
        case=index[kernels.case[member]],
        count=kernels.count[member],
        group=kernels.group,
        group_of=kernels.group_of[member],
        ideal={t: v[member] for t, v in kernels.ideal.items()},
        slope={t: v[member] for t, v in kernels.slope.items()},
        naive_s=kernels.naive_s[member],
        cache_s=kernels.cache_s[member],
        reload_s=kernels.reload_s[member],
        feed_s=kernels.feed_s[member],
        reorder_s=kernels.reorder_s[member],
        paging_s=kernels.paging_s[member],
        block_s=kernels.block_s[member],
        thread_s=kernels.thread_s[member],
        team_s=kernels.team_s[member],
        gap_s=kernels.gap_s[member],
        host_s=kernels.host_s[keep],
        first_s=kernels.first_s[keep],
        is_serial=kernels.is_serial[keep],
        cases=kernels.cases.filter(pl.Series(keep)),
    )


def folds(families: Sequence[str], count: int) -> list[list[str]]:
    """Spread families over folds of about equal rows, the largest first."""
    sizes = pl.Series("f", list(families)).value_counts().sort(["count", "f"], descending=[True, False])
    dealt: list[list[str]] = [[] for _ in range(count)]
    load = [0] * count
    for family, size in sizes.iter_rows():
        least = load.index(min(load))
        dealt[least].append(family)
        load[least] += size
    return [f for f in dealt if f]


def left_out(
    kernels: Kernels,
    keys: Sequence[Key],
    column: str,
    count: int = 6,
    prior: Fit | PriorWithout | None = None,
    strength: float = 1.0,
) -> Floats:
    """Predict every case by a fit that saw no case with the same value of `column` (or of its fold of values). A prior fitted to these
    cases must be a function that makes one without them. [s]"""
    values = kernels.cases[column].to_numpy()
    result = np.full(len(values), np.nan)
    for fold in folds(values.tolist(), count):
        test = np.isin(values, fold)
        if test.all():
            continue
        before = prior(fold) if callable(prior) else prior
        found = fit(kernels, keys, before, ~test, strength)
        result[test] = predict(subset(kernels, test), found)
    return result
