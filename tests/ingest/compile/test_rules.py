"""Rules from the catalog and from a database, their faults and their fingerprint."""

from __future__ import annotations

import dataclasses

import duckdb
import pytest

from charz.ingest.compile import rules as rules_module
from charz.ingest.compile.rules import FUSION_CONDITIONS, POLICY_RULES, from_connection, from_rows
from charz.ingest.operators import RULES
from charz.schema import database, ddl
from charz.schema.catalog.backend import Backend, FusionRule
from charz.schema.catalog.precision import OperatorClass, Precision, PrecisionPolicy
from charz.schema.workload import Model
from charz.sql import views


@pytest.fixture
def connection(rows):
    with duckdb.connect() as connection:
        for row_type in (Backend, FusionRule, OperatorClass, Precision, PrecisionPolicy, Model):
            connection.execute(ddl.create_table(row_type))
            if row_type is not Model:
                database.insert_rows(connection, rows[row_type])
        yield connection


@pytest.fixture
def watched(connection):
    """A connection with the view that lists stale models."""
    stale = next(v for v in views.load() if v.name == "stale_compilation")
    connection.execute(stale.document.path.read_text())
    return connection


def ingest(connection, fingerprint: str) -> None:
    columns = dict.fromkeys(Model.model_fields)
    columns |= {"model": "net", "rules_fingerprint": fingerprint}
    for name, field in Model.model_fields.items():
        if columns[name] is None and type(None) not in getattr(field.annotation, "__args__", ()):
            columns[name] = {str: "", int: 1, bool: False, float: 0.0}.get(field.annotation, "2026-01-01")
    names = ", ".join(columns)
    connection.execute(f"INSERT INTO model ({names}) VALUES ({', '.join('?' * len(columns))})", list(columns.values()))


def test_a_database_and_the_catalog_give_the_same_rules(rows, connection):
    assert dataclasses.asdict(from_connection(connection)) == dataclasses.asdict(from_rows(rows))


def test_every_class_that_a_rule_gives_is_in_the_table(rows):
    given = {rule.operator_class for rule in RULES.values()} | {"view", "unknown"}
    assert given <= {row.operator_class for row in rows[OperatorClass]}


def test_rules_speak_the_vocabulary_of_the_schema(rows):
    classes = {row.operator_class for row in rows[OperatorClass]}
    for row in rows[FusionRule]:
        assert row.condition in FUSION_CONDITIONS
        for name in (row.producer_class, row.consumer_class):
            assert name in classes or name.startswith("aten."), name
    for row in rows[PrecisionPolicy]:
        assert row.rule in POLICY_RULES
        name = row.operator_class.rpartition("|")[2].split(":")[0]
        assert name in classes | {"*"} or name.startswith(("aten.", "charz.")), row.operator_class


def test_every_chain_of_fallbacks_ends(rows):
    following = {row.precision: row.fallback for row in rows[Precision]}
    for name in following:
        seen = [name]
        while (fallback := following[seen[-1]]) is not None:
            assert fallback in following and fallback not in seen, f"{seen} -> {fallback}"
            seen.append(fallback)


def test_sql_computes_the_same_fingerprint(watched):
    ingest(watched, from_connection(watched).fingerprint)
    assert watched.sql("SELECT * FROM stale_compilation").fetchall() == []


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE backend SET folds_norm = NOT folds_norm WHERE backend = 'inductor'",
        "UPDATE backend SET captures = 'eager' WHERE backend = 'inductor_graph'",
        "UPDATE operator_class SET is_foldable = FALSE WHERE operator_class = 'linear'",
        "DELETE FROM fusion_rule WHERE backend = 'xla' AND producer_class = 'conv'",
        "UPDATE precision_policy SET weight_precision = 'fp4' WHERE policy = 'w4a16' AND operator_class = 'linear'",
        "INSERT INTO precision VALUES ('fp6', 6, 'float', 'fp32', 'fp8_e4m3', 1, NULL, FALSE, 'assumption', 'assumed')",
    ],
)
def test_a_changed_rule_makes_a_model_stale_until_it_is_compiled_again(watched, edit):
    ingest(watched, from_connection(watched).fingerprint)
    watched.execute(edit)
    assert watched.sql("SELECT model FROM stale_compilation").fetchall() == [("net",)]
    watched.execute("UPDATE model SET rules_fingerprint = ?", [from_connection(watched).fingerprint])
    assert watched.sql("SELECT model FROM stale_compilation").fetchall() == []


def test_what_does_not_matter_to_compilation_makes_nothing_stale(watched):
    ingest(watched, from_connection(watched).fingerprint)
    watched.execute("UPDATE backend SET workspace_fraction = 0.9, confidence = 'measured'")
    watched.execute("UPDATE precision SET fallback = NULL")
    watched.execute("UPDATE operator_class SET varies_by_format = NOT varies_by_format")
    assert watched.sql("SELECT * FROM stale_compilation").fetchall() == []


def test_another_compiler_has_another_fingerprint(rows, monkeypatch):
    before = from_rows(rows).fingerprint
    monkeypatch.setattr(rules_module, "COMPILER_VERSION", rules_module.COMPILER_VERSION + 1)
    assert from_rows(rows).fingerprint != before


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            "UPDATE fusion_rule SET condition = 'sometimes' WHERE producer_class = 'rnn' OR backend = 'kpu'",
            "'sometimes' is not one of",
        ),
        ("UPDATE fusion_rule SET backend = 'tvm' WHERE backend = 'xla'", "backend 'tvm' is not a row of backend"),
        (
            "UPDATE backend SET captures = 'tvm' WHERE backend = 'eager_graph'",
            "eager_graph: captures 'tvm' is not one of",
        ),
        ("UPDATE backend SET captures = 'eager_graph' WHERE backend = 'xla'", "captures 'eager_graph' is not one of"),
        ("UPDATE precision_policy SET rule = 'halve' WHERE policy = 'fp16'", "rule 'halve' is not one of"),
        ("UPDATE precision_policy SET compute_precision = NULL WHERE policy = 'fp16'", "needs a compute_precision"),
        ("UPDATE precision_policy SET weight_precision = 'fp7' WHERE policy = 'fp16'", "'fp7' is not one of"),
        (
            "DELETE FROM precision_policy WHERE policy = 'int8' AND operator_class = '*'",
            "int8: no row for operator_class `*`",
        ),
    ],
)
def test_a_bad_rule_is_named(connection, edit, message):
    connection.execute(edit)
    with pytest.raises(ValueError, match=message.replace("*", r"\*")):
        from_connection(connection)
