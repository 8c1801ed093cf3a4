"""Writes the reference page of all operator rules from the registry, with the other pages of
docs/reference."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator

from .operators import RULES, Rule
from .operators import elementwise as table


def lines() -> Iterator[str]:
    """Yield the page: the text of each family, the overloads of its rules, then the FLOPs table."""
    yield "# Operators\n"
    yield "This page lists what `charz ingest` counts for each ATen operator. A multiply-accumulate is two FLOPs. Bytes are"
    yield "those of the tensors read and written, unless a rule says that an operator moves less.\n"
    for module, rules in _families().items():
        yield f"\n## {module.rpartition('.')[2]}\n"
        yield f"{inspect.cleandoc(sys.modules[module].__doc__ or '')}\n"
        for rule in rules:
            text = " ".join((inspect.getdoc(rule.function) or "").split())
            name = rule.name.partition(".")[2]
            yield f"- **{name}** ({rule.operator_class}): {text + ' ' if text else ''}{_overloads(rule)}"
    yield "\n## FLOPs an element\n"
    yield "Arithmetic and activations count FLOPs an output element, rows and reductions FLOPs an input element.\n"
    yield "| operator | FLOPs | formula |"
    yield "|---|---|---|"
    notes = _notes()
    named = {name: value for name, value in table.FLOPS_PER_ELEMENT.items() if name in notes or value != 1}
    for name, value in sorted(named.items()):
        yield f"| {name} | {value} | {notes.get(name, '')} |"
    plain = sorted(n for n, v in table.FLOPS_PER_ELEMENT.items() if n not in named)
    yield f"\nOne each: {', '.join(plain)}."


def _families() -> dict[str, list[Rule]]:
    """Group the rules by the module that registers them, each once."""
    found: dict[str, list[Rule]] = {}
    for rule in sorted({r.name: r for r in RULES.values()}.values(), key=lambda r: r.name):
        found.setdefault(rule.function.__module__, []).append(rule)
    return found


def _overloads(rule: Rule) -> str:
    """Format the operators of a rule without their overloads."""
    names = sorted({t.rpartition(".")[0].removeprefix("aten.") for t in rule.overloads})
    return "`" + "`, `".join(names) + "`."


def _notes() -> dict[str, str]:
    """Return the formulas in the comments of the table's rows."""
    rows = re.findall(r'^ +"(\w+)": \d+,  # (.+)$', inspect.getsource(table), re.MULTILINE)
    return dict(rows)
