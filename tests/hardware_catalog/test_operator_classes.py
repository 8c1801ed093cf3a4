"""The table of operator classes compared with the code that assigns classes."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from charz.hardware_catalog.loader import Catalog
from charz.schema.catalog.precision import OperatorClass


def _named(catalog: Catalog, *flags: str) -> set[str]:
    """Return the classes of which every flag is true."""
    rows = [row for row in catalog.rows[OperatorClass] if isinstance(row, OperatorClass)]
    return {row.operator_class for row in rows if all(getattr(row, flag) for flag in flags)}


def test_every_class_that_a_rule_gives_is_known(catalog: Catalog) -> None:
    pytest.importorskip("torch")
    operators = importlib.import_module("charz.ingest.operators")
    for module in pkgutil.iter_modules(operators.__path__):
        importlib.import_module(f"{operators.__name__}.{module.name}")
    from charz.ingest.operators.registry import RULES

    assert {rule.operator_class for rule in RULES.values()} <= _named(catalog)


def test_every_class_of_a_measured_operator_is_known(catalog: Catalog) -> None:
    from charz.ingest.measurements import kineto, operator_shape

    assert set(kineto._CLASSES.values()) | set(operator_shape._FX_CLASSES.values()) <= _named(catalog)


def test_kinds_lie_within_one_another(catalog: Catalog) -> None:
    matrix, convolution = _named(catalog, "is_matrix"), _named(catalog, "is_convolution")
    assert convolution < _named(catalog, "is_foldable") < matrix
    assert convolution < _named(catalog, "takes_bias") < matrix
    # A recurrence is not a matrix operator, though a kernel of its own makes its result.
    assert convolution < _named(catalog, "allocates_result") - {"recurrence"} < matrix
    assert _named(catalog, "is_single_algorithm") < matrix
    assert _named(catalog, "is_inserted") == {"bias", "cast", "copy"}
    assert not _named(catalog, "varies_by_format", "varies_by_strides")
