"""An architect's own chip: an NPU of 16 arrays of 64 x 64 at 1 GHz with 16 MiB on the chip, LPDDR5 at 68 GB/s and 12 W."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from charz.session import Messages, Session


def number(value: object, unit: str) -> str:
    return f"{{value: {value}, unit: {unit}, source: assumption, confidence: assumed}}"


NPU = f"""\
schema: charz.hardware/1
id: npu64
name: NPU 64
vendor: me
family: npu
market: edge
architecture: Mine
process_nm: {number(7, "nm")}
form_factor: SoC
status: announced
dataflow: weight_stationary
cluster:
  unit:
    kind: systolic
    unit_count: {number(16, "count")}
    array_rows: {number(64, "count")}
    array_columns: {number(64, "count")}
    clock_boost_hz: {number(1, "GHz")}
memory:
  l2: {{scope: chip, management: software, technology: SRAM, capacity_byte: {number(16, "MiB")}}}
  dram:
    scope: chip
    management: software
    technology: LPDDR5
    capacity_byte: {number(8, "GiB")}
    bandwidth_byte_per_s: {number(68, "GB/s")}
power:
  default: {{is_default: true, tdp_w: {number(12, "W")}, clock_fraction: {number(1, "fraction")}}}
peak:
  - precision: int8
    unit: matrix
    accumulator: int32
    cluster: unit
    peak_ops_per_s: {number(131.072, "TOPS")}
"""
DRAM = "memory.dram.bandwidth_byte_per_s"
ASKED = {"models": "small", "batch": 64}


@pytest.fixture(scope="module")
def said() -> list[str]:
    return []


@pytest.fixture(scope="module")
def db(file: Path, said: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("npu")
    (folder / "npu64.yaml").write_text(NPU)
    messages = Messages(warn=said.append, remark=said.append)
    with Session(Path(shutil.copy(file, folder)), messages=messages) as session:
        session.hardware.add(folder / "npu64.yaml")
        yield session


def test_an_assumed_memory_that_starves_it_is_said(db: Session, said: list[str], tmp_path: Path) -> None:
    """The bandwidth is four times 68 GB/s, where 16 x 64 bytes a clock are 1,024. The part is added, shown, checked and explored."""
    found = "npu64: l2 is assumed to give 272 GB/s (4 ratio x bandwidth of main memory) and its arrays take 1024 GB/s"
    path = tmp_path / "npu64.yaml"
    path.write_text(NPU.replace("id: npu64", "id: again"))
    assert sum(line.startswith(found) for line in said) >= 1
    for ask in (lambda: db.hardware.show("npu64"), lambda: db.elasticity("small", on="npu64")):
        said.clear()
        ask()
        assert sum(line.startswith(found) for line in said) == 1
    said.clear()
    assert db.hardware.check(path).is_empty()
    assert sum(line.startswith(found.replace("npu64", "again")) for line in said) == 1


def test_twice_main_memory_is_one_part_however_it_is_asked(db: Session) -> None:
    """Values from rules follow, also the last-level cache at four times main memory: a part that keeps it at 272 GB/s is slower."""
    (row,) = (row for row in db.elasticity(**ASKED, on="npu64").to_dicts() if row["number"] == DRAM)
    explored = db.explore(base="npu64", vary="dram=68GB/s,136GB/s", every_point=True, **ASKED).sort("point")
    what_if = db.what_if({f"npu64.{DRAM}": "136GB/s"}, "compare", "small", on="npu64", batch=64)
    for found in (explored, what_if):
        before, after = found["latency_s"].to_list()
        assert row["time_ratio"] == pytest.approx(after / before, rel=1e-9)
    stays = db.explore(base="npu64", vary=["dram=136GB/s", "l2.bandwidth=272GB/s"], **ASKED)
    assert stays["latency_s"][0] > 1.05 * explored["latency_s"][1]


@pytest.mark.slow("adds and explores a chip")
def test_what_an_axis_changes_besides_its_name_is_said(db: Session, said: list[str], tmp_path: Path) -> None:
    """Vector units without a stated peak are a sixteenth of the arrays; a scratchpad of each unit is asked for as the sum of all."""
    (tmp_path / "own.yaml").write_text(arrays("own_scratchpads", 16, 64, 4096, 256))
    db.hardware.add(tmp_path / "own.yaml")
    follows = "vector units without a stated peak follow the array (0.0625 ratio x peak of the matrix units): state a vector peak to keep them"
    shares = "scratchpad is the size of the whole part: each unit has an equal share of it"
    for vary, lines in (("array=64,128", [follows]), ("scratchpad=2MiB,4MiB", [shares]), ("l2=8MiB,16MiB", [])):
        said.clear()
        db.explore(base="own_scratchpads", vary=vary, **ASKED)
        assert [line for line in said if line in (follows, shares)] == lines


@pytest.mark.slow("adds a chip")
def test_a_stated_number_is_not_explained_by_the_rule_that_it_replaces(db: Session, tmp_path: Path) -> None:
    """The scratchpad states 256 GB/s, where the rule gives eight times main memory; the bandwidth of L2 is the rule's."""
    (tmp_path / "stated.yaml").write_text(arrays("stated_scratchpads", 16, 64, 4096, 256))
    db.hardware.add(tmp_path / "stated.yaml")
    told = db.hardware.show("stated_scratchpads")
    formulas = dict(zip(told["field"], told["formula"], strict=True))
    assert formulas["memory.scratchpad.bandwidth_byte_per_s"] is None
    assert formulas["memory.l2.bandwidth_byte_per_s"] == "4 ratio x bandwidth of main memory"
    assert formulas["peak.int8.matrix.int32.peak_ops_per_s"] == "units x operations a clock x clock"


def test_an_announced_part_is_no_silicon(db: Session) -> None:
    assert db.report("small", on="npu64")["is_simulated"].to_list() == [True]


@pytest.mark.slow("evaluates a chip under several arrays")
def test_arrays_of_other_sides_take_the_stated_peak_with_them(db: Session, tmp_path: Path) -> None:
    """16 arrays of 128 x 128 at 1 GHz finish 2 x 16 x 128 x 128 x 1e9 = 524.288 TOPS; a document with this peak gives the same numbers, and with
    half as many arrays half of that."""
    document = NPU.replace("npu64", "npu128").replace(number(64, "count"), number(128, "count")).replace("131.072", "524.288")
    assert document.count("value: 128,") == 2
    (tmp_path / "npu128.yaml").write_text(document)
    (tmp_path / "half.yaml").write_text(
        document.replace("npu128", "half").replace(number(16, "count"), number(8, "count")).replace("524.288", "262.144")
    )
    db.hardware.add(tmp_path / "npu128.yaml")
    db.hardware.add(tmp_path / "half.yaml")
    points = db.explore(base="npu64", vary=["array=64,128", "tiles=8,16"], every_point=True, **ASKED).to_dicts()
    found = {(point["array"], point["tiles"]): point for point in points}
    for key, part in (((64, 16), "npu64"), ((128, 16), "npu128"), ((128, 8), "half")):
        row = db.report("small", on=part, batch=64).row(0, named=True)
        assert found[key]["precision"] == row["precision"] == "int8"
        for name in ("latency_s", "energy_j"):
            assert found[key][name] == pytest.approx(row[name], rel=1e-9), (key, name)
    assert len({point["latency_s"] for point in points}) > 2


@pytest.fixture(scope="module")
def product(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Session with the chip and a network of one product of 1,024 x 1,024 weights."""
    folder = tmp_path_factory.mktemp("product")
    (folder / "npu64.yaml").write_text(NPU)
    with Session(folder / "one.duckdb", messages=Messages(warn=str, remark=str)) as session:
        session.hardware.add(folder / "npu64.yaml")
        session.ingest(["synthetic:mlp", "in=1024", "hidden=1024", "layers=1", "out=1024"], name="one", no_answers=True)
        yield session


ONE = {"on": "npu64", "batch": 512, "precision": "int8"}
"""The product of 512 rows by 1,024 x 1,024 weights."""
VOLTAGE = (1 - 0.5 * (1 - 1 / 1.05)) ** 2
"""Square of the voltage: it falls half as fast as the clock, and energies are stated at 1.05 times the clock of the part."""


@pytest.mark.slow("ingests a network into a file of its own")
def test_cycles_and_bytes_of_a_product_by_hand(product: Session) -> None:
    """256 tiles of 64 x 64 weights take 16 waves on 16 arrays. Each wave streams 512 rows, and the last drains in 64 + 64 - 2 cycles.

    L2 gives the inputs once per 16 columns of tiles and the weights once. Main memory gives the inputs, the weights stay in L2.
    """
    (step,) = product.report("one", section="steps", **ONE).to_dicts()
    assert (step["tile_count"], step["units_allocated"]) == (256, 16)
    assert step["ideal_s"] * 1e9 == pytest.approx(16 * 512 + 64 + 64 - 2, rel=0.01)
    levels = product.report("one", section="traffic", **ONE)
    moved = dict(zip(levels["level"], levels["level_byte"], strict=True))
    assert moved["l2"] == pytest.approx(16 * 512 * 1024 + 1024 * 1024, rel=0.01)
    assert moved["dram"] == pytest.approx(512 * 1024, rel=0.01)


@pytest.mark.slow("ingests a network into a file of its own")
def test_energy_of_a_product_by_level_by_hand(product: Session) -> None:
    """An int8 operation takes 0.13 of 1.8 pJ at 7 nm, a byte of LPDDR5 72 pJ; both the array and L2 follow the voltage, the memory does not.

    A byte of L2 takes 0.5 of 1.8 pJ in its bank of 1 MiB, 0.85 a millimetre of the bank's side and 0.36 a millimetre of a quarter of the
    die's. A bank has 0.027 um2 a bit in 46.7 % of its area, the die 39.46 mm2.
    """
    (kernel,) = product.report("one", section="energy", **ONE).to_dicts()
    assert kernel["compute_energy_j"] == pytest.approx(2 * 512 * 1024 * 1024 * 0.13 * 1.8e-12 * VOLTAGE, rel=0.01)
    levels = product.report("one", section="traffic", **ONE)
    joules = dict(zip(levels["level"], levels["level_j"], strict=True))
    assert joules["dram"] == pytest.approx(512 * 1024 * 72e-12, rel=0.01)
    bank_mm, die_mm = (2**20 * 8 * 0.027e-6 / 0.467) ** 0.5, 39.46**0.5
    byte_j = 1.8e-12 * (0.5 + 0.85 * bank_mm + 0.36 * die_mm / 4)
    assert joules["l2"] == pytest.approx(9 * 2**20 * byte_j * VOLTAGE, rel=0.01)


def test_area_by_hand(db: Session) -> None:
    """At 7 nm logic takes 4.5 / 65.6 of its area at 45 nm: 65,536 multipliers of 419 um2 and 2.1 times that with their control. 16 MiB of
    cells of 0.027 um2 are 46.7 % of a memory, and 16 x 64 x 4,096 partial results of 4 bytes as many; 68 GB/s of LPDDR5 take 0.12 mm2
    each; the rest is 5 mm2. Channels add a fifth."""
    area = dict(db.sql("SELECT silicon_piece, area_mm2 FROM part_area WHERE hardware = 'npu64'").rows())
    expected = {
        "arithmetic.matrix": 16 * 64 * 64 * 419e-6 * 2.1 * 4.5 / 65.6,
        "memory.l2": 16 * 2**20 * 8 * 0.027e-6 / 0.467,
        "memory.accumulator.unit": 16 * 64 * 4096 * 4 * 8 * 0.027e-6 / 0.467,
        "phy.dram": 68 * 0.12,
        "uncore": 5.0,
    }
    assert {piece: area[piece] / 1.2 for piece in expected} == pytest.approx(expected, rel=0.01)


def test_int8_under_a_backend_that_people_do_not_use_is_said(db: Session, said: list[str]) -> None:
    line = "int8 on t4 is usually run by tensorrt: the int8 kernels of inductor are assumed, and no measurement bounds their times"
    for backend, count in (("inductor", 1), ("tensorrt", 0)):
        said.clear()
        db.report("small", on="t4", precision="int8", backend=backend)
        assert said.count(line) == count


@pytest.mark.slow("checks a chip in two families, and adds one")
def test_a_peak_follows_from_array_and_clock_and_each_number_that_is_not_stated_is_named(db: Session, said: list[str], tmp_path: Path) -> None:
    """16 arrays of 64 x 64 elements at 1 GHz do 2 x 16 x 4,096 x 1e9 = 131.072 TOPS, vector units a sixteenth of that: 8.192 TOPS.

    A TPU lends 20 mm2 of host interface, an NPU 5; its array has 7.5 times its multipliers' area, that of an NPU 2.1 times.
    """
    unrated = NPU.replace("npu64", "unrated").replace(f"    peak_ops_per_s: {number(131.072, 'TOPS')}\n", "")
    assert "TOPS" not in unrated
    path = tmp_path / "unrated.yaml"
    for family, lent in (("npu", "mac_area_factor 2.1, uncore_mm2 5"), ("tpu", "mac_area_factor 7.5, uncore_mm2 20")):
        path.write_text(unrated.replace("family: npu", f"family: {family}"))
        said.clear()
        assert db.hardware.check(path).is_empty()
        told = "\n".join(said)
        assert "peak.int8.matrix.int32.peak_ops_per_s = 131 TOP/s (units x operations a clock x clock)" in told
        assert "assumed: peak.int8.vector.int32.peak_ops_per_s = 8.19 TOP/s (0.0625 ratio x peak of the matrix units)" in told
        assert f"family {family} lends " in told and all(rule in told for rule in lent.split(", "))
        assert "assumed: cluster.unit.accumulator_rows = 4096 (number of the family (hardware_family))" in told
        assert "assumed: energy.static.chip = " in told and "memory.dram" not in told
    path.write_text(unrated.replace("unit: matrix", "unit: vector"))
    assert "give it peak_ops_per_s" in str(db.hardware.check(path)["fault"].to_list())
    path.write_text(unrated)
    db.hardware.add(path)
    for column in ("latency_s", "energy_j"):
        first, second = (db.report("small", on=part, batch=64)[column][0] for part in ("unrated", "npu64"))
        assert first == pytest.approx(second, rel=1e-9)


def arrays(name: str, count: int, side: int, accumulators: int, scratchpad_kib: int | None) -> str:
    """Document of the chip with other arrays, each with a scratchpad of its own or with none."""
    document = NPU.replace("npu64", name).replace(number(64, "count"), number(side, "count"))
    document = document.replace(f"unit_count: {number(16, 'count')}", f"unit_count: {number(count, 'count')}")
    document = document.replace("131.072", str(131.072 * count / 16 * (side / 64) ** 2))
    document = document.replace("    clock_boost_hz", f"    accumulator_rows: {number(accumulators, 'count')}\n    clock_boost_hz")
    if scratchpad_kib is None:
        return document
    level = f"  scratchpad: {{scope: unit, management: software, technology: SRAM, capacity_byte: {number(scratchpad_kib, 'KiB')}"
    return document.replace("memory:\n", f"memory:\n{level}, bandwidth_byte_per_s: {number(4 * side, 'GB/s')}}}\n")


@pytest.mark.slow("ingests a network into a file of its own")
def test_small_arrays_fetch_their_operands_from_the_memory_that_they_share(product: Session, tmp_path: Path) -> None:
    """64 arrays of 16 x 16 and one of 128 x 128 finish the product in 32,768 cycles. L2 gives 272 GB/s.

    A part of the rows has 64 columns of tiles. In four parts each array takes four of 256 columns: 16 arrays fetch each input, and
    weights cross once a part. An array of 128 x 128 takes all columns, and reads inputs 8 times from its scratchpad.
    """
    for name, count, side, kib in (("small", 64, 16, 64), ("large", 1, 128, 4096)):
        path = tmp_path / f"{name}.yaml"
        path.write_text(arrays(f"{name}_arrays", count, side, 4096, kib))
        product.hardware.add(path)
    found = {}
    for name in ("small", "large"):
        asked = ONE | {"on": f"{name}_arrays"}
        found[name] = {row["level"]: row for row in product.report("one", section="traffic", **asked).to_dicts()}
        (step,) = product.report("one", section="steps", **asked).to_dicts()
        assert step["ideal_s"] * 1e9 == pytest.approx(32768, rel=0.01)
    shared, own = found["small"]["l2"], found["small"]["scratchpad"]
    assert shared["level_byte"] == (16 * 512 + 4 * 1024) * 1024
    assert own["level_byte"] == (64 * 512 + 4 * 1024) * 1024
    assert shared["is_slowest"]
    assert shared["level_s"] == pytest.approx(shared["level_byte"] / 272e9) and shared["level_s"] > step["ideal_s"]
    assert found["large"]["scratchpad"]["level_byte"] == (8 * 512 + 1024) * 1024
    # All that a larger array fetches are bytes that cross L2 once: inputs, weights and results.
    assert found["large"]["l2"]["level_byte"] == pytest.approx((2 * 512 + 1024) * 1024, rel=0.26)
    byte_j = product.sql("SELECT cache_j_per_byte FROM part WHERE hardware = 'small_arrays'")["cache_j_per_byte"][0]
    assert shared["level_j"] == pytest.approx(shared["level_byte"] * byte_j * VOLTAGE, rel=1e-3)


@pytest.mark.slow("ingests a network into a file of its own")
@pytest.mark.parametrize(
    ("side", "accumulators", "scratchpad_kib"), [(32, 0, None), (128, 0, 256), (32, 4096, None), (64, 4096, None), (64, 4096, 256)]
)
def test_the_search_ranks_dataflows_as_answers_do(
    product: Session, tmp_path: Path, side: int, accumulators: int, scratchpad_kib: int | None
) -> None:
    """16 arrays of another size: energies of the best nest and of the answer have the same order of dataflows where both differ by more than
    2 %. Without accumulators 1,024 / 32 folds of the depth send partial results through memory, so that stationary results cost least; with
    accumulators they cost most, because both operands stream."""
    name = f"npu_{side}_{accumulators}_{scratchpad_kib or 0}"
    path = tmp_path / f"{name}.yaml"
    path.write_text(arrays(name, 16, side, accumulators, scratchpad_kib))
    product.hardware.add(path)
    asked = {"batch": 512, "precision": "int8"}
    nests = product.mapping("one", on=name, each=True, **asked).to_dicts()
    searched = {row["dataflow"]: row["energy_j"] for row in nests if row["stands"] == "best"}
    points = product.explore(base=name, vary="dataflow=ws,os,is", models="one", every_point=True, **asked).to_dicts()
    answered = {row["dataflow"]: row["energy_j"] for row in points}
    for one, other in itertools.combinations(answered, 2):
        ratios = searched[one] / searched[other], answered[one] / answered[other]
        assert (ratios[0] > 1) == (ratios[1] > 1) or min(abs(ratio - 1) for ratio in ratios) < 0.02, (one, other, ratios)
    extreme = max if accumulators else min
    assert extreme(answered, key=answered.__getitem__) == "output_stationary", (searched, answered)


@pytest.mark.slow("adds two parts")
@pytest.mark.parametrize("confidence", ["assumed", "measured"])
def test_a_part_changes_no_answer_of_another(file: Path, tmp_path: Path, confidence: str) -> None:
    """A sibling of the same architecture, bandwidth and arrays states that it reaches its peaks. Only the sibling is faster for it."""
    stated = "efficiency:\n" + "".join(
        f"  {resource}: {number(1, 'fraction').replace('confidence: assumed', f'confidence: {confidence}')}\n"
        for resource in ("matrix", "vector", "memory", "overlap")
    )
    for name, more in (("npu64", ""), ("sibling", stated)):
        (tmp_path / f"{name}.yaml").write_text(NPU.replace("npu64", name) + more)
    shutil.copy(file, tmp_path / "siblings.duckdb")
    query = "SELECT * FROM model_report WHERE hardware = 'npu64' ORDER BY ALL"
    with Session(tmp_path / "siblings.duckdb", messages=Messages(warn=print, remark=print)) as session:
        session.hardware.add(tmp_path / "npu64.yaml")
        before = session.sql(query)
        session.hardware.add(tmp_path / "sibling.yaml")
        assert session.sql(query).equals(before)
        seconds = {name: session.report("small", on=name)["latency_s"][0] for name in ("npu64", "sibling")}
    assert seconds["sibling"] < seconds["npu64"]
