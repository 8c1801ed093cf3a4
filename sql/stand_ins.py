"""Queries for numbers that a part or policy lacks and their replacements."""

from __future__ import annotations

OTHER_TYPES = """
    WITH asked AS (
        SELECT DISTINCT r.run.precision, o.operator_class, c.is_matrix
        FROM run AS r JOIN operator AS o ON o.model = r.run.model JOIN operator_class AS c USING (operator_class)
        WHERE (c.is_matrix OR c.is_normalizing OR c.is_reducing)
            AND r.run.precision IN (SELECT precision FROM precision WHERE kind = 'integer')
    )
    SELECT a.precision, p.compute_precision, a.is_matrix, string_agg(DISTINCT a.operator_class, ', ' ORDER BY a.operator_class)
    FROM asked AS a
    JOIN precision_policy AS p ON p.policy = a.precision AND p.compute_precision <> a.precision AND p.operator_class = COALESCE(
        (SELECT q.operator_class FROM precision_policy AS q WHERE q.policy = a.precision AND q.operator_class = a.operator_class), '*'
    )
    GROUP BY ALL ORDER BY ALL
"""
"""Query for operator classes of the models that a quantized policy leaves in another element type."""

WITHOUT_RATE = """
    WITH asked AS (SELECT DISTINCT run.model, run.backend, run.precision FROM run),
    computed AS (
        SELECT DISTINCT r.model, r.backend, r.precision, p.precision AS compute_precision
        FROM (SELECT DISTINCT model, precision FROM asked) AS m
        JOIN operator AS o ON o.model = m.model AND NOT o.is_view
        JOIN operator_precision AS p ON p.model = o.model AND p.policy = m.precision AND p.operator_id = o.operator_id
        JOIN asked AS r ON r.model = m.model AND r.precision = m.precision
    )
    SELECT DISTINCT t.hardware, c.model, c.compute_precision
    FROM computed AS c
    JOIN part_support AS t ON t.backend = c.backend AND t.precision = c.precision
    WHERE (t.hardware, c.compute_precision) NOT IN (SELECT (hardware, compute_precision) FROM part_rate)
    ORDER BY ALL
"""
"""Query for element types in which a model computes and for which a part has neither a rate nor a replacement's rate."""

OF_INTEGERS = """
    SELECT DISTINCT hardware FROM part_support
    WHERE hardware NOT IN (
        SELECT k.hardware FROM hardware_peak AS k JOIN precision AS p USING (precision) WHERE p.kind = 'float'
    )
    ORDER BY hardware
"""
"""Query for parts without any floating-point rate."""
