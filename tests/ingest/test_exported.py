"""Saved programs: their data is read, and none of their code runs."""

from __future__ import annotations

import contextlib
import json
import pickle
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from charz.ingest import pipeline
from charz.ingest.compile.rules import Rules
from charz.ingest.sources import exported, live, untrusted
from charz.ingest.sources.spec import Spec
from charz.schema.compiled import HeapGrowth, Kernel, TensorLifetime
from charz.schema.errors import CharzError
from charz.schema.workload import Operator, Tensor


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor, factor: float) -> dict[str, torch.Tensor]:
        with torch.no_grad():
            scaled = self.linear(x).reshape(2 * x.shape[0], 2) * factor
        return {"scaled": scaled + torch.tensor([1.0, 2.0])}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "net.pt2"
    batch = torch.export.Dim("batch", min=2, max=64)
    shapes = {"x": {0: batch}, "factor": None}
    program = torch.export.export(Net(), (torch.randn(4, 8), 2.0), dynamic_shapes=shapes)
    torch.export.save(program, path)
    return path


def load(path: Path, trust: bool = False) -> Any:
    return exported.build(Spec(str(path), "exported", trust=trust))


def crafted(saved: Path, path: Path, entries: dict[str, Callable[[bytes], bytes]]) -> Path:
    """Copy the archive with entries changed, by the end of their names; a missing entry is added."""
    with zipfile.ZipFile(saved) as source, zipfile.ZipFile(path, "w") as target:
        left = dict(entries)
        for entry in source.infolist():
            name = next((n for n in left if entry.filename.endswith(n)), None)
            data = source.read(entry)
            target.writestr(entry.filename, left.pop(name)(data) if name else data)
        for name, make in left.items():
            target.writestr(f"net/{name}", make(b""))
    return path


class Payload:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.write_text, (self.path, "ran")


def program(change: Callable[[dict[str, Any]], None]) -> dict[str, Callable[[bytes], bytes]]:
    """Return the change for the program's JSON."""

    def make(data: bytes) -> bytes:
        document = json.loads(data)
        change(document)
        return json.dumps(document).encode()

    return {"models/model.json": make}


def test_a_saved_program_is_loaded_as_it_is(saved: Path) -> None:
    request = load(saved)
    assert request.axes == {"x": {0: (1, 0, 0)}}
    assert request.name == "net"


class Viewed(torch.nn.Module):
    """Views of views; a saved file does not record lifetimes beyond the last reader."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8)
        self.head = torch.nn.Linear(8 * 16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.nn.functional.dropout(torch.relu(self.norm(self.conv(x))), training=self.training)
        with torch.no_grad():
            x = x.permute(0, 2, 3, 1).contiguous().reshape(x.shape[0], -1)
        x = self.head(x.view(-1, 8, 16).flatten(1))
        return torch.relu(x.t().t())


@pytest.mark.default
def test_a_saved_program_is_the_model_that_it_was(tmp_path: Path, rules: Rules) -> None:
    module = Viewed().eval()
    shapes = ({0: torch.export.Dim("batch", min=2, max=64)},)
    torch.export.save(
        torch.export.export(module, (torch.randn(4, 3, 4, 4),), dynamic_shapes=shapes), tmp_path / "net.pt2"
    )
    made = pipeline.ingest_request(load(tmp_path / "net.pt2"), rules)
    named = pipeline.ingest_request(live.request(module, "B,3,4,4"), rules)
    assert made.model["parameter_count"] == 3 * 8 * 9 + 8 + 2 * 8 + 128 * 10 + 10
    views = made.columns[Operator]
    assert [n for n, v in zip(views["aten_operator"], views["is_view"], strict=True) if v] == [
        "aten.dropout.default", "aten.permute.default", "aten.reshape.default", "aten.view.default",
        "aten.flatten.using_ints", "aten.t.default", "aten.t.default",
    ]  # fmt: skip
    for table in (Operator, Tensor, TensorLifetime, HeapGrowth, Kernel):
        known = {n: v for n, v in made.columns[table].items() if n not in ("source_file", "source_line", "class_name")}
        assert known == {n: named.columns[table][n] for n in known}, table.TABLE


def _saved_payload(path: Path) -> bytes:
    torch.save({"x": Payload(path)}, path.with_name("payload.pt"))
    return path.with_name("payload.pt").read_bytes()


def _pickled_weight(path: Path) -> dict[str, Callable[[bytes], bytes]]:
    def config(data: bytes) -> bytes:
        document = json.loads(data)
        document["config"]["linear.weight"].update(use_pickle=True)
        return json.dumps(document).encode()

    return {"weights_config.json": config, "weights/weight_0": lambda _: _saved_payload(path)}


def _pickled_constant(path: Path) -> dict[str, Callable[[bytes], bytes]]:
    def config(data: bytes) -> bytes:
        document = json.loads(data)
        next(iter(document["config"].values())).update(path_name="opaque_obj_0", use_pickle=True)
        return json.dumps(document).encode()

    return {
        "constants_config.json": config,
        "data/constants/opaque_obj_0": lambda _: pickle.dumps(Payload(path)),
    }


def _evaluated_size(path: Path) -> dict[str, Callable[[bytes], bytes]]:
    def change(document: dict[str, Any]) -> None:
        sizes = document["graph_module"]["graph"]["tensor_values"]["x"]["sizes"]
        sizes[0]["as_expr"]["expr_str"] = f"__import__('pathlib').Path({str(path)!r}).write_text('ran')"

    return program(change)


def _called_attribute(path: Path) -> dict[str, Callable[[bytes], bytes]]:
    def change(document: dict[str, Any]) -> None:
        document["graph_module"]["graph"]["nodes"][0]["target"] = "torch.os.system"

    return program(change)


def _file_operator(path: Path) -> dict[str, Callable[[bytes], bytes]]:
    def change(document: dict[str, Any]) -> None:
        document["graph_module"]["graph"]["nodes"][0]["target"] = "torch.ops.aten.from_file.default"

    return program(change)


def _imported_module(path: Path) -> dict[str, Callable[[bytes], bytes]]:
    def change(document: dict[str, Any]) -> None:
        signature = document["graph_module"]["module_call_graph"][0]["signature"]
        context = json.dumps({"default_factory_module": "antigravity", "default_factory_name": "x", "dict_context": []})
        signature["out_spec"] = json.dumps(
            [1, {"type": "collections.defaultdict", "context": context, "children_spec": []}]
        )

    return program(change)


def _guard(path: Path) -> dict[str, Callable[[bytes], bytes]]:
    return program(lambda document: document.update(guards_code=["__import__('os')"]))


CRAFTED: dict[str, tuple[Callable[[Path], dict[str, Callable[[bytes], bytes]]], str]] = {
    "sample inputs": (lambda path: {"sample_inputs/model.pt": lambda _: _saved_payload(path)}, "pickled objects"),
    "weight": (_pickled_weight, "pickled objects"),
    "constant": (_pickled_constant, "a pickled object"),
    "size": (_evaluated_size, "a size that is not arithmetic"),
    "attribute": (_called_attribute, "an operator that is not one of torch's own, torch.os.system"),
    "file operator": (_file_operator, "an operator that is not one of torch's own"),
    "module": (_imported_module, "inputs whose structure imports a module"),
    "guard": (_guard, "conditions on its inputs in Python"),
    "library": (lambda _: {"data/aotinductor/net/net.so": lambda _: b"\x7fELF"}, "a compiled library"),
}


@pytest.mark.parametrize("kind", CRAFTED)
def test_a_crafted_program_is_refused_and_nothing_of_it_runs(saved: Path, tmp_path: Path, kind: str) -> None:
    make, what = CRAFTED[kind]
    ran = tmp_path / "ran"
    path = crafted(saved, tmp_path / "net.pt2", make(ran))
    with pytest.raises(CharzError, match=re.escape(what)) as caught:
        load(path)
    assert "--trust" in caught.value.line
    assert "\n" not in caught.value.line
    assert not ran.exists()


@pytest.mark.parametrize("kind", ["sample inputs", "weight", "constant", "size"])
def test_the_payloads_do_run_where_the_user_trusts_them(saved: Path, tmp_path: Path, kind: str) -> None:
    """Without this, the test above would prove nothing."""
    ran = tmp_path / "ran"
    path = crafted(saved, tmp_path / "net.pt2", CRAFTED[kind][0](ran))
    with contextlib.suppress(CharzError):  # loading the payload does not return a tensor
        load(path, trust=True)
    assert ran.read_text() == "ran"


def test_an_archive_of_the_old_layout_is_refused(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    path = tmp_path / "old.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("version", "8.20")
        for name in ("exported_program.json", "state_dict.pt", "constants.pt", "example_inputs.pt"):
            archive.writestr(f"serialized_{name}", b"{}" if name.endswith("json") else _saved_payload(ran))
    with pytest.raises(CharzError, match=r"torch 2\.7 or older.*--trust"):
        load(path)
    assert not ran.exists()


def test_what_is_no_archive_is_refused(saved: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder.pt2"
    folder.mkdir()
    text = tmp_path / "text.pt2"
    text.write_text("no archive")
    cut = tmp_path / "cut.pt2"
    cut.write_bytes(saved.read_bytes()[:-200])
    for path, message in (
        (tmp_path / "none.pt2", "no such file"),
        (folder, "not a file"),
        (text, "not a program saved by torch.export.save"),
        (cut, "not a program saved by torch.export.save"),
    ):
        with pytest.raises(CharzError, match=message) as caught:
            load(path)
        assert "\n" not in caught.value.line


@pytest.mark.parametrize(
    ("text", "is_arithmetic"),
    [
        ("Symbol('s77', positive=True, integer=True)", True),
        ("Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(-1))", True),
        ("FloorDiv(s0 + 1, 2)*u3 + Max(1, s27)**2", True),
        ("2.5*s0", True),
        ("__import__('os').system('x')", False),
        ("Symbol('s0').__class__", False),
        ("s0.is_integer", False),
        ("exec('1')", False),
        ("(lambda: 1)()", False),
        ("s0; s1", False),
        ("[s0 for s0 in s1]", False),
    ],
)
def test_sizes_are_arithmetic(text: str, is_arithmetic: bool) -> None:
    if is_arithmetic:
        untrusted._check_expression(text, "net.pt2")
    else:
        with pytest.raises(CharzError, match="not arithmetic"):
            untrusted._check_expression(text, "net.pt2")
