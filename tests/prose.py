"""Lints the texts of the repository: docstrings, texts of attributes, comments and messages.

    python -m tests.prose [PATH ...]

A docstring of a function begins with an imperative verb, a text of a value with an article or a noun. `FIRST`, `PHRASES` and
`WORDS` list words that make a sentence hard to read; `TRUE_USES` lists the sentences in which such a word has its plain sense.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("cli", "hardware_catalog", "ingest", "schema", "sql", "src/charz", "tests", "benchmarks")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs")
GENERATED = ("docs/reference", "docs/source_plan.md")
FIRST = re.compile(r"(What|Of|Whether|Where|Which|How|Those|Why|Whoever|Whatever)\b")
PHRASES = re.compile(r"\b(?:(?:is|are) none|is no|as it is|as they are|that cannot be|hardly so)\b", re.IGNORECASE)
WORDS = re.compile(
    r"\b(?:stands?|stood|standing|rest(?:s|ed)? (?:on|upon)|hold|holds|held|puts?|putting|sa(?:y|ys|id|ying)|behind|besides?)\b",
    re.IGNORECASE,
)
VALUES = {"property", "cached_property", "fixture", "setter"}
"""Decorators of functions whose docstring names a value."""
SPEAKERS = {"CharzError", "Text", "warn", "remark", "unknown_name"}
"""Calls whose string arguments a user reads."""
VERBS = frozenset(Path(__file__).with_name("verbs.txt").read_text().split())
"""Verbs with which a docstring of a function may begin."""
TRUE_USES: dict[str, str] = {}
"""Sentences, or pieces of one, that use a word of `WORDS` in its plain sense, each with the reason."""

Text = tuple[int, str, str]
"""A text: its line, its kind (`function`, `value`, `comment`, `message` or `page`), and its words."""


def check(paths: list[Path]) -> Iterator[str]:
    """Yield a line for each text that breaks a rule.

    >>> list(problems("function", "Rows of a model."))
    ['begin with an imperative verb, not "Rows"']
    >>> list(problems("value", "What is left."))
    ['begin with a noun, not "What"']
    """
    for path in paths:
        for line, kind, text in texts(path):
            for problem in problems(kind, text):
                yield f"{path.relative_to(ROOT)}:{line}: {problem}: {' '.join(text.split())[:100]}"


def problems(kind: str, text: str) -> Iterator[str]:
    """Yield the rules that a text breaks."""
    first = text.split(maxsplit=1)[0].strip("`,.:;") if text.split() else ""
    if kind == "function" and first.lower() not in VERBS:
        yield f'begin with an imperative verb, not "{first}"'
    elif kind in ("value", "comment") and FIRST.match(text):
        yield f'begin with a noun, not "{first}"'
    plain = text
    for use in TRUE_USES:
        plain = plain.replace(use, "")
    plain = re.sub(r"`[^`]*`", "", plain)
    for rule in (PHRASES, WORDS):
        yield from (f'write another word for "{found[0]}"' for found in rule.finditer(plain))


def texts(path: Path) -> Iterator[Text]:
    """Yield the texts of a file."""
    content = path.read_text()
    if path.suffix == ".md":
        yield from _of_page(content)
    elif path.suffix == ".sql":
        yield from _joined(
            (i, line.strip()[2:].strip())
            for i, line in enumerate(content.splitlines(), 1)
            if line.strip().startswith("--")
        )
    else:
        tokens = tokenize.generate_tokens(io.StringIO(content).readline)
        comments = (
            (t.start[0], t.string.lstrip("# ")) for t in tokens if t.type == tokenize.COMMENT and "noqa" not in t.string
        )
        yield from _joined(
            (line, text) for line, text in comments if not text.startswith(("fmt:", "type:", "!", "pragma"))
        )
        for node in ast.walk(ast.parse(content)):
            yield from _of_node(node, is_test=path.name.startswith("test_"))


def _joined(lines: Iterator[tuple[int, str]]) -> Iterator[Text]:
    """Yield comments of adjacent lines as one text."""
    block: list[str] = []
    start = last = 0
    for number, text in lines:
        if block and number != last + 1:
            yield start, "comment", "\n".join(block)
            block = []
        start = start if block else number
        block.append(text)
        last = number
    if block:
        yield start, "comment", "\n".join(block)


def _of_page(content: str) -> Iterator[Text]:
    """Yield lines of prose of a page, without its blocks of code."""
    is_code = False
    for number, line in enumerate(content.splitlines(), 1):
        is_code ^= line.startswith("```")
        if not is_code:
            yield number, "page", line


def _of_node(node: ast.AST, is_test: bool) -> Iterator[Text]:
    """Yield docstrings, texts of attributes and messages of a node."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module) and (
        text := ast.get_docstring(node)
    ):
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_test
        is_value = is_function and VALUES & {_name(one) for one in node.decorator_list}  # type: ignore[union-attr]
        kind = (
            "function"
            if is_function and not is_value
            else "page"
            if is_test and not isinstance(node, ast.Module)
            else "value"
        )
        yield node.body[0].lineno, kind, text
    if isinstance(node, ast.ClassDef | ast.Module):
        for before, after in zip(node.body, node.body[1:], strict=False):
            if isinstance(before, ast.Assign | ast.AnnAssign) and (text := _string(after)):
                yield after.lineno, "value", text
    if isinstance(node, ast.Call) and _name(node.func) in SPEAKERS and not is_test:
        for one in ast.walk(node):
            if isinstance(one, ast.Constant) and isinstance(one.value, str) and " " in one.value:
                yield one.lineno, "message", one.value


def _string(node: ast.stmt) -> str:
    """Return the text of a statement that is a string, else nothing."""
    value = node.value if isinstance(node, ast.Expr) else None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def _name(node: ast.expr) -> str:
    """Return the last name of a decorator or a called function."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def files() -> list[Path]:
    """Return every file whose texts are linted."""
    code = [path for folder in FOLDERS for end in ("py", "sql") for path in (ROOT / folder).rglob(f"*.{end}")]
    pages = [
        path for name in PAGES for path in ([ROOT / name] if name.endswith(".md") else (ROOT / name).rglob("*.md"))
    ]
    return sorted(path for path in code + pages if not str(path.relative_to(ROOT)).startswith(GENERATED))


def main() -> int:
    """Print the problems, and fail if there are any."""
    given = [Path(name).resolve() for name in sys.argv[1:]]
    found = list(check([p for p in files() if not given or any(p == g or g in p.parents for g in given)]))
    print("\n".join([*found, f"{len(found)} problems"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
