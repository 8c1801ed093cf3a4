"""Training over devices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import charz
from charz.schema.errors import CharzError
from charz.session import Session
from charz.session.answer import Rows
from charz.session.ask import splits, train
from charz.session.ask.train import _budget, _counted, _degrees
from charz.session.messages import Messages
from charz.session.quantities import size

pytest.importorskip("transformers")

MODEL = "trained"


def test_degrees_divide_devices_and_samples() -> None:
    """16 devices, pairs of which share a product: 8 replicas or, in a pipeline of two, 4; 32 samples are 2 or 4 micro batches of
    2."""
    found = list(_degrees([[2], [1, 2], [1, 2], [1], [1]], [16], 32, [2]))
    named = {splits.name(degrees, 1, "full") for degrees in found}
    assert named == {
        "tp2 dp8 m2 zero1 full", "tp2 pp2 dp4 m4 zero1 full", "tp2 pp2 v2 dp4 m4 zero1 full",
    }  # fmt: skip
    assert list(_degrees([[3], [1], [1], [1], [1]], [16], None, [1])) == []
    assert splits.name(next(iter(_degrees([[1], [1], [1], [1], [1]], [], None, [1]))), 0, "none") == "one"


FITS = Rows(("hardware", "split", "whole_s", "whole_j", "whole_usd"), [("h100", "dp64", 432_000.0, 7.2e10, None), ("h100", "dp8", 864_000.0, 1.0, 1.0)])


def test_a_budget_in_days_dollars_and_megawatt_hours() -> None:
    """432,000 s are 5 days, and 72 GJ are 20 MWh; the first row is the fastest."""
    assert _budget(FITS, 2e12) == "fastest for 2e+12 tokens, h100 dp64: 5.00 days, -, 20.0 MWh"
    assert _budget(Rows(FITS.columns, [("h100", "dp64", None, None, None)]), 2e12) == "2e+12 tokens: no split fits"
    assert _budget(FITS, 2e12, "fastest that trl starts").startswith("fastest that trl starts for 2e+12 tokens, h100 dp64: ")
    assert _budget(Rows(FITS.columns, []), 2e12, "fastest that trl starts") == "2e+12 tokens: no split fits and has a command"


def test_lent_batches_and_sequences_are_told() -> None:
    rows = [{"batch": 1, "sequence": 128}]
    (line,) = train.usual(rows, batch=None, sequence=None)
    assert line.startswith("batch 1 and sequence 128: usual of the model; --batch and --sequence take yours")
    assert train.usual(rows, batch=[4], sequence=None)[0].startswith("sequence 128: usual of the model; --sequence takes yours")
    assert train.usual(rows, batch=[4], sequence="512") == train.usual([{"batch": 64, "sequence": 1}], batch=None, sequence=None) == []


def test_images_are_counted_in_samples() -> None:
    """A run of sequence 1 has no tokens, and throughput and price have the unit of what the models read."""

    class Runs:
        def __init__(self, *sequences: int) -> None:
            self.values = ", ".join(f"({sequence})" for sequence in sequences)

        def execute(self, query: str) -> Any:
            return duckdb.sql(query.replace("FROM run", f"FROM (SELECT STRUCT_PACK(sequence := s) AS run FROM (VALUES {self.values}) AS r (s))"))

    asked = ("step_s", "tokens_per_s")
    assert _counted(Runs(64), asked, None) == asked  # type: ignore[arg-type]
    assert _counted(Runs(1), asked, None) == ("step_s", "samples_per_s")  # type: ignore[arg-type]
    assert _counted(Runs(1, 64), asked, None) == ("step_s", "tokens_per_s", "samples_per_s")  # type: ignore[arg-type]


def test_recomputation_is_explained() -> None:
    """A row that recomputes names the memory that it would need without; a row that does not has no line."""
    row = {"hardware": "p", "batch": 4, "sequence": 8, "split": "tp2 full", "plain_byte": 32 * 2.0**30, "room_byte": 24 * 2.0**30, "is_fitting": True}
    found = train.recomputing([row, row | {"batch": 1, "split": "tp2"}])
    assert found[0].startswith("p, batch 4, sequence 8: full recomputation") and found[0].endswith("needs 32.0 GiB of 24.0 GiB")
    assert len(found) == 2 and "--recompute" in found[1]
    many = train.recomputing([row | {"batch": batch} for batch in range(9)])
    assert len(many) == train.MOST_TOLD + 2 and many[-2].startswith("3 further rows")
    assert train.recomputing([row | {"split": "one"}]) == train.recomputing([row | {"is_fitting": False}]) == []


def test_selective_recomputation_that_saves_nothing_is_left_out() -> None:
    """Of two splits, the first keeps no scores of its attention. A split of which none is asked without recomputation stays."""
    rows = [("a", "none", 5.0), ("a", "selective", 5.0), ("a", "full", 2.0), ("b", "none", 5.0), ("b", "selective", 4.0), ("c", "selective", 5.0)]
    others = ", ".join(f"0 AS {name}" for name in train._DEGREES if name != "hardware")
    steps = f"SELECT hardware, recompute, peak_memory_byte, {others} FROM rows AS r (hardware, recompute, peak_memory_byte)"
    query = f"WITH rows AS (SELECT * FROM (VALUES {', '.join(map(str, rows))})) SELECT hardware, recompute FROM ({steps}) {train._SAVING} ORDER BY ALL"
    assert duckdb.sql(query).fetchall() == [("a", "full"), ("a", "none"), ("b", "none"), ("b", "selective"), ("c", "selective")]


def test_what_fits_nowhere_tells_the_memory() -> None:
    """Neither row fits. The message names the row that needs 135 GiB, since the other one needs 136."""
    row = {"hardware": "p", "room_byte": 24 * 2.0**30, "is_fitting": False, "repeated": "none", "frozen": None}
    rows = [row | {"needed_byte": need * 2.0**30} for need in (136, 135)]
    (line,) = train.lacking(rows)
    assert line.startswith("nothing fits: p needs 135 GiB a device and has 24.0 GiB, without the driver's share; less need --devices")
    assert line.endswith("less need --devices 8 --zero 3, or --adapter 16 --frozen nf4")
    # A stated recomputation that is not full has room left; weights that are frozen already do not.
    assert "less need --recompute full, or --devices" in train.lacking(rows, ["none"])[0]
    (line,) = train.lacking([row | {"repeated": "full", "frozen": "nf4"} for row in rows], ["full"])
    assert " needs 135 GiB a device with full recomputation and has 24.0 GiB, without the driver's share; " in line
    assert line.endswith("; less need --devices 8 --zero 3, or a smaller --batch or --sequence")
    assert train.lacking([*rows, rows[0] | {"is_fitting": True}]) == train.lacking([]) == []


@pytest.mark.parametrize(
    ("whole_s", "whole_j", "said"),
    [(36_000.0, 3.6e7, "10.0 hours, 3.00 USD, 10.0 kWh"), (864_000.0, 7.2e9, "10.0 days, 3.00 USD, 2.00 MWh"), (60.0, None, "60.0 s, 3.00 USD, - kWh")],
)
def test_a_budget_in_units_of_people(whole_s: float, whole_j: float | None, said: str) -> None:
    """An hour has 3,600 s, a kilowatt-hour 3.6 MJ."""
    columns = ("hardware", "split", "tokens_per_s", "whole_s", "whole_usd", "whole_j")
    assert train._budget(Rows(columns, [("p", "one", 1.0, whole_s, 3.0, whole_j)]), 2e9) == f"fastest for 2e+09 tokens, p: {said}"
    assert train._budget(Rows(columns, [("p", "one", 1.0, None, None, None)]), 2e9) == "2e+09 tokens: no split fits"


def test_a_missing_backward_pass_names_the_source(file: Path) -> None:
    """A model's own name may name another one where it is ingested anew."""
    with charz.open(file) as db:
        ((source,),) = db.connection().execute("SELECT source FROM model WHERE model = 'small'").fetchall()
        with pytest.raises(CharzError) as refused:
            db.train("small", on="t4")
    assert source != "small" and refused.value.next == f"`charz ingest {source} --train` adds one"


@pytest.mark.slow
class TestAsked:
    @pytest.fixture(scope="class")
    def db(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
        settings = ["n_layer=2", "n_embd=256", "n_head=4", "vocab_size=1024"]
        with charz.open(tmp_path_factory.mktemp("train") / "t.duckdb") as db:
            db.ingest(["hf:gpt2"], settings=settings, train=True, no_answers=True, name=MODEL)
            yield db

    def test_the_fastest_split_first(self, db: Session) -> None:
        frame = db.train(MODEL, on="h100_sxm5_80", devices=8, tensor="1,2", zero="0,3", batch=2, global_batch=32, sequence=128)
        assert set(frame["split"]) == {"dp8 m2", "dp8 m2 zero3", "tp2 dp4 m4", "tp2 dp4 m4 zero3"}
        assert frame["tokens_per_s"].to_list() == sorted(frame["tokens_per_s"], reverse=True)
        assert set(frame["global_batch"]) == {32}

    def test_memory_without_states_of_the_optimizer_is_named(self, db: Session, monkeypatch: pytest.MonkeyPatch) -> None:
        """A report and a limit on memory tell it once each, a limit on time does not."""
        said: list[str] = []
        monkeypatch.setattr(db, "messages", Messages(remark=said.append))
        told = f"memory leaves out the states of the optimizer; `charz train {MODEL}` adds them"
        db.report(MODEL, on="h100_sxm5_80", sequence=128, section="memory")
        db.assert_(MODEL, on="h100_sxm5_80", sequence=128, memory="8GiB")
        assert said.count(told) == 2
        db.assert_(MODEL, on="h100_sxm5_80", sequence=128, latency="1s")
        assert said.count(told) == 2

    @pytest.mark.parametrize(
        ("options", "framework"),
        [({}, "torchtitan"), ({"backend": "eager"}, "llm_foundry"), ({"framework": "plain"}, "plain")],
    )
    def test_an_answer_names_a_framework_that_people_run(
        self, db: Session, options: dict[str, str], framework: str
    ) -> None:
        """Kernels of torchtitan take 1.592 times as long as the backend's (`framework`)."""
        (row,) = db.train(MODEL, on="h100_sxm5_80", sequence=128, section="time", **options).rows(named=True)
        (ideal,) = db.train(MODEL, on="h100_sxm5_80", sequence=128, section="time", framework="plain").rows(named=True)
        assert row["framework"] == framework
        if framework == "torchtitan":
            assert row["compute_s"] == pytest.approx(1.592 * ideal["compute_s"])

    def test_the_least_recomputation_that_fits(self, db: Session) -> None:
        """1,024 samples fit an H100, 2,048 fit with full recomputation alone, 4,096 do not: the most is then shown."""
        asked: dict[str, Any] = {"on": "h100_sxm5_80", "sequence": 1024, "section": "memory"}
        for batch, split, fits in ((1024, "one", True), (2048, "full", True), (4096, "full", False)):
            (least,) = db.train(MODEL, batch=batch, **asked).rows(named=True)
            assert (least["split"], least["fits_device"]) == (split, fits)
        every = db.train(MODEL, batch=2048, recompute="none,selective,full", **asked)
        assert every.filter("fits_device")["split"].to_list() == ["full"] and len(every) == 2
        assert every["context_byte"].min() > 0

    def test_the_room_of_a_device_excludes_what_the_driver_takes(self, db: Session, monkeypatch: pytest.MonkeyPatch) -> None:
        said: list[str] = []
        monkeypatch.setattr(db, "messages", Messages(warn=said.append, remark=said.append))
        db.train(MODEL, on="h100_sxm5_80", backend="eager", sequence=1024, batch=4096, section="memory")
        query = "SELECT dram_byte, context_byte FROM part JOIN part_context USING (hardware) WHERE hardware = 'h100_sxm5_80' AND backend = 'eager'"
        ((dram_byte, context_byte),) = db.connection().execute(query).fetchall()
        assert context_byte > 0.2 * 2**30
        (line,) = [line for line in said if line.startswith("nothing fits")]
        assert f"and has {size(dram_byte - context_byte)}, without the driver's share; " in line

    def test_what_time_is_made_of(self, db: Session) -> None:
        parts = (
            "compute_s", "recompute_s", "tensor_s", "expert_s", "context_s", "send_s", "bubble_s", "host_s", "data_s", "optimizer_s",
        )  # fmt: skip
        (row,) = db.train(MODEL, on="h100_sxm5_80", tensor=2, sequence=128, section="time").rows(named=True)
        assert row["step_s"] == pytest.approx(sum(row[name] for name in parts))
        assert row["tensor_s"] > 0

    def test_a_page_stacks_memory(self, db: Session, tmp_path: Path) -> None:
        db.train(MODEL, on="h100_sxm5_80", devices=2, zero="0,3", sequence=128, html=tmp_path / "p.html")
        page = (tmp_path / "p.html").read_text()
        assert all(f'"layer":"{layer}"' in page for layer in ("weights", "gradients", "optimizer", "activations"))
        assert 'id="cost"' in page
        assert "This command starts the fastest training that trl has flags for, on h100_sxm5_80." in page
        assert "--per_device_train_batch_size" in page

    def test_commands_of_a_trainer(self, db: Session, monkeypatch: pytest.MonkeyPatch) -> None:
        """The split tp2 has no command, so the budget is that of the other one."""
        said: list[str] = []
        monkeypatch.setattr(db, "messages", Messages(warn=said.append, remark=said.append))
        frame = db.train(MODEL, on="h100_sxm5_80", devices=2, tensor="1,2", batch=2, global_batch=8, sequence=128, tokens=1e6, launch="trl")
        assert frame["split"].to_list() == ["dp2 m2"] and frame.columns[-1] == "launch"
        assert "--max_length 128 --per_device_train_batch_size 2 --gradient_accumulation_steps 2 " in frame["launch"][0]
        assert "--max_steps 977 " in frame["launch"][0]
        (told,) = [line for line in said if "for 1e+06 tokens" in line]
        assert told.startswith("fastest that trl starts for 1e+06 tokens, h100_sxm5_80 dp2 m2: ")

    def test_weights_frozen_in_nf4(self, db: Session) -> None:
        """A layer has 12 x 256 x 256 weights and 13 x 256 biases and scales; each of them takes 4 + 8/64 + 32/(64 x 256) bits in place of 32."""
        asked = {"on": "h100_sxm5_80", "adapter": 8, "precision": "amp-bf16", "sequence": 128, "section": "memory"}
        plain, frozen = (db.train(MODEL, **asked, **more).row(0, named=True)["weight_byte"] for more in ({}, {"frozen": "nf4"}))
        layers = 4 * 2 * (12 * 256 * 256 + 13 * 256)
        assert plain - frozen == pytest.approx(layers * (1 - 4.126953125 / 32), rel=1e-3)

    def test_the_whole_training(self, db: Session, monkeypatch: pytest.MonkeyPatch) -> None:
        """A step of 16 samples of 128 tokens is repeated 2e9 / 2048 times; 8 devices are rented meanwhile."""
        said: list[str] = []
        monkeypatch.setattr(db, "messages", Messages(remark=said.append))
        rent = db.sql("SELECT price_usd_per_hour FROM part_price WHERE hardware = 'h100_sxm5_80'")["price_usd_per_hour"][0]
        (row,) = db.train(MODEL, on="h100_sxm5_80", devices=8, batch=2, sequence=128, tokens=2e9).rows(named=True)
        steps = 2e9 / (16 * 128)
        assert row["whole_s"] == pytest.approx(steps * row["step_s"], rel=1e-12)
        assert row["whole_j"] == pytest.approx(steps * row["energy_j"], rel=1e-12)
        assert row["whole_usd"] == pytest.approx(8 * rent * row["whole_s"] / 3600, rel=1e-9)
        assert row["whole_usd"] == pytest.approx(row["million_tokens_usd"] * 2000, rel=1e-9)
        assert any(f", {row['whole_s'] / 3600:.3g}"[:4] in line or f"{row['whole_s'] / 60:.3g}" in line for line in said)

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"frozen": "nvfp4"}, "frozen weights without adapters"),
            ({"zero": "4"}, "unknown zero"),
            ({"recompute": "some"}, "unknown recompute"),
            ({"devices": 8, "tensor": 3}, "no split"),
            ({"framework": "megaton"}, "unknown framework"),
        ],
    )
    def test_what_cannot_be_asked(self, db: Session, options: dict[str, object], said: str) -> None:
        with pytest.raises(CharzError, match=said):
            db.train(MODEL, on="h100_sxm5_80", sequence=128, **options)
