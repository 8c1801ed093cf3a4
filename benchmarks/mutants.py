"""Mutants of a relation's SQL: each changes one token or clause of the statement and keeps comments and layout.

sqlglot's tokens give the positions. Guards against a zero divisor (`NULLIF(x, 0e0)`) are not changed, because the lint checks
them.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

HEAD = re.compile(r"^CREATE (?:VIEW|TABLE) (\w+) AS\s*\n", re.MULTILINE)
OPPOSITES = {
    "MIN": "MAX", "MAX": "MIN", "MIN_BY": "MAX_BY", "MAX_BY": "MIN_BY", "GREATEST": "LEAST", "LEAST": "GREATEST",
    "SUM": "MAX", "FLOOR": "CEIL", "CEIL": "FLOOR", "LAG": "LEAD",
}  # fmt: skip
"""Replacement of a function."""
SIGNS = {"+": "-", "-": "+", "*": "/", "/": "*"}
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "<>": "="}
CLAUSES = ("JOIN", "INNER", "LEFT", "CROSS", "WHERE", "GROUP BY", "WINDOW", "UNION", "ORDER BY", "HAVING")
"""Words that end a condition."""
NO_OPERANDS = {
    "PARTITION BY", "ORDER BY", "GROUP BY",
    "SELECT", "DISTINCT", "AND", "OR", "NOT", "THEN", "ELSE", "WHEN", "CASE", "ON", "WHERE", "BY", "BETWEEN", "IN", "AS",
    "FROM", "EXCLUDE", "ALL",
}  # fmt: skip
"""Words after which a sign has no left operand."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a relation's text."""

    relation: str
    kind: str
    old: str
    new: str
    line: int
    """First line of the change in the file."""
    place: str
    """Text of that line, with a number if equal lines have equal changes."""
    body_hash: str
    """Hash of the statement without comments. An entry of `equivalent_mutants.csv` with another hash does not apply."""
    start: int
    end: int

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """Identity of the mutant while the statement does not change."""
        return self.relation, self.body_hash, self.kind, f"{self.old} → {self.new}", self.place

    def applied(self, text: str) -> str:
        """Return the file's text with the change."""
        return text[: self.start] + self.new + text[self.end :]


@dataclass(frozen=True, slots=True)
class Token:
    """A token with its position in the file and its depth in brackets and CASEs."""

    text: str
    word: str
    kind: str
    start: int
    end: int
    depth: int


def of(text: str) -> list[Mutant]:
    """List all mutants of a file's text."""
    head = HEAD.search(text)
    assert head, "no CREATE VIEW name AS"
    tokens = tokenized(text, head.end())
    body_hash = hashlib.sha256(" ".join(t.text for t in tokens).encode()).hexdigest()[:12]
    made: list[Mutant] = []
    seen: Counter[tuple[str, ...]] = Counter()
    for kind, start, end, new in sorted(_changes(text, tokens)):
        old = text[start:end]
        if old == new:
            continue
        first = text.rfind("\n", 0, start) + 1
        line_text = text[first : text.find("\n", start)].strip()
        mark = (kind, old, new, line_text)
        seen[mark] += 1
        place = f"{line_text} #{seen[mark]}" if seen[mark] > 1 else line_text
        short_old, short_new = (" ".join(s.split()) for s in (old, new))
        line = text.count("\n", 0, start) + 1
        made.append(Mutant(head[1], kind, short_old, short_new, line, place, body_hash, start, end))
        made[-1] = _exact(made[-1], new)
    return made


def _exact(mutant: Mutant, new: str) -> Mutant:
    """Restore the replacement as made, because quoted texts keep their blanks."""
    return mutant if mutant.new == new else Mutant(
        mutant.relation, mutant.kind, mutant.old, new, mutant.line, mutant.place, mutant.body_hash, mutant.start, mutant.end
    )  # fmt: skip


def tokenized(text: str, begin: int) -> list[Token]:
    """Return the tokens of the statement."""
    from sqlglot.dialects.duckdb import DuckDB

    found: list[Token] = []
    depth = 0
    for t in DuckDB().tokenize(text[begin:]):
        start, end = begin + t.start, begin + t.end + 1
        word = " ".join(text[start:end].upper().split())
        if word in (")", "END"):
            depth -= 1
        found.append(Token(text[start:end], word, t.token_type.name, start, end, depth))
        if word in ("(", "CASE"):
            depth += 1
    return found


Change = tuple[str, int, int, str]


def _changes(text: str, tokens: Sequence[Token]) -> Iterator[Change]:
    for i, token in enumerate(tokens):
        if token.kind == "NUMBER":
            yield from _number(tokens, i)
        elif token.kind == "STRING":
            yield "text", token.start, token.end, f"{token.text[:-1]}~'"
        elif token.word in ("TRUE", "FALSE"):
            yield "constant", token.start, token.end, "FALSE" if token.word == "TRUE" else "TRUE"
        elif token.word in SIGNS:
            yield from _sign(text, tokens, i)
        elif token.word in COMPARISONS:
            yield "comparison", token.start, token.end, COMPARISONS[token.word]
        elif token.word == "=" and not _is_join_key(tokens, i):
            yield "comparison", token.start, token.end, "<>"
        elif token.word in OPPOSITES and _follows(tokens, i, "("):
            yield "function", token.start, token.end, OPPOSITES[token.word]
        elif token.word == "COUNT" and _follows(tokens, i, "("):
            yield from _count(tokens, i)
        elif token.word == "COALESCE":
            yield from _default(tokens, i)
        elif token.word in ("AND", "OR") and not _is_between(tokens, i):
            yield "logic", token.start, token.end, "OR" if token.word == "AND" else "AND"
        elif token.word == "NOT":
            yield "logic", token.start, token.end, "" if not _follows(tokens, i, "NULL") else "  "
        elif token.word == "IS" and _follows(tokens, i, "NULL"):
            yield "logic", token.start, token.end, "IS NOT"
        elif token.word == "LEFT" and _follows(tokens, i, "JOIN"):
            yield "join", token.start, token.end, "INNER"
        elif token.word in ("ON", "WHERE", "WHEN"):
            yield from _conditions(text, tokens, i)
        elif token.word == "PARTITION BY":
            yield from _partition(tokens, i)
        elif token.word == "CASE":
            yield from _case(text, tokens, i)
        elif token.word == "DESC" or (token.word == "DISTINCT" and tokens[i - 1].word in ("SELECT", "(")):
            yield "order" if token.word == "DESC" else "aggregate", token.start, token.end, ""


def _follows(tokens: Sequence[Token], i: int, word: str) -> bool:
    return i + 1 < len(tokens) and tokens[i + 1].word == word


def _number(tokens: Sequence[Token], i: int) -> Iterator[Change]:
    token = tokens[i]
    value = float(token.text)
    if value == 0 and tokens[i - 1].word == "," and _function(tokens, i) == "NULLIF":
        return
    mark = "e0" if "e" in token.text.lower() or "." in token.text else ""
    if value == 0:
        yield "constant", token.start, token.end, f"1{mark}"
        return
    for factor in (2, 1000):
        changed = value * factor
        shown = f"{changed:.12g}"
        yield "constant", token.start, token.end, shown if "e" in shown else f"{shown}{mark}"
    if tokens[i - 1].word != "-":
        yield "constant", token.start, token.end, f"(-{token.text})"


def _sign(text: str, tokens: Sequence[Token], i: int) -> Iterator[Change]:
    token, before = tokens[i], tokens[i - 1]
    is_name = bool(re.fullmatch(r"\w+", before.text)) and before.word not in NO_OPERANDS
    if not (is_name or before.word in (")", "END") or before.kind in ("NUMBER", "STRING")):
        if token.word == "-":
            yield "sign", token.start, token.end, ""
        return
    if token.word == "*" and not (i + 1 < len(tokens) and re.match(r"[\w(-]", tokens[i + 1].text)):
        return
    yield "sign", token.start, token.end, SIGNS[token.word]
    if token.word == "/" and _follows(tokens, i, "NULLIF"):
        first = _operand_start(tokens, i - 1)
        last = _closing(tokens, i + 2)
        pieces = list(_arguments(tokens, i + 2))
        if len(pieces) == 2:
            over = text[tokens[first].start : before.end]
            under = text[tokens[pieces[0][0]].start : tokens[pieces[0][1]].end]
            guard = text[tokens[pieces[1][0]].start : tokens[pieces[1][1]].end]
            yield "ratio", tokens[first].start, tokens[last].end, f"({under}) / NULLIF({over}, {guard})"


def _operand_start(tokens: Sequence[Token], last: int) -> int:
    """Find the first token of the operand that ends at a token: a name, a number, a call or brackets."""
    i = last
    if tokens[i].word in (")", "END"):
        opening = {")": "(", "END": "CASE"}[tokens[i].word]
        depth = tokens[i].depth
        i -= 1
        while not (tokens[i].word == opening and tokens[i].depth == depth):
            i -= 1
        if opening == "(" and re.fullmatch(r"\w+", tokens[i - 1].text) and tokens[i - 1].word not in NO_OPERANDS:
            i -= 1
    while tokens[i - 1].word == ".":
        i -= 2
    return i


def _closing(tokens: Sequence[Token], opening: int) -> int:
    depth = tokens[opening].depth
    return next(i for i in range(opening + 1, len(tokens)) if tokens[i].word == ")" and tokens[i].depth == depth)


def _arguments(tokens: Sequence[Token], opening: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last token of each argument in brackets."""
    inner, last = tokens[opening].depth + 1, _closing(tokens, opening)
    first = opening + 1
    for i in range(opening + 1, last + 1):
        if i == last or (tokens[i].word == "," and tokens[i].depth == inner):
            if i > first:
                yield first, i - 1
            first = i + 1


def _function(tokens: Sequence[Token], i: int) -> str:
    """Return the name of the call that a token is a direct argument of."""
    depth = tokens[i].depth
    while i >= 0 and not (tokens[i].word == "(" and tokens[i].depth == depth - 1):
        i -= 1
    return tokens[i - 1].word if i > 0 else ""


def _count(tokens: Sequence[Token], i: int) -> Iterator[Change]:
    """Double a COUNT, or make it count null values."""
    if tokens[i + 2].word == "*":
        yield "aggregate", tokens[i].start, tokens[i + 3].end, "SUM(2)"
    elif tokens[i + 2].word != "DISTINCT":
        last = tokens[_closing(tokens, i + 1)]
        yield "aggregate", last.start, last.end, " IS NULL)"


def _default(tokens: Sequence[Token], i: int) -> Iterator[Change]:
    pieces = list(_arguments(tokens, i + 1))
    if len(pieces) > 1:
        yield "default", tokens[pieces[-2][1]].end, tokens[pieces[-1][1]].end, ""


def _is_between(tokens: Sequence[Token], i: int) -> bool:
    """Test if an AND belongs to a BETWEEN."""
    depth = tokens[i].depth
    for token in reversed(tokens[:i]):
        if token.depth < depth:
            return False
        if token.depth == depth and token.word in ("AND", "OR", "ON", "WHERE", "WHEN"):
            return False
        if token.depth == depth and token.word == "BETWEEN":
            return True
    return False


def _is_join_key(tokens: Sequence[Token], i: int) -> bool:
    """Test if a comparison is directly under ON, whose removal is a mutant of its own."""
    depth = tokens[i].depth
    for token in reversed(tokens[:i]):
        if token.depth < depth or (token.depth == depth and token.word in ("WHERE", "SELECT", "WHEN", "THEN", "CASE")):
            return False
        if token.depth == depth and token.word == "ON":
            return True
    return False


def _conditions(text: str, tokens: Sequence[Token], i: int) -> Iterator[Change]:
    """Omit each part of a condition: a part of AND becomes true, one of OR false."""
    depth, stop = tokens[i].depth, i + 1
    ends = ("THEN",) if tokens[i].word == "WHEN" else CLAUSES
    while stop < len(tokens):
        token = tokens[stop]
        is_function = token.word == "LEFT" and not _follows(tokens, stop, "JOIN")
        if token.depth < depth or (
            token.depth == depth and (token.word in ends or token.word == ";") and not is_function
        ):
            break
        stop += 1
    parts: list[tuple[int, int, str]] = []
    words = [t.word for t in tokens[i + 1 : stop] if t.depth == depth]
    has_or = "OR" in words
    first = i + 1
    for j in range(i + 1, stop + 1):
        is_and = j < stop and tokens[j].depth == depth and tokens[j].word == "AND" and not _is_between(tokens, j)
        is_or = j < stop and tokens[j].depth == depth and tokens[j].word == "OR"
        if j == stop or is_and or is_or:
            near = {tokens[first - 1].word, tokens[j].word if j < stop else ""}
            parts.append((first, j - 1, "FALSE" if has_or and "AND" not in near else "TRUE"))
            first = j + 1
    if tokens[i].word == "WHEN" and len(parts) == 1:
        return  # another mutant omits the whole arm
    kind = {"ON": "join key", "WHERE": "filter", "WHEN": "condition"}[tokens[i].word]
    for start, last, value in parts:
        yield kind, tokens[start].start, tokens[last].end, value


def _partition(tokens: Sequence[Token], i: int) -> Iterator[Change]:
    """Partition a window by one key fewer."""
    depth, first = tokens[i].depth, i + 1
    stop = next(
        j
        for j in range(first, len(tokens))
        if tokens[j].depth < depth or tokens[j].word in ("ORDER BY", "ROWS", "RANGE")
    )
    commas = [j for j in range(first, stop) if tokens[j].word == "," and tokens[j].depth == depth]
    if not commas:
        yield "partition", tokens[i].start, tokens[stop - 1].end, ""
    for number, begin in enumerate([first, *(c + 1 for c in commas)]):
        if commas and number < len(commas):
            yield "partition", tokens[begin].start, tokens[commas[number]].end, ""
        elif commas:
            yield "partition", tokens[commas[-1]].start, tokens[stop - 1].end, ""


def _case(text: str, tokens: Sequence[Token], i: int) -> Iterator[Change]:
    """Omit an arm of a CASE, or swap the values of two adjacent arms."""
    inner = tokens[i].depth + 1
    last = next(j for j in range(i + 1, len(tokens)) if tokens[j].word == "END" and tokens[j].depth == inner - 1)
    marks = [
        j for j in range(i + 1, last + 1) if tokens[j].depth == inner and tokens[j].word in ("WHEN", "THEN", "ELSE")
    ]
    whens = [j for j in marks if tokens[j].word == "WHEN"]
    starts = [*marks, last]
    values = [  # first and last token of each value
        (j + 1, starts[n + 1] - 1) for n, j in enumerate(marks) if tokens[j].word in ("THEN", "ELSE")
    ]
    otherwise = next((j for j in marks if tokens[j].word == "ELSE"), None)
    for when in whens:
        if len(whens) > 1:
            stop = next(j for j in starts if j > when and tokens[j].word in ("WHEN", "ELSE", "END"))
            yield "arm", tokens[when].start, tokens[stop - 1].end, ""
        else:
            value = text[tokens[otherwise + 1].start : tokens[last - 1].end] if otherwise else "NULL"
            yield "arm", tokens[i].start, tokens[last].end, f"({value})"
    for (a, b), (c, d) in itertools.pairwise(values):
        one, between, other = (
            text[tokens[a].start : tokens[b].end],
            text[tokens[b].end : tokens[c].start],
            text[tokens[c].start : tokens[d].end],
        )
        yield "swap", tokens[a].start, tokens[d].end, f"{other}{between}{one}"


def row(mutant: Mutant) -> dict[str, Any]:
    """Return a mutant as a row of a list."""
    relation, body_hash, kind, change, place = mutant.key
    return {"relation": relation, "body_hash": body_hash, "kind": kind, "change": change, "place": place}
