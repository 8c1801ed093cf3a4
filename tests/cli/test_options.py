"""Every method is a command, with the same options and the same answer."""

from __future__ import annotations

import inspect
import json
import math
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import charz
from charz.cli import dispatch
from charz.session import Session
from charz.session.methods import Method, methods
from charz.session.parameters import Text

READS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "assert": (["small"], {"on": "t4", "latency": "10s", "memory": "8GiB"}),
    "compare": (["small", "other"], {"on": ["t4", "kpu_t64"], "batch": "1,8"}),
    "diff": (["small", "other"], {"on": "t4", "section": "modules"}),
    "explain": (["small", "0"], {"on": "t4"}),
    "elasticity": (["small"], {"on": "t4"}),
    "explore": ([], {"base": "t4", "vary": ["units=20,80", "l2=4MiB:16MiB"], "models": ["small"]}),
    "hardware diff": (["t4", "l4"], {}),
    "hardware check": ([], {}),
    "hardware list": ([], {"family": "kpu"}),
    "hardware show": (["t4"], {"sources": True}),
    "llm": (["decoder"], {"on": ["t4"], "context": "512,1024"}),
    "mapping": (["small"], {"on": "tpu_v1", "dataflow": "ws,os", "tile": "inner=64x64x64"}),
    "models": ([], {}),
    "opportunities": (["small"], {"on": "t4"}),
    "parallel": (["small"], {"on": "h100_sxm5_80"}),
    "recommend": (["small", "other"], {"on": ["t4", "l4"], "latency": "1s", "power": "80W", "by": "cost"}),
    "report": (["small"], {"on": "t4", "batch": 3}),
    "scenario list": ([], {}),
    "schema": (["model_report"], {}),
    "serve": (["decoder"], {"on": ["t4"], "input": 64, "output": 16, "concurrency": 4}),
    "sql": (["SELECT model, latency_s FROM model_report WHERE batch = 1 ORDER BY ALL"], {"on": ["t4"]}),
}
"""Arguments and options of each command that only reads."""

OTHERS = {
    "calibrate", "doctor", "engine start", "export", "graph", "hardware add", "hardware dump", "hardware remove", "hardware sync",
    "hardware import", "hardware template", "ingest", "measure", "train",
    "mcp", "measurements import", "merge", "measurements list", "plot", "refresh", "scenario add", "scenario remove", "validate",
    "what-if", "workload",
}  # fmt: skip
"""Commands that write, run models or other commands, or need measurements: their own tests call them."""

IN_SANDBOX = {"sql", "schema"}
"""Commands that run anybody's SQL."""

SEVERAL = {"compare", "recommend", "models", "llm"}
"""Commands whose arguments are the names of one list."""


def flat() -> dict[str, Method]:
    found: dict[str, Method] = {}
    for name, method in methods().items():
        found |= {f"{name} {n}": m for n, m in method.items()} if isinstance(method, dict) else {name: method}
    return found


@pytest.mark.default
def test_every_method_is_here() -> None:
    assert set(flat()) == set(READS) | OTHERS


@pytest.fixture(scope="module")
def db(file: Path) -> Iterator[Session]:
    with charz.open(file) as session:
        yield session


@pytest.mark.default
@pytest.mark.costly("`doctor` evaluates every invariant, `elasticity` every number of a part")
@pytest.mark.parametrize("name", READS)
def test_a_command_prints_what_its_method_returns(
    name: str, file: Path, db: Session, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command and the method use one session, so that shared relations are evaluated once, except for commands that use the
    sandbox."""
    if name not in IN_SANDBOX:
        monkeypatch.setattr(Session, "__enter__", lambda _: db)
    arguments, options = READS[name]
    line = [*name.split(), *arguments, "--db", str(file), "--format", "json"]
    for option, value in options.items():
        flag = f"--{option.replace('_', '-')}"
        line += (
            [flag]
            if value is True
            else [x for v in (value if isinstance(value, list) else [value]) for x in (flag, str(v))]
        )
    assert dispatch.run(line) == 0, capsys.readouterr().err
    printed = json.loads(capsys.readouterr().out)
    owner: Any = db
    *groups, method = name.split()
    for group in groups:
        owner = getattr(owner, group)
    given = [arguments] if name in SEVERAL else arguments
    frame = (getattr(owner, method, None) or getattr(owner, f"{method}_"))(*given, **options)
    assert [list(row) for row in printed] == [frame.columns] * len(frame)
    for left, right in zip(printed, frame.iter_rows(named=True), strict=True):
        for column, value in right.items():
            assert _same(left[column], value), (column, left[column], value)


def _same(printed: object, value: object) -> bool:
    if isinstance(value, float):
        return printed is None if not math.isfinite(value) else math.isclose(printed, value, rel_tol=1e-9)  # type: ignore[arg-type]
    return printed == value or str(value) == printed


@pytest.mark.parametrize("name", flat())
def test_a_command_has_the_options_of_its_method(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    method = flat()[name]
    assert dispatch.run([*name.split(), "--help-all"]) == 0
    shown = capsys.readouterr().out
    hints = typing.get_type_hints(method.asked.rows, include_extras=True)
    for parameter in inspect.signature(method.asked.rows).parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            text = typing.get_args(hints[parameter.name])[-1]
            if isinstance(text, Text) and text.is_python_only:
                continue
            flag = text.flag if isinstance(text, Text) and text.flag else parameter.name.rstrip("_").replace("_", "-")
            assert f"--{flag}" in shown
    assert method.first_line.split(".")[0].split()[0] in shown
