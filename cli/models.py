"""List the ingested models."""

from __future__ import annotations

from . import display
from .workspace import DatabaseOption, open_workspace


def command(db: DatabaseOption = None) -> None:
    """List the ingested models with their size and work for one sample."""
    query = """
        SELECT
            m.model,
            m.source,
            m.input_signature,
            m.parameter_count,
            (SELECT count(*) FROM operator AS o WHERE o.model = m.model AND NOT o.is_view) AS operators,
            (
                SELECT sum(t.coefficient * pow(m.default_batch, t.batch_power)
                    * pow(m.default_sequence, t.sequence_power + t.context_power))
                FROM term AS t
                WHERE t.model = m.model AND t.quantity = 'macs'
            ) AS macs,
            (SELECT count(*) FROM operator AS o WHERE o.model = m.model AND o.rule IS NULL) AS without_rule
        FROM model AS m
        ORDER BY m.model
    """
    with open_workspace(db) as connection:
        rows = connection.sql(query).fetchall()
    if not rows:
        display.note("no models yet; `charz ingest efficientnet_b0` adds one")
        return
    headers = ["model", "source", "input", "parameters", "operators", "MACs", "without rule"]
    shown = [
        [
            model,
            source,
            signature,
            display.quantity(parameters, ""),
            operators,
            display.quantity(macs, "mac"),
            unknown or "",
        ]
        for model, source, signature, parameters, operators, macs, unknown in rows
    ]
    display.show(display.table(headers, shown))
