"""Steps of a server as a frame of mixes, compared with the live views."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import charz
from charz.schema.errors import CharzError
from charz.session import Session
from charz.session.question import Question


@pytest.fixture
def db(file: Path) -> Iterator[Session]:
    with charz.open(file) as opened:
        yield opened


Mix = dict[str, int]


def drawn_mixes(count: int) -> list[Mix]:
    """Return steps of decoding and pieces of prompts, some longer than a chunk of any server."""
    drawn = random.Random(7)
    lengths = [1, 1, 1, 16, 48, 3000]
    return [
        {"requests": drawn.randint(1, 64), "tokens": (tokens := drawn.choice(lengths)), "context": tokens + drawn.randint(16, 4096)}
        for _ in range(count)
    ]  # fmt: skip


def live(db: Session, model: str, part: str, mixes: list[Mix], **kept: Any) -> pl.DataFrame:
    """Return the answers of the live views to each mix as a run of its own."""
    runs = [
        {
            "batch": mix["requests"], "phase": "decode" if mix["tokens"] == 1 else "prefill",
            "sequence": None if mix["tokens"] == 1 else mix["tokens"], "context": mix["context"], **kept,
        }
        for mix in mixes
    ]  # fmt: skip
    asked = db.asked(Question([model], [part], precisions=["fp16"], backends=["vllm"], runs=runs))
    query = """
        SELECT batch AS requests, sequence AS tokens, context, latency_s, energy_j, step_limit
        FROM model_cost ORDER BY requests, tokens, context
    """
    return asked.sql(query).pl()


def same(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    """Both ways give the same steps."""
    found = found.unique().sort("requests", "tokens", "context")
    keys = ("requests", "tokens", "context", "step_limit")
    assert found.select(keys).rows() == expected.select(keys).rows()
    for column in ("latency_s", "energy_j"):
        assert found[column].to_list() == pytest.approx(expected[column].to_list(), rel=1e-9)


@pytest.mark.parametrize("part", ["t4", "h100_sxm5_80"])
def test_mixes_are_what_the_views_say(db: Session, part: str) -> None:
    mixes = drawn_mixes(20)
    frame = db.step("decoder", [*mixes, mixes[0]], on=part, backend="vllm", precision="fp16")
    assert frame.rows()[0] == frame.rows()[-1]
    assert frame.select("requests", "tokens", "context").to_dicts() == [*mixes, mixes[0]]
    same(frame, live(db, "decoder", part, mixes))


@pytest.mark.default
def test_mixes_that_share_nothing(db: Session) -> None:
    """The backend's host launches kernel by kernel."""
    mixes = drawn_mixes(3)
    frame = db.step("decoder", mixes, on="t4", backend="inductor", precision="fp16")
    assert frame["latency_s"].null_count() == 0
    assert frame.select("requests", "tokens", "context").to_dicts() == mixes


SMALL = {
    "num_hidden_layers": 4, "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4,
    "vocab_size": 4000,
}  # fmt: skip
MODELS = {
    "hf:mixtral-8x7b": SMALL | {"num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": 512},
    "hf:gemma-2-9b": SMALL | {"head_dim": 32, "sliding_window": 512},
}


@pytest.fixture(scope="module")
def served(few_parts: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Small language models: one with experts and a window, one with layers of two kinds."""
    pytest.importorskip("transformers")
    path = tmp_path_factory.mktemp("served") / "served.duckdb"
    shutil.copy(few_parts, path)
    with charz.open(path) as session:
        for model, settings in MODELS.items():
            session.ingest(
                model, settings=[f"{key}={value}" for key, value in settings.items()], name=model, no_answers=True
            )
        yield session


@pytest.mark.slow
@pytest.mark.parametrize("kept", [{}, {"device_count": 2}, {"kv_precision": "fp8_e4m3"}, {"engine_version": "v0.6-rocm"}])
@pytest.mark.parametrize("name", MODELS)
def test_mixes_of_language_models(served: Session, name: str, kept: dict[str, Any]) -> None:
    mixes = drawn_mixes(25 if kept else 100)
    found = served.step(
        name, mixes, on="h100_sxm5_80", backend="vllm", precision="fp16", devices=kept.get("device_count", 1),
        kv_precision=kept.get("kv_precision"), version=kept.get("engine_version"),
    )  # fmt: skip
    same(found, live(served, name, "h100_sxm5_80", mixes, **kept))


@pytest.mark.slow("small language models are ingested and asked")
def test_a_step_is_explained(served: Session) -> None:
    """A step and a prompt have different lines, and a context needs a phase."""
    model = served.sql("SELECT model FROM model WHERE has_context ORDER BY model")["model"][0]
    of: dict[str, Any] = {"on": "h100_sxm5_80", "backend": "vllm", "batch": 4}
    step = served.explain(model, **of, phase="decode", context=64)
    prompt = served.explain(model, **of, phase="prefill", context=64)
    assert len(step) and len(prompt)
    assert not step.equals(prompt)
    with pytest.raises(CharzError, match="a context without a phase"):
        served.explain(model, **of, context=64)


@pytest.mark.slow("small language models are ingested and asked")
def test_several_numbers_in_flight(served: Session) -> None:
    """Each is answered as if it were asked for alone, and a release without numbers by the nearest one."""
    model = served.sql("SELECT model FROM model WHERE has_context ORDER BY model")["model"][0]
    of: dict[str, Any] = {"on": "h100_sxm5_80", "backend": "vllm", "precision": "bf16", "input": 64, "output": 16}
    both = served.serve(model, **of, concurrency="2,8", version="v0.17")
    assert both["concurrency"].to_list() == [2, 8]
    assert both["ttft_p99_s"][1] > both["ttft_p99_s"][0]
    one = served.serve(model, **of, concurrency=8, version="v0.18")
    assert both.tail(1).equals(one)


@pytest.mark.parametrize(
    ("mixes", "says"),
    [
        (pl.DataFrame({"requests": [1], "tokens": [1]}), "a column is missing: context"),
        ([{"requests": 0, "tokens": 1, "context": 1}], "requests out of range: 0"),
        ([{"requests": 1, "tokens": 8, "context": 4}], "a context shorter than its tokens"),
        (pl.DataFrame({"requests": [], "tokens": [], "context": []}), "no mixes"),
    ],
)
def test_what_is_no_mix(db: Session, mixes: pl.DataFrame, says: str) -> None:
    with pytest.raises(CharzError) as refused:
        db.step("decoder", mixes, on="t4")
    assert refused.value.line.startswith(says)
