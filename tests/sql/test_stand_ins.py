"""Messages about parts that lack a rate for an element type of a model."""

from __future__ import annotations

import duckdb

from charz.sql import stand_ins


def test_a_type_without_a_rate_is_named_by_part_and_model() -> None:
    """One of two parts has no rate in fp64, in which one of two operators computes; a view computes nothing."""
    connection = duckdb.connect()
    for statement in (
        "CREATE TABLE run AS SELECT STRUCT_PACK(model := 'net', backend := 'eager', precision := 'fp32') AS run",
        "CREATE TABLE operator AS SELECT 'net' AS model, * FROM (VALUES (0, false), (1, false), (2, true)) AS o (operator_id, is_view)",
        """CREATE TABLE operator_precision AS SELECT 'net' AS model, 'fp32' AS policy, *
        FROM (VALUES (0, 'fp32'), (1, 'fp64'), (2, 'int4')) AS o (operator_id, precision)""",
        """CREATE TABLE part_support AS SELECT 'eager' AS backend, 'fp32' AS precision, *
        FROM (VALUES ('wide'), ('narrow')) AS p (hardware)""",
        """CREATE TABLE part_rate AS SELECT * FROM
        (VALUES ('wide', 'fp32'), ('wide', 'fp64'), ('narrow', 'fp32')) AS p (hardware, compute_precision)""",
    ):
        connection.execute(statement)
    assert connection.execute(stand_ins.WITHOUT_RATE).fetchall() == [("narrow", "net", "fp64")]
