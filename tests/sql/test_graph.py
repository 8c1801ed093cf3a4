"""A graph of reads: c reads b and the fact f, b reads a and the fact g, d reads c."""

import subprocess
import sys

import pytest

from charz.schema.errors import CharzError
from charz.sql import graph

READS = {"d": ["c"], "c": ["b", "f"], "b": ["a", "g"], "a": []}


def test_each_comes_after_what_it_reads_and_facts_are_left_out() -> None:
    assert graph.order(READS) == ["a", "b", "c", "d"]


def test_what_does_not_hang_together_comes_in_one_order_however_it_is_given() -> None:
    reads = {"z": ["m"], "m": [], "k": [], "b": ["k"]}
    found = graph.order(reads)
    assert found == graph.order(dict(reversed(reads.items())))
    assert found.index("m") < found.index("z") and found.index("k") < found.index("b")


def test_a_cycle_is_printed() -> None:
    with pytest.raises(CharzError, match=r"circle: (p -> r -> q -> p|r -> q -> p -> r|q -> p -> r -> q)\."):
        graph.order({"p": ["q"], "q": ["r"], "r": ["p"], "s": ["p"]})


def test_what_reads_itself_is_a_cycle() -> None:
    with pytest.raises(CharzError, match="circle: p -> p"):
        graph.order({"p": ["p"]})


def test_ancestors_are_what_is_read_directly_or_through_others() -> None:
    assert graph.ancestors(["c"], READS) == {"b", "f", "a", "g"}
    assert graph.ancestors(["b", "d"], READS) == {"a", "g", "b", "c", "f"}
    assert graph.ancestors(["unknown"], READS) == set()


def test_ancestors_are_reached_through_some_alone() -> None:
    assert graph.ancestors(["d"], READS, through=["c", "a"]) == {"c"}
    assert graph.ancestors(["d"], READS, through=["c", "b"]) == {"c", "b"}


def test_descendants_are_what_reads_directly_or_through_others() -> None:
    assert graph.descendants(["g"], READS) == {"b", "c", "d"}
    assert graph.descendants(["a"], READS, through=["b", "d"]) == {"b"}
    assert graph.descendants(["d"], READS) == set()


def test_networkx_is_imported_by_the_first_walk() -> None:
    code = (
        "import sys, charz, charz.cli.dispatch, charz.sql.views, charz.sql.graph\n"
        "assert 'networkx' not in sys.modules\n"
        "charz.sql.graph.order({'a': []})\n"
        "assert 'networkx' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
