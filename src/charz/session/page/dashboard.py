"""A dashboard of all models and parts of a file as one HTML file that needs no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import charz

from .document import embedded, escaped, resource

COLUMNS = (
    "model", "hardware", "family", "backend", "precision", "batch", "is_default", "is_simulated", "bottleneck", "latency_s",
    "throughput_per_s", "energy_per_sample_j", "peak_memory_byte", "sample_usd",
)  # fmt: skip
"""Columns of `mart.runs`, and the family of `mart.parts`, that a dashboard contains."""

_WORDS = ("model", "hardware", "family", "backend", "precision", "bottleneck")

_METRICS = (
    ("latency_s", "time of a run", "s", False),
    ("throughput_per_s", "samples a second", "/s", True),
    ("energy_per_sample_j", "energy of a sample", "J", False),
    ("peak_memory_byte", "peak memory", "byte", False),
    ("sample_usd", "price of a sample", "USD", False),
)
"""Column, label and unit of each number to choose from, and whether a higher number is better."""

DIGITS = 4
"""Significant digits of a number."""


def text(title: str, rows: Iterable[Sequence[Any]]) -> bytes:
    """Render the dashboard of rows with the columns `COLUMNS`."""
    listed = [list(row) for row in rows]
    words = {name: sorted({row[COLUMNS.index(name)] for row in listed} - {None}) for name in _WORDS}
    places = {name: {word: i for i, word in enumerate(found)} for name, found in words.items()}
    coded = [
        [places[name].get(value) if name in places else _short(value) for name, value in zip(COLUMNS, row, strict=True)]
        for row in listed
    ]
    metrics = [{"column": c, "label": label, "unit": unit, "is_high": is_high} for c, label, unit, is_high in _METRICS]
    data = {"columns": COLUMNS, "words": words, "metrics": metrics, "rows": coded}
    filters = "".join(
        f'<label>{name}<select id="{name}"></select></label>' for name in ("metric", "backend", "precision", "batch", "family")
    )
    made = datetime.now(UTC).strftime("%Y-%m-%d")
    return "".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{escaped(title)}</title><style>{resource('page.css')}{resource('dashboard.css')}</style></head><body>",
            f'<header><h1>{escaped(title)}</h1><button id="theme" type="button">Light or dark</button></header>',
            f'<main><form id="filters">{filters}<label>part<input id="part" placeholder="name or part of it"></label></form>',
            "<noscript><p>This page needs JavaScript to list its runs. `charz export FOLDER` writes them as tables (mart/runs).</p></noscript>",
            '<p id="told"></p><div class="scroll"><table id="grid"></table></div></main>',
            f"<footer>Predicted by charz {charz.__version__} on {made}.</footer>",
            f'<script type="application/json" id="data">{embedded(data)}</script>',
            f"<script>{resource('dashboard.js')}</script></body></html>\n",
        )
    ).encode()


def _short(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
