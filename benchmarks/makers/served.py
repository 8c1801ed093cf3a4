"""Numbers of `engine_version` that fit servers under load best, printed with the errors of models, parts and engines left out.

    python -m benchmarks.makers.served --file FILE [--measurements FOLDER] [--bands]

FILE has the language models. `--bands` prints rows of `prediction_band` in place of the fit: the errors of the answers of `charz serve`.

A release has three numbers: the time of a step, of each sequence in it, and of each kernel of a prompt. A release whose rows are all left out
takes the numbers of the nearest one, an engine the median of the others' newest.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.studies import under_load
from benchmarks.study import Given
from charz.schema.catalog.efficiency import PredictionBand
from charz.session import Session, releases
from charz.session.ask.server_rows import by_target

PROMPT_WEIGHT = 0.2
"""Weight of times to the first token in a fit, relative to times per token."""
USUAL_PROMPT_KERNEL_S = 6e-5
"""Time of a kernel of a prompt where no row has a median time to the first token. [s]"""
STARTS = ((1e-3, 2e-5, 6e-5), (3e-3, 5e-5, 1e-4), (2e-4, 2e-6, 6e-5))
NEWEST = ("v0.18", "v0.5.12", "v1.2")
Numbers = np.ndarray[Any, np.dtype[np.float64]]


def bases(given: Given) -> pl.DataFrame:
    """Read the rows with what steps and prompts take without these numbers, and with the launches of a prompt."""
    rows = under_load.plain(given)
    with given.session() as db:
        groups = rows.group_by(under_load.CONFIGURATION, maintain_order=True)
        return pl.DataFrame(
            [row for key, group in groups for row in _based(db, dict(zip(under_load.CONFIGURATION, key, strict=True)), group)],
            infer_schema_length=None,
        )


def _based(db: Session, case: dict[str, Any], group: pl.DataFrame) -> Iterator[dict[str, Any]]:
    known = {name: dict(db.sql(f"SELECT CONCAT(backend, ' ', engine_version), {name} FROM engine_version").iter_rows())
             for name in ("step_s", "sample_s", "prompt_kernel_s")}  # fmt: skip
    prompt, answer = (round(under_load.MEAN_LENGTH * case[name]) for name in ("isl", "osl"))
    backend = under_load.ENGINES[case["framework"]]
    kept = {
        "engine_version": case["release"], "kv_precision": under_load.KV.get(case["kv_precision"]),
        "device_count": case["tp"] if case["tp"] > 1 else None,
    }  # fmt: skip
    steps = [
        {"batch": batch, "sequence": None, "phase": "decode", "context": prompt + answer // 2, **kept}
        for batch in group["concurrency"].unique()
    ]
    scoped = db._served(
        [under_load.MODELS[case["model"]]], [case["hw"]], [under_load.policy(case)], [backend],
        [*db._runs_of_prompts(prompt, prompt, kept), *steps],
    )  # fmt: skip
    found = next(iter(by_target(scoped).values()))
    release = f"{backend} {found[0]['engine_version']}"
    step_s, sample_s, kernel_s = (known[name][release] for name in ("step_s", "sample_s", "prompt_kernel_s"))
    base = {
        (row["phase"], row["batch"]): row["latency_s"] - row["prompt_launch_s"] - step_s - row["batch"] * sample_s for row in found
    }
    alone = next(row for row in found if row["phase"] == "prefill" and row["batch"] == 1)
    chunk = max(1, int(alone["chunk_tokens"] // prompt))
    for row in group.iter_rows(named=True):
        yield {
            **{name: row[name] for name in ("model", "hw", "framework", "concurrency")}, "release": release, "steps": answer - 1,
            "step": base["decode", row["concurrency"]], "alone": base["prefill", 1], "full": base["prefill", chunk], "chunk": chunk,
            "launches": alone["prompt_launch_s"] / kernel_s, "ttft": row["ttft_median_s"],
            "tpot": row["tpot_median_s"] or row["tpot_mean_s"],
        }  # fmt: skip


def times(rows: pl.DataFrame, numbers: Numbers) -> tuple[Numbers, Numbers]:
    """Return times per token and to the first token, as `session/ask/load.py` computes them if all requests decode. [s]"""
    of = {name: rows[name].to_numpy().astype(float) for name in ("concurrency", "steps", "step", "alone", "full", "chunk", "launches")}
    flight, chunk = of["concurrency"], of["chunk"]
    step = of["step"] + numbers[0] + flight * numbers[1]
    alone, full = of["alone"] + numbers[0] + numbers[1], of["full"] + numbers[0] + chunk * numbers[1]
    each = np.where(chunk > 1, (full - alone) / np.maximum(chunk - 1, 1), alone)
    together = np.minimum(np.maximum(1, flight / of["steps"]), chunk)
    taken, first = each + np.maximum(alone - each, 0) / together, alone + of["launches"] * numbers[2]
    others = (flight - 1) / flight
    rate = flight / (of["steps"] * step + others * flight * taken + first)
    queued, served = np.minimum(0.95, rate * first / together), first / together
    return step / (1 - np.minimum(0.9, others * rate * taken)), first + others * (queued * served / 2 / (1 - queued) + 0.5 * step)


def errors(rows: pl.DataFrame, numbers: Numbers) -> tuple[Numbers, Numbers]:
    """Return the logarithms of predicted over measured times per token, and of those to the first token that are known."""
    tpot, ttft = times(rows, numbers)
    seen = rows["ttft"].cast(pl.Float64).to_numpy()
    return np.log(tpot / rows["tpot"].to_numpy()), np.log(ttft / seen)[~np.isnan(seen)]


def fit(rows: pl.DataFrame) -> Numbers:
    """Find the three numbers of a release."""
    from scipy.optimize import minimize

    def loss(logarithms: Numbers) -> float:
        tpot, ttft = errors(rows, np.exp(logarithms))
        return float(np.abs(tpot).mean() + (PROMPT_WEIGHT * np.abs(ttft).mean() if len(ttft) else 0.0))

    found = min((minimize(loss, np.log(start), method="Nelder-Mead", options={"maxiter": 800}) for start in STARTS), key=lambda m: m.fun)
    numbers = np.exp(found.x)
    if not rows["ttft"].is_not_null().any():
        numbers[2] = USUAL_PROMPT_KERNEL_S
    return numbers


def borrowed(release: str, known: dict[str, Numbers]) -> Numbers:
    """Return the numbers of a release, of the nearest one of its engine, or of the newest of other engines."""
    backend, version = release.split(" ")
    own = {name.split(" ")[1]: numbers for name, numbers in known.items() if name.startswith(f"{backend} ")}
    nearest = version if version in own else releases.nearest(version, own)
    if nearest is not None:
        return own[nearest]
    return np.median([numbers for name, numbers in known.items() if name.split(" ")[1] in NEWEST], axis=0)


BANDED = {"TPOT": "tpot", "TTFT, mean": "ttft_mean", "TTFT, median": "ttft"}
"""Quantity of a band by that of the study."""


def bands(rows: pl.DataFrame) -> list[PredictionBand]:
    """Compute the bands of each engine: median error, and tenth and ninetieth percentile of measured / predicted."""
    found = []
    for (engine, name), group in rows.filter(pl.col("quantity").is_in(list(BANDED))).group_by("backend", "quantity"):
        ratio = (group["measured"] / group["predicted"]).to_numpy()
        low, median, high = np.quantile(ratio, 0.1), np.median(np.abs(1.0 / ratio - 1.0)), np.quantile(ratio, 0.9)
        found.append(
            PredictionBand(
                scope="*", backend=under_load.ENGINES[str(engine)], batch_class="*", quantity=BANDED[str(name)], low_factor=round(float(low), 3),
                high_factor=round(float(high), 3), median_error_fraction=round(float(median), 3), row_count=len(group),
                part_count=group["hardware"].n_unique(), parts=",".join(group["hardware"].unique().sort()),
                source_id="charz_under_load_fit", confidence="derived",
            )
        )  # fmt: skip
    return sorted(found, key=lambda band: (list(under_load.ENGINES.values()).index(band.backend), list(BANDED.values()).index(band.quantity)))


def main() -> None:
    """Fit and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--measurements", type=Path, default=Given.__dataclass_fields__["measurements"].default)
    parser.add_argument("--bands", action="store_true")
    options = parser.parse_args()
    if options.bands:
        print(pl.DataFrame([band.model_dump() for band in bands(under_load.under_load(Given(options.file, options.measurements)))]).write_csv(), end="")
        return
    rows = bases(Given(options.file, options.measurements))
    print("release", "rows", "step_s", "sample_s", "prompt_kernel_s", "TPOT median, p90", "TTFT median")
    for (release,), group in rows.group_by("release", maintain_order=True):
        numbers = fit(group)
        print(release, len(group), *(f"{number:.2g}" for number in numbers), _score(*errors(group, numbers)))
    for axis in ("model", "hw", "framework"):
        for (name,), group in rows.group_by(axis, maintain_order=True):
            others = rows.filter(pl.col(axis) != name)
            known = {str(release): fit(known) for (release,), known in others.group_by("release")}
            found = [errors(own, borrowed(str(release), known)) for (release,), own in group.group_by("release")]
            print("left out:", name, len(group), _score(*(np.concatenate(both) for both in zip(*found, strict=True))))


def _score(tpot: Numbers, ttft: Numbers) -> str:
    first = f"{np.median(np.abs(ttft)):.3f}" if len(ttft) else "-"
    return f"{np.median(np.abs(tpot)):.3f} {np.quantile(np.abs(tpot), 0.9):.3f} {first}"


if __name__ == "__main__":
    main()
