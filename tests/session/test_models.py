"""Models are ingested, listed, covered, and their fusion compared with inductor's."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
import torch
from torch import nn
from torch.utils import flop_counter

import charz
from charz.schema.errors import CharzError
from charz.session import CharzWarning, Messages, Session


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def db(tmp_path: Path, said: list[str]) -> Iterator[Session]:
    """Session with a new file."""
    with Session(tmp_path / "new.duckdb", messages=Messages(warn=said.append, remark=said.append)) as session:
        yield session


def test_a_users_own_fusion_rule_makes_fewer_kernels(db: Session) -> None:
    """Inductor calls libraries for products: linear, ReLU, linear are three kernels, and two with a user's own rule."""
    query = "SELECT kernel FROM kernel WHERE backend = 'inductor' ORDER BY kernel_id"
    asked = ["synthetic:mlp", "in=16", "hidden=32", "layers=2"]
    db.ingest(asked)
    assert db.sql(query)["kernel"].to_list() == ["linear", "activation", "linear"]
    name = db.models()["model"][0]
    before = db.report(name, on="t4", backend="inductor", section="fusion")
    db.close()
    with duckdb.connect(db.path) as connection:
        connection.execute(
            "INSERT INTO fusion_rule VALUES ('inductor', 'linear', 'activation', 'always', 'assumption', 'assumed')"
        )
    with charz.open(db.path) as changed:
        assert changed.sql("SELECT model FROM stale_compilation")["model"].to_list() == [name]
        changed.ingest(asked)
        assert changed.sql(query)["kernel"].to_list() == ["linear+activation", "linear"]
        after = changed.report(name, on="t4", backend="inductor", section="fusion")
    assert (before["kernel_count"][0], after["kernel_count"][0]) == (3, 2)
    assert after["unfused_latency_s"][0] == pytest.approx(before["unfused_latency_s"][0], rel=1e-12)
    # The result of the first product is written and read: 2 x 32 elements of 4 bytes.
    assert before["traffic_byte"][0] - after["traffic_byte"][0] == 2 * 32 * 4


class Gated(nn.Module):
    """Container that computes between calls of its children and reads its input again at the end."""

    def __init__(self, inside: int, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(inside, width, 3, padding=1), nn.BatchNorm2d(width))
        self.gate = nn.Conv2d(inside, width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x)) * torch.sigmoid(self.gate(x))


class Nested(nn.Module):
    """Nested modules, of which `pool` is called three times and `again` twice."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.mid = Gated(3, 8), Gated(8, 16)
        self.pool = nn.MaxPool2d(2)
        self.again = Gated(16, 16)
        self.head = nn.Conv2d(24, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = self.down(x)
        b = self.again(self.mid(self.pool(a)))
        c = self.again(self.pool(b))
        wide = nn.functional.interpolate(c, scale_factor=4.0)
        return self.head(torch.cat([wide, a], 1)) + self.pool(c).mean()


@pytest.mark.costly("traces a network")
@pytest.mark.parametrize("train", [False, pytest.param(True, marks=pytest.mark.slow("the same before a backward pass"))])
def test_layers_are_what_hooks_of_torch_see(db: Session, train: bool) -> None:
    """Shapes of a module's first call by torch's hooks, parameters by torch, and multiply-accumulates of all calls by torch's counter."""
    module, shapes = Nested(), {}

    def note(path: str, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        shapes.setdefault(path, [str(["B", *t.shape[1:]]).replace("'", "") for t in (inputs[0], output)])

    for path, child in module.named_modules():
        child.register_forward_hook(lambda _, inputs, output, path=path: note(path, inputs, output))
    with flop_counter.FlopCounterMode(display=False) as counter:
        module(torch.zeros(1, 3, 16, 16))
    for child in module.modules():
        child._forward_hooks.clear()
    db.ingest(module, inputs="B,3,16,16", name="net", train=train, no_answers=True)
    macs = {path: sum(counts.values()) / 2 for path, counts in counter.get_flop_counts().items()}
    expected = {
        path: (*shapes[path], sum(p.numel() for p in child.parameters()), macs.get(f"Nested.{path}".rstrip("."), 0))
        for path, child in module.named_modules()
    }
    columns = ("path", "input_shape", "output_shape", "parameter_count", "macs")
    assert {path: tuple(values) for path, *values in db.models("net,train" if train else "net", section="layers").select(columns).rows()} == expected


def test_a_linear_its_bias_and_its_relu_are_three_rows(db: Session) -> None:
    """64 to 128 features in one kernel of a KPU: 2 x 64 x 128 operations of weight 1 and 128 of ReLU, of weight 0.05 when
    fused; of the product's share 128 additions of weight 0.05 are the bias's."""
    db.ingest(["synthetic:mlp", "in=64", "hidden=128", "out=1", "layers=2"])
    name = db.models()["model"][0]
    keys = "hardware = 'kpu_t256' AND backend = 'kpu' AND batch = 1"
    columns = "operator_class, step, is_fused, base_modifier, modifier, share_fraction"
    rows = db.sql(f"SELECT {columns} FROM operator_edp WHERE {keys} AND kernel_id = 0 ORDER BY operator_id, step DESC")
    product, added = 2 * 64 * 128, 0.05 * 128
    assert rows.drop("share_fraction").rows()[:3] == [
        ("linear", "main", True, 1.0, 1.0),
        ("bias", "bias", True, 1.5, 0.05),
        ("activation", "main", True, 1.5, 0.05),
    ]
    assert rows["share_fraction"].sum() == pytest.approx(1)
    share = dict(zip(rows["operator_class"][:3], rows["share_fraction"][:3], strict=True))
    assert share["bias"] / share["linear"] == pytest.approx(added / product)
    assert share["activation"] / (share["linear"] + share["bias"]) == pytest.approx(added / product)
    # Shares of the run, without those of its call.
    run = db.sql(f"SELECT sum(model_fraction) AS f, sum(edp_js) AS edp FROM operator_edp WHERE {keys}").row(
        0, named=True
    )
    total = db.sql(f"SELECT edp_js FROM model_edp WHERE {keys}")["edp_js"][0]
    assert run["f"] == pytest.approx(run["edp"] / total) and 0 < run["f"] < 1
    # In separate kernels ReLU weighs 1.5, and the product keeps its bias.
    told = db.report(name, on="kpu_t256", section="operators", precision="int8", batch=1)
    assert len(told) == len(db.sql(f"SELECT 1 FROM operator_edp WHERE {keys}"))
    alone = db.sql("SELECT * FROM operator_edp WHERE hardware = 'kpu_t256' AND backend = 'kpu_unfused'")
    assert alone.filter(operator_class="activation").select("is_fused", "modifier", "share_fraction").rows() == [
        (False, 1.5, 1.0)
    ]
    relu = told.filter(operator_class="activation").row(0, named=True)
    ratio = alone.filter(operator_class="activation")["edp_js"][0] / relu["edp_js"]
    assert relu["fusion_ratio"] == pytest.approx(ratio)


@pytest.fixture
def unsized(file: Path, tmp_path: Path) -> Iterator[Session]:
    """File of three models, one with operators without a rule."""
    path = tmp_path / "unsized.duckdb"
    path.write_bytes(file.read_bytes())
    with charz.open(path) as session:
        with session.changing() as connection:
            connection.execute("UPDATE operator SET rule = NULL WHERE model = 'small' AND operator_id < 3")
        yield session


def failure(method: Callable[..., object], *arguments: object, **options: object) -> bool:
    """Return True if the command would end with exit code 1."""
    return bool(method.asked.rows(*arguments, **options).is_failure)  # type: ignore[attr-defined]


@pytest.mark.default
def test_ingest_makes_the_file_and_answers_about_what_it_brought_in(db: Session, said: list[str]) -> None:
    closing = db.ingest(["synthetic:mlp", "in=16", "hidden=32,64"])
    assert db.path.exists()
    listed = db.models()
    assert len(listed) == 2 and set(closing["model"]) == set(listed["model"])
    assert list(dict.fromkeys(closing["hardware"])) == ["i7_13700k", "h100_sxm5_80", "tpu_v4", "kpu_t256"]
    report = db.report(listed["model"][0], on="h100_sxm5_80", batch=1, precision="fp16", backend="inductor")
    rows = closing.filter(model=listed["model"][0], hardware="h100_sxm5_80", precision="fp16")
    assert rows["backend"].to_list() == ["inductor"]
    assert rows["latency_s"][0] == pytest.approx(report["latency_s"][0], rel=1e-9)
    assert "models: 2 written" in said
    assert any(line.startswith("next: charz compare ") for line in said)
    db.ingest(["synthetic:mlp", "in=16", "hidden=32"])
    assert "models: 1 unchanged" in said


def test_of_more_models_each_has_a_line(db: Session) -> None:
    closing = db.ingest(["synthetic:mlp", "in=16", "hidden=8,16,32,64"])
    assert [name.split(",")[2] for name in closing["model"]] == ["hidden=8", "hidden=16", "hidden=32", "hidden=64"]
    assert set(closing["hardware"]) == {"h100_sxm5_80"}


def test_the_work_listed_is_that_of_one_input(db: Session) -> None:
    """A perceptron from 16 over 32 to 4 for 3 rows multiplies 3 * (16 * 32 + 32 * 4) = 1,920 times."""
    db.ingest(["synthetic:mlp", "in=16", "hidden=32", "out=4"], batch=3)
    (row,) = db.models().iter_rows(named=True)
    assert row["macs"] == 1920
    assert row["parameter_count"] == 16 * 32 + 32 + 32 * 4 + 4


def test_a_model_that_fails_leaves_the_others(db: Session, said: list[str]) -> None:
    assert failure(Session.ingest, db, ["synthetic:mlp", "synthetic:nothing"])
    assert any(line.startswith("failed: synthetic:nothing: ") for line in said)
    assert len(db.models()) == 1
    with pytest.raises(CharzError, match=r"no model named.*charz ingest"):
        db.ingest()


def test_a_failure_is_a_warning_for_python(tmp_path: Path) -> None:
    with Session(tmp_path / "new.duckdb") as db, pytest.warns(CharzWarning, match="failed: synthetic:nothing"):
        assert len(db.ingest("synthetic:nothing")) == 0


def test_names_of_a_source_are_listed_without_a_file(db: Session) -> None:
    assert "synthetic:mlp" in db.ingest(list_="synthetic")["model"]
    assert not db.path.exists()


def test_models_are_those_of_the_scope(file: Path) -> None:
    with charz.open(file) as db:
        assert db.models()["model"].to_list() == ["decoder", "other", "small"]
        assert db.scope(models="small").models()["model"].to_list() == ["small"]
        with duckdb.connect(str(file), read_only=True) as connection:
            query = "SELECT count(*) FROM operator WHERE model = 'small' AND NOT is_view"
            ((count,),) = connection.execute(query).fetchall()
        assert db.models().filter(model="small")["operator_count"].to_list() == [count]


def test_coverage_tells_what_has_no_rule(unsized: Session) -> None:
    known = unsized.models("other", section="coverage")
    assert known["unsized_count"].to_list() == [0]
    with pytest.raises(CharzError, match="unknown model"):
        unsized.models("smal")
    ((count,),) = unsized.connection().execute("SELECT count(*) FROM operator WHERE rule IS NULL").fetchall()
    assert count > 0
    assert dict(unsized.models(section="coverage").select("model", "unsized_count").iter_rows()) == {
        "decoder": 0,
        "other": 0,
        "small": count,
    }
    operators = unsized.models(section="unsized")
    assert operators["operator_count"].sum() == count
    assert set(operators["first_model"]) == {"small"}
    for section in ("coverage", "unsized"):
        assert failure(Session.models, unsized, section=section)
        assert not failure(Session.models, unsized, "other", section=section)


@pytest.mark.slow
def test_fusion_is_held_against_inductors_plan(db: Session) -> None:
    """For one of ResNet-18's 75 pairs the rules and inductor differ: a CPU's loops fuse the last mean."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (row,) = db.measure("resnet18", section="fusion").iter_rows(named=True)
        (pair,) = db.measure("resnet18", section="fusion_pairs").iter_rows(named=True)
    assert row["pair_count"] == 75
    assert row["agreement_fraction"] == pytest.approx(74 / 75)
    assert row["both_count"] + row["neither_count"] == 74
    assert pair["consumer"] == "aten.adaptive_avg_pool2d" and pair["pair_count"] == 1


def test_a_backward_pass_is_answered_for_where_something_trains(db: Session, said: list[str]) -> None:
    small = ["synthetic:mlp", "in=16", "hidden=32"]
    closing = db.ingest(small, train=True)
    assert list(dict.fromkeys(closing["hardware"])) == ["i7_13700k", "h100_sxm5_80", "tpu_v4"]
    assert set(closing["backend"]) == {"eager", "inductor", "xla"}  # eager in place of openvino on the processor
    assert "no answer on kpu_t256: no backend there trains" in said
    (trained,) = closing["model"].unique()
    assert db.report(trained, on="i7_13700k")["backend"].to_list() == ["eager"]
    for options in ({"backend": "tensorrt"}, {"precision": "int8"}):
        with pytest.raises(CharzError, match="this does not train"):
            db.report(trained, on="h100_sxm5_80", **options)
    with pytest.raises(CharzError, match="no backend of this part trains: kpu_t256"):
        db.report(trained, on="kpu_t256")
    rows = db.compare([trained], on=["h100_sxm5_80"], backend=["inductor", "tensorrt"], precision=["fp16", "int8"])
    assert set(zip(rows["backend"], rows["precision"], strict=True)) == {("inductor", "fp16")}
    assert any(line.startswith("left out: tensorrt, int8, which does not train") for line in said)
    db.ingest(small)
    (other,) = set(db.models()["model"]) - {trained}
    both = db.compare([trained, other], on=["i7_13700k"])
    assert dict(both.select("model", "backend").iter_rows()) == {trained: "eager", other: "openvino"}


def test_what_does_not_fit_is_said_when_it_is_ingested(tmp_path: Path) -> None:
    """A layer of 200,000 x 200,000 in four bytes takes 160 GB; one of 16 x 16 fits everywhere."""
    said: list[str] = []
    with Session(tmp_path / "new.duckdb", messages=Messages(warn=said.append)) as db:
        db.ingest(["synthetic:mlp", "in=16", "hidden=16", "layers=1"], no_answers=True)
        assert not [line for line in said if "does not fit" in line]
        db.ingest(["synthetic:mlp", "in=200000", "hidden=200000", "out=200000", "layers=1"], no_answers=True)
    (line,) = [line for line in said if "does not fit" in line]
    assert " on h100_sxm5_80 in fp32" in line
