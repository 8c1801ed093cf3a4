"""Every command about the whole model answers on a small database, and every picture is drawn."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from oracle.database import add_graph

from charz.cli import dispatch, plot
from charz.cli.workspace import change_workspace

from .generated import graph

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


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with two generated models."""
    path = tmp_path_factory.mktemp("whole") / "small.duckdb"
    with change_workspace(path) as connection:
        add_graph(connection, graph(1), "small")
        add_graph(connection, graph(2), "other")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("line", COMMANDS)
def test_command_answers(line: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch.run([*line.split(), "--db", str(file)]) in (0, None)
    out = capsys.readouterr().out
    assert len(out.splitlines()) > 2
    assert "nan" not in out.split()


def test_cost_ranks_what_does_not_fit_last(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A batch of 10 million floods any part, and is the cheapest a sample."""
    dispatch.run(["cost", "small", "--on", "t4", "--batch", "1,10000000", "--db", str(file)])
    head, _, *rows = capsys.readouterr().out.splitlines()
    columns = [re.split(r" {2,}", line.strip()) for line in (head, *rows)]
    batch, price, fits = (columns[0].index(name) for name in ("batch", "million inference usd", "fits device"))
    assert [(row[batch], row[fits]) for row in columns[1:]] == [("1", "yes"), ("10000000", "no")]
    assert float(columns[1][price].split()[0]) > float(columns[2][price].split()[0])


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
        ("llm small --on t4", "nothing to serve"),
        ("sweep small --resolution 288", "not ingested at this resolution"),
        ("compare smal", "unknown model"),
    ],
)
def test_errors_say_what_to_do(line: str, says: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch.run([*line.split(), "--db", str(file)]) == 2
    assert says in capsys.readouterr().err
