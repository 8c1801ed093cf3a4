"""The reference page of all operator rules, written from the registry with the other pages of
docs/reference."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator

from .operators import RULES, Rule
from .operators import elementwise as table


def lines() -> Iterator[str]:
    """The page: what each family counts, then the FLOPs table, then the overloads of every rule."""
    yield "# Operators\n"
    yield "What `charz ingest` counts for each ATen operator. A multiply-accumulate is two FLOPs. Bytes are"
    yield "those of the tensors read and written, unless a rule says that an operator moves less.\n"
    for module, rules in _families().items():
        yield f"\n## {module.rpartition('.')[2]}\n"
        yield f"{inspect.cleandoc(sys.modules[module].__doc__ or '')}\n"
        for rule in rules:
            text = " ".join((inspect.getdoc(rule.function) or "").split())
            name = rule.name.partition(".")[2]
            yield f"- **{name}** ({rule.operator_class}): {text + ' ' if text else ''}{_overloads(rule)}"
    yield "\n## FLOPs an element\n"
    yield "Of the output for arithmetic and activations, of the input for rows and reductions.\n"
    yield "| operator | FLOPs | formula |"
    yield "|---|---|---|"
    notes = _notes()
    named = {name: value for name, value in table.FLOPS_PER_ELEMENT.items() if name in notes or value != 1}
    for name, value in sorted(named.items()):
        yield f"| {name} | {value} | {notes.get(name, '')} |"
    plain = sorted(n for n, v in table.FLOPS_PER_ELEMENT.items() if n not in named)
    yield f"\nOne each: {', '.join(plain)}."


def _families() -> dict[str, list[Rule]]:
    """Rules by the module that registers them, each once."""
    found: dict[str, list[Rule]] = {}
    for rule in sorted({r.name: r for r in RULES.values()}.values(), key=lambda r: r.name):
        found.setdefault(rule.function.__module__, []).append(rule)
    return found


def _overloads(rule: Rule) -> str:
    """Operators of a rule without their overloads."""
    names = sorted({t.rpartition(".")[0].removeprefix("aten.") for t in rule.overloads})
    return "`" + "`, `".join(names) + "`."


def _notes() -> dict[str, str]:
    """Formulas that stand as comments beside the table's rows."""
    rows = re.findall(r'^ +"(\w+)": \d+,  # (.+)$', inspect.getsource(table), re.MULTILINE)
    return dict(rows)
