"""The session as tools of a Model Context Protocol server, tried with the client of the package that defines it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

import charz
from charz.session import Session
from charz.session.access import Access
from charz.session.file.mcp import Toolbox

pytest.importorskip("mcp", reason="pip install -e '.[mcp]'")

CALLS: dict[str, dict[str, Any]] = {
    "assert": {"model": "small", "on": "t4", "latency": "10s"},
    "compare": {"models": "small,other", "on": "t4"},
    "diff": {"old": "small", "new": "other", "on": "t4"},
    "explain": {"model": "small", "piece": "0", "on": "t4"},
    "elasticity": {"models": "small", "on": "t4"},
    "explore": {"base": "t4", "vary": ["units=20,80"], "models": "small"},
    "hardware_check": {},
    "hardware_diff": {"first": "t4", "second": "l4"},
    "hardware_list": {"family": "kpu"},
    "hardware_show": {"part": "t4"},
    "llm": {"models": "decoder", "on": "t4", "context": "512"},
    "mapping": {"model": "small", "on": "tpu_v1"},
    "measurements_list": {},
    "models": {},
    "opportunities": {"model": "small", "on": "t4"},
    "parallel": {"model": "small", "on": "h100_sxm5_80"},
    "recommend": {"models": "small", "on": "t4,l4"},
    "report": {"model": "small", "on": "t4", "section": "kernels"},
    "scenario_list": {},
    "schema": {"name": "model_report"},
    "serve": {"model": "decoder", "on": "t4", "input": 64, "output": 16, "concurrency": 4},
    "sql": {"query": "SELECT hardware FROM hardware ORDER BY 1"},
    "train": {"models": "small", "on": "t4"},
    "validate": {},
    "what_if": {
        "changes": {"t4.sm.unit_count": 80}, "method": "report", "arguments": ["small"], "options": {"on": "t4"},
    },
}  # fmt: skip
"""Arguments of every tool of a server that only reads."""

EMPTY = ("hardware_check", "serve")
"""Tools that return an empty list here: no part has a fault, and the decoding model keeps no cache."""

REFUSED = {
    "measurements_list": "no measurements in the database",
    "validate": "no measured run can be scored",
    "train": "no backward pass: small",
}
"""Tools that the small file has no data for, with their refusals."""


def _of_report(**options: Any) -> dict[str, Any]:
    """Return arguments of a report under a changed clock, with further options."""
    changes = {"t4.clock_boost_hz": 1e9}
    return {"changes": changes, "method": "report", "arguments": ["small"], "options": {"on": "t4", "section": "run", **options}}


@pytest.mark.slow
def test_a_client_lists_and_calls_every_tool(file: Path) -> None:
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command = StdioServerParameters(
        command=sys.executable, args=["-m", "charz", "mcp", "--db", str(file), "--top", "5"]
    )
    answers: dict[str, Any] = {}

    async def ask() -> None:
        async with Client(stdio_client(command)) as client:
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == set(CALLS)
            assert all(tool.description and tool.input_schema["type"] == "object" for tool in tools)
            for name, arguments in CALLS.items():
                answers[name] = await client.call_tool(name, arguments)

    before = file.read_bytes()
    anyio.run(ask)
    assert file.read_bytes() == before
    refused = {name: answer.content[0].text for name, answer in answers.items() if answer.is_error}
    assert set(refused) == set(REFUSED), refused
    assert all(REFUSED[name] in text for name, text in refused.items()), refused
    for name, answer in answers.items():
        text = answer.content[0].text
        if name in REFUSED:
            continue
        found = json.loads(text)
        assert 0 < len(found["rows"]) <= 5 or name in EMPTY, (name, text)
        assert found["row_count"] >= len(found["rows"])
    assert any("5 of" in note for note in json.loads(answers["sql"].content[0].text)["notes"])


def test_what_writes_is_offered_on_request_alone(file: Path) -> None:
    with charz.open(file) as db:
        reads, writes = ({tool["name"] for tool in Toolbox(db, is_writing, 5).tools()} for is_writing in (False, True))
    assert reads < writes
    assert {"ingest", "hardware_add", "plot", "graph", "export", "doctor", "measure"} <= writes - reads


def test_an_answer_is_what_the_method_returns(file: Path) -> None:
    with charz.open(file) as db:
        text, is_error = Toolbox(db, False, 100).call("compare", {"models": "small", "on": "t4", "batch": "1,2", "section": "saturation"})
        expected = db.compare("small", on="t4", batch="1,2", section="saturation").to_dicts()
    assert not is_error
    assert [row["latency_s"] for row in json.loads(text)["rows"]] == [row["latency_s"] for row in expected]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("report", {"model": "absent", "on": "t4"}, "unknown model: absent"),
        ("report", {"model": "small"}, "an argument is missing: report: on"),
        ("report", {"model": "small", "on": "t4", "trace": "x.json"}, "no such argument: report: trace"),
        ("ingest", {"models": "resnet18"}, "no such tool: ingest"),
        ("diff", {"old": "net.py", "new": "small", "on": "t4"}, "unknown model: net.py"),
        ("what_if", _of_report(html="page.html"), "no such argument: report: html"),
        ("what_if", _of_report(trace="x.json"), "no such argument: report: trace"),
        ("what_if", _of_report(force=True), "no such argument: report: force"),
        ("what_if", {**_of_report(), "method": "workload"}, "no such tool: workload"),
        ("what_if", {**_of_report(), "sizes": {"width": 8}}, "this server runs no models"),
        ("what_if", {**_of_report(), "modules": {"*": "fp16"}}, "this server runs no models"),
        ("report", {"model": 3, "on": "t4"}, "a value of another type: report: model = 3. It must be of type string"),
        ("report", {"model": None, "on": "t4"}, "an argument is missing: report: model"),
        ("compare", {"models": ["small", 3], "on": "t4"}, "a value of another type: compare: models[1] = 3. It must be of type string"),
        ("compare", {"models": "small", "batch": {"a": 1}}, 'compare: batch = {"a": 1}. It must be of type integer or string or array'),
        ("compare", {"models": "small", "batch": [True]}, "compare: batch[0] = true. It must be of type integer"),
        ("compare", {"models": "small", "depth": [1]}, "compare: depth = [1]. It must be of type integer"),
        ("compare", {"models": "small", "section": "none"}, 'unknown value: compare: section = "none". There are '),
        ("assert", {"model": "small", "on": "t4", "batch": 0}, "a number out of range: assert: batch = 0. It must be at least 1"),
        ("sql", {"query": "SELECT 1", "timeout": True}, "sql: timeout = true. It must be of type number"),
        ("what_if", {"changes": {"t4.sm.unit_count": {}}, "arguments": ["small"]}, "changes[t4.sm.unit_count] = {}. It must be of type"),
        ("what_if", {"changes": [], "arguments": ["small"]}, "what_if: changes = []. It must be of type object"),
        ("what_if", {"changes": {}, "arguments": "small"}, 'what_if: arguments = "small". It must be of type array'),
        ("what_if", {**_of_report(section=3)}, "unknown value: report: section = 3"),
        ("what_if", {**_of_report(), "arguments": [["small"]]}, 'report: model = ["small"]. It must be of type string'),
    ],
)
def test_a_mistake_is_one_line(name: str, arguments: dict[str, Any], said: str, file: Path) -> None:
    with Session(file, access=Access(may_ingest=False)) as db:
        text, is_error = Toolbox(db, False, 5).call(name, arguments)
    assert is_error
    assert said in text
    assert "\n" not in text


def test_every_argument_has_a_type_or_a_list_of_values(file: Path) -> None:
    with charz.open(file) as db:
        toolbox = Toolbox(db, True, 5)
        arguments = {(tool["name"], name): of for tool in toolbox.tools() for name, of in tool["input_schema"]["properties"].items()}
        assert [place for place, of in arguments.items() if not {"type", "enum"} & set(of)] == []
        assert toolbox.call("ingest", {"models": 3}) == ("a value of another type: ingest: models = 3. It must be of type string or array.", True)


def test_null_is_an_argument_that_is_left_out(file: Path) -> None:
    with charz.open(file) as db:
        answers = [Toolbox(db, False, 5).call("compare", {"models": "small", "on": "t4", **more}) for more in ({}, {"batch": None, "depth": None})]
    assert answers[0] == answers[1] and not answers[0][1]


def test_a_what_if_answers_as_the_method_and_writes_files_only_on_request(file: Path, tmp_path: Path) -> None:
    written = tmp_path / "trace.json"
    with charz.open(file) as db:
        options = {"model": "small", "on": "t4", "section": "run"}
        asked = {"changes": {"t4.clock_boost_hz": 1e9}, "options": options}
        text, is_error = Toolbox(db, False, 5).call("what_if", asked)
        expected = db.what_if(asked["changes"], "report", **options).to_dicts()
        assert not is_error
        assert [row["latency_s"] for row in json.loads(text)["rows"]] == [row["latency_s"] for row in expected]
        _, is_error = Toolbox(db, True, 5).call("what_if", {**asked, "options": {**options, "trace": str(written)}})
    assert not is_error and written.exists()
