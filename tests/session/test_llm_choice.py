"""Choices of `llm` on a file: devices that bound splits, precisions that are tried, parts that are asked, and what is told."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from charz.cli import output
from charz.schema.errors import CharzError
from charz.session import Session
from charz.session.ask import prices, splits
from charz.session.messages import Messages
from charz.session.question import Question

PART_FILES = Path(__file__).parents[2] / "hardware_catalog" / "parts"
ASKED: dict[str, Any] = {"prompt": 64, "output": 32, "ttft": "10s", "tpot": "10s"}


@pytest.fixture(scope="module")
def said() -> list[str]:
    return []


@pytest.fixture(scope="module")
def db(file: Path, said: list[str]) -> Iterator[Session]:
    with Session(file, messages=Messages(warn=said.append, remark=said.append)) as session:
        yield session


@pytest.mark.parametrize(("devices", "splits"), [(1, {"one"}), (2, {"one", "tp2", "pp2"}), (3, {"one"})])
def test_devices_bound_the_splits(db: Session, devices: Any, splits: set[str]) -> None:
    """A number is that of all servers together; a decoder without experts has tensor and pipeline parallelism."""
    tried = db._splits(["decoder"], [devices], ([], [], [], []), is_choice=True)
    assert {split.split for split in tried} == splits
    found = db.llm("decoder", on="h100_sxm5_80", devices=devices, **ASKED)
    assert set(found["split"]) <= splits and set(found["devices"]) == {devices}


def test_without_devices_a_choice_tries_up_to_64(db: Session) -> None:
    tried = db._splits(["decoder"], [], ([], [], [], []), is_choice=True)
    assert max(split.tensor * split.pipeline for split in tried) == 64 and max(split.tensor for split in tried) == 8
    assert {split.pipeline for split in db._splits(["decoder"], [], ([2], [], [], []), is_choice=False)} == {2}


def test_a_connection_has_the_splits_that_it_was_given(db: Session) -> None:
    """Columns without a value stay null, and the file's own splits are replaced."""
    made = db._splits(["decoder"], [4], ([2], [], [], []), is_choice=False)
    scoped = db.asked(Question(["decoder"], ["h100_sxm5_80"], serves=True, runs=[{"phase": "decode"}]), "serving_split")
    splits.hold(scoped, made)
    assert scoped.records("SELECT * FROM device_split") == [split.model_dump() for split in made]


def test_a_named_batch_is_the_largest_of_a_choice(db: Session) -> None:
    """A choice also needs the step of one request: asked for 4 alone, it has the row of 1, 2 and 4."""
    one, many = (db.llm("decoder", on="h100_sxm5_80", precision="bf16", devices=1, batch=batch, **ASKED) for batch in (4, "1,2,4"))
    assert one.rows() == many.rows() and len(one)


def test_degrees_that_take_more_than_the_devices(db: Session) -> None:
    with pytest.raises(CharzError, match="no split: --devices 3"):
        db.llm("decoder", on="h100_sxm5_80", devices=3, pipeline=2)


@pytest.mark.parametrize(
    ("options", "told"), [({"lost": True}, "--lost"), ({"smallest": True, "pipeline": 2}, "--smallest"), ({"smallest": True, "tpot": "1s"}, "--smallest")]
)
def test_options_that_do_not_apply(db: Session, options: dict[str, Any], told: str) -> None:
    with pytest.raises(CharzError, match=told):
        db.llm("decoder", on="t4", **options)


def test_choices_try_16_bits_and_fp8(db: Session, said: list[str]) -> None:
    """The T4 has neither bf16 nor fp8, and the A10 no fp8. A named precision is the only one. Servers of each part and precision are choices or lost."""
    said.clear()
    every = {"on": "t4,a10,h100_sxm5_80", "devices": 1}
    tried = [*db.llm("decoder", **every, **ASKED).iter_rows(named=True), *db.llm("decoder", lost=True, **every, **ASKED).iter_rows(named=True)]
    assert sorted((row["hardware"], row["precision"]) for row in tried) == [
        ("a10", "fp16"), ("h100_sxm5_80", "fp16"), ("h100_sxm5_80", "fp8"), ("t4", "fp16"),
    ]  # fmt: skip
    assert "tried: fp16, fp8; charz does not judge their accuracy; --precision names others" in said
    assert set(db.llm("decoder", precision="bf16", **every | {"on": "h100_sxm5_80"}, **ASKED)["precision"]) == {"bf16"}


@pytest.mark.parametrize(("first", "taken"), [("fp16", {"fp16", "fp8"}), ("int8", {"int8"})])
def test_fp8_is_tried_after_16_bits_alone(db: Session, first: str, taken: set[str]) -> None:
    question = Question(beside=("fp8",), serves=True)
    assert {precision for *_, precision in db._targets(["h100_sxm5_80"], question, (first, "fp8"), set())} == taken


def test_formats_that_a_server_lacks_are_left_out(db: Session, said: list[str]) -> None:
    """llama.cpp, which runs on processors, has files of bf16 and fp16, not of fp8. A named precision is not changed."""
    said.clear()
    asked = ("fp8", "bf16", "fp16")
    assert {precision for *_, precision in db._targets(["i7_13700k"], Question(serves=True), asked, set())} <= {"bf16", "fp16"}
    (line,) = [line for line in said if line.startswith("left out: fp8 under llama_cpp, which runs bf16, fp16,")]
    assert "q4_k_m" in line
    named = Question(serves=True, precisions=["fp8"])
    assert {precision for *_, precision in db._targets(["i7_13700k"], named, ("fp8",), set())} == {"fp8"}


def test_a_lost_server_has_one_reason(db: Session) -> None:
    lost = db.llm("decoder", on="t4,a10", devices=1, tpot="1ns", prompt=64, output=32, lost=True)
    assert dict(lost.select("hardware", "reason").iter_rows()) == dict.fromkeys(("t4", "a10"), "TPOT above the limit at batch 1")
    assert all(detail.endswith(" a token") for detail in lost["detail"])


def test_parts_without_a_server_are_left_out_of_choices(db: Session, said: list[str]) -> None:
    said.clear()
    asked = db._serving_parts("all", [])
    assert "t4" in asked and not {"tpu_v1", "kpu_t64"} & set(asked)
    assert any("on which no server of language models runs" in line for line in said)


def test_a_choice_is_among_parts_of_data_centers(db: Session, said: list[str]) -> None:
    """The RTX 4090 is a consumer's part with a rent. A backend that a part lacks leaves it out, too."""
    said.clear()
    found = {among: set(db._serving_parts(among, [])) for among in ("datacenter", "rented", "all")}
    assert "rtx4090" in found["rented"] - found["datacenter"] and {"t4", "h100_sxm5_80"} <= found["datacenter"] & found["rented"]
    assert found["datacenter"] | found["rented"] <= found["all"]
    assert any("which are no parts of data centers; --among rented or all chooses among others" in line for line in said)
    assert any("which have no stated rent; --among datacenter or all chooses among others" in line for line in said)
    assert "i7_13700k" in found["all"] and "i7_13700k" not in db._serving_parts("all", ["vllm"])
    assert db.llm("decoder", devices=1, **ASKED)["hardware"].is_in(found["datacenter"]).all()


def test_lengths_that_the_user_did_not_name_are_told(db: Session, said: list[str]) -> None:
    said.clear()
    db.llm("decoder", on="t4", tpot="10s", devices=1)
    assert "lengths: prompts of 1,024 tokens and outputs of 256; --prompt and --output take yours" in said
    said.clear()
    db.llm("decoder", on="t4", devices=1, **ASKED)
    assert not any(line.startswith("lengths:") for line in said)


def test_parts_that_are_sold_in_nodes(db: Session) -> None:
    """An H100 SXM is sold in nodes of 8, a T4 alone."""
    told = prices.of_nodes(db.connection(), [("h100_sxm5_80", 8), ("h100_sxm5_80", 2), ("t4", 3)])
    assert told == ["priced by the share of a node that is sold whole: h100_sxm5_80 (8 devices)"]
    assert prices.of_nodes(db.connection(), [("h100_sxm5_80", 16), ("t4", 1)]) == [] and prices.of_nodes(db.connection(), [("h100_sxm5_80", 12)]) == told


def test_a_host_of_one_device_joins_no_others(db: Session) -> None:
    """A GH200 is rented alone: no link joins two, and a network joins hosts of one."""
    joined, nodes = db.linked_devices(), prices.node_sizes(db.connection())
    assert all((joined.get(part, 1), nodes[part]) == (1, 1) for part in ("gh200_96", "gh200_144"))


def test_rents_that_the_catalog_assumes_are_named(db: Session) -> None:
    told = prices.said(db, prices.of(db, ["h100_sxm5_80", "t4"]))
    assert told == ["rent: h100_sxm5_80, t4 at an assumed price of 2025-06; `--rent PART=USD` takes yours"]


def test_a_launched_choice_runs_the_requests_of_its_replay(db: Session) -> None:
    rows = db.llm("decoder", on="h100_sxm5_80", devices=1, launch="vllm", rate=5, **ASKED)
    slots, launch = rows.row(0, named=True)["slots"], rows.row(0, named=True)["launch"]
    assert slots > rows["batch"][0] and f"--max-num-seqs {slots} " in f"{launch} "


def test_numbers_of_devices_that_no_link_joins(db: Session, said: list[str]) -> None:
    said.clear()
    rows = db.llm("decoder", on="t4", devices="8,16", batch=1)
    assert set(rows["device_count"]) == {8}
    assert "left out: 16 devices on t4: links join at most 8 of them; --devices 16 --pipeline 2 spreads over two nodes" in said


@pytest.mark.costly("asks for nodes of three sizes")
def test_the_smallest_node(db: Session, said: list[str]) -> None:
    """A batch that does not fit one device of 16 GB."""
    (one,) = db.llm("decoder", on="t4", batch=1, smallest=True).to_dicts()
    assert one["device_count"] == 1 and one["peak_memory_byte"] < 16e9
    assert all(row["most_requests"] >= row["batch"] > 1 for row in db.llm("decoder", on="t4", smallest=True, prompt=64, output=32).to_dicts())
    said.clear()
    assert db.llm("decoder", on="t4", batch=10**8, smallest=True).is_empty()
    assert any(line.startswith("32 t4, ") and line.endswith("does not fit") for line in said)


@pytest.mark.costly("asks for nodes of three sizes")
def test_a_server_that_no_node_keeps_runs_on_several(db: Session, said: list[str]) -> None:
    """Half as many requests again as eight T4s keep run on two nodes in a pipeline, whose stages have half of the layers and of the requests.
    Times are those of the split that names its degrees."""
    asked: dict[str, Any] = {"on": "t4", "precision": "fp16", "prompt": 64, "output": 32}
    (eight,) = db.llm("decoder", devices=8, batch=1, **asked).to_dicts()
    batch = 2 * int(0.75 * eight["most_requests"])
    said.clear()
    (found,) = db.llm("decoder", smallest=True, batch=batch, **asked).to_dicts()
    assert (found["device_count"], found["split"], found["nodes"], found["batch"]) == (16, "tp8 pp2", None, batch)
    assert not any("does not fit" in line for line in said)
    steps = {row["phase"]: row for row in db.llm("decoder", tensor=8, pipeline=2, batch=batch // 2, **asked).to_dicts()}
    assert found["tpot_s"] == steps["decode"]["latency_s"] and found["tokens_per_s"] == pytest.approx(steps["decode"]["tokens_per_s"])
    assert eight["most_requests"] < batch <= found["most_requests"] < 2.5 * eight["most_requests"]
    assert found["million_mixed_tokens_usd"] > 0.0 and found["price_kind"] == "rent"
    said.clear()
    assert db.llm("decoder", smallest=True, batch=batch, devices=8, **asked).is_empty() and any("does not fit" in line for line in said)
    (command,) = db.llm("decoder", smallest=True, batch=batch, launch="vllm", **asked)["launch"]
    assert "--tensor-parallel-size 8 --pipeline-parallel-size 2 --nnodes 2 --node-rank 0 " in command


def test_shares_of_nodes_have_names() -> None:
    told = [prices.nodes("h100", count, {"h100": 8}) for count in (1, 4, 8, 16, 12)]
    assert told == ["1 of 8 devices of a node", "4 of 8 devices of a node", "1 node", "2 nodes", "1.5 nodes"]
    assert prices.nodes("t4", 4, {"h100": 8}) is None


def test_the_smallest_nodes_begin_with_the_cheapest(db: Session, said: list[str]) -> None:
    """The RTX 4090 has a rent. Each part has its 16 bits and, where it computes in it, fp8; the list is cut."""
    said.clear()
    every = db.llm("decoder", on="t4,l4,rtx4090", batch=8, smallest=True)
    assert sorted(zip(every["hardware"], every["precision"], strict=True)) == [
        ("l4", "fp16"), ("l4", "fp8"), ("rtx4090", "fp16"), ("rtx4090", "fp8"), ("t4", "fp16"),
    ]  # fmt: skip
    assert every["million_mixed_tokens_usd"].is_sorted() and set(every["price_kind"]) == {"rent"}
    assert len(db.llm("decoder", on="t4,l4,rtx4090", batch=8, smallest=True, top=2)) == 2
    prices_usd = dict(db.connection().execute("SELECT hardware, price_usd_per_hour FROM part_price").fetchall())
    assert every["price_usd_per_hour"].to_list() == pytest.approx([prices_usd[part] for part in every["hardware"]])
    assert "left out: 3 further rows; --top 5 lists all" in said


def test_parts_that_are_too_small_are_not_asked(db: Session, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of 600 billion weights takes 300 GB in 4 bits: 8 devices of 80 GB are enough, 8 of 16 GB are not, nor are 2 of 80 GB.
    A link joins 8 of them, so 32 are no node."""
    from unittest.mock import Mock

    connection = db.connection()

    def run(query: str, *values: Any) -> Any:
        return Mock(fetchall=lambda: [(300e9,)]) if "MIN(parameter_count)" in query else connection.execute(query, *values)

    monkeypatch.setattr(db, "connection", lambda: Mock(execute=run))
    said.clear()
    assert db._large_enough(["decoder"], ["t4", "h100_sxm5_80"], [1, 8, 32]) == ["h100_sxm5_80"]
    assert said == ["left out: t4, whose memory is smaller than the weights in 4 bits"]
    assert db._large_enough(["decoder"], ["t4", "h100_sxm5_80"], [1, 2]) == ["t4", "h100_sxm5_80"]


def test_a_page_lists_losers(db: Session, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    db.llm("decoder", on="t4,a10", devices=1, html=out, **ASKED)
    page = out.read_text()
    assert "Why others lost" in page and page.index("Why others lost") < page.index('<section id="table">')


def test_formats_of_published_checkpoints() -> None:
    """A configuration's own format counts first; the classes' defaults name none."""
    from types import SimpleNamespace

    huggingface = pytest.importorskip("charz.ingest.sources.huggingface")

    def half(kind: str, dtype: str | None = None, words: int = 32_000) -> str | None:
        found: str | None = huggingface.half_policy(SimpleNamespace(model_type=kind, dtype=dtype, vocab_size=words))
        return found

    assert (half("llama", words=128_256), half("llama"), half("mixtral"), half("gpt2")) == ("bf16", None, "bf16", None)
    assert (half("mixtral", "torch.float16"), half("gpt2", "bfloat16"), half("mixtral", "float32")) == ("fp16", "bf16", None)



def test_a_choice_at_a_rate_names_the_command_that_replays_its_queue(db: Session, said: list[str]) -> None:
    """Both replay the same queue of the same server: load and times of the command are those of the choice."""
    said.clear()
    (found,) = db.llm("decoder", on="h100_sxm5_80", devices=2, tensor=1, pipeline=1, precision="fp16", rate=400.0, **ASKED).to_dicts()
    (line,) = [each for each in said if each.startswith("times and load")]
    split = "--devices 2 --tensor 1 --slots 256"
    assert f"`charz serve decoder --on h100_sxm5_80 --precision fp16 {split} --rate 400 --input 64 --output 32 --ttft 10s --tpot 10s`" in line
    (served,) = db.serve("decoder", on="h100_sxm5_80", precision="fp16", devices=2, tensor=1, slots=256, rate=400, input=64, output=32).to_dicts()
    assert found["devices"] == served["devices"] == 2 and found["replicas"] == 2
    assert found["load_fraction"] == pytest.approx(served["load_fraction"], rel=1e-9) and found["load_fraction"] > 0.02
    for name in ("ttft_p99_s", "tpot_p99_s"):
        assert found[name] == pytest.approx(served[name], rel=0.1)


def test_a_lost_server_has_no_command(db: Session) -> None:
    with pytest.raises(CharzError, match="--lost --launch"):
        db.llm("decoder", on="h100_sxm5_80", rate=1.0, lost=True, launch="vllm", **ASKED)


@pytest.mark.slow("adds a part, and asks for servers alone and together")
class TestBuilds:
    """Builds of a server for AMD parts have versions of their own, which the other parts of a question do not change."""

    PARTS = ("h100_sxm5_80", "mi300x_192")
    OPTIONS: ClassVar[dict[str, Any]] = {"backend": "vllm", "precision": "fp16"}

    @pytest.fixture(scope="class")
    def both(self, tmp_path_factory: pytest.TempPathFactory, file: Path) -> Iterator[Session]:
        path = tmp_path_factory.mktemp("builds") / "charz.duckdb"
        shutil.copy(file, path)
        with Session(path) as session:
            session.hardware.add(PART_FILES / "gpu" / "mi300x_192.yaml")
            yield session

    @pytest.mark.parametrize("limits", [{}, {"ttft": "10s"}, {"pipeline": 2}])
    def test_llm(self, both: Session, limits: dict[str, Any]) -> None:
        options = self.OPTIONS | {"batch": 4, "prompt": 64, "output": 32} | limits
        together = both.llm("decoder", on=",".join(self.PARTS), **options)
        for part in self.PARTS:
            alone = both.llm("decoder", on=part, **options)
            column = "tpot_s" if "tpot_s" in alone.columns else "latency_s"
            assert sorted(together.filter(hardware=part)[column]) == sorted(alone[column])

    def test_serve(self, both: Session) -> None:
        together = both.serve("decoder", on=",".join(self.PARTS), rate="1", **self.OPTIONS).filter(hardware="mi300x_192")
        alone = both.serve("decoder", on="mi300x_192", rate="1", **self.OPTIONS)
        assert together["tpot_p50_s"].to_list() == alone["tpot_p50_s"].to_list()

    def test_parts_without_builds_are_asked_with_others(self, both: Session) -> None:
        """An EPYC's usual server has no builds for AMD parts, which must not hide those of an MI300X."""
        groups = [set(one.hardware) for one in both.by_build(Question())]
        assert {"mi300x_192"} in groups and any({"epyc_9654", "h100_sxm5_80"} <= group for group in groups)
        assert [one.hardware for one in both.by_build(Question(hardware=("mi300x_192",)))] == [("mi300x_192",)]
        options = {"batch": 4, "prompt": 64, "output": 32, "precision": "fp16"}
        together = both.llm("decoder", on="mi300x_192,epyc_9654,h100_sxm5_80", **options).filter(hardware="mi300x_192")
        assert together["tpot_s"].to_list() == both.llm("decoder", on="mi300x_192", **options)["tpot_s"].to_list()


@pytest.mark.parametrize("options", [{"devices": 1}, {"smallest": True, "batch": 1}, {**ASKED, "devices": 1}, {**ASKED, "devices": 1, "rate": 1.0}])
def test_a_stated_rent_replaces_that_of_the_file(db: Session, said: list[str], options: dict[str, Any]) -> None:
    """A rent of 7.2 USD an hour makes tokens dearer in proportion to that of the file; the file's rent is back in the next answer."""
    of = {"on": "h100_sxm5_80", "precision": "bf16"} | options
    ((usd,),) = db.connection().execute("SELECT price_usd_per_hour FROM part_price WHERE hardware = 'h100_sxm5_80'").fetchall()
    found: dict[str | None, dict[str, Any]] = {}
    for rent in (None, "h100_sxm5_80=7.2", None):
        said.clear()
        found[rent] = db.llm("decoder", **of, rent=rent).to_dicts()[0]
        assert (rent is not None) == any(line.startswith("your rent: h100_sxm5_80 7.2 USD/h") for line in said)
        assert not any("compare --price" in line for line in said)
    before, after = found[None], found["h100_sxm5_80=7.2"]
    (name,) = {"million_output_tokens_usd", "million_mixed_tokens_usd"} & set(before)
    (time,) = {"tpot_s", "tpot_mean_s"} & set(before)
    assert after[name] / before[name] == pytest.approx(7.2 / usd) and after[time] == pytest.approx(before[time], rel=1e-12)


def test_a_part_without_a_rent_is_rented_at_the_stated_one(db: Session) -> None:
    assert "t4" in db._of_class("rented")
    with db.child(db._scope) as child:
        child.rents = {"i7_13700k": 0.1}
        assert child._of_class("rented") == db._of_class("rented") | {"i7_13700k"}
    with pytest.raises(CharzError, match="not a rent: --rent l4=much"):
        db.llm("decoder", on="l4", rent="l4=much")


@pytest.mark.parametrize("tpot", ["10s", "1ns"])
def test_limits_that_nothing_meets_end_with_a_fault(db: Session, tpot: str) -> None:
    """A step takes longer than a nanosecond on any part. Commands print the verdict first, and it is on the page of a search."""
    for method, options in (("llm", {"models": "decoder", "devices": 1}), ("serve", {"model": "decoder", "output": 8})):
        rows = getattr(db, method).asked.rows(db, on="h100_sxm5_80", precision="bf16", tpot=tpot, **options)
        assert rows.is_failure == (tpot == "1ns") and rows.verdict.startswith("none" if rows.is_failure else "cheapest: 1 x h100_sxm5_80, bf16, one: ")
        assert output._header(rows).decode().startswith(f"{rows.verdict}\n\n")
