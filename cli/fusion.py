"""Compare predicted kernels with those inductor plans on this machine."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from . import display
from .workspace import DatabaseOption, open_workspace


def command(
    names: Annotated[
        list[str], typer.Argument(help="resnet18, timm:NAME, hf:NAME, module:factory", show_default=False)
    ],
    db: DatabaseOption = None,
) -> None:
    """Let inductor plan a model's loops on this machine's CPU and hold the fusion rules against them.

    Inductor is stopped before it writes code: nothing is compiled or run. The rules describe its plan
    for a GPU; where a CPU's differs by design, the differences listed are those.
    """
    from charz.ingest.compile.rules import from_connection
    from charz.ingest.inductor import examine
    from charz.ingest.sources.spec import parse

    with open_workspace(db, create=True) as connection:
        rules = from_connection(connection)
    rows, misses = [], []
    for name in names:
        found = examine(parse(name), rules)
        counts = Counter((e.is_predicted, e.is_actual) for e in found.edges)
        right = counts[True, True] + counts[False, False]
        rows.append(
            [
                name,
                found.predicted_kernels,
                len(found.edges),
                counts[True, True],
                counts[False, False],
                counts[True, False],
                counts[False, True],
                display.percent(right / len(found.edges) if found.edges else None),
            ]
        )
        operators = found.flow.names
        for (producer, consumer, who), count in Counter(
            (operators[e.producer][0], operators[e.consumer][0], "rules" if e.is_predicted else "inductor")
            for e in found.edges
            if e.is_predicted != e.is_actual
        ).most_common():
            misses.append([name, producer, consumer, who, count])
    headers = [
        "model",
        "kernels predicted",
        "pairs",
        "fused by both",
        "by neither",
        "rules only",
        "inductor only",
        "agree",
    ]
    display.show(display.table(headers, rows))
    if misses:
        display.heading("Pairs on which they differ")
        display.show(display.table(["model", "producer", "consumer", "fused by", "pairs"], misses))
