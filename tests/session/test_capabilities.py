"""Compute capabilities that servers need, and parts that have less."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from charz.schema.errors import CharzError
from charz.session import Session
from charz.session.capabilities import Capabilities
from charz.session.messages import Messages

PART_FILES = Path(__file__).parents[2] / "hardware_catalog" / "parts"
PARTS = {"p100": "6.0", "v100": "7.0", "b200": "10.0"}
KNOWN = Capabilities(PARTS, {"vllm": [(1_000, "7.0"), (21_000, "7.5")], "sglang": [(1_000, "7.5")]}, {"vllm": "v0.18", "sglang": "v0.5.12"})
ASKED: dict[str, Any] = {"prompt": 64, "output": 32, "batch": 4}


def test_the_release_decides() -> None:
    """Release 0.21 needs 7.5, earlier ones 7.0; 10.0 is larger than both. A part without a compute capability, and a server without a row, lack none."""
    assert [KNOWN.least("vllm", version) for version in (None, "v0.6", "v0.21", "v0.33.0")] == ["7.0", "7.0", "7.5", "7.5"]
    assert [KNOWN.lacks(part, "vllm", "v0.18") for part in PARTS] == [True, False, False]
    assert [KNOWN.lacks(part, "vllm", "v0.21") for part in PARTS] == [True, True, False]
    assert not KNOWN.lacks("mi300x", "vllm", None) and not KNOWN.lacks("p100", "llama_cpp", None)


def test_pairs_that_no_asked_release_joins() -> None:
    assert KNOWN.lacking(PARTS, ["vllm", "sglang"], {None}) == {("p100", "vllm"): "7.0", ("p100", "sglang"): "7.5", ("v100", "sglang"): "7.5"}
    assert KNOWN.lacking(PARTS, ["vllm"], {"v0.13", "v0.22"}) == {("p100", "vllm"): "7.0"}
    assert KNOWN.lacking(PARTS, ["vllm"], set()) == {}


def test_a_line_for_each_server() -> None:
    lacking = {("p100", "vllm"): "7.0", ("v100", "sglang"): "7.5"}
    assert KNOWN.told(lacking, {"p100": "llama_cpp"}) == [
        "asked under llama_cpp: p100 (6.0): vllm needs compute capability 7.0", "left out: v100 (7.0): sglang needs compute capability 7.5",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def said() -> list[str]:
    return []


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory, file: Path, said: list[str]) -> Iterator[Session]:
    path = tmp_path_factory.mktemp("capabilities") / "charz.duckdb"
    shutil.copy(file, path)
    with Session(path, messages=Messages(warn=said.append, remark=said.append)) as session:
        for name in ("p100_pcie_16", "v100_sxm2_16"):
            if name not in session._names("hardware"):
                session.hardware.add(PART_FILES / "gpu" / f"{name}.yaml")
        yield session


def test_a_part_that_is_too_old_takes_another_server(db: Session, said: list[str]) -> None:
    """A P100 has 6.0, and vLLM needs 7.0, alone and among others."""
    said.clear()
    alone = db.llm("decoder", on="p100_pcie_16", **ASKED)
    assert alone["backend"].to_list() == ["llama_cpp"]
    assert "asked under llama_cpp: p100_pcie_16 (6.0): vllm needs compute capability 7.0" in said
    together = db.llm("decoder", on="t4,p100_pcie_16", **ASKED)
    assert dict(zip(together["hardware"], together["backend"], strict=True)) == {"t4": "vllm", "p100_pcie_16": "llama_cpp"}
    assert together.filter(hardware="p100_pcie_16")["tpot_s"].to_list() == alone["tpot_s"].to_list()


def test_a_named_server_leaves_it_out(db: Session, said: list[str]) -> None:
    said.clear()
    found = db.llm("decoder", on="t4,p100_pcie_16", backend="vllm", tpot="1s", prompt=64, output=32, devices=1)
    assert set(found["hardware"]) == {"t4"} and "left out: p100_pcie_16 (6.0): vllm needs compute capability 7.0" in said
    with pytest.raises(CharzError, match="no part runs this combination"):
        db.llm("decoder", on="p100_pcie_16", backend="vllm", **ASKED)
    with pytest.raises(CharzError, match="no part runs this combination"):
        db.serve("decoder", on="p100_pcie_16", version="v0.13", rate="1")


def test_versions_divide_a_question(db: Session, said: list[str]) -> None:
    """A V100 runs the release 0.13, not 0.22, which a T4 runs too; alone as together."""
    options = ASKED | {"backend": "vllm", "version": "v0.13,v0.22", "precision": "fp16"}
    said.clear()
    found = db.llm("decoder", on="t4,v100_sxm2_16", **options)
    assert sorted(zip(found["hardware"], found["engine_version"], strict=True)) == [("t4", "v0.13"), ("t4", "v0.22"), ("v100_sxm2_16", "v0.13")]
    assert "left out: v100_sxm2_16: vllm v0.22 needs compute capability 7.5" in said
    alone = db.llm("decoder", on="v100_sxm2_16", **options)
    assert alone["tpot_s"].to_list() == found.filter(hardware="v100_sxm2_16")["tpot_s"].to_list()
