"""Every list identifies kernels by their operator and module."""

from __future__ import annotations

from pathlib import Path

import pytest

import charz

OF_TARGETS = (
    "kernel_latency",
    "kernel_energy",
    "kernel_edp",
    "kernel_mapping",
    "kernel_level",
    "kernel_term",
    "kernel_tile",
)


@pytest.mark.parametrize("relation", [*OF_TARGETS, "kernel_work"])
def test_every_relation_of_kernels_names_operator_and_module(resnet18: Path, relation: str) -> None:
    where = "scenario_id = 9" + (" AND hardware = 'rtx4090'" if relation in OF_TARGETS else "")
    query = (
        f"SELECT COUNT(*) AS rows, COUNT(DISTINCT operator) AS names, BOOL_AND(r.operator = o.operator AND r.module = m.path)"
        f" AS is_anchor FROM (SELECT * FROM {relation} WHERE {where}) AS r"
        " INNER JOIN run_kernel AS k"
        " ON k.run.model = r.model AND k.run.scenario_id = r.scenario_id AND k.kernel_id = r.kernel_id"
        " INNER JOIN operator AS o ON o.model = k.run.model AND o.operator_id = k.anchor_operator_id"
        " INNER JOIN module AS m ON m.model = o.model AND m.module_id = o.module_id"
    )
    with charz.open(resnet18) as db:
        ((rows, names, is_anchor),) = db.sql(query.replace("DISTINCT operator", "DISTINCT r.operator")).rows()
    assert rows >= names > 15 and is_anchor


def test_what_takes_most_is_named(resnet18: Path) -> None:
    """The convolutions of the last layer of a ResNet-18 contain most of its weights."""
    asked = {"on": "rtx4090", "batch": 1, "precision": "fp32", "backend": "inductor"}
    with charz.open(resnet18) as db:
        for section in ("kernels", "energy"):
            listed = db.report("resnet18", section=section, **asked)
            assert listed["module"].str.contains("^layer[1-4]|^conv1|^fc").sum() >= 5
            assert listed["operator"].n_unique() == len(listed)
        explained = db.explain("resnet18", **asked)
    most = explained.filter(explained["step"] == "Kernels that take the most time")["meaning"].to_list()
    assert any("(conv2d_19 of layer4.1.conv2)" in text or " of layer4." in text for text in most)
