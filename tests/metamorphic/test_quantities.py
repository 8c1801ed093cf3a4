"""Two commands that report one quantity agree, and a quantity changes in the expected direction when its question does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import charz
from charz.schema.errors import CharzError
from charz.session import Session

from .questions import ask

RUN = {"on": "rtx4090", "batch": 4, "precision": "fp16", "backend": "inductor"}


def value(db: Session, method: str, column: str, **named: Any) -> float:
    """Return the only number of a column."""
    frame = ask(db, method, **named)
    assert frame is not None
    (found,) = frame[column].unique().to_list()
    return found


LATENCIES = (
    ("compare", "latency_s", {"models": "net"}),
    ("compare", "latency_s", {"models": "net", "section": "price"}),
    ("compare", "latency_s", {"models": "net", "section": "saturation"}),
    ("report", "latency_s", {"model": "net", "section": "concurrency"}),
    ("report", "latency_s", {"model": "net"}),
    ("recommend", "latency_s", {"models": "net"}),
)

PEAKS = (
    ("compare", "peak_memory_byte", {"models": "net", "section": "memory"}),
    ("compare", "peak_memory_byte", {"models": "net"}),
    ("compare", "peak_memory_byte", {"models": "net", "section": "saturation"}),
    ("report", "peak_memory_byte", {"model": "net", "section": "memory"}),
    ("recommend", "peak_memory_byte", {"models": "net"}),
)

ENERGIES = (
    ("compare", "energy_per_sample_j", {"models": "net"}),
    ("compare", "inference_j", {"models": "net", "section": "price"}),
    ("compare", "sample_j", {"models": "net", "section": "saturation"}),
    ("recommend", "sample_j", {"models": "net"}),
)


@pytest.mark.parametrize("asked", [LATENCIES, PEAKS, ENERGIES], ids=["latency", "peak memory", "energy"])
def test_commands_agree(db: Session, asked: tuple[tuple[str, str, dict[str, Any]], ...]) -> None:
    found = [value(db, method, column, **named, **RUN) for method, column, named in asked]
    assert len({f"{number:.9g}" for number in found}) == 1, list(zip(asked, found, strict=True))


@pytest.mark.parametrize("precision", ["bf16", "torch-fp32"])
def test_memory_of_a_training_run(db: Session, precision: str) -> None:
    """`report` shows a run's activations, `train` the same with gradients and the optimizer's state."""
    run = {"on": "rtx4090", "batch": 16, "precision": precision, "backend": "eager"}
    held = value(db, "report", "activation_byte", section="memory", model="net_trained,train", **run)
    assert value(db, "train", "activation_byte", models="net_trained,train", section="memory", **run) == pytest.approx(held)


@pytest.mark.parametrize("devices", [1, 2])
def test_a_decode_step_is_what_llm_says(db: Session, devices: int) -> None:
    """A report of one step agrees with `llm`; a request for the kernels of a split model is refused, and does not return an empty
    table."""
    run = {"on": "h100_sxm5_80", "batch": 2, "precision": "fp16", "backend": "vllm", "context": 64, "devices": devices}
    step = value(db, "report", "latency_s", model="language", phase="decode", **run)
    assert step == pytest.approx(value(db, "llm", "tpot_s", models="language", **run), rel=1e-9)
    asked = {"model": "language", "phase": "decode", "section": "kernels", **run}
    if devices == 1:
        kernels = ask(db, "report", **asked)
        assert kernels is not None and not kernels.is_empty()
    else:
        with pytest.raises(CharzError, match="no section kernels for a model split over devices: --devices 2"):
            db.report(**asked)


def test_a_choice_is_the_server_that_serve_describes(db: Session) -> None:
    """A choice at a rate, and `serve` with its slots, report the same load, times and memory of the same server."""
    common: dict[str, Any] = {"on": "h100_sxm5_80", "devices": 2, "precision": "fp16", "output": 32, "rate": 5.0}
    chosen = ask(db, "llm", models="language", prompt=64, ttft="1s", **common)
    assert chosen is not None
    (row,) = chosen.to_dicts()
    served = ask(db, "serve", model="language", input=64, slots=row["slots"], **common)
    assert served is not None
    (same,) = served.filter(split=row["split"]).to_dicts()
    for name in ("weight_byte", "kv_cache_byte", "peak_memory_byte", "load_fraction", "requests_per_s", "ttft_p99_s", "tpot_p99_s"):
        assert row[name] == pytest.approx(same[name], rel=1e-9), name


def test_one_device_is_what_a_split_of_one_is(db: Session) -> None:
    """The parallel plan's first row is the run itself, and so is the step of one device."""
    alone = value(db, "compare", "latency_s", models="net", on="h100_sxm5_80", batch=16)
    frame = ask(db, "parallel", model="net", on="h100_sxm5_80", batch=16)
    assert frame is not None
    assert set(frame.filter(pl.col("device_count") == 1)["latency_s"].round(12)) == {round(alone, 12)}


@pytest.fixture(scope="module")
def grown(networks: Path) -> Iterator[Session]:
    with charz.open(networks) as db:
        yield db


@pytest.mark.parametrize("part", ["rtx4090", "i7_13700k", "kpu_t64", "tpu_v4"])
def test_a_larger_batch_takes_no_less(grown: Session, part: str) -> None:
    """Twice the batch takes no less time, energy and memory."""
    frame = ask(grown, "compare", models="net", on=part, batch="1:64", section="saturation")
    assert frame is not None
    for column in ("latency_s", "peak_memory_byte"):
        numbers = frame.sort("batch")[column].to_list()
        assert len(numbers) == 7
        assert all(one <= other * (1 + 1e-9) for one, other in pairwise(numbers)), (column, numbers)
    energies = (frame["sample_j"] * frame["batch"]).to_list()
    assert all(one <= other * (1 + 1e-9) for one, other in pairwise(energies)), energies


@pytest.mark.parametrize("part", ["rtx4090", "tpu_v4"])
def test_a_longer_context_takes_no_less(grown: Session, part: str) -> None:
    frame = ask(grown, "llm", models="language", on=part, batch=8, context="64:1024")
    assert frame is not None
    for column in ("ttft_s", "tpot_s", "kv_cache_byte", "peak_memory_byte"):
        numbers = frame.sort("context")[column].to_list()
        assert len(numbers) == 5
        assert all(one <= other * (1 + 1e-9) for one, other in pairwise(numbers)), (column, numbers)


@pytest.mark.parametrize("column", ["weight_byte", "kv_cache_byte", "kv_cache_token_byte", "peak_memory_byte"])
def test_devices_share_what_one_holds(grown: Session, column: str) -> None:
    """A device stores at least a fair share, and all devices together at least as much as one."""
    frame = ask(grown, "llm", models="language", on="h100_sxm5_80", batch=8, context=512, devices="1,2,4,8")
    assert frame is not None
    held = dict(frame.select("device_count", column).iter_rows())
    for count, number in held.items():
        assert number * count >= held[1] * (1 - 1e-9), held
        assert number <= held[1] * (1 + 1e-9), held


def test_a_group_of_heads_is_held_whole(grown: Session) -> None:
    """With two heads of keys and values on 8 devices each device stores one of them, as on four devices."""
    frame = ask(grown, "llm", models="language", on="h100_sxm5_80", batch=8, context=512, devices="1,2,8")
    assert frame is not None
    held = dict(frame.select("device_count", "kv_cache_token_byte").iter_rows())
    assert held[8] == held[2] == held[1] / 2


def test_a_latent_is_held_whole(grown: Session) -> None:
    """Every device keeps the latent of all heads: (64 + 16) numbers of 2 bytes in each of 2 layers."""
    frame = ask(grown, "llm", models="latent", on="h100_sxm5_80", batch=8, context=512, devices="1,2,8")
    assert frame is not None
    assert set(frame["kv_cache_token_byte"]) == {(64 + 16) * 2 * 2}
