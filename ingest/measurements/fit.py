"""Few efficiency parameters from many whole-model times.

A kernel's device time follows `kernel_cost`: compute = max(matrix, vector), memory = max(dram, cache,
reload), busy = max + (1 - overlap) · min, at least the power limit's time, plus the gap. A parameter
is the maximum_fraction or half_work of one (kernel class or ATen operator, memory format, resource);
those that matter little share the row of their class, or `*`. Robust least squares on log ratios of whole-model time, pulled
toward prior values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .kernels import Floats, Kernels

RESOURCES = ("matrix", "vector", "memory", "overlap")
_TERM = {"matrix": "matrix", "vector": "vector", "memory": "dram"}

_BOUNDS = {
    ("matrix", "maximum_fraction"): (0.02, 1.0),
    ("vector", "maximum_fraction"): (0.02, 1.0),
    ("memory", "maximum_fraction"): (0.02, 1.0),
    ("overlap", "maximum_fraction"): (0.02, 1.0),
    ("matrix", "half_work"): (1e3, 1e9),
    ("vector", "half_work"): (1e1, 1e7),
    ("memory", "half_work"): (1e1, 1e6),
}
"""Range of each kind of parameter; operations or bytes for half_work."""

_PRIOR = {
    ("matrix", "maximum_fraction"): 0.7,
    ("vector", "maximum_fraction"): 0.5,
    ("memory", "maximum_fraction"): 0.8,
    ("overlap", "maximum_fraction"): 0.85,
    ("matrix", "half_work"): 1e5,
    ("vector", "half_work"): 1e3,
    ("memory", "half_work"): 2e3,
}
"""Where nothing better is known."""

_WEIGHT = {"maximum_fraction": 0.1, "half_work": 0.03}
"""Pull toward the prior: residual a unit of log distance, in units of the typical model error."""

Parameters = Mapping[tuple[str, str], Floats]
"""Values over the groups of kernels, by resource and kind."""

_EVERY = slice(None)
_STEP = 1e-4
"""Step of the finite differences, in the logarithm of a parameter."""

Key = tuple[str, str, str, str]
"""Kernel class or ATen operator, memory format, resource, and `maximum_fraction` or `half_work`."""

PRODUCTS = frozenset({"conv", "depthwise_conv", "linear", "matmul", "attention"})
"""Classes of one algorithm each: no rows by ATen operator."""


@dataclass
class Fit:
    """Fitted parameters."""

    value: dict[Key, float]
    """By key; `*` stands for every class or format without a row of its own."""
    rows: int = 0
    """Measurements fitted on."""
    prior: dict[Key, float] = field(default_factory=dict)
    """What they were pulled toward."""

    def get(self, names: Sequence[str], memory_format: str, resource: str, kind: str) -> float:
        """The most specific value, as `efficiency_choice` picks it: the earlier name, then the format."""
        for name in names:
            for f in (memory_format, "*"):
                if (name, f, resource, kind) in self.value:
                    return self.value[name, f, resource, kind]
        return 0.0 if kind == "half_work" else _PRIOR[resource, kind]


def predict(kernels: Kernels, fit: Fit) -> Floats:
    """Latency of every case. [s]"""
    return _case_time(kernels, _kernel_time(kernels, _by_group(kernels, fit)))


def _by_group(kernels: Kernels, fit: Fit, kinds: Iterable[tuple[str, str]] = tuple(_PRIOR)) -> Parameters:
    """Parameters of the given resources and kinds, as arrays over the distinct groups."""
    groups = list(kernels.group.select("operator_name", "kernel_class", "memory_format").iter_rows())
    return {(r, k): np.array([fit.get((o, c, "*"), f, r, k) for o, c, f in groups]) for r, k in kinds}


def _kernel_time(kernels: Kernels, parameter: Parameters, member: NDArray[np.int64] | slice = _EVERY) -> Floats:
    """Device time of each kernel, or of some of them, times its count. [s]"""
    of = kernels.group_of[member]
    time = {
        resource: (kernels.ideal[term][member] + parameter[resource, "half_work"][of] * kernels.slope[term][member])
        / parameter[resource, "maximum_fraction"][of]
        for resource, term in _TERM.items()
    }
    compute = np.maximum(time["matrix"], time["vector"])
    cache = kernels.cache_s[member] / parameter["memory", "maximum_fraction"][of]
    memory = np.maximum(np.maximum(time["memory"], cache), kernels.reload_s[member])
    overlap = parameter["overlap", "maximum_fraction"][of]
    busy = np.maximum(compute, memory) + (1 - overlap) * np.minimum(compute, memory)
    result: Floats = kernels.count[member] * (np.maximum(busy, kernels.power_s[member]) + kernels.gap_s[member])
    return result


def _case_time(kernels: Kernels, kernel_time: Floats) -> Floats:
    """Latency of each case: host and device add where dispatch is serial, else the slower of the two,
    the bound of the queue that needs no order."""
    device = np.bincount(kernels.case, kernel_time, len(kernels.cases))
    result: Floats = np.where(kernels.is_serial, device + kernels.host_s, np.maximum(device, kernels.host_s))
    return result


def choose_keys(
    kernels: Kernels, least_share: float = 0.01, by_format: Sequence[str] = ("conv", "depthwise_conv", "norm")
) -> list[Key]:
    """Parameters worth fitting: a maximum_fraction for each class, and each ATen operator of a mixed class, with its
    share of the time, by memory format for the classes listed, for the resources that can bind it; one
    overlap, and one half_work a resource and class of matrix products."""
    shares = kernels.share_of_time().filter(pl.col("weight") > 0)
    formats = shares["memory_format"].unique().sort().to_list()
    keys: list[Key] = [("*", "*", r, "maximum_fraction") for r in RESOURCES]
    keys += [("*", "*", "memory", "half_work"), ("*", "*", "matrix", "half_work")]
    for kernel_class in _with_share(shares, "kernel_class", least_share):
        member = np.isin(kernels.group_of, np.flatnonzero((kernels.group["kernel_class"] == kernel_class).to_numpy()))
        split = formats if kernel_class in by_format and len(formats) > 1 else ["*"]
        for memory_format in split:
            binding = _binding(kernels, member)
            if kernel_class == "conv" and kernels.is_serial.any() and "memory" not in binding:
                # Libraries for processors convert layouts around each convolution: traffic that no roofline shows.
                binding.append("memory")
            keys += [(kernel_class, memory_format, r, "maximum_fraction") for r in binding]
        if kernel_class in ("conv", "linear", "matmul"):
            keys.append((kernel_class, "*", "matrix", "half_work"))
    for name, kernel_class in _operators(shares, least_share).items():
        split = formats if kernel_class in by_format and len(formats) > 1 else ["*"]
        keys += [(name, memory_format, "memory", "maximum_fraction") for memory_format in split]
    return keys


def _with_share(shares: pl.DataFrame, column: str, least_share: float) -> list[str]:
    """Names that take their share of the time on a part, backend and format."""
    cell = ["hardware_id", "backend", "memory_format"]
    summed = shares.group_by(*cell, column).agg(pl.col("share").sum())
    return sorted(summed.filter(pl.col("share") >= least_share)[column].unique())


def _operators(shares: pl.DataFrame, least_share: float) -> dict[str, str]:
    """ATen operators with their share of the time, and their classes, where a class has several."""
    mixed = shares.filter(~pl.col("kernel_class").is_in(PRODUCTS) & (pl.col("operator_name") != "*")).filter(
        pl.col("operator_name").n_unique().over("kernel_class") > 1
    )
    class_of = dict(mixed.select("operator_name", "kernel_class").iter_rows())
    return {name: class_of[name] for name in _with_share(mixed, "operator_name", least_share)}


def _binding(kernels: Kernels, member: NDArray[np.bool_]) -> list[str]:
    """Resources that take a tenth of the time of the member kernels or more."""
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

    `prior` gives the values to be pulled toward and every parameter not fitted.
    """
    from scipy.optimize import least_squares

    keys = list(keys if keys is not None else choose_keys(kernels))
    base = prior or Fit({})
    centre = np.array([np.log(_prior_value(base, key, lookup_names(kernels, key[0]))) for key in keys])
    low = np.array([np.log(_BOUNDS[k[2], k[3]][0]) for k in keys])
    high = np.array([np.log(_BOUNDS[k[2], k[3]][1]) for k in keys])
    centre = np.clip(centre, low + 1e-6, high - 1e-6)
    part = subset(kernels, train) if train is not None else kernels
    measured = np.log(part.cases["measured_s"].to_numpy())
    # Cells with many rows must not drown the rest: each part, backend, format and version weighs the
    # same in sum.
    weight = _cell_weights(part.cases)
    pull = np.array([_WEIGHT[k[3]] for k in keys]) * strength

    def valued(x: Floats) -> Fit:
        return replace(base, value={**base.value, **dict(zip(keys, np.exp(x).tolist(), strict=True))})

    def residuals(x: Floats) -> Floats:
        candidate = valued(x)
        error = np.log(predict(part, candidate)) - measured
        return np.concatenate([weight * error, pull * (x - centre)])

    def jacobian(x: Floats) -> Floats:
        # A parameter touches the kernels of a few groups only: just those are timed again.
        candidate = valued(x)
        parameter = _by_group(part, candidate)
        kernel_time = _kernel_time(part, parameter)
        case_time = _case_time(part, kernel_time)
        rows = np.zeros((len(part.cases) + len(keys), len(keys)))
        for column, key in enumerate(keys):
            kind = key[2], key[3]
            stepped = replace(candidate, value={**candidate.value, key: float(np.exp(x[column] + _STEP))})
            moved = {**parameter, **_by_group(part, stepped, [kind])}
            groups = np.flatnonzero(moved[kind] != parameter[kind])
            member = np.flatnonzero(members[groups].any(axis=0)) if len(groups) else np.zeros(0, np.int64)
            changed = kernel_time.copy()
            changed[member] = _kernel_time(part, moved, member)
            rows[: len(part.cases), column] = weight * (np.log(_case_time(part, changed)) - np.log(case_time)) / _STEP
            rows[len(part.cases) + column, column] = pull[column]
        return rows

    members = np.array([part.group_of == g for g in range(len(part.group))])
    found = least_squares(
        residuals, centre, jac=jacobian, bounds=(low, high), loss="soft_l1", f_scale=0.05, max_nfev=40
    )
    return replace(valued(found.x), rows=len(part.cases), prior=dict(zip(keys, np.exp(centre).tolist(), strict=True)))


def lookup_names(kernels: Kernels, name: str) -> tuple[str, ...]:
    """A class or ATen operator with what stands in for it."""
    classes = kernels.group.filter(pl.col("operator_name") == name)["kernel_class"]
    return (name, *classes.unique().sort(), "*")


def _prior_value(prior: Fit, key: Key, names: Sequence[str]) -> float:
    _, memory_format, resource, kind = key
    value = prior.get(names, memory_format, resource, kind)
    return value if value > 0 else _PRIOR[resource, kind]


def _cell_weights(cases: pl.DataFrame) -> Floats:
    columns = [c for c in ("hardware_id", "backend", "memory_format", "software") if c in cases.columns]
    size = cases.select(pl.len().over(columns).alias("n"))["n"].to_numpy()
    weight: Floats = np.sqrt(np.median(size) / size)
    return np.clip(weight, 0.3, 3.0)


def subset(kernels: Kernels, keep: NDArray[np.bool_]) -> Kernels:
    """The kernels of some of the cases."""
    index = np.cumsum(keep) - 1
    member = keep[kernels.case]
    return Kernels(
        case=index[kernels.case[member]],
        count=kernels.count[member],
        group=kernels.group,
        group_of=kernels.group_of[member],
        ideal={t: v[member] for t, v in kernels.ideal.items()},
        slope={t: v[member] for t, v in kernels.slope.items()},
        cache_s=kernels.cache_s[member],
        reload_s=kernels.reload_s[member],
        power_s=kernels.power_s[member],
        gap_s=kernels.gap_s[member],
        host_s=kernels.host_s[keep],
        is_serial=kernels.is_serial[keep],
        cases=kernels.cases.filter(pl.Series(keep)),
    )


def folds(families: Sequence[str], count: int) -> list[list[str]]:
    """Families dealt into folds of about equal rows, the largest first."""
    sizes = pl.Series("f", list(families)).value_counts().sort(["count", "f"], descending=[True, False])
    dealt: list[list[str]] = [[] for _ in range(count)]
    load = [0] * count
    for family, size in sizes.iter_rows():
        least = load.index(min(load))
        dealt[least].append(family)
        load[least] += size
    return [f for f in dealt if f]


def left_out(
    kernels: Kernels, keys: Sequence[Key], column: str, count: int = 6, prior: Fit | None = None, strength: float = 1.0
) -> Floats:
    """Prediction of every case by a fit that saw no case with the same value of `column` (or of its
    fold of values). [s]"""
    values = kernels.cases[column].to_numpy()
    result = np.full(len(values), np.nan)
    for fold in folds(values.tolist(), count):
        test = np.isin(values, fold)
        if test.all():
            continue
        found = fit(kernels, keys, prior, ~test, strength)
        result[test] = predict(subset(kernels, test), found)
    return result
