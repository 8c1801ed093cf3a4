"""Finds changes of the SQL that no test notices.

    python -m benchmarks.mutate --seed 1 --count 600 --workers 2   # every file of sql/
    python -m benchmarks.mutate --seed 1 --count 600 --workers 2 --stage default           # only tests of the default stage
    python -m benchmarks.mutate --layers 5_rollup 6_report                                 # every mutant of two layers
    python -m benchmarks.mutate --relations inference_cost                                 # every mutant of one relation
    python -m benchmarks.mutate --again /tmp/mutation.jsonl        # repeat survivors of an earlier run
    python -m benchmarks.mutate --relations run_sum --matching "MAX . MIN in .MAX.static_w" --mark "one value a run"

pytest collects once. A process forked for each mutant reads the changed text in place of that file of `sql/`, and runs the tests
of relations that read it, nearest first, until one fails. `equivalent_mutants.csv` lists mutants that give the original's rows
for every input, each with the reason; an entry about a statement that was edited since is ignored.
"""

from __future__ import annotations

import argparse
import ast
import csv
import functools
import json
import os
import random
import re
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from charz import sql
from charz.sql import layers, reading, terms, views

from . import mutants, study
from .mutants import Mutant

ROOT = Path(sql.__file__).parent
REPOSITORY = Path(__file__).parents[1]
EQUIVALENT = Path(__file__).parent / "equivalent_mutants.csv"
STAGES = {
    "default": ("tests/report", "tests/mechanism"),
    "full": ("tests/report", "tests/mechanism", "tests/oracle", "tests/whole"),
}
"""Folders whose tests evaluate relations, by stage."""
SLOW = {"oracle": 3.0, "whole": 4.0}
"""Distance added to tests of a folder that build a database first."""
BINDING = re.compile(r"(Binder|Parser|Catalog|Conversion) Error|does not (bind|parse)")
"""Errors of the engine for a statement without meaning. Such a change is not a mutant, since nobody could ship it."""
OUTSIDE = re.compile(r"\b(?:FROM|JOIN|UPDATE|INTO)\s+(\w+)", re.IGNORECASE)
MADE = "made"
"""Name in place of a folder for a relation that is generated from lines of the files (`charz.sql.terms`)."""

Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Source:
    """A file of `sql/`."""

    name: str
    layer: str
    text: str
    is_made: bool = False

    @property
    def place(self) -> str:
        """Path `layer/name.sql`."""
        return f"{self.layer}/{self.name}.sql"


def sources() -> list[Source]:
    """Read every file, and the relation generated from lines of them."""
    found = [
        Source(path.stem, layer, path.read_text())
        for layer in layers.LAYERS
        for path in sorted((ROOT / layer).glob("*.sql"))
    ]
    made: list[str] = []
    original = terms._text
    terms._text = lambda given: made.append(original(given)) or made[-1]  # type: ignore[func-returns-value]
    views._parsed.cache_clear()
    views.load()
    terms._text = original
    return [*found, *(Source("kernel_term", layers.REPORT, text, is_made=True) for text in made)]


def drawn(found: Iterable[Source], seed: int, count: int | None) -> list[tuple[Source, Mutant]]:
    """Draw a number of mutants, at least one of every file, in random order; without a number return all."""
    by_file = {source: mutants.of(source.text) for source in found}
    every = [(source, mutant) for source, made in by_file.items() for mutant in made]
    if count is None or count >= len(every):
        return every
    chance = random.Random(seed)
    first = [(source, chance.choice(made)) for source, made in by_file.items() if made][:count]
    rest = [one for one in every if one not in first]
    return chance.sample(first + chance.sample(rest, count - len(first)), count)


class Nearness:
    """Number of relations between those that a test queries and a relation."""

    def __init__(self, items: Sequence[pytest.Item]) -> None:
        self.reads = {view.name: view.relations for view in views.load()}
        self.readers: dict[str, list[str]] = defaultdict(list)
        for name, relations in self.reads.items():
            for relation in relations:
                self.readers[relation].append(name)
        self.names = {item.nodeid: self._asked(item) for item in items}

    def order(self, relation: str, items: Sequence[pytest.Item]) -> list[pytest.Item]:
        """List the tests of relations that read a relation, nearest first."""
        steps = {relation: 0}
        waiting = [relation]
        while waiting:
            name = waiting.pop(0)
            for reader in self.readers[name]:
                if reader not in steps:
                    steps[reader] = steps[name] + 1
                    waiting.append(reader)
        found = []
        for place, item in enumerate(items):
            near = [steps[name] + far for name, far in self.names[item.nodeid].items() if name in steps]
            if near:
                found.append((min(near) + SLOW.get(item.path.parent.name, 0.0), place, item))
        return [item for *_, item in sorted(found, key=lambda one: one[:2])]

    def _asked(self, item: pytest.Item) -> dict[str, float]:
        """Find the relations that a test names, at a distance of one half for those that its module names outside tests. A test marked
        `every_relation` evaluates all."""
        if item.get_closest_marker("every_relation"):
            return dict.fromkeys(self.reads, 0.75)
        functions, outside = _texts(item.path)
        asked = dict.fromkeys(self._relations(outside), 0.5)
        asked |= dict.fromkeys(self._relations(functions.get(getattr(item, "originalname", ""), set())), 0.0)
        if (name := item.path.stem.removeprefix("test_")) in self.reads:
            asked[name] = 0.0
        callspec = getattr(item, "callspec", None)
        given = [value for value in callspec.params.values() if isinstance(value, str)] if callspec else []
        return asked | dict.fromkeys(self._relations(set(given)), 0.0)

    def _relations(self, texts: Iterable[str]) -> set[str]:
        return {word for text in texts for word in (text, *OUTSIDE.findall(text)) if word in self.reads}


@functools.cache
def _texts(path: Path) -> tuple[dict[str, set[str]], set[str]]:
    """Collect the string constants in each test function of a module, and those outside tests, without docstrings."""
    tree = ast.parse(path.read_text())
    functions: dict[str, set[str]] = {}
    outside: set[str] = set()
    for node in tree.body:
        nodes = list(ast.walk(node))
        prose = {id(n.value) for n in nodes if isinstance(n, ast.Expr)}
        found = {
            n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in prose
        }
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            functions[node.name] = found
        else:
            outside |= found
    return functions, outside


class Campaign:
    """Pytest plugin that runs the collected tests against mutants."""

    def __init__(self, options: argparse.Namespace, wanted: Sequence[tuple[Source, Mutant]]) -> None:
        self.options = options
        self.wanted = wanted
        self.results: list[Result] = []
        self.known = equivalents()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run every mutant in a process of its own."""
        _forget(session.items)
        nearness = Nearness(session.items)
        folder = Path(tempfile.mkdtemp(prefix="mutate"))
        running: dict[int, tuple[Source, Mutant, Path]] = {}
        try:
            for number, (source, mutant) in enumerate(self.wanted):
                while len(running) >= self.options.workers:
                    self._take(running)
                place = folder / str(number)
                items = nearness.order(source.name, session.items)
                pid = os.fork()
                if not pid:
                    _child(source, mutant, items, place, self.options.seconds)
                running[pid] = (source, mutant, place)
            while running:
                self._take(running)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return True

    def _take(self, running: dict[int, tuple[Source, Mutant, Path]]) -> None:
        pid, status, usage = os.wait4(-1, 0)
        source, mutant, place = running.pop(pid)
        answer = place / "result.json"
        found = (
            json.loads(answer.read_text())
            if answer.exists()
            else {"status": "killed", "by": f"the process ended with status {status}", "tests": 0}
        )
        shutil.rmtree(place, ignore_errors=True)
        result = described(source, mutant) | found | {"cpu_s": usage.ru_utime + usage.ru_stime}
        self.results.append(result)
        with self.options.results.open("a") as lines:
            lines.write(json.dumps(result) + "\n")
        is_open = result["status"] == "survived" and key(result) not in self.known
        if self.options.verbose or is_open:
            print(
                f"{result['status']:9} {shown(result)} ({result['tests']} tests, {result['cpu_s']:.1f} s)", flush=True
            )


def _forget(items: Sequence[pytest.Item]) -> None:
    """Clear SQL that test modules cached during collection, and parse each statement once."""
    modules = {name for name in sys.modules if name.split(".")[0] in ("oracle", "whole", "mechanism", "tests")}
    for name in modules | {item.module.__name__ for item in items if hasattr(item, "module")}:
        for value in vars(sys.modules[name]).values() if name in sys.modules else ():
            if hasattr(value, "cache_clear") and getattr(value, "__name__", "") == "relations":
                value.cache_clear()
    if "oracle.database" in sys.modules:
        sys.modules["oracle.database"].catalog()
    views.load()


def _child(source: Source, mutant: Mutant, items: Sequence[pytest.Item], place: Path, seconds: float) -> None:
    """Run tests against a mutant, write the result, and end the process."""
    place.mkdir()
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os.environ["XDG_CACHE_HOME"] = str(place / "cache")
    limit = int(4 * seconds) + 5
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    _put(source, mutant.applied(source.text))
    result: Result = {"status": "survived", "by": "", "tests": 0}
    if items:
        items[0].config._tmp_path_factory._given_basetemp = place / "base"  # type: ignore[attr-defined]
    for number, item in enumerate(items):
        if time.process_time() > seconds:
            break
        reports = runtestprotocol(item, nextitem=items[number + 1] if number + 1 < len(items) else None, log=False)
        result["tests"] += sum(report.when == "call" for report in reports)
        failed = [report for report in reports if report.failed]
        if failed:
            is_binding = BINDING.search(str(failed[0].longrepr)) is not None
            result |= {"status": "invalid" if is_binding else "killed", "by": item.nodeid}
            break
    (place / "result.json").write_text(json.dumps(result))
    os._exit(0)


def _put(source: Source, text: str) -> None:
    """Replace the file's text for every later reader."""
    if source.is_made:
        terms._text = lambda _: text
        views._parsed.cache_clear()
        return
    read_text, read_bytes = Path.read_text, Path.read_bytes

    def is_it(path: Path) -> bool:
        return path.name == f"{source.name}.sql" and path.parent.name == source.layer

    Path.read_text = lambda path, *a, **k: text if is_it(path) else read_text(path, *a, **k)  # type: ignore[method-assign]
    Path.read_bytes = lambda path: text.encode() if is_it(path) else read_bytes(path)  # type: ignore[method-assign]


def described(source: Source, mutant: Mutant) -> Result:
    """Return a mutant as a row of results."""
    return {"file": source.place, "line": mutant.line, **mutants.row(mutant)}


def shown(result: Mapping[str, Any]) -> str:
    """Format a mutant as a line."""
    return f"{result['file']}:{result['line']} {result['kind']}: {result['change']} in `{result['place']}`"


def equivalents() -> dict[tuple[str, ...], str]:
    """Read the mutants equivalent to the original, with their reasons."""
    if not EQUIVALENT.exists():
        return {}
    with EQUIVALENT.open(newline="") as lines:
        return {
            (r["relation"], r["body_hash"], r["kind"], r["change"], r["place"]): r["reason"]
            for r in csv.DictReader(lines)
        }


def mark(found: Iterable[tuple[Source, Mutant]], reason: str) -> None:
    """Add mutants to the list of equivalent ones, and delete entries about statements that have changed."""
    present = {source.name: mutants.of(source.text) for source in sources()}
    known = {mutant.key for made in present.values() for mutant in made}
    kept = {k: r for k, r in equivalents().items() if k in known} | {mutant.key: reason for _, mutant in found}
    with EQUIVALENT.open("w", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(["relation", "body_hash", "kind", "change", "place", "reason"])
        writer.writerows([*k, kept[k]] for k in sorted(kept))


def key(result: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the identity of a result, which an entry of the list shares."""
    return tuple(result[name] for name in ("relation", "body_hash", "kind", "change", "place"))


def page(results: Sequence[Result], seed: int) -> str:
    """Format a page with the counts of mutants by file and the survivors."""
    known = equivalents()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    survivors: list[Result] = []
    for result in results:
        status = "equivalent" if key(result) in known and result["status"] == "survived" else result["status"]
        counts[result["file"]][status] += 1
        if status == "survived":
            survivors.append(result)
    valid = [r for r in results if r["status"] != "invalid"]
    share = len(survivors) / len(valid) if valid else 0.0
    lines = [
        "# Mutants of the SQL", "", f"Shipped tables: version {study.version()}.", "",
        "A mutant changes one token or clause of a file of `sql/` (constants, signs, functions, comparisons, arms of a CASE, join",
        "keys, filters, keys of windows, defaults), and the tests of the relations that read it run until one fails. Written by",
        f"`python -m benchmarks.mutate`, seed {seed}. An equivalent mutant gives the original's rows for every input;",
        "`benchmarks/equivalent_mutants.csv` gives the reasons. Mutants that the engine refuses to bind are not counted.", "",
        f"{len(valid)} mutants, {sum(c['killed'] for c in counts.values())} killed,"
        f" {sum(c['equivalent'] for c in counts.values())} equivalent, {len(survivors)} survived ({100 * share:.1f} %).", "",
        "| file | mutants | killed | equivalent | survived |", "|---|--:|--:|--:|--:|",
    ]  # fmt: skip
    for file, count in sorted(counts.items()):
        total = count["killed"] + count["equivalent"] + count["survived"]
        lines.append(f"| {file} | {total} | {count['killed']} | {count['equivalent']} | {count['survived']} |")
    lines += ["", "## Survivors", ""]
    lines += [f"- {shown(result)}" for result in sorted(survivors, key=lambda r: (r["file"], r["line"]))] or ["None."]
    return "\n".join(lines) + "\n"


def _again(found: Iterable[Source], earlier: Sequence[Result]) -> tuple[list[tuple[Source, Mutant]], list[Result]]:
    """Split earlier results into survivors to run again and the others, without those about changed statements."""
    every = {mutant.key: (source, mutant) for source in found for mutant in mutants.of(source.text)}
    last = {key(result): result for result in earlier if key(result) in every}
    survived = {k for k, result in last.items() if result["status"] == "survived" and k not in equivalents()}
    return [every[k] for k in last if k in survived], [result for k, result in last.items() if k not in survived]


def main() -> None:
    """Draw mutants, run tests against each, and print the survivors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, help="number of mutants to draw, at least one of every file; default all")
    parser.add_argument("--layers", nargs="*", default=list(layers.LAYERS))
    parser.add_argument("--relations", nargs="*", help="relations to mutate, in place of layers")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=12.0, help="CPU time after which a mutant counts as survived")
    parser.add_argument("--stage", choices=STAGES, default="full", help="stage whose tests run; full includes default")
    parser.add_argument("--tests", nargs="*", help="tests to run in place of a stage's")
    parser.add_argument("--results", type=Path, default=Path(tempfile.gettempdir()) / "mutation.jsonl")
    parser.add_argument(
        "--again", type=Path, nargs="*", default=[], help="results of earlier runs: run their survivors, keep the others"
    )
    parser.add_argument("--page", type=Path, help="write the counts by file")
    parser.add_argument("--matching", default="", help="pattern that the printed line of a mutant must contain")
    parser.add_argument(
        "--mark", metavar="REASON", help="list these mutants as equivalent for this reason, without running tests"
    )
    parser.add_argument("--verbose", action="store_true", help="also print mutants that a test kills")
    options = parser.parse_args()
    read = functools.cache(reading.read)
    reading.read = read
    found = [s for s in sources() if (s.name in options.relations if options.relations else s.layer in options.layers)]
    wanted = drawn(found, options.seed, options.count)
    wanted = [(s, m) for s, m in wanted if re.search(options.matching, shown(described(s, m)))]
    earlier = [json.loads(line) for path in options.again for line in path.read_text().splitlines()]
    if options.again:
        wanted, earlier = _again(found, earlier)
    if options.mark:
        for source, mutant in wanted:
            print(shown(described(source, mutant)))
        mark(wanted, options.mark)
        return
    print(f"seed {options.seed}: {len(wanted)} mutants of {len(found)} files", flush=True)
    if options.results not in options.again:
        options.results.unlink(missing_ok=True)
    campaign = Campaign(options, wanted)
    marked = "not broad and not anew" + (" and not slow" if options.stage == "default" else "")
    tests = options.tests or STAGES[options.stage]
    arguments = ["-n", "0", "-s", "-q", "--no-header", "--no-summary", "-p", "no:cacheprovider", "-m", marked, *tests]
    os.chdir(REPOSITORY)
    pytest.main(
        [name for name in arguments if not name.startswith("tests/") or Path(name).exists()], plugins=[campaign]
    )
    text = page([*earlier, *campaign.results], options.seed)
    print(text[text.index(next(line for line in text.splitlines() if " mutants, " in line)) :])
    if options.page:
        options.page.write_text(text)


if __name__ == "__main__":
    main()
