"""The graph of kernels, for Python and as a picture."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import networkx
import pytest

import charz
from charz.schema.errors import CharzError
from charz.session.ask import graph_files


def test_a_node_is_a_kernel_and_an_edge_a_tensor(file: Path) -> None:
    with charz.open(file) as db:
        graph = db.graph("small", on="t4", backend="eager")
        kernels = db.report("small", on="t4", backend="eager", section="kernels", top=1000)
        edges = db.sql("SELECT count(*) AS n FROM kernel_edge WHERE model = 'small' AND backend = 'eager'").item()
    assert networkx.is_directed_acyclic_graph(graph)
    assert {number: node["latency_s"] for number, node in graph.nodes(data=True)} == pytest.approx(
        dict(zip(kernels["kernel_id"], kernels["latency_s"], strict=True)), rel=1e-12
    )
    assert graph.number_of_edges() == edges > 0
    assert all(graph.nodes[a]["stage"] < graph.nodes[b]["stage"] for a, b in graph.edges)


def test_the_picture_has_a_box_a_kernel_and_a_line_an_edge(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "graph.svg"
    with charz.open(file) as db:
        graph = db.graph("small", on="t4", out=out)
    root = ElementTree.fromstring(out.read_text())
    space = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f"{space}g")) == len(graph)
    assert len(root.findall(f"{space}path")) == graph.number_of_edges()
    boxes = [box for group in root.findall(f"{space}g") for box in group.findall(f"{space}rect")]
    places = {(box.attrib["x"], box.attrib["y"]) for box in boxes}
    assert len(places) == len(boxes)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert all(
        float(x) + graph_files.BOX_WIDTH <= width and float(y) + graph_files.BOX_HEIGHT <= height for x, y in places
    )


def test_the_slowest_kernel_is_darkest_and_one_without_time_lightest() -> None:
    graph: networkx.DiGraph[int] = networkx.DiGraph()
    graph.graph |= {"model": "m", "hardware": "h", "backend": "b", "precision": "p", "batch": 1}
    shared = {"operator": "o", "module": "", "bottleneck": "compute", "energy_j": None}
    for number, seconds in enumerate((2e-3, 1e-3, 0.0)):
        graph.add_node(number, kernel=f'k"{number}<', stage=number, latency_s=seconds, **shared)
    graph.add_edge(0, 1)
    fills = re.findall(r'rx="5" fill="(#\w+)"', graph_files.svg(graph))
    assert fills == ["#c2410c", "#d89a82", "#eef2f7"]
    assert "3 kernels, 3.00 ms; the darkest takes 2.00 ms" in graph_files.svg(graph)
    text = graph_files.dot(graph)
    assert '0 [label="k\\"0<\\n2.00 ms, -"' in text
    assert "  0 -> 1;" in text


def test_an_unknown_ending_is_refused(file: Path, tmp_path: Path) -> None:
    with charz.open(file) as db, pytest.raises(CharzError, match=r"There are .svg, .dot"):
        db.graph("small", on="t4", out=tmp_path / "graph.txt")
