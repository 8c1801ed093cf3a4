"""`explain`: the chain of one number, down to shapes, efficiency rows and sources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import charz
from charz.schema.errors import CharzError
from charz.session import Messages, Session
from charz.session.explain import sentences
from charz.session.quantities import quantity

TARGET: dict[str, Any] = {"on": "rtx4090", "backend": "eager", "precision": "fp32", "batch": 1}


def values(frame: pl.DataFrame, name: str) -> list[float]:
    """Return the values of a quantity, each once."""
    return frame.filter(pl.col("name") == name)["value"].drop_nulls().unique().to_list()


def meanings(frame: pl.DataFrame, name: str) -> list[str]:
    """Return the meanings of a quantity in all rows."""
    return frame.filter(pl.col("name") == name)["meaning"].to_list()


@pytest.mark.slow
def test_an_operator_down_to_its_sources(resnet18: Path) -> None:
    with charz.open(resnet18) as db:
        told = db.explain("resnet18", "conv2d_1", formulas=True, **TARGET)
    with duckdb.connect(str(resnet18), read_only=True) as connection:
        query = "SELECT value FROM part_energy WHERE hardware = 'rtx4090' AND key = 'fp32.vector'"
        ((op_j,),) = connection.sql(query).fetchall()
        ((latency_s, compute_s, dram_byte, macs),) = connection.sql(
            """
            SELECT l.latency_s, l.compute_s, l.dram_byte, l.macs
            FROM kernel_latency AS l
            JOIN kernel_operator AS s USING (model, backend, kernel_id)
            JOIN operator AS o USING (model, operator_id)
            WHERE o.operator = 'conv2d_1' AND l.hardware = 'rtx4090' AND l.backend = 'eager'
                AND l.precision = 'fp32' AND l.batch = 1 AND l.phase = 'forward' AND l.memory_format = 'nchw'
            """
        ).fetchall()
        query = "SELECT value, confidence, source_id FROM hardware_value WHERE hardware = 'rtx4090' AND field = ?"
        ((peak, confidence, source),) = connection.execute(query, ["peak.fp32.vector.fp32.peak_ops_per_s"]).fetchall()
    # The only operator of its kernel: one value for both.
    assert values(told, "latency_s") == [pytest.approx(latency_s)]
    assert values(told, "compute_s") == [pytest.approx(compute_s)]
    assert values(told, "dram_byte") == [pytest.approx(dram_byte)]
    # Static power at the clock of the run, and the factor on energies stated at the reference voltage.
    assert values(told, "static_energy_j") == [pytest.approx(values(told, "static_w")[0] * latency_s)]
    (voltage_square,) = values(told, "voltage_square")
    assert values(told, "compute_energy_j") == [pytest.approx(2 * macs * op_j * voltage_square)]
    said = " ".join([*told["name"], *told["meaning"]])
    for needed in ("layer1.0.conv1.weight", "[64, 64, 3, 3]", "[B, 64, 56, 56]", "family:gpu", "power.default.tdp_w"):
        assert needed in said
    assert values(told, "peak.fp32.vector.fp32.peak_ops_per_s") == [peak]
    assert meanings(told, "peak.fp32.vector.fp32.peak_ops_per_s")[0].startswith(f"{confidence}; {source}")


@pytest.mark.slow
def test_every_term_with_its_inputs_down_to_the_tile(resnet18: Path) -> None:
    """The answer lists each mechanism that takes time, the row of its efficiency, the tile's own constants and source, and the
    reason for the layout."""
    with charz.open(resnet18) as db:
        told = db.explain(
            "resnet18", "conv2d_1", on="rtx4090", backend="inductor", precision="fp16", batch=8, formulas=True
        )
        target = (
            "model = 'resnet18' AND hardware = 'rtx4090' AND backend = 'inductor' AND precision = 'fp16' AND batch = 8"
        )
        terms = db.sql(
            f"""
            SELECT t.term, t.kind, t.mechanism, t.term_s
            FROM kernel_term AS t
            JOIN operator AS o ON o.model = t.model AND o.operator = 'conv2d_1'
            JOIN kernel_operator AS k
                ON k.model = t.model AND k.backend = t.backend AND k.operator_id = o.operator_id AND k.kernel_id = t.kernel_id
            WHERE {" AND ".join(f"t.{part}" for part in target.split(" AND "))}
            """
        ).rows()
    assert len(terms) >= 6
    for term, kind, mechanism, seconds in terms:
        of_term = told.filter(pl.col("item") == f"{term} ({kind}, {mechanism})")
        assert values(of_term, "term_s") == [pytest.approx(seconds)]
    for constant in ("longest_fill_s", "exposed_fill", "start_s", "wave_quantization_fraction", "sustained_fraction"):
        assert values(told, constant), constant
    (tile,) = meanings(told, "tile")
    assert tile.startswith("candidate ") and " of tiling_strategy; " in tile
    assert any("inductor plans its layouts" in text for text in meanings(told, "layout"))


@pytest.mark.slow
def test_an_operator_with_efficiency_rows_of_its_own_shows_them(resnet18: Path) -> None:
    with charz.open(resnet18) as db:
        told = db.explain("resnet18", "relu_", formulas=True, **TARGET)
    assert any("hardware:rtx4090, activation, aten.relu_, eager" in text for text in meanings(told, "memory"))


@pytest.mark.slow
def test_a_kernel_and_the_whole_run(resnet18: Path) -> None:
    with charz.open(resnet18) as db:
        whole = db.explain("resnet18", **TARGET)
        slowest = whole.filter(pl.col("step") == "Kernels that take the most time")
        kernel = db.explain("resnet18", slowest["name"][0], formulas=True, **TARGET)
    first = kernel.filter(pl.col("name") == "latency_s")
    assert first["value"][0] == slowest["value"][0]
    assert "2. How its terms make up the time" in set(kernel["step"])


def test_host_times_of_a_run_name_their_row(file: Path) -> None:
    """The call of a run on a KPU takes 5 us by the row of its backend (`backend_support.run_s`), and is a part of its time."""
    with charz.open(file) as db:
        told = db.explain("small", on="kpu_t64", formulas=True)
    assert values(told, "call_s") == values(told, "run_call_s") == [5e-6]
    assert [text.endswith(("assumed", "derived")) for text in meanings(told, "backend_support")] == [True]


@pytest.mark.parametrize("part", ["t4", "i7_13700k", "kpu_t64"])
@pytest.mark.parametrize("batch", [1, 64])
def test_three_sentences_first(file: Path, part: str, batch: int) -> None:
    """The sentences give the bottleneck, its reason and a remedy; the saving of a run or kernel is at most its time."""
    with charz.open(file) as db:
        run = db.explain("small", on=part, batch=batch)
        (row,) = db.report("small", on=part, batch=batch).to_dicts()
        kernels = db.report("small", on=part, batch=batch, section="kernels", top=1000).to_dicts()
        of_kernels = [db.explain("small", str(k["kernel_id"]), on=part, batch=batch) for k in kernels[:3]]
    for told in (run, *of_kernels):
        assert told["name"].to_list()[:3] == ["pace", "why", "change"]
        for sentence in told["word"][:3]:
            assert sentence[0].isupper() and sentence.endswith(".") and "None" not in sentence and "nan" not in sentence
    assert quantity(row["latency_s"], "s") in run["word"][0]
    setter = "dispatch by the host" if row["bottleneck"] == "overhead" else "sets the pace"
    assert setter in run["word"][0]
    for kernel, told in zip(kernels, of_kernels, strict=False):
        assert told.height == 3 and quantity(kernel["latency_s"], "s") in told["word"][0]
        kind, _, level = kernel["bottleneck"].partition(":")
        assert {"memory": f"{level} sets", "overhead": "dispatch", "compute": "arithmetic sets"}.get(
            kind, "pace"
        ) in told["word"][0]


@pytest.mark.parametrize(("part", "dispatch"), [("t4", "async_queue"), ("i7_13700k", "serial"), ("kpu_t64", "graph")])
def test_a_run_without_savings_takes_its_own_time(file: Path, part: str, dispatch: str) -> None:
    """Kernels that wait for the host, issued in turn, and launched at once add up to the time of the run."""
    keys = "model, hardware, backend, precision, batch, sequence, scenario_id"
    asked = f"FROM kernel_time JOIN model_latency AS r USING ({keys}) WHERE model = 'small' AND batch = 1 AND dispatch = '{dispatch}'"
    with charz.open(file) as db:
        rows = db.sql(f"SELECT kernel_time.*, r.run_call_s, r.latency_s AS run_s {asked}", on=part).to_dicts()
    first = [row for row in rows if all(row[key] == rows[0][key] for key in keys.split(", "))]
    assert len(first) > 3 and sentences.time_without(first[0], first, {}) == pytest.approx(first[0]["run_s"], rel=1e-9)


@pytest.mark.default
def test_what_is_saved_at_most_is_what_the_next_bound_leaves() -> None:
    """A memory-bound kernel of 8 ms with 2 ms of arithmetic saves 6 ms without the memory, and one bound by dispatch as much, down to
    its device's time."""
    kernel = {"kernel_id": 1, "position": 0, "dispatch": "serial", "latency_s": 8e-3, "busy_s": 8e-3, "device_s": 8e-3, "compute_s": 2e-3,
              "memory_s": 8e-3, "team_s": 0.0, "overhead_s": 0.0, "host_issue_s": 0.0, "unlimited_s": 8e-3, "clock_fraction": 1.0,
              "is_power_bound": False, "bottleneck": "memory:dram"}  # fmt: skip
    run = {"latency_s": 16e-3, "run_call_s": 8e-3, "host_issue_s": 8e-3}

    def change(**other: object) -> str:
        return sentences.of_kernel(kernel | other, "conv", "", run, [kernel | other])[2][1]

    assert "saves at most 6.00 ms of the run's 16.0 ms" in change()
    assert "(50 % of the run): dram sets the pace" in sentences.of_kernel(kernel, "conv", "", run, [kernel])[0][1]
    waiting = {"bottleneck": "overhead", "busy_s": 2e-3, "device_s": 3e-3, "overhead_s": 6e-3, "host_issue_s": 5e-3}
    assert "saves at most 6.00 ms" in change(**waiting)
    # 8 ms of arithmetic over 2 of memory, 2 ms at full clock, 6 ms of threads: each leaves a quarter.
    for other in (
        {"bottleneck": "compute", "compute_s": 8e-3, "memory_s": 2e-3},
        {"bottleneck": "power", "unlimited_s": 2e-3, "is_power_bound": True},
        {"bottleneck": "threads", "team_s": 6e-3},
    ):
        assert "saves at most 6.00 ms" in change(**other)
    assert "halving both saves 4.00 ms" in change(bottleneck="balanced")
    assert "something else takes as long" in change(compute_s=8e-3)


@pytest.mark.default
def test_what_the_host_hides_gains_nothing() -> None:
    """Ten kernels of 0.4 ms of arithmetic, each issued in 1 ms: the run ends 0.4 ms after the last is issued, and 0.1 ms after it without the
    arithmetic. One launch of all shows the 4 ms, of which 1 ms of memory remains: 5 ms in place of 2."""
    kernels = [
        {"kernel_id": i, "position": i, "dispatch": "async_queue", "latency_s": 1e-3, "busy_s": 4e-4, "device_s": 4e-4, "compute_s": 4e-4,
         "memory_s": 1e-4, "team_s": 0.0, "overhead_s": 6e-4, "host_issue_s": 1e-3, "unlimited_s": 4e-4, "naive_s": 2e-4,
         "is_power_bound": False, "bottleneck": "overhead"} for i in range(10)
    ]  # fmt: skip
    run = {"model": "net", "hardware": "t4", "latency_s": 10.4e-3, "bottleneck": "overhead", "compute_s": 4e-3, "memory_s": 0.0,
           "power_s": 0.0, "team_s": 0.0, "overhead_s": 6.4e-3, "run_call_s": 0.0, "host_issue_s": 10e-3, "flops": 1e9,
           "traffic_byte": 1e6, "naive_s": 1.59e-3, "utilization_fraction": 0.5, "clock_fraction": 1.0, "tdp_w": 70.0}  # fmt: skip
    _, (_, why), (_, change) = sentences.of_run(run, kernels)
    assert why.startswith("The host takes 10.0 ms to issue 10 kernels, which keep the device busy for 4.00 ms")
    assert "faster clock shortens it: at most 1.03 times as fast" in change and "launches whole graphs reduces it: at most 2.60" in change
    hidden = run | {"latency_s": 10.04e-3}
    assert sentences.remedies(hidden)[1].endswith("faster clock shortens it, but the host takes as long")
    launched = [kernel | {"dispatch": "graph", "host_issue_s": 0.0, "latency_s": 4e-4} for kernel in kernels]
    graph = run | {"latency_s": 5e-3, "overhead_s": 1e-3, "run_call_s": 1e-3, "host_issue_s": 1e-3, "bottleneck": "compute"}
    _, (_, why), (_, change) = sentences.of_run(graph, launched)
    assert "the host takes 1.00 ms to launch all 10 kernels at once, which keep the device busy for 4.00 ms" in why
    assert "faster clock shortens it: at most 2.50 times as fast" in change and "graphs" not in change


@pytest.mark.default
def test_what_sets_the_pace_for_less_than_half_is_said_too() -> None:
    """Of 10 ms arithmetic takes 5.3, the host 4.5, memory 0.2. Fewer bits leave 2 of 5.3 ms: 1 / (1 - 0.33); a launch of the
    whole graph leaves 5.5 of 10, so it comes first. A fifth of the time is mentioned, a fiftieth is not."""
    run = {"model": "net", "hardware": "t4", "latency_s": 10e-3, "bottleneck": "compute", "compute_s": 5.3e-3, "memory_s": 0.2e-3,
           "power_s": 0.0, "team_s": 0.0, "overhead_s": 4.5e-3, "run_call_s": 3.5e-3, "host_issue_s": 4.5e-3, "flops": 1e9,
           "traffic_byte": 1e6, "naive_s": 1.59e-3, "utilization_fraction": 0.5, "clock_fraction": 1.0, "tdp_w": 70.0}  # fmt: skip
    kernel = {"kernel_id": 1, "position": 0, "dispatch": "serial", "busy_s": 5.3e-3, "device_s": 5.5e-3, "host_issue_s": 1e-3,
              "compute_s": 5.3e-3, "memory_s": 2e-3, "team_s": 0.0, "overhead_s": 0.0, "naive_s": 1.59e-3, "unlimited_s": 5.3e-3,
              "is_power_bound": False, "bottleneck": "compute"}  # fmt: skip
    (_, pace), (_, why), (_, change) = sentences.of_run(run, [kernel])
    assert pace.endswith("arithmetic sets the pace (53 % of the time), dispatch by the host does for 45 %.")
    assert "takes 4.50 ms to issue 1 kernels (3.50 ms of it for the call of the run, which a graph keeps), which keep" in why
    assert "alone, arithmetic would take 5.30 ms" in why
    # 1.59 ms at the peak are 30 % of 5.3 ms, and a rate of 1e9 operations in 1.59 ms.
    reached = (
        "shapes and waves allow 50 % of the peak of the units in use, on average 629 GOP/s, and arithmetic reaches 30 % of it with the efficiency"
        " of such kernels"
    )
    assert f"{reached};" in why
    _, (_, slowed), _ = sentences.of_run(run | {"clock_fraction": 0.5, "static_energy_j": 0.1}, [kernel])
    assert f"{reached} at a lowered clock;" in slowed
    first, second = (change.index(words) for words in ("at most 1.82 times as fast", "at most 1.49 times as fast"))
    assert first < second and change.index("backend that launches whole graphs") < first < change.index("fewer bits") < second
    alone = run | {"compute_s": 9e-3, "overhead_s": 0.8e-3}
    assert sentences.pace(alone) == "arithmetic sets the pace (90 % of the time)"


@pytest.mark.default
def test_the_power_at_rest_under_a_limit_is_said() -> None:
    """4 J at rest in 0.2 s are 20 W of a limit of 70; a run at full clock has no such sentence."""
    run = {"model": "net", "hardware": "t4", "latency_s": 0.2, "bottleneck": "memory:dram", "memory_s": 0.2, "overhead_s": 0.0,
           "run_call_s": 0.0, "host_issue_s": 0.0, "traffic_byte": 1e9, "flops": 1e9, "naive_s": 1.59e-3, "utilization_fraction": 0.5,
           "static_energy_j": 4.0, "tdp_w": 70.0, "clock_fraction": 0.5}  # fmt: skip
    (_, why, _) = sentences.of_run(run, [])
    assert why[1].endswith("; 20.0 W of its 70.0 W is static power, so clocks run at 50 %.")
    (_, why, _) = sentences.of_run(run | {"clock_fraction": 1.0}, [])
    assert "at rest" not in why[1]
    (_, why, _) = sentences.of_run(run | {"bottleneck": "power", "power_s": 0.1}, [])
    assert why[1].startswith("At full clock it would draw more than 70.0 W; 20.0 W of")


@pytest.mark.default
def test_a_kernel_is_found_as_the_table_calls_it(file: Path) -> None:
    """A kernel is found by its number, its fused operators or its module. Of several the slowest is shown, and a message names
    the number of others."""
    said: list[str] = []
    with Session(file, messages=Messages(remark=said.append)) as db:
        table = db.report("small", on="t4", section="kernels", top=1000).to_dicts()
        for kernel in table[:3]:
            first = next(k for k in table if k["kernel"] == kernel["kernel"])
            told = db.explain("small", kernel["kernel"].upper(), on="t4")
            assert f"Kernel {first['kernel_id']}, " in told["word"][0]
        with pytest.raises(CharzError, match="unknown operator: no such thing"):
            db.explain("small", "no such thing", on="t4")
    assert any("kernels of this name" in line for line in said) == any(
        sum(k["kernel"] == kernel["kernel"] for k in table) > 1 for kernel in table[:3]
    )


@pytest.mark.slow
def test_unknown_pieces(resnet18: Path) -> None:
    with charz.open(resnet18) as db:
        with pytest.raises(CharzError, match="unknown operator: conv2d_99. Nearest: .*conv2d_9"):
            db.explain("resnet18", "conv2d_99", **TARGET)
        with pytest.raises(CharzError, match="unknown kernel: 4321.*charz explain resnet18"):
            db.explain("resnet18", "4321", **TARGET)


def _remarks(path: Path, *given: str, **options: Any) -> str:
    said: list[str] = []
    with Session(path, messages=Messages(remark=said.append)) as db:
        db.explain(*given, **options)
    return " ".join(said)


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "is_said"), [("inductor", True), ("openvino", False)])
def test_fresh_pages_and_how_to_keep_them(resnet18: Path, backend: str, is_said: bool) -> None:
    """Inductor allocates with `malloc`, which returns ResNet-18's memory to the system after its last convolutions; OpenVINO
    keeps its own."""
    said = _remarks(resnet18, "resnet18", on="i9_10940x", backend=backend, batch=1)
    assert ("MALLOC_TRIM_THRESHOLD_" in said) == is_said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("length", "part", "is_said"), [(1024, "i9_10940x", True), (1152, "i9_10940x", False), (1024, "rtx4090", False)]
)
def test_rows_that_share_cache_sets(tmp_path: Path, length: int, part: str, is_said: bool) -> None:
    """1,024 elements of 4 bytes are 4 KiB, 1,152 are 4.5."""
    path = tmp_path / "mlp.duckdb"
    with charz.open(path) as db:
        db.ingest("synthetic:mlp", settings=[f"in={length}", f"hidden={length}"])
    model = f"synthetic:mlp,in={length},hidden={length},out=1024,layers=2"
    said = _remarks(path, model, on=part, backend="inductor", batch=64, precision="fp32")
    assert ("evict one another" in said) == is_said


@pytest.mark.slow
def test_a_report_numbers_kernels_as_explain_does(resnet18: Path) -> None:
    """Casts are numbered separately from the kernels around them; the hint repeats the options of the question."""
    asked: dict[str, Any] = {"on": "rtx4090", "backend": "inductor", "precision": "fp16", "batch": 2}
    with charz.open(resnet18) as db:
        numbers = db.report("resnet18", **asked, top=1000, section="kernels")["kernel_id"].to_list()
    assert len(numbers) > 10 and len(set(numbers)) == len(numbers)
    hint = _remarks(resnet18, "resnet18", **asked).partition("one kernel: charz explain resnet18 ")[2]
    assert hint.endswith("--on rtx4090 --batch 2 --precision fp16 --backend inductor")
    assert int(hint.split()[0]) in numbers


@pytest.mark.parametrize(
    ("part", "cache", "expected"),
    [
        # Programs of a KPU keep weights that fit in a memory managed by software; those of a TPU read them from main memory.
        ("kpu_t64", "warm", "100% of the weights stay in l3"),
        ("kpu_t64", "weights_resident", None),
        ("kpu_t64", "weights_streamed", None),
        ("tpu_v4", "warm", "weights that fit l3 of tpu_v4 are read again in every run"),
        ("tpu_v4", "weights_resident", None),
        # The cache of a GPU keeps the most recent data.
        ("t4", "warm", None),
    ],
)
def test_weights_that_fit_on_the_chip(file: Path, part: str, cache: str, expected: str | None) -> None:
    """A message reports a default that the user did not choose: weights of a small network that stay, or that are read again
    although they fit."""
    said = _remarks(file, "small", on=part, cache=cache)
    assert expected is None or expected in said
    options = ("--cache weights_resident assumes", "--cache weights_streamed answers")
    assert sum(option in said for option in options) == (expected is not None)
