"""Every command about the whole model answers on a small database, and every picture is drawn."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from charz.cli import dispatch, plot
from charz.cli.grid import names
from charz.cli.workspace import change_workspace

PART = "h100_sxm5_80"
COMMANDS = [
    "recommend small --latency 5ms --energy 50J --memory 8GiB --price 5 --on h100_sxm5_80,t4 --batch 1,8",
    "recommend small --latency 1ns --on t4",
    "compare small other --on h100_sxm5_80,kpu_t64 --precision int8,fp32",
    "sweep small --on t4 --batch 1:64 --precision fp32,fp16 --backend eager,inductor",
    "parallel small --on h100_sxm5_80",
    "memory small --on h100_sxm5_80",
    "cost small --on h100_sxm5_80 --co2 400 --kwh 0.2",
    "concurrency small --on h100_sxm5_80",
    "opportunities small --on h100_sxm5_80",
    "report small --on h100_sxm5_80 --full",
]


@pytest.mark.slow
@pytest.mark.parametrize("line", COMMANDS)
def test_command_answers(line: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch.run([*line.split(), "--db", str(file)]) in (0, None)
    out = capsys.readouterr().out
    assert len(out.splitlines()) > 2
    assert "nan" not in out.split()


def _answer(line: str, file: Path, capsys: pytest.CaptureFixture[str]) -> tuple[list[dict[str, str]], str]:
    """The first table, as its columns' texts, and what is said besides."""
    assert dispatch.run([*line.split(), "--db", str(file)]) in (0, None)
    out, said = capsys.readouterr()
    head, _, *rows = (re.split(r" {2,}", text.strip()) for text in out.partition("\n\n")[0].splitlines())
    return [dict(zip(head, row, strict=True)) for row in rows], said


def test_settings_stay_with_their_model() -> None:
    assert names(["resnet50, hf:gpt2,n_layer=2,vocab_size=9,t4", "t4,"]) == [
        "resnet50", "hf:gpt2,n_layer=2,vocab_size=9", "t4",
    ]  # fmt: skip


def test_cost_ranks_what_does_not_fit_last(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A batch of 10 million floods any part, and is the cheapest a sample."""
    rows, _ = _answer("cost small --on t4 --batch 1,10000000", file, capsys)
    assert [(row["batch"], row["fits device"]) for row in rows] == [("1", "yes"), ("10000000", "no")]
    one, many = (float(row["million inference usd"].split()[0]) for row in rows)
    assert one > many


@pytest.mark.parametrize("command", ["compare", "cost", "sweep", "concurrency"])
def test_each_part_is_asked_in_a_precision_it_has(command: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first of fp32, bf16, fp16 and int8: Gaudi 3 states no fp32, Groq's LPU no bf16 either, TPU v1 int8 alone."""
    parts = {"t4": "fp32", "gaudi3": "bf16", "groq_lpu_v1": "fp16", "tpu_v1": "int8"}
    rows, said = _answer(f"{command} small --backend onnxruntime,xla --on {','.join(parts)}", file, capsys)
    assert {row["hardware"]: row["precision"] for row in rows} == parts
    assert "left out" not in said


@pytest.mark.parametrize("command", ["memory", "parallel", "opportunities"])
def test_a_part_without_fp32_is_answered(command: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, _ = _answer(f"{command} small --on gaudi3", file, capsys)
    assert {row["precision"] for row in rows} == {"bf16"}


def test_parts_that_cannot_run_so_are_named(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, said = _answer("compare small --on t4,tpu_v1,kpu_t64 --precision fp16 --backend inductor,xla", file, capsys)
    assert {row["hardware"] for row in rows} == {"t4"}
    assert "left out: fp16 on tpu_v1, it computes in int8; inductor, xla on kpu_t64, it has kpu\n" in said


def test_serving_takes_16_bits_where_the_part_has_them(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The EPYC 9654 has bf16 and no fp16, the i9-10940X neither."""
    rows, said = _answer("llm decoder small --on t4,epyc_9654,i9_10940x", file, capsys)
    found = {(row["model"], row["hardware"], row["precision"]) for row in rows}
    assert found == {("decoder", "t4", "fp16"), ("decoder", "epyc_9654", "bf16"), ("decoder", "i9_10940x", "fp32")}
    assert "left out: small, no attention of it reads a KV-cache\n" in said


def test_an_answer_says_what_it_leaves_out(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "unsized.duckdb"
    path.write_bytes(file.read_bytes())
    assert "no rule" not in _answer("compare small other --on t4", path, capsys)[1]
    with change_workspace(path) as connection:
        connection.execute("UPDATE operator SET rule = NULL WHERE model = 'small' AND operator_id < 3")
    line = "operators of small have no rule, its figures are too small: `charz coverage small`\n"
    assert line in _answer("compare small other --on t4", path, capsys)[1]
    assert "no rule" not in _answer("compare other --on t4", path, capsys)[1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", plot.PICTURES)
def test_picture_is_drawn(kind: str, file: Path, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    out = tmp_path / f"{kind}.svg"
    assert dispatch.run(["plot", kind, "small", "--on", PART, "--out", str(out), "--db", str(file)]) in (0, None)
    drawn = out.read_text()
    assert drawn.startswith("<svg") and "small" in drawn


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("recommend small --latency 5parsec", "not an amount"),
        ("plot rofline small --out a.svg", "unknown picture"),
        ("sweep small --batch many", "not a size"),
        ("llm small --on t4", "nothing to serve: small. No attention of it reads a KV-cache"),
        ("llm decoder --on tpu_v1 --precision fp16", "precision: fp16 on tpu_v1. It computes in int8"),
        ("memory small --on tpu_v1 --precision fp16", "precision: fp16 on tpu_v1. It computes in int8"),
        ("cost small --on tpu_v1 --backend kpu", "part: kpu on tpu_v1. It has xla"),
        ("compare small --precision fp8 --backend openvino", "no part runs this so: small"),
        ("opportunities small --on tpu_v1 --precision fp16 --parts", "this part does not run this model so"),
        ("sweep small --resolution 288", "not ingested at this resolution"),
        ("compare smal", "unknown model"),
    ],
)
def test_errors_say_what_to_do(line: str, says: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch.run([*line.split(), "--db", str(file)]) == 2
    assert says in capsys.readouterr().err
