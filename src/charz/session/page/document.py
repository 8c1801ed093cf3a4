"""The page as one HTML file: texts, tables and pictures, with their scripts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from importlib import metadata, resources
from typing import Any

import charz
from charz.schema import cache
from charz.schema.errors import printable
from charz.schema.units import UNITS, ending

from ..quantities import headers, shown
from .content import Section, Table


def text(title: str, subtitle: str, found: Sequence[Section], options: str) -> bytes:
    """Render the page. `options` make `charz sql` answer for the same run."""
    made = datetime.now(UTC).strftime("%Y-%m-%d")
    body = "".join(_section(section, options) for section in found)
    links = "".join(f'<a href="#{s.name}">{escaped(s.title)}</a>' for s in found)
    specs = [chart for section in found for chart in section.charts]
    trees = {section.name: list(section.tree) for section in found if section.tree}
    return "".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{escaped(title)}</title><style>{resource('page.css')}</style></head><body>",
            f"<header><h1>{escaped(title)}</h1><p>{escaped(subtitle)}</p><nav>{links}</nav>",
            '<button id="theme" type="button">Light or dark</button></header>',
            f"<main>{body}</main>",
            f"<footer>Predicted by charz {charz.__version__} on {made}. Click a number for its meaning;"
            " copy the SQL or the command of a table to ask again.</footer>",
            '<dialog id="about"><div></div><form method="dialog"><button>Close</button></form></dialog>',
            f'<script type="application/json" id="charts">{embedded(specs)}</script>',
            f'<script type="application/json" id="trees">{embedded(trees)}</script>',
            f"<script>{_library()}</script><script>{resource('page.js')}</script></body></html>\n",
        )
    ).encode()


def _section(section: Section, options: str) -> str:
    charts = "".join('<div class="chart" role="img"></div>' for _ in section.charts)
    tree = '<div class="tree"></div>' if section.tree else ""
    tables = "".join(
        _table(table, options, is_open=len(section.charts) == 0 and not section.tree and i == 0)
        for i, table in enumerate(section.tables)
    )
    return (
        f'<section id="{section.name}"><h2>{escaped(section.title)}</h2><p class="finding">{escaped(section.finding)}</p>'
        f"{charts}{tree}{tables}</section>"
    )


def _table(table: Table, options: str, is_open: bool) -> str:
    """Render a foldable table with rows in display units, where each number shows its meaning."""
    names = headers(table.columns)
    if len(table.rows) == 1:
        (row,) = table.rows
        body = "".join(
            f"<tr><th>{escaped(name)}</th>{_cell(value, column, table)}</tr>"
            for name, column, value in zip(names, table.columns, row, strict=True)
        )
        head = ""
    else:
        head = f"<thead><tr>{''.join(f'<th>{escaped(name)}</th>' for name in names)}</tr></thead>"
        body = "".join(
            f"<tr>{''.join(_cell(value, column, table) for column, value in zip(table.columns, row, strict=True))}</tr>"
            for row in table.rows
        )
    command = table.command or f"charz sql {_quoted(table.sql)} {options}".strip()
    return (
        f"<details{' open' if is_open else ''}><summary>{escaped(table.about or 'Table')}{_counted(table)}</summary>"
        f'<p class="sql"><button type="button" data-copy="{escaped(command)}">Copy {"command" if table.command else "SQL"}</button>'
        f"<code>{escaped(table.command or table.sql)}</code></p>"
        f'<div class="scroll"><table class="{"list" if head else "facts"}">{head}<tbody>{body}</tbody></table></div></details>'
    )


def _counted(table: Table) -> str:
    """Tell the number of rows of a table, unless it is a list of facts."""
    return "" if len(table.rows) == 1 else f" ({len(table.rows)} rows)"


def _cell(value: Any, column: str, table: Table) -> str:
    if value is None or isinstance(value, bool | int | float):
        exact = (
            "" if value is None or isinstance(value, bool) else f"{value:.6g} {UNITS.get(ending(column), '')}".strip()
        )
        about = f"{column}: {exact}" if exact else column
        meaning = table.texts.get(column, "")
        label = escaped(shown(value, column))
        return f'<td class="number"><button type="button" data-about="{escaped(about)}" data-meaning="{escaped(meaning)}">{label}</button></td>'
    word = str(value)
    if word.startswith(("https://", "http://")):
        return f'<td><a href="{escaped(word)}" rel="noreferrer">{escaped(word)}</a></td>'
    return f"<td>{escaped(word)}</td>"


def escaped(value: str) -> str:
    return escape(printable(str(value)), quote=True)


def _quoted(sql: str) -> str:
    """Quote a statement as an argument of a shell."""
    return "'" + sql.replace("'", "'\\''") + "'"


def embedded(value: Any) -> str:
    """Write JSON for a script element in HTML: without `<` and without infinities."""
    return json.dumps(_finite(value), allow_nan=False, separators=(",", ":"), default=str).replace("<", "\\u003c")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _library() -> str:
    """Return Vega, Vega-Lite and vega-embed as one script. The cache keeps it, sealed: joining it takes a third of the time of a page."""
    name = f"vega-{metadata.version('vl-convert-python')}"
    kept = cache.read(name, ".js")
    if kept is not None:
        return kept.decode()
    import vl_convert

    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    script = bundle.replace("</script", "<\\/script")
    cache.write(name, ".js", script.encode())
    return script


def options(given: Iterable[tuple[str, Any]]) -> str:
    """Write options of a command line."""
    return " ".join(f"--{name} {value}" for name, value in given if value is not None)
