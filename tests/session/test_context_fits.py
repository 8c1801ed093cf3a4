"""Every answer includes the memory of a process when it decides if a run fits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import charz
from charz.session import Session
from charz.session.messages import Messages

BOARD = {"on": "t4", "precision": "fp32", "backend": "eager"}
CONTEXT = 209715200 + 1024 * 40 * 1024
"""200 MiB, and a KiB of each of 40 * 1024 threads."""


@pytest.fixture(scope="module")
def db(file: Path) -> Iterator[Session]:
    with charz.open(file) as session:
        session.messages = Messages(warn=lambda _: None)
        yield session


@pytest.fixture(scope="module")
def largest(db: Session) -> int:
    found = db.report("small", **BOARD, section="largest_batch")
    assert found["context_byte"].to_list() == [CONTEXT]
    return int(found["largest_batch"][0])


def test_the_largest_batch_leaves_room_for_the_context(db: Session, largest: int) -> None:
    """A further sample fits without the context, but not with it."""
    fits, lacks = (db.report("small", **BOARD, batch=batch, section="memory").to_dicts()[0] for batch in (largest, largest + 1))
    device = db.report("small", **BOARD, section="memory")["device_byte"][0]
    assert fits["peak_memory_byte"] + CONTEXT <= device < lacks["peak_memory_byte"] + CONTEXT
    assert lacks["peak_memory_byte"] < device
    assert fits["device_fraction"] == pytest.approx((fits["peak_memory_byte"] + CONTEXT) / device, rel=1e-12)


def test_every_verdict_counts_the_context(db: Session, largest: int, tmp_path: Path) -> None:
    for batch, expected in ((largest, True), (largest + 1, False)):
        asked = BOARD | {"batch": batch}
        work = tmp_path / "work.yaml"
        work.write_text(f"runs: [{{model: small, batch: {batch}, precision: fp32, backend: eager}}]\n")
        verdicts = {
            "memory": db.report("small", **asked, section="memory")["fits_device"],
            "compare": db.compare("small", **asked)["fits_device"],
            "parallel": db.parallel("small", **asked).filter(device_count=1)["fits_device"].unique(),
            "workload": db.workload(work, on="t4")["fits_device"],
        }
        assert {name: found.to_list() for name, found in verdicts.items()} == {key: [expected] for key in verdicts}
    assert db.recommend("small", **BOARD, batch=largest + 1, section="others")["reason"].to_list() == [
        "does not fit the part's memory"
    ]


def test_several_backends_take_a_context_each(db: Session, tmp_path: Path) -> None:
    """Two processes share one board."""
    work = tmp_path / "two.yaml"
    runs = ", ".join(f"{{model: small, precision: fp32, backend: {backend}}}" for backend in ("eager", "inductor"))
    work.write_text(f"runs: [{runs}]\n")
    assert db.workload(work, on="t4")["fits_device"].to_list() == [True]


def test_what_does_not_fit_has_no_speed_up_and_no_price(db: Session, largest: int) -> None:
    found = db.parallel("small", **BOARD, batch=largest + 1)
    lost = found.filter(~found["fits_device"])
    assert lost.height
    for column in ("latency_s", "round_s", "throughput_per_s", "speedup", "scaling_efficiency_fraction", "million_inference_usd"):
        assert lost[column].null_count() == lost.height
    assert found["speedup"].null_count() == found.height


def test_a_server_leaves_room_for_its_context_itself(db: Session) -> None:
    """A tenth of the memory is free under vLLM: no context is added."""
    found = db.sql("SELECT DISTINCT context_byte FROM part_context WHERE backend = 'vllm'")
    assert found["context_byte"].to_list() == [0.0]
